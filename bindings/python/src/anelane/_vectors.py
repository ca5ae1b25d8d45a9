"""Texts and token ids on their way into C, and vectors on their way out.

The library copies inputs before a start function returns, so they only have to live that long. Vectors are copied once, by
the library's blocking calls, or from an operation's memory.
"""
from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Callable, Sequence
from ctypes import byref
from functools import partial
from typing import TYPE_CHECKING, Any, Union

from . import _abi, errors
from ._buffers import address_of, memmove, pinned
from ._library import Library, check
from ._numpy import need_numpy, numpy
from ._scratch import Scratch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float32]
    Ids = Union[Sequence[int], npt.NDArray[np.integer[Any]]]

assert ctypes.sizeof(_abi.anelane_tokens) == 16
_pack_one_item = struct.Struct("=2Q").pack
_WITHOUT = "embed() (embed_rows() does without)"
_NO_STRIDE = ctypes.c_size_t(0)  # rows lie one after the other
_ZERO = array("f", (0,))
# The size of a call (_blocking.Paced) is in tokens, about: what is short is padded, and of texts only the bytes are known.
_ITEM_TOKENS, _TOKEN_BYTES = 32, 4
_INT32, _FLOAT32 = (None, None) if numpy is None else (numpy.dtype(numpy.int32), numpy.dtype(numpy.float32))


def c_texts(texts: Sequence[str]) -> tuple[Any, int, int]:
    """A char*[], how many there are, and the size of them all."""
    if isinstance(texts, (str, bytes)):
        raise errors.make(errors.INVALID_ARGUMENT, "texts is one text; give a list of texts")
    try:
        table = list(map(str.encode, texts))
    except (TypeError, UnicodeEncodeError):
        raise _refusal(texts) from None
    count = len(table)
    whole = table[0] if count == 1 else b"".join(table)
    if b"\0" in whole:
        raise _refusal(texts)
    size = len(whole) // _TOKEN_BYTES + count * _ITEM_TOKENS
    if count == 1:  # a pointer is an array of one, and the quicker one to make
        return byref(ctypes.c_char_p(whole)), 1, size
    return (ctypes.c_char_p * count)(*table), count, size


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


def c_tokens(items: Sequence[Ids]) -> tuple[bytes, int, int, list[Any]]:
    """An anelane_tokens[], how many there are, the size of them all, and for each item what has to live as long. The table is
    pairs of address and count as plain numbers, which is the same in memory and quicker than structs with pointers."""
    words: list[int] = []
    kept = [_lay_out(item, ids, words) for item, ids in enumerate(items)]
    table = _pack_one_item(*words) if len(words) == 2 else array("Q", words).tobytes()
    count = len(kept)
    return table, count, sum(words[1::2]) + count * _ITEM_TOKENS, kept


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


# There is no memory of no bytes: a call that the library will refuse (of no texts, of a model without vectors) gets some.
class ArrayRows:
    """Memory for vectors: `out`, or a new array. What is pinned stays as large as it is."""

    __slots__ = ("_out", "_whole", "_bytes", "arguments")

    def __init__(self, rows: int, dim: int, out: FloatArray | None) -> None:
        self._out, self._bytes = out, rows * dim * 4
        if out is None:
            self._whole = whole = numpy.empty((rows or 1, dim or 1), _FLOAT32)
            owner = pinned(whole)
        else:
            try:
                self._whole, owner = out, pinned(out)
            except (TypeError, ValueError):  # strided, or it does not fit
                self._whole = whole = numpy.empty((rows or 1, dim or 1), _FLOAT32)
                owner = pinned(whole)
            _check_out(out, rows, dim)
        self.arguments = (byref(owner), _NO_STRIDE, None)

    def take(self, c: Library, op: _abi.anelane_op, scratch: Scratch) -> FloatArray:
        _copy_floats(c, op, scratch, self.arguments[0], self._bytes)
        return self.result()

    def result(self) -> FloatArray:
        out, whole = self._out, self._whole
        if out is None or out is whole:
            return whole  # type: ignore[no-any-return]
        out[...] = whole
        return out


class PlainRows:
    """Memory for vectors without NumPy: one array.array for each."""

    __slots__ = ("_rows", "_dim", "_whole", "arguments")

    def __init__(self, rows: int, dim: int) -> None:
        self._rows, self._dim = rows, dim
        self._whole = _ZERO * (rows * dim or 1)
        self.arguments = (byref(pinned(self._whole)), _NO_STRIDE, None)

    def take(self, c: Library, op: _abi.anelane_op, scratch: Scratch) -> list[array[float]]:
        _copy_floats(c, op, scratch, self.arguments[0], self._rows * self._dim * 4)
        return self.result()

    def result(self) -> list[array[float]]:
        whole, dim = self._whole, self._dim
        return [whole] if self._rows == 1 else [whole[first : first + dim] for first in range(0, self._rows * dim, dim)]


def _copy_floats(c: Library, op: _abi.anelane_op, scratch: Scratch, to: Any, size: int) -> None:
    if c.bare.op_floats(op, scratch.at_data, None, None, None) != 0:
        check(c.bare.op_floats(op, scratch.at_data, None, None, scratch.at_error), scratch.error)
    memmove(to, scratch.data, ctypes.c_size_t(size))


def array_rows(rows: int, dim: int, out: FloatArray | None) -> Callable[[], ArrayRows]:
    """Makes ArrayRows when they are needed; an `out` that does not fit is refused now."""
    if numpy is None:
        need_numpy(_WITHOUT)
    if out is not None:
        _check_out(out, rows, dim)
    return partial(ArrayRows, rows, dim, out)


def _check_out(out: FloatArray, rows: int, dim: int) -> None:
    """Again where it is pinned: it may be another since the call began."""
    if (not isinstance(out, numpy.ndarray) or out.dtype != _FLOAT32 or out.shape != (rows, dim)
            or not out.flags.writeable):
        raise errors.make(errors.INVALID_ARGUMENT, f"out is not a writable float32 array of shape ({rows}, {dim})")
