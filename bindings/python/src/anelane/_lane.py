"""Lanes, and what can be asked about them from outside."""
from __future__ import annotations

import ctypes
import json
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from . import _abi, _lifetime, errors
from ._blocking import run_to_end
from ._library import check, deadline_after, library, new_error, number32, path_bytes, text_of
from ._model import Model, into_model, load_program, load_start
from ._operation import Operation
from ._retry import Retry
from ._types import APPLE_ROUTES, ENGINES, MIL_DIALECTS, WORKER_MODES, Holder, LaneStats, StrPath

_SLICE_SECONDS = 0.05  # how long a Ctrl-C may go unseen while another process holds the lane
_PATHS = ("lock_dir", "cache_dir", "temp_dir", "worker_path", "record_path")


class Lane:
    """The Neural Engine lane of this user, opened; close it, or use it as a context manager.

    Options have the names of anelane_lane_options in include/anelane.h, which explains them. `timeout`: how long to wait
    for another process that holds the lane (seconds; None: as long as the lane waits at all); then LaneBusyError names
    it. `apple_route` and `mil_dialect` are flags there. Opening the same lane again in one process gives the same one,
    counted. Objects made of a lane keep it alive; a lane that nothing refers to any more is closed.
    """

    def __init__(
        self,
        *,
        engine: Literal["auto", "apple", "soft"] = "auto",
        worker_mode: Literal["process", "thread"] = "process",
        prewarm: bool = False,
        timeout: float | None = 0,
        executable_budget: int | None = None,
        shapes_per_model: int | None = None,
        shapes_total: int | None = None,
        max_waiting: int | None = None,
        settle_ms: int | None = None,
        handoff_ms: int | None = None,
        lease_max_ms: int | None = None,
        soft_threads: int | None = None,
        admission_bound_ms: int | None = None,
        drain_ms: int | None = None,
        lock_dir: StrPath | None = None,
        cache_dir: StrPath | None = None,
        temp_dir: StrPath | None = None,
        worker_path: StrPath | None = None,
        record_path: StrPath | None = None,
        apple_route: Literal["in-memory", "client"] | None = None,
        mil_dialect: Literal["ios18", "ios16"] | None = None,
    ) -> None:
        given = {key: value for key, value in locals().items() if value is not None and key not in (
            "self", "engine", "worker_mode", "prewarm", "timeout", "apple_route", "mil_dialect")}
        c = library()
        options = _abi.anelane_lane_options()
        c.lane_options_init(ctypes.byref(options), ctypes.sizeof(options))
        options.engine = _choice("engine", ENGINES, engine)
        options.worker_mode = _choice("worker_mode", WORKER_MODES, worker_mode)
        options.flags = _abi.ANELANE_LANE_PREWARM if prewarm else 0
        if apple_route is not None:
            options.flags |= _choice("apple_route", APPLE_ROUTES, apple_route)
        if mil_dialect is not None:
            options.flags |= _choice("mil_dialect", MIL_DIALECTS, mil_dialect)
        for key, value in given.items():
            setattr(options, key, path_bytes(value) if key in _PATHS else number32(key, value))
        self._library = c
        self._mapped: weakref.WeakSet[Any] = weakref.WeakSet()  # memory of leases, to be cut off at the close
        self._handle = _abi.anelane_lane()
        try:
            _open(options, timeout, self._handle)
            _lifetime.entered(self._handle)
        except BaseException:
            self._close_by_force()
            raise

    def close(self, timeout: float | None = 10) -> None:
        """Answers what waits with ClosedError, ends the workers in good order, after `timeout` seconds by force. Again:
        nothing."""
        handle, error, deadline = self._handle, new_error(), deadline_after(timeout)
        try:
            if not handle.bits or not _lifetime.left(handle):
                return
            for memory in list(self._mapped):
                memory.end()
            status = self._library.lane_close(handle, deadline, ctypes.byref(error))
        except BaseException:  # Ctrl-C: nobody would close it any more
            self._close_by_force()
            raise
        if status == _abi.ANELANE_WRONG_THREAD:
            _lifetime.entered(handle)  # still to be closed
        check(status, error)

    @property
    def closed(self) -> bool:
        return self._handle.bits not in _lifetime._open

    def load(
        self,
        path: StrPath,
        *,
        name: str | None = None,
        rungs: list[int] | tuple[int, ...] | None = None,
        numerics: Literal["fast", "lattice"] | None = None,
        progress: Callable[[int, int, int, float | None], object] | None = None,
        timeout: float | None = None,
        retry: Retry = False,
    ) -> Model:
        """Loads a checkpoint folder and starts its worker; nothing is compiled yet.

        `progress(shape, layer, layers, seconds_left)` is called while a shape becomes resident, on the library's
        completion thread. Raises ModelInvalidError, ModelUnsupportedError (file, field or tensor), EngineUnavailableError.
        """
        start, keep = load_start(self, path, name, rungs, numerics, progress)
        return run_to_end(self._library, start, into_model(self, keep), timeout, retry)

    def start_load(
        self,
        path: StrPath,
        *,
        name: str | None = None,
        rungs: list[int] | tuple[int, ...] | None = None,
        numerics: Literal["fast", "lattice"] | None = None,
        progress: Callable[[int, int, int, float | None], object] | None = None,
        timeout: float | None = None,
    ) -> Operation[Model]:
        """load() without waiting: await it."""
        start, keep = load_start(self, path, name, rungs, numerics, progress)
        return Operation(start, into_model(self, keep), timeout, self)

    def load_program(
        self,
        rungs: Mapping[int, Sequence[Mapping[str, Any]]],
        *,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Model:
        """Loads programs of your own from memory: program.json's "rungs" (docs/programs.md) with contents in place of file
        names, `{64: [{"mil": text, "weights": data, "connect": {"hidden": "g"}}]}`. Blocks; Ctrl-C waits for its end."""
        return load_program(self, rungs, name, timeout)

    def stats(self) -> LaneStats:
        """A snapshot."""
        stats, error = _abi.anelane_lane_stats(ctypes.sizeof(_abi.anelane_lane_stats)), new_error()
        check(self._library.lane_get_stats(self._handle_open(), ctypes.byref(stats), ctypes.byref(error)), error)
        return LaneStats._of(stats)

    def describe(self) -> dict[str, Any]:
        """Options, models with their slots, queue, learned costs."""
        described: dict[str, Any] = json.loads(text_of(self._library.lane_describe, self._handle_open()))
        return described

    def _close_by_force(self) -> None:
        """Where that has not been done yet: the library says BAD_HANDLE then."""
        _lifetime.left(self._handle)
        if self._handle.bits:
            self._library.lane_close(self._handle, 0, None)

    def _handle_open(self) -> _abi.anelane_lane:
        if self.closed:
            raise errors.make(errors.CLOSED, "this lane was closed")
        return self._handle

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_handle", None) or sys.is_finalizing():
            return
        try:
            self.close(timeout=1)
        except errors.WrongThreadError:  # the last reference went in a callback
            threading.Thread(target=_close_elsewhere, args=(self._handle,), daemon=True).start()
        except errors.Error:
            pass

    def __repr__(self) -> str:
        return f"<anelane.Lane{' (closed)' if self.closed else ''}>"


def _close_elsewhere(handle: _abi.anelane_lane) -> None:
    if _lifetime.left(handle):
        library().lane_close(handle, deadline_after(1), None)


def _choice(what: str, names: dict[str, int], name: str) -> int:
    if name not in names:
        raise errors.make(errors.INVALID_ARGUMENT, f"{what} is {name!r}: not one of {', '.join(names)}")
    return names[name]


def _open(options: _abi.anelane_lane_options, timeout: float | None, handle: _abi.anelane_lane) -> None:
    """In slices, for Ctrl-C: nobody can be told to stop waiting for another process."""
    c, error = library(), new_error()
    end = time.monotonic() + (options.admission_bound_ms / 1000 if timeout is None else timeout)
    while True:
        left = end - time.monotonic()
        deadline = deadline_after(min(max(left, 0), _SLICE_SECONDS))
        status = c.lane_open(ctypes.byref(options), deadline, ctypes.byref(handle), ctypes.byref(error))
        if status != _abi.ANELANE_LANE_BUSY or left <= 0:
            check(status, error)
            return


def holder(lock_dir: StrPath | None = None) -> Holder:
    """Who holds the lane? Needs no lane, changes nothing."""
    answer, error = _abi.anelane_holder(ctypes.sizeof(_abi.anelane_holder)), new_error()
    folder = None if lock_dir is None else path_bytes(lock_dir)
    check(library().lane_holder(folder, ctypes.byref(answer), ctypes.byref(error)), error)
    return Holder._of(answer)


def peek(lock_dir: StrPath | None = None) -> dict[str, Any]:
    """What the lane does, whoever holds it; see anelane_lane_peek. Needs no lane, disturbs nobody."""
    folder = None if lock_dir is None else path_bytes(lock_dir)
    seen: dict[str, Any] = json.loads(text_of(library().lane_peek, folder))
    return seen


def replay(path: StrPath) -> tuple[int, str]:
    """Decides a record (Lane's record_path) again: the number of events, and the first difference ("": none)."""
    steps = ctypes.c_uint64()
    c = library()

    def call(buffer: Any, size: int, length: Any, error: Any) -> int:
        return int(c.replay(path_bytes(path), ctypes.byref(steps), buffer, size, length, error))

    difference = text_of(call)
    return steps.value, difference
