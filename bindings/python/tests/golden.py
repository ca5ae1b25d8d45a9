#!/usr/bin/env python3
"""The golden vectors through the Python binding; tests/bindings/golden.c says what a program like this one does.

    golden.py MODEL_DIR TEXTS OUT FOLDER        (ANELANE_LIBRARY names the library)
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src"))

import anelane


def main():
    model_dir, texts_file, out, folder = sys.argv[1:]
    with open(texts_file, encoding="utf-8", newline="") as f:
        texts = f.read().split("\n")[:-1]
    with anelane.Lane(engine="soft", lock_dir=folder) as lane, lane.load(model_dir) as model:
        rows = model.embed_rows(texts, timeout=240)
    with open(out, "wb") as f:
        for row in rows:
            if sys.byteorder == "big":
                row.byteswap()
            f.write(row.tobytes())


main()
