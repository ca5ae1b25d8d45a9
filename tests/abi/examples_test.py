"""The programs of examples/c as they stand: each runs against the real model, twice, with the user's own default folders (moved
into a home of its own), and prints what it promises.

    examples_test.py SOURCE_DIR BUILD_DIR
"""
import os
import re
import subprocess
import sys
import tempfile

PRINTED = {
    "similarity": r"Nearest pairs:\n  0\.\d{3}  \[5\] .*\n +\[6\] ",
    "lease_run": r"\A384 channels of 5 tokens through the layers in [\d.]+ ms\n(token \d:( [ -]\d+\.\d{4}){6} …\n){5}\Z",
    "event_loop": r"\A(384 numbers, the first [ -]\d\.\d{4}: (The first|Another|A third).*\n){3}\Z",
}


def main():
    source, build = sys.argv[1:]
    model = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(source, "models/all-MiniLM-L6-v2")
    with tempfile.TemporaryDirectory() as temp:
        cache = os.path.join(temp, "cache")
        environment = {**os.environ, "HOME": temp, "XDG_CACHE_HOME": cache}
        for name, printed in PRINTED.items():
            texts = []
            for _ in range(2):
                run = subprocess.run([os.path.join(build, "examples", name), model], capture_output=True, text=True, check=False,
                                     timeout=300, env=environment)
                if run.returncode != 0 or run.stderr or not re.search(printed, run.stdout):
                    sys.exit(f"{name}: exit code {run.returncode}\nprinted:\n{run.stdout}\nstderr:\n{run.stderr}")
                texts.append(sorted(re.sub(r"in [\d.]+ ms|From opening.*", "", run.stdout).splitlines()))
            if texts[0] != texts[1]:
                sys.exit(f"{name}: two runs, two results:\n{texts[0]}\n{texts[1]}")
            usage = subprocess.run([os.path.join(build, "examples", name)], capture_output=True, text=True, check=False, timeout=300)
            if usage.returncode != 2 or not usage.stderr.startswith("usage: " + name):
                sys.exit(f"{name} without arguments: exit code {usage.returncode}, {usage.stderr!r}")
        # Compiled programs lie where a restart of the machine leaves them.
        if not os.path.isdir(os.path.join(cache, "anelane/programs")):
            sys.exit(f"no compiled programs in {cache}/anelane/programs")


main()
