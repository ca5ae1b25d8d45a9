"""The declarations in _abi.py are those of include/anelane.h, as the generator and as a C compiler see it."""
import ctypes
import os
import re
import subprocess
import sys
import unittest

from support import PACKAGE, SOURCE, TempCase

from anelane import _abi, errors

HEADER = os.path.join(SOURCE, "include/anelane.h")
STRUCTS = {name: kind for name, kind in vars(_abi).items()
           if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and name.startswith("anelane_")}


class Abi(TempCase):
    def generated(self, header):
        return subprocess.run([sys.executable, os.path.join(SOURCE, "scripts/make-python-abi"), header], capture_output=True,
                              text=True, timeout=60, check=True).stdout

    def test_the_committed_file_is_what_the_generator_makes(self):
        with open(os.path.join(PACKAGE, "anelane/_abi.py"), encoding="utf-8") as f:
            self.assertEqual(f.read(), self.generated(HEADER), "run scripts/make-python-abi > bindings/python/src/anelane/_abi.py")

    def test_the_generator_sees_a_change(self):
        with open(HEADER, encoding="utf-8") as f:
            text = f.read()
        path = os.path.join(self.temp, "changed.h")
        for old, new in (("uint64_t lane_id;", "uint32_t lane_id;"), ("ANELANE_PENDING = 28", "ANELANE_PENDING = 29"),
                         ("anelane_op_cancel(anelane_op op)", "anelane_op_cancel(anelane_op op, int why)")):
            self.assertIn(old, text)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(old, new))
            self.assertNotEqual(self.generated(path), self.generated(HEADER), new)

    def test_sizes_and_places_are_those_of_the_c_compiler(self):
        lines, expected = [], []
        for name, kind in STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(kind)}")
            for field, *_ in kind._fields_:
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));')
                expected.append(f"{name}.{field} {getattr(kind, field).offset} {getattr(kind, field).size}")
        for name, value in vars(_abi).items():
            if name.startswith("ANELANE_"):
                lines.append(f'printf("{name} %llu\\n", (unsigned long long){name});')
                expected.append(f"{name} {value}")
        source, program = os.path.join(self.temp, "layout.c"), os.path.join(self.temp, "layout")
        with open(source, "w", encoding="utf-8") as f:
            f.write("#include <anelane.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        subprocess.run([os.environ.get("CC", "cc"), "-I" + os.path.dirname(HEADER), source, "-o", program], timeout=60, check=True)
        run = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(run.stdout.splitlines(), expected)
        self.assertGreater(len(expected), 150)

    def test_nothing_of_the_header_is_missing(self):
        with open(os.path.join(SOURCE, "tests/abi/exports.txt"), encoding="utf-8") as f:
            exports = re.findall(r"^anelane_\w+", f.read(), re.M)
        self.assertEqual(sorted(exports), sorted(_abi.FUNCTIONS))
        with open(HEADER, encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(sorted(set(re.findall(r"^typedef struct (anelane_\w+) \{", text, re.M))), sorted(STRUCTS))
        constants = set(re.findall(r"^#define (ANELANE_\w+) (?:\d|UINT64_MAX)", text, re.M))
        constants |= set(re.findall(r"\b(ANELANE_\w+) = \d", text))
        self.assertEqual({name for name in vars(_abi) if name.startswith("ANELANE_")}, constants)
        codes = re.search(r"enum \{\n  ANELANE_OK = 0.*?\}", text, re.S).group()
        names = set(re.findall(r"^  ANELANE_(\w+) =", codes, re.M)) - {"OK"}
        self.assertEqual({kind.name for kind in errors.BY_CODE.values()}, names)


if __name__ == "__main__":
    unittest.main()
