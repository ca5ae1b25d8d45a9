"""Tensors on their way into a run and out of it: where they lie, in the layouts of a shape's ports.

A layout is what a model said of one shape, kept for all its leases, with what does not have to be found out at each run.
"""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from . import _abi, errors
from ._blocking import Paced
from ._buffers import address_of, memmove, pinned
from ._library import Library, check
from ._mapping import MappedPort, plain_array
from ._numpy import numpy
from ._scratch import Scratch
from ._types import ITEM_BYTES, Port

_pack_tensor = struct.Struct("=QQII").pack  # address, bytes, port, reserved
assert ctypes.sizeof(_abi.anelane_tensor) == 24


class _Plan:
    """A port, and how an array of its shape lies in it."""

    __slots__ = ("port", "index", "nbytes", "shape", "dtype", "dense")

    def __init__(self, port: Port) -> None:
        self.port, self.index, self.nbytes, self.shape = port, port.index, port.nbytes, port.shape
        self.dtype = None if numpy is None else numpy.dtype(port.dtype)
        self.dense = _is_dense(port)


class Layout:
    """The ports of one shape, by index and by name, and how runs of it are called."""

    def __init__(self, c: Library, ports: Sequence[Port]) -> None:
        self.run = Paced(c, "run")  # all of one size; of programs, a larger shape may be the quicker one
        self.ports = tuple(ports)
        self._plans: dict[int | str, _Plan] = {}
        for port in ports:
            self._plans[port.index] = self._plans[port.name] = _Plan(port)
        self.output_plans = [self._plans[port.index] for port in ports if port.is_output]

    def port(self, key: int | str) -> Port:
        return self._plan(key).port

    def _plan(self, key: int | str) -> _Plan:
        try:
            return self._plans[key]
        except KeyError:
            names = [port.name for port in self.ports]
            raise errors.make(errors.INVALID_ARGUMENT, f"there is no port {key!r}; there are {names}") from None

    def tensors(self, given: Mapping[int | str, Any], mapped: Mapping[int, MappedPort]) -> tuple[bytes, ctypes.c_size_t, list[Any]]:
        """An anelane_tensor[], how many there are, and what they point to. `mapped`: the ports that the lease has mapped."""
        table, kept = b"", []
        for key, value in given.items():
            plan = self._plan(key)
            if isinstance(value, MappedPort):
                value._memory.check()
                if value is not mapped.get(plan.index):
                    raise errors.make(errors.INVALID_ARGUMENT, f"{plan.port.name}: mapped by another lease, or another port")
                table += _pack_tensor(0, plan.nbytes, plan.index, 0)
            else:
                address, size, owner = _lay_out(plan, value)
                table += _pack_tensor(address, size, plan.index, 0)
                kept.append(owner)
        return table, ctypes.c_size_t(len(given)), kept


class Outputs:
    """New memory for all outputs of a run. (What bytearrays are made of is quicker to find than an array's memory.)"""

    def __init__(self, layout: Layout) -> None:
        self._plans = plans = layout.output_plans
        self._raw = [bytearray(plan.nbytes) for plan in plans]
        self._owners = [pinned(raw) for raw in self._raw]
        table = b""
        for plan, owner in zip(plans, self._owners):
            table += _pack_tensor(ctypes.addressof(owner), plan.nbytes, plan.index, 0)
        self.arguments = (table, ctypes.c_size_t(len(plans)))

    def take(self, c: Library, op: _abi.anelane_op, scratch: Scratch) -> dict[str, Any]:
        """Copies the results of an operation."""
        for plan, owner in zip(self._plans, self._owners):
            check(c.bare.op_output(op, ctypes.c_uint32(plan.index), scratch.at_data, scratch.at_number, scratch.at_error),
                  scratch.error)
            memmove(ctypes.byref(owner), scratch.data, ctypes.c_size_t(min(scratch.number.value, plan.nbytes)))
        return self.result()

    def result(self) -> dict[str, Any]:
        """NumPy arrays, or bytes without NumPy."""
        named: dict[str, Any] = {}
        for plan, raw in zip(self._plans, self._raw):
            port = plan.port
            named[port.name] = bytes(raw) if numpy is None else numpy.ndarray(port.shape, plan.dtype, raw, 0, port.strides)
        return named


def _lay_out(plan: _Plan, value: Any) -> tuple[int, int, object]:
    """Address, length and owner of a tensor's bytes in the port's layout."""
    if numpy is not None:
        if not isinstance(value, numpy.ndarray):
            value = plain_array(value)
        if isinstance(value, numpy.ndarray):
            return _lay_out_array(plan, value)
    view = memoryview(value).cast("B")
    if view.readonly:
        view = memoryview(bytearray(view))
    if view.nbytes == 0:
        raise errors.make(errors.INVALID_ARGUMENT, f"{plan.port.name}: no bytes")
    owner = pinned(view)
    return ctypes.addressof(owner), view.nbytes, owner


def _lay_out_array(plan: _Plan, value: Any) -> tuple[int, int, object]:
    if value.shape != plan.shape:
        raise errors.make(errors.INVALID_ARGUMENT, f"{plan.port.name}: shape {value.shape}, not {plan.shape}")
    as_it_is = plan.dense and value.dtype == plan.dtype
    if as_it_is:
        try:
            owner = pinned(value)
            return ctypes.addressof(owner), plan.nbytes, owner
        except (TypeError, ValueError):  # read-only, or not contiguous
            pass
    if not (as_it_is and value.flags.c_contiguous):
        whole = numpy.zeros(plan.nbytes, numpy.uint8)
        numpy.ndarray(plan.shape, plan.dtype, whole.data, 0, plan.port.strides)[...] = value
        value = whole
    return address_of(value), plan.nbytes, value


def _is_dense(port: Port) -> bool:
    """Whether the elements lie without gaps, in C order."""
    reach = ITEM_BYTES.get(port.dtype, 0)
    for n, stride in zip(reversed(port.shape), reversed(port.strides)):
        if n != 1 and stride != reach:
            return False
        reach *= n
    return reach == port.nbytes
