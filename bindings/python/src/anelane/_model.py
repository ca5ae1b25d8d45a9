"""Models: loaded, asked for vectors and leases, retired."""
from __future__ import annotations

import ctypes
import itertools
import json
import os
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _abi, errors
from ._blocking import Paced, Room, Start, nothing, run_to_end
from ._lease import Lease
from ._library import NO_CALLBACK, Library, check, deadline_after, library, name_bytes, new_error, number32, path_bytes, text_of
from ._locks import module_lock
from ._operation import Operation, tell_unraisable
from ._retry import Retry
from ._scratch import Scratch, give_back, lend
from ._tensors import Layout
from ._types import ModelInfo, Port, StrPath
from ._vectors import PlainRows, array_rows, c_texts, c_tokens

if TYPE_CHECKING:
    from ._lane import Lane
    from ._vectors import FloatArray, Ids

Progress = Callable[[int, int, int, "float | None"], object]

_progress: dict[int, Progress] = {}
_progress_numbers = itertools.count(1)
_progress_lock = module_lock()


def _progressed(user: int, shape: int, layer: int, layers: int, ms_left: int) -> None:
    function = _progress.get(user)
    if function is None:
        return
    try:
        function(shape, layer, layers, ms_left / 1000 if ms_left else None)
    except BaseException as error:  # it is the user's, and the thread is the library's
        tell_unraisable(error, function)


_on_progress = _abi.anelane_progress_fn(_progressed)


class _ProgressEntry:
    """Keeps a progress function callable as long as this lives."""

    def __init__(self, function: Progress) -> None:
        with _progress_lock:
            self.number = next(_progress_numbers)
        _progress[self.number] = function

    def __del__(self) -> None:
        _progress.pop(self.number, None)


