"""The C library: found, loaded once, checked, and called.

Where it is looked for, in this order: the path given to load_library; ANELANE_LIBRARY; the wheel's own copy beside this
file; wherever the system's loader finds a libanelane. What the user named is used or refused, never passed over. ctypes
lets other threads run during every call.
"""
from __future__ import annotations

import ctypes
import operator
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from . import _abi, errors
from ._locks import module_lock

_SYSTEM_NAMES = ("libanelane.0.dylib", "libanelane.dylib") if sys.platform == "darwin" else ("libanelane.so.0", "libanelane.so")
_lock = module_lock()
_loaded: Library | None = None

NO_CALLBACK = _abi.anelane_done_fn()
NO_DEADLINE = _abi.ANELANE_NO_DEADLINE
_ERROR_BYTES = ctypes.sizeof(_abi.anelane_error)
_NONE_GIVEN = ctypes.c_uint64(NO_DEADLINE)  # never written to


class Bare:
    """The functions that warm calls are made of, without argument types, so that ctypes converts nothing: an argument is a
    ctypes object, bytes or None. A plain int would be passed as 32 bits; a test watches that there is none."""

    NAMES = ("embed", "embed_texts", "start_embed", "start_embed_texts", "start_run", "op_wait", "op_floats", "op_output", "op_cancel",
             "op_release", "now_ns", "run", "predict", "tokenize")

    def __init__(self, dll: ctypes.CDLL) -> None:
        for name in self.NAMES:
            function = dll["anelane_" + name]  # another object than dll.anelane_…
            function.restype = _abi.FUNCTIONS["anelane_" + name][0]
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # as in Library
        raise AttributeError(name)


class Library:
    """The functions of the header as attributes, without the prefix: `library.lane_open`."""

    exiting = False  # the interpreter ends, and all lanes were closed for that

    def __init__(self, path: str) -> None:
        try:
            dll = ctypes.CDLL(path)
        except OSError as error:
            raise errors.make(errors.ENGINE_UNAVAILABLE, f"cannot load the library: {error}. Name it in "
                                                         "ANELANE_LIBRARY, or call anelane.load_library(path)") from None
        self.path = path
        try:
            for name, (returned, arguments) in _abi.FUNCTIONS.items():
                function = getattr(dll, name)
                function.restype = returned
                function.argtypes = arguments
                setattr(self, name.removeprefix("anelane_"), function)
            self.bare = Bare(dll)
        except AttributeError as error:
            raise errors.make(errors.PROTOCOL, f"{path} is another libanelane than this package needs: {error}") from None
        if self.abi_version() != _abi.ANELANE_ABI_VERSION:
            raise errors.make(errors.PROTOCOL, f"{path} has ABI {self.abi_version()}; this package needs "
                                               f"{_abi.ANELANE_ABI_VERSION}: use a library of its version")

    def __getattr__(self, name: str) -> Any:  # what setattr has not set; tells type checkers that the rest is there
        raise AttributeError(name)

    def error_from(self, error: _abi.anelane_error) -> errors.Error:
        """The exception that says what *error says."""
        if self.exiting:
            _park()
        line = ctypes.create_string_buffer(1024)
        self.error_text(ctypes.byref(error), line, len(line))
        code = int(error.status)
        return errors.BY_CODE.get(code, errors.Error)(
            line.value.decode(errors="replace"),
            code=code,
            name=self.status_name(code).decode(),
            transient=error.error_class == _abi.ANELANE_TRANSIENT,
            safe_to_retry=error.safe_to_retry != 0,
            retry_after_ms=error.retry_after_ms or None,
            lane_id=error.lane_id or None,
            limit=error.limit or None,
            item=None if error.item < 0 else error.item,
            shape=error.shape or None,
            holder_pid=error.holder_pid or None,
            model=error.model.decode(errors="replace") or None,
        )


def _park() -> None:
    """A daemon thread that still calls when the interpreter ends shall not wake up to an error (CLOSED, or of a worker, lease or
    model that is gone), which would be printed: it sleeps until it is gone. Not the main thread, and not threads of the library."""
    thread = threading.current_thread()
    if thread is not threading.main_thread() and not isinstance(thread, threading._DummyThread):
        while True:
            time.sleep(3600)


def _candidates() -> list[str]:
    named = os.environ.get("ANELANE_LIBRARY")
    if named:
        return [named]
    own = [Path(__file__).parent / "_native" / name for name in _SYSTEM_NAMES]
    return [str(path) for path in own if path.exists()] or list(_SYSTEM_NAMES)


def load_library(path: str | os.PathLike[str] | None = None) -> str:
    """Loads the C library now, and from `path` where that is given; answers the path it was loaded from. Without this
    call it is loaded at its first use. A process has one: another path afterwards is refused."""
    global _loaded
    with _lock:
        if _loaded is None:
            tried = [os.fspath(path)] if path is not None else _candidates()
            for candidate in tried:
                try:
                    _loaded = Library(candidate)
                    break
                except errors.EngineUnavailableError:
                    if candidate == tried[-1]:
                        raise
        elif path is not None and os.path.realpath(path) != os.path.realpath(_loaded.path):
            raise errors.make(errors.INVALID_ARGUMENT, f"{_loaded.path} is loaded already; load_library comes first")
        return _loaded.path  # type: ignore[union-attr]


def library() -> Library:
    if _loaded is None:
        load_library()
    return _loaded  # type: ignore[return-value]


def new_error() -> _abi.anelane_error:
    return _abi.anelane_error(_ERROR_BYTES)


def check(status: int, error: _abi.anelane_error) -> None:
    if status != 0:
        raise library().error_from(error)


def deadline_after(timeout: float | None) -> int:
    """The library's deadline `timeout` seconds from now; None: none but the lane's own bounds."""
    if timeout is None:
        return NO_DEADLINE
    if timeout <= 0:
        return 0
    return min(int(library().now_ns()) + int(min(timeout, 1e9) * 1e9), NO_DEADLINE - 1)


def c_deadline(timeout: float | None) -> ctypes.c_uint64:
    """The same for functions that are called bare."""
    return _NONE_GIVEN if timeout is None else ctypes.c_uint64(deadline_after(timeout))


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """Absolute: a process may change its folder later."""
    encoded = os.fsencode(os.path.abspath(path))
    if b"\0" in encoded:
        raise errors.make(errors.INVALID_ARGUMENT, "a path holds NUL")
    return encoded


def name_bytes(what: str, name: str) -> bytes:
    """A name for C, which would see its beginning only where it holds NUL."""
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError as error:
        raise errors.make(errors.INVALID_ARGUMENT, f"{what} is no Unicode text: {error}") from None
    if b"\0" in encoded:
        raise errors.make(errors.INVALID_ARGUMENT, f"{what} holds NUL")
    return encoded


def number32(what: str, value: int) -> int:
    """A number for C, to which ctypes would pass its lower 32 bits."""
    number = operator.index(value)
    if not 0 <= number < 2**32:
        raise errors.make(errors.INVALID_ARGUMENT, f"{what} is {number}: not a number from 0 to 4294967295")
    return number


def text_of(function: Any, *arguments: Any) -> str:
    """What a function of the form (…, buf, cap, *len, err) writes, whole."""
    size = 16384
    while True:
        buffer, length, error = ctypes.create_string_buffer(size), ctypes.c_size_t(), new_error()
        check(function(*arguments, buffer, size, ctypes.byref(length), ctypes.byref(error)), error)
        if length.value < size:
            return buffer.raw[: length.value].decode(errors="replace")
        size = length.value + 4096  # it may grow meanwhile
