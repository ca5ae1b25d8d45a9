"""Errors of libanelane: one class for each code, all of them anelane.Error.

A code that this package does not know is a plain Error: newer libraries may have more of them.
"""
from __future__ import annotations

from typing import Any

from . import _abi

__all__ = ["Error"]  # and every class made below


class Error(Exception):
    """What went wrong, and what to do about it.

    `str(error)` is one line that says both. The fields that do not apply are None.
    """

    #: The code of the class; of an instance, the code that the library gave.
    code: int = -1
    #: Its name, "SHAPE_COMPILING" say.
    name: str = "UNKNOWN"

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        name: str | None = None,
        transient: bool | None = None,
        safe_to_retry: bool | None = None,
        retry_after_ms: int | None = None,
        lane_id: int | None = None,
        limit: int | None = None,
        item: int | None = None,
        shape: int | None = None,
        holder_pid: int | None = None,
        model: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        if name is not None:
            self.name = name
        #: Whether asking again may help.
        self.transient = bool(transient)
        #: Whether the same request may be sent again without harm.
        self.safe_to_retry = bool(safe_to_retry)
        #: When to ask again, in milliseconds, where anybody knows.
        self.retry_after_ms = retry_after_ms
        #: Which lane.
        self.lane_id = lane_id
        #: The limit that was exceeded, or a byte offset.
        self.limit = limit
        #: The index of the offending item.
        self.item = item
        #: The shape it was about.
        self.shape = shape
        #: LANE_BUSY: the process that holds the lane.
        self.holder_pid = holder_pid
        #: The model it was about.
        self.model = model

    @property
    def retry_after(self) -> float | None:
        """When to ask again, in seconds from the answer, where anybody knows."""
        return None if self.retry_after_ms is None else self.retry_after_ms / 1000

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {key: value for key, value in self.__dict__.items() if key != "message"}
        return _rebuild, (type(self), self.message, fields)


def _rebuild(kind: type[Error], message: str, fields: dict[str, Any]) -> Error:
    return kind(message, **fields)


class InvalidArgumentError(Error, ValueError):
    """A parameter is wrong; the message names it."""


class BadHandleError(Error):
    """The object behind this was given back already."""


class ClosedError(Error):
    """The lane is closed or closing."""


class LaneBusyError(Error):
    """Another process holds the lane: `holder_pid`."""


class UnsupportedError(Error):
    """Not in this build or on this system."""


class ModelInvalidError(Error):
    """A broken checkpoint; the message names file and field or tensor."""


class ModelUnsupportedError(Error):
    """An architecture that this version does not serve."""


class InvalidSequenceError(Error):
    """No tokens, or an id outside the vocabulary: `item`."""


class SequenceTooLongError(Error):
    """Longer than the model's ceiling: `item`, `limit`. Nothing is ever truncated."""


class ShapeUnknownError(Error):
    """Not a rung of the model's ladder."""


class ShapeCompilingError(Error):
    """Not ready in time; ask again after `retry_after` seconds."""


class ResourcesExhaustedError(Error):
    """No room on the engine (`retry_after`), or never (not `transient`)."""


class TempSpaceLowError(Error):
    """A compile needs more free space in the temp folder."""


class CompileFailedError(Error):
    """The engine refuses the program for good."""


class DeadlineExceededError(Error, TimeoutError):
    """The time given was over."""


class CancelledError(Error):
    """The operation was cancelled. (Not asyncio's: awaiting code raises that.)"""


class RetiredError(Error):
    """The model was retired."""


class PausedError(Error):
    """The lane is paused."""


class EngineCrashedError(Error):
    """The worker died or broke; a new one is started by itself."""


class EngineUnavailableError(Error):
    """No engine: library or worker missing, framework missing or changed."""


class ProtocolError(Error):
    """Package, library and worker do not fit together."""


class IoError(Error):
    """A file could not be read or written; the message names it."""


class OutOfMemoryError(Error):
    """Memory ran out during the call."""


class InternalError(Error):
    """A defect of libanelane: please report the message."""


class LeaseExpiredError(Error):
    """Released, not used for lease_max_ms, or its shape is gone."""


class ForkedError(Error):
    """A call in a forked child: open a lane in the parent only, or start the child by exec ("spawn")."""


class WrongThreadError(Error):
    """A blocking call in a callback of the library."""


class PendingError(Error, TimeoutError):
    """Not finished yet; it goes on."""


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_")) + "Error"


BY_CODE: dict[int, type[Error]] = {}
for _constant in dir(_abi):
    _kind = globals().get(_class_name(_constant.removeprefix("ANELANE_")))
    if isinstance(_kind, type) and issubclass(_kind, Error):
        _kind.code, _kind.name = getattr(_abi, _constant), _constant.removeprefix("ANELANE_")
        BY_CODE[_kind.code] = _kind
__all__ += [kind.__name__ for kind in BY_CODE.values()]

INVALID_ARGUMENT = _abi.ANELANE_INVALID_ARGUMENT
CLOSED = _abi.ANELANE_CLOSED
INVALID_SEQUENCE = _abi.ANELANE_INVALID_SEQUENCE
IO = _abi.ANELANE_IO
UNSUPPORTED = _abi.ANELANE_UNSUPPORTED
ENGINE_UNAVAILABLE = _abi.ANELANE_ENGINE_UNAVAILABLE
PROTOCOL = _abi.ANELANE_PROTOCOL
LEASE_EXPIRED = _abi.ANELANE_LEASE_EXPIRED
BAD_HANDLE = _abi.ANELANE_BAD_HANDLE


def make(code: int, message: str, **fields: Any) -> Error:
    """An error that this package finds itself; permanent."""
    kind = BY_CODE.get(code, Error)
    return kind(f"{kind.name}: {message}", code=code, **fields)
