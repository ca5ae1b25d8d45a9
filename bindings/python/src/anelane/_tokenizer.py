"""Tokenizers of checkpoint folders."""
from __future__ import annotations

import ctypes
import sys
from array import array

from . import _abi, errors
from ._library import check, library, new_error, path_bytes
from ._types import StrPath


class Tokenizer:
    """The tokenizer of a checkpoint folder. Needs no lane; any number of threads may use it."""

    def __init__(self, path: StrPath) -> None:
        self._library = library()
        handle, error = _abi.anelane_tokenizer(), new_error()
        check(self._library.tokenizer_load(path_bytes(path), ctypes.byref(handle), ctypes.byref(error)), error)
        self._handle = handle

    def encode(self, text: str) -> array[int]:
        """The token ids, special tokens included, as 32-bit integers; embed_ids takes them as they are."""
        try:
            encoded = text.encode()
        except UnicodeEncodeError as problem:
            raise errors.make(errors.INVALID_ARGUMENT, f"this is no Unicode text: {problem}") from None
        count, error = ctypes.c_size_t(), new_error()
        room = len(encoded) + 8
        while True:
            ids = (ctypes.c_int32 * room)()
            check(self._library.tokenize(self._handle, encoded, len(encoded), ids, room, ctypes.byref(count),
                                         ctypes.byref(error)), error)
            if count.value <= room:
                return array("i", bytes(memoryview(ids)[: count.value]))
            room = count.value

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        return len(self.encode(text))

    def close(self) -> None:
        """Gives it back; a use afterwards raises BadHandleError. Again: nothing."""
        handle, self._handle = self._handle, _abi.anelane_tokenizer()
        if handle.bits:
            self._library.tokenizer_release(handle)

    def __enter__(self) -> Tokenizer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and not sys.is_finalizing():
            self.close()
