"""What a warm call costs in Python over the same call in C: in one process, on the same handles, in turns.

    overhead.py C_CALLS_LIBRARY [--quick] [--model DIR] [--only WORD]

Prints a JSON line for each call: medians of the microseconds of one call in both, by the clock and in processor time, and
the medians of the differences between neighbours (over_us, over_cpu_us). On a machine that does other things too, what is
preempted and what others push out of the caches counts as well: "quiet" compares the quickest tenth of both. The model is a
tiny one by default: what it computes is in both, and the less it is the less it hides. ANELANE_LIBRARY names the library.
"""
import argparse
import ctypes
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../src"), os.path.join(HERE, "../tests")]

import anelane
from anelane import _abi
from tiny import write_tiny

TEXT, IDS = "hello world", [2, 40, 41, 42, 3]


def quiet(values):
    """The mean of the quickest tenth."""
    return statistics.fmean(sorted(values)[: max(1, len(values) // 10)])


def compare(name, python, c, rounds, calls):
    """python(), c(calls) -> ns for all. Processor time is that of all threads of this process, the worker's is not in it."""
    rows = {"python": [], "c": [], "python_cpu": [], "c_cpu": []}
    for _ in range(rounds):
        cpu = time.process_time_ns()
        ns = c(calls)
        if ns == 0:
            sys.exit(f"{name}: the C call failed")
        middle = time.process_time_ns()
        start = time.perf_counter_ns()
        for _ in range(calls):
            python()
        rows["python"].append((time.perf_counter_ns() - start) / calls / 1000)
        rows["python_cpu"].append((time.process_time_ns() - middle) / calls / 1000)
        rows["c"].append(ns / calls / 1000)
        rows["c_cpu"].append((middle - cpu) / calls / 1000)
    figures = {key + "_us": statistics.median(values) for key, values in rows.items()}
    figures["over_us"] = statistics.median(a - b for a, b in zip(rows["python"], rows["c"]))
    figures["over_quiet_us"] = quiet(rows["python"]) - quiet(rows["c"])
    figures["over_cpu_us"] = statistics.median(a - b for a, b in zip(rows["python_cpu"], rows["c_cpu"]))
    figures["over_cpu_quiet_us"] = quiet(rows["python_cpu"]) - quiet(rows["c_cpu"])
    print(json.dumps({"bench": "python_overhead", "call": name, **{key: round(value, 2) for key, value in figures.items()},
                      "rounds": rounds, "calls": calls}), flush=True)


class C:
    """The calls of c_calls.c, each as a function of how often."""

    def __init__(self, path, model, tokenizer, lease):
        self._dll = ctypes.CDLL(path)
        self._model, self._tokenizer, self._lease = model, tokenizer, lease
        self._floats = (ctypes.c_float * model.info.dim)()
        self._shape = ctypes.c_uint32(lease.shape)

    def _call(self, name, *arguments):
        function = getattr(self._dll, "bench_" + name)
        function.restype = ctypes.c_uint64
        return lambda n: function(*arguments, ctypes.c_uint32(n))

    def embed_texts(self):
        return self._call("embed_texts", self._model._handle, TEXT.encode(), self._floats)

    def embed_ids(self):
        ids = (ctypes.c_int32 * len(IDS))(*IDS)
        return self._call("embed_ids", self._model._handle, ids, ctypes.c_uint64(len(IDS)), self._floats)

    def tokenize(self):
        return self._call("tokenize", self._tokenizer._handle, TEXT.encode(), ctypes.c_uint64(len(TEXT)))

    def of_shape(self, name):
        return self._call(name, self._model._handle, self._shape)

    def run(self):
        return self._call("run", self._lease._handle, *self._tensors(self._own))

    def run_mapped(self):
        return self._call("run", self._lease._handle, *self._tensors(lambda port: None))

    def lease_run(self):
        return self._call("lease_run", self._model._handle, self._shape, *self._tensors(self._own))

    @staticmethod
    def _own(port):
        return ctypes.cast(ctypes.create_string_buffer(port.nbytes), ctypes.c_void_p)

    def _tensors(self, data):
        sides = []
        for is_output in (False, True):
            tensors = [_abi.anelane_tensor(data(port), port.nbytes, port.index) for port in self._lease.ports
                       if port.is_output is is_output]
            sides += [(_abi.anelane_tensor * len(tensors))(*tensors), ctypes.c_uint64(len(tensors))]
        return sides


def calls_of(model, tokenizer, encoder, lease, c):
    """(name, in Python, in C, how many for one of the others)."""
    shape = lease.shape
    yield "embed_rows(texts)", lambda: model.embed_rows([TEXT]), c.embed_texts(), 1
    yield "embed_ids_rows(ids)", lambda: model.embed_ids_rows([IDS]), c.embed_ids(), 1
    yield "tokenizer.encode(text)", lambda: tokenizer.encode(TEXT), c.tokenize(), 10
    yield "predict(shape)", lambda: model.predict(shape), c.of_shape("predict"), 1
    yield "admit(shape)", lambda: model.admit(shape), c.of_shape("admit"), 1
    yield "lease, release", lambda: model.lease(shape).release(), c.of_shape("lease"), 10
    np = anelane._numpy.numpy
    if np is None:
        return
    array, row = np.array(IDS, np.int32), np.empty((1, model.info.dim), np.float32)
    yield "embed(texts)", lambda: model.embed([TEXT]), c.embed_texts(), 1
    yield "embed(texts, out)", lambda: model.embed([TEXT], out=row), c.embed_texts(), 1
    yield "embed_ids(ids)", lambda: model.embed_ids([IDS]), c.embed_ids(), 1
    yield "embed_ids(ids, out)", lambda: model.embed_ids([IDS], out=row), c.embed_ids(), 1
    yield "embed_ids(array)", lambda: model.embed_ids([array]), c.embed_ids(), 1
    yield "embed_ids(array, out)", lambda: model.embed_ids([array], out=row), c.embed_ids(), 1
    yield "encoder.encode(text)", lambda: encoder.encode(TEXT), c.embed_texts(), 1
    inputs = {port.index: np.zeros(port.shape, port.dtype) for port in lease.ports if not port.is_output}
    yield "run(arrays)", lambda: lease.run(inputs), c.run(), 1

    def lease_run():
        with model.lease(shape) as one:
            one.run(inputs)

    yield "lease, run(arrays), release", lease_run, c.lease_run(), 1
    try:
        ins, outs = ({port.index: lease.map(port.index) for port in lease.ports if port.is_output is side} for side in (False, True))
    except anelane.UnsupportedError:
        return
    yield "run(mapped)", lambda: lease.run(ins, outputs=outs), c.run_mapped(), 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("c_calls")
    parser.add_argument("--quick", action="store_true", help="few repetitions: shows that it runs, proves nothing")
    parser.add_argument("--model", help="a checkpoint folder")
    parser.add_argument("--only", default="", help="the calls with this word in their names")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="anelane-python-bench-")
    rounds, calls = (3, 5) if arguments.quick else (400, 8)
    try:
        path = arguments.model or write_tiny(os.path.join(folder, "tiny"))
        with anelane.Lane(lock_dir=folder, engine="soft", soft_threads=1) as lane:
            model = lane.load(path) if arguments.model else lane.load(path, rungs=[32, 256])
            tokenizer, encoder = anelane.Tokenizer(path), anelane.SentenceEncoder.__new__(anelane.SentenceEncoder)
            encoder.model = model
            with model.lease(model.info.rungs[0]) as lease:
                c = C(arguments.c_calls, model, tokenizer, lease)
                for name, python, in_c, more in calls_of(model, tokenizer, encoder, lease, c):
                    if arguments.only in name:
                        compare(name, python, in_c, rounds, calls * more)
    finally:
        shutil.rmtree(folder)


main()
