"""Where calls into C write their handles, numbers and errors: made once, lent to one call at a time.

Making these objects anew would cost a warm call as much as the calls themselves. A call that was interrupted or refused
does not give its scratch back, so nobody meets what an error left behind. A call within a call (a signal handler, a
finalizer, a callback) and one in another thread find another scratch: whoever has one has taken it from the list.
"""
from __future__ import annotations

import ctypes

from . import _abi
from ._library import new_error

assert ctypes.sizeof(ctypes.c_size_t) == ctypes.sizeof(ctypes.c_uint64)  # a number is either

_SPARE_MAX = 32
_spare: list[Scratch] = []  # its pop and append are atomic


class Scratch:
    """`at_…` is the argument that passes the object's address."""

    __slots__ = ("op", "at_op", "number", "at_number", "data", "at_data", "error", "at_error")

    def __init__(self) -> None:
        self.op = _abi.anelane_op()
        self.number = ctypes.c_uint64()
        self.data = ctypes.c_void_p()
        self.error = new_error()
        self.at_op, self.at_number = ctypes.byref(self.op), ctypes.byref(self.number)
        self.at_data, self.at_error = ctypes.byref(self.data), ctypes.byref(self.error)


def lend() -> Scratch:
    """The caller's alone until given back, or for good."""
    try:
        return _spare.pop()
    except IndexError:
        return Scratch()


def give_back(scratch: Scratch) -> None:
    """After a call that ended well and whose handle is released."""
    scratch.op.bits = 0
    if len(_spare) < _SPARE_MAX:
        _spare.append(scratch)
