"""What drawing asks of a task: how its cells look, and the few words that stand under the caption of a panel.

Those say how good a prediction is, how large a question: remarks on one picture, counted on its cells; scores are the
business of `serrm.scoring`. (Metrics of the paper: a puzzle counts if every cell is right; mazes also by valid paths.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.arc.canvas import decode
from serrm.puzzles.maze.grid import PATH, SPACE
from serrm.puzzles.maze.paths import is_shortest_path, is_valid_path, num_steps
from serrm.puzzles.sudoku.grid import box_for_side, is_solution
from serrm.puzzles.sudoku.text import SYMBOLS

Tokens = UInt8[np.ndarray, " I"]
# Digits in boxes, walls and a path between them, or coloured cells of a grid that is read off a canvas.
Look = Literal["digits", "maze", "colours"]
BLANK: Final = 1  # of a Sudoku, whose token 0 is padding and v + 1 the digit v


@dataclass(frozen=True)
class DrawnTask:
    """A task in pictures and in the terminal."""

    look: Look
    # (side, tokens) → what there is to say of a question or an answer: clues, size, or length of the path.
    remark: Callable[[int, Tokens], str]
    # (side, prediction, question, answer) → how good a prediction is, such as "7 of 51 blanks wrong".
    judge: Callable[[int, Tokens, Tokens, Tokens | None], str]
    asked_for: int | None = None  # the token that a question leaves to be found; None: no cell of it is given


def sudoku_symbol(token: int) -> str:
    """1 to 9, then letters as in files of puzzles, from 36 on numbers; "?" for padding, nothing for a blank."""
    if token <= BLANK:
        return "?" if token == 0 else ""
    value = token - BLANK
    return SYMBOLS[value] if value < len(SYMBOLS) else str(value)


def _remark_sudoku(side: int, tokens: Tokens) -> str:
    num_blank = np.count_nonzero(tokens == BLANK)
    return f"{len(tokens) - num_blank} clues" if num_blank else f"{side}×{side}"


def _remark_maze(side: int, tokens: Tokens) -> str:
    return f"a path of {num_steps(tokens)} steps" if (tokens == PATH).any() else f"{side}×{side}"


def _remark_arc(side: int, tokens: Tokens) -> str:
    return _size(decode(tokens, side).shape)


def _size(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def _judge_sudoku(side: int, prediction: Tokens, question: Tokens, answer: Tokens | None) -> str:
    is_blank = question == BLANK
    num_clues = np.count_nonzero(prediction[~is_blank] != question[~is_blank])
    if answer is None:
        values = np.maximum(prediction, BLANK) - np.uint8(BLANK)
        is_right = not num_clues and is_solution(values, box_for_side(side))
        return "a solution" if is_right else "no solution"
    num_blanks = np.count_nonzero(prediction[is_blank] != answer[is_blank])
    blanks = [f"{num_blanks} of {np.count_nonzero(is_blank)} blanks"] if num_blanks else []
    clues = [f"{num_clues} clue{'' if num_clues == 1 else 's'}"] if num_clues else []
    return f"{' and '.join(blanks + clues)} wrong" if blanks or clues else "solved"


def _judge_maze(side: int, prediction: Tokens, question: Tokens, answer: Tokens | None) -> str:
    """A maze may have many shortest paths, so one that is not the answer's is said to be as short."""
    if answer is not None and np.array_equal(prediction, answer):
        return "exactly the answer"
    if is_shortest_path(question, prediction):
        return "a shortest path" if answer is None else "another shortest path"
    return "a path, not a shortest one" if is_valid_path(question, prediction) else "no path"


def _judge_arc(side: int, prediction: Tokens, question: Tokens, answer: Tokens | None) -> str:
    ours = decode(prediction, side)
    if answer is None:
        return _size(ours.shape)
    right = decode(answer, side)
    if ours.shape != right.shape:
        return f"{_size(ours.shape)}, not {_size(right.shape)}"
    num_wrong = np.count_nonzero(ours != right)
    return f"{num_wrong} of {right.size} cells wrong" if num_wrong else "right"


ARC: Final = DrawnTask("colours", _remark_arc, _judge_arc)
# By task. A task of one's own is one entry more.
TASKS: Final = {
    "sudoku": DrawnTask("digits", _remark_sudoku, _judge_sudoku, BLANK),
    "maze": DrawnTask("maze", _remark_maze, _judge_maze, SPACE),
    "arc_agi_1": ARC,
    "arc_agi_2": ARC,
}
