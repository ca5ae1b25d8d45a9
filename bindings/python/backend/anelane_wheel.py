"""Build backend (PEP 517) of the anelane package: a wheel of the Python sources and a built library and worker.

    python3 -m pip wheel bindings/python        or        scripts/build-wheel

Library and worker are taken from ANELANE_BUILD_DIR, or from build/ of this tree (scripts/build release portable), there from
portable/ where CMake could make it. They say for which systems the wheel is (platform_tag.py). Debug information is stripped from
the copies, but for a Mac, where that would break their signatures. Everything in the wheel has the time SOURCE_DATE_EPOCH, or
1980: the same inputs give the same bytes. Needs nothing but the standard library, and strip and readelf of binutils.
"""
import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import tempfile
import time
import zipfile

from platform_tag import platform_tag

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIBRARIES = ("libanelane.so.0", "libanelane.0.dylib")
WORKER = "anelane-worker"


def version():
    with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as f:
        return f.readline().strip()


def native_files():
    """The built library and worker: {name: bytes}."""
    build = os.environ.get("ANELANE_BUILD_DIR") or os.path.join(ROOT, "build")
    portable = os.path.join(build, "portable")
    folder = portable if os.path.isdir(portable) else build
    library = next((name for name in LIBRARIES if os.path.exists(os.path.join(folder, name))), LIBRARIES[0])
    for name in (library, WORKER):
        if not os.path.exists(os.path.join(folder, name)):
            raise SystemExit(f"{os.path.join(folder, name)} is missing: run scripts/build release portable, or name the build folder "
                             "in ANELANE_BUILD_DIR")
    take = read if library.endswith(".dylib") else stripped
    return {name: take(os.path.join(folder, name)) for name in (library, WORKER)}


def stripped(path):
    with tempfile.TemporaryDirectory() as temp:
        copy = os.path.join(temp, os.path.basename(path))
        shutil.copyfile(path, copy)
        subprocess.run(["strip", "--strip-unneeded", copy], check=True)
        return read(copy)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def licenses():
    return {"LICENSE": read(os.path.join(ROOT, "LICENSE")),
            "THIRD-PARTY-LICENSES": read(os.path.join(ROOT, "packaging/THIRD-PARTY-LICENSES"))}


def metadata(license_names):
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    lines = ["Metadata-Version: 2.4", "Name: anelane", "Version: " + version(),
             "Summary: The Apple Neural Engine lane of this machine: sentences to vectors, dependably",
             "License-Expression: Apache-2.0", *("License-File: " + name for name in license_names), "Requires-Python: >=3.9",
             "Provides-Extra: numpy", "Requires-Dist: numpy; extra == 'numpy'", "Description-Content-Type: text/markdown"]
    return ("\n".join(lines) + "\n\n" + readme).encode()


def dist_info(tag):
    texts = licenses()
    files = {"METADATA": metadata(sorted(texts)),
             "WHEEL": f"Wheel-Version: 1.0\nGenerator: anelane_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()}
    files.update({"licenses/" + name: text for name, text in texts.items()})
    return files


def package_files():
    folder = os.path.join(HERE, "src/anelane")
    return {"anelane/" + name: read(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            if name.endswith((".py", ".pyi")) or name == "py.typed"}


def write_wheel(path, files, executables, info):
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(name, data):
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if name in executables else 0o100644) << 16
            wheel.writestr(entry, data)

        for name, data in files.items():
            add(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow((name, "sha256=" + digest, len(data)))
        rows.writerow((info + "/RECORD", "", ""))
        add(info + "/RECORD", record.getvalue().encode())


# ---- the hooks ----
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"anelane-{version()}.dist-info"
    native = native_files()
    tag = "py3-none-" + platform_tag(native)
    files = package_files()
    files.update({"anelane/_native/" + name: data for name, data in native.items()})
    files.update({f"{info}/{name}": data for name, data in dist_info(tag).items()})
    name = f"anelane-{version()}-{tag}.whl"
    write_wheel(os.path.join(wheel_directory, name), files, {"anelane/_native/" + name for name in native}, info)
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = f"anelane-{version()}.dist-info"
    for name, data in dist_info("py3-none-" + platform_tag(native_files())).items():
        path = os.path.join(metadata_directory, info, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
    return info


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source distribution of the Python package alone: build the wheel in the source tree")
