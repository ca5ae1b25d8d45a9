"""anelane mil check and anelane mil run, on the programs of examples/programs/residual. No NumPy needed."""
import array
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

from tool_test import DONE, REFUSED, SOURCE, USAGE, ToolCase

EXAMPLE = os.path.join(SOURCE, "examples/programs/residual")
UP, UP_WEIGHTS = os.path.join(EXAMPLE, "up_64.mil"), os.path.join(EXAMPLE, "up.bin")
ACTIVATE = os.path.join(EXAMPLE, "activate_64.mil")


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def read_npy(path):
    """(descr, shape, values)."""
    with open(path, "rb") as f:
        data = f.read()
    length = struct.unpack("<H", data[8:10])[0]
    assert data[:8] == b"\x93NUMPY\x01\x00" and (10 + length) % 64 == 0
    fields = eval(data[10:10 + length])  # pylint: disable=eval-used
    code = {"<f2": "e", "<f4": "f", "<i4": "i", "|i1": "b", "|u1": "B"}[fields["descr"]]
    values = struct.unpack(f"<{(len(data) - 10 - length) // struct.calcsize(code)}{code}", data[10 + length:])
    return fields["descr"], fields["shape"], list(values)


class MilCase(ToolCase):
    def run_json(self, *arguments):
        code, out, err = self.tool("mil", "run", *arguments, "--json", *self.lane)
        self.assertEqual((code, err), (DONE, ""))
        return json.loads(out)


