"""The maze grid as tokens: what a cell can be, its character, and one grid as text and back.

A grid is a flat uint8 array of I = side² tokens, row by row: 1 wall, 2 space, 3 start, 4 goal, and in an answer 5
for the cells of the path between start and goal; 0 is padding and never stands in a maze. Everything about mazes
builds on this module. The characters are the publisher's (paper: section "Maze", data).
"""

import math
from typing import Final

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.tables import shorten

WALL: Final = 1
SPACE: Final = 2
START: Final = 3
GOAL: Final = 4
PATH: Final = 5

CHARACTERS = "# SGo"
"""How the tokens 1…5 are written."""

# 0, no token of a maze, for every character that is none.
_TOKEN_OF_BYTE = bytes(CHARACTERS.find(character) + 1 for character in map(chr, range(256)))


def parse_maze(text: str) -> UInt8[np.ndarray, " I"]:
    """The tokens of a maze of I = side² characters, question or answer.

    ValueError with the offending part: a character that is none of `# SGo`, or a number of them that makes no grid.
    """
    tokens = np.frombuffer(
        bytearray(text.encode("latin-1", "replace").translate(_TOKEN_OF_BYTE)), dtype=np.uint8
    )
    if (wrong := np.flatnonzero(tokens == 0)).size:
        position = int(wrong[0])
        raise ValueError(f"{text[position]!r} at position {position + 1} is none of {CHARACTERS!r}")
    if not text or math.isqrt(len(tokens)) ** 2 != len(tokens):
        raise ValueError(f"{len(tokens)} characters make no square maze: {shorten(text)}")
    return tokens


def format_maze(tokens: UInt8[np.ndarray, " I"]) -> str:
    """The I characters of a maze. ValueError for a token that has none."""
    if (wrong := tokens[(tokens < WALL) | (tokens > PATH)]).size:
        raise ValueError(f"no character for the token {wrong[0]} in a maze")
    return "".join(CHARACTERS[token - 1] for token in tokens.tolist())


def side_of(mazes: UInt8[np.ndarray, "*N I"]) -> int:
    """The side of a maze, or of the mazes of a batch. ValueError if the cells make no square."""
    num_cells = mazes.shape[-1]
    side = math.isqrt(num_cells)
    if num_cells == 0 or side**2 != num_cells:
        raise ValueError(f"{num_cells} cells make no square maze")
    return side


def check_questions(questions: UInt8[np.ndarray, "N I"]) -> None:
    """ValueError for the first that is no square of walls and spaces with one start and one goal."""
    side_of(questions)
    num_starts, num_goals = (questions == START).sum(axis=1), (questions == GOAL).sum(axis=1)
    is_known = ((questions >= WALL) & (questions <= GOAL)).all(axis=1)
    wrong = np.flatnonzero((num_starts != 1) | (num_goals != 1) | ~is_known)
    if wrong.size:
        first = int(wrong[0])
        found = f"{num_starts[first]} starts, {num_goals[first]} goals, tokens {np.unique(questions[first])}"
        raise ValueError(f"maze {first} needs one start and one goal among walls and spaces, has {found}")
