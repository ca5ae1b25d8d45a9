"""Leases: a shape pinned, and runs of its layers on the caller's own tensors."""
from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Union

from . import _abi, errors
from ._blocking import Take
from ._library import Library, c_deadline, check, library, new_error, number32
from ._mapping import MappedPort, Memory
from ._operation import Operation
from ._scratch import Scratch, give_back, lend
from ._tensors import Layout, Outputs
from ._types import Port

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._model import Model

    Tensor = Union[npt.NDArray[Any], "bytes", bytearray, memoryview, MappedPort]


class Lease:
    """A pinned shape (from Model.lease). Release it, use it as a context manager, or drop it."""

    def __init__(self, model: Model, shape: int) -> None:
        """Use Model.lease. It holds nothing yet: the library writes the pin into an object that lives already, so that an
        exception (Ctrl-C) at any point afterwards finds an owner that gives it back."""
        self._library = library()
        self._model = model
        self._handle = _abi.anelane_lease()
        # Between map and release: no port is mapped behind the back of its end. A signal handler may release in the middle.
        self._lock = threading.RLock()
        self._released = False
        self._given_back = False  # an interrupted release is ended by the next one, or by the finalizer
        self._mapped: dict[int, MappedPort] = {}
        self.shape = number32("shape", shape)

    @property
    def ports(self) -> list[Port]:
        """The layouts of its tensors."""
        return list(self._layout.ports)

    @property
    def _layout(self) -> Layout:
        return self._model._layout(self.shape)

    def _acquire(self) -> bool:
        """Pins a shape that is resident now, on the spot. False: it is not, and is being made so where that is possible; or
        the wait will say what is wrong."""
        return bool(self._library.lease_acquire(self._model._handle, self.shape, 0, ctypes.byref(self._handle), None) == 0)

    def _room(self) -> Take[Lease]:
        """It is one already; what it takes is the pin that an operation got."""
        return self._take

    def _take(self, c: Library, op: _abi.anelane_op, scratch: Scratch) -> Lease:
        check(c.op_lease(op, ctypes.byref(self._handle), scratch.at_error), scratch.error)
        return self

    def map(self, port: int | str) -> MappedPort:
        """The port's bytes in the memory shared with the worker, for runs without copies."""
        layout = self._layout
        index = layout.port(port).index
        with self._lock:
            self._check()
            if index not in self._mapped:
                tensor, error = _abi.anelane_tensor(), new_error()
                check(self._library.lease_map(self._handle, index, ctypes.byref(tensor), ctypes.byref(error)), error)
                memory = Memory(tensor.data, tensor.bytes)
                lane = self._model.lane
                lane._mapped.add(memory)
                self._mapped[index] = MappedPort(layout.port(index), memory)
                if self._released or lane.closed:  # meanwhile: its end may have missed this memory
                    memory.end()
                    self._check()
                    raise errors.make(errors.CLOSED, "the lane was closed")
            return self._mapped[index]

    def run(self, inputs: Mapping[int | str, Tensor], *, outputs: Mapping[int | str, MappedPort] | None = None,
            timeout: float | None = None) -> dict[str, Any]:
        """One evaluation of all layers. `inputs`: every input port, by index or name: a NumPy array of the port's shape
        (copied only where its layout is another), its bytes, or the MappedPort. Answers the outputs by name: NumPy arrays
        (bytes without NumPy). With `outputs`, they stay in mapped memory, and nothing is copied; that form is one exchange
        that Ctrl-C cannot break.
        """
        self._check()
        layout = self._layout
        tensors, count, _kept = layout.tensors(inputs, self._mapped)
        if outputs:
            for key, value in outputs.items():
                if not isinstance(value, MappedPort):
                    raise errors.make(errors.INVALID_ARGUMENT, f"outputs[{key!r}] is a {type(value).__name__}: give what Lease.map "
                                                               "answered, or no outputs for new arrays")
            outs, out_count, _ = layout.tensors(outputs, self._mapped)
            scratch = lend()
            check(self._library.bare.run(self._handle, tensors, count, outs, out_count, c_deadline(timeout), scratch.at_error),
                  scratch.error)
            give_back(scratch)
            return {layout.port(key).name: mapped for key, mapped in outputs.items()}
        return layout.run((self._handle, tensors, count), 0, partial(Outputs, layout), timeout)

    def start_run(self, inputs: Mapping[int | str, Tensor], *, timeout: float | None = None) -> Operation[dict[str, Any]]:
        """run() without waiting: await it."""
        self._check()
        layout = self._layout
        tensors, count, _kept = layout.tensors(inputs, self._mapped)
        start = partial(self._library.bare.start_run, self._handle, tensors, count)
        return Operation(start, lambda: Outputs(layout).take, timeout, self._model)

    def release(self) -> None:
        """Gives the pin back. Again: nothing."""
        with self._lock:
            self._released = True
            mapped, self._mapped = self._mapped, {}
            for port in mapped.values():
                port._memory.end()
            if self._handle.bits and not self._given_back:
                self._library.lease_release(self._handle)
            self._given_back = True

    def _check(self) -> None:
        if self._released:
            raise errors.make(errors.LEASE_EXPIRED, "this lease was released", safe_to_retry=True)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        if not getattr(self, "_given_back", True) and not sys.is_finalizing():
            self.release()

    def __repr__(self) -> str:
        return f"<anelane.Lease of shape {self.shape}{' (released)' if self._released else ''}>"
