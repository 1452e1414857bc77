"""What each task asks of `serrm solve`: tokens and attempts, contradictions, and the way from tokens to an answer.

`solve` itself knows no task. A subject is made for a checkpoint and a size of grid; it says what the model is shown,
what its answer means, and what to make of a puzzle that the model did not solve. (The paper's three tasks.)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import cycle, islice
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.inference.adaptive import Outcome
from serrm.inference.breadth import (
    SYMMETRIES,
    Attempt,
    Found,
    Way,
    attempts_at,
    restarts,
    sees_digits,
)
from serrm.inference.load import LoadedModel
from serrm.inference.verify import BLANK
from serrm.puzzles.alphabet import alphabet
from serrm.puzzles.maze.grid import SPACE, WALL, format_maze
from serrm.puzzles.maze.paths import shortest_path
from serrm.puzzles.sudoku import cpsat
from serrm.puzzles.sudoku.bitboard import places_from_values, propagate, tables
from serrm.puzzles.sudoku.grid import box_for_side, is_consistent
from serrm.puzzles.sudoku.text import SYMBOLS, format_grid
from serrm.solving.answers import NETWORK, Status, Verdict
from serrm.solving.arc_subject import Arc
from serrm.solving.questions import ARC, MAZE, SUDOKU, Question

CP_SAT, SEARCH = "cp-sat", "breadth-first search"
CONFIDENT = 0.9  # certainty from which a cell is a hint to the exact solver

Tokens = UInt8[np.ndarray, " I"]


@runtime_checkable
class Subject(Protocol):
    """A task on grids of one size, as a checkpoint sees it."""

    task: str  # of the alphabet and the rules
    side: int  # of the grid of tokens

    def refusal(self, question: Question) -> str | None:
        """Why the model cannot be asked this."""

    def contradiction(self, question: Question) -> str | None:
        """Why the puzzle cannot have a solution, if a look at it tells."""

    def tokens(self, question: Question) -> Tokens:
        """The question as the model sees it."""

    def attempts(self, question: Question) -> Iterable[Attempt]:
        """Ways to ask it, the plain one first."""

    def text(self, tokens: Tokens) -> str:
        """A prediction in the notation of the question."""

    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        """What to say where the network has no verified answer; `is_exact` asks an exact method."""


class Sudoku:
    """n×n Sudoku."""

    task = SUDOKU

    def __init__(self, loaded: LoadedModel, side: int, num_attempts: int, seed: int) -> None:
        self.side, self.box = side, box_for_side(side)
        self.sees_digits = sees_digits(loaded.cell.model)
        self.ways = _ways(self.task, loaded, side, num_attempts, seed)

    def refusal(self, question: Question) -> str | None:
        return None

    def contradiction(self, question: Question) -> str | None:
        is_fine = is_consistent(question.cells.reshape(-1), self.box)
        return None if is_fine else "a digit is given twice in a row, column or box"

    def tokens(self, question: Question) -> Tokens:
        return question.cells.reshape(-1) + np.uint8(BLANK)

    def attempts(self, question: Question) -> Iterator[Attempt]:
        return attempts_at(self.tokens(question), self.ways)

    def text(self, tokens: Tokens) -> str:
        """Padding and blanks in a prediction are blanks."""
        return format_grid(np.maximum(tokens, np.uint8(BLANK)) - np.uint8(BLANK))

    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        values = question.cells.reshape(-1)
        if is_exact:
            return self._solved_exactly(values, found.chosen)
        board = tables(self.box)
        if not propagate(places_from_values(values.tolist(), board), board):
            return Verdict(Status.CONTRADICTORY, "", remark="the given digits leave no place for another")
        missing = [SYMBOLS[digit] for digit in range(1, self.side + 1) if digit not in values]
        is_blind = len(missing) > 1 and not self.sees_digits
        remark = (
            f"the network cannot tell {', '.join(missing)} apart, which are not given" if is_blind else ""
        )
        return Verdict(Status.UNVERIFIED, self.text(found.chosen.prediction), NETWORK, remark)

    def _solved_exactly(self, values: Tokens, outcome: Outcome) -> Verdict:
        """By CP-SAT, which tries the cells first that the network is sure of."""
        is_hint = (values == 0) & (outcome.certainty >= CONFIDENT) & (outcome.prediction > BLANK)
        hints = {cell: int(outcome.prediction[cell]) - BLANK for cell in np.flatnonzero(is_hint).tolist()}
        solutions = list(islice(cpsat.iterate_solutions(values, self.box, hints), 2))
        if not solutions:
            return Verdict(Status.CONTRADICTORY, "", CP_SAT, "it has no solution")
        remark = (
            "solved exactly: the only solution" if len(solutions) == 1 else "solved exactly: one of several"
        )
        return Verdict(Status.VERIFIED, format_grid(solutions[0]), CP_SAT, remark)


class Maze:
    """Square mazes."""

    task = MAZE

    def __init__(self, loaded: LoadedModel, side: int, num_attempts: int, seed: int) -> None:
        self.side = side
        self.ways = _ways(self.task, loaded, side, num_attempts, seed)

    def refusal(self, question: Question) -> str | None:
        return None

    def contradiction(self, question: Question) -> str | None:
        has_way = shortest_path(self.tokens(question)) is not None
        return None if has_way else "there is no way from S to G"

    def tokens(self, question: Question) -> Tokens:
        return question.cells.reshape(-1)

    def attempts(self, question: Question) -> Iterator[Attempt]:
        return attempts_at(self.tokens(question), self.ways)

    def text(self, tokens: Tokens) -> str:
        """Padding in a prediction is a space."""
        return format_maze(np.where(tokens < WALL, np.uint8(SPACE), tokens))

    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        if is_exact:
            answer = shortest_path(self.tokens(question))
            assert answer is not None, "a maze without a way is told before"
            return Verdict(Status.VERIFIED, format_maze(answer), SEARCH, "solved exactly: a shortest path")
        return Verdict(Status.UNVERIFIED, self.text(found.chosen.prediction), NETWORK)


# Each takes (checkpoint, side of the question, attempts, seed).
SUBJECTS: dict[str, Callable[[LoadedModel, int, int, int], Subject]] = {SUDOKU: Sudoku, MAZE: Maze, ARC: Arc}


def num_symbols(subject: Subject) -> int:
    """K of the alphabet, padding included."""
    return alphabet(subject.task, subject.side).num_symbols


def _ways(task: str, loaded: LoadedModel, side: int, num: int, seed: int) -> list[Way]:
    """The puzzle itself, then symmetric images, each from another initial state."""
    states = restarts(loaded.model, num, torch.Generator().manual_seed(seed))
    has_digits = sees_digits(loaded.cell.model)
    images = SYMMETRIES[task](side, num, np.random.default_rng([seed, side]), has_digits=has_digits)
    return [
        replace(image, initial=state.initial) for state, image in zip(states, cycle(images), strict=False)
    ]
