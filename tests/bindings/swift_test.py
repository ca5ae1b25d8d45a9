"""The Swift package as its users meet it: built without a warning, tested, linked both ways, its example and its page tried.

    swift_test.py SOURCE_DIR BUILD_DIR SWIFT

Everything that is made goes below BUILD_DIR/swift. The package is found by pkg-config (a file for the build folder), a program of
the outside by -L alone. Golden vectors are compared with those of golden_c, bit for bit.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD, SWIFT = (os.path.abspath(path) for path in sys.argv[1:])
PACKAGE = os.path.join(SOURCE, "bindings/swift")
SCRATCH = os.path.join(BUILD, "swift")
MODEL = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(SOURCE, "models/all-MiniLM-L6-v2")
BOUND_S = 1500
RPATH = ["-Xlinker", "-rpath", "-Xlinker", BUILD]
PC = f"""Name: anelane
Description: the library in its build folder
Version: 0
Libs: -L{BUILD} -lanelane
Cflags: -I{SOURCE}/include
"""

# What must not compile, and that the rest of it does.
USE = """import Anelane
func use(_ model: Model) async throws(AneLaneError) {
  let lease = try await model.lease(shape: 128)
  PLANTED
  lease.release()
}
func from(_ model: Model) { Task { try await use(model) } }
"""
PLANTED = {
    "": None,
    "lease.release()": "consumed more than once",
    "let copy = lease": "consumed more than once",
    "_ = try model.embedBlocking([])": "unavailable from asynchronous contexts",
    "do { try lease.withPort(0) { _ in } } catch { let code: Int = error }": "AneLaneError",
}


def fail(message):
    sys.exit("swift_test: " + message)


def run(*command, expect=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False, stdin=subprocess.DEVNULL, **more)
    if done.returncode != expect:
        fail(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-12000:]}\n{done.stderr[-6000:]}")
    return done


def swift(verb, package, scratch, *arguments, environment=None):
    return run(SWIFT, verb, "--package-path", package, "--scratch-path", scratch, "--cache-path", os.path.join(SCRATCH, "cache"),
               "--config-path", os.path.join(SCRATCH, "config"), "--security-path", os.path.join(SCRATCH, "security"),
               "--disable-automatic-resolution", "-Xswiftc", "-warnings-as-errors", "-Xcc", "-Werror", *RPATH, *arguments,
               env={**os.environ, **(environment or {})})


def check_package(temp):
    """Its own tests, with the library at a path, and those of calls once more with the linked one. Not one warning, of the package
    manager's neither."""
    with open(os.path.join(temp, "anelane.pc"), "w", encoding="utf-8") as f:
        f.write(PC)
    environment = {"PKG_CONFIG_PATH": temp, "ANELANE_LIBRARY": os.path.join(BUILD, "libanelane.so"), "ANELANE_SOURCE_DIR": SOURCE}
    done = swift("test", PACKAGE, SCRATCH, environment=environment)
    text = done.stdout + done.stderr
    warned = [line for line in text.splitlines() if "warning:" in line]
    if warned:
        fail("\n".join(warned))
    ended = re.search(r"Test run with (\d+) tests? in \d+ suites passed", text)
    if ended is None or int(ended.group(1)) < 40:
        fail(f"not all tests ran:\n{text[-6000:]}")
    for line in text.splitlines():
        if "ended well" in line or "10000 operations" in line:
            print(line)
    print(ended.group(0))
    linked = swift("test", PACKAGE, SCRATCH, "--skip-build", "--filter", "EmbedTests", environment={**environment, "ANELANE_LIBRARY": ""})
    if re.search(r"Test run with ([7-9]|\d\d) tests in \d+ suites passed", linked.stdout + linked.stderr) is None:
        fail(f"not all tests ran with the linked library:\n{linked.stdout[-6000:]}")


def built(name):
    return os.path.join(SCRATCH, "debug", name)


def check_golden():
    done = run(sys.executable, os.path.join(SOURCE, "tests/bindings/golden_test.py"), SOURCE, "c=" + os.path.join(BUILD, "tests/golden_c"),
               "swift=" + built("GoldenVectors"))
    print(done.stdout.strip())


def check_example():
    """It finds what the others find. Without a library it says what to do."""
    done = run(sys.executable, os.path.join(SOURCE, "tests/bindings/notes_test.py"), SOURCE, BUILD,
               "c=" + os.path.join(BUILD, "examples/search_notes"), "swift=" + built("SearchNotes"),
               env={**os.environ, "ANELANE_LIBRARY": os.path.join(BUILD, "libanelane.so")})
    print(done.stdout.strip())
    refused = run(built("SearchNotes"), MODEL, SOURCE, "q", expect=1, env={**os.environ, "ANELANE_LIBRARY": "/nowhere.so"}).stderr
    if "/nowhere.so" not in refused or "ANELANE_LIBRARY" not in refused:
        fail(f"an unknown library: {refused}")


