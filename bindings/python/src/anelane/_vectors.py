"""Texts and token ids on their way into C, and vectors on their way out.

The library copies inputs before a start function returns, so they only have to live that long. Vectors are copied once,
from the operation's memory to where they shall be, as the library's own blocking calls do.
"""
from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _abi, errors
from ._library import Library, check, new_error
from ._numpy import need_numpy, numpy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float32]
    Ids = Union[Sequence[int], npt.NDArray[np.integer[Any]]]

assert ctypes.sizeof(_abi.anelane_tokens) == 16


def c_texts(texts: Sequence[str]) -> Any:
    """A char*[]."""
    if isinstance(texts, (str, bytes)):
        raise errors.make(errors.INVALID_ARGUMENT, "texts is one text; give a list of texts")
    out = (ctypes.c_char_p * len(texts))()
    item = 0
    try:
        for item, text in enumerate(texts):
            encoded = text.encode()
            if b"\0" in encoded:
                raise errors.make(errors.INVALID_ARGUMENT, f"texts[{item}] holds NUL, which C cannot carry; embed its token "
                                                           "ids (Tokenizer, embed_ids)", item=item)
            out[item] = encoded
    except UnicodeEncodeError as error:
        raise errors.make(errors.INVALID_ARGUMENT, f"texts[{item}] is no Unicode text: {error}", item=item) from None
    except AttributeError:
        raise errors.make(errors.INVALID_ARGUMENT, f"texts[{item}] is a {type(texts[item]).__name__}, not a str",
                          item=item) from None
    return out


class CTokens:
    """An anelane_tokens[], and what it points to: pairs of address and count, as plain numbers, which is the same in memory and
    quicker than structs with pointers."""

    def __init__(self, items: Sequence[Ids]) -> None:
        self._kept = [_c_ids(item, ids) for item, ids in enumerate(items)]
        words: list[int] = []
        for ids in self._kept:
            words += (address_of(ids), len(ids))
        self._words = array("Q", words)
        self.address, self.count = self._words.buffer_info()[0], len(self._kept)


def address_of(values: Any) -> int:
    """Where the numbers of an array.array or NumPy array begin."""
    return int(values.buffer_info()[0] if isinstance(values, array) else values.__array_interface__["data"][0])


def _c_ids(item: int, ids: Ids) -> Any:
    """`ids` as they are where they lie as int32 already, else a copy."""
    if numpy is not None and isinstance(ids, numpy.ndarray):
        if ids.ndim == 1 and ids.dtype == numpy.int32:
            return ids if ids.flags.c_contiguous else numpy.ascontiguousarray(ids)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise errors.make(errors.INVALID_ARGUMENT, f"items[{item}] is a {ids.ndim}-d array of {ids.dtype}: give one row of "
                                                       "integers", item=item)
        ids = ids.tolist()
    elif isinstance(ids, array) and ids.typecode == "i":
        return ids
    try:
        return array("i", ids)
    except OverflowError:
        raise errors.make(errors.INVALID_SEQUENCE, f"items[{item}] holds an id beyond 32 bits", item=item) from None
    except TypeError as error:
        raise errors.make(errors.INVALID_ARGUMENT, f"items[{item}] is no sequence of token ids: {error}", item=item) from None


def _floats_at(c: Library, op: _abi.anelane_op) -> int:
    """The address of an operation's vectors; 0 where there are none."""
    data = ctypes.c_void_p()
    if c.op_floats(op, ctypes.byref(data), None, None, None) != 0:
        error = new_error()
        check(c.op_floats(op, ctypes.byref(data), None, None, ctypes.byref(error)), error)
    return data.value or 0


def into_array(rows: int, dim: int, out: FloatArray | None) -> Callable[[Library, _abi.anelane_op], FloatArray]:
    """Takes the vectors into `out`, or a new array."""
    np_ = need_numpy("embed() (embed_rows() does without)")
    if out is None:
        array_out = np_.empty((rows, dim), np_.float32)
    elif not isinstance(out, np_.ndarray) or out.dtype != np_.float32 or out.shape != (rows, dim) or not out.flags.writeable:
        raise errors.make(errors.INVALID_ARGUMENT, f"out is not a writable float32 array of shape ({rows}, {dim})")
    else:
        array_out = out

    def take(c: Library, op: _abi.anelane_op) -> FloatArray:
        address = _floats_at(c, op)
        if address and array_out.flags.c_contiguous:
            ctypes.memmove(array_out.__array_interface__["data"][0], address, array_out.nbytes)
        elif address:
            array_out[...] = np_.frombuffer((ctypes.c_float * (rows * dim)).from_address(address), np_.float32).reshape(rows, dim)
        return array_out  # type: ignore[no-any-return]

    return take


def into_rows(rows: int, dim: int) -> Callable[[Library, _abi.anelane_op], list[array[float]]]:
    """Takes the vectors into one array.array for each: without NumPy."""

    def take(c: Library, op: _abi.anelane_op) -> list[array[float]]:
        address, out = _floats_at(c, op), []
        for row in range(rows):
            out.append(array("f", ctypes.string_at(address + row * dim * 4, dim * 4)))
        return out

    return take
