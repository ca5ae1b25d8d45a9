"""anelane doctor --engine apple, where the worker has the stand-in for Apple's framework. Run by ctest with ANELANE_BUILD_DIR and
ANELANE_SOURCE_DIR in the environment."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["ANELANE_SOURCE_DIR"], "tests/tool"))
from doctor_test import DONE, PROGRAM_STEPS, REFUSED, STEPS, Doctor as ToolDoctor  # noqa: E402  pylint: disable=wrong-import-position
from tool_test import BUILD, ToolCase  # noqa: E402  pylint: disable=wrong-import-position

MARK = "Library/Caches/anelane/doctor-passed"


class AppleDoctor(ToolCase):
    doctor_of_tool = ToolDoctor.doctor

    def setUp(self):
        self.home = self.make("home")
        self.machine = self.make("machine")

    def tearDown(self):
        shutil.rmtree(self.home)
        shutil.rmtree(self.machine)

    def doctor(self, *arguments, **knobs):
        environment = {"ANELANE_WORKER": os.path.join(BUILD, "tests/standin-worker"), "HOME": self.home, "ANE_STANDIN_ROOT": self.machine}
        tmpdir = knobs.pop("tmpdir", os.path.join(self.machine, "tmp"))
        environment.update({f"ANE_STANDIN_{name.upper()}": value for name, value in knobs.items()})
        os.makedirs(tmpdir, exist_ok=True)
        return self.doctor_of_tool("--engine", "apple", *arguments, environment={**environment, "TMPDIR": tmpdir})

    def marked(self):
        return os.path.exists(os.path.join(self.home, MARK))

    def assert_failed(self, answer, *failed):
        code, report, steps = answer
        self.assertEqual((code, report["passed"]), (REFUSED, False))
        self.assertEqual([name for name, step in steps.items() if step["outcome"] == "failed"], list(failed), report)
        for name in failed:
            self.assertTrue(steps[name]["advice"], steps[name])
        self.assertFalse(self.marked())
        return steps

    def test_a_pass_leaves_the_mark_of_the_os_build(self):
        for system, build in (("27", "26A434"), ("26", "25D125")):
            code, report, steps = self.doctor("--count-pool", system=system, pool_limit="12")
            self.assertEqual((code, report["engine"]), (DONE, "apple"), report)
            self.assertEqual([step["step"] for step in report["steps"]], STEPS)
            expected = {name: "not applicable" if name == "signature" else "ok" for name in STEPS}
            self.assertEqual({name: step["outcome"] for name, step in steps.items()}, expected)
            self.assertIn("12 programs live at once", steps["pool"]["detail"])
            self.assertIn(build, steps["engine"]["detail"])
            self.assertIn("apple engine", steps["lane"]["detail"])
            with open(os.path.join(self.home, MARK), encoding="ascii") as f:
                self.assertEqual(f.read(), build + "\n")

    def test_another_tmpdir(self):
        steps = self.assert_failed(self.doctor(tmpdir=self.make("elsewhere")), "staging")
        self.assertIn("TMPDIR", steps["staging"]["advice"])

    def test_a_class_that_is_gone(self):
        steps = self.assert_failed(self.doctor(hide_class="_ANERequest"), "classes", "encodings", "engine")
        self.assertEqual(steps["classes"]["detail"], "both routes: no _ANERequest")
        self.assertEqual({steps[name]["outcome"] for name in PROGRAM_STEPS}, {"not reached"})

    def test_a_class_of_one_route_is_told_and_not_missed(self):
        code, _, steps = self.doctor(hide_class="_ANEClient")
        self.assertEqual((code, steps["classes"]["outcome"]), (DONE, "ok"), steps)
        self.assertIn("the client route: no _ANEClient", steps["classes"]["detail"])

    def test_an_encoding_that_has_changed(self):
        steps = self.assert_failed(self.doctor(encoding="_ANEIOSurfaceObject.objectWithIOSurface:=@@:@"), "encodings", "engine")
        self.assertIn("+[_ANEIOSurfaceObject objectWithIOSurface:] is @@:@, not @@:^{__IOSurface=}", steps["encodings"]["detail"])

    def test_a_framework_that_kills_ends_the_worker_only(self):
        steps = self.assert_failed(self.doctor(kill_evaluate="1"), "run")
        self.assertEqual(steps["run"]["detail"], "the worker was killed by signal 9 in this step")

    def test_what_the_framework_says_is_told(self):
        steps = self.assert_failed(self.doctor(fail_compile="*:compiler:1:no such op"), "compile")
        self.assertIn("no such op", steps["compile"]["detail"])
        self.assertEqual({steps[name]["outcome"] for name in PROGRAM_STEPS[1:]}, {"not reached"})

    def test_an_exception_is_told_with_its_selector(self):
        steps = self.assert_failed(self.doctor(**{"raise": "loadWithQoS:options:error:"}), "load")
        self.assertIn("loadWithQoS:options:error:", steps["load"]["detail"])

    def test_the_installed_worker_leaves_no_mark(self):
        run = subprocess.run([os.path.join(BUILD, "anelane-worker"), "--doctor-passed"], capture_output=True, text=True, timeout=60,
                             check=False, env={**os.environ, "HOME": self.home})
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("no Neural Engine", run.stderr)
        self.assertFalse(self.marked())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
