"""Addresses of Python's buffers, by the quickest ways that ctypes and NumPy have."""
from __future__ import annotations

import ctypes
from typing import Any

#: ctypes.memmove without its conversions: (ctypes object or byref, ctypes object, c_size_t).
memmove: Any = ctypes.CDLL(None).memmove
memmove.restype = None


def pinned(values: Any) -> Any:
    """The beginning of the memory of a writable, contiguous buffer, which is neither moved nor freed as long as this lives.
    Raises TypeError or ValueError where it is not of that kind, or empty."""
    return ctypes.c_char.from_buffer(values)


def address_of(values: Any) -> int:
    """Where the elements of any NumPy array begin; it has to be kept by the caller."""
    return int(values.__array_interface__["data"][0])
