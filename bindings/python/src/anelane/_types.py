"""What the library tells, as plain values."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple, Union

from . import _abi

StrPath = Union[str, "os.PathLike[str]"]

_KINDS = {_abi.ANELANE_EMBEDDER: "embedder", _abi.ANELANE_RERANKER: "reranker", _abi.ANELANE_PROGRAM: "program"}
ENGINES = {"auto": _abi.ANELANE_ENGINE_AUTO, "apple": _abi.ANELANE_ENGINE_APPLE, "soft": _abi.ANELANE_ENGINE_SOFT}
WORKER_MODES = {"process": _abi.ANELANE_WORKER_PROCESS, "thread": _abi.ANELANE_WORKER_THREAD}
APPLE_ROUTES = {"in-memory": _abi.ANELANE_LANE_APPLE_IN_MEMORY, "client": _abi.ANELANE_LANE_APPLE_CLIENT}
MIL_DIALECTS = {"ios18": _abi.ANELANE_LANE_MIL_IOS18, "ios16": _abi.ANELANE_LANE_MIL_IOS16}
#: The dtype of a port, as NumPy spells it.
DTYPES = {_abi.ANELANE_F16: "<f2", _abi.ANELANE_F32: "<f4", _abi.ANELANE_I32: "<i4", _abi.ANELANE_I8: "|i1", _abi.ANELANE_U8: "|u1"}

ITEM_BYTES = {"<f2": 2, "<f4": 4, "<i4": 4, "|i1": 1, "|u1": 1}


def _name_of(names: dict[str, int], number: int) -> str:
    return next((name for name, value in names.items() if value == number), str(number))


def _text(field: bytes) -> str:
    return field.decode(errors="replace")


class ModelInfo(NamedTuple):
    """A model, or what a checkpoint folder would be as one."""

    kind: str
    engine: str  #: the one that really runs; "auto" from inspect
    dim: int  #: numbers of one vector
    ceiling: int  #: longest sequence in tokens
    layers: int  #: programs of one resident shape
    rungs: tuple[int, ...]  #: the ladder of shapes
    cached_rungs: tuple[int, ...]  #: those known to be compiled
    host_bytes: int  #: memory that the worker needs beside the engine's
    first_ready: float  #: predicted seconds until the smallest shape is ready, were it asked for now
    architecture: str
    vector_space: str  #: vectors are comparable only where this is equal; "" from inspect

    @classmethod
    def _of(cls, c: _abi.anelane_model_info) -> ModelInfo:
        rungs = tuple(c.rungs[: c.rung_count])
        return cls(
            _KINDS.get(c.kind, str(c.kind)), _name_of(ENGINES, c.engine), c.dim, c.ceiling, c.layers, rungs,
            tuple(rung for i, rung in enumerate(rungs) if c.cached_rungs >> i & 1), c.host_bytes, c.first_ready_ms / 1000,
            _text(c.architecture), _text(c.vector_space))


class LaneStats(NamedTuple):
    """A snapshot of a lane, consistent in itself. include/anelane.h explains each."""

    budget: int
    reserved_programs: int
    resident: int
    leased: int
    waiting: int
    models: int
    compiling_shape: int
    compiling_ms: int
    compiling_predicted_ms: int
    admitted: int
    loaded: int
    compiled: int
    evicted: int
    refused: int
    restarts: int
    answered: int
    cancelled: int
    compiling_model: str

    @classmethod
    def _of(cls, c: _abi.anelane_lane_stats) -> LaneStats:
        numbers = {name: getattr(c, name) for name in cls._fields if name != "compiling_model"}
        return cls(**numbers, compiling_model=_text(c.compiling_model))


class Holder(NamedTuple):
    """Who holds a lane."""

    held: bool
    pid: int | None  #: advice from the record beside the lock
    record_stale: bool  #: the record is missing or of somebody else
    since_unix: float
    program: str

    @classmethod
    def _of(cls, c: _abi.anelane_holder) -> Holder:
        return cls(bool(c.held), c.pid or None, bool(c.record_stale), c.since_unix_ms / 1000, _text(c.program))


@dataclass(frozen=True)
class Port:
    """The layout of one tensor that Lease.run takes or gives."""

    index: int
    name: str
    dtype: str  #: as NumPy spells it
    is_output: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]  #: in bytes
    nbytes: int  #: of the whole buffer

    @classmethod
    def _of(cls, index: int, c: _abi.anelane_port) -> Port:
        return cls(index, _text(c.name), DTYPES.get(c.dtype, str(c.dtype)), bool(c.is_output), tuple(c.dims[: c.rank]),
                   tuple(c.strides[: c.rank]), c.bytes)
