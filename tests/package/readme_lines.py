"""What README.md tells a newcomer to do, read from the page itself: docs.readme checks it, scripts/try-clean does it.

The first ```sh block is the way to a build. Below each heading "From X" follow the steps of one language: a program that the text
says to save as a file, and lines for the shell. How their output ends stands in a ```text block right behind them, or else in the one
that the page shows before all languages.
"""
import re
from typing import NamedTuple, Optional

LANGUAGES = {"c": "From C", "cpp": "From C++", "python": "From Python", "rust": "From Rust", "swift": "From Swift"}
COSINE_SLACK = 0.011  # numbers are printed with two or three decimals; another processor may round the last one differently


class Block(NamedTuple):
    heading: str  # the nearest one above
    before: str   # the text between what came before and this block
    language: str
    body: str


class Step(NamedTuple):
    """A file to save (`save_as`), or lines to run, whose output ends with `printed`."""
    body: str
    save_as: Optional[str] = None
    printed: Optional[str] = None


def blocks(page):
    found, heading, end = [], "", 0
    for part in re.finditer(r"^#+ (?P<heading>[^\n]+)$|^```(?P<language>\w*)\n(?P<body>.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if part["heading"] is not None:
            heading = part["heading"].strip()
        else:
            found.append(Block(heading, page[end:part.start()], part["language"], part["body"]))
        end = part.end()
    return found


def quickstart(page):
    """The lines before all languages."""
    first = blocks(page)[0]
    if first.language != "sh":
        raise ValueError("README.md does not begin with lines to run")
    return Step(first.body)


def steps(page, language):
    """The steps of a language, in the page's order."""
    heading, found = LANGUAGES[language], []
    answer = next((block.body for block in blocks(page) if block.language == "text"), None)
    for block in (block for block in blocks(page) if block.heading == heading):
        name = re.search(r"\bSave it as `([^`]+)`", block.before)
        if block.language == "sh":
            found.append(Step(block.body, printed=answer))
        elif block.language == "text" and found and found[-1].save_as is None:
            found[-1] = found[-1]._replace(printed=block.body)
        elif name:
            found.append(Step(block.body, save_as=name[1]))
        else:
            raise ValueError(f"README.md, {heading!r}: a block of {block.language!r} that is neither run, printed nor saved")
    if not found or found[-1].printed is None:
        raise ValueError(f"README.md has no lines {heading!r}, or does not say what they print")
    return found


def _same(printed, expected):
    """Two words: equal, or two cosines that are as good as equal."""
    if printed == expected:
        return True
    number = re.compile(r"-?[01]\.\d+")
    return bool(number.fullmatch(printed) and number.fullmatch(expected)) and abs(float(printed) - float(expected)) < COSINE_SLACK


def ends_as(output, printed):
    """Whether the output's last lines are what the page shows."""
    wanted = [line.split() for line in printed.splitlines()]
    got = [line.split() for line in output.rstrip("\n").splitlines()][-len(wanted):]
    return len(got) == len(wanted) and all(
        len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b)) for a, b in zip(got, wanted))
