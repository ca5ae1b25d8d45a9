"""Blocking calls at once and as operations: the same bits, the same bounds, and Ctrl-C in both."""
import contextlib
import os
import signal
import time
import unittest
import unittest.mock

from support import BOUND_S, LaneCase, children, numpy

import anelane
from anelane import _blocking, _library, _vectors

QUICK, SLOW = 2**40, -1  # what a way of calling knows of sizes
IDS = [2, 40, 3]


class Blocking(LaneCase):
    def setUp(self):
        self.lease = self.model.lease(128, timeout=BOUND_S)
        self.addCleanup(self.lease.release)
        rng = numpy.random.default_rng(1)
        self.inputs = {0: rng.standard_normal(self.lease.ports[0].shape).astype(numpy.float16),
                       1: numpy.zeros(self.lease.ports[1].shape, numpy.float16)}
        (self.worker,) = children()
        self.waking = None  # the function whose call ends the worker's stop

    def calls(self):
        """(the name in C, the way of calling, a call)."""
        strided = numpy.zeros((1, 80), numpy.float32)[:, 8:72]
        texts, ids = self.model._embed_texts, self.model._embed
        yield "embed_texts", texts, lambda **given: self.model.embed(["one"], **given).tobytes()
        yield "embed_texts", texts, lambda **given: self.model.embed(["one"], out=strided, **given).tobytes()
        yield "embed_texts", texts, lambda **given: b"".join(row.tobytes() for row in self.model.embed_rows(["one", "2"], **given))
        yield "embed", ids, lambda **given: self.model.embed_ids([IDS, IDS], **given).tobytes()
        yield "embed", ids, lambda **given: self.model.embed_ids_rows([IDS], **given)[0].tobytes()
        yield "run", self.model._layout(128).run, lambda **given: self.lease.run(self.inputs, **given)["z00_y"].tobytes()

    @contextlib.contextmanager
    def watched(self):
        """The names of the functions called."""
        bare, called = _library.library().bare, []

        def of(name, real):
            def call(*arguments):
                called.append(name)
                if name == self.waking:
                    os.kill(self.worker, signal.SIGCONT)
                return real(*arguments)
            return call

        names = [kind + name for kind in ("", "start_") for name in ("embed", "embed_texts", "run")]
        with unittest.mock.patch.multiple(bare, **{name: of(name, getattr(bare, name)) for name in names}):
            yield called

    @contextlib.contextmanager
    def standing_still(self, until=None):
        """A worker that does, until a watched function is called."""
        self.waking = until
        os.kill(self.worker, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.worker, signal.SIGCONT)
            self.waking = None

    def test_at_once_and_as_operations_give_the_same_bits(self):
        for name, way, call in self.calls():
            with self.subTest(name), self.watched() as called:
                way.upto = SLOW
                right = call()
                self.assertEqual(called.pop(), "start_" + name)
                way.upto = QUICK
                self.assertEqual(call(), right)
                self.assertIn(called, ([name], [name, "start_" + name]))  # the machine may be slow
                called.clear()
                way.upto = QUICK
                with self.standing_still(until="start_" + name):
                    self.assertEqual(call(), right)
                self.assertEqual(called, [name, "start_" + name])
                self.assertLess(way.upto, QUICK)  # it was slow

    def test_what_was_quick_is_made_at_once(self):
        with self.watched() as called:
            way, size = self.model._embed, 2 * 32 + 2 * len(IDS)
            way.upto = SLOW
            self.model.embed_ids([IDS, IDS])
            self.assertEqual(called, ["start_embed"])
            self.assertIn(way.upto, (SLOW, size))  # the machine may be slow
            way._learn(size, 0)
            called.clear()
            self.model.embed_ids([IDS, IDS])
            self.assertIn(called, (["embed"], ["embed", "start_embed"]))  # as before
            way.upto = size
            called.clear()
            self.model.embed_ids([IDS, IDS, IDS])
            self.assertEqual(called, ["start_embed"])

    def test_each_shape_is_quick_by_itself(self):
        self.lease.run(self.inputs)
        self.model._layout(128).run.upto = SLOW
        self.model._layout(256).run.upto = QUICK
        with self.watched() as called:
            self.lease.run(self.inputs)
        self.assertEqual(called, ["start_run"])

    def test_what_it_learns(self):
        way, quick = _blocking.Paced(_library.library(), "embed"), 1_000_000
        learned = []
        for size, ns in ((10, quick), (5, quick), (20, quick), (15, 10 * quick), (30, 10 * quick), (3, quick), (20, quick)):
            way._learn(size, ns)
            learned.append(way.upto)
        self.assertEqual(learned, [10, 10, 20, 14, 14, 14, 20])

    def test_a_timeout_within_the_slice_is_one(self):
        for name, way, call in self.calls():
            for seconds in (0.02, 0):
                with self.subTest(name, seconds=seconds), self.watched() as called, self.standing_still():
                    for _ in range(20):  # where this thread is held up, the timeout can end after the slice
                        way.upto = QUICK
                        called.clear()
                        with self.assertRaises(anelane.DeadlineExceededError):
                            call(timeout=seconds)
                        if called == [name]:
                            break
                    self.assertEqual(called, [name])

    def test_a_timeout_beyond_the_slice_is_kept(self):
        for name, way, call in self.calls():
            way.upto = QUICK
            timeout = numpy.array(0.3)  # a number that could be changed in place
            with self.subTest(name), self.watched() as called, self.standing_still():
                begun = time.monotonic()
                with self.assertRaises(anelane.DeadlineExceededError):
                    call(timeout=timeout)
                self.assertGreaterEqual(time.monotonic() - begun, 0.3)
                self.assertEqual((called, timeout), ([name, "start_" + name], 0.3))

    def test_ctrl_c_ends_both(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        for name, way, call in self.calls():
            for upto, seconds in ((SLOW, 0.1), (QUICK, 0.01), (QUICK, 0.1)):
                way.upto = upto
                with self.subTest(name, upto=upto, seconds=seconds), self.standing_still():
                    begun = time.monotonic()
                    with self.assertRaises(KeyboardInterrupt):
                        signal.setitimer(signal.ITIMER_REAL, seconds)
                        call(timeout=BOUND_S)
                    self.assertLess(time.monotonic() - begun, BOUND_S / 2)
        for _, _, call in self.calls():
            call()

    def test_an_error_at_once_is_the_same(self):
        self.model._embed.upto = self.model._embed_texts.upto = QUICK
        with self.watched() as called:
            with self.assertRaises(anelane.SequenceTooLongError) as caught:
                self.model.embed_ids([IDS, [2] * 300])
            self.assertEqual((caught.exception.item, caught.exception.limit), (1, 256))
            with self.assertRaises(anelane.InvalidArgumentError):
                self.model.embed([])
        self.assertEqual(called, ["embed", "embed_texts"])

    def test_what_is_refused_gets_no_room(self):
        """A million texts, say, of which one is too long."""
        self.model._embed.upto = self.model._embed_texts.upto = SLOW
        for kind in (_vectors.ArrayRows, _vectors.PlainRows):
            with unittest.mock.patch.object(kind, "__init__", side_effect=AssertionError("made room")):
                for call in (self.model.embed, self.model.embed_rows):
                    with self.subTest(call.__name__), self.assertRaises(anelane.SequenceTooLongError):
                        call(["one", "two " * 300])
                for call in (self.model.embed_ids, self.model.embed_ids_rows):
                    with self.subTest(call.__name__), self.assertRaises(anelane.SequenceTooLongError):
                        call([IDS, [2] * 300])

    def test_an_out_that_does_not_fit_is_refused_before_anything_runs(self):
        for upto in (SLOW, QUICK):
            self.model._embed.upto = self.model._embed_texts.upto = upto
            with self.watched() as called:
                for out in (numpy.zeros((1, 64), numpy.float64), numpy.zeros((2, 64), numpy.float32), bytearray(256)):
                    with self.assertRaises(anelane.InvalidArgumentError):
                        self.model.embed(["one"], out=out)
                    with self.assertRaises(anelane.InvalidArgumentError):
                        self.model.embed_ids([IDS], out=out)
            self.assertEqual(called, [])


if __name__ == "__main__":
    unittest.main()
