"""Many operations cancelled at once."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _abi
from ._library import library
from ._operation import Operation


def cancel_all(operations: Iterable[Operation[Any]]) -> None:
    """Cancels them all, which costs the lane one wake-up instead of one each. Those that have ended are passed over."""
    handles = [operation._op for operation in operations if not operation.done()]
    if handles:
        library().op_cancel_many((_abi.anelane_op * len(handles))(*handles), len(handles))
