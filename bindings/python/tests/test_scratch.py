"""What warm calls use again: nobody ever meets what another call left, in whatever order calls nest, overlap and fail."""
import ctypes
import os
import signal
import sys
import threading
import time
import unittest
import unittest.mock

from support import BOUND_S, LaneCase, numpy

import anelane
from anelane import _library, _scratch


class Scratch(LaneCase):
    def setUp(self):
        self.texts = [f"hello {i}" for i in range(16)]
        self.right = [self.model.embed_rows([text])[0] for text in self.texts]

    def call(self, i):
        """One call of some kind, checked."""
        self.assertEqual(self.model.embed_rows([self.texts[i]])[0], self.right[i])
        self.assertEqual(self.model.embed([self.texts[i]])[0].tobytes(), self.right[i].tobytes())
        self.assertEqual(self.model.predict(128), 0)

    def test_whoever_has_one_has_it_alone(self):
        held = [_scratch.lend() for _ in range(_scratch._SPARE_MAX + 2)]
        self.assertEqual(len({id(one) for one in held}), len(held))
        self.assertEqual(len({ctypes.addressof(one.op) for one in held}), len(held))
        held[0].op.bits = 7
        for one in held:
            _scratch.give_back(one)
        self.assertEqual(held[0].op.bits, 0)
        self.assertEqual(len(_scratch._spare), _scratch._SPARE_MAX)

    def test_threads_at_once(self):
        failed = []

        def many(first):
            try:
                for i in range(60):
                    self.call((first + i) % 16)
            except BaseException as error:
                failed.append(error)

        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-5)
        threads = [threading.Thread(target=many, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND_S)
        self.assertEqual(failed, [])

    def test_calls_in_a_signal_handler_in_the_middle_of_calls(self):
        inside = []

        def handler(*_):
            self.call(len(inside) % 16)
            inside.append(True)

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handler))
        end = time.monotonic() + BOUND_S
        i = 0
        while len(inside) < 100 and time.monotonic() < end:
            signal.setitimer(signal.ITIMER_REAL, 0.0001 * (1 + i % 20))
            self.call(i % 16)
            i += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertGreaterEqual(len(inside), 100)

    def test_a_call_that_failed_leaves_nothing(self):
        _scratch._spare.clear()
        self.call(0)
        (spare,) = _scratch._spare
        with self.assertRaises(anelane.SequenceTooLongError):
            self.model.embed_ids_rows([[2] * 300])
        self.assertEqual(_scratch._spare, [])
        self.call(0)
        self.assertIsNot(_scratch._spare[0], spare)
        self.assertEqual((_scratch._spare[0].op.bits, _scratch._spare[0].error.status), (0, 0))

    def test_an_interrupt_anywhere_releases_the_operation(self):
        """Python runs its signal handlers between the library's answer and whatever comes next."""
        bare = _library.library().bare
        for name in ("start_embed_texts", "now_ns", "op_wait", "op_floats"):
            released, started = [], []

            def interrupted(*arguments, name=name, real=getattr(bare, name)):
                started.append(name != "now_ns" or bool(started))  # its first call comes before the start
                answer = real(*arguments)
                if started[-1]:
                    raise KeyboardInterrupt
                return answer

            def release(op, real=bare.op_release):
                released.append(op.bits)
                real(op)

            _scratch._spare.clear()
            with self.subTest(name), unittest.mock.patch.multiple(bare, **{name: interrupted, "op_release": release}):
                self.model._embed_texts.upto = -1
                with self.assertRaises(KeyboardInterrupt):
                    self.model.embed_rows(["hello"])
                self.assertEqual(len(released), 1)
                self.assertNotEqual(released, [0])
                self.assertEqual(_scratch._spare, [])
        self.call(0)

    def test_an_interrupt_before_any_line_leaves_no_operation(self):
        """Before Python 3.11, signal handlers run between nearly any two."""
        bare, package = _library.library().bare, os.path.dirname(anelane.__file__)
        started, released, left = [], [], [0]

        def start(*arguments, real=bare.start_embed_texts):
            status = real(*arguments)
            started.append(arguments[-2]._obj.bits)
            return status

        def release(op, real=bare.op_release):
            released.append(op.bits)
            real(op)

        def trace(frame, event, _):
            if not frame.f_code.co_filename.startswith(package):
                return None
            if event == "line":
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt
            return trace

        def interrupted(before):
            """Whether the call was, before its line of that number."""
            left[0] = before
            self.model._embed_texts.upto = -1
            others = sys.gettrace()
            sys.settrace(trace)
            try:
                self.model.embed_rows(["hello"])
            except KeyboardInterrupt:
                return True
            finally:
                sys.settrace(others)
            return False

        line = 1
        with unittest.mock.patch.multiple(bare, start_embed_texts=start, op_release=release):
            while interrupted(line):
                line += 1
        self.assertGreater(len(started), 10)
        self.assertEqual(set(started) - set(released), set())

    def test_the_library_gets_no_plain_numbers(self):
        """They would be cut to 32 bits."""
        bare = _library.library().bare
        called = set()

        def watched(name, real):
            def call(*arguments):
                called.add(name)
                for argument in arguments:
                    self.assertNotIsInstance(argument, (int, str, float), name)
                self.assertEqual(len(arguments), len(anelane._abi.FUNCTIONS["anelane_" + name][1]), name)
                return real(*arguments)
            return call

        ids = [2, 40, 3]
        patches = {name: watched(name, getattr(bare, name)) for name in bare.NAMES}
        with unittest.mock.patch.multiple(bare, **patches), anelane.Tokenizer(self.tiny) as tokenizer:
            for timeout, upto in ((None, -1), (BOUND_S, -1), (None, 2**40), (BOUND_S, 2**40)):
                for way in (self.model._layout(128).run, self.model._embed, self.model._embed_texts):
                    way.upto = upto  # as an operation, and at once
                self.model.embed(["a", "b"], timeout=timeout)
                self.model.embed_rows(["a"], timeout=timeout)
                self.model.embed_ids([ids, numpy.array(ids, numpy.int32)], timeout=timeout, out=numpy.empty((2, 64), numpy.float32))
                self.model.start_embed_ids([ids], timeout=timeout).result(BOUND_S)
                self.model.start_embed_rows(["a"], timeout=timeout).result(BOUND_S)
                self.model.predict(128)
                self.model.admit(128, timeout=timeout)
                tokenizer.encode("a")
                with self.model.lease(128) as lease:
                    inputs = {port.index: bytes(port.nbytes) for port in lease.ports[:2]}
                    lease.run(inputs, timeout=timeout)
                    lease.start_run(inputs, timeout=timeout).result(BOUND_S)
                    mapped = {i: lease.map(i) for i in range(3)}
                    lease.run({0: mapped[0], 1: mapped[1]}, outputs={2: mapped[2]}, timeout=timeout)
            with unittest.mock.patch.object(anelane._vectors, "memmove", side_effect=KeyboardInterrupt):
                self.model._embed_texts.upto = -1
                with self.assertRaises(KeyboardInterrupt):  # cancels
                    self.model.embed_rows(["a"])
        self.assertEqual(called, set(bare.NAMES))


if __name__ == "__main__":
    unittest.main()
