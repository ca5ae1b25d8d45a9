"""What the tests of the binding share: a lane of their own, a tiny model, what a process holds.

Run by ctest with ANELANE_BUILD_DIR and ANELANE_SOURCE_DIR in the environment. The package is the source tree's.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.environ["ANELANE_SOURCE_DIR"]
BUILD = os.environ["ANELANE_BUILD_DIR"]
PACKAGE = os.path.join(SOURCE, "bindings/python/src")
MINILM = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(SOURCE, "models/all-MiniLM-L6-v2")
BOUND_S = 240  # against hanging

sys.path.insert(0, PACKAGE)
os.environ["PYTHONPATH"] = PACKAGE  # for children
os.environ["ANELANE_LIBRARY"] = os.path.join(BUILD, "libanelane.so")

import anelane  # noqa: E402
from tiny import write_tiny  # noqa: E402

try:
    import numpy  # noqa: F401 (the tests take it from here)
except ImportError:
    sys.exit("the tests of the binding need NumPy: run scripts/deps (python3-numpy)")


class TempCase(unittest.TestCase):
    """A folder for each class."""

    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.mkdtemp(prefix="anelane-python-test-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.temp)

    @classmethod
    def folder(cls, name):
        path = os.path.join(cls.temp, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path


class LaneCase(TempCase):
    """An open lane with a tiny model in it, for each class."""

    options = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tiny = write_tiny(os.path.join(cls.temp, "tiny"))
        cls.lane = anelane.Lane(engine="soft", lock_dir=cls.folder("lane"), soft_threads=1, **cls.options)
        cls.model = cls.lane.load(cls.tiny, timeout=BOUND_S)

    @classmethod
    def tearDownClass(cls):
        cls.lane.close()
        super().tearDownClass()


def run_python(code, *arguments, timeout=BOUND_S, environment=None, python=sys.executable):
    """A child with the same package: (exit code, stdout, stderr)."""
    run = subprocess.run([python, "-c", code, *arguments], capture_output=True, timeout=timeout, check=False,
                         env={**os.environ, **(environment or {})})
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def descriptors():
    """The least of some looks: an open lane has a file more for a moment when it writes its state down."""
    def now():
        time.sleep(0.02)
        return len(os.listdir("/proc/self/fd"))

    return min(now() for _ in range(20))


def threads():
    return len(os.listdir("/proc/self/task"))


def children():
    """Of any thread of this process."""
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as f:
                found += f.read().split()
        except FileNotFoundError:
            pass
    return [int(pid) for pid in found]


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
