"""Sentences to vectors in one object, in the manner of sentence-transformers."""
from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import errors
from ._lane import Lane
from ._model import inspect
from ._numpy import need_numpy
from ._retry import Retry
from ._types import ModelInfo, StrPath

if TYPE_CHECKING:
    from ._vectors import FloatArray


class SentenceEncoder:
    """A lane with one model in it.

    Opens a lane of its own (`options` are Lane's), or loads into `lane`, which stays open. Close it, or use it as a context
    manager.
    """

    _gives_unit_length = False  # as far as anybody has seen

    def __init__(self, path: StrPath, *, lane: Lane | None = None, timeout: float | None = None, **options: Any) -> None:
        if inspect(path).kind == "program":  # before anything is started for it
            raise errors.make(errors.UNSUPPORTED, f"{os.fspath(path)!s} is made of programs and gives no vectors: "
                                                  "Lane.load it, and run it by Model.lease")
        self._own_lane = lane is None
        self.lane = Lane(timeout=timeout, **options) if lane is None else lane
        try:
            self.model = self.lane.load(path, timeout=timeout)
        except BaseException:
            if self._own_lane:
                self.lane.close()
            raise

    @property
    def info(self) -> ModelInfo:
        """What the model is; store `info.vector_space` beside your vectors."""
        return self.model.info

    def encode(
        self,
        texts: str | Sequence[str],
        batch_size: int = 32,
        normalize: bool = True,
        show_progress: bool = False,
        *,
        timeout: float | None = None,
        retry: Retry = True,
    ) -> FloatArray:
        """One text: its vector. A list of texts: an array of shape (len(texts), dim).

        `normalize` scales vectors to length one (where the model does so itself, it changes nothing). `timeout`: seconds for
        one try of a batch. Nothing is truncated: SequenceTooLongError names the text (`item`, counted over all batches). An
        empty list gives an array of shape (0, dim).
        """
        np = need_numpy("SentenceEncoder")
        if batch_size < 1:
            raise errors.make(errors.INVALID_ARGUMENT, f"batch_size is {batch_size}")
        many = [texts] if isinstance(texts, str) else list(texts)
        if 0 < len(many) <= batch_size:
            out = self.model.embed(many, timeout=timeout, retry=retry)
            if show_progress:
                _tell(len(many), len(many))
        else:
            out = np.empty((len(many), self.model._dim), np.float32)
            self._embed_in_batches(many, batch_size, out, show_progress, timeout, retry)
        if show_progress and many:
            print(file=sys.stderr)
        if normalize and not self._gives_unit_length:
            self._gives_unit_length = _normalize(np, out) and len(many) > 0
        return out[0] if isinstance(texts, str) else out

    def _embed_in_batches(self, texts: list[str], size: int, out: FloatArray, show_progress: bool, timeout: float | None,
                          retry: Retry) -> None:
        for first in range(0, len(texts), size):
            batch = slice(first, min(first + size, len(texts)))
            try:
                self.model.embed(texts[batch], out=out[batch], timeout=timeout, retry=retry)
            except errors.Error as error:
                if error.item is not None and first:  # counted in its batch
                    error.item += first
                    error.message = f"text {error.item}: {error.message}"
                raise
            if show_progress:
                _tell(batch.stop, len(texts))

    def close(self) -> None:
        """Retires the model, and closes the lane where it is the encoder's own. Again: nothing."""
        self.model.close()
        if self._own_lane:
            self.lane.close()

    def __enter__(self) -> SentenceEncoder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tell(done: int, total: int) -> None:
    print(f"\r{done}/{total} texts", end="", file=sys.stderr, flush=True)


def _normalize(np: Any, rows: Any) -> bool:
    """To length one in place; what has length one to within float32 keeps its bits. True: all had it, so the model sees to
    that itself (a model either normalises its vectors or does not), and nobody has to look again."""
    all_unit = True
    for row in rows:
        wide = row.astype(np.float64)
        length = math.sqrt(wide.dot(wide))
        if abs(length - 1) > 1e-6:
            all_unit = False
            if length > 0:
                row /= np.float32(length)
    return all_unit


def similarity(a: Any, b: Any) -> FloatArray:
    """Cosines of every row of `a` with every row of `b`."""
    np = need_numpy("similarity")
    rows = [np.atleast_2d(np.asarray(x, np.float32)) for x in (a, b)]
    first, second = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in rows)
    return first @ second.T  # type: ignore[no-any-return]