class MilCheck(MilCase):
    def test_json_of_a_good_program(self):
        code, out, err = self.tool("mil", "check", UP, "--weights", UP_WEIGHTS, "--json")
        self.assertEqual((code, err), (DONE, ""))
        told = json.loads(out)
        self.assertIsNone(told["error"])
        self.assertEqual(told["dialect"], "ios18")
        self.assertEqual(told["functions"], ["main"])
        self.assertEqual(told["inputs"], [{"name": "x", "dtype": "fp16", "dims": [1, 32, 1, 64], "bytes": 4096}])
        self.assertEqual(told["outputs"], [{"name": "h", "dtype": "fp16", "dims": [1, 64, 1, 64], "bytes": 8192}])
        self.assertEqual(told["operations"], {"conv": 1})
        self.assertEqual(told["weight_bytes"], os.path.getsize(UP_WEIGHTS))
        self.assertRegex(told["identifier"], "^[0-9A-F]{64}_[0-9A-F]{64}_[0-9A-F]{64}$")
        self.assertEqual(told["warnings"], [])

    def test_human_output(self):
        code, out, err = self.tool("mil", "check", ACTIVATE)
        self.assertEqual((code, err), (DONE, ""))
        self.assertEqual(out.splitlines(), ["input   h fp16 [1, 64, 1, 64]", "output  g fp16 [1, 64, 1, 64]", "ops     mul 1, relu 1",
                                            "dialect ios18", "weights 0 bytes", "the software engine's compiler takes it"])

    def test_what_the_compiler_refuses_is_told_with_its_place(self):
        code, out, err = self.tool("mil", "check", UP)  # without its weights
        self.assertEqual((code, err), (REFUSED, ""))
        self.assertIn(f"{UP}:10:76: error: InvalidMILProgram: ", out)
        self.assertIn("BLOBFILE without a weight file; name it with --weights", out)
        short = self.write("short.bin", b"no weights")
        code, out, err = self.tool("mil", "check", UP, "--weights", short)
        self.assertEqual((code, err), (REFUSED, ""))
        self.assertRegex(out, re.escape(short) + ": error: ")
        bad = self.write("bad.mil", b"program(1.3) { nonsense }")
        code, out, _ = self.tool("mil", "check", bad, "--json")
        self.assertEqual(code, REFUSED)
        self.assertEqual(list(json.loads(out)), ["error"])
        self.assertIn("line 1, column 16", json.loads(out)["error"])
        with open(ACTIVATE, "rb") as f:
            text = f.read()
        unknown = self.write("unknown.mil", text.replace(b"relu(x", b"swoosh(x"))
        code, out, _ = self.tool("mil", "check", unknown)
        self.assertEqual(code, REFUSED)
        self.assertIn('operation "swoosh" is not supported', out)
        self.assertNotIn("meant?", out)
        for typo, meant in ((b"tahn", "tanh"), (b"reluu", "relu"), (b"sqrtt", "sqrt")):
            path = self.write("typo.mil", text.replace(b"relu(x", typo + b"(x"))
            self.assertIn(f'is "{meant}" meant?', self.tool("mil", "check", path)[1])
        self.assertIn("input   h fp16", out)  # what is known is told all the same

    def test_files_that_are_not_there(self):
        self.assertIn("no-such-file", self.refused(REFUSED, "mil", "check", "/no-such-file"))
        self.assertIn("no-such-blob", self.refused(REFUSED, "mil", "check", UP, "--weights", "/no-such-blob"))
        self.assertEqual(self.tool("mil")[0], USAGE)
        self.assertEqual(self.tool("mil", "check")[0], USAGE)

    def test_every_warning_is_seen_and_sound(self):
        """One program for each rule of docs/programs.md: the compiler takes it (or not, where it says so)."""
        def program(body, inputs="tensor<fp16, [1, 64, 1, 64]> x", outputs="y", head="program(1.3)\n[buildInfo = dict<string, string>({})]\n",
                    opset="ios18"):
            return f"{head}{{\n    func main<{opset}>({inputs}) {{\n{body}    }} -> ({outputs});\n}}\n"
        t = "tensor<fp16, [1, 64, 1, 64]>"
        relu = f"{t} y = relu(x = x);\n"
        ints = "tensor<int32, [4]>([{}])".format
        cases = {
            "build-info": program(relu, head="program(1.3)\n"),
            "opset": program(relu, opset="ios16"),
            "fp32-port": program(f"{t} h = cast(x = x, dtype = string(\"fp16\"));\n{t} y = relu(x = h);\n",
                                 "tensor<fp32, [1, 64, 1, 64]> x"),
            "integer-port": program(relu, f"{t} x, tensor<int32, [1, 64]> i"),
            "padded-rows": program("tensor<fp16, [1, 40]> y = relu(x = x);\n", "tensor<fp16, [1, 40]> x"),
            "narrow": program("tensor<fp16, [1, 32]> y = relu(x = x);\n", "tensor<fp16, [1, 32]> x"),
            "port-order": program(f"{t} y = add(x = x, y = b);\n", f"{t} x, {t} b"),
            "infinite-constant": program(f"fp16 k = const()[val = fp16(-inf)];\n{t} y = add(x = x, y = k);\n"),
            "rsqrt-after-reduce": program(
                "tensor<fp16, [1, 1, 1, 64]> r = reduce_mean(x = x, axes = tensor<int32, [1]>([1]), keep_dims = bool(true));\n"
                "tensor<fp16, [1, 1, 1, 64]> y = rsqrt(x = r, epsilon = fp16(0x1p-10));\n"),
            "same-operands": program(f"{t} y = matmul(x = x, y = x, transpose_x = bool(false), transpose_y = bool(false));\n",
                                     "tensor<fp16, [1, 1, 64, 64]> x").replace(f"{t} y", "tensor<fp16, [1, 1, 64, 64]> y"),
            "reshape-before-matmul": program(
                f"tensor<fp16, [1, 1, 64, 64]> r = reshape(x = x, shape = {ints('1, 1, 64, 64')});\n"
                "tensor<fp16, [1, 1, 64, 64]> y = matmul(x = r, y = z, transpose_x = bool(false), transpose_y = bool(false));\n",
                f"{t} x, tensor<fp16, [1, 1, 64, 64]> z"),
            "slice-of-input": program(
                f"{t} y = slice_by_index(x = x, begin = {ints('0, 0, 0, 0')}, end = {ints('1, 64, 1, 64')});\n"),
            "column-slice": program(
                f"tensor<fp16, [1, 64, 1, 32]> y = slice_by_size(x = x, begin = {ints('0, 0, 0, 32')}, size = {ints('1, 64, 1, 32')});\n"),
            "wide-concat": program(
                "tensor<fp16, [1, 768, 1, 64]> y = concat(values = (" + ", ".join(["x"] * 12) +
                "), axis = int32(1), interleave = bool(false));\n"),
            "functions": program(relu).replace("    } -> (y);\n", "    } -> (y);\n    func other<ios18>(" + f"{t} x) {{\n{relu}    }} -> (y);\n"),
            "linear": program(
                "tensor<fp16, [64, 64]> w = const()[val = tensor<fp16, [64, 64]>([" + ", ".join(["0"] * 4096) + "])];\n"
                f"{t} y = linear(x = x, weight = w);\n"),
        }
        not_here = {  # what the software engine does not have
            "matmul-rank": program("tensor<fp16, [1, 1, 1, 64, 64]> y = matmul(x = x, y = b, transpose_x = bool(false), "
                                   "transpose_y = bool(false));\n",
                                   "tensor<fp16, [1, 1, 1, 64, 64]> x, tensor<fp16, [1, 1, 1, 64, 64]> b"),
            "conv-weight": program(f"{t} y = conv(x = x, weight = w);\n", f"tensor<fp16, [64, 64, 1, 1]> w, {t} x"),
            "tile": program(f"{t} y = tile(x = x, reps = {ints('1, 1, 1, 1')});\n"),
            "attention": program(f"{t} y = scaled_dot_product_attention(query = x, key = x, value = x);\n"),
            "gelu-mode": program(f"{t} y = gelu(x = x);\n"),
        }
        for refused, group in ((False, cases), (True, not_here)):
            for rule, text in group.items():
                path = self.write(rule + ".mil", text.encode())
                code, out, _ = self.tool("mil", "check", path, "--json")
                told = json.loads(out)
                seen = {warning["rule"]: warning for warning in told["warnings"]}
                self.assertIn(rule, seen, f"{rule}: {told}")
                self.assertGreaterEqual(seen[rule]["line"], 1)
                if rule != "integer-port":
                    self.assertEqual(code, REFUSED if refused else DONE, f"{rule}: {told['error']}")
        with open(os.path.join(SOURCE, "docs/programs.md"), encoding="utf-8") as f:
            documented = set(re.findall(r"^\| `([a-z0-9-]+)` \|", f.read().split("## Warnings of")[1], re.MULTILINE))
        self.assertEqual(documented, set(cases) | set(not_here))


