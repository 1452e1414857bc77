"""What each task asks of `serrm solve`: tokens and attempts, contradictions, and the way from tokens to an answer.

`solve` itself knows no task. A subject is made for a checkpoint and a size of grid; it says what the model is shown,
what its answer means, and what to make of a puzzle that the model did not solve. (The paper's three tasks.)
"""

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8

from serrm.arrays.arc import draw_variants
from serrm.inference.adaptive import Attempt, Outcome
from serrm.inference.breadth import Attempts, Found, Way, attempts_at, sees_digits
from serrm.inference.guessing import guesses
from serrm.inference.load import LoadedModel
from serrm.inference.tasks import TASKS, restarts, symmetric_images
from serrm.puzzles.arc.canvas import decode, encode
from serrm.puzzles.arc.colours import inverse, recoloured
from serrm.puzzles.dihedral import inverse as inverse_transform
from serrm.puzzles.dihedral import transformed
from serrm.puzzles.maze.grid import SPACE, WALL, format_maze
from serrm.puzzles.maze.paths import shortest_path
from serrm.puzzles.sudoku import cpsat
from serrm.puzzles.sudoku.bitboard import places_from_values, propagate, tables
from serrm.puzzles.sudoku.grid import box_for_side, is_consistent
from serrm.puzzles.sudoku.text import SYMBOLS, format_grid
from serrm.puzzles.tasks import alphabet
from serrm.scoring.metrics import BLANK
from serrm.solving.answers import NETWORK, Status, Verdict
from serrm.solving.questions import ARC, MAZE, SUDOKU, Question

CP_SAT, SEARCH = "cp-sat", "breadth-first search"
CONFIDENT = 0.9  # certainty from which a cell is a hint to the exact solver
# Of an ARC task that vote if not more are asked for: the dihedral ones, all that SE-RRM knows.
NUM_VARIANTS = 8

Tokens = UInt8[np.ndarray, " I"]


class Subject(ABC):
    """A task on grids of one size, as a checkpoint sees it; `num_attempts` and `seed` are of the restarts."""

    kind: ClassVar[str]  # of the questions
    has_canvas: ClassVar[bool] = False  # on which questions of all sizes lie

    def __init__(self, loaded: LoadedModel, side: int, num_attempts: int, seed: int) -> None:
        self.task, self.side = loaded.cell.task, side  # of the alphabet, and of the grid of tokens
        self.sees_digits = sees_digits(loaded.cell.model)
        self.ways = _ways(loaded, side, num_attempts, seed)

    def refusal(self, question: Question) -> str | None:
        """Why the model cannot be asked this."""
        return None

    def contradiction(self, question: Question) -> str | None:
        """Why the puzzle cannot have a solution, if a look at it tells."""
        return None

    @abstractmethod
    def tokens(self, question: Question) -> Tokens:
        """The question as the model sees it."""

    def attempts(self, question: Question, num_guesses: int = 0) -> Attempts:
        """Ways to ask it, the plain one first; or with so many guesses after that."""
        blank = TASKS[self.task].blank
        if num_guesses and blank is not None:
            num_symbols = alphabet(self.task, self.side).num_symbols
            return guesses(self.tokens(question), 1 + num_guesses, blank, num_symbols)
        return attempts_at(self.tokens(question), self.ways)

    @abstractmethod
    def text(self, tokens: Tokens) -> str:
        """A prediction in the notation of the question."""

    @abstractmethod
    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        """What to say where the network has no verified answer; `is_exact` asks an exact method."""


class Sudoku(Subject):
    """n×n Sudoku."""

    kind = SUDOKU

    def contradiction(self, question: Question) -> str | None:
        is_fine = is_consistent(question.cells.reshape(-1), box_for_side(self.side))
        return None if is_fine else "a digit is given twice in a row, column or box"

    def tokens(self, question: Question) -> Tokens:
        return question.cells.reshape(-1) + np.uint8(BLANK)

    def text(self, tokens: Tokens) -> str:
        """Padding and blanks in a prediction are blanks."""
        return format_grid(np.maximum(tokens, np.uint8(BLANK)) - np.uint8(BLANK))

    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        values = question.cells.reshape(-1)
        if is_exact:
            return self._solved_exactly(values, found.chosen)
        board = tables(box_for_side(self.side))
        if not propagate(places_from_values(values.tolist(), board), board):
            return Verdict(Status.CONTRADICTORY, remark="the given digits leave no place for another")
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
        solutions = list(islice(cpsat.iterate_solutions(values, box_for_side(self.side), hints), 2))
        if not solutions:
            return Verdict(Status.CONTRADICTORY, by=CP_SAT, remark="it has no solution")
        remark = (
            "solved exactly: the only solution" if len(solutions) == 1 else "solved exactly: one of several"
        )
        return Verdict(Status.VERIFIED, format_grid(solutions[0]), CP_SAT, remark)


