#!/usr/bin/env python3
"""Every function of the C interface is offered by every binding, or left out for a reason that is written down.

    coverage_test.py SOURCE_DIR

The functions are those of tests/abi/exports.txt. One is offered by a binding when the binding's own sources call it: not what a
generator declared from the header, not a comment. What a binding does without stands in tests/bindings/coverage.txt.
"""
import ast
import pathlib
import re
import sys

TABLE = "tests/bindings/coverage.txt"
C_COMMENTS = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.S)


def without_comments(text):
    """Of C++, Rust and Swift. Strings are kept: "//" may stand in one."""
    return C_COMMENTS.sub(lambda found: found.group(1) or " ", text)


def used_by_pattern(pattern):
    return lambda text: {"anelane_" + name for name in re.findall(pattern, without_comments(text))}


def used_in_python(text):
    """Attributes of the loaded library, whatever the package calls it: `c.embed`, `library().embed`, `self._library.bare.embed`."""
    def attributes(tree, holders):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                base = node.value.func if isinstance(node.value, ast.Call) else node.value
                if getattr(base, "id", getattr(base, "attr", None)) in holders:
                    yield "anelane_" + node.attr

    module = ast.parse(text)
    used = set(attributes(module, ("c", "library", "_library", "_loaded", "bare")))
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name == "Library":
            used |= set(attributes(node, ("self",)))
    return used


# Where a binding's own sources are, and what they call.
BINDINGS = {
    "cpp": ("include", "anelane.hpp", (), used_by_pattern(r"\banelane_(\w+)\(")),
    "python": ("bindings/python/src", "*.py", ("_abi.py",), used_in_python),
    "rust": ("bindings/rust/anelane/src", "*.rs", (), used_by_pattern(r"\bsys::anelane_(\w+)")),
    "swift": ("bindings/swift/Sources/Anelane", "*.swift", (), used_by_pattern(r"\bpointee\.(\w+)")),
}


def read_table(text):
    """[(binding, function, reason)] of "BINDING FUNCTION REASON" lines."""
    lines = [line.split(None, 2) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(words + ["", ""])[:2] + [words[2] if len(words) > 2 else ""] for words in lines]


def wrong(exported, used, table):
    """What is wrong, each with what to do. `used`: {binding: functions that it calls}."""
    found, listed = [], set()
    for binding, function, reason in table:
        line = f"{TABLE}: {binding} {function}"
        if binding not in used:
            found.append(f"{line}: there is no such binding, only {', '.join(used)}: correct the line")
        elif function not in exported:
            found.append(f"{line}: the library exports no such function: correct or remove the line")
        elif (binding, function) in listed:
            found.append(f"{line}: it is listed twice: remove one line")
        elif function in used[binding]:
            found.append(f"{line}: the binding does call it: remove the line")
        elif not reason:
            found.append(f"{line}: no reason is given: say on the line what a caller uses instead")
        listed.add((binding, function))
    for binding, functions in used.items():
        for function in sorted(exported - functions):
            if (binding, function) not in listed:
                found.append(f"{binding}: nothing calls {function}: offer it in {BINDINGS[binding][0]}, "
                             f"or add \"{binding} {function} WHY\" to {TABLE}")
    return found


def check_the_check():
    """Each kind of mistake is noticed, and what only looks like a use is none."""
    cases = {
        "": [("rust", "anelane_b", "futures")],
        "nothing calls anelane_b": [],
        "no such binding": [("rust", "anelane_b", "futures"), ("perl", "anelane_b", "x")],
        "exports no such function": [("rust", "anelane_b", "futures"), ("rust", "anelane_c", "x")],
        "listed twice": [("rust", "anelane_b", "futures"), ("rust", "anelane_b", "futures")],
        "does call it": [("rust", "anelane_b", "futures"), ("rust", "anelane_a", "x")],
        "no reason": [("rust", "anelane_b", "")],
    }
    for expected, table in cases.items():
        said = wrong({"anelane_a", "anelane_b"}, {"rust": {"anelane_a"}}, table)
        assert (len(said) == 1 and expected in said[0]) if expected else not said, (expected, said)
    uses = {
        "cpp": ("anelane_a(1); // anelane_b(\n/* anelane_c( */ x = \"//\"; anelane_d(2);", "ad"),
        "python": ('"""c.b"""\nc.a()  # c.c\nlibrary().d()\nself._library.e()\nx.bare.j()\nself.f()\nmodel.g()\n'
                   "class Library:\n  def h(self):\n    self.i()", "adeij"),
        "rust": ("/// As `sys::anelane_b`.\nunsafe { sys::anelane_a(x) }; anelane_c()", "a"),
        "swift": ("// c.pointee.b\nlibrary.c.pointee.a(x); c.c(x)", "a"),
    }
    for binding, (text, letters) in uses.items():
        assert BINDINGS[binding][3](text) == {"anelane_" + letter for letter in letters}, binding


def main():
    root = pathlib.Path(sys.argv[1])
    check_the_check()
    exported = set((root / "tests/abi/exports.txt").read_text(encoding="utf-8").split())
    used = {}
    for binding, (folder, files, generated, uses) in BINDINGS.items():
        sources = [path for path in sorted((root / folder).rglob(files)) if path.name not in generated]
        assert sources, f"{binding}: there is no {files} in {folder}"
        used[binding] = set().union(*(uses(path.read_text(encoding="utf-8")) for path in sources)) & exported
    table = read_table((root / TABLE).read_text(encoding="utf-8"))
    if said := wrong(exported, used, table):
        sys.exit("\n".join(said))
    offered = ", ".join(f"{binding} {len(functions)}" for binding, functions in used.items())
    print(f"of {len(exported)} functions are called: {offered}; {len(table)} are left out for a reason")


main()
