"""Reading a grid out of a language model's reply, and saying what became of a reply without one (table 1).

The rule, for a grid of side n:

1. What stands before the last `</think>` is dropped, and everything after a `<think>` that is never closed.
2. A line is a *row* if it holds n numbers 1…n and else only decoration: spaces, box lines, brackets, commas, quotes,
   stars, a bullet, a label such as `Row 3:`, `3.` or `Solution:`. Up to n = 9 the digits may touch (`534 678 912`).
   A line of n² such numbers is n rows.
3. Rows follow each other where nothing but lines without letters and digits lies between them. Where the number of
   rows in such a run is a multiple of n, its last n are a well-formed grid; a heading 1 2 … n above them is no row.
   A fence (```) or any other line ends a run, as does a change between the two forms of a line.
4. The last well-formed grid of the reply is the answer. It has no blanks, but it may break every rule of Sudoku.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import UInt8

Row = tuple[int, ...]


class Kind(StrEnum):
    """What became of a puzzle. The last two are no outcomes of the model: it was not heard."""

    answered = "answered"
    malformed = "malformed"
    refused = "refused"
    error = "error"
    timeout = "timeout"


@dataclass(frozen=True)
class Reply:
    """What a reply says, and how it ended."""

    text: str
    refusal: str = ""  # the server's own field for it
    is_cut: bool = False  # stopped at the largest number of tokens
    is_filtered: bool = False  # withheld by a filter


@dataclass(frozen=True, eq=False)
class Outcome:
    """A kind, and the grid of values 1…n if it is `answered`."""

    kind: Kind
    grid: UInt8[np.ndarray, " I"] | None = None


_DECORATION = re.compile(r"[\s|\u2500-\u257F!,;&\[\](){}'\"`*_\\•]+")
_LABEL = re.compile(
    r"^[\W_]*"
    r"(?:(?:row|line|r)\s*#?\s*\d{1,2}[\"'*]*\s*[:.)=–-]|\d{1,2}\s*[:.)]"
    r"|(?:\w+\s+){0,4}(?:answer|solution|grid)[\"'*]*\s*:)?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"^[0-9 ]+$")
_RULER = re.compile(r"^[\W_]*$")  # box lines, brackets, nothing at all
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_NOT_WILLING = (
    r"(?:can(?:no|')t|can not|could(?:n't| not)|won't|will not|unable to|not able to|refuse|decline)"
)
_REFUSAL = re.compile(
    rf"\b(?:I|we)(?:'m| am|'re| are)?\s+(?:\w+\s+){{0,2}}?{_NOT_WILLING}\b|\b(?:sorry|apologi[sz]e|afraid)\b",
    re.IGNORECASE,
)
_NUM_ENDS = 400  # characters at either end of a reply in which it may decline; reasoning lies between


def read_reply(reply: Reply, side: int) -> Outcome:
    """What a reply makes of a puzzle of a side.

    A well-formed grid is an answer, whatever stands around it. Without one, a reply is refused if the server says so,
    if it is empty although the model stopped by itself, or if its words decline; all others are malformed.
    """
    grid = find_grid(reply.text, side)
    if grid is not None:
        return Outcome(Kind.answered, grid)
    words = _without_thoughts(reply.text).strip()
    is_silent = not words and not reply.is_cut
    if reply.refusal or reply.is_filtered or is_silent or _declines(words):
        return Outcome(Kind.refused)
    return Outcome(Kind.malformed)


def find_grid(text: str, side: int) -> UInt8[np.ndarray, " I"] | None:
    """The last well-formed grid of n² values 1…n in a text, by the module's rule; None where there is none."""
    found = None
    for run in _runs(_without_thoughts(text), side):
        heading = tuple(range(1, side + 1))
        rows = run[1:] if len(run) % side == 1 and run[0] == heading else run
        if rows and len(rows) % side == 0:
            found = rows[-side:]
    return None if found is None else np.array(found, np.uint8).reshape(-1)


def _declines(words: str) -> bool:
    """Whether the beginning or the end of a reply says, in the first person, that there will be no answer."""
    ends = (words[:_NUM_ENDS], words[-_NUM_ENDS:])
    return any(_REFUSAL.search(end.replace("’", "'")) for end in ends)


def _without_thoughts(text: str) -> str:
    spoken = text.rpartition("</think>")[2]
    return spoken.partition("<think>")[0]


def _runs(text: str, side: int) -> Iterator[list[Row]]:
    """The runs of rows in a text, in order."""
    run: list[Row] = []
    width = 0
    for line in text.splitlines():
        if not _FENCE.match(line) and _RULER.match(line):
            continue
        rows = [] if _FENCE.match(line) else _rows_of(line, side)
        if len(rows) != width:
            yield run
            run, width = [], len(rows)
        run += rows
    yield run


def _rows_of(line: str, side: int) -> list[Row]:
    """The one row or the n rows that a line holds; none if it is anything else."""
    for candidate in _candidates(line):
        plain = _DECORATION.sub(" ", candidate)
        values = _values(plain.split(), side) if _NUMBERS.match(plain) else []
        if len(values) in (side, side**2):
            return [tuple(values[start : start + side]) for start in range(0, len(values), side)]
    return []


def _candidates(line: str) -> Iterator[str]:
    """The line as it stands, and without its label; a full stop at its end is none of it."""
    stop = line.rstrip().removesuffix(".")
    yield stop
    label = _LABEL.match(stop)
    if label is not None and label.end():
        yield stop[label.end() :]


def _values(tokens: list[str], side: int) -> list[int]:
    """The numbers 1…n that all tokens are, or that their digits are up to n = 9; none if one is another number."""
    digits = "".join(tokens)
    if side <= 9 and len(digits) in (side, side**2):
        tokens = list(digits)
    values = [int(token) if len(token) <= 2 else 0 for token in tokens]
    return values if all(1 <= value <= side for value in values) else []