class Model:
    """A loaded checkpoint, served by a worker of its own (from Lane.load).

    Retire it with close(), as a context manager, or by dropping it. `timeout`s are seconds for one try; None: as long as
    the lane's bounds allow. `retry`: True or a number of seconds asks again when an error says that it helps, sleeping as
    it says. Ctrl-C cancels what is waited for. All methods may be called from any thread.
    """

    def __init__(self, lane: Lane, progress: object) -> None:
        """Use Lane.load. It holds nothing yet: the library writes the handle into an object that lives already, so that an
        exception (Ctrl-C) at any point afterwards finds an owner that retires it."""
        self._library = library()
        self._handle = _abi.anelane_model()
        self._lane = lane
        self._progress = progress
        self._retired = False
        self._dim = 0
        self._layouts: dict[int, Layout] = {}  # what it said of a shape holds as long as it lives
        self._embed, self._embed_texts = Paced(self._library, "embed"), Paced(self._library, "embed_texts")

    @property
    def lane(self) -> Lane:
        """The lane it was loaded into."""
        return self._lane

    @property
    def info(self) -> ModelInfo:
        """What it is; cached_rungs and first_ready are as of now."""
        info, error = _abi.anelane_model_info(ctypes.sizeof(_abi.anelane_model_info)), new_error()
        check(self._library.model_get_info(self._handle, ctypes.byref(info), ctypes.byref(error)), error)
        return ModelInfo._of(info)

    # ---- vectors ----
    def embed(self, texts: Sequence[str], *, out: FloatArray | None = None, timeout: float | None = None,
              retry: Retry = False) -> FloatArray:
        """One vector for each text, in a float32 array of shape (len(texts), dim): a new one, or `out`.

        Nothing is truncated: a text that is too long refuses the call before anything runs (SequenceTooLongError with
        `item` and `limit`).
        """
        table, count, size = c_texts(texts)
        given, rows = (self._handle, table, ctypes.c_size_t(count)), array_rows(count, self._dim, out)
        return self._embed_texts(given, size, rows, timeout, retry)

    def embed_ids(self, items: Sequence[Ids], *, out: FloatArray | None = None, timeout: float | None = None,
                  retry: Retry = False) -> FloatArray:
        """The same from token ids: lists, array.arrays or NumPy arrays, one for each vector. int32 arrays are not copied
        on this side."""
        table, count, size, _kept = c_tokens(items)
        given, rows = (self._handle, table, ctypes.c_size_t(count)), array_rows(count, self._dim, out)
        return self._embed(given, size, rows, timeout, retry)

    def embed_rows(self, texts: Sequence[str], *, timeout: float | None = None, retry: Retry = False) -> list[array[float]]:
        """embed() without NumPy: an array.array of 32-bit floats for each text."""
        table, count, size = c_texts(texts)
        given, rows = (self._handle, table, ctypes.c_size_t(count)), partial(PlainRows, count, self._dim)
        return self._embed_texts(given, size, rows, timeout, retry)

    def embed_ids_rows(self, items: Sequence[Ids], *, timeout: float | None = None,
                       retry: Retry = False) -> list[array[float]]:
        """embed_ids() without NumPy."""
        table, count, size, _kept = c_tokens(items)
        given, rows = (self._handle, table, ctypes.c_size_t(count)), partial(PlainRows, count, self._dim)
        return self._embed(given, size, rows, timeout, retry)

    def start_embed(self, texts: Sequence[str], *, out: FloatArray | None = None,
                    timeout: float | None = None) -> Operation[FloatArray]:
        """embed() without waiting: await it. `out` is written when the result is taken."""
        table, count, _size = c_texts(texts)
        start = partial(self._library.bare.start_embed_texts, self._handle, table, ctypes.c_size_t(count))
        rows = array_rows(count, self._dim, out)
        return Operation(start, lambda: rows().take, timeout, self)

    def start_embed_ids(self, items: Sequence[Ids], *, out: FloatArray | None = None,
                        timeout: float | None = None) -> Operation[FloatArray]:
        """embed_ids() without waiting: await it."""
        table, count, _size, _kept = c_tokens(items)
        start = partial(self._library.bare.start_embed, self._handle, table, ctypes.c_size_t(count))
        rows = array_rows(count, self._dim, out)
        return Operation(start, lambda: rows().take, timeout, self)

    def start_embed_rows(self, texts: Sequence[str], *, timeout: float | None = None) -> Operation[list[array[float]]]:
        """embed_rows() without waiting: await it."""
        table, count, _size = c_texts(texts)
        start = partial(self._library.bare.start_embed_texts, self._handle, table, ctypes.c_size_t(count))
        rows = partial(PlainRows, count, self._dim)
        return Operation(start, lambda: rows().take, timeout, self)

    # ---- shapes ----
    def ports(self, shape: int) -> list[Port]:
        """The layouts that Lease.run takes at this shape: inputs first, then outputs."""
        count, error, shape = ctypes.c_size_t(), new_error(), number32("shape", shape)
        ports: Any = None
        while ports is None or count.value > len(ports):
            ports = (_abi.anelane_port * max(count.value, 8))()
            for port in ports:
                port.struct_size = ctypes.sizeof(_abi.anelane_port)
            check(self._library.model_ports(self._handle, shape, ports, len(ports), ctypes.byref(count),
                                            ctypes.byref(error)), error)
        return [Port._of(i, ports[i]) for i in range(count.value)]

    def _layout(self, shape: int) -> Layout:
        layout = self._layouts.get(shape)
        if layout is None:
            layout = self._layouts[shape] = Layout(self._library, self.ports(shape))
        return layout

    def predict(self, shape: int) -> float:
        """Seconds until the shape is resident, were it asked for now; 0: it is. Starts and promises nothing."""
        c_shape, scratch = ctypes.c_uint32(number32("shape", shape)), lend()
        check(self._library.bare.predict(self._handle, c_shape, scratch.at_number, scratch.at_error), scratch.error)
        seconds = scratch.number.value / 1000
        give_back(scratch)
        return seconds

    def admit(self, shape: int, *, timeout: float | None = None, retry: Retry = False) -> None:
        """Makes the shape resident and pins nothing. A wait that cannot end in time is refused at once:
        ShapeCompilingError with retry_after."""
        run_to_end(self._library, self._lease_start(shape), nothing, timeout, retry)  # the lease goes with the operation

    def lease(self, shape: int, *, timeout: float | None = None, retry: Retry = False) -> Lease:
        """Makes the shape resident and pins it. It expires after the lane's lease_max_ms without a run."""
        lease = Lease(self, shape)
        try:
            if lease._acquire():  # resident already: no wait, no thread
                return lease
            return run_to_end(self._library, self._lease_start(shape), lease._room, timeout, retry)
        except BaseException:  # a traceback would keep it
            lease.release()
            raise

    def start_lease(self, shape: int, *, timeout: float | None = None) -> Operation[Lease]:
        """lease() without waiting: await it."""
        return Operation(self._lease_start(shape), Lease(self, shape)._room, timeout, self)

    def _lease_start(self, shape: int) -> Start:
        return partial(self._library.start_lease, self._handle, number32("shape", shape))

    # ---- the end of its life ----
    def retire(self, *, timeout: float | None = None) -> None:
        """Takes no new work, lets running work end, ends the worker. After `timeout` it goes on without the caller
        (DeadlineExceededError). A blocking embed of another thread that takes longer than such calls did may be begun anew
        meanwhile: that is new work, and gets RetiredError."""
        self._retired = True
        run_to_end(self._library, partial(self._library.start_retire, self._handle), nothing, timeout)

    def start_retire(self, *, timeout: float | None = None) -> Operation[None]:
        """retire() without waiting: await it."""
        self._retired = True
        return Operation(partial(self._library.start_retire, self._handle), nothing, timeout, self)

    def close(self) -> None:
        """Retires it where it has not been yet. Again, or after the lane's close: nothing."""
        if self._retired:
            return
        try:
            self.retire()
        except (errors.ClosedError, errors.BadHandleError, errors.RetiredError, errors.ForkedError):
            pass

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _loaded(self, status: int, error: _abi.anelane_error) -> Model:
        """It has its handle now, or the error says why not."""
        check(status, error)
        self._dim = self.info.dim
        return self

    def __del__(self) -> None:
        if not getattr(self, "_retired", True) and not sys.is_finalizing():
            self._let_go()

    def _let_go(self) -> None:
        self._retired = True
        op = _abi.anelane_op()  # nobody waits for it
        if self._library.start_retire(self._handle, _abi.ANELANE_NO_DEADLINE, NO_CALLBACK, None, ctypes.byref(op), None) == 0:
            self._library.op_release(op)

    def __repr__(self) -> str:
        return f"<anelane.Model of {self._dim} numbers{' (retired)' if self._retired else ''}>"


