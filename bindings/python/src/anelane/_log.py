"""The library's log."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from . import _abi, errors
from ._library import library
from ._operation import tell_unraisable

_LEVELS = {"debug": _abi.ANELANE_LOG_DEBUG, "info": _abi.ANELANE_LOG_INFO, "warn": _abi.ANELANE_LOG_WARN,
           "error": _abi.ANELANE_LOG_ERROR}
_kept: list[Any] = []  # what the library may still call


def set_log(function: Callable[[str, str], object] | None,
            level: Literal["debug", "info", "warn", "error"] = "info") -> None:
    """Calls `function(level, line)` for each line of log from `level` on; None: no log, which is the default.

    Before the first lane is opened. The lane waits for the function, which must neither block nor call this package:
    `lambda level, line: queue.put_nowait(line)`, say.
    """
    if level not in _LEVELS:
        raise errors.make(errors.INVALID_ARGUMENT, f"level is {level!r}: not one of {', '.join(_LEVELS)}")
    names = {number: name for name, number in _LEVELS.items()}

    def on_line(_: Any, number: int, line: bytes) -> None:
        try:
            if function is not None:
                function(names.get(number, str(number)), line.decode(errors="replace"))
        except BaseException as error:  # it is the user's, and the thread is the library's
            tell_unraisable(error, function)

    hook = _abi.anelane_log_fn() if function is None else _abi.anelane_log_fn(on_line)
    status = library().set_log(hook, None, _LEVELS[level])
    if status != 0:
        raise errors.make(status, "set_log comes before the first lane is opened")
    _kept.append(hook)
