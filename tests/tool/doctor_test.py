"""anelane doctor: what it says of a healthy machine and of broken ones. Run by ctest like tool_test.py."""
import json
import os
import signal
import stat
import sys
import unittest

from tool_test import BUILD, DONE, REFUSED, USAGE, ToolCase

WORKER_STEPS = ["system", "chip", "temp folder", "cache folder", "signature", "staging", "framework", "classes", "encodings", "engine",
                "temp space",
                "compile", "load", "run", "reload", "timings", "pool"]
STEPS = ["library", "worker", *WORKER_STEPS, "lane", "mark", "crash loops"]
PROGRAM_STEPS = ["compile", "load", "run", "reload", "timings", "pool"]
# On a system without Apple's framework and without signed programs.
NOT_APPLICABLE = {"signature", "staging", "framework", "classes", "encodings", "mark"}


class Doctor(ToolCase):
    def doctor(self, *arguments, environment=None, cache=True, lane=None):
        """(exit code, the JSON object, {step: what it says})."""
        folder = ["--cache-dir", self.make("cache")] if cache else []
        code, out, err = self.tool("doctor", "--json", "--lock-dir", lane or self.make("lane"), *folder, *arguments,
                                   environment=environment)
        self.assertEqual(err, "")
        self.assertEqual(out.count("\n"), 1)
        report = json.loads(out)
        return code, report, {step["step"]: step for step in report["steps"]}

    def outcomes(self, steps):
        return {name: step["outcome"] for name, step in steps.items()}

    def assert_failed(self, answer, *failed):
        """Exactly these steps failed, each with words and advice."""
        code, report, steps = answer
        self.assertEqual((code, report["passed"]), (REFUSED, False))
        self.assertEqual([name for name, step in steps.items() if step["outcome"] == "failed"], list(failed))
        for name in failed:
            self.assertTrue(steps[name]["detail"] and steps[name]["advice"], steps[name])
        # The real lane is not opened on a machine that is known to be broken, and no mark is left.
        self.assertEqual(steps["lane"]["outcome"], "not reached")
        self.assertIn(steps["mark"]["outcome"], ("not reached", "not applicable"))
        return steps

    def test_a_healthy_machine_in_json(self):
        code, report, steps = self.doctor("--engine", "soft")
        self.assertEqual(code, DONE, report)
        self.assertEqual(list(report), ["version", "passed", "engine", "steps"])
        self.assertEqual((report["passed"], report["engine"]), (True, "soft"))
        self.assertEqual([step["step"] for step in report["steps"]], STEPS)
        for step in report["steps"]:
            self.assertEqual(list(step), ["step", "outcome", "detail", "advice", "ms"])
            self.assertIsInstance(step["detail"], str)
            self.assertIsInstance(step["ms"], (int, float))
            self.assertIsNone(step["advice"])
        # Nothing that was not done counts as passed.
        expected = {name: "not applicable" if name in NOT_APPLICABLE | {"pool"} else "ok" for name in STEPS}
        self.assertEqual(self.outcomes(steps), expected)
        self.assertTrue(steps["worker"]["detail"].startswith(os.path.join(BUILD, "anelane-worker") + ", "))
        self.assertRegex(steps["run"]["detail"], r"^4096 values, largest difference from double precision 0\.00")
        self.assertRegex(steps["reload"]["detail"], r"^loaded from the cache in ")
        self.assertRegex(steps["timings"]["detail"], r"^50 runs: median ")
        self.assertIn("on the soft engine", steps["lane"]["detail"])

    @unittest.skipIf(sys.platform == "darwin", "there may be a Neural Engine")
    def test_an_engine_that_is_not_here(self):
        steps = self.assert_failed(self.doctor("--engine", "apple"), "engine")
        self.assertNotIn("steps above", steps["engine"]["advice"])  # none of them failed
        self.assertIn("--engine soft", steps["engine"]["advice"])
        for name in ("staging", "framework", "classes", "encodings"):
            self.assertEqual(steps[name]["detail"], "this system has no Neural Engine")
        for name in ("staging", "framework"):
            self.assertEqual(self.doctor("--engine", "soft")[2][name]["detail"], "the Neural Engine is not asked for")

    def test_a_healthy_machine_in_text(self):
        code, out, err = self.tool("doctor", "--cache-dir", self.make("cache"), "--lock-dir", self.make("lane"))
        self.assertEqual((code, err), (DONE, ""), out)
        lines = out.splitlines()
        self.assertEqual(len(lines), len(STEPS) + 1)
        self.assertEqual(lines[-1], "doctor: nothing is wrong, on the soft engine")
        for name, line in zip(STEPS, lines):
            self.assertRegex(line, rf"^(ok|-) +{name} +\S")
            self.assertEqual("not applicable" in line, line.startswith("-"), line)

    def test_the_pool_is_counted_when_asked_for(self):
        code, _, steps = self.doctor("--engine", "soft", "--count-pool")
        self.assertEqual(code, DONE)
        self.assertRegex(steps["pool"]["detail"], r"^(\d+) programs live at once, limit \1$")
        self.assertEqual(steps["pool"]["outcome"], "ok")

    def test_nothing_is_left_behind(self):
        temp = self.make("tmp")
        code, _, _ = self.doctor(environment={"TMPDIR": temp})
        self.assertEqual((code, os.listdir(temp)), (DONE, []))

    def test_a_tmpdir_that_is_none(self):
        steps = self.assert_failed(self.doctor(environment={"TMPDIR": "/no/such/folder"}), "temp folder", "temp space")
        self.assertIn("/no/such/folder, from TMPDIR: no file can be made in it: No such file", steps["temp folder"]["detail"])
        self.assertIn("unset TMPDIR", steps["temp folder"]["advice"])
        self.assertEqual({steps[name]["outcome"] for name in PROGRAM_STEPS}, {"not reached"})

    def test_a_cache_that_cannot_be_written(self):
        blocked = self.write("a file", b"")
        answer = self.doctor("--cache-dir", os.path.join(blocked, "cache"), cache=False)
        steps = self.assert_failed(answer, "cache folder")
        self.assertIn("--cache-dir", steps["cache folder"]["advice"])
        self.assertEqual({steps[name]["outcome"] for name in ("engine", "temp space", *PROGRAM_STEPS)}, {"not reached"})

    def test_a_cache_folder_that_takes_no_file(self):
        # Nobody can make a file there, root neither.
        steps = self.assert_failed(self.doctor("--cache-dir", "/proc", cache=False), "cache folder")
        self.assertIn("/proc: no file can be made in it", steps["cache folder"]["detail"])

    def test_the_default_cache_is_that_of_the_user(self):
        home = self.make("home")
        code, _, steps = self.doctor("--engine", "soft", cache=False, environment={"XDG_CACHE_HOME": home})
        self.assertEqual(code, DONE)
        self.assertEqual(steps["cache folder"]["detail"], os.path.join(home, "anelane/programs"))

    def test_a_temp_folder_that_is_too_full(self):
        steps = self.assert_failed(self.doctor("--temp-space-min", str(1 << 60)), "temp space")
        self.assertRegex(steps["temp space"]["detail"], r"^\d+ MiB free, a compile needs 1099511627776 MiB$")
        self.assertIn("TEMP_SPACE_LOW", steps["temp space"]["advice"])
        self.assertEqual({steps[name]["outcome"] for name in PROGRAM_STEPS}, {"not reached"})

    def test_an_engine_that_is_not_here(self):
        steps = self.assert_failed(self.doctor("--engine", "apple"), "engine")
        self.assertIn("Neural Engine", steps["engine"]["detail"])
        self.assertEqual(steps["mark"]["outcome"], "not applicable")

    def worker_script(self, text):
        path = self.write("worker", b"#!/bin/sh\n" + text.encode())
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return {"ANELANE_WORKER": path}

    def test_no_worker(self):
        steps = self.assert_failed(self.doctor(environment={"ANELANE_WORKER": "/no/such/worker"}), "worker")
        self.assertIn("/no/such/worker (named by ANELANE_WORKER)", steps["worker"]["detail"])
        self.assertEqual(steps["worker steps"]["outcome"], "not reached")

    def test_a_worker_of_another_version(self):
        steps = self.assert_failed(self.doctor(environment=self.worker_script("echo anelane-worker 9.9.9+abc\n")), "worker")
        self.assertIn("anelane-worker 9.9.9+abc", steps["worker"]["detail"])
        steps = self.assert_failed(self.doctor(environment=self.worker_script("exit 3\n")), "worker")
        self.assertIn("ended with code 3", steps["worker"]["detail"])

    def test_F10_models_whose_workers_keep_ending(self):
        lane = self.make("lane with crashes")
        self.write_crashes(lane, "bert", 5, held_s=40)
        self.write_crashes(lane, "bad\x1b", 1)
        code, report, steps = self.doctor("--engine", "soft", lane=lane)
        self.assertEqual((code, report["passed"]), (REFUSED, False))
        self.assertEqual([name for name, step in steps.items() if step["outcome"] == "failed"], ["crash loops"])
        self.assertRegex(steps["crash loops"]["detail"], r"^bert: 5 workers ended before serving anything, none is started for "
                                                         r"another (40|3\d) s; bad\x1b: 1 worker ended before serving anything$")
        self.assertIn("lane.crashes.json", steps["crash loops"]["advice"])
        text = self.tool("doctor", "--engine", "soft", "--cache-dir", self.make("cache"), "--lock-dir", lane)[1]
        self.assertNotIn("\x1b", text)
        os.remove(os.path.join(lane, "lane.crashes.json"))
        self.write_crashes(lane, "bert", 4)  # none is held
        self.assertEqual(self.doctor("--engine", "soft", lane=lane)[0], DONE)
        self.write("lane with crashes/lane.crashes.json", b'{"models":[')
        self.assertEqual(self.doctor("--engine", "soft", lane=lane)[2]["crash loops"]["detail"], "none")

    def test_a_worker_that_dies_in_a_step(self):
        """A crash of the framework ends the worker only, and is the failure of the step that it happened in."""
        real = os.path.join(BUILD, "anelane-worker")
        begin = '{"step":"framework","begin":true}'
        died = self.worker_script(f"[ $1 = --version ] && exec {real} --version\necho '{begin}'\nkill -SEGV $$\n")
        steps = self.assert_failed(self.doctor(environment=died), "framework")
        self.assertEqual(steps["framework"]["detail"], f"the worker was killed by signal {int(signal.SIGSEGV)} in this step")
        # Between two steps it is none of them.
        end = '{"step":"framework","outcome":"ok","detail":"","advice":null,"ms":1}'
        between = self.worker_script(f"[ $1 = --version ] && exec {real} --version\necho '{begin}'\necho '{end}'\nkill -SEGV $$\n")
        steps = self.assert_failed(self.doctor(environment=between), "worker process")
        self.assertEqual(steps["framework"]["outcome"], "ok")
        garbage = self.worker_script(f"[ $1 = --version ] && exec {real} --version\necho hello\n")
        self.assertIn("hello", self.assert_failed(self.doctor(environment=garbage), "worker process")["worker process"]["detail"])
        silent = self.worker_script(f"[ $1 = --version ] && exec {real} --version\n")
        self.assert_failed(self.doctor(environment=silent), "worker process")

    def saying(self, lines, code=0):
        """A worker that reports these lines and nothing else."""
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"
        said = self.write("said", text.encode())
        real = os.path.join(BUILD, "anelane-worker")
        return self.worker_script(f'[ "$1" = --doctor ] || exec {real} "$@"\ncat {said}\nexit {code}\n')

    def test_only_a_whole_pass_passes(self):
        def line(step, outcome="ok", **more):
            return {"step": step, "outcome": outcome, "detail": "", "advice": None, "ms": 1, **more}

        good = {name: line(name, "not applicable" if name in NOT_APPLICABLE | {"pool"} else "ok") for name in WORKER_STEPS}
        end = {"end": True, "engine": "soft"}

        def with_step(name, step):
            return [*{**good, name: step}.values(), end]

        code, _, _ = self.doctor(environment=self.saying([*good.values(), end]))
        self.assertEqual(code, DONE)
        missing = [step for step in good.values() if step["step"] != "run"]
        cases = {
            "capitals": (with_step("run", line("run", "FAILED")), 0), "unknown": (with_step("run", line("run", "banana")), 0),
            "outcome missing": (with_step("run", {"step": "run"}), 0), "number": (with_step("run", line(7)), 0),
            "detail of another type": (with_step("run", line("run", detail=[1])), 0), "nothing done": ([end], 0),
            "a step missing": ([*missing, end], 0), "a step not done": (with_step("run", line("run", "not applicable")), 0),
            "not reached": (with_step("pool", line("pool", "not reached")), 0), "no engine": ([*good.values(), {"end": True}], 0),
            "engine a number": ([*good.values(), {"end": True, "engine": 5}], 0), "code": ([*good.values(), end], 9),
            "end false": ([*good.values(), {"end": False, "engine": "soft"}], 0),
            "twice": ([*good.values(), line("run"), end], 0), "unheard of": ([*good.values(), line("dance"), end], 0),
            "inside another": ([{"step": "system", "begin": True}, *list(good.values())[1:], end], 0),
            "a long line": (["x" * 70000, *good.values(), end], 0)}
        for name, (lines, status) in cases.items():
            with self.subTest(name):
                code, report, _ = self.doctor(environment=self.saying(lines, status))
                self.assertEqual((code, report["passed"]), (REFUSED, False))
                self.assertTrue(any(step["outcome"] == "failed" for step in report["steps"]), report)

    def test_a_worker_that_talks_without_end(self):
        real = os.path.join(BUILD, "anelane-worker")
        for words in ('{"step":"system","begin":true}', '{"step":"system","outcome":"ok","detail":"","ms":1}', "y"):
            talk = self.worker_script(f"[ $1 = --version ] && exec {real} --version\nexec yes '{words}'\n")
            code, report, _ = self.doctor(environment=talk)
            self.assertEqual((code, report["passed"]), (REFUSED, False))
            self.assertLess(len(report["steps"]), 10)
        steps = self.assert_failed(self.doctor(environment=self.worker_script("exec yes\n")), "worker")
        self.assertIn("without end", steps["worker"]["detail"])

    def test_escape_sequences_do_not_reach_the_terminal(self):
        bad = json.dumps({"step": "system", "outcome": "failed", "detail": "a\0b\033[2J\x9b\x7f", "advice": "\r\n\033]0;x\a"})
        code, out, _ = self.tool("doctor", environment=self.saying([bad, "\033[31m"]))
        self.assertEqual(code, REFUSED)
        self.assertIn(r"a\x00b\x1b[2J\x9b\x7f", out)
        self.assertIn(r"=> \x0d\x0a\x1b]0;x\x07", out)
        self.assertIn(r"no step: \x1b[31m", out)
        self.assertFalse(set(out) & set("\0\033\r\a\x7f\x9b"))

    def test_wrong_usage(self):
        for arguments in (["--engine", "fast"], ["--temp-space-min", "-1"], ["--temp-space-min", "1.5"], ["now"]):
            code, out, err = self.tool("doctor", *arguments)
            self.assertEqual((code, out), (USAGE, ""), err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