def load_start(lane: Lane, path: StrPath, name: str | None, rungs: Sequence[int] | None, numerics: str | None,
               progress: Progress | None) -> tuple[Start, object]:
    """How to start a load, and what has to live as long as the model."""
    c, options, handle, folder = library(), _abi.anelane_model_options(), lane._handle_open(), path_bytes(path)
    c.model_options_init(ctypes.byref(options), ctypes.sizeof(options))
    if name is not None:
        options.name = name_bytes("name", name)
    if numerics is not None:
        options.numerics = name_bytes("numerics", numerics)
    if rungs:
        try:
            options.rungs, options.rung_count = (ctypes.c_uint32 * len(rungs))(*(number32("a rung", one) for one in rungs)), len(rungs)
        except TypeError as error:
            raise errors.make(errors.INVALID_ARGUMENT, f"rungs: {error}") from None
    entry = None
    if progress is not None:
        entry = _ProgressEntry(progress)
        options.progress, options.progress_user = _on_progress, entry.number
    return partial(c.start_load, handle, folder, ctypes.byref(options)), entry


def load_program(lane: Lane, rungs: Mapping[int, Sequence[Mapping[str, Any]]], name: str | None, timeout: float | None) -> Model:
    """Lane.load_program. C copies everything before it returns; until then `keep` holds it."""
    c, options = library(), _abi.anelane_model_options()
    keep: list[bytes] = []
    c.model_options_init(ctypes.byref(options), ctypes.sizeof(options))
    if name is not None:
        options.name = name_bytes("name", name)
    table = (_abi.anelane_program_rung * max(len(rungs), 1))()
    for rung, (shape, given) in zip(table, rungs.items()):
        layers = (_abi.anelane_layer * max(len(given), 1))()
        for layer, parts in zip(layers, given):
            unknown = set(parts) - {"mil", "weights", "connect"}
            if unknown or "mil" not in parts:
                raise errors.make(errors.INVALID_ARGUMENT, "a layer has 'mil', and may have 'weights' and 'connect'; this one has "
                                                           f"{sorted(parts)}")
            mil = parts["mil"].encode() if isinstance(parts["mil"], str) else _bytes_of("mil", parts["mil"])
            layer.mil, layer.mil_bytes = mil, len(mil)
            if parts.get("weights") is not None:
                weights = _bytes_of("weights", parts["weights"])
                layer.weights, layer.weight_bytes = ctypes.cast(ctypes.c_char_p(weights), ctypes.c_void_p), len(weights)
                keep.append(weights)
            connect = parts.get("connect") or {}
            wires = (_abi.anelane_connection * max(len(connect), 1))()
            for wire, (to, source) in zip(wires, connect.items()):
                wire.input, wire.output = name_bytes("an input in 'connect'", to), name_bytes("an output in 'connect'", source)
            layer.connect, layer.connect_count = wires, len(connect)
        rung.shape, rung.layer_count, rung.layers = number32("a shape", shape), len(given), layers
    program = _abi.anelane_program(ctypes.sizeof(_abi.anelane_program), len(rungs), table)
    model, error = Model(lane, None), new_error()
    try:
        return model._loaded(c.model_load_program(lane._handle_open(), ctypes.byref(program), ctypes.byref(options),
                                                  deadline_after(timeout), ctypes.byref(model._handle), ctypes.byref(error)), error)
    except BaseException:  # a traceback would keep it
        model._let_go()
        raise