def check_bench():
    done = run(built("Overhead"), "--quick", env={**os.environ, "ANELANE_LIBRARY": os.path.join(BUILD, "libanelane.so")})
    calls = [json.loads(line)["call"] for line in done.stdout.splitlines()]
    if len(calls) < 5:
        fail(f"the benchmark measured {calls}")


def check_page(temp):
    """The program of docs/swift.md in a package of its own, linked by -L alone: it prints what the page says."""
    with open(os.path.join(SOURCE, "docs/swift.md"), encoding="utf-8") as f:
        page = f.read()
    code, manifest = (re.search(rf"```swift\n({start}.*?)```", page, re.DOTALL).group(1) for start in ("import AnelaneLinked", "// swift-tools-version"))
    printed = re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1)
    package = os.path.join(temp, "page")
    os.makedirs(os.path.join(package, "Sources/Similar"))
    if "../libanelane/bindings/swift" not in manifest:
        fail("docs/swift.md: the manifest names another folder")
    for name, text in (("Package.swift", manifest.replace("../libanelane/bindings/swift", PACKAGE)), ("Sources/Similar/main.swift", code)):
        with open(os.path.join(package, name), "w", encoding="utf-8") as f:
            f.write(text)
    scratch = os.path.join(SCRATCH, "page")
    shutil.rmtree(scratch, ignore_errors=True)
    nowhere = {"PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": "/nowhere"}
    swift("build", package, scratch, "--product", "Similar", "-Xlinker", "-L" + BUILD, environment=nowhere)
    os.makedirs(os.path.join(temp, "models"))
    os.symlink(MODEL, os.path.join(temp, "models/all-MiniLM-L6-v2"))
    # A home of its own: the program uses the defaults, and nobody's lane must be disturbed.
    done = run(os.path.join(scratch, "debug/Similar"), cwd=temp, env={
        **{k: v for k, v in os.environ.items() if k != "ANELANE_LIBRARY"}, "HOME": temp, "XDG_CACHE_HOME": os.path.join(temp, "cache")})
    if done.stdout != printed:
        fail(f"docs/swift.md says {printed!r}, its program prints {done.stdout!r}")


def check_planted(temp):
    file = os.path.join(temp, "use.swift")
    for planted, said in PLANTED.items():
        with open(file, "w", encoding="utf-8") as f:
            f.write(USE.replace("PLANTED", planted))
        done = subprocess.run([os.path.join(os.path.dirname(SWIFT), "swiftc"), "-swift-version", "6", "-emit-sil", "-o", os.devnull, "-I",
                               os.path.join(SCRATCH, "debug/Modules"), "-Xcc",
                               "-fmodule-map-file=" + os.path.join(SCRATCH, "debug/CAnelane.build/module.modulemap"), "-module-cache-path",
                               os.path.join(SCRATCH, "debug/ModuleCache"), file], capture_output=True, text=True, timeout=BOUND_S, check=False)
        if (done.returncode == 0) != (said is None) or (said or "") not in done.stderr:
            fail(f"planted {planted!r}: exit code {done.returncode}\n{done.stderr}")


def check_reference():
    """DocC takes every comment: what they link to is there."""
    tools, debug, graphs = os.path.dirname(SWIFT), os.path.join(SCRATCH, "debug"), os.path.join(SCRATCH, "graphs")
    shutil.rmtree(graphs, ignore_errors=True)
    os.makedirs(graphs)
    target = json.loads(run(SWIFT, "-print-target-info").stdout)["target"]["unversionedTriple"]
    run(os.path.join(tools, "swift-symbolgraph-extract"), "-module-name", "Anelane", "-target", target, "-I", os.path.join(debug, "Modules"),
        "-Xcc", "-fmodule-map-file=" + os.path.join(debug, "CAnelane.build/module.modulemap"), "-module-cache-path",
        os.path.join(debug, "ModuleCache"), "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", graphs)
    run(os.path.join(tools, "docc"), "convert", os.path.join(PACKAGE, "Sources/Anelane/Anelane.docc"), "--additional-symbol-graph-dir", graphs,
        "--output-path", os.path.join(SCRATCH, "docs"), "--fallback-display-name", "Anelane", "--fallback-bundle-identifier", "anelane",
        "--warnings-as-errors")


def main():
    os.makedirs(SCRATCH, exist_ok=True)
    with tempfile.TemporaryDirectory() as temp:
        check_package(temp)
        check_golden()
        check_example()
        check_bench()
        check_planted(temp)
        check_reference()
        check_page(temp)
    print("the example, the benchmark, what must not compile, the reference and docs/swift.md are as they should be")


main()