class Maze(Subject):
    """Square mazes."""

    kind = MAZE

    def contradiction(self, question: Question) -> str | None:
        has_way = shortest_path(self.tokens(question)) is not None
        return None if has_way else "there is no way from S to G"

    def tokens(self, question: Question) -> Tokens:
        return question.cells.reshape(-1)

    def text(self, tokens: Tokens) -> str:
        """Padding in a prediction is a space."""
        return format_maze(np.where(tokens < WALL, np.uint8(SPACE), tokens))

    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        if is_exact:
            answer = shortest_path(self.tokens(question))
            assert answer is not None, "a maze without a way is told before"
            return Verdict(Status.VERIFIED, format_maze(answer), SEARCH, "solved exactly: a shortest path")
        return Verdict(Status.UNVERIFIED, self.text(found.chosen.prediction), NETWORK)


class Arc(Subject):
    """Test inputs of ARC tasks, asked in the variants that a model learned, which vote.

    A model knows an ARC task by the rows of its task-type table, one a variant, so it can be asked about the tasks it
    was trained on and no others; its configuration names them in the order of the rows. (Section "ARC-AGI".)
    """

    kind, has_canvas = ARC, True

    def __init__(self, loaded: LoadedModel, side: int, num_attempts: int, seed: int) -> None:
        self.task, self.side = loaded.cell.task, loaded.config["side"]
        self.names: list[str] = loaded.config.get("puzzles", [])
        table = loaded.model.task_types
        self.num_slots = 0 if table is None or not self.names else len(table) // len(self.names)
        num_learned = min(self.num_slots, loaded.cell.arrays.num_augmentations + 1)
        self.num_variants = min(num_learned, max(NUM_VARIANTS, num_attempts))
        self.seed = loaded.cell.arrays.seed

    def refusal(self, question: Question) -> str | None:
        if not self.num_slots:
            return "the checkpoint does not name the ARC tasks that it knows, and cannot learn from demonstrations"
        if question.name not in self.names:
            known = f"the {len(self.names)} that it was trained on"
            return f"no task type for ARC task {question.name!r}: the checkpoint knows {known}"
        if question.side > self.side:
            return f"its canvas has a side of {self.side}, the input one of {question.side}"
        return None

    def tokens(self, question: Question) -> Tokens:
        return encode(question.cells, self.side)

    def attempts(self, question: Question, num_guesses: int = 0) -> Attempts:
        """The input in each variant that votes, with that variant's task type."""
        first = self.names.index(question.name) * self.num_slots
        variants = draw_variants(question.name, self.num_variants, self.seed)
        for slot, (transform, *colours) in enumerate(variants.tolist()):
            permutation = np.array(colours, dtype=np.uint8)
            shown = recoloured(transformed(question.cells, transform), permutation)
            undo = partial(self._undo, transform, permutation)
            yield Attempt(encode(shown, self.side), first + slot, undo=undo)

    def text(self, tokens: Tokens) -> str:
        """Rows of colours as JSON."""
        return json.dumps(decode(tokens, self.side).tolist())

    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        chosen = found.chosen.prediction
        num_votes = sum(np.array_equal(chosen, attempt.prediction) for attempt in found.attempts)
        remark = f"{num_votes} of {len(found.attempts)} variants agree"
        return Verdict(Status.UNVERIFIED, self.text(chosen), NETWORK, remark)

    def _undo(self, transform: int, permutation: UInt8[np.ndarray, "10"], outcome: Outcome) -> Outcome:
        """Predictions in the frame of the task itself; certainties stay where they are, for their least counts."""

        def plain(tokens: Tokens) -> Tokens:
            grid = recoloured(decode(tokens, self.side), inverse(permutation))
            return encode(transformed(grid, inverse_transform(transform)), self.side)

        history = [plain(each) for each in outcome.history]
        return replace(outcome, prediction=plain(outcome.prediction), history=history)


SUBJECTS: dict[str, type[Subject]] = {"sudoku": Sudoku, "maze": Maze, "arc_agi_1": Arc, "arc_agi_2": Arc}
"""By the checkpoint's task."""


def _ways(loaded: LoadedModel, side: int, num: int, seed: int) -> list[Way]:
    """The puzzle itself, then symmetric images, each from another initial state."""
    states, images = (ways(loaded, side, num, seed) for ways in (restarts, symmetric_images))
    return [
        replace(image, initial=state.initial) for state, image in zip(states, cycle(images), strict=False)
    ]
