"""Operations: what a caller asked for, its end, its result, for those who await it or look at it later.

They carry a callback. All of them share one C callback, which finds its operation by number in _running; it is called on
the library's completion thread, never blocks, and never raises.

States: running, ended, taken (the result is a Python object, or an error that is raised each time), released. An
operation is ended once, by the callback; it is taken once, under its lock. Threads: any.
"""
from __future__ import annotations

import asyncio
import ctypes
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from . import _abi, errors
from ._blocking import Room, Start, wait
from ._library import c_deadline, check, deadline_after, library, new_error
from ._locks import module_lock
from ._scratch import give_back, lend

T = TypeVar("T")

_numbers = itertools.count(1)
_numbers_lock = module_lock()  # for interpreters without a global one
_running: dict[int, weakref.ref[Operation[Any]]] = {}  # weak: what nobody holds any more is cancelled


def _ended(user: int, op: _abi.anelane_op, status: int) -> None:
    reference = _running.pop(user, None)
    operation = reference() if reference is not None else None
    if operation is not None:
        operation._end()


_on_done = _abi.anelane_done_fn(_ended)


class Operation(Generic[T]):
    """Something asked for that goes on by itself: await it, or ask for its result().

    Dropping it, leaving its `with` block, or cancelling the task that awaits it cancels what has not ended.
    """

    def __init__(self, start: Start, room: Room[T], timeout: float | None = None, needs: object = None) -> None:
        """`needs`: what it keeps alive, so that its lane is not closed under it."""
        self._library = library()
        self._needs = needs
        self._room = room
        self._lock = threading.RLock()  # a finalizer may run in the middle of anything
        self._listeners: list[Callable[[], object]] = []
        self._ended = False
        self._taken: T | None = None
        self._error: BaseException | None = None
        self._has_result = False
        self._op = _abi.anelane_op()
        with _numbers_lock:
            number = next(_numbers)
        error = new_error()
        _running[number] = weakref.ref(self)
        try:
            check(start(c_deadline(timeout), _on_done, ctypes.c_void_p(number), ctypes.byref(self._op), ctypes.byref(error)), error)
        except BaseException:
            _running.pop(number, None)
            self.release()
            raise

    # ---- waiting ----
    def result(self, timeout: float | None = None) -> T:
        """Waits for the end. Raises how it ended; PendingError when it goes on after `timeout` seconds. Anything else
        that ends the wait, Ctrl-C say, cancels it."""
        with self._lock:
            settled = self._has_result or self._error is not None
        if not settled:
            try:
                wait(self._library, self._op, deadline_after(timeout), new_error())
            except (errors.PendingError, errors.WrongThreadError, errors.ForkedError):
                raise  # not how it ended
            except errors.Error as error:
                with self._lock:  # another thread may have taken the result and released it
                    if not self._has_result and self._error is None:
                        self._error = error
            except BaseException:
                self.cancel()
                raise
        return self._outcome()

    def __await__(self) -> Generator[Any, None, T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:  # the loop was closed meanwhile: nobody waits there any more
                pass

        self._listen(tell)
        try:
            yield from future
        except BaseException:
            self.cancel()
            raise
        return self.result(0)

    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._ended or self._has_result or self._error is not None

    def cancel(self) -> None:
        """Asks for cancellation and returns at once: it ends with CancelledError, or as it would have."""
        op = self._op
        if op.bits and not self._ended:
            self._library.op_cancel(op)

    def add_done_callback(self, function: Callable[[Operation[T]], object]) -> None:
        """Calls `function(self)` at the end, on the library's completion thread, where blocking calls of this package are
        refused; at once where it has ended already."""
        self._listen(lambda: function(self))

    # ---- the end of its life ----
    def release(self) -> None:
        """Gives it back: cancels it where it has not ended. A result that was taken stays. Again: nothing."""
        with self._lock:
            op, self._op = self._op, _abi.anelane_op()
        if op.bits:
            if not self._ended:
                self._library.op_cancel(op)
            self._library.op_release(op)

    def __enter__(self) -> Operation[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        if hasattr(self, "_op"):
            self.release()

    # ---- inside ----
    def _outcome(self) -> T:
        with self._lock:
            if not self._has_result and self._error is None:
                try:
                    scratch = lend()
                    self._taken = self._room()(self._library, self._op, scratch)
                    self._has_result = True
                    give_back(scratch)
                except errors.Error as error:
                    self._error = error
                self.release()
            if self._error is not None:
                raise self._error
            return self._taken  # type: ignore[return-value]

    def _listen(self, function: Callable[[], object]) -> None:
        with self._lock:
            if not self._ended:
                self._listeners.append(function)
                return
        function()

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            try:
                listener()
            except BaseException as error:  # it is the user's, and the thread is the library's
                tell_unraisable(error, listener)


class _Unraisable:
    """The shape of sys.UnraisableHookArgs."""

    def __init__(self, error: BaseException, where: object) -> None:
        self.exc_type: type[BaseException] = type(error)
        self.exc_value: BaseException | None = error
        self.exc_traceback = error.__traceback__
        self.err_msg: str | None = "Exception ignored in a callback of anelane"
        self.object = where


def tell_unraisable(error: BaseException, where: object) -> None:
    """What Python does with an exception that nobody can catch."""
    sys.unraisablehook(_Unraisable(error, where))
