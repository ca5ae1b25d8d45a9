"""The same 60 texts through every language: the vectors are the same, bit for bit, and they are right.

    golden_test.py SOURCE_DIR NAME=PROGRAM …

Each program is run as PROGRAM MODEL_DIR TEXTS OUT FOLDER (golden.c says what it does). The first one's vectors are also compared
with those of an independent implementation, tests/data/minilm_golden.jsonl.
"""
import array
import json
import os
import subprocess
import sys
import tempfile

TEXTS = 60
DIM = 384
LEAST_COSINE = 0.9999


def cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b))
    return dot / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


def floats(data):
    numbers = array.array("f", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def right_answers(source):
    answers = {}
    with open(os.path.join(source, "tests/data/minilm_golden.jsonl"), encoding="utf-8") as f:
        for line in f:
            entry = json.loads(line)
            answers[entry["text"]] = floats(bytes.fromhex(entry["vector"]))
    return answers


def difference(name, data, first_name, first):
    """"" when both are the same bits, else where they part."""
    if len(data) != len(first):
        return f"{name} wrote {len(data)} bytes, {first_name} {len(first)}"
    for i in range(0, len(first), 4):
        if data[i:i + 4] != first[i:i + 4]:
            row, column = divmod(i // 4, DIM)
            return f"text {row}, number {column}: {name} {floats(data[i:i + 4])[0]!r}, {first_name} {floats(first[i:i + 4])[0]!r}"
    return ""


def main():
    source, programs = sys.argv[1], [argument.split("=", 1) for argument in sys.argv[2:]]
    model = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(source, "models/all-MiniLM-L6-v2")
    texts_file = os.path.join(source, "tests/bindings/golden_texts.txt")
    with open(texts_file, encoding="utf-8", newline="") as f:
        texts = f.read().split("\n")[:-1]
    assert len(texts) == TEXTS, f"{len(texts)} texts"
    written = {}
    with tempfile.TemporaryDirectory() as temp:
        for name, program in programs:
            out = os.path.join(temp, name + ".f32")
            run = subprocess.run([program, model, texts_file, out, os.path.join(temp, "lane")], capture_output=True, text=True,
                                 check=False, timeout=500)
            if run.returncode != 0 or run.stdout or run.stderr:
                sys.exit(f"{name}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
            with open(out, "rb") as f:
                written[name] = f.read()
    first_name = programs[0][0]
    first = written[first_name]
    assert len(first) == TEXTS * DIM * 4, f"{first_name} wrote {len(first)} bytes"
    answers = right_answers(source)
    worst = min(cosine(floats(first[i * DIM * 4:(i + 1) * DIM * 4]), answers[text]) for i, text in enumerate(texts))
    assert worst >= LEAST_COSINE, f"least cosine {worst}"
    faults = [fault for name, data in written.items() if (fault := difference(name, data, first_name, first))]
    # The comparison sees a single bit.
    spoiled = first[:-4] + bytes([first[-4] ^ 1]) + first[-3:]
    assert difference("spoiled", spoiled, first_name, first), "one changed bit was not noticed"
    if faults:
        sys.exit("\n".join(faults))
    print(f"{TEXTS} vectors of {DIM} numbers, the same bits from {', '.join(written)}; least cosine {worst:.7f}")


main()
