"""Texts and token ids on their way into C, and vectors on their way out.

The library copies inputs before a start function returns, so they only have to live that long. Vectors are copied once,
from the operation's memory to where they shall be, as the library's own blocking calls do.
"""
from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _abi, errors
from ._buffers import address_of, memmove, pinned
from ._library import Library, check
from ._numpy import need_numpy, numpy
from ._operation import Room, Take
from ._scratch import Scratch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float32]
    Ids = Union[Sequence[int], npt.NDArray[np.integer[Any]]]

assert ctypes.sizeof(_abi.anelane_tokens) == 16
_pack_one_item = struct.Struct("=2Q").pack
_INT32, _FLOAT32 = (None, None) if numpy is None else (numpy.dtype(numpy.int32), numpy.dtype(numpy.float32))


def c_texts(texts: Sequence[str]) -> tuple[Any, int]:
    """A char*[] and how many there are."""
    if isinstance(texts, (str, bytes)):
        raise errors.make(errors.INVALID_ARGUMENT, "texts is one text; give a list of texts")
    try:
        table = list(map(str.encode, texts))
    except (TypeError, UnicodeEncodeError):
        raise _refusal(texts) from None
    one = len(table) == 1
    if b"\0" in (table[0] if one else b"".join(table)):
        raise _refusal(texts)
    if one:  # a pointer is an array of one, and the quicker one to make
        return ctypes.byref(ctypes.c_char_p(table[0])), 1
    return (ctypes.c_char_p * len(table))(*table), len(table)


def _refusal(texts: Sequence[str]) -> errors.Error:
    """What is wrong with them, and with which."""
    try:
        given = list(texts)
    except TypeError as error:
        return errors.make(errors.INVALID_ARGUMENT, f"texts is no list of texts: {error}")
    for item, text in enumerate(given):
        if not isinstance(text, str):
            return errors.make(errors.INVALID_ARGUMENT, f"texts[{item}] is a {type(text).__name__}, not a str", item=item)
        if "\0" in text:
            return errors.make(errors.INVALID_ARGUMENT, f"texts[{item}] holds NUL, which C cannot carry; embed its token ids "
                                                        "(Tokenizer, embed_ids)", item=item)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return errors.make(errors.INVALID_ARGUMENT, f"texts[{item}] is no Unicode text: {error}", item=item)
    return errors.make(errors.INVALID_ARGUMENT, "texts has changed meanwhile")


def c_tokens(items: Sequence[Ids]) -> tuple[bytes, list[Any]]:
    """An anelane_tokens[], and for each item what has to live as long. The table is pairs of address and count as plain
    numbers, which is the same in memory and quicker than structs with pointers."""
    words: list[int] = []
    kept = [_lay_out(item, ids, words) for item, ids in enumerate(items)]
    return _pack_one_item(*words) if len(words) == 2 else array("Q", words).tobytes(), kept


def _lay_out(item: int, ids: Ids, words: list[int]) -> Any:
    """Appends address and count of `ids`, as they are where they lie as int32 already, else of a copy; the owner."""
    if numpy is not None and isinstance(ids, numpy.ndarray):
        if ids.ndim == 1 and ids.dtype == _INT32:
            try:
                owner = pinned(ids)
                words += (ctypes.addressof(owner), len(ids))
            except (TypeError, ValueError):  # strided, read-only or empty
                owner = numpy.ascontiguousarray(ids)
                words += (address_of(owner), len(owner))
            return owner
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise errors.make(errors.INVALID_ARGUMENT, f"items[{item}] is a {ids.ndim}-d array of {ids.dtype}: give one row of "
                                                       "integers", item=item)
        ids = ids.tolist()
    elif isinstance(ids, array) and ids.typecode == "i" and ids:
        owner = pinned(ids)
        words += (ctypes.addressof(owner), len(ids))
        return owner
    try:
        if isinstance(ids, (bytes, bytearray)):  # array would take them as its memory
            raise TypeError(f"{type(ids).__name__} are no numbers of tokens")
        owner = array("i", ids)
    except OverflowError:
        raise errors.make(errors.INVALID_SEQUENCE, f"items[{item}] holds an id beyond 32 bits", item=item) from None
    except TypeError as error:
        raise errors.make(errors.INVALID_ARGUMENT, f"items[{item}] is no sequence of token ids: {error}", item=item) from None
    words += owner.buffer_info()
    return owner


def _find_floats(c: Library, op: _abi.anelane_op, scratch: Scratch) -> None:
    """Puts into scratch.data where an operation's vectors are."""
    if c.bare.op_floats(op, scratch.at_data, None, None, None) != 0:
        check(c.bare.op_floats(op, scratch.at_data, None, None, scratch.at_error), scratch.error)


def into_array(rows: int, dim: int, out: FloatArray | None) -> Room[FloatArray]:
    """Takes the vectors into `out`, or a new array."""
    np_ = need_numpy("embed() (embed_rows() does without)")

    def check_out() -> None:
        if out is not None and (not isinstance(out, np_.ndarray) or out.dtype != _FLOAT32 or out.shape != (rows, dim)
                                or not out.flags.writeable):
            raise errors.make(errors.INVALID_ARGUMENT, f"out is not a writable float32 array of shape ({rows}, {dim})")

    check_out()

    def room() -> Take[FloatArray]:
        array_out = np_.empty((rows, dim), _FLOAT32) if out is None else out
        try:
            target, size = ctypes.byref(pinned(array_out)), ctypes.c_size_t(rows * dim * 4)
        except (TypeError, ValueError):
            check_out()
            return into_strided
        check_out()  # it may be another since the start; now that it is pinned, it stays as large as it is

        def take(c: Library, op: _abi.anelane_op, scratch: Scratch) -> FloatArray:
            _find_floats(c, op, scratch)
            memmove(target, scratch.data, size)
            return array_out  # type: ignore[no-any-return]

        return take

    def into_strided(c: Library, op: _abi.anelane_op, scratch: Scratch) -> FloatArray:
        _find_floats(c, op, scratch)
        floats = (ctypes.c_float * (rows * dim)).from_address(scratch.data.value or 0)
        out[...] = np_.frombuffer(floats, _FLOAT32).reshape(rows, dim)  # type: ignore[index]
        return out  # type: ignore[return-value]

    return room


def into_rows(rows: int, dim: int) -> Room[list[array[float]]]:
    """Takes the vectors into one array.array for each: without NumPy."""

    def room() -> Take[list[array[float]]]:
        size = dim * 4
        vectors = [array("f", bytes(size)) for _ in range(rows)]
        targets, c_size = [ctypes.byref(pinned(vector)) for vector in vectors], ctypes.c_size_t(size)

        def take(c: Library, op: _abi.anelane_op, scratch: Scratch) -> list[array[float]]:
            _find_floats(c, op, scratch)
            address = scratch.data.value or 0
            for target in targets:
                memmove(target, ctypes.c_void_p(address), c_size)
                address += size
            return vectors

        return take

    return room
