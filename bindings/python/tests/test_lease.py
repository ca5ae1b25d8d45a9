"""Leases: runs on NumPy arrays, with and without copies, and memory that outlives its lease without harm."""
import gc
import mmap
import threading
import time
import unittest

from support import BOUND_S, LaneCase, numpy, run_python

import anelane
from anelane import _mapping


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
        self.assertEqual((type(total), type(copy)), (numpy.ndarray, _mapping.PortArray))
        self.lease.release()
        uses = {
            "item": lambda: array[0, 0, 0, 0], "set": lambda: array.__setitem__(0, 1), "ufunc": lambda: array + 1,
            "out": lambda: numpy.add(1, 1, out=array), "len": lambda: len(array), "sum": lambda: array.sum(),
            "view": lambda: part.copy(), "repr": lambda: repr(array), "str": lambda: str(array), "function": lambda: numpy.sum(array),
            "concatenate": lambda: numpy.concatenate([array, array]), "tolist": lambda: array.tolist(), "T": lambda: array.T,
            "iter": lambda: list(array), "fill": lambda: array.fill(1), "shape": lambda: array.shape, "==": lambda: array == 1,
            "!=": lambda: 1 != array, "<": lambda: array < 1, "in": lambda: 1 in array, "bool": lambda: bool(array),
            "float": lambda: float(part), "int": lambda: int(part),
            "copyto": lambda: numpy.copyto(array, 1), "new array": lambda: mapped.array, "memory": lambda: mapped.memory,
            "run": lambda: self.lease.run({0: mapped}), "map": lambda: self.lease.map(0)}
        for name, use in uses.items():
            with self.subTest(name), self.assertRaises(anelane.LeaseExpiredError):
                use()
        self.assertTrue((copy == 1).all() and (total == 2).all())  # their own memory
        # What escapes the check reads nothing of anybody, and reaches nobody.
        self.assertFalse(plain.any() or any(memory[:100]))
        plain[...] = 7
        with self.model.lease(128) as other:
            self.assertFalse((other.map(0).array == 7).any())

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


if __name__ == "__main__":
    unittest.main()
