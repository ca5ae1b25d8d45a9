"""Leases: runs on NumPy arrays, with and without copies, and memory that outlives its lease without harm."""
import copy as copying
import gc
import io
import json
import mmap
import operator
import os
import pickle
import signal
import threading
import time
import unittest
import unittest.mock

from support import BOUND_S, SOURCE, LaneCase, children, numpy, run_python

import anelane
from anelane import _lease, _library, _mapping


def mapped_bytes():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[0]) * mmap.PAGESIZE


class Leases(LaneCase):
    options = {"lease_max_ms": 60_000}

    def setUp(self):
        self.lease = self.model.lease(128, timeout=BOUND_S)
        self.addCleanup(lambda: self.lease.release())
        rng = numpy.random.default_rng(1)
        self.x = rng.standard_normal(self.lease.ports[0].shape).astype(numpy.float16)
        self.mask = numpy.zeros(self.lease.ports[1].shape, numpy.float16)

    def right(self):
        return self.lease.run({0: self.x, 1: self.mask})["z00_y"]

    def test_ports_say_what_run_takes(self):
        x, mask, y = self.lease.ports
        self.assertEqual([x.name, mask.name, y.name], ["a00_x", "a01_mask", "z00_y"])
        self.assertEqual([x.is_output, mask.is_output, y.is_output], [False, False, True])
        self.assertEqual((x.shape, x.dtype, x.nbytes), ((1, 64, 1, 128), "<f2", 64 * 128 * 2))

    def test_every_form_of_input_gives_the_same_bits(self):
        y = self.right()
        self.assertEqual((y.shape, y.dtype), ((1, 64, 1, 128), numpy.float16))
        self.assertTrue(numpy.isfinite(y).all() and y.any())
        other_layout = numpy.asfortranarray(self.x)
        for inputs in ({"a00_x": self.x, "a01_mask": self.mask}, {0: self.x.tobytes(), 1: bytearray(self.mask.tobytes())},
                       {0: other_layout, 1: self.mask}, {0: self.x.astype(numpy.float32), 1: self.mask},
                       {0: memoryview(self.x), 1: self.mask}):
            self.assertEqual(self.lease.run(inputs)["z00_y"].tobytes(), y.tobytes())
        with self.lease.start_run({0: self.x, 1: self.mask}) as op:
            self.assertEqual(op.result(BOUND_S)["z00_y"].tobytes(), y.tobytes())

    def test_results_are_nobody_elses(self):
        self.model._layout(128).run.upto = 0
        first = self.right()
        kept = first.copy()
        self.lease.run({0: -self.x, 1: self.mask})
        self.assertTrue((first == kept).all())
        first[...] = 0
        self.assertTrue((self.right() == kept).all())

    def test_read_only_arrays_are_read(self):
        y = self.right().tobytes()
        self.x.flags.writeable = False
        self.assertEqual(self.right().tobytes(), y)

    def test_wrong_tensors_are_refused(self):
        for inputs, words in (({0: self.x}, "a01_mask|port"), ({"nothing": self.x}, "no port 'nothing'"),
                              ({0: self.x[:, :32], 1: self.mask}, "shape"), ({0: b"", 1: self.mask}, "no bytes"),
                              ({0: self.x.tobytes()[:-2], 1: self.mask}, "bytes")):
            with self.assertRaisesRegex(anelane.InvalidArgumentError, words):
                self.lease.run(inputs)

    def test_mapped_ports_give_the_same_bits_without_copies(self):
        y = self.right()
        mx, mm, my = (self.lease.map(port) for port in ("a00_x", 1, 2))
        self.assertIs(self.lease.map(0), mx)
        mx.array[...] = self.x
        mm.array[...] = self.mask
        before = my.array
        before[...] = 0
        self.assertIs(self.lease.run({0: mx, 1: mm}, outputs={2: my})["z00_y"], my)
        self.assertTrue((before == y).all())  # the same memory, looked at before the run
        self.assertEqual(bytes(my.memory), y.tobytes())
        self.assertEqual(self.lease.run({0: mx, 1: mm})["z00_y"].tobytes(), y.tobytes())
        with self.model.lease(128) as other:
            with self.assertRaisesRegex(anelane.InvalidArgumentError, "another lease"):
                other.run({0: mx, 1: self.mask})

    def test_every_access_after_the_release_raises(self):
        mapped = self.lease.map(0)
        array, memory = mapped.array, mapped.memory
        array[...] = 1
        part, copy, total, plain = array[0], array.copy(), array + 1, numpy.asarray(array)
        self.assertEqual((type(total), type(copy), type(plain)), (numpy.ndarray,) * 3)
        views = [array.T, numpy.reshape(array, -1), array.ravel(), array[...], array[:, :3].reshape(3, -1), next(iter(array))]
        self.assertEqual({type(view) for view in views}, {_mapping.PortArray})
        total_of, walk, other = array.sum, iter(array), numpy.zeros(array.shape)
        self.lease.release()
        uses = {
            "item": lambda: array[0, 0, 0, 0], "set": lambda: array.__setitem__(0, 1), "ufunc": lambda: array + 1,
            "out": lambda: numpy.add(1, 1, out=array), "len": lambda: len(array), "sum": lambda: array.sum(),
            "view": lambda: part.copy(), "repr": lambda: repr(array), "str": lambda: str(array), "function": lambda: numpy.sum(array),
            "concatenate": lambda: numpy.concatenate([array, array]), "tolist": lambda: array.tolist(), "T": lambda: array.T,
            "iter": lambda: list(array), "fill": lambda: array.fill(1), "shape": lambda: array.shape, "==": lambda: array == 1,
            "!=": lambda: 1 != array, "<": lambda: array < 1, "in": lambda: 1 in array, "bool": lambda: bool(array),
            "float": lambda: float(part), "int": lambda: int(part), "complex": lambda: complex(part), "array": lambda: numpy.array(array),
            "asarray": lambda: numpy.asarray(array), "asarray f4": lambda: numpy.asarray(array, numpy.float32),
            "list": lambda: numpy.array([array]), "ascontiguousarray": lambda: numpy.ascontiguousarray(array),
            "into": lambda: other.__setitem__(..., array), "into its row": lambda: other.__setitem__(0, part),
            "bytes": lambda: bytes(array), "nditer": lambda: numpy.nditer(array), "stack": lambda: numpy.stack([array]),
            "flat": lambda: array.flat, "+=": lambda: operator.iadd(other, array), "=+": lambda: operator.iadd(array, 1),
            "radd": lambda: 1 + array, "index": lambda: other[array], "pickle": lambda: pickle.dumps(array),
            "deepcopy": lambda: copying.deepcopy(array), "save": lambda: numpy.save(io.BytesIO(), array),
            "__array__": lambda: array.__array__(), "interface": lambda: array.__array_interface__, "method": lambda: total_of(),
            "next": lambda: next(walk), "run array": lambda: self.lease.run({0: array}), "format": lambda: f"{array}",
            **{f"view {i}": lambda view=view: view + 1 for i, view in enumerate(views)},
            "copyto": lambda: numpy.copyto(array, 1), "new array": lambda: mapped.array, "memory": lambda: mapped.memory,
            "run": lambda: self.lease.run({0: mapped}), "map": lambda: self.lease.map(0)}
        for name, use in uses.items():
            with self.subTest(name), self.assertRaises(anelane.LeaseExpiredError):
                use()
        for use in (lambda: memoryview(array), lambda: numpy.frombuffer(array, numpy.uint8)):
            with self.assertRaises((TypeError, anelane.LeaseExpiredError)):  # the latter from Python 3.12 on
                use()
        self.assertTrue((copy == 1).all() and (total == 2).all())  # their own memory
        # What escapes the check reads nothing of anybody, and reaches nobody.
        self.assertFalse(plain.any() or any(memory[:100]))
        plain[...] = 7
        with self.model.lease(128) as other:
            self.assertFalse((other.map(0).array == 7).any())

    def test_a_ports_array_does_what_an_array_does(self):
        array = self.lease.map(0).array
        array[...] = self.x
        x = self.x
        pairs = {
            "item": (array[0, 1, 0, 2], x[0, 1, 0, 2]), "slice": (array[:, 3:5], x[:, 3:5]), "mask": (array[x > 1], x[x > 1]),
            "own mask": (array[array > 1], x[x > 1]), "+": (array + 1, x + 1), "r-": (1 - array, 1 - x), "neg": (-array, -x),
            "both": (array * array, x * x), "with": (x + array, x + x), "@": (array[0, :, 0] @ array[0, :, 0].T, x[0, :, 0] @ x[0, :, 0].T),
            "<": (array < 0, x < 0), "==": (array == x, x == x), "sum": (array.sum(axis=1), x.sum(axis=1)), "T": (array.T, x.T),
            "astype": (array.astype("f8"), x.astype("f8")), "np.sum": (numpy.sum(array), numpy.sum(x)),
            "concatenate": (numpy.concatenate([array, x]), numpy.concatenate([x, x])), "where": (numpy.where(array > 0, array, 0), numpy.where(x > 0, x, 0)),
            "split": (numpy.split(array, 2, 1)[1], numpy.split(x, 2, 1)[1]), "maximum": (numpy.maximum.reduce(array, 1), numpy.maximum.reduce(x, 1)),
            "asarray": (numpy.asarray(array), x), "asarray f4": (numpy.asarray(array, "f4"), x.astype("f4")), "list": (list(array), list(x)),
            "tolist": (array.tolist(), x.tolist()), "pickle": (pickle.loads(pickle.dumps(array)), x), "copy": (copying.copy(array), x)}
        for name, (got, wanted) in pairs.items():
            with self.subTest(name):
                numpy.testing.assert_array_equal(got, wanted)
        self.assertEqual((array.shape, array.dtype, array.ndim, len(array), repr(array), str(array), bytes(array)),
                         (x.shape, x.dtype, 4, 1, repr(x), str(x), x.tobytes()))
        self.assertEqual(self.lease.run({0: array, 1: self.mask})["z00_y"].tobytes(), self.right().tobytes())
        # Views and writes reach the port.
        array[0, 5] += 1
        array.T[0, 0, 6] = 9
        array *= 2
        numpy.add(array, 0, out=array)
        numpy.copyto(array[0, 7], 3)
        numpy.asarray(array)[0, 8] = 4
        wanted = x.copy()
        wanted[0, 5] += 1
        wanted[0, 6, 0, 0] = 9
        wanted *= 2
        wanted[0, 7], wanted[0, 8] = 3, 4
        self.assertEqual(bytes(self.lease.map(0).memory), wanted.tobytes())
        self.assertIsInstance(array, _mapping.PortArray)

    def test_arrays_outlive_the_lane(self):
        code, out, err = run_python(
            "import sys, anelane, numpy\n"
            "lane = anelane.Lane(engine='soft', lock_dir=sys.argv[1]); model = lane.load(sys.argv[2])\n"
            "lease = model.lease(128); mapped = lease.map(0); array = mapped.array; plain = numpy.asarray(array); memory = mapped.memory\n"
            "lane.close()\n"
            "plain[...] = 1; memory[0] = 5; print(float(plain[0, 5, 0, 5]), memory[0])\n"
            "try: array[0]\n"
            "except anelane.LeaseExpiredError: print('raised')\n", self.folder("gone"), self.tiny)
        self.assertEqual((code, out, err), (0, "1.0 5\nraised\n", ""))

    def test_mappings_go_with_the_last_look(self):
        self.right()
        self.lease.map(0)
        gc.collect()
        before = mapped_bytes()
        for _ in range(1000):
            with self.model.lease(128) as lease:
                array = lease.map(0).array
                array[...] = 1
        del array, lease
        gc.collect()
        self.assertLess(mapped_bytes() - before, 4 << 20)  # the mappings had 16 MiB

    def test_a_release_while_another_thread_reads_harms_nobody(self):
        for _ in range(20):
            with self.model.lease(128) as lease:
                array = lease.map(0).array
                ended = []

                def read():
                    try:
                        while True:
                            array[...] = 1
                            array.sum()
                    except anelane.LeaseExpiredError:
                        ended.append(True)

                thread = threading.Thread(target=read)
                thread.start()
                time.sleep(0.005)
            thread.join(BOUND_S)
            self.assertEqual(ended, [True])

    def map_while(self, lease, meanwhile):
        """lease.map(0), with something done right after the library has answered."""
        def memory(*arguments):
            meanwhile()
            return real(*arguments)

        real = _lease.Memory
        with unittest.mock.patch.object(_lease, "Memory", memory):
            return lease.map(0)

    def test_a_release_in_the_middle_of_a_map_leaves_nothing_live(self):
        # Another thread waits for the map, and ends it.
        lease = self.model.lease(128)
        thread = threading.Thread(target=lease.release)
        mapped = self.map_while(lease, lambda: (thread.start(), thread.join(0.2)))
        thread.join(BOUND_S)
        self.assertFalse(thread.is_alive())
        with self.assertRaises(anelane.LeaseExpiredError):
            mapped.array.fill(7)
        # A signal handler cannot wait: the map fails.
        lease = self.model.lease(128)
        with self.assertRaises(anelane.LeaseExpiredError):
            self.map_while(lease, lease.release)

    def test_an_interrupt_during_a_release_keeps_no_pin(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        self.lease.release()  # stats count shapes
        lease = self.model.lease(128)
        lease.map(0)
        with unittest.mock.patch.object(_mapping.Memory, "end", interrupt), self.assertRaises(KeyboardInterrupt):
            lease.release()
        self.assertEqual(self.lane.stats().leased, 1)
        del lease
        gc.collect()
        self.assertEqual(self.lane.stats().leased, 0)

    def test_an_interrupt_right_after_the_pin_gives_it_back(self):
        """Python runs its signal handlers between the library's answer and whatever comes next."""
        self.lease.release()
        c = _library.library()
        for name in ("lease_acquire", "op_lease"):
            real = getattr(c, name)

            def interrupted(*arguments, real=real):
                self.assertEqual(real(*arguments), 0)
                raise KeyboardInterrupt

            not_at_once = {"lease_acquire": lambda *_: 1} if name == "op_lease" else {}
            with self.subTest(name), unittest.mock.patch.multiple(c, **{**not_at_once, name: interrupted}):
                try:
                    self.model.lease(128)
                    self.fail("not interrupted")
                except KeyboardInterrupt as error:  # its traceback is alive
                    self.assertEqual(self.lane.stats().leased, 0, error)

    def test_release_twice_use_after_and_drop(self):
        lease = self.model.lease(128)
        leased = self.lane.stats().leased
        lease.release()
        lease.release()
        with self.assertRaises(anelane.LeaseExpiredError):
            lease.run({0: self.x, 1: self.mask})
        self.assertEqual(leased, 1)
        dropped = self.model.lease(128)
        del dropped
        self.lease.release()
        gc.collect()
        self.assertEqual(self.lane.stats().leased, 0)


TWICE = """program(1.3)
[buildInfo = dict<string, string>({})]
{
    func main<ios18>(tensor<fp16, [1, 64]> x) {
        tensor<fp16, [1, 64]> y = add(x = x, y = x)[name = string("y")];
    } -> (y);
}
"""


class Programs(LaneCase):
    """Programs of one's own: from memory and from a folder, and what is no model of vectors."""

    example = os.path.join(SOURCE, "examples/programs/residual")

    def read(self, name):
        with open(os.path.join(self.example, name), "rb") as f:
            return f.read()

    def test_from_memory_by_names(self):
        with self.lane.load_program({7: [{"mil": TWICE}]}, timeout=BOUND_S) as model, model.lease(7, timeout=BOUND_S) as lease:
            x = numpy.arange(64, dtype=numpy.float16).reshape(1, 64)
            self.assertTrue((lease.run({"x": x})["y"] == 2 * x).all())
        for wrong in ({}, {7: []}, {7: [{"weights": b""}]}, {7: [{"mil": TWICE, "wieghts": b""}]}):
            with self.assertRaises(anelane.InvalidArgumentError):
                self.lane.load_program(wrong)

    def test_memory_and_folder_give_the_same_bits(self):
        manifest = json.loads(self.read("program.json"))["rungs"]
        rungs = {int(width): [{key: value if key == "connect" else self.read(value) for key, value in layer.items()} for layer in layers]
                 for width, layers in manifest.items()}
        x = numpy.linspace(-1, 1, 32 * 64).astype(numpy.float16).reshape(1, 32, 1, 64)
        results = []
        for model in (self.lane.load(self.example, timeout=BOUND_S), self.lane.load_program(rungs, name="packed", timeout=BOUND_S)):
            with model, model.lease(64, timeout=BOUND_S) as lease:
                results.append(lease.run({"x": x})["y"].tobytes())
        self.assertEqual(*results)

    def test_a_text_is_checked(self):
        path = os.path.join(self.temp, "twice.mil")
        with open(path, "w", encoding="ascii") as f:
            f.write(TWICE)
        told = anelane.mil_check(path)
        self.assertEqual((told["error"], told["operations"]), (None, {"add": 1}))
        up = os.path.join(self.example, "up_64.mil")
        self.assertIn("without a weight file", anelane.mil_check(up)["error"])
        self.assertIsNone(anelane.mil_check(up, os.path.join(self.example, "up.bin"))["error"])

    def test_what_gives_no_vectors_says_so_in_words_of_this_language(self):
        with self.assertRaises(anelane.UnsupportedError) as caught:
            anelane.SentenceEncoder(self.example, lane=self.lane)
        self.assertIn("is made of programs and gives no vectors", str(caught.exception))
        with self.lane.load(self.example, timeout=BOUND_S) as model:
            for call in (lambda: model.embed(["a"]), lambda: model.embed_ids([[1]])):
                with self.assertRaises(anelane.UnsupportedError) as caught:
                    call()
                self.assertNotIn("anelane_", str(caught.exception))

    def test_relative_paths_are_those_of_the_current_folder(self):
        code, out, err = run_python(
            "import os, sys, anelane\n"
            "os.chdir(sys.argv[1])\n"
            "with anelane.Lane(engine='soft', lock_dir='here'):\n"
            "    print(os.path.isdir('here'), anelane.holder('here').held, anelane.holder(os.path.abspath('here')).held)\n",
            self.folder("current"))
        self.assertEqual((code, out, err), (0, "True True True\n", ""))


if __name__ == "__main__":
    unittest.main()
