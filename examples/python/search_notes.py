#!/usr/bin/env python3
"""Embeds a folder of notes and finds those that mean what you ask for.

    search_notes.py MODEL_DIR NOTES_DIR [QUESTION …] [--store FILE] [--rebuild] [--top N]

Reads *.txt and *.md below NOTES_DIR, cut into pieces that fit the model, and keeps their vectors in a SQLite file (default:
NOTES_DIR/.notes.sqlite). The next run embeds only what is new or changed. Vectors of different spaces (another model, another
engine) cannot be compared: a store of another space is refused, and --rebuild makes it anew.
"""
import argparse
import hashlib
import os
import sqlite3
import sys

import anelane
import numpy as np

FILES = (".txt", ".md")
SCHEMA = """
CREATE TABLE IF NOT EXISTS space (vector_space TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS notes (path TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pieces (path TEXT NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL,
                                   PRIMARY KEY (path, place));
"""


class WrongSpace(Exception):
    """The store holds vectors of another space."""


class Store:
    """Notes, their pieces and the pieces' vectors, all of one vector space."""

    def __init__(self, file, vector_space):
        self.db = sqlite3.connect(file)
        self.db.executescript(SCHEMA)
        row = self.db.execute("SELECT vector_space FROM space").fetchone()
        if row is None:
            self.db.execute("INSERT INTO space VALUES (?)", (vector_space,))
            self.db.commit()
        elif row[0] != vector_space:
            raise WrongSpace(f"{file} holds vectors of the space {row[0]}, the model makes those of {vector_space}: "
                             "they cannot be compared. Run with --rebuild to embed everything anew")

    def digests(self):
        return dict(self.db.execute("SELECT path, digest FROM notes"))

    def replace(self, path, digest, pieces, vectors):
        """All of a note or nothing of it."""
        with self.db:
            self._delete(path)
            self.db.execute("INSERT INTO notes VALUES (?, ?)", (path, digest))
            self.db.executemany("INSERT INTO pieces VALUES (?, ?, ?, ?)",
                                [(path, i, text, vector.tobytes()) for i, (text, vector) in enumerate(zip(pieces, vectors))])

    def remove(self, path):
        with self.db:
            self._delete(path)

    def _delete(self, path):
        self.db.execute("DELETE FROM notes WHERE path = ?", (path,))
        self.db.execute("DELETE FROM pieces WHERE path = ?", (path,))

    def nearest(self, vector, top):
        """(cosine, path, text), the nearest first."""
        rows = self.db.execute("SELECT path, text, vector FROM pieces ORDER BY path, place").fetchall()
        if not rows:
            return []
        matrix = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
        cosines = matrix @ vector
        return [(float(cosines[i]), rows[i][0], rows[i][1]) for i in np.argsort(-cosines, kind="stable")[:top]]


def pieces_of(text, tokenizer, ceiling):
    """Paragraphs, joined while they fit the model; a paragraph that does not fit is cut between words."""
    def fits(words):
        return tokenizer.count(words) <= ceiling

    piece = ""
    for paragraph in filter(None, (part.strip() for part in text.replace("\0", " ").split("\n\n"))):
        if fits(f"{piece}\n\n{paragraph}" if piece else paragraph):
            piece = f"{piece}\n\n{paragraph}" if piece else paragraph
            continue
        if piece:
            yield piece
        piece = ""
        words = paragraph.split()
        while words and not fits(" ".join(words)):
            low, high = 0, len(words)  # the longest beginning that fits: at least low words, fewer than high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if fits(" ".join(words[:middle])) else (low, middle)
            if low == 0:  # one word that is too long
                words[:1] = [words[0][: len(words[0]) // 2], words[0][len(words[0]) // 2:]]
                continue
            yield " ".join(words[:low])
            words = words[low:]
        piece = " ".join(words)
    if piece:
        yield piece


def notes_below(folder):
    """(relative path, bytes) of all notes, sorted."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(FILES) and not name.startswith("."):
                path = os.path.join(parent, name)
                with open(path, "rb") as f:
                    yield os.path.relpath(path, folder), f.read()


def update(store, encoder, tokenizer, folder):
    """Brings the store up to date; (embedded, unchanged, removed)."""
    known, seen, embedded = store.digests(), set(), 0
    ceiling = encoder.info.ceiling
    for path, data in notes_below(folder):
        seen.add(path)
        digest = hashlib.sha256(data).hexdigest()
        if known.get(path) == digest:
            continue
        pieces = list(pieces_of(data.decode(errors="replace"), tokenizer, ceiling))
        store.replace(path, digest, pieces, encoder.encode(pieces))
        embedded += 1
    gone = known.keys() - seen
    for path in gone:
        store.remove(path)
    return embedded, len(seen) - embedded, len(gone)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_dir")
    parser.add_argument("notes_dir")
    parser.add_argument("question", nargs="*")
    parser.add_argument("--store")
    parser.add_argument("--rebuild", action="store_true", help="forget the store's vectors first")
    parser.add_argument("--top", type=int, default=3)
    parser.add_argument("--lane-dir", help="a lane of its own in this folder, rather than the user's")
    arguments = parser.parse_args()
    if not os.path.isdir(arguments.notes_dir):
        sys.exit(f"search_notes: there is no folder {arguments.notes_dir}")
    file = arguments.store or os.path.join(arguments.notes_dir, ".notes.sqlite")
    if arguments.rebuild and os.path.exists(file):
        os.remove(file)
    try:
        with anelane.SentenceEncoder(arguments.model_dir, lock_dir=arguments.lane_dir) as encoder, \
                anelane.Tokenizer(arguments.model_dir) as tokenizer:
            store = Store(file, encoder.info.vector_space)
            print("%d notes embedded, %d unchanged, %d removed" % update(store, encoder, tokenizer, arguments.notes_dir))
            for question in arguments.question:
                print(f"\n{question}")
                for cosine, path, text in store.nearest(encoder.encode(question), arguments.top):
                    print(f"  {cosine:.3f}  {path}: {' '.join(text.split())[:70]}")
    except (anelane.Error, WrongSpace, OSError, sqlite3.Error) as error:
        sys.exit(f"search_notes: {error}")


if __name__ == "__main__":
    main()