class MilRun(MilCase):
    def test_outputs_are_written_and_printed(self):
        path = os.path.join(self.temp, "g.npy")
        values = [(-1) ** i * (i % 17) / 4 for i in range(64 * 64)]
        source = self.write("h.npy", npy("<f4", (1, 64, 1, 64), array.array("f", values).tobytes()))
        code, out, err = self.tool("mil", "run", ACTIVATE, "--input", f"h={source}", "--output", f"g={path}", *self.lane)
        self.assertEqual((code, err), (DONE, ""))
        lines = out.splitlines()
        self.assertEqual(lines[0], "g fp16 [1, 64, 1, 64]: 0 0 0.25 0 0.5 0 0.75 0 …")
        self.assertRegex(lines[1], r"^on the (soft|apple) engine: ready after [0-9.]+ ms, run in [0-9.]+ ms$")
        self.assertEqual(read_npy(path), ("<f2", (1, 64, 1, 64), [max(v, 0) / 2 for v in values]))

    def test_a_chain_of_files_gives_the_bits_of_the_model(self):
        """up, activate and down by hand through files, in both modes of a worker."""
        previous = None
        for mode in ("process", "thread"):
            files = {name: os.path.join(self.temp, f"{mode}-{name}.npy") for name in ("h", "g", "y", "total")}
            x = "random:7"
            lane = ["--worker-mode", mode]
            self.run_json(UP, "--weights", UP_WEIGHTS, "--input", f"x={x}", "--output", "h=" + files["h"], *lane)
            self.run_json(ACTIVATE, "--input", "h=" + files["h"], "--output", "g=" + files["g"], *lane)
            told = self.run_json(os.path.join(EXAMPLE, "down_64.mil"), "--weights", os.path.join(EXAMPLE, "down.bin"), "--input",
                                 f"x={x}", "--input", "skip=" + files["h"], "--input", "hidden=" + files["g"], "--output",
                                 "y=" + files["y"], "--output", "total=" + files["total"], "--repeat", "3", *lane)
            self.assertEqual(list(told), ["engine", "admit_ms", "run_ms", "repeat", "outputs"])
            self.assertEqual(told["repeat"], 3)
            self.assertEqual([output["name"] for output in told["outputs"]], ["total", "y"])
            y, total = read_npy(files["y"])[2], read_npy(files["total"])[2]
            # The text has as many digits as a float needs.
            self.assertEqual([struct.unpack("<f", struct.pack("<f", value))[0] for value in told["outputs"][1]["first"]], y[:8])
            for column in range(64):
                self.assertAlmostEqual(sum(y[c * 64 + column] for c in range(32)), total[column], delta=0.05)
            self.assertIn(previous, (None, y))
            previous = y

    def test_random_is_the_same_for_the_same_seed_and_zeros_are_zeros(self):
        first = self.run_json(ACTIVATE, "--input", "h=random:1")["outputs"]
        self.assertEqual(first, self.run_json(ACTIVATE, "--input", "h=random:1")["outputs"])
        self.assertNotEqual(first, self.run_json(ACTIVATE, "--input", "h=random:2")["outputs"])
        self.assertEqual(self.run_json(ACTIVATE, "--input", "h=zeros")["outputs"][0]["first"], [0] * 8)

    def test_rows_that_are_padded_come_out_dense(self):
        text = b"""program(1.3)
{
    func main<ios18>(tensor<fp16, [2, 3, 20]> a, tensor<fp32, [20]> b) {
        tensor<fp16, [20]> t = cast(x = b, dtype = string("fp16"));
        tensor<fp16, [2, 3, 20]> s = add(x = a, y = t);
        tensor<fp32, [2, 3, 20]> y = cast(x = s, dtype = string("fp32"));
    } -> (y);
}
"""
        mil = self.write("rows.mil", text)
        a = self.write("a.npy", npy("<f2", (2, 3, 20), struct.pack("<120e", *range(120))))
        b = self.write("b.npy", npy("<f8", (20,), struct.pack("<20d", *(i / 2 for i in range(20)))))
        out = os.path.join(self.temp, "y.npy")
        self.run_json(mil, "--input", f"a={a}", "--input", f"b={b}", "--output", f"y={out}")
        self.assertEqual(read_npy(out), ("<f4", (2, 3, 20), [i + (i % 20) / 2 for i in range(120)]))

    def test_wrong_command_lines_are_refused_before_anything_runs(self):
        good = npy("<f2", (1, 64, 1, 64), bytes(8192))
        cases = [
            ([], "--input h=… is missing: the program takes h"),
            (["--input", "h=zeros", "--input", "q=zeros"], "no input q"),
            (["--input", "q=zeros"], "no input q: it takes h"),
            (["--input", "h=zeros", "--input", "h=zeros"], "given twice"),
            (["--input", "h"], "expected NAME=FILE.npy"),
            (["--input", "h=random:"], "wants a whole number"),
            (["--input", "h=random:x"], "wants a whole number"),
            (["--input", "h=/no/such/file.npy"], "/no/such/file.npy: cannot open"),
            (["--input", "h=zeros", "--output", "z=/dev/null"], "no output z: it gives g"),
            (["--input", "h=" + self.write("none.npy", b"hello there, no npy")], "this is no .npy file"),
            (["--input", "h=" + self.write("cut.npy", good[:-1])], "8191 bytes of data"),
            (["--input", "h=" + self.write("long.npy", good + b"x")], "8193 bytes of data"),
            (["--input", "h=" + self.write("head.npy", good[:50])], "the header is cut"),
            (["--input", "h=" + self.write("type.npy", npy("<c8", (1,), bytes(8)))], "its type is '<c8'; '<f2'"),
            (["--input", "h=" + self.write("type2.npy", npy("<c8\033[2J", (1,), bytes(8)))], r"its type is '<c8\x1b[2J'; '<f2'"),
            (["--input", "h=" + self.write("blank.npy", npy("<f2", "(1, 6 4, 1, 6 4)", bytes(8192)))], "its shape cannot be read"),
            (["--input", "h=" + self.write("comma.npy", npy("<f2", "(1, 64,, 1, 64)", bytes(8192)))], "its shape cannot be read"),
            (["--input", "h=" + self.write("number.npy", npy("<f2", "(4096)", bytes(8192)))], "its shape cannot be read"),
            (["--input", "h=" + self.write("open.npy", npy("<f2", "(1, 64", bytes(8192)))], "its shape cannot be read"),
            (["--input", "h=" + self.write("fortran.npy", good.replace(b"False", b"True "))], "Fortran order"),
            (["--input", "h=" + self.write("huge.npy", npy("<f2", (2**40, 2**40), b""))], "too large"),
            (["--input", "h=" + self.write("shape.npy", npy("<f2", (64, 64), bytes(8192)))], "the file has [64, 64]"),
            (["--input", "h=" + self.write("int.npy", npy("<i4", (1, 64, 1, 64), bytes(16384)))], "the file has int32"),
            (["--input", "h=zeros", "--repeat", "0"], "repeat"),
        ]
        for arguments, says in cases:
            unreadable = re.search(r"cannot open|no \.npy file|bytes of data|header is cut|its type|its shape|Fortran|too large", says)
            err = self.refused(REFUSED if unreadable else USAGE, "mil", "run", ACTIVATE, *arguments, *self.lane)
            self.assertIn(says, err)

    def test_only_regular_files_of_bounded_size_are_read(self):
        """Nothing waits, nothing eats memory, and every message names the file."""
        fifo, sparse = os.path.join(self.temp, "fifo"), self.write("sparse", b"")
        os.mkfifo(fifo)
        os.truncate(sparse, 1 << 40)
        sparse_npy = self.write("sparse.npy", npy("<f2", (1, 64, 1, 64), b""))
        os.truncate(sparse_npy, 1 << 40)
        for path, says in ((fifo, "no regular file"), ("/dev/zero", "no regular file"), (self.temp, "Is a directory"),
                           (sparse, "bytes|no .npy file"), ("/no/such", "No such file")):
            for arguments in ([path, "--input", "h=zeros"], [ACTIVATE, "--weights", path, "--input", "h=zeros"],
                              [ACTIVATE, "--input", "h=" + path]):
                with self.subTest(path=path, arguments=arguments):
                    err = self.refused(REFUSED, "mil", "run", *arguments, *self.lane)
                    self.assertRegex(err, re.escape(path) + ".*(" + says + ")")
        self.assertIn(f"{sparse_npy}: it has {(1 << 40) - 128} bytes of data",
                      self.refused(REFUSED, "mil", "run", ACTIVATE, "--input", "h=" + sparse_npy, *self.lane))
        for arguments in (["run", ""], ["run", ACTIVATE, "--weights", "", "--input", "h=zeros"], ["check", ""],
                          ["check", ACTIVATE, "--weights", ""]):
            self.assertIn("names no file", self.refused(USAGE, "mil", *arguments))

    def test_values_that_are_no_numbers(self):
        values = [float("inf"), float("-inf"), 4.0] + [0.0] * (64 * 64 - 4) + [float("inf")]
        with open(ACTIVATE, encoding="ascii") as f:
            text = f.read()
        same = self.write("same.mil", re.sub(r"relu\(x = ([a-z]+)\)", r"add(x = \1, y = \1)", text).encode())
        source = self.write("odd.npy", npy("<f4", (1, 64, 1, 64), array.array("f", values).tobytes()))
        code, out, err = self.tool("mil", "run", same, "--input", f"h={source}", *self.lane)
        self.assertEqual((code, err), (DONE, ""))
        self.assertEqual(out.splitlines()[0], "g fp16 [1, 64, 1, 64]: inf -inf 4 0 0 0 0 0 …")
        told = self.run_json(same, "--input", f"h={source}")["outputs"][0]
        self.assertEqual(told["first"], [None, None, 4, 0, 0, 0, 0, 0])
        self.assertEqual((told["nan"], told["infinite"]), (0, 3))

    def test_programs_that_cannot_run(self):
        self.assertIn("cannot read /no.mil", self.refused(REFUSED, "mil", "run", "/no.mil", *self.lane))
        err = self.refused(REFUSED, "mil", "run", UP, "--input", "x=zeros", *self.lane)
        self.assertIn("BLOBFILE without a weight file", err)
        self.assertIn(UP, err)
        self.assertNotIn("rung_1_layer_0", err)
        err = self.refused(REFUSED, "mil", "run", ACTIVATE, "--input", "h=zeros", "--output", "g=/no/such/folder/g.npy", *self.lane)
        self.assertIn("cannot write /no/such/folder/g.npy", err)


