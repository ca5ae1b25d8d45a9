"""Asking again, when the library says when.

Only errors that are transient and safe to send again are retried. The pause is the one that the error names, at least
10 ms (a quarter of a second where it names none), and never beyond the time given.
"""
from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, Union

from . import errors

T = TypeVar("T")
#: False: no; True: for DEFAULT_SECONDS; a number: for so many seconds.
Retry = Union[bool, float]

DEFAULT_SECONDS = 600.0


def _pause(error: errors.Error, end: float) -> float:
    """How long to wait before asking again; raises the error when that is out of the question."""
    pause = max(0.25 if error.retry_after is None else error.retry_after, 0.01)
    if not (error.transient and error.safe_to_retry) or time.monotonic() + pause > end:
        raise error
    return pause


def retry(call: Callable[[], T], *, timeout: float = DEFAULT_SECONDS) -> T:
    """Calls `call` until it gives a result, sleeping as its errors say, for at most `timeout` seconds in all pauses and
    calls together; raises the last error then."""
    end = time.monotonic() + timeout
    while True:
        try:
            return call()
        except errors.Error as error:
            pause = _pause(error, end)
        time.sleep(pause)


async def retry_async(call: Callable[[], Awaitable[T]], *, timeout: float = DEFAULT_SECONDS) -> T:
    """The same for what is awaited: `await retry_async(lambda: model.start_embed(texts))`."""
    end = time.monotonic() + timeout
    while True:
        try:
            return await call()
        except errors.Error as error:
            pause = _pause(error, end)
        await asyncio.sleep(pause)


def retried(wanted: Retry, call: Callable[[], T]) -> T:
    """`call` under a `retry` argument."""
    if wanted is False:
        return call()
    return retry(call, timeout=DEFAULT_SECONDS if wanted is True else float(wanted))