def _bytes_of(what: str, given: Any) -> bytes:
    if isinstance(given, bytes):  # not copied: layers that share them share the file
        return given
    try:
        return bytes(memoryview(given))  # not bytes(given), which makes zeros of a number
    except TypeError as error:
        raise errors.make(errors.INVALID_ARGUMENT, f"{what!r} of a layer: {error}") from None


def mil_check(path: StrPath, weights: StrPath | None = None) -> dict[str, Any]:
    """What a MIL text takes and gives, its operations, and what compilers object to: "error" is None, or why it cannot be
    compiled. Needs no lane."""
    c, file = library(), None if weights is None else path_bytes(weights)
    told: dict[str, Any] = json.loads(text_of(lambda *rest: int(c.mil_check(path_bytes(path), file, *rest))))
    return told


def into_model(lane: Lane, keep: object) -> Room[Model]:
    def take(c: Library, op: _abi.anelane_op, scratch: Scratch) -> Model:
        model = Model(lane, keep)
        try:
            return model._loaded(c.op_model(op, ctypes.byref(model._handle), scratch.at_error), scratch.error)
        except BaseException:  # a traceback would keep it
            model._let_go()
            raise

    return lambda: take


def inspect(path: StrPath) -> ModelInfo:
    """What Lane.load would serve, from the headers of a checkpoint folder. Needs no lane and no worker."""
    info, error = _abi.anelane_model_info(ctypes.sizeof(_abi.anelane_model_info)), new_error()
    check(library().model_inspect(path_bytes(path), ctypes.byref(info), ctypes.byref(error)), error)
    return ModelInfo._of(info)
