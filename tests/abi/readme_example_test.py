"""The C example of README.md is what a newcomer copies: it compiles as it stands, with every warning an error, and what it
prints against the real model is what README.md says that it prints.

    readme_example_test.py SOURCE_DIR BUILD_DIR
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LINES_MAX = 20  # the example is short, or it is no first example


def block(text, language, after):
    """The first fenced block of this language behind a text."""
    match = re.compile(rf"```{language}\n(.*?)```", re.DOTALL).search(text, text.index(after))
    if match is None:
        sys.exit(f"README.md has no ```{language} block behind {after!r}")
    return match.group(1)


def main():
    source, build = sys.argv[1:]
    model = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(source, "models/all-MiniLM-L6-v2")
    with open(os.path.join(source, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    code = block(readme, "c", "From C")
    printed = block(readme, "text", code)
    if len([line for line in code.splitlines() if line.strip()]) > LINES_MAX:
        sys.exit(f"the example has grown beyond {LINES_MAX} lines")
    with tempfile.TemporaryDirectory() as temp:
        with open(os.path.join(temp, "example.c"), "w", encoding="utf-8") as f:
            f.write(code)
        # The path in the example is relative to the project's folder.
        os.makedirs(os.path.join(temp, "models"))
        os.symlink(model, os.path.join(temp, "models/all-MiniLM-L6-v2"))
        for compiler in ("gcc", "clang-14"):
            if shutil.which(compiler) is None:
                continue
            subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "example.c", "-o", compiler + ".out",
                            "-I", os.path.join(source, "include"), "-L", build, "-lanelane", f"-Wl,-rpath,{build}"], cwd=temp, check=True)
        # A home of its own: the example uses the defaults, and nobody's lane must be disturbed.
        run = subprocess.run(["./gcc.out"], cwd=temp, capture_output=True, text=True, check=False, timeout=300,
                             env={**os.environ, "HOME": temp, "XDG_CACHE_HOME": os.path.join(temp, "cache")})
    if run.returncode != 0 or run.stdout != printed:
        sys.exit(f"exit code {run.returncode}\nprinted:\n{run.stdout}\nREADME.md says:\n{printed}\nstderr:\n{run.stderr}")


main()
