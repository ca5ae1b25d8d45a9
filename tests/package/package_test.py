"""Installs into an empty prefix, and builds outside projects with what is there: by CMake, by pkg-config, by plain -I and -L, in C
(the example of README.md) and C++ (the example of docs/cpp.md). Then the prefix is moved, and everything works from its new place.
Then the Debian packages: made twice, the same bytes; unpacked into a root of their own, the tool runs there. Last, the binaries for
machines that nobody knows.

    package_test.py SOURCE_DIR BUILD_DIR
"""
import gzip
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FILES = """
bin/anelane
include/anelane.h
include/anelane.hpp
lib/cmake/anelane/anelane-config-version.cmake
lib/cmake/anelane/anelane-config.cmake
lib/cmake/anelane/anelane-targets-release.cmake
lib/cmake/anelane/anelane-targets.cmake
lib/libanelane.so
lib/libanelane.so.0
lib/libanelane.so.VERSION
lib/pkgconfig/anelane.pc
libexec/anelane/anelane-worker
share/doc/anelane/LICENSE
share/doc/anelane/THIRD-PARTY-LICENSES
share/man/man1/anelane.1
"""
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
PRINTED = "cosine 0.57\n"


class Test:
    def __init__(self, source, build, temp):
        self.source, self.build, self.temp = source, build, temp
        self.model = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(source, "models/all-MiniLM-L6-v2")
        with open(os.path.join(source, "VERSION"), encoding="utf-8") as f:
            self.version = f.read().strip()
        # The user's own lane must not be disturbed, and no worker be found but the installed one.
        self.environment = {k: v for k, v in os.environ.items() if k not in ("ANELANE_WORKER", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "DESTDIR")}
        self.environment.update(HOME=temp, XDG_CACHE_HOME=os.path.join(temp, "cache"), SOURCE_DATE_EPOCH="1700000000")

    def run(self, *command, cwd=None, **more):
        done = subprocess.run(command, cwd=cwd or self.temp, capture_output=True, text=True, check=False, timeout=400,
                              env={**self.environment, **more}, umask=0o022)
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def example(self, page, language, name):
        with open(os.path.join(self.source, page), encoding="utf-8") as f:
            code = re.search(rf"```{language}\n(#include.*?)```", f.read(), re.DOTALL).group(1)
        with open(os.path.join(self.temp, "consumer", name), "w", encoding="utf-8") as f:
            f.write(code)

    def prints(self, program, **more):
        """Runs an example where its model is, and looks at what it prints."""
        printed = self.run(program, cwd=os.path.join(self.temp, "run"), **more)
        if printed != PRINTED:
            sys.exit(f"{program} printed {printed!r}, not {PRINTED!r}")

    def prepare(self):
        shutil.copytree(os.path.join(self.source, "tests/package/consumer"), os.path.join(self.temp, "consumer"))
        self.example("README.md", "c", "example.c")
        self.example("docs/cpp.md", "cpp", "example.cc")
        os.makedirs(os.path.join(self.temp, "run/models"))
        os.symlink(self.model, os.path.join(self.temp, "run/models/all-MiniLM-L6-v2"))

    def install(self, prefix):
        self.run("cmake", "--install", self.build, "--prefix", prefix)
        found = sorted(os.path.relpath(os.path.join(folder, name), prefix) for folder, _, names in os.walk(prefix) for name in names)
        expected = sorted(FILES.replace("VERSION\n", self.version + "\n").split())
        if found != expected:
            sys.exit(f"installed: {found}\nexpected: {expected}")
        if os.readlink(os.path.join(prefix, "lib/libanelane.so.0")) != "libanelane.so." + self.version:
            sys.exit("libanelane.so.0 does not name the library's file")
        for name in ("lib/pkgconfig/anelane.pc", *(n for n in found if n.endswith(".cmake"))):
            with open(os.path.join(prefix, name), encoding="utf-8") as f:
                text = f.read()
            for place in (prefix, self.build, self.source):
                if place in text:
                    sys.exit(f"{name} names {place}: the prefix could not be moved")
        for name in ("bin/anelane", "lib/libanelane.so", "libexec/anelane/anelane-worker"):
            paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", self.run("readelf", "-dW", os.path.join(prefix, name)))
            if any(p and not p.startswith("$ORIGIN") for path in paths for p in path.split(":")):
                sys.exit(f"{name} looks for libraries in {paths}")

    def consume(self, prefix, tag):
        """Builds and runs programs of every way; returns them."""
        folder = os.path.join(self.temp, "out-" + tag)
        self.run("cmake", "-S", os.path.join(self.temp, "consumer"), "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}")
        self.run("cmake", "--build", folder)
        programs = [os.path.join(folder, "from_c"), os.path.join(folder, "from_cpp")]
        pc = {"PKG_CONFIG_PATH": os.path.join(prefix, "lib/pkgconfig")}
        if self.run("pkg-config", "--modversion", "anelane", **pc).strip() != self.version:
            sys.exit("pkg-config knows another version")
        worker = shlex.split(self.run("pkg-config", "--variable=worker", "anelane", **pc))[0]
        if not os.access(worker, os.X_OK):
            sys.exit(f"pkg-config names a worker that is not there: {worker}")
        flags = shlex.split(self.run("pkg-config", "--cflags", "--libs", "anelane", **pc))
        plain = ["-I", os.path.join(prefix, "include"), "-L", os.path.join(prefix, "lib"), "-lanelane"]
        for how, linked in (("pkg-config", flags), ("plain", plain)):
            for compiler, standard, source in (("cc", "c11", "example.c"), ("c++", "c++17", "example.cc")):
                program = os.path.join(folder, f"{how}-{compiler}")
                self.run(compiler, "-std=" + standard, *WARNINGS, os.path.join(self.temp, "consumer", source), "-o", program, *linked,
                         f"-Wl,-rpath,{prefix}/lib")
                programs.append(program)
        for program in programs:
            self.prints(program)
        self.run(os.path.join(prefix, "bin/anelane"), "selftest")
        return programs

    def packages(self, tag):
        folder = os.path.join(self.temp, tag)
        self.run("cpack", "-G", "DEB", "-B", folder, cwd=self.build)
        return {name: os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".deb")}

    def debian(self):
        first, second = self.packages("deb1"), self.packages("deb2")
        machine = self.run("dpkg", "--print-architecture").strip()
        expected = [f"{name}_{self.version}-1_{machine}.deb" for name in ("anelane-tools", "libanelane-dev", "libanelane0")]
        if list(first) != expected:
            sys.exit(f"packages: {list(first)}")
        root = os.path.join(self.temp, "root")
        for name, path in first.items():
            sums = [hashlib.sha256(open(p, "rb").read()).hexdigest() for p in (path, second[name])]
            if sums[0] != sums[1]:
                sys.exit(f"{name} is another file each time it is made")
            for line in self.run("dpkg-deb", "-c", path).splitlines():
                rights, owner, *_ = line.split()
                if owner != "root/root" or rights not in ("drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--", "lrwxrwxrwx"):
                    sys.exit(f"{name}: {line}")
            self.run("dpkg-deb", "-x", path, root)
            package = name.split("_")[0]
            if self.run("dpkg-deb", "-f", path, "Version").strip() != self.version + "-1":
                sys.exit(f"{name} says another version")
            with open(os.path.join(root, f"usr/share/doc/{package}/copyright"), encoding="utf-8") as f:
                text = f.read()
            if not all(word in text for word in ("/usr/share/common-licenses/Apache-2.0", "libuv", "nlohmann", "xxHash", "CLI11", "Unicode")):
                sys.exit(f"{name}: its copyright file lacks a license")
            with gzip.open(os.path.join(root, f"usr/share/doc/{package}/changelog.Debian.gz"), "rt") as f:
                if f"anelane ({self.version}-1)" not in f.read():
                    sys.exit(f"{name}: its changelog is about another version")
        runtime, tools, development = first[expected[2]], first[expected[0]], first[expected[1]]
        for wanted in (r"\blibc6\b", r"\blibssl3\b", r"\blibstdc\+\+6\b"):
            if not re.search(wanted, self.run("dpkg-deb", "-f", runtime, "Depends")):
                sys.exit(f"libanelane0 does not depend on {wanted}")
        for path in (tools, development):
            if f"libanelane0 (= {self.version}-1)" not in self.run("dpkg-deb", "-f", path, "Depends"):
                sys.exit(f"{path} does not depend on its library")
        if self.run("dpkg-deb", "-I", runtime, "shlibs") != f"libanelane 0 libanelane0 (>= {self.version}-1)\n":
            sys.exit("libanelane0 does not tell others that it has libanelane.so.0")
        if self.run("dpkg-deb", "-I", runtime, "triggers") != "activate-noawait ldconfig\n":
            sys.exit("libanelane0 does not have the loader's cache renewed")
        if not os.path.exists(os.path.join(root, "usr/share/man/man1/anelane.1.gz")):
            sys.exit("the manual page is not compressed")
        for name in ("usr/bin/anelane", "usr/lib/libanelane.so.0", "usr/libexec/anelane/anelane-worker"):
            if ".debug_info" in self.run("readelf", "-SW", os.path.join(root, name)):
                sys.exit(f"{name} is not stripped")
            if re.search(r"RPATH|RUNPATH", self.run("readelf", "-dW", os.path.join(root, name))):
                sys.exit(f"{name} looks for libraries elsewhere than the loader does")
        here = {"LD_LIBRARY_PATH": os.path.join(root, "usr/lib")}
        if f"anelane {self.version}" not in self.run(os.path.join(root, "usr/bin/anelane"), "version", **here):
            sys.exit("the packaged tool has another version")
        self.run(os.path.join(root, "usr/bin/anelane"), "selftest", **here)

    def portable(self):
        """What goes to machines that nobody knows needs glibc and the unwinder, and works."""
        folder = os.path.join(self.build, "portable")
        for name in ("anelane", "anelane-worker", "libanelane.so.0"):
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", self.run("readelf", "-dW", os.path.join(folder, name)))
            others = [n for n in needed if not re.match(r"(libc|libm|libgcc_s|libanelane|ld-linux-x86-64|ld-linux-aarch64)\.so", n)]
            if others or not needed:
                sys.exit(f"portable/{name} needs {others or needed}")
        self.run(os.path.join(folder, "anelane"), "selftest")

    def all(self):
        self.prepare()
        here, there = os.path.join(self.temp, "prefix"), os.path.join(self.temp, "moved to/another place")
        self.install(here)
        programs = self.consume(here, "here")
        os.makedirs(os.path.dirname(there))
        os.rename(here, there)
        self.consume(there, "there")
        # Programs that were built against the old place, told the new one.
        for program in programs:
            self.prints(program, LD_LIBRARY_PATH=os.path.join(there, "lib"))
        self.debian()
        self.portable()
        print(f"{len(programs)} programs from the prefix, again after it was moved; 3 packages")


def main():
    with tempfile.TemporaryDirectory() as temp:
        Test(sys.argv[1], sys.argv[2], temp).all()


main()
