"""Addresses of Python's buffers, by the quickest ways that ctypes and NumPy have."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

#: ctypes.memmove without its conversions: (ctypes object or byref, ctypes object, c_size_t).
memmove: Any = ctypes.CDLL(None).memmove
memmove.restype = None


#: The beginning of the memory of a writable, contiguous buffer, which is neither moved nor freed as long as this lives.
#: Raises TypeError or ValueError where it is not of that kind, or empty.
pinned: Callable[[Any], Any] = ctypes.c_char.from_buffer


def address_of(values: Any) -> int:
    """Where the elements of any NumPy array begin; it has to be kept by the caller."""
    return int(values.__array_interface__["data"][0])
