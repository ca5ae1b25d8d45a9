"""libanelane from Python: the Neural Engine lane of this machine.

    with anelane.Lane() as lane, lane.load("models/all-MiniLM-L6-v2") as model:
        vectors = model.embed(["A cat sleeps by the window.", "A kitten naps in the sun."])

Lane, Model, Lease and Operation follow include/anelane.h; SentenceEncoder is one object for all of it. Errors are
anelane.Error, with a class for each code.
"""
from __future__ import annotations

from ._cancel import cancel_all
from ._encoder import SentenceEncoder, similarity
from ._lane import Lane, holder, peek, replay
from ._lease import Lease
from ._library import library as _loaded
from ._library import load_library
from ._log import set_log
from ._mapping import MappedPort
from ._model import Model, inspect, mil_check
from ._operation import Operation
from ._retry import retry, retry_async
from ._tokenizer import Tokenizer
from ._types import Holder, LaneStats, ModelInfo, Port
from .errors import (
    BadHandleError,
    CancelledError,
    ClosedError,
    CompileFailedError,
    DeadlineExceededError,
    EngineCrashedError,
    EngineUnavailableError,
    Error,
    ForkedError,
    InternalError,
    InvalidArgumentError,
    InvalidSequenceError,
    IoError,
    LaneBusyError,
    LeaseExpiredError,
    ModelInvalidError,
    ModelUnsupportedError,
    OutOfMemoryError,
    PausedError,
    PendingError,
    ProtocolError,
    ResourcesExhaustedError,
    RetiredError,
    SequenceTooLongError,
    ShapeCompilingError,
    ShapeUnknownError,
    TempSpaceLowError,
    UnsupportedError,
    WrongThreadError,
)


def version() -> str:
    """The C library's version and build, "0.1.0+…"."""
    return str(_loaded().version().decode())


__all__ = [
    "BadHandleError",
    "CancelledError",
    "ClosedError",
    "CompileFailedError",
    "DeadlineExceededError",
    "EngineCrashedError",
    "EngineUnavailableError",
    "Error",
    "ForkedError",
    "Holder",
    "InternalError",
    "InvalidArgumentError",
    "InvalidSequenceError",
    "IoError",
    "Lane",
    "LaneBusyError",
    "LaneStats",
    "Lease",
    "LeaseExpiredError",
    "MappedPort",
    "Model",
    "ModelInfo",
    "ModelInvalidError",
    "ModelUnsupportedError",
    "Operation",
    "OutOfMemoryError",
    "PausedError",
    "PendingError",
    "Port",
    "ProtocolError",
    "ResourcesExhaustedError",
    "RetiredError",
    "SentenceEncoder",
    "SequenceTooLongError",
    "ShapeCompilingError",
    "ShapeUnknownError",
    "TempSpaceLowError",
    "Tokenizer",
    "UnsupportedError",
    "WrongThreadError",
    "cancel_all",
    "holder",
    "inspect",
    "load_library",
    "mil_check",
    "peek",
    "replay",
    "retry",
    "retry_async",
    "set_log",
    "similarity",
    "version",
]
