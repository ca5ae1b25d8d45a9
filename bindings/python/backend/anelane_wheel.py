"""Build backend (PEP 517) of the anelane package: a wheel of the Python sources and a built library and worker.

    python3 -m pip wheel bindings/python        or        scripts/build-wheel

Library and worker are taken from ANELANE_BUILD_DIR, or from build/ of this tree (scripts/build release). Debug information is
stripped from the copies. Everything in the wheel has the time SOURCE_DATE_EPOCH, or 1980: the same inputs give the same bytes.
Needs nothing but the standard library, and strip of binutils.
"""
import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sysconfig
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
NATIVE = ("libanelane.so.0", "anelane-worker")
# What is compiled into library and worker, and the packages whose copyright file says how.
LINKED = {"nlohmann-json": "nlohmann-json3-dev", "eigen": "libeigen3-dev", "xxhash": "libxxhash-dev"}


def version():
    with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as f:
        return f.readline().strip()


def tag():
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build_folder():
    return os.environ.get("ANELANE_BUILD_DIR") or os.path.join(ROOT, "build")


def native_file(name):
    """The bytes of a built file, stripped."""
    path = os.path.join(build_folder(), name)
    if not os.path.exists(path):
        raise SystemExit(f"{path} is missing: run scripts/build release, or name the build folder in ANELANE_BUILD_DIR")
    with tempfile.TemporaryDirectory() as temp:
        copy = os.path.join(temp, name)
        shutil.copyfile(path, copy)
        subprocess.run(["strip", "--strip-unneeded", copy], check=True)
        return read(copy)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def libuv_license():
    """scripts/deps leaves it beside the library that it builds; a system's own libuv has its copyright file."""
    deps = os.path.join(ROOT, ".cache/deps")
    built = sorted(name for name in os.listdir(deps) if name.startswith("libuv-")) if os.path.isdir(deps) else []
    for path in [os.path.join(deps, name, "share/LICENSE.libuv") for name in built] + ["/usr/share/doc/libuv1-dev/copyright"]:
        if os.path.exists(path):
            return read(path)
    raise SystemExit("the licence of libuv is missing: run scripts/deps")


def licenses():
    found = {"LICENSE": read(os.path.join(ROOT, "LICENSE")), "LICENSE.libuv": libuv_license()}
    for name, package in LINKED.items():
        path = f"/usr/share/doc/{package}/copyright"
        if not os.path.exists(path):
            raise SystemExit(f"{path} is missing: the wheel must carry the licence of {name}")
        found["LICENSE." + name] = read(path)
    return found


def metadata(license_names):
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    lines = ["Metadata-Version: 2.4", "Name: anelane", "Version: " + version(),
             "Summary: The Apple Neural Engine lane of this machine: sentences to vectors, dependably",
             "License-Expression: Apache-2.0", *("License-File: " + name for name in license_names), "Requires-Python: >=3.9",
             "Provides-Extra: numpy", "Requires-Dist: numpy; extra == 'numpy'", "Description-Content-Type: text/markdown"]
    return ("\n".join(lines) + "\n\n" + readme).encode()


def dist_info():
    texts = licenses()
    files = {"METADATA": metadata(sorted(texts)),
             "WHEEL": f"Wheel-Version: 1.0\nGenerator: anelane_wheel\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()}
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
    files = package_files()
    native = {"anelane/_native/" + name: native_file(name) for name in NATIVE}
    files.update(native)
    files.update({f"{info}/{name}": data for name, data in dist_info().items()})
    name = f"anelane-{version()}-{tag()}.whl"
    write_wheel(os.path.join(wheel_directory, name), files, set(native), info)
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = f"anelane-{version()}.dist-info"
    for name, data in dist_info().items():
        path = os.path.join(metadata_directory, info, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
    return info


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source distribution of the Python package alone: build the wheel in the source tree")
