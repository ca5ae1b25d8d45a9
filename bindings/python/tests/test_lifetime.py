"""Lifetimes: closed twice, used after the close, dropped in any order, forked, ended with open lanes, ten thousand times."""
import gc
import itertools
import os
import sys
import time
import tracemalloc
import unittest

from support import BOUND_S, LaneCase, TempCase, children, descriptors, resident_bytes, run_python, threads
from tiny import write_tiny

import anelane
from anelane import _lifetime, _operation


class Closing(TempCase):
    def setUp(self):
        self.tiny = os.path.join(self.temp, "tiny")
        if not os.path.exists(self.tiny):
            write_tiny(self.tiny)

    def open(self):
        return anelane.Lane(engine="soft", lock_dir=self.folder("lane"), soft_threads=1)

    def test_closed_twice_and_used_after(self):
        lane = self.open()
        model = lane.load(self.tiny)
        lease, op = model.lease(128), model.start_embed_rows(["hello"])
        lane.close()
        lane.close()
        self.assertTrue(lane.closed)
        gone = (anelane.ClosedError, anelane.BadHandleError, anelane.RetiredError, anelane.LeaseExpiredError)
        for use in (lane.stats, lane.describe, lambda: lane.load(self.tiny), lambda: lane.start_load(self.tiny),
                    lambda: model.embed_rows(["x"]), lambda: model.start_embed_rows(["x"]), lambda: model.lease(128),
                    lambda: model.admit(128), lambda: model.predict(128), lambda: model.info,
                    lambda: lease.run({0: b"x" * lease.ports[0].nbytes}), lambda: lease.map(0), model.retire):
            with self.assertRaises(gone):
                use()
        try:
            self.assertEqual(len(op.result(BOUND_S)), 1)
        except anelane.ClosedError:
            pass
        for _ in range(2):
            lease.release()
            model.close()
            op.release()
            op.cancel()
        tokenizer = anelane.Tokenizer(self.tiny)
        tokenizer.close()
        tokenizer.close()
        with self.assertRaises(anelane.BadHandleError):
            tokenizer.encode("x")
        self.assertEqual(children(), [])

    def test_dropped_in_any_order(self):
        before = (descriptors(), children(), dict(_lifetime._open))
        for order in itertools.permutations(("lane", "model", "lease", "op")):
            things = {"lane": self.open()}
            things["model"] = things["lane"].load(self.tiny)
            things["lease"] = things["model"].lease(128)
            things["op"] = things["model"].start_embed_rows(["hello"])
            for name in order:
                del things[name]
            gc.collect()
        self.assertEqual((children(), _lifetime._open), before[1:])
        self.assertEqual(descriptors(), before[0])

    def test_a_dropped_model_is_retired(self):
        with self.open() as lane:
            model = lane.load(self.tiny)
            self.assertEqual((lane.stats().models, len(children())), (1, 1))
            del model
            gc.collect()
            for _ in range(BOUND_S * 100):
                if lane.stats().models == 0 and not children():
                    break
                time.sleep(0.01)
            self.assertEqual((lane.stats().models, children()), (0, []))

    def test_the_same_lane_again_is_counted(self):
        first, second = self.open(), self.open()
        model = first.load(self.tiny)
        first.close()
        self.assertEqual(len(model.embed_rows(["hello"])), 1)
        self.assertEqual(second.stats().models, 1)
        second.close()
        with self.assertRaises((anelane.ClosedError, anelane.BadHandleError)):
            model.embed_rows(["hello"])
        with self.open(), self.assertRaisesRegex(anelane.InvalidArgumentError, "worker_mode"):
            anelane.Lane(engine="soft", lock_dir=self.folder("lane"), soft_threads=1, worker_mode="thread")

    def test_wrong_options_are_named(self):
        for options, words in (({"engine": "gpu"}, "engine is 'gpu'"), ({"worker_mode": "x"}, "worker_mode"),
                               ({"shapes_total": -1}, "shapes_total"), ({"lock_dir": "a\0b"}, "NUL")):
            with self.assertRaisesRegex(anelane.InvalidArgumentError, words):
                anelane.Lane(**options)
        with self.open() as lane:
            for path, kind in ((self.folder("empty"), (anelane.ModelInvalidError, anelane.IoError)), ("/nowhere", anelane.IoError)):
                with self.assertRaises(kind):
                    lane.load(path)
            with self.assertRaises(anelane.ShapeUnknownError):
                lane.load(self.tiny).lease(100)

    def test_what_can_be_asked_from_outside(self):
        folder = self.folder("lane")
        self.assertFalse(anelane.holder(folder).held)
        record = os.path.join(self.temp, "record.jsonl")
        progress = []
        with anelane.Lane(engine="soft", lock_dir=folder, record_path=record) as lane:
            model = lane.load(self.tiny, name="mine", progress=lambda *step: progress.append(step), rungs=[32, 256])
            model.embed_rows(["hello"])
            self.assertEqual(anelane.holder(folder).pid, os.getpid())
            self.assertTrue(anelane.peek(folder)["held"])
            self.assertEqual(lane.describe()["models"][0]["name"], "mine")
            self.assertEqual((lane.stats().models, lane.stats().admitted), (1, 1))
        self.assertEqual([step[:3] for step in progress], [(32, 1, 2), (32, 2, 2)])
        steps, difference = anelane.replay(record)
        self.assertGreater(steps, 3)
        self.assertEqual(difference, "")
        info = anelane.inspect(self.tiny)
        self.assertEqual((info.dim, info.ceiling, info.rungs, info.engine), (64, 256, (128, 256), "auto"))
        self.assertRegex(anelane.version(), r"^\d+\.\d+\.\d+\+")


