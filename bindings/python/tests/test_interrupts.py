"""Ctrl-C between what the library did and what Python does next; signal handlers, finalizers and forks while a lock is held."""
import gc
import os
import threading
import time
import unittest
import unittest.mock

from support import BOUND_S, LaneCase, run_python

import anelane
from anelane import _library, _lifetime, _locks, _operation, _model


def interrupting(target, name):
    """`target.name` does its work, then somebody presses Ctrl-C; once."""
    real, pressed = getattr(target, name), []

    def interrupted(*arguments):
        result = real(*arguments)
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return result

    return unittest.mock.patch.object(target, name, interrupted)


class Interrupts(LaneCase):
    def setUp(self):
        self.c = _library.library()
        self.own = self.folder("own")

    def open(self):
        return anelane.Lane(engine="soft", lock_dir=self.own, soft_threads=1)

    def nobody_holds_it(self):
        self.assertFalse(anelane.holder(self.own).held)
        self.assertEqual(len(_lifetime._open), 1)  # the class's lane

    def test_while_a_lane_opens(self):
        for target, name in ((self.c, "lane_open"), (_lifetime, "entered")):
            with self.subTest(name), interrupting(target, name), self.assertRaises(KeyboardInterrupt):
                self.open()
            self.nobody_holds_it()

    def test_while_a_lane_closes(self):
        for target, name in ((_lifetime, "left"), (self.c, "lane_close")):
            lane = self.open()
            with self.subTest(name), interrupting(target, name), self.assertRaises(KeyboardInterrupt):
                lane.close()
            self.assertTrue(lane.closed)
            lane.close()
            self.nobody_holds_it()

    def test_while_a_model_loads(self):
        def models():
            return self.lane.stats().models

        before = models()
        for name in ("op_model", "model_get_info"):
            with self.subTest(name), interrupting(self.c, name):
                try:
                    self.lane.load(self.tiny, timeout=BOUND_S)
                    self.fail("not interrupted")
                except KeyboardInterrupt as kept:  # as a notebook keeps the last one
                    end = time.monotonic() + BOUND_S
                    while models() > before and time.monotonic() < end:
                        time.sleep(0.01)
                    self.assertEqual(models(), before, kept)

    def test_while_a_tokenizer_loads(self):
        released = []
        with unittest.mock.patch.object(self.c, "tokenizer_release", lambda handle: released.append(handle.bits)):
            with interrupting(self.c, "tokenizer_load"), self.assertRaises(KeyboardInterrupt):
                anelane.Tokenizer(self.tiny)
            gc.collect()
        self.assertEqual(len(released), 1)
        handle = anelane._abi.anelane_tokenizer(released[0])
        self.c.tokenizer_release(handle)
        self.assertNotEqual(released, [0])


class Owners(LaneCase):
    def test_an_operation_keeps_its_lane(self):
        lane = anelane.Lane(engine="soft", lock_dir=self.folder("own"), soft_threads=1)
        model = lane.load(self.tiny, timeout=BOUND_S)
        makers = [lambda: model.start_embed(["hello"] * 50), lambda: model.start_embed_ids([[2, 3]] * 50),
                  lambda: model.start_embed_rows(["hello"] * 50), lambda: model.start_lease(128), lambda: lane.start_load(self.tiny),
                  lambda: model.lease(128).start_run({0: bytes(64 * 128 * 2), 1: bytes(128 * 2)})]
        operations = [make() for make in makers]
        del lane, model, makers
        gc.collect()
        for operation in operations:
            operation.result(BOUND_S)


class Locks(LaneCase):
    MODULES = ((_library, "_lock"), (_lifetime, "_lock"), (_operation, "_numbers_lock"), (_model, "_progress_lock"))

    def test_every_lock_of_a_module_is_of_that_kind(self):
        kind = type(_locks.module_lock())
        for module, name in self.MODULES:
            self.assertIsInstance(getattr(module, name), kind)

    def test_calls_in_the_thread_that_holds_them(self):
        """As in a signal handler or a finalizer in the middle. In a child, which can be ended."""
        code, out, err = run_python("""
import sys, threading
import anelane
from anelane import _library, _lifetime, _model, _operation
threading.Timer(60, lambda: __import__("os")._exit(7)).start()
locks = [_library._lock, _lifetime._lock, _operation._numbers_lock, _model._progress_lock]
for lock in locks:
    lock.acquire()
lane = anelane.Lane(engine="soft", lock_dir=sys.argv[2], soft_threads=1)
model = lane.load(sys.argv[1], progress=lambda *_: None)
model.start_embed_rows(["hello"]).result()
lease = model.lease(128)
memory = lease.map(0)._memory
with memory._lock:
    lease.release()
lane.close()
__import__("os")._exit(0)
""", self.tiny, self.folder("held"))
        self.assertEqual((code, out, err), (0, "", ""))

    def test_a_fork_while_another_thread_holds_them(self):
        held, done = threading.Event(), threading.Event()

        def hold():
            for module, name in self.MODULES:
                getattr(module, name).acquire()
            held.set()
            done.wait(BOUND_S)
            for module, name in self.MODULES:
                getattr(module, name).release()

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(BOUND_S)
        child = os.fork()
        if child == 0:
            try:
                anelane.load_library()
                self.lane.load(self.tiny, progress=lambda *_: None)
            except anelane.ForkedError:
                _lifetime._close_all()
                os._exit(0)
            finally:
                os._exit(1)
        end = time.monotonic() + 60
        pid, status = os.waitpid(child, os.WNOHANG)
        while pid == 0 and time.monotonic() < end:
            time.sleep(0.01)
            pid, status = os.waitpid(child, os.WNOHANG)
        if pid == 0:
            os.kill(child, 9)
            os.waitpid(child, 0)
        done.set()
        holder.join(BOUND_S)
        self.assertEqual((pid, status), (child, 0))


if __name__ == "__main__":
    unittest.main()
