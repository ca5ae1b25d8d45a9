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
        self._lock = threading.RLock()  # a signal handler or a finalizer may end it in the middle of its end
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
        """The port as an array (PortArray), whose every use after the release raises LeaseExpiredError."""
        np = need_numpy("MappedPort.array (memory does without)")
        self._memory.check()
        bytes_of = np.frombuffer(self._memory.buffer, np.uint8)
        return PortArray(np.ndarray(self.port.shape, self.port.dtype, bytes_of.data, 0, self.port.strides), self._memory)


def plain_array(value: Any) -> Any:
    """A PortArray, checked, as a NumPy array of the same memory; anything else as it is."""
    return value.__array__() if numpy is not None and isinstance(value, PortArray) else value


if numpy is not None:

    def _plain(value: Any) -> Any:
        """plain_array(), in tuples, lists and dicts too."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(_plain, value))
        if isinstance(value, dict):
            return {key: _plain(one) for key, one in value.items()}
        return plain_array(value)

    class PortArray(numpy.lib.mixins.NDArrayOperatorsMixin):  # type: ignore[misc]
        """A view of a port: everything that numpy.ndarray has, looked up when it is used. Views of it are PortArrays, results of
        calculations with it are NumPy arrays; numpy.asarray() makes a NumPy array of the same memory."""

        __slots__ = ("_view", "_port_memory")

        def __init__(self, view: Any, memory: Memory) -> None:
            self._view = view
            self._port_memory = memory

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            self._port_memory.check()
            view = self._view
            if dtype is not None and view.dtype != dtype:
                if copy is False:
                    raise ValueError("another dtype needs a copy")
                return view.astype(dtype)
            return view.copy() if copy else view

        def _guard(self, value: Any) -> Any:
            """A result: guarded where it looks at the port's memory."""
            if isinstance(value, numpy.ndarray) and numpy.may_share_memory(value, self._view):
                return PortArray(value, self._port_memory)
            if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
                return type(value)(map(self._guard, value))
            return value

        def __getattr__(self, name: str) -> Any:
            if name in PortArray.__slots__:  # half made
                raise AttributeError(name)
            value = getattr(self.__array__(), name)
            if not callable(value):
                return self._guard(value)
            return lambda *args, **kwargs: self._guard(getattr(self.__array__(), name)(*_plain(args), **_plain(kwargs)))

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **rest: Any) -> Any:
            if out is not None:
                rest["out"] = out
            result = getattr(ufunc, method)(*_plain(inputs), **_plain(rest))
            return out[0] if out is not None and len(out) == 1 else result

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return self._guard(function(*_plain(args), **_plain(kwargs)))

        def __getitem__(self, key: Any) -> Any:
            return self._guard(self.__array__()[_plain(key)])

        def __setitem__(self, key: Any, value: Any) -> None:
            self.__array__()[_plain(key)] = _plain(value)

        def __iter__(self) -> Any:
            return (self[i] for i in range(len(self)))

        def __len__(self) -> int:
            return len(self.__array__())

        def __contains__(self, value: Any) -> bool:
            return _plain(value) in self.__array__()

        def __bool__(self) -> bool:
            return bool(self.__array__())

        def __int__(self) -> int:
            return int(self.__array__())

        def __float__(self) -> float:
            return float(self.__array__())

        def __complex__(self) -> complex:
            return complex(self.__array__())

        def __bytes__(self) -> bytes:
            return bytes(self.__array__().tobytes())

        def __buffer__(self, flags: int) -> memoryview:  # Python 3.12
            return memoryview(self.__array__())

        def __repr__(self) -> str:
            return repr(self.__array__())

        def __str__(self) -> str:
            return str(self.__array__())

        def __copy__(self) -> Any:
            return self.__array__(copy=True)

        def __deepcopy__(self, memo: Any) -> Any:
            return self.__array__(copy=True)

        def __reduce__(self) -> Any:  # pickled, it is an array of its own
            return self.__array__().__reduce__()
