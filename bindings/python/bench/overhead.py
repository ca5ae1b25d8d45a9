"""What a warm call costs in Python over the same call in C: in one process, on the same handles, in turns.

    overhead.py C_CALLS_LIBRARY [--quick] [--model DIR]

Prints a JSON line for each call: medians of the microseconds of one call in both, by the clock and in processor time, and
the medians of the differences between neighbours (over_us, over_cpu_us). On a machine that does other things too, what is
preempted and what others push out of the caches counts as well: "quiet" compares the quickest tenth of both. The model is a tiny one by default: what it computes is in both, and the less it is the less it hides.
ANELANE_LIBRARY names the library.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("c_calls")
    parser.add_argument("--quick", action="store_true", help="few repetitions: shows that it runs, proves nothing")
    parser.add_argument("--model", help="a checkpoint folder")
    arguments = parser.parse_args()
    anelane.load_library()
    c = ctypes.CDLL(arguments.c_calls)
    for function in (c.bench_embed_texts, c.bench_embed_ids, c.bench_lease):
        function.restype = ctypes.c_uint64
    c.bench_embed_texts.argtypes = [_abi.anelane_model, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint32]
    c.bench_embed_ids.argtypes = [_abi.anelane_model, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32]
    c.bench_lease.argtypes = [_abi.anelane_model, ctypes.c_uint32, ctypes.c_uint32]
    folder = tempfile.mkdtemp(prefix="anelane-python-bench-")
    rounds, calls = (3, 5) if arguments.quick else (400, 8)
    try:
        with anelane.Lane(lock_dir=folder, engine="soft", soft_threads=1) as lane:
            if arguments.model:
                model = lane.load(arguments.model)
            else:
                model = lane.load(write_tiny(os.path.join(folder, "tiny")), rungs=[32, 256])
            shape, text = model.info.rungs[0], "hello world"
            out = (ctypes.c_float * model.info.dim)()
            handle = model._handle
            model.admit(shape)
            ids = ctypes.c_int32 * 5
            five = ids(2, 40, 41, 42, 3)
            listed = list(five)
            embed = [("embed_rows(texts)", lambda: model.embed_rows([text])), ("embed_ids_rows(ids)", lambda: model.embed_ids_rows([listed]))]
            if anelane._numpy.numpy is not None:
                np = anelane._numpy.numpy
                array, row = np.array(five, np.int32), np.empty((1, model.info.dim), np.float32)
                embed += [("embed(texts)", lambda: model.embed([text])), ("embed_ids(array, out)", lambda: model.embed_ids([array], out=row))]
            for name, call in embed:
                if "texts" in name:
                    compare(name, call, lambda n: c.bench_embed_texts(handle, text.encode(), out, n), rounds, calls)
                else:
                    compare(name, call, lambda n: c.bench_embed_ids(handle, five, 5, out, n), rounds, calls)
            compare("lease, release", lambda: model.lease(shape).release(), lambda n: c.bench_lease(handle, shape, n), rounds,
                    calls * 10)
    finally:
        shutil.rmtree(folder)


main()
