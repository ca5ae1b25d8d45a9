"""Leases: a shape pinned, and runs of its layers on the caller's own tensors."""
from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _abi, errors
from ._library import Library, check, deadline_after, library, new_error
from ._mapping import MappedPort, Memory, plain_array
from ._numpy import numpy
from ._operation import Operation, Start, run_to_end
from ._types import ITEM_BYTES, Port

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
        self._ports: list[Port] | None = None
        self.shape = shape

    @property
    def ports(self) -> list[Port]:
        """The layouts of its tensors."""
        if self._ports is None:
            self._ports = self._model.ports(self.shape)
        return self._ports

    def _acquire(self) -> bool:
        """Pins a shape that is resident now, on the spot. False: it is not, and is being made so where that is possible; or
        the wait will say what is wrong."""
        return bool(self._library.lease_acquire(self._model._handle, self.shape, 0, ctypes.byref(self._handle), None) == 0)

    def _take(self, c: Library, op: _abi.anelane_op) -> Lease:
        """Takes over the lease that an operation got."""
        error = new_error()
        check(c.op_lease(op, ctypes.byref(self._handle), ctypes.byref(error)), error)
        return self

    def map(self, port: int | str) -> MappedPort:
        """The port's bytes in the memory shared with the worker, for runs without copies."""
        index = self._port(port).index
        with self._lock:
            self._check()
            if index not in self._mapped:
                tensor, error = _abi.anelane_tensor(), new_error()
                check(self._library.lease_map(self._handle, index, ctypes.byref(tensor), ctypes.byref(error)), error)
                memory = Memory(tensor.data, tensor.bytes)
                lane = self._model.lane
                lane._mapped.add(memory)
                self._mapped[index] = MappedPort(self.ports[index], memory)
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
        tensors, _keep = self._tensors(inputs)
        if outputs:
            outs, _ = self._tensors(outputs)
            error = new_error()
            check(self._library.run(self._handle, tensors, len(tensors), outs, len(outs), deadline_after(timeout),
                                    ctypes.byref(error)), error)
            return {self._port(key).name: mapped for key, mapped in outputs.items()}
        return run_to_end(self._run_start(tensors, timeout), self._take_outputs)

    def start_run(self, inputs: Mapping[int | str, Tensor], *, timeout: float | None = None) -> Operation[dict[str, Any]]:
        """run() without waiting: await it."""
        self._check()
        tensors, _keep = self._tensors(inputs)
        return Operation(self._run_start(tensors, timeout), self._take_outputs)

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

    def _port(self, key: int | str) -> Port:
        for port in self.ports:
            if key in (port.index, port.name):
                return port
        raise errors.make(errors.INVALID_ARGUMENT, f"there is no port {key!r}; there are {[p.name for p in self.ports]}")

    def _tensors(self, given: Mapping[int | str, Any]) -> tuple[Any, list[Any]]:
        """An anelane_tensor[] and what it points to."""
        table, keep = (_abi.anelane_tensor * len(given))(), []
        for tensor, (key, value) in zip(table, given.items()):
            port = self._port(key)
            tensor.port, tensor.bytes = port.index, port.nbytes
            if isinstance(value, MappedPort):
                value._memory.check()
                if value is not self._mapped.get(port.index):
                    raise errors.make(errors.INVALID_ARGUMENT, f"{port.name}: mapped by another lease, or another port")
                continue
            tensor.data, tensor.bytes, kept = _as_bytes(port, value)
            keep.append(kept)
        return table, keep

    def _run_start(self, tensors: Any, timeout: float | None) -> Start:
        c = self._library
        return lambda fn, user, out, error: c.start_run(self._handle, tensors, len(tensors), deadline_after(timeout), fn, user,
                                                        out, error)

    def _take_outputs(self, c: Library, op: _abi.anelane_op) -> dict[str, Any]:
        outputs: dict[str, Any] = {}
        for port in self.ports:
            if not port.is_output:
                continue
            data, size, error = ctypes.c_void_p(), ctypes.c_size_t(), new_error()
            check(c.op_output(op, port.index, ctypes.byref(data), ctypes.byref(size), ctypes.byref(error)), error)
            raw = ctypes.string_at(data, size.value) if numpy is None else bytearray(size.value)
            if numpy is None:
                outputs[port.name] = raw
                continue
            ctypes.memmove((ctypes.c_char * size.value).from_buffer(raw), data, size.value)
            outputs[port.name] = numpy.ndarray(port.shape, port.dtype, raw, 0, port.strides)
        return outputs

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        if not getattr(self, "_given_back", True) and not sys.is_finalizing():
            self.release()

    def __repr__(self) -> str:
        return f"<anelane.Lease of shape {self.shape}{' (released)' if self._released else ''}>"


def _as_bytes(port: Port, value: Any) -> tuple[int, int, object]:
    """Address, length and owner of a tensor's bytes in the port's layout."""
    value = plain_array(value)
    if numpy is not None and isinstance(value, numpy.ndarray):
        if value.shape != port.shape:
            raise errors.make(errors.INVALID_ARGUMENT, f"{port.name}: shape {value.shape}, not {port.shape}")
        dense = value.flags.c_contiguous and value.dtype == numpy.dtype(port.dtype) and _is_dense(port)
        if not dense:
            whole = numpy.zeros(port.nbytes, numpy.uint8)
            numpy.ndarray(port.shape, port.dtype, whole.data, 0, port.strides)[...] = value
            value = whole
        return value.__array_interface__["data"][0], port.nbytes, value
    view = memoryview(value).cast("B")
    if view.readonly:
        view = memoryview(bytearray(view))
    if view.nbytes == 0:
        raise errors.make(errors.INVALID_ARGUMENT, f"{port.name}: no bytes")
    held = (ctypes.c_char * view.nbytes).from_buffer(view)
    return ctypes.addressof(held), view.nbytes, held


def _is_dense(port: Port) -> bool:
    """Whether the elements lie without gaps, in C order."""
    reach = ITEM_BYTES.get(port.dtype, 0)
    for n, stride in zip(reversed(port.shape), reversed(port.strides)):
        if n != 1 and stride != reach:
            return False
        reach *= n
    return reach == port.nbytes
