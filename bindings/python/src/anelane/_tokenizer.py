"""Tokenizers of checkpoint folders."""
from __future__ import annotations

import ctypes
import sys
from array import array

from . import _abi, errors
from ._buffers import pinned
from ._library import check, library, new_error, path_bytes
from ._scratch import give_back, lend
from ._types import StrPath


class Tokenizer:
    """The tokenizer of a checkpoint folder. Needs no lane; any number of threads may use it."""

    def __init__(self, path: StrPath) -> None:
        self._library = library()
        self._handle, error = _abi.anelane_tokenizer(), new_error()  # its own from the start, for a Ctrl-C
        check(self._library.tokenizer_load(path_bytes(path), ctypes.byref(self._handle), ctypes.byref(error)), error)

    def encode(self, text: str) -> array[int]:
        """The token ids, special tokens included, as 32-bit integers; embed_ids takes them as they are."""
        try:
            encoded = text.encode()
        except UnicodeEncodeError as problem:
            raise errors.make(errors.INVALID_ARGUMENT, f"this is no Unicode text: {problem}") from None
        scratch, room = lend(), len(encoded) + 8
        while True:
            ids = array("i", bytes(4 * room))
            check(self._library.bare.tokenize(self._handle, encoded, ctypes.c_size_t(len(encoded)), ctypes.byref(pinned(ids)),
                                              ctypes.c_size_t(room), scratch.at_number, scratch.at_error), scratch.error)
            count = scratch.number.value
            if count <= room:
                give_back(scratch)
                del ids[count:]
                return ids
            room = count

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
