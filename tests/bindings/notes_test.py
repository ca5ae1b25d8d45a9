"""The example search_notes in every language, on one folder: the same words and figures from all of them, and the right ones.

    notes_test.py SOURCE_DIR BUILD_DIR NAME=PROGRAM …

The folder has what folders of notes have: empty files, CRLF, byte order marks, files and names that are not UTF-8, links, notes longer
than the model takes, odd names. What the pieces are is written down here, so that all programs cannot be wrong together.
"""
import os
import re
import subprocess
import sys
import tempfile

BOUND_S = 600
SHOWN = 70  # characters of a hit
BIKE = "He repaired his bicycle with a borrowed wrench."
NOTES = {
    " two  spaces.txt": "leading",
    "%s\\n 'quoted\".md": "percent",
    "-dash.txt": "minus",
    "a/b.txt": "the same words",  # as near as a.txt, and behind it
    "a.txt": "the same words",
    "bike.txt": BIKE,
    "blank.md": " \r\n\t\r\n \0",
    "bom.md": b"\xef\xbb\xbfmarked",
    "crlf.md": "# Garden\r\n\r\nThe tomatoes need water   twice a day.\r\n\t\r\nPrune the roses\r\nin March, and not later.\r\n",
    "deep/er/and/deeper.txt": "at the bottom",
    "empty.txt": "",
    "folder.md/inside.txt": "in a folder",
    "long.txt": "Short beginning.\r\n\r\n" + "tax " * 600 + "\n\n\nA second paragraph.",
    "new\nline.txt": "broken name",
    "nul.txt": "zero\0byte \x1b[1m escape",
    "two.txt": "one " * 300 + "\n  \n" + "two " * 300,
    "umlaut-ä-✓.md": "Grüße\u00a0aus München\u2028" + "ü" * SHOWN,
    "wide.txt": "日" * 1200,
    # These are no notes:
    ".hidden.txt": BIKE, ".hidden/bike.txt": BIKE, "bike.dat": BIKE, "txt": BIKE, "bike.txt.bak": BIKE,
    # These are left out:
    "bad/latin.txt": b"M\xfcller", "bad/surrogate.md": b"\xed\xa0\x80", "bad/cut.md": b"gr\xc3", "bad/over.md": b"\xc0\xaf",
}
FEW = ("a.txt", "a/b.txt", "bike.txt", "crlf.md")  # enough for what is not about notes, and quick
LEFT_OUT = ["bad/cut.md", "bad/latin.txt", "bad/memory.txt", "bad/over.md", "bad/surrogate.md"]


def shown(text):
    return text[:SHOWN]


# How the pieces of each note begin. 510 tokens fit a piece, beside the model's two; each word below is one.
PIECES = {
    " two  spaces.txt": ["leading"], "%s\\n 'quoted\".md": ["percent"], "-dash.txt": ["minus"], "a/b.txt": ["the same words"],
    "a.txt": ["the same words"], "bike.txt": [BIKE], "bom.md": ["marked"],
    "crlf.md": [shown("# Garden The tomatoes need water twice a day. Prune the roses in March, and not later.")],
    "deep/er/and/deeper.txt": ["at the bottom"], "folder.md/inside.txt": ["in a folder"], "link.txt": [BIKE],
    "long.txt": ["Short beginning.", shown("tax " * 510), shown("tax " * 90 + "A second paragraph.")],
    "new\nline.txt": ["broken name"], "nul.txt": ["zero byte [1m escape"],
    "two.txt": [shown("one " * 300), shown("two " * 300)],
    "umlaut-ä-✓.md": [shown("Grüße\u00a0aus München\u2028" + "ü" * SHOWN)],
    "wide.txt": [shown("日" * 300), shown("日" * 450), shown("日" * 450)],
}


def fail(message):
    sys.exit("notes_test: " + message)


def write_notes(folder, names):
    for name in names:
        path, text = os.path.join(folder, name), NOTES[name]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())


def write_all_notes(folder):
    write_notes(folder, NOTES)
    with open(os.path.join(os.fsencode(folder), b"bad/name-\xff.txt"), "wb") as f:
        f.write(BIKE.encode())
    for link, end in (("link.txt", "bike.dat"), ("gone.txt", "nowhere"), ("loop", "."), ("loop.txt", "."),
                      ("bad/memory.txt", "/proc/self/mem")):  # a file whose reading fails, for root too
        os.symlink(end, os.path.join(folder, link))
    os.mkfifo(os.path.join(folder, "pipe.txt"))


