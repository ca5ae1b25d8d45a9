"""The wheel: the same bytes each time, everything in it, and a clean environment that embeds with nothing else."""
import base64
import csv
import hashlib
import os
import subprocess
import sys
import unittest
import venv
import zipfile

from support import BUILD, SOURCE, TempCase
from tiny import write_tiny

BACKEND = "import os, sys; sys.path.insert(0, 'backend'); import anelane_wheel; print(anelane_wheel.build_wheel(sys.argv[1]))"
USE = """
import sys
import anelane
print(anelane.__file__.startswith(sys.prefix), anelane.load_library().startswith(sys.prefix))
with anelane.Lane(engine="soft", lock_dir=sys.argv[1]) as lane, lane.load(sys.argv[2]) as model:
    print(len(model.embed_rows(["hello"])[0]), lane.describe()["models"][0]["name"])
"""


class Wheel(TempCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.clean = {key: value for key, value in os.environ.items() if not key.startswith(("ANELANE_", "PYTHON"))}
        cls.path = cls.build("first")

    @classmethod
    def build(cls, folder, **environment):
        out = cls.folder(folder)
        run = subprocess.run([sys.executable, "-B", "-c", BACKEND, out], cwd=os.path.join(SOURCE, "bindings/python"), timeout=300,
                             capture_output=True, text=True, check=True, env={**cls.clean, "ANELANE_BUILD_DIR": BUILD, **environment})
        return os.path.join(out, run.stdout.strip())

    def test_the_same_bytes_each_time(self):
        with open(self.path, "rb") as first, open(self.build("second"), "rb") as second, \
                open(self.build("third", SOURCE_DATE_EPOCH="1700000000"), "rb") as third:
            data = first.read()
            self.assertTrue(data == second.read())
            self.assertFalse(data == third.read())

    def test_the_record_is_right_and_nothing_is_missing(self):
        with zipfile.ZipFile(self.path) as wheel:
            names = wheel.namelist()
            (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
            record = {row[0]: row[1:] for row in csv.reader(wheel.read(info + "/RECORD").decode().splitlines())}
            self.assertEqual(sorted(record), sorted(names))
            for name in names:
                if name != info + "/RECORD":
                    digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual(record[name], ["sha256=" + digest, str(wheel.getinfo(name).file_size)])
            for name in ("anelane-worker", "libanelane.so.0"):
                self.assertEqual(wheel.getinfo("anelane/_native/" + name).external_attr >> 16, 0o100755)
            package = {name for name in os.listdir(os.path.join(SOURCE, "bindings/python/src/anelane")) if name != "__pycache__"}
            self.assertEqual({name.split("/")[1] for name in names if name.startswith("anelane/")}, package | {"_native"})
            self.assertIn("py.typed", package)
            texts = {name.rsplit("/", 1)[1]: wheel.read(name).decode() for name in names if "/licenses/" in name}
            self.assertEqual(sorted(texts), ["LICENSE", "LICENSE.eigen", "LICENSE.libuv", "LICENSE.nlohmann-json", "LICENSE.xxhash"])
            for name, words in (("LICENSE", "Apache License"), ("LICENSE.libuv", "Permission is hereby granted"),
                                ("LICENSE.eigen", "MPL-2"), ("LICENSE.nlohmann-json", "MIT"), ("LICENSE.xxhash", "BSD")):
                self.assertIn(words.lower(), texts[name].lower())
            self.assertIn(b"Root-Is-Purelib: false", wheel.read(info + "/WHEEL"))

    def test_a_clean_environment_installs_and_embeds(self):
        root, tiny = os.path.join(self.temp, "venv"), write_tiny(os.path.join(self.temp, "tiny"))
        venv.create(root, with_pip=True)
        python = os.path.join(root, "bin/python")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "--no-index", self.path], env=self.clean, timeout=300, check=True)
        run = subprocess.run([python, "-c", USE, self.folder("lane"), tiny], env=self.clean, cwd=self.temp, timeout=300,
                             capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "True True\n64 tiny\n", ""))
        subprocess.run([*pip, "check"], env=self.clean, timeout=300, check=True)
        # From the source tree, through the hooks: the same wheel.
        subprocess.run([*pip, "wheel", "--no-index", "--no-deps", "-w", self.folder("hooks"), os.path.join(SOURCE, "bindings/python")],
                       env={**self.clean, "ANELANE_BUILD_DIR": BUILD, "PYTHONDONTWRITEBYTECODE": "1"}, timeout=300, check=True)
        with open(self.path, "rb") as first, open(os.path.join(self.temp, "hooks", os.path.basename(self.path)), "rb") as second:
            self.assertTrue(first.read() == second.read())
        subprocess.run([*pip, "uninstall", "-y", "anelane"], env=self.clean, timeout=300, check=True)
        self.assertEqual(subprocess.run([python, "-c", "import anelane"], env=self.clean, cwd=self.temp, timeout=60,
                                        capture_output=True, check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main()
