"""The wheel: the same bytes each time, everything in it, and a clean environment that embeds with nothing else."""
import base64
import csv
import hashlib
import os
import struct
import subprocess
import sys
import unittest
import venv
import zipfile

from support import BUILD, SOURCE, TempCase
from tiny import write_tiny

BACKEND = "import os, sys; sys.path.insert(0, 'backend'); import anelane_wheel; print(anelane_wheel.build_wheel(sys.argv[1]))"
USE = """
import re
import sys
import anelane
print(anelane.__file__.startswith(sys.prefix), anelane.load_library().startswith(sys.prefix))
with anelane.Lane(engine="soft", lock_dir=sys.argv[1]) as lane, lane.load(sys.argv[2]) as model:
    print(len(model.embed_rows(["hello"])[0]), lane.describe()["models"][0]["name"])
    with open("/proc/self/maps") as host, open(f"/proc/{lane.describe()['models'][0]['worker_pid']}/maps") as worker:
        # Python's process may have a libcrypto of Python's own.
        print(sorted(set(re.findall(r"lib(?:stdc..|uv|anelane)[.]so", host.read()))), re.findall("lib(?:stdc|crypto|uv|anelane)", worker.read()))
"""
TAG = "import os, sys; sys.path.insert(0, 'backend'); import anelane_wheel as w; print(w.platform_tag(w.native_files()))"


def write_macho(folder, cpu, minimum):
    """Library and worker that are Mach-O files only at their beginning."""
    os.makedirs(folder)
    for name in ("libanelane.0.dylib", "anelane-worker"):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(struct.pack("<IIIIIIII", 0xFEEDFACF, cpu, 0, 6, 2, 40, 0, 0) + struct.pack("<IIII", 0x1B, 16, 0, 0) +
                    struct.pack("<IIIIII", 0x32, 24, 1, minimum, 0, 0))


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
            self.assertEqual(sorted(texts), ["LICENSE", "THIRD-PARTY-LICENSES"])
            self.assertIn("Apache License", texts["LICENSE"])
            for name in ("libuv", "nlohmann", "xxHash", "OpenSSL", "libstdc++", "libc++"):
                self.assertIn(name, texts["THIRD-PARTY-LICENSES"])
            self.assertIn(b"Root-Is-Purelib: false", wheel.read(info + "/WHEEL"))

    def tag(self, build):
        run = subprocess.run([sys.executable, "-B", "-c", TAG], cwd=os.path.join(SOURCE, "bindings/python"), timeout=300,
                             capture_output=True, text=True, check=False, env={**self.clean, "ANELANE_BUILD_DIR": build})
        return run.stdout.strip() or run.stderr

    def test_the_tag_is_what_the_files_need(self):
        # glibc 2.34 is that of RHEL 9; Ubuntu 22.04 has 2.35, Debian 12 has 2.36.
        self.assertRegex(os.path.basename(self.path), r"^anelane-[0-9.]+-py3-none-manylinux_2_34_x86_64\.whl$")
        plain = self.folder("plain")
        for name in ("libanelane.so.0", "anelane-worker"):
            os.symlink(os.path.join(BUILD, name), os.path.join(plain, name))
        self.assertEqual(self.tag(plain), "linux_x86_64")  # they need libcrypto and libstdc++ of the system
        self.assertIn("scripts/build release portable", self.tag(self.folder("empty")))

    def test_wheels_for_the_mac(self):
        for arch, cpu in (("arm64", 0x0100000C), ("x86_64", 0x01000007)):
            build = os.path.join(self.temp, arch)
            write_macho(build, cpu, 0x000C0300)  # 12.3
            path = self.build(arch + "-wheel", ANELANE_BUILD_DIR=build)
            self.assertTrue(path.endswith(f"-py3-none-macosx_13_0_{arch}.whl"), path)
            with zipfile.ZipFile(path) as wheel, open(os.path.join(build, "libanelane.0.dylib"), "rb") as library:
                self.assertEqual(wheel.read("anelane/_native/libanelane.0.dylib"), library.read())  # strip breaks signatures
                self.assertEqual(wheel.getinfo("anelane/_native/anelane-worker").external_attr >> 16, 0o100755)
            for system, outcome in ((f"macosx_14_0_{arch}", 0), (f"macosx_12_0_{arch}", 1)):
                run = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps",
                                      "--only-binary", ":all:", "--platform", system, "--target", os.path.join(self.temp, system), path],
                                     env=self.clean, timeout=300, capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, outcome, run.stderr)

    def test_a_clean_environment_installs_and_embeds(self):
        root, tiny = os.path.join(self.temp, "venv"), write_tiny(os.path.join(self.temp, "tiny"))
        venv.create(root, with_pip=True)
        python = os.path.join(root, "bin/python")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "--no-index", self.path], env=self.clean, timeout=300, check=True)
        run = subprocess.run([python, "-c", USE, self.folder("lane"), tiny], env=self.clean, cwd=self.temp, timeout=300,
                             capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "True True\n64 tiny\n['libanelane.so'] []\n", ""))
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