class Processes(LaneCase):
    def test_a_forked_child_is_told_so_and_ends_well(self):
        lease, op = self.model.lease(128), self.model.start_embed_rows(["hello"])
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:  # nothing of the test may run on in the child
            said = []
            for use in (lambda: self.model.embed_rows(["x"]), self.lane.stats, lambda: self.model.lease(128), lambda: op.result(1),
                        lambda: anelane.Lane(lock_dir=self.folder("lane")), lambda: anelane.inspect(self.tiny)):
                try:
                    use()
                    said.append("nothing")
                except anelane.ForkedError:
                    said.append("F")
                except BaseException as error:
                    said.append(repr(error))
            lease.release()
            self.model.close()
            op.release()
            try:
                self.lane.close()
            except anelane.ForkedError:
                said.append("F")
            os.write(write, " ".join(said).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as f:
            self.assertEqual(f.read(), b"F F F F F F F")
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        lease.release()
        self.assertEqual(op.result(BOUND_S), self.model.embed_rows(["hello"]))

    def test_multiprocessing_by_fork_ends_silently(self):
        code, out, err = run_python(
            "import multiprocessing, sys, anelane\n"
            "lane = anelane.Lane(engine='soft', lock_dir=sys.argv[1]); model = lane.load(sys.argv[2])\n"
            "def f(i):\n"
            "    try: model.embed_rows(['x'])\n"
            "    except anelane.ForkedError as e: return e.name\n"
            "with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(f, range(3)))\n"
            "print(len(model.embed_rows(['x'])))", self.folder("pool"), self.tiny)
        self.assertEqual((code, out, err), (0, "['FORKED', 'FORKED', 'FORKED']\n1\n", ""))

    EXITS = {
        "idle": "pass",
        "running operations": "ops = [model.start_embed_rows(['x']) for _ in range(50)]",
        "waiting threads": "import threading; [threading.Thread(target=model.embed_rows, args=(['x'] * 50,), daemon=True).start() "
                           "for _ in range(4)]",
        "threads that call afterwards": """
import atexit, threading, time
atexit.unregister(anelane._lifetime._close_all)
atexit.register(time.sleep, 0.6)  # as an exit handler that was there before the import
atexit.register(anelane._lifetime._close_all)
lease = model.lease(128)
given = {port.index: bytes(port.nbytes) for port in lease.ports[:2]}
for call in (lambda: lease.run(given), lambda: model.embed_rows(["x"]), lambda: model.predict(128)):
    threading.Thread(target=lambda call=call: (time.sleep(0.3), call()), daemon=True).start()""",
        "a callback at the end": "ops = [model.start_embed_rows(['x']) for _ in range(50)]; "
                                 "[op.add_done_callback(lambda o: None) for op in ops]",
        "an exception": "lease = model.lease(128); array = lease.map(0).memory; raise SystemExit(3)",
        # Names with an underscore go first: ends arrive while the interpreter is torn down.
        "a slow finalizer": "import time\nclass Slow:\n    def __del__(self, sleep=time.sleep): sleep(0.5)\n"
                            "ops = [model.start_embed_rows(['x'] * 10) for _ in range(50)]\n_slow = Slow()",
        "references in a cycle": "x = [model]; x.append(x); del lane, model, x",
    }

    def test_exit_with_open_lanes_is_quick_and_silent(self):
        for name, code in self.EXITS.items():
            with self.subTest(name):
                folder = self.folder("exit " + name)
                exit_code, out, err = run_python(
                    "import sys, anelane\nlane = anelane.Lane(engine='soft', lock_dir=sys.argv[1]); "
                    f"model = lane.load(sys.argv[2]); model.embed_rows(['x'])\n{code}\n", folder, self.tiny)
                self.assertEqual((exit_code, out, err), (3 if "SystemExit" in code else 0, "", ""))
                self.assertFalse(anelane.holder(folder).held)  # nothing of it lives on
                self.assertNotIn("lane.state.json", os.listdir(folder))  # it was closed, not left to the end of the process

    def test_no_library_says_what_to_do(self):
        code, out, err = run_python("import anelane\ntry: anelane.version()\nexcept anelane.Error as e: print(e)",
                                    environment={"ANELANE_LIBRARY": "/nowhere/libanelane.so"})
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, "^ENGINE_UNAVAILABLE: cannot load the library: /nowhere.*ANELANE_LIBRARY.*load_library")
        code, out, err = run_python("import anelane, sys; print(anelane.load_library(sys.argv[1]) == sys.argv[1], anelane.version()[0])\n"
                                    "try: anelane.load_library('/other')\nexcept ValueError as e: print(e.name)",
                                    os.environ.get("ANELANE_LIBRARY") or anelane.load_library(), environment={"ANELANE_LIBRARY": "/nowhere"})
        self.assertEqual((code, out, err), (0, "True 0\nINVALID_ARGUMENT\n", ""))

    def test_the_log_goes_where_it_is_told_to(self):
        code, out, err = run_python(
            "import sys, anelane\nlines = []\nanelane.set_log(lambda *line: lines.append(line))\n"
            "with anelane.Lane(engine='soft', lock_dir=sys.argv[1]) as lane, lane.load(sys.argv[2]) as model: model.admit(128)\n"
            "print(any('shape admission: shape=128' in text for level, text in lines), {level for level, _ in lines} >= {'info'})\n"
            "try: anelane.set_log(None)\nexcept anelane.InvalidArgumentError: print('too late')", self.folder("log"), self.tiny)
        self.assertEqual((code, out, err), (0, "True True\ntoo late\n", ""))


