"""anelane ps: what the lane does, seen from another process. Run by ctest like tool_test.py."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from tool_test import BOUND_S, BUILD, DONE, MODEL, TOOL, ToolCase

STATE = "lane.state.json"


class Ps(ToolCase):
    def setUp(self):
        self.folder = self.lane[1]
        self.holder = None

    def tearDown(self):
        if self.holder is not None:
            self.holder.kill()
            self.holder.wait()

    def peek(self):
        code, out, err = self.tool("ps", "--json", "--lock-dir", self.folder)
        self.assertEqual((code, err), (DONE, ""))
        return json.loads(out)

    def text(self):
        code, out, err = self.tool("ps", "--lock-dir", self.folder)
        self.assertEqual((code, err), (DONE, ""))
        return out

    def hold(self, count=20000, environment=None):
        """A lane with a resident shape, in the middle of a long call. Returns what ps says of it."""
        texts = self.write("many.txt", b"word " * 10 + b"\n" + (b"word\n" * (count - 1)))
        self.holder = subprocess.Popen([TOOL, "embed", "--model", MODEL, "--json", *self.lane, "--file", texts],
                                       stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        # The one before may still be leaving.
        return self.wait_for(lambda peek: peek["held"] and peek["holder"]["pid"] == self.holder.pid and not peek["stale"] and
                             peek["lane"] and any(slot["state"] == "resident" for model in peek["lane"]["models"]
                                                  for slot in model["slots"]))

    def state_of(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            peek = self.peek()
            if condition(peek):
                return peek
            time.sleep(0.02)
        return self.fail(f"never so: {peek}")

    def test_a_lane_that_was_never_opened_is_free_and_stays_unmade(self):
        none = os.path.join(self.temp, "none")
        code, out, _ = self.tool("ps", "--json", "--lock-dir", none)
        self.assertEqual((code, json.loads(out)), (DONE, {"held": False, "holder": None, "stale": False, "as_of_unix_ms": None,
                                                          "lane": None, "crash_loops": []}))
        self.assertFalse(os.path.exists(none))
        self.assertEqual(self.text(), "the lane is free\n")

    def test_F10_models_whose_workers_keep_ending_are_shown_of_a_free_lane_too(self):
        lane = self.make("lane with crashes")
        self.write_crashes(lane, "bert", 5, held_s=40)
        peek = json.loads(self.tool("ps", "--json", "--lock-dir", lane)[1])
        (loop,) = peek["crash_loops"]
        self.assertEqual((loop["model"], loop["crashes"]), ("bert", 5))
        self.assertTrue(0 < loop["retry_after_ms"] <= 40_000, loop)
        self.assertRegex(self.tool("ps", "--lock-dir", lane)[1], r"^the lane is free\nbert: 5 workers ended before serving anything, "
                                                                 r"none is started for another \d+ s\n$")

    def test_a_working_lane(self):
        peek = self.hold()
        self.assertEqual((peek["held"], peek["stale"], peek["holder"]["pid"]), (True, False, self.holder.pid))
        self.assertLess(abs(time.time() - peek["as_of_unix_ms"] / 1000), 60)
        [model] = peek["lane"]["models"]
        with open(f"/proc/{model['worker_pid']}/stat", encoding="ascii") as f:
            self.assertEqual(int(f.read().rsplit(")", 1)[1].split()[1]), self.holder.pid)
        self.assertEqual((model["name"], model["state"], model["restarts"]), ("all-MiniLM-L6-v2", "ready", 0))
        self.assertEqual(peek["lane"]["programs"], {"budget": 100, "charged": 6})
        learned = {cost["shape"]: cost for cost in model["costs"]}
        self.assertEqual(sorted(learned), [128, 256, 512])
        self.assertTrue(learned[128]["cached"])
        self.assertGreater(learned[128]["load_ms"], 0)
        self.assertIsNone(learned[512]["compile_ms"])  # nobody has compiled it yet
        text = self.text()
        self.assertIn(f"held by process {self.holder.pid} (anelane)", text)
        self.assertRegex(text, r"(?m)^as of 20\d\d-\d\d-\d\dT")
        self.assertRegex(text, r"(?m)^programs 6 of 100, ")
        self.assertRegex(text, rf"(?m)^all-MiniLM-L6-v2  {model['worker_pid']} +ready +1 +soft +6 +128 resident")
        self.assertRegex(text, r"(?m)^all-MiniLM-L6-v2  512 +no +\S+ ms +not known$")

    def test_a_holder_that_does_not_move_is_seen_and_not_disturbed(self):
        # A worker that stands still in the middle of the call, until the holder does too: the call would be over too soon.
        once = self.write("once", b"")
        worker = self.hold(50, {"ANELANE_WORKER": os.path.join(BUILD, "tests/faulty-worker"),
                                "ANELANE_WORKER_FAULT": f"embed:freeze:{once}"})["lane"]["models"][0]["worker_pid"]
        self.wait_for(lambda _: self.state_of(worker) == "T")
        self.holder.send_signal(signal.SIGSTOP)
        self.wait_for(lambda _: self.state_of(self.holder.pid) == "T")
        os.kill(worker, signal.SIGCONT)
        before = sorted((entry.name, entry.stat().st_mtime_ns) for entry in os.scandir(self.folder) if entry.is_file())
        start = time.monotonic()
        first = self.peek()
        self.assertEqual(self.peek(), first)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(first["holder"]["pid"], self.holder.pid)
        after = sorted((entry.name, entry.stat().st_mtime_ns) for entry in os.scandir(self.folder) if entry.is_file())
        self.assertEqual(before, after)
        self.assertIn(STATE, [name for name, _ in after])
        self.holder.send_signal(signal.SIGCONT)
        self.assertEqual(self.holder.wait(timeout=BOUND_S), DONE)
        self.assertFalse(os.path.exists(os.path.join(self.folder, STATE)))  # the close takes it along
        self.assertEqual(self.text(), "the lane is free\n")

    def test_a_dead_holder_with_a_stopped_worker_is_stale_and_free_once_the_worker_goes(self):
        worker = self.hold()["lane"]["models"][0]["worker_pid"]
        os.kill(worker, signal.SIGSTOP)
        try:
            self.holder.kill()
            self.holder.wait()
            peek = self.peek()
            self.assertEqual((peek["held"], peek["stale"], peek["holder"]["alive"]), (True, True, False))
            text = self.text()
            self.assertIn(f"held by workers of process {self.holder.pid} (anelane), which has ended, since", text)
            self.assertIn("STALE: ", text)
            busy = self.refused(75, "embed", "--model", MODEL, *self.lane, "--text", "x", "--deadline-ms", "100")
            self.assertIn("LANE_BUSY", busy)
        finally:
            os.kill(worker, signal.SIGCONT)
        continued = time.monotonic()
        self.wait_for(lambda p: not p["held"])
        free_s = time.monotonic() - continued  # of which each look by the tool takes some
        print(f"the lane was seen free {free_s * 1000:.0f} ms after its worker ran on", file=sys.stderr)
        self.assertLess(free_s, 5)
        self.assertEqual(self.text(), "the lane is free\n")

    def test_what_an_earlier_holder_wrote_and_garbage(self):
        path = os.path.join(self.folder, STATE)
        self.hold()
        self.holder.send_signal(signal.SIGSTOP)
        with open(path, "rb") as f:
            state = f.read()
        # One by one: another holder's, cut, empty, no JSON, too deep, none at all.
        other = json.loads(state)
        other["since_unix_ms"] -= 1
        for content in (json.dumps(other).encode(), state[:100], b"", b"\xff\0{", b"[" * 5000, b"[]"):
            with open(path, "wb") as f:
                f.write(content)
            peek = self.peek()
            known = content.startswith(b'{"pid": ')
            self.assertEqual((peek["held"], peek["lane"] is not None), (True, known), content[:20])
            self.assertEqual(peek["stale"], known or content == b"[]", content[:20])
            self.assertIn("STALE" if known else "is not known", self.text())
        os.remove(path)
        self.assertIsNone(self.peek()["lane"])
        self.holder.send_signal(signal.SIGCONT)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
