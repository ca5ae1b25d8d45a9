"""The platform tag of a wheel, read from the binaries in it: what a system must have for them to run, and not what built them.

Linux: manylinux_2_N (PEP 600) where they need nothing but glibc and libgcc_s, N from the newest symbol of glibc; else linux, which
package indexes refuse, because nobody can tell from it where the wheel works. macOS: the oldest release that their
load commands admit.
"""
import os
import re
import struct
import subprocess
import sysconfig
import tempfile

# The libraries of every manylinux system that ours could need: glibc in its parts, and the unwinder.
EVERYWHERE = re.compile(r"(libc|libm)\.so\.6|libdl\.so\.2|librt\.so\.1|libpthread\.so\.0|libgcc_s\.so\.1|ld-linux-.*\.so\.\d")
OLDEST_GLIBC = 17  # manylinux2014; nothing older is asked for
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACHO_64, MACHO_CPUS = 0xFEEDFACF, {0x0100000C: "arm64", 0x01000007: "x86_64"}
LC_BUILD_VERSION, PLATFORM_MACOS = 0x32, 1


def readelf(data):
    with tempfile.TemporaryDirectory() as temp:
        path = os.path.join(temp, "file")
        with open(path, "wb") as f:
            f.write(data)
        return subprocess.run(["readelf", "-dVW", path], check=True, capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"}).stdout


def elf_needs(text):
    """(libraries, symbol versions) that readelf -dVW says a file needs."""
    versions = set()
    for section in re.findall(r"^Version needs section.*?(?=^Version|\Z)", text, re.DOTALL | re.MULTILINE):
        versions.update(re.findall(r"Name: (\S+)", section))
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text)), versions


def linux_tag(files):
    machine = ELF_MACHINES.get(struct.unpack_from("<H", next(iter(files.values())), 18)[0])
    plain = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if machine is None:
        return plain
    newest = OLDEST_GLIBC
    for data in files.values():
        libraries, versions = elf_needs(readelf(data))
        # The version of a symbol of libgcc is that of an old gcc: GCC_3.0 to GCC_4.2.0.
        others = {v for v in versions if not re.fullmatch(r"GLIBC_2\.\d+(\.\d+)?|GCC_[34]\.[0-9.]+", v)}
        if others or not all(EVERYWHERE.fullmatch(name) for name in libraries):
            return "linux_" + machine
        newest = max([newest, *(int(v.split(".")[1]) for v in versions if v.startswith("GLIBC_"))])
    return f"manylinux_2_{newest}_{machine}"


def macos_minimum(data):
    """(cpu, (major, minor)) of a Mach-O file."""
    magic, cpu, _, _, count = struct.unpack_from("<IIIII", data)
    if magic != MACHO_64 or cpu not in MACHO_CPUS:
        raise SystemExit("a file for macOS is no 64-bit Mach-O file of one architecture")
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command == LC_BUILD_VERSION:
            platform, minimum = struct.unpack_from("<II", data, at + 8)
            if platform == PLATFORM_MACOS:
                return MACHO_CPUS[cpu], (minimum >> 16, minimum >> 8 & 255)
        at += size
    raise SystemExit("a file for macOS does not say which release it needs")


def macos_tag(files):
    found = [macos_minimum(data) for data in files.values()]
    if len({cpu for cpu, _ in found}) != 1:
        raise SystemExit("library and worker are for different processors")
    major, minor = max(minimum for _, minimum in found)
    # Installers know whole releases only: what needs 13.3 is for 14.
    return f"macosx_{major + (minor > 0)}_0_{found[0][0]}"


def platform_tag(files):
    """files: {name: bytes} of library and worker."""
    return linux_tag(files) if all(data.startswith(b"\x7fELF") for data in files.values()) else macos_tag(files)
