"""Answers to puzzles of any sizes, in the order of the input: what `serrm solve` and the Python API run.

Puzzles of one size share a batch, which stays full while any of them waits (`serrm.inference.search`). What a model is
shown of a question, what its answer means and what becomes of a puzzle that it did not solve is the task's: a class
each. (The paper's three tasks.)
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from statistics import fmean
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.arrays.arc import draw_variants
from serrm.devices import supported
from serrm.inference.load import LoadedModel
from serrm.inference.predict import refusal, rows_at_once
from serrm.inference.search import Limits, Search, search
from serrm.models.layers import DTYPES
from serrm.models.settings import SeRrmSettings
from serrm.puzzles import sudoku_solver
from serrm.puzzles.arc import decode, encode, inverse_transform, recoloured, transformed
from serrm.puzzles.arc import inverse_colours as inverse
from serrm.puzzles.files import ARC, MAZE, SUDOKU, Question
from serrm.puzzles.maze import SPACE, WALL, format_maze, shortest_path
from serrm.puzzles.sudoku import BLANK, SYMBOLS, box_for_side, format_grid, is_consistent
from serrm.puzzles.sudoku_solver import places_from_values, propagate, tables
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.solving.answers import NETWORK, Answer, Status, Trace, Verdict

BATCH_SIZES = {"cpu": 8, "cuda": 512}
PATIENCE = 4  # steps for which a prediction has to stay the same where there is no rule
CP_SAT, BREADTH_FIRST = "cp-sat", "breadth-first search"
CONFIDENT = 0.9  # certainty from which a cell is a hint to the exact solver
NUM_VARIANTS = 8  # of an ARC task that vote at most: the dihedral ones, all that SE-RRM knows

Tokens = UInt8[np.ndarray, " I"]


@dataclass(frozen=True)
class SolveOptions:
    """How hard the network tries, and what is done with what it leaves unsolved.

    `guesses` are attempts at a Sudoku after the first. `patience` gives an attempt up when its prediction has been the
    same for that many further steps.
    """

    max_steps: int = 128
    guesses: int = 0
    precision: Literal["float32", "bfloat16"] = "float32"
    batch_size: int | None = None  # 9×9 Sudoku at once, larger grids fewer; None: as BATCH_SIZES says
    patience: int | None = None
    is_exact: bool = False
    has_trace: bool = False

    def __post_init__(self) -> None:
        if self.precision not in DTYPES:
            raise ValueError(f"precision {self.precision!r}: float32 or bfloat16")
        for name, least in {"max_steps": 1, "guesses": 0}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} {getattr(self, name)}: at least {least}")


def solve(loaded: LoadedModel, questions: Sequence[Question], options: SolveOptions) -> Iterator[Answer]:
    """The answer to every question, in their order, each as soon as those before it are there.

    Raises ValueError if the device has too little memory for the batch, or guesses are asked for where none can be.
    """
    task = loaded.cell.task
    if options.guesses and TASKS[task].allows is None:
        raise ValueError(f"guesses fill in the blanks of a Sudoku; the checkpoint is of {task}")
    groups: dict[int, list[int]] = {}  # the places of the questions, by size
    done: dict[int, Answer] = {}
    for number, question in enumerate(questions):
        if question.task == SUBJECTS[task].kind:
            groups.setdefault(0 if SUBJECTS[task].has_canvas else question.side, []).append(number)
        else:
            reason = f"a puzzle of the task {question.task}, and the checkpoint is of {task}"
            done[number] = _not_asked(question, Status.UNSUPPORTED, reason)
    num_given = 0
    for group in groups.values():
        for number, answer in _answers(loaded, {number: questions[number] for number in group}, options):
            done[number] = answer
            while num_given in done:
                yield done.pop(num_given)
                num_given += 1
    yield from (done[number] for number in sorted(done))


def _answers(
    loaded: LoadedModel, group: Mapping[int, Question], options: SolveOptions
) -> Iterator[tuple[int, Answer]]:
    """The answers to puzzles of one size with their numbers, as they are done."""
    task, device = loaded.cell.task, loaded.model.initial.device
    subject = SUBJECTS[task](loaded, next(iter(group.values())).side)
    num_symbols = alphabet(task, subject.side).num_symbols
    cannot, parts = refusal(loaded.model, subject.side, num_symbols), dict[int, list[Search]]()
    for number, question in group.items():
        if reason := cannot or subject.refusal(question):
            yield number, _not_asked(question, Status.UNSUPPORTED, reason)
        elif reason := subject.contradiction(question):
            yield number, _not_asked(question, Status.CONTRADICTORY, reason)
        else:
            parts[number] = []
    patience = PATIENCE if TASKS[task].verify is None and options.patience is None else options.patience
    limits = Limits(options.max_steps, options.guesses, patience)
    size = options.batch_size or BATCH_SIZES[device.type]
    found = search(
        loaded.model,
        (each for number in parts for each in subject.searches(number, group[number])),
        num_symbols,
        TASKS[task],
        limits,
        rows_at_once(subject.side, size, num_symbols),
        DTYPES[supported(options.precision, False, device)[0]],
    )
    try:
        for each in found:
            parts[each.key].append(each)
            if len(parts[each.key]) == subject.num_variants:
                yield each.key, _answer(subject, group[each.key], parts[each.key], options)
    except torch.OutOfMemoryError as error:
        raise ValueError(f"{device} has too little memory for a batch of {size}") from error


def _answer(subject: "Subject", question: Question, parts: Sequence[Search], options: SolveOptions) -> Answer:
    """What became of a puzzle, by its searches."""
    start = time.perf_counter()
    chosen, remark = subject.chosen(question, parts)
    assert chosen.answer is not None
    text = subject.text(chosen.answer)
    verdict = Verdict(Status.VERIFIED if chosen.is_verified else Status.UNVERIFIED, text, NETWORK, remark)
    if not chosen.is_verified:
        verdict = subject.otherwise(question, chosen, verdict, is_exact=options.is_exact)
    trace = Trace(subject.task, subject.side, subject.tokens(question), chosen.history)
    return Answer(
        place=question.place,
        task=question.task,
        question=question.text,
        steps=sum(part.steps for part in parts),
        attempts=sum(part.attempts for part in parts),
        seconds=sum(part.seconds for part in parts) + time.perf_counter() - start,
        trace=trace if options.has_trace else None,
        **vars(verdict),
    )


def _not_asked(question: Question, status: Status, remark: str) -> Answer:
    """What is said of a puzzle that the network is not asked."""
    return Answer(question.place, question.task, question.text, "", status, remark=remark)


class Subject(ABC):
    """A task on grids of one size, as a checkpoint sees it: what it is shown, and what its answers mean."""

    kind: ClassVar[str]  # of the questions
    has_canvas: ClassVar[bool] = False  # on which questions of all sizes lie
    num_variants = 1  # of a question, each of which is answered

    def __init__(self, loaded: LoadedModel, side: int) -> None:
        self.task, self.side, self.model = loaded.cell.task, side, loaded.cell.model

    def refusal(self, question: Question) -> str | None:
        """Why the model cannot be asked this."""
        return None

    @abstractmethod
    def contradiction(self, question: Question) -> str | None:
        """Why the puzzle cannot have a solution, if a look at it tells."""

    @abstractmethod
    def tokens(self, question: Question) -> Tokens:
        """The question as the model sees it."""

    @abstractmethod
    def text(self, tokens: Tokens) -> str:
        """A prediction in the notation of the question."""

    def searches(self, number: int, question: Question) -> Iterator[Search]:
        """What the model is asked."""
        yield Search(number, self.tokens(question))

    def chosen(self, question: Question, parts: Sequence[Search]) -> tuple[Search, str]:
        """The search whose answer counts, and a remark."""
        return parts[0], ""

    def otherwise(self, question: Question, found: Search, verdict: Verdict, *, is_exact: bool) -> Verdict:
        """The verdict where the network has no verified answer; `is_exact` asks an exact method."""
        return verdict


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

    def otherwise(self, question: Question, found: Search, verdict: Verdict, *, is_exact: bool) -> Verdict:
        values = question.cells.reshape(-1)
        if is_exact:
            return self._solved_exactly(values, found)
        board = tables(box_for_side(self.side))
        if not propagate(places_from_values(values.tolist(), board), board):
            return Verdict(Status.CONTRADICTORY, remark="the given digits leave no place for another")
        missing = [SYMBOLS[digit] for digit in range(1, self.side + 1) if digit not in values]
        is_blind = isinstance(self.model, SeRrmSettings) and self.model.symbols == "tied"
        if is_blind and len(missing) > 1:
            remark = f"the network cannot tell {', '.join(missing)} apart, which are not given"
            return replace(verdict, remark=remark)
        return verdict

    def _solved_exactly(self, values: Tokens, found: Search) -> Verdict:
        """By CP-SAT, which tries the cells first that the network is sure of."""
        assert found.answer is not None and found.certainty is not None
        is_hint = (values == 0) & (found.certainty >= CONFIDENT) & (found.answer > BLANK)
        hints = {cell: int(found.answer[cell]) - BLANK for cell in np.flatnonzero(is_hint).tolist()}
        solutions = list(islice(sudoku_solver.iterate_solutions(values, box_for_side(self.side), hints), 2))
        if not solutions:
            return Verdict(Status.CONTRADICTORY, by=CP_SAT, remark="it has no solution")
        which = "the only solution" if len(solutions) == 1 else "one of several"
        return Verdict(Status.VERIFIED, format_grid(solutions[0]), CP_SAT, f"solved exactly: {which}")


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

    def otherwise(self, question: Question, found: Search, verdict: Verdict, *, is_exact: bool) -> Verdict:
        if not is_exact:
            return verdict
        answer = shortest_path(self.tokens(question))
        assert answer is not None, "a maze without a way is told before"
        return Verdict(Status.VERIFIED, format_maze(answer), BREADTH_FIRST, "solved exactly: a shortest path")


class Arc(Subject):
    """Test inputs of ARC tasks, asked in the variants that a model learned, which vote.

    A model knows an ARC task by the rows of its task-type table, one a variant, so it can be asked about the tasks it
    was trained on and no others; its configuration names them in the order of the rows. (Section "ARC-AGI".)
    """

    kind, has_canvas = ARC, True

    def __init__(self, loaded: LoadedModel, side: int) -> None:
        super().__init__(loaded, loaded.config["side"])
        self.names: list[str] = loaded.config.get("puzzles", [])
        table = loaded.model.task_types
        self.num_slots = 0 if table is None or not self.names else len(table) // len(self.names)
        self.num_variants = min(self.num_slots, loaded.cell.arrays.num_augmentations + 1, NUM_VARIANTS)
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

    def contradiction(self, question: Question) -> str | None:
        return None

    def tokens(self, question: Question) -> Tokens:
        return encode(question.cells, self.side)

    def text(self, tokens: Tokens) -> str:
        """Rows of colours as JSON."""
        return json.dumps(decode(tokens, self.side).tolist())

    def searches(self, number: int, question: Question) -> Iterator[Search]:
        """The input in each variant that votes, with that variant's task type."""
        first = self.names.index(question.name) * self.num_slots
        variants = draw_variants(question.name, self.num_variants, self.seed)
        for slot, (transform, *colours) in enumerate(variants.tolist()):
            shown = recoloured(transformed(question.cells, transform), np.array(colours, dtype=np.uint8))
            yield Search(number, encode(shown, self.side), first + slot)

    def chosen(self, question: Question, parts: Sequence[Search]) -> tuple[Search, str]:
        """That of the grid with most votes, of equal ones the one with the highest mean confidence."""
        variants = draw_variants(question.name, self.num_variants, self.seed)
        voters: dict[bytes, list[Search]] = {}
        for part in parts:
            undo = partial(self._undone, variants[part.task_type % self.num_slots])
            history = [undo(prediction) for prediction in part.history]
            plain = replace(part, answer=history[-1], history=history)
            voters.setdefault(history[-1].tobytes(), []).append(plain)
        winners = max(voters.values(), key=lambda group: (len(group), fmean(map(confidence, group))))
        return max(winners, key=confidence), f"{len(winners)} of {len(parts)} variants agree"

    def _undone(self, variant: UInt8[np.ndarray, "11"], tokens: Tokens) -> Tokens:
        """A prediction in the frame of the task itself."""
        grid = recoloured(decode(tokens, self.side), inverse(variant[1:]))
        return encode(transformed(grid, inverse_transform(int(variant[0]))), self.side)


def confidence(found: Search) -> float:
    """The least certain cell's certainty, the paper's measure for votes."""
    assert found.certainty is not None
    return float(found.certainty.min())


SUBJECTS: dict[str, type[Subject]] = {"sudoku": Sudoku, "maze": Maze, "arc_agi_1": Arc, "arc_agi_2": Arc}
"""By the checkpoint's task."""
