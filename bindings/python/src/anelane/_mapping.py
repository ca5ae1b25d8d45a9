"""Memory of a lease's ports, shared with the worker, that Python objects may look at for as long as they like.

The library takes its own mapping back when the lane is closed, and lends the memory to others once the lease has ended;
an array that somebody still holds must neither crash nor write into another's tensors. So nobody gets the library's
mapping: each mapped port is a second mapping of the same pages (Linux: mremap of length 0), owned by the objects that look
at it and unmapped with the last of them. When the lease ends, private memory takes its place, in one step: what is left
then can be read and written and means nothing to anybody. PortArray, the NumPy array of this package, says so: every use of
it raises LeaseExpiredError.

States: live, ended. Threads: any; a use in another thread that races the end sees the old memory or the new.
"""
from __future__ import annotations

import ctypes
import mmap
import sys
import threading
import weakref
from typing import Any

from . import errors
from ._numpy import need_numpy, numpy
from ._types import Port

_MAYMOVE = 1
_MAP_FIXED = 0x10  # Linux, every processor that we know
_FAILED = ctypes.c_void_p(-1).value


def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mremap.restype = libc.mmap.restype = ctypes.c_void_p
    libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


_c: Any = _libc() if sys.platform == "linux" else None


class Memory:
    """One second mapping; `buffer` is the bytes of the port in it."""

    def __init__(self, address: int, size: int) -> None:
        if _c is None:
            raise errors.make(errors.UNSUPPORTED, "mapped ports need Linux; give run() arrays of your own")
        offset = address % mmap.PAGESIZE
        self._bytes = -(-(offset + size) // mmap.PAGESIZE) * mmap.PAGESIZE
        base = _c.mremap(address - offset, 0, self._bytes, _MAYMOVE)
        if base is None or base == _FAILED:
            raise errors.make(errors.IO, f"cannot map the port again: errno {ctypes.get_errno()}")
        self._base = base
        self._lock = threading.Lock()
        self.live = True
        self.buffer = (ctypes.c_char * size).from_address(base + offset)
        # What looks at the memory refers to the buffer. At exit the system does it.
        weakref.finalize(self.buffer, _c.munmap, base, self._bytes).atexit = False

    def end(self) -> None:
        """The lease has ended. Again: nothing."""
        with self._lock:
            if not self.live:
                return
            self.live = False
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
            _c.mmap(self._base, self._bytes, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)

    def check(self) -> None:
        if not self.live:
            raise errors.make(errors.LEASE_EXPIRED, "the lease of this memory was released", safe_to_retry=True)


class MappedPort:
    """One port of a lease, in memory shared with the worker (from Lease.map). Give it to Lease.run in place of an array."""

    def __init__(self, port: Port, memory: Memory) -> None:
        self.port = port
        self._memory = memory
        self._view: memoryview | None = None

    @property
    def memory(self) -> memoryview:
        """All bytes of the port, writable. LeaseExpiredError after the release."""
        self._memory.check()
        if self._view is None:
            self._view = memoryview(self._memory.buffer).cast("B")
        return self._view

    @property
    def array(self) -> Any:
        """The port as a NumPy array, whose every use after the release raises LeaseExpiredError."""
        np = need_numpy("MappedPort.array (memory does without)")
        self._memory.check()
        bytes_of = np.frombuffer(self._memory.buffer, np.uint8)
        array = np.ndarray(self.port.shape, self.port.dtype, bytes_of.data, 0, self.port.strides).view(PortArray)
        array._port_memory = self._memory
        return array


if numpy is not None:

    def _plain(value: Any) -> Any:
        """PortArrays, checked, as plain arrays of the same memory; in tuples, lists and dicts too."""
        if isinstance(value, PortArray):
            _check(value)
            return numpy.ndarray.view(value, numpy.ndarray)
        if isinstance(value, (tuple, list)):
            return type(value)(map(_plain, value))
        if isinstance(value, dict):
            return {key: _plain(one) for key, one in value.items()}
        return value

    def _check(array: PortArray) -> None:
        memory = object.__getattribute__(array, "__dict__").get("_port_memory")
        if memory is not None:
            memory.check()

    class PortArray(numpy.ndarray):  # type: ignore[misc]
        """A view of a port. Results of calculations with it are plain arrays."""

        def __array_finalize__(self, other: Any) -> None:
            memory = None
            if isinstance(other, PortArray) and numpy.ndarray.base.__get__(self) is not None:  # a view, not a copy
                memory = object.__getattribute__(other, "__dict__").get("_port_memory")
            object.__getattribute__(self, "__dict__")["_port_memory"] = memory

        def __getattribute__(self, name: str) -> Any:
            if name not in ("__class__", "_port_memory", "__dict__", "__array_finalize__", "__array_priority__"):
                _check(self)
            return super().__getattribute__(name)

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **rest: Any) -> Any:
            if out is not None:
                rest["out"] = _plain(out)
            result = getattr(ufunc, method)(*_plain(inputs), **_plain(rest))
            return out[0] if out is not None and len(out) == 1 else result

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return function(*_plain(args), **_plain(kwargs))

        def __bool__(self) -> bool:
            return bool(_plain(self))

        def __float__(self) -> float:
            return float(_plain(self))

        def __int__(self) -> int:
            return int(_plain(self))

        # Older NumPys make errors of comparisons a "not equal".
        def __eq__(self, other: Any) -> Any:
            return _plain(self) == _plain(other)

        def __ne__(self, other: Any) -> Any:
            return _plain(self) != _plain(other)

        def __getitem__(self, key: Any) -> Any:
            _check(self)
            return super().__getitem__(key)

        def __setitem__(self, key: Any, value: Any) -> None:
            _check(self)
            super().__setitem__(key, value)

        def __iter__(self) -> Any:
            _check(self)
            return super().__iter__()

        def __len__(self) -> int:
            _check(self)
            return int(super().__len__())

        def __repr__(self) -> str:
            return repr(_plain(self))

        __str__ = __repr__