class Program:
    """One of the languages."""

    def __init__(self, name, path, model, lane):
        self.name, self.model, self.lane = name, model, lane
        self.command = [sys.executable, path] if path.endswith(".py") else [path]
        self.called = "SearchNotes" if os.path.basename(path) == "SearchNotes" else "search_notes"

    def run(self, *words, expect=0, environment=None, lock_dir=None, **more):
        """(stdout, stderr)"""
        done = subprocess.run([*self.command, *words, "--lock-dir", lock_dir or self.lane], capture_output=True, timeout=BOUND_S,
                              check=False, stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}, **more)
        out, err = done.stdout.decode(), done.stderr.decode(errors="replace")
        if done.returncode != expect:
            fail(f"{self.name} {words}: exit code {done.returncode}, not {expect}\n{out}{err}")
        return out, err

    def expect(self, what, condition, *seen):
        if not condition:
            fail("\n".join((f"{self.name}: {what}", *map(str, seen))))

    def check_hits(self, notes):
        """What it prints of the whole folder."""
        words = ("Who fixed the bike?", "the same words")
        out, err = self.run(self.model, notes, *words, "--top", "1000")
        first, _, second = out.partition(f"\n{words[1]}\n")
        first += "\n"
        self.expect("no heading", first.startswith(words[0] + "\n"), out)
        answers = [re.findall(r"(?s)  (-?\d\.\d{3})  ([^:]+): ([^\n]*)\n", part) for part in (first, second)]
        for hits in answers:
            found = {}
            for _, path, text in hits:
                found.setdefault(path, []).append(text)
            self.expect("other pieces", {path: sorted(texts) for path, texts in found.items()} ==
                        {path: sorted(texts) for path, texts in PIECES.items()}, found)
            figures = [float(cosine) for cosine, _, _ in hits]
            self.expect("not the nearest first", figures == sorted(figures, reverse=True), figures)
        self.expect("other hits", [hit[1] for hit in answers[0][:2]] == ["bike.txt", "link.txt"] and
                    answers[1][:2] == [("1.000", "a.txt", "the same words"), ("1.000", "a/b.txt", "the same words")], out)
        named = re.findall(r"(?m)^%s: left out: (.*?): ." % self.called, err)
        named = [path for path in named if "name-" not in path]  # which not all of them can print, or even see
        self.expect("others left out", sorted(named) == [f"{notes}/{path}" for path in LEFT_OUT], err)
        return out

    def check_few(self, notes):
        """Its defaults, a folder with a slash behind it, flags in front, a relative lock folder."""
        out, _ = self.run(self.model, notes + "/", "rose garden")
        self.expect("not three hits", len(out.splitlines()) == 4 and "  crlf.md: # Garden" in out.splitlines()[1], out)
        last, _ = self.run("--top", "1", self.model, notes, "rose garden")
        self.expect("not the first of them", last.splitlines() == out.splitlines()[:2], last)
        above, lane = os.path.split(self.lane)
        relative, _ = self.run(self.model, notes, "rose garden", lock_dir=lane, cwd=above)
        self.expect("another answer with a relative lock folder", relative == out, relative)
        return out

    def check_refusals(self, notes, empty):
        for folder, said in ((empty, "there is no text in *.txt and *.md files below"), ("/no/such/notes", "there is no folder"),
                             (notes + "/bike.txt", "there is no folder")):
            out, err = self.run(self.model, folder, "x", expect=1)
            self.expect("another refusal", out == "" and err.splitlines()[-1] == f"{self.called}: {said} {folder}", err)
        for model, words, said in (("/no/such/model", "x", "/no/such/model"), (self.model, "word " * 600, "512")):
            out, err = self.run(model, notes, words, expect=1)
            self.expect("another refusal", out == "" and err.splitlines()[-1].startswith(self.called + ": ") and said in err, err)
        for wrong in ([], [self.model], [self.model, notes, "x", "--fast"], [self.model, notes, "x", "--top", "0"],
                      [self.model, notes, "x", "--top", "2x"], [self.model, notes, "x", "--top"]):
            out, err = self.run(*wrong, expect=2)
            self.expect("no usage", out == "" and err.startswith("usage: " + self.called), wrong, err)

    def check_retry(self, notes, worker, trigger):
        """A worker that dies once while it embeds costs a second try, and nobody sees it."""
        with open(trigger, "wb"):
            pass
        out, _ = self.run(self.model, notes, "rose garden", environment={
            "ANELANE_WORKER": worker, "ANELANE_WORKER_FAULT": f"embed:die:{trigger}"})
        self.expect("no worker died", not os.path.exists(trigger))
        return out


def main():
    source, build = (os.path.abspath(path) for path in sys.argv[1:3])
    model = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(source, "models/all-MiniLM-L6-v2")
    with tempfile.TemporaryDirectory() as temp:
        notes, few, empty = (os.path.join(temp, name) for name in ("notes", "few", "empty"))
        os.mkdir(empty)
        write_all_notes(notes)
        write_notes(few, FEW)
        with open(os.path.join(empty, "blank.txt"), "wb") as f:
            f.write(b"\n")
        programs = [Program(*word.split("=", 1), model, os.path.join(temp, "lane")) for word in sys.argv[3:]]
        printed = {}
        for program in programs:
            seen = [program.check_hits(notes), program.check_few(few)]
            program.check_refusals(few, empty)
            again = program.check_retry(few, os.path.join(build, "tests/faulty-worker"), os.path.join(temp, "once"))
            program.expect("another answer after a crash", again == seen[1], again)
            printed[program.name] = seen
        first = programs[0]
        for program in programs[1:]:
            for a, b in zip(printed[first.name], printed[program.name]):
                program.expect("another answer than " + first.name, a == b, a, b)
    print(f"{sum(map(len, PIECES.values()))} pieces of {len(PIECES)} notes, the same hits from {', '.join(printed)}")


main()
