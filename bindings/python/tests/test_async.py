"""Operations and asyncio: one completion each, cancelled with the task that awaits them, deaf to loops that are gone."""
import asyncio
import gc
import os
import signal
import sys
import threading
import time
import unittest

from support import BOUND_S, LaneCase, children, run_python

import anelane
from anelane import _operation


def stopped(test):
    """The worker of the test's model stands still: whatever needs it waits."""
    (worker,) = children()
    os.kill(worker, signal.SIGSTOP)
    test.addCleanup(os.kill, worker, signal.SIGCONT)
    return worker


class Operations(LaneCase):
    def test_a_result_can_be_asked_for_again_and_outlives_the_operation(self):
        with self.model.start_embed_rows(["hello"]) as op:
            first = op.result(BOUND_S)
            self.assertTrue(op.done())
            self.assertIs(op.result(), first)
        op.release()
        self.assertIs(op.result(), first)
        self.assertEqual(first, self.model.embed_rows(["hello"]))

    def test_an_error_is_raised_each_time(self):
        with self.model.start_embed_rows(["hello"]) as op:
            pass
        with self.assertRaises(anelane.BadHandleError):
            op.result()
        with self.assertRaises(anelane.SequenceTooLongError):
            self.model.start_embed_rows(["a " * 400])

    def test_pending_and_cancelled(self):
        self.model.admit(128)
        stopped(self)
        op = self.model.start_embed_rows(["hello"])
        with self.assertRaises(anelane.PendingError):
            op.result(0.01)
        self.assertFalse(op.done())
        op.cancel()
        for _ in range(2):
            with self.assertRaises(anelane.CancelledError):
                op.result(BOUND_S)
        op.cancel()  # after the end: nothing

    def test_done_callbacks_come_once_and_at_once_after_the_end(self):
        calls, came = [], threading.Event()
        op = self.model.start_embed_rows(["hello"])
        op.add_done_callback(lambda o: (calls.append(o), came.set()))
        op.result(BOUND_S)
        self.assertTrue(came.wait(BOUND_S))
        op.add_done_callback(lambda o: calls.append("late"))
        self.assertEqual(calls, [op, "late"])

    def test_blocking_in_a_callback_is_refused_and_its_errors_end_nothing(self):
        self.model.admit(128)
        worker = stopped(self)
        said, unraisable, came = [], [], threading.Event()

        def callback(_):
            try:
                self.model.embed_rows(["hello"])
            except anelane.Error as error:
                said.append(error)
            raise RuntimeError("mine")

        op = self.model.start_embed_rows(["hello"])
        op.add_done_callback(callback)
        op.add_done_callback(lambda _: came.set())
        hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
        try:
            os.kill(worker, signal.SIGCONT)
            self.assertTrue(came.wait(BOUND_S))
        finally:
            sys.unraisablehook = hook
        self.assertEqual([type(error) for error in said], [anelane.WrongThreadError])
        self.assertEqual([str(one.exc_value) for one in unraisable], ["mine"])
        self.assertEqual(len(self.model.start_embed_rows(["hello"]).result(BOUND_S)), 1)

    def test_many_threads_ask_for_one_result(self):
        op, got = self.model.start_embed_rows(["hello"]), []
        threads = [threading.Thread(target=lambda: got.append(op.result(BOUND_S))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND_S)
        self.assertEqual(len(got), 8)
        self.assertTrue(all(one is got[0] for one in got))

    def test_dropped_operations_are_cancelled_and_forgotten(self):
        self.model.admit(128)
        stopped(self)
        before = self.lane.stats().cancelled
        ops = [self.model.start_lease(256) for _ in range(50)]
        del ops
        gc.collect()
        for _ in range(2000):
            if self.lane.stats().cancelled - before == 50 and not _operation._running:
                break
            time.sleep(0.01)
        self.assertEqual((self.lane.stats().cancelled - before, _operation._running), (50, {}))


class Asyncio(LaneCase):
    def run_async(self, coroutine):
        return asyncio.run(asyncio.wait_for(coroutine, BOUND_S))

    def test_many_at_once(self):
        async def many():
            return await asyncio.gather(*(self.model.start_embed_rows([f"hello {i}"]) for i in range(200)))

        rows = self.run_async(many())
        self.assertEqual([row[0] for row in rows], self.model.embed_rows([f"hello {i}" for i in range(200)]))

    def test_load_lease_run_embed_retire(self):
        async def whole():
            model = await self.lane.start_load(self.tiny)
            vectors = await model.start_embed(["hello"])
            lease = await model.start_lease(128)
            ports = lease.ports
            outputs = await lease.start_run({port.index: bytes(port.nbytes) for port in ports if not port.is_output})
            lease.release()
            self.assertIsNone(await model.start_retire())
            with self.assertRaises(anelane.RetiredError):
                await model.start_embed(["hello"])
            return vectors, outputs

        vectors, outputs = self.run_async(whole())
        self.assertEqual((vectors.shape, list(outputs), outputs["z00_y"].shape[1]), ((1, 64), ["z00_y"], 64))

    def test_cancelling_the_task_cancels_the_operation(self):
        self.model.admit(128)
        stopped(self)
        before, self.kept = self.lane.stats().cancelled, []

        complaints = []

        async def wait_in_vain():
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            task = asyncio.ensure_future(self.await_lease(256))
            await asyncio.sleep(0.05)
            self.assertFalse(task.done())
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(self.await_lease(256), 0.05)
            while not all(op.done() for op in self.kept):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)  # the loop hears of ends that nobody waits for any more

        self.run_async(wait_in_vain())
        self.assertEqual(complaints, [])
        for _ in range(2000):
            if self.lane.stats().cancelled - before == 2:
                break
            time.sleep(0.01)
        self.assertEqual(self.lane.stats().cancelled - before, 2)

    async def await_lease(self, shape):
        self.kept.append(self.model.start_lease(shape))  # so that it is not its end as an object that cancels it
        return await self.kept[-1]

    def test_cancel_racing_the_completion_ends_once(self):
        """However it falls, the task ends once, as cancelled or with the result, and nothing is left running."""
        ends = {"cancelled": 0, "result": 0}

        async def race(delay):
            task = asyncio.ensure_future(self.await_embed())
            await asyncio.sleep(delay)
            task.cancel()
            try:
                await task
                ends["result"] += 1
            except asyncio.CancelledError:
                ends["cancelled"] += 1

        async def races():
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            for i in range(300):
                await race((i % 30) * 0.0002)

        complaints = []
        self.run_async(races())
        self.assertEqual((sum(ends.values()), complaints), (300, []))
        for _ in range(2000):
            if not _operation._running:
                break
            time.sleep(0.01)
        self.assertEqual(_operation._running, {})

    async def await_embed(self):
        return await self.model.start_embed_rows(["hello"])

    def test_a_loop_closed_meanwhile_is_fine(self):
        self.model.admit(128)
        worker = stopped(self)
        loop = asyncio.new_event_loop()
        op = self.model.start_embed_rows(["hello"])

        async def begin():
            asyncio.ensure_future(self.await_op(op))
            await asyncio.sleep(0.02)

        loop.run_until_complete(begin())
        tasks = asyncio.all_tasks(loop)
        loop.close()
        unraisable, ended = [], threading.Event()
        op.add_done_callback(lambda _: ended.set())  # comes after the one that the loop is told by
        hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
        try:
            os.kill(worker, signal.SIGCONT)
            self.assertEqual(len(op.result(BOUND_S)), 1)  # it goes on
            self.assertTrue(ended.wait(BOUND_S))
        finally:
            sys.unraisablehook = hook
        self.assertEqual(unraisable, [])
        for task in tasks:
            task._log_destroy_pending = False

    async def await_op(self, op):
        return await op

    def test_two_loops_in_two_threads_share_a_model(self):
        got = []

        def one(name):
            async def some():
                for _ in range(20):
                    got.append((await self.model.start_embed_rows([name]))[0])
            asyncio.run(some())

        threads = [threading.Thread(target=one, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND_S)
        self.assertEqual((len(got), len({row.tobytes() for row in got})), (40, 2))

    def test_errors_arrive_and_retry_waits_as_told(self):
        calls = []

        async def sometimes():
            calls.append(time.monotonic())
            if len(calls) < 3:
                raise anelane.ShapeCompilingError("not yet", transient=True, safe_to_retry=True, retry_after_ms=20)
            return "done"

        async def never():
            raise anelane.SequenceTooLongError("never")

        self.assertEqual(self.run_async(anelane.retry_async(sometimes)), "done")
        self.assertGreaterEqual(calls[1] - calls[0], 0.02)
        with self.assertRaises(anelane.SequenceTooLongError):
            self.run_async(anelane.retry_async(never))


class Retry(LaneCase):
    def test_retry_sleeps_as_told_within_its_time(self):
        calls = []

        def sometimes():
            calls.append(time.monotonic())
            if len(calls) < 3:
                raise anelane.EngineCrashedError("not yet", transient=True, safe_to_retry=True, retry_after_ms=30)
            return "done"

        self.assertEqual(anelane.retry(sometimes), "done")
        self.assertGreaterEqual(calls[2] - calls[0], 0.06)

        def busy():
            raise anelane.LaneBusyError("busy", transient=True, safe_to_retry=True, retry_after_ms=60_000)

        for kind, call in ((anelane.LaneBusyError, busy), (anelane.ClosedError, lambda: self.fail_with(anelane.ClosedError("no")))):
            with self.assertRaises(kind):
                anelane.retry(call, timeout=5)

        unsafe = anelane.PausedError("unsafe", transient=True, safe_to_retry=False)
        with self.assertRaises(anelane.PausedError):
            anelane.retry(lambda: self.fail_with(unsafe))

    def fail_with(self, error):
        raise error

    def test_a_cold_shape_is_waited_for(self):
        with self.assertRaises(anelane.ShapeCompilingError):
            self.model.embed_rows(["hello"], timeout=0.0)
        self.assertEqual(len(self.model.embed_rows(["hello"], timeout=1, retry=BOUND_S)[0]), 64)


class Interrupts(LaneCase):
    CODE = """
import glob, os, signal, sys, threading
import anelane
lane = anelane.Lane(engine="soft", lock_dir=sys.argv[1])
model = lane.load(sys.argv[2])
what = sys.argv[3]
kids = [int(pid) for path in glob.glob("/proc/self/task/*/children") for pid in open(path).read().split()]
model.admit(128)
if what == "run":
    lease = model.lease(128)
    inputs = {port.index: bytes(port.nbytes) for port in lease.ports[:2]}
    lease.run(inputs), lease.run(inputs)  # known to be quick from here on
for kid in kids:
    os.kill(kid, signal.SIGSTOP)
c, pressed = anelane._library.library(), []
def press_soon(real):
    def call(*arguments):
        if not pressed:
            pressed.append(True)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        return real(*arguments)
    return call
# While the call waits, however long it takes to get there.
c.lane_open, c.op_wait, c.bare.op_wait = map(press_soon, (c.lane_open, c.op_wait, c.bare.op_wait))
try:
    if what == "embed": model.embed_rows(["hello"])
    if what == "lease": model.lease(256)
    if what == "admit": model.admit(256)
    if what == "result": model.start_embed_rows(["hello"]).result()
    if what == "run": lease.run(inputs)
    if what == "retire": model.retire()
    if what == "open": anelane.Lane(engine="soft", lock_dir=sys.argv[4], timeout=None)
    print("ended")
except KeyboardInterrupt:
    print("interrupted")
for kid in kids:
    os.kill(kid, signal.SIGCONT)
if what not in ("retire", "open"):
    print(len(model.embed_rows(["hello"])[0]), lane.stats().cancelled)
"""

    def interrupted(self, what, *more):
        return run_python(self.CODE, self.folder(what), self.tiny, what, *more)

    def test_ctrl_c_ends_blocking_calls_and_the_lane_goes_on(self):
        for what, cancelled in (("embed", 0), ("lease", 1), ("admit", 1), ("result", 0), ("run", 0)):  # requests for a shape are counted
            with self.subTest(what):
                self.assertEqual(self.interrupted(what), (0, f"interrupted\n64 {cancelled}\n", ""))

    def test_ctrl_c_ends_the_wait_for_a_retirement(self):
        self.assertEqual(self.interrupted("retire")[:2], (0, "interrupted\n"))

    def test_ctrl_c_ends_the_wait_for_another_process(self):
        self.assertEqual(self.interrupted("open", self.folder("lane")), (0, "interrupted\n", ""))

    def test_a_busy_lane_names_its_holder(self):
        code, out, err = run_python(
            "import sys, anelane\n"
            "try: anelane.Lane(engine='soft', lock_dir=sys.argv[1], timeout=0.1)\n"
            "except anelane.LaneBusyError as e: print(e.holder_pid, e.transient, e.retry_after > 0)", self.folder("lane"))
        self.assertEqual((code, out, err), (0, f"{os.getpid()} True True\n", ""))


if __name__ == "__main__":
    unittest.main()
