#!/usr/bin/env python3
"""Embeds a folder of notes and finds those that mean what you ask for.

    search_notes.py MODEL_FOLDER NOTES_FOLDER [QUESTION …] [--top N] [--lock-dir FOLDER] [--store FILE] [--rebuild]

Reads *.txt and *.md below NOTES_FOLDER, in pieces that fit the model, cut between paragraphs where it can and between words where
it must. Files that cannot be read, or are not UTF-8, are named and left out. --lock-dir is a lane of its own in that folder, rather
than the user's.

The vectors are kept in a SQLite file (default: NOTES_FOLDER/.notes.sqlite), and the next run embeds only what is new or changed.
Vectors of different spaces (another model, another engine) cannot be compared: a store of another space is refused, and --rebuild
makes it anew.
"""
import argparse
import hashlib
import os
import re
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

    def is_empty(self):
        return self.db.execute("SELECT 1 FROM pieces LIMIT 1").fetchone() is None

    def nearest(self, vector, top):
        """(cosine, path, text), the nearest first. There are some."""
        rows = self.db.execute("SELECT path, text, vector FROM pieces ORDER BY path, place").fetchall()
        matrix = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1).astype(np.float64)
        vector = vector.astype(np.float64)
        # Each row summed by itself: equal pieces are equally near, which @ does not promise.
        cosines = (matrix * vector).sum(axis=1) / np.sqrt((matrix * matrix).sum(axis=1) * (vector * vector).sum())
        return [(float(cosines[i]), rows[i][0], rows[i][1]) for i in np.argsort(-cosines, kind="stable")[:top]]


def pieces_of(text, tokenizer, ceiling):
    """Pieces that fit the model. Words are what lies between spaces and control characters; a paragraph ends at a line without
    words."""
    special = tokenizer.count("")
    room = ceiling - special
    before, within = [], []  # the words of the piece before its last paragraph, and of that
    used, recent = 0, 0  # their tokens
    end = 0
    for match in re.finditer(r"[^\0- ]+", text):
        word, gap, end = match[0], text[end:match.start()], match.end()
        if gap.count("\n") > 1:
            before, within = before + within, []
            used, recent = used + recent, 0
        cost = tokenizer.count(word) - special
        while (before or within) and used + recent + cost > room:
            if before:
                yield " ".join(before)
                before, used = [], 0
            else:
                yield " ".join(within)
                within, recent = [], 0
        while cost > room:  # a word that is too long by itself: halves, between characters
            part = word
            while tokenizer.count(part) > ceiling:
                encoded = part.encode()
                part = encoded[:len(encoded) // 2].decode(errors="ignore")
            yield part
            word = word[len(part):]
            cost = tokenizer.count(word) - special
        within.append(word)
        recent += cost
    if before or within:
        yield " ".join(before + within)


def leave_out(path, why):
    print(f"search_notes: left out: {path}: {why}", file=sys.stderr)


def notes_below(folder):
    """(relative path, bytes, text) of all notes."""
    for parent, folders, names in os.walk(folder, onerror=lambda error: leave_out(error.filename, error.strerror)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(parent, name)
            if name.startswith(".") or not name.endswith(FILES) or not os.path.isfile(path):
                continue
            try:
                path.encode()
                with open(path, "rb") as f:
                    data = f.read()
                yield os.path.relpath(path, folder), data, data.decode("utf-8-sig")
            except OSError as error:
                leave_out(path, error.strerror)
            except UnicodeError as error:
                leave_out(path, error)


def update(store, encoder, tokenizer, folder):
    """Brings the store up to date; (embedded, unchanged, removed)."""
    known, seen, embedded = store.digests(), set(), 0
    ceiling = encoder.info.ceiling
    for path, data, text in notes_below(folder):
        seen.add(path)
        digest = hashlib.sha256(data).hexdigest()
        if known.get(path) == digest:
            continue
        pieces = list(pieces_of(text, tokenizer, ceiling))
        store.replace(path, digest, pieces, encoder.encode(pieces))
        embedded += 1
    gone = known.keys() - seen
    for path in gone:
        store.remove(path)
    return embedded, len(seen) - embedded, len(gone)


def positive(word):
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_folder")
    parser.add_argument("notes_folder")
    parser.add_argument("question", nargs="*")
    parser.add_argument("--store")
    parser.add_argument("--rebuild", action="store_true", help="forget the store's vectors first")
    parser.add_argument("--top", type=positive, default=3)
    parser.add_argument("--lock-dir", help="a lane of its own in this folder, rather than the user's")
    arguments = parser.parse_args()
    if not os.path.isdir(arguments.notes_folder):
        sys.exit(f"search_notes: there is no folder {arguments.notes_folder}")
    file = arguments.store or os.path.join(arguments.notes_folder, ".notes.sqlite")
    if arguments.rebuild and os.path.exists(file):
        os.remove(file)
    try:
        with anelane.SentenceEncoder(arguments.model_folder, lock_dir=arguments.lock_dir) as encoder, \
                anelane.Tokenizer(arguments.model_folder) as tokenizer:
            store = Store(file, encoder.info.vector_space)
            print("%d notes embedded, %d unchanged, %d removed" % update(store, encoder, tokenizer, arguments.notes_folder),
                  file=sys.stderr)
            if arguments.question and store.is_empty():
                sys.exit(f"search_notes: there is no text in *.txt and *.md files below {arguments.notes_folder}")
            for question in arguments.question:
                hits = store.nearest(encoder.encode(question), arguments.top)
                print(question)
                for cosine, path, text in hits:
                    print(f"  {cosine:.3f}  {path}: {text[:70]}")
    except (anelane.Error, WrongSpace, OSError, sqlite3.Error) as error:
        sys.exit(f"search_notes: {error}")


if __name__ == "__main__":
    main()