class Leaks(LaneCase):
    """Ten thousand operations of every kind: memory, descriptors, threads and Python's own objects stay where they are."""

    OPERATIONS, WARM = 10_000, 1_000
    RESIDENT_SLACK, TRACED_SLACK = 6 << 20, 64 << 10

    def careless(self, i):
        kind = i % 10
        if kind < 3:
            self.model.embed_ids_rows([[2, 40 + kind, 3]])
        elif kind == 3:
            self.model.start_embed_rows(["hello"])  # dropped at once
        elif kind == 4:
            op = self.model.start_embed_rows(["hello"])
            op.cancel()
            try:
                op.result(BOUND_S)
            except anelane.CancelledError:
                pass
        elif kind == 5:
            with self.assertRaises(anelane.SequenceTooLongError):
                self.model.embed_ids_rows([[2] * 300])
        elif kind == 6:
            self.model.lease(128)  # dropped at once
        elif kind == 7:
            with self.model.lease(128) as lease:
                lease.map(0).memory[0] = 1
        elif kind == 8:
            with self.model.lease(128) as lease:
                lease.run({port.index: bytes(port.nbytes) for port in lease.ports[:2]})
        else:
            with self.model.start_lease(128) as op:
                op.result(BOUND_S).release()

    def test_ten_thousand_operations_leave_nothing(self):
        for i in range(self.WARM):
            self.careless(i)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for i in range(200):
            self.careless(i)
        gc.collect()
        before = (descriptors(), threads(), children())
        resident, traced = resident_bytes(), tracemalloc.get_traced_memory()[0]
        for i in range(self.OPERATIONS):
            self.careless(i)
        for _ in range(2000):
            if not _operation._running:
                break
            time.sleep(0.01)
        gc.collect()
        self.assertEqual((descriptors(), threads(), children()), before)
        self.assertEqual(_operation._running, {})
        more, more_traced = resident_bytes() - resident, tracemalloc.get_traced_memory()[0] - traced
        print(f"after {self.OPERATIONS} operations: {more} bytes more resident, {more_traced} bytes more of Python's objects",
              file=sys.stderr)
        self.assertLess(more, self.RESIDENT_SLACK)
        self.assertLess(more_traced, self.TRACED_SLACK)
        self.assertEqual(self.lane.stats().leased, 0)

    def test_lanes_and_models_leave_nothing(self):
        def once(i):
            with anelane.Lane(engine="soft", lock_dir=self.folder("again"), soft_threads=1, worker_mode="thread") as lane:
                model = lane.load(self.tiny, progress=lambda *_: None)
                model.embed_rows(["hello"])
                if i % 2:
                    model.close()

        for i in range(10):
            once(i)
        gc.collect()
        before = (descriptors(), threads(), children(), len(anelane._model._progress))
        resident = resident_bytes()
        for i in range(60):
            once(i)
        gc.collect()
        self.assertEqual((descriptors(), threads(), children(), len(anelane._model._progress)), before)
        self.assertLess(resident_bytes() - resident, self.RESIDENT_SLACK)


if __name__ == "__main__":
    unittest.main()
