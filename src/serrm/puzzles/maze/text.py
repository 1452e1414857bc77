"""Mazes as text, a character a cell, and the published files.

Files are CSV with the columns source, question, answer, rating. The published ratings of Maze-Hard count the cells of
the shortest path with start and goal (110 and more), those written here its steps.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles import raw
from serrm.puzzles.maze.rules import PATH, SPACE, WALL, check_questions

CHARACTERS = "# SGo"
"""Characters of the tokens 1…5."""
# 0, no token of a maze, for every other character.
_TOKEN_OF_BYTE = bytes(CHARACTERS.find(character) + 1 for character in map(chr, range(256)))


def parse_maze(text: str) -> UInt8[np.ndarray, " I"]:
    """Tokens of a maze of I = side² characters, question or answer.

    ValueError with the offending part: a character that is none of `# SGo`, or a number of them that makes no grid.
    """
    tokens = np.frombuffer(
        bytearray(text.encode("latin-1", "replace").translate(_TOKEN_OF_BYTE)), dtype=np.uint8
    )
    if (wrong := np.flatnonzero(tokens == 0)).size:
        position = int(wrong[0])
        raise ValueError(f"{text[position]!r} at position {position + 1} is not one of {CHARACTERS!r}")
    if not text or math.isqrt(len(tokens)) ** 2 != len(tokens):
        raise ValueError(f"{len(tokens)} characters are not a square maze: {raw.shorten(text)}")
    return tokens


def format_maze(tokens: UInt8[np.ndarray, " I"]) -> str:
    """The I characters of a maze. ValueError for a token that has none."""
    if (wrong := tokens[(tokens < WALL) | (tokens > PATH)]).size:
        raise ValueError(f"no character for the token {wrong[0]} in a maze")
    return "".join(CHARACTERS[token - 1] for token in tokens.tolist())


def checked(puzzle: raw.Puzzle) -> raw.Puzzle:
    """The puzzle. ValueError unless it is a maze, and its answer the question with some spaces marked as path.

    `are_valid_paths` checks that they are a path.
    """
    question, answer = puzzle.question, puzzle.answer
    check_questions(question[None])
    if answer is not None:
        is_marked = (question == SPACE) & (answer == PATH)
        wrong = np.flatnonzero((question != answer) & ~is_marked)
        if wrong.size:
            one, other = (format_maze(cells[wrong[:1]]) for cells in (question, answer))
            raise ValueError(f"cell {wrong[0] + 1} is {one!r} in the question but {other!r} in the answer")
    return puzzle


def read_csv(path: Path | str) -> Iterator[raw.Puzzle]:
    """Read mazes from a CSV file source,question,answer,rating; an empty answer or rating is None."""
    return raw.read_puzzles(path, parse_maze, checked)


def write_csv(path: Path | str, puzzles: Iterable[raw.Puzzle]) -> None:
    """Write mazes as source,question,answer,rating. The file appears once whole."""
    raw.write_puzzles(path, puzzles, format_maze)
