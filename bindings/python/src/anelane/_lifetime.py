"""Lanes that are open, so that none outlives the interpreter.

A callback of the library that arrives while the interpreter is torn down could end the process, so every lane is closed
before that begins: an exit handler gives them a moment, then force. In a forked child the library answers FORKED at once
and the handler does nothing.
"""
from __future__ import annotations

import atexit

from . import _abi, errors
from ._library import deadline_after, library
from ._locks import module_lock

_EXIT_SECONDS = 0.3  # for workers to end by themselves; the library forces them then

_lock = module_lock()
_open: dict[int, _abi.anelane_lane] = {}
_exiting = False


def entered(handle: _abi.anelane_lane) -> None:
    """CLOSED: the interpreter ends, and the lane is the caller's to close."""
    with _lock:
        if not _exiting:
            _open[handle.bits] = handle
            return
    raise errors.make(errors.CLOSED, "the interpreter is ending")


def left(handle: _abi.anelane_lane) -> bool:
    """True: it is the caller's to close, and nobody else will."""
    with _lock:
        return _open.pop(handle.bits, None) is not None


@atexit.register
def _close_all() -> None:
    global _exiting
    with _lock:
        _exiting = True
        handles = list(_open.values())
        _open.clear()
    if handles:
        library().exiting = True
        deadline = deadline_after(_EXIT_SECONDS)
        for handle in handles:
            library().lane_close(handle, deadline, None)
