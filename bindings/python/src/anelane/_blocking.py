"""Blocking calls, which Ctrl-C ends within a slice: Python runs its signal handlers only between calls into C.

A call is an operation that is waited for in slices; whatever ends the wait early cancels it. What is known to be quick is one
call into C instead, which costs less and is bounded by a slice. If it has not ended by then (the engine is busy with others'
work, or the shape was evicted), it is given up and made again as an operation, which a retire in between refuses. Threads: any.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

from . import _abi
from ._library import NO_CALLBACK, Library, c_deadline, deadline_after
from ._retry import Retry, retried
from ._scratch import Scratch, give_back, lend

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
#: Makes the result from the handle of an operation that ended well. The scratch is for what it asks the library.
Take = Callable[[Library, _abi.anelane_op, Scratch], T]
#: Makes room for a result, and says how to take it: called while the engine works, where that can be.
Room = Callable[[], Take[T]]
#: Calls one of the start functions: (deadline, fn, user, out, err) -> status, all of them ctypes objects or None.
Start = Callable[[Any, Any, Any, Any, Any], int]


class Place(Protocol[T_co]):
    """Memory for results."""

    #: What makes a blocking function write there: its arguments before the deadline.
    arguments: tuple[Any, ...]

    def take(self, c: Library, op: _abi.anelane_op, scratch: Scratch) -> T_co:
        """Copies what an operation has, and gives the result."""

    def result(self) -> T_co:
        """Once it has been written."""


SLICE_NS = 50_000_000  # how long a Ctrl-C may go unseen
_QUICK_NS = SLICE_NS // 5  # what takes five times as long as it did still ends within its slice
_NOT_YET = (_abi.ANELANE_DEADLINE_EXCEEDED, _abi.ANELANE_SHAPE_COMPILING)


def nothing() -> Take[None]:
    """Room for the result of what has none."""
    return lambda c, op, scratch: None


def run_to_end(c: Library, start: Start, room: Room[T], timeout: float | None = None, retry: Retry = False) -> T:
    """Starts an operation, waits for its end, takes its result."""
    if retry is not False:
        return retried(retry, lambda: run_to_end(c, start, room, timeout))
    bare, scratch = c.bare, lend()
    op = scratch.op
    try:
        if start(c_deadline(timeout), NO_CALLBACK, None, scratch.at_op, scratch.at_error) != 0:
            raise c.error_from(scratch.error)
        take = room()
        scratch.number.value = bare.now_ns() + SLICE_NS
        if bare.op_wait(op, scratch.number, None) != 0:  # the first slice, without ado
            wait(c, op, _abi.ANELANE_NO_DEADLINE, scratch.error)
        result = take(c, op, scratch)
        bare.op_release(op)
    except BaseException:
        if op.bits:
            bare.op_cancel(op)
            bare.op_release(op)  # again: nothing
        raise
    give_back(scratch)
    return result


class Paced:
    """A function of the library that both blocks and can be started: at once for calls up to the size of the largest that
    were quick when they were last made."""

    __slots__ = ("_library", "_blocking", "_start", "upto")

    def __init__(self, c: Library, name: str) -> None:
        self._library, self._blocking, self._start = c, name, "start_" + name
        self.upto = -1

    def __call__(self, given: tuple[Any, ...], size: int, make: Callable[[], Place[T]], timeout: float | None,
                 retry: Retry = False) -> T:
        """`given`: its arguments before those of the place, which `make` makes."""
        if retry is not False:
            return retried(retry, lambda: self(given, size, make, timeout))
        bare = self._library.bare
        begun = bare.now_ns()
        if size <= self.upto:
            place, scratch, until = make(), lend(), begun + SLICE_NS
            deadline = until + 1 if timeout is None else deadline_after(timeout)
            scratch.number.value = min(until, deadline)
            status = getattr(bare, self._blocking)(*given, *place.arguments, scratch.number, scratch.at_error)
            if status == 0:
                give_back(scratch)
                self._learn(size, bare.now_ns() - begun)
                return place.result()
            if deadline <= until or status not in _NOT_YET:
                raise self._library.error_from(scratch.error)
            if timeout is not None:
                timeout = timeout - (bare.now_ns() - begun) / 1e9  # not in place: it may be a caller's array
        result = run_to_end(self._library, partial(getattr(bare, self._start), *given), lambda: make().take, timeout)
        self._learn(size, bare.now_ns() - begun)
        return result

    def _learn(self, size: int, ns: int) -> None:
        if ns >= _QUICK_NS:
            self.upto = min(self.upto, size - 1)
        elif size > self.upto:
            self.upto = size


def wait(c: Library, op: _abi.anelane_op, deadline: int, error: _abi.anelane_error) -> None:
    """Until the end of the operation or the deadline; raises how it ended, PendingError at the deadline."""
    while True:
        until = min(c.now_ns() + SLICE_NS, deadline)
        status = c.op_wait(op, until, ctypes.byref(error))
        if status == 0:
            return
        if status != _abi.ANELANE_PENDING or until == deadline:
            raise c.error_from(error)
