"""README.md as a newcomer follows it, in the tree that is built already: what the page names is there, its C compiles with every
warning an error, its lines run as they stand and print what the page shows. (scripts/try-clean does the same from nothing, in all
languages; Rust and Swift are only looked at here, as their own tests build them.)

    readme_test.py SOURCE_DIR BUILD_DIR
"""
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import readme_lines  # pylint: disable=wrong-import-position

SAVED_LINES_MAX = 20  # a program to save is short, or it is no first example
COMPILERS = ("gcc", "clang-14")
BOUND_S = 300
# What the first of Python's lines makes, without the network: the package from its sources, with the library of this build.
PYTHON = """#!/bin/sh
PYTHONPATH="{source}/bindings/python/src" ANELANE_LIBRARY="{build}/libanelane.so" PYTHONDONTWRITEBYTECODE=1 exec "{python}" "$@"
"""


def check_comparison():
    shown = "a question\n  0.512  a note\n"
    for output, same in ((shown, True), ("much before\n" + shown, True), (shown.replace("0.512", "0.511"), True), (shown + "\nmore", False),
                         (shown.replace("0.512", "0.571"), False), (shown.replace("a note", "a text"), False), ("0.512  a note\n", False)):
        if readme_lines.ends_as(output, shown) != same:
            sys.exit(f"readme_lines.ends_as is not {same} for {output!r}")


def named_files(page):
    """Every word of lines and of inline code that could be a path of the project or of its build."""
    code = [block.body for block in readme_lines.blocks(page) if block.language == "sh"]
    code += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL))
    return {word for text in code for word in re.findall(r"(?<![\w./-])(?:[\w.-]+/)+[\w.-]*", text.replace("$PWD/", ""))}


def check_names(page, source, build):
    """How many of them are ours, all of which are there."""
    ours = set(os.listdir(source)) - {"models"}
    known, missing = 0, []
    for name in sorted(named_files(page)):
        top, rest = name.split("/", 1)
        if top == "build":
            path = os.path.join(build, rest)
        elif top in ours:
            path = os.path.join(source, name)
        else:
            continue
        known += 1
        # The quickstart makes its own below build/, when it runs.
        if not os.path.exists(path) and not name.startswith("build/quickstart"):
            missing.append(name)
    if missing or known < 20:
        sys.exit(f"README.md names {missing}, which are not there" if missing else f"only {known} names found in README.md")
    return known


def compile_strictly(step, source, temp):
    if len([line for line in step.body.splitlines() if line.strip()]) > SAVED_LINES_MAX:
        sys.exit(f"{step.save_as} has grown beyond {SAVED_LINES_MAX} lines")
    for compiler in filter(shutil.which, COMPILERS):
        subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", step.save_as, "-o", os.devnull,
                        "-I", os.path.join(source, "include")], cwd=temp, check=True)


class Checkout:
    """A folder that looks like the checkout after the quickstart, in which lines may leave files."""

    def __init__(self, source, build, temp):
        self.source, self.temp = source, temp
        model = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(source, "models/all-MiniLM-L6-v2")
        os.makedirs(os.path.join(temp, "models"))
        os.makedirs(os.path.join(temp, "venv/bin"))
        for name, target in (("models/all-MiniLM-L6-v2", model), ("build", build), ("include", os.path.join(source, "include"))):
            os.symlink(target, os.path.join(temp, name))
        shutil.copytree(os.path.join(source, "examples"), os.path.join(temp, "examples"), ignore=shutil.ignore_patterns(".notes.sqlite"))
        python = os.path.join(temp, "venv/bin/python")
        with open(python, "w", encoding="utf-8") as f:
            f.write(PYTHON.format(source=source, build=build, python=sys.executable))
        os.chmod(python, os.stat(python).st_mode | stat.S_IXUSR)
        # A home of its own: the lines use the defaults, and nobody's lane must be disturbed.
        self.environment = {**os.environ, "HOME": temp, "XDG_CACHE_HOME": os.path.join(temp, "cache")}

    def follow(self, language, steps):
        for step in steps:
            if step.save_as:
                with open(os.path.join(self.temp, step.save_as), "w", encoding="utf-8") as f:
                    f.write(step.body)
                compile_strictly(step, self.source, self.temp)
            else:
                self.run(language, step)

    def run(self, language, step):
        lines = step.body
        if language == "python":
            wheel, lines = lines.split("\n", 1)
            if not wheel.startswith("python3 -m venv venv && venv/bin/pip install "):
                sys.exit(f"README.md: the first line for Python is {wheel!r}, and this test stands in for another one")
        run = subprocess.run(["bash", "-ec", lines], cwd=self.temp, capture_output=True, text=True, check=False, timeout=BOUND_S,
                             env=self.environment, stdin=subprocess.DEVNULL)
        if run.returncode != 0 or not readme_lines.ends_as(run.stdout, step.printed):
            sys.exit(f"{lines}exit code {run.returncode}\nprinted:\n{run.stdout}\nREADME.md says:\n{step.printed}\nstderr:\n{run.stderr}")


def main():
    source, build = (os.path.abspath(path) for path in sys.argv[1:])
    with open(os.path.join(source, "README.md"), encoding="utf-8") as f:
        page = f.read()
    check_comparison()
    known = check_names(page, source, build)
    readme_lines.quickstart(page)
    steps = {language: readme_lines.steps(page, language) for language in readme_lines.LANGUAGES}
    for language in ("c", "cpp", "python"):
        with tempfile.TemporaryDirectory() as temp:
            Checkout(source, build, temp).follow(language, steps[language])
    print(f"{known} files named; {len(steps)} languages lead to a result")


main()