class Example(ToolCase):
    def test_the_committed_files_are_what_make_py_writes(self):
        folder = self.make("residual")
        subprocess.run([sys.executable, os.path.join(EXAMPLE, "make.py"), folder], check=True)
        for name in sorted(set(os.listdir(EXAMPLE)) - {"make.py", "__pycache__"}):
            with open(os.path.join(EXAMPLE, name), "rb") as a, open(os.path.join(folder, name), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)

    def test_describe_says_what_it_is(self):
        code, out, err = self.tool("describe", "--model", EXAMPLE, "--json")
        self.assertEqual((code, err), (DONE, ""))
        told = json.loads(out)
        self.assertEqual((told["kind"], told["layers"], told["rungs"]), ("program", 3, [64, 128]))
        code, out, err = self.tool("describe", "--model", EXAMPLE)
        self.assertEqual((code, err), (DONE, ""))
        self.assertEqual([line.split()[0] for line in out.splitlines()],
                         ["model", "kind", "architecture", "layers", "shapes", "host"])  # and nothing of texts
        # A name in program.json is the model's, wherever its folder lies and whoever says it.
        moved = os.path.join(self.temp, "moved")
        shutil.copytree(EXAMPLE, moved)
        self.assertEqual(json.loads(self.tool("describe", "--model", moved, "--json")[1])["model"], "residual")
        with open(os.path.join(moved, "program.json"), encoding="utf-8") as f:
            manifest = json.load(f)
        del manifest["name"]
        self.write("moved/program.json", json.dumps(manifest).encode())
        self.assertEqual(json.loads(self.tool("describe", "--model", moved, "--json")[1])["model"], "moved")
        err = self.refused(REFUSED, "embed", "--model", EXAMPLE, "--text", "x", *self.lane)
        self.assertIn("is made of programs and gives no vectors", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
