"""Grids as text: the characters of a task's tokens, and the checks of a puzzle from a file or a user.

An invalid text is a ValueError of one line with the wrong part.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.raw import Puzzle, Tokens

# Signs between or around the grids of users' files (`serrm.reading`), which can be no characters of a grid.
SEPARATORS: Final = ',;|│┃║"[{'


UNKNOWN: Final = 255  # stands for a character that no grid has; larger than any token


class WrongSignError(ValueError):
    """A sign that a grid cannot have, at an index of its text."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


@dataclass(frozen=True, kw_only=True)
class GridText:
    """The square grids of a task as text, a character per cell."""

    # Of the tokens 1, 2, …, none of SEPARATORS. If a space is one of them, white space counts when users' puzzles are
    # read; then # must be the wall.
    characters: str
    # Of the same tokens in users' grids above 9×9 that have no other characters; empty if there are none.
    letters: str = ""
    # The number of token 1 where the grids of answers are lists of numbers.
    first_number: int = 0
    # Tokens of further characters, which are read and never written.
    others: Mapping[str, int] = field(default_factory=dict)
    # side → the largest token; ValueError for a side that the task does not have.
    largest: Callable[[int], int]
    blank: int = 1  # the token of a cell that a question leaves open
    least_in_answer: int = 2  # the smallest token that an answer may have in such a cell
    # Raises ValueError for tokens that are not a question.
    check_question: Callable[[Tokens], object] = lambda question: None

    def __post_init__(self) -> None:
        """Raise ValueError for a character that separates symbols where puzzles are read."""
        if wrong := sorted({*self.characters} & {*SEPARATORS}):
            raise ValueError(
                f"characters: {wrong[0]!r} separates the symbols of puzzles, and can be none itself"
            )

    def numbers(self, tokens: UInt8[np.ndarray, "..."]) -> UInt8[np.ndarray, "..."]:
        """Return the number of each cell, from `first_number` on."""
        return tokens - np.uint8(1) + np.uint8(self.first_number)

    def read(self, text: str, signs: str = "") -> Tokens:
        """Read the I tokens of a grid of I = side² signs, by default `characters`. ValueError with the wrong part."""
        side, known = math.isqrt(len(text)), signs or self.characters
        if not text or side**2 != len(text):
            raise ValueError(f"{len(text)} characters are not a square grid: {shorten(text)}")
        largest = self.largest(side)
        table = {**self.others, **{sign: token for token, sign in enumerate(known, start=1)}}
        tokens = np.array([table.get(sign, UNKNOWN) for sign in text], dtype=np.uint8)
        if (wrong := np.flatnonzero(tokens > largest)).size:
            index = int(wrong[0])
            raise WrongSignError(
                f"{text[index]!r} at position {index + 1} is not one of {known[:largest]!r}", index
            )
        return tokens

    def signs_of(self, text: str) -> str:
        """Return the signs in which a grid is written: `letters`, or `characters`."""
        if not 81 < len(text) <= (len(self.letters) - 1) ** 2:
            return self.characters
        used = {*text} - {*self.others, self.letters[0]}
        return self.letters if used and used <= {*self.letters} else self.characters

    def is_question(self, tokens: Tokens) -> bool:
        """Return True for tokens that are a question."""
        try:
            self.check_question(tokens)
        except ValueError:
            return False
        return True

    def blank_in(self, text: str) -> str:
        """The sign for blanks in a grid, or "" without a blank. ValueError for two signs."""
        signs = [
            self.characters[self.blank - 1],
            *(sign for sign in self.others if self.others[sign] == self.blank),
        ]
        used = [sign for sign in signs if sign in text]
        if len(used) > 1:
            raise ValueError(f"holds {used[0]!r} and {used[1]!r}: a file has one sign for blanks")
        return "".join(used)

    def format(self, tokens: Tokens) -> str:
        """Return the characters of a grid. ValueError for a token without a character."""
        if (wrong := tokens[(tokens < 1) | (tokens > len(self.characters))]).size:
            raise ValueError(f"no character for the token {wrong[0]}")
        return "".join(self.characters[token - 1] for token in tokens.tolist())

    def checked(self, puzzle: Puzzle, is_open: Bool[np.ndarray, " I"] | None = None) -> Puzzle:
        """Return the puzzle. ValueError for an invalid question, or an answer that changes more than its open cells.

        `is_open` is true for the cells that an answer fills, by default those with the token `blank`. The answer may
        still break the task's rules.
        """
        self.check_question(puzzle.question)
        if puzzle.answer is not None:
            is_open = puzzle.question == self.blank if is_open is None else is_open
            is_kept = puzzle.question == puzzle.answer
            wrong = np.flatnonzero(np.where(is_open, puzzle.answer < self.least_in_answer, ~is_kept))
            if wrong.size:
                before, after = (
                    self.format(tokens[wrong[:1]]) for tokens in (puzzle.question, puzzle.answer)
                )
                if before == after:
                    raise ValueError(f"cell {wrong[0] + 1} is {after!r} in the answer, which must fill it")
                raise ValueError(
                    f"cell {wrong[0] + 1} is {before!r} in the question but {after!r} in the answer"
                )
        return puzzle


def as_text(value: Any) -> str:
    """Format a value as text: a string unchanged, other values as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, default=repr)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, or a value within itself
        return repr(value)


def shorten(text: str, width: int = 40) -> str:
    """Put the text in quotes on one line, cut to about `width` characters, for error messages."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")
