"""packaging/apple/make-xcframework, with files that are Mach-O only at their beginning: what it writes is what Apple's tools would
read (Info.plist, the universal file's table), and what is no Mach-O file or not one of each is refused.

    xcframework_test.py SOURCE_DIR
"""
import os
import plistlib
import struct
import subprocess
import sys
import tempfile

CPUS = {"arm64": 0x0100000C, "x86_64": 0x01000007}


def make(folder, arch, size, magic=0xFEEDFACF):
    os.makedirs(folder)
    for i, name in enumerate(("libanelane.0.dylib", "anelane-worker")):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(struct.pack("<III", magic, CPUS[arch], 3 * i) + bytes(20) + bytes((i + j) % 251 for j in range(size)))


def slices(data):
    """{CPU type: bytes} of a universal file."""
    magic, count = struct.unpack_from(">II", data)
    assert magic == 0xCAFEBABE
    found = {}
    for i in range(count):
        cpu, _, offset, size, align = struct.unpack_from(">IIIII", data, 8 + 20 * i)
        assert offset % (1 << align) == 0 and align == 14 and offset + size <= len(data)
        found[cpu] = data[offset:offset + size]
    return found


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def main():
    tool = os.path.join(sys.argv[1], "packaging/apple/make-xcframework")

    def run(*arguments):
        return subprocess.run([sys.executable, tool, *arguments], capture_output=True, text=True, check=False, timeout=60)

    with tempfile.TemporaryDirectory() as temp:
        arm, intel, out = (os.path.join(temp, name) for name in ("arm64", "x86_64", "out"))
        make(arm, "arm64", 70001)
        make(intel, "x86_64", 30000)
        done = run(out, intel, arm)
        assert done.returncode == 0, done.stderr
        framework = os.path.join(out, "CAneLane.xcframework")
        info = plistlib.loads(read(framework, "Info.plist"))
        assert info["CFBundlePackageType"] == "XFWK" and info["XCFrameworkFormatVersion"] == "1.0"
        (library,) = info["AvailableLibraries"]
        assert library["SupportedArchitectures"] == ["arm64", "x86_64"] and library["SupportedPlatform"] == "macos"
        folder = os.path.join(framework, library["LibraryIdentifier"])
        for name, at in (("libanelane.0.dylib", os.path.join(folder, library["LibraryPath"])), ("anelane-worker", os.path.join(out, "anelane-worker"))):
            assert slices(read(at)) == {CPUS["arm64"]: read(arm, name), CPUS["x86_64"]: read(intel, name)}, name
            assert os.stat(at).st_mode & 0o777 == 0o755
        headers = os.path.join(folder, library["HeadersPath"])
        assert read(headers, "anelane.h") == read(sys.argv[1], "include/anelane.h")
        assert b'header "anelane.h"' in read(headers, "module.modulemap")
        # One architecture: the file itself.
        assert run(os.path.join(temp, "one"), arm).returncode == 0
        assert read(temp, "one/CAneLane.xcframework/macos-arm64/libanelane.0.dylib") == read(arm, "libanelane.0.dylib")
        # Twice the same, or no Mach-O.
        assert run(os.path.join(temp, "bad"), arm, arm).returncode == 1
        make(os.path.join(temp, "elf"), "arm64", 100, magic=0x464C457F)
        refused = run(os.path.join(temp, "bad"), os.path.join(temp, "elf"))
        assert refused.returncode == 1 and "no 64-bit Mach-O" in refused.stderr
        assert not os.path.exists(os.path.join(temp, "bad"))
    print("the xcframework holds what was given")


main()
