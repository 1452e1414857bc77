"""Answers to puzzles of any task and size, for `serrm solve` and the Python API.

Puzzles of one checkpoint and size share a batch, which stays full as long as there are any (`serrm.inference.search`).
A Sudoku or a maze is one search; a test input of an ARC puzzle is one search per puzzle variant that votes on its
answer. An answer is written as text, CSV or JSON.
"""

import csv
import io
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from html import escape
from itertools import islice

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.arrays.arc import ArcArrays, ArcEvaluation, draw_variants
from serrm.inference.predict import LoadedModel, puzzles_at_once, puzzles_in_memory, refusal
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import GUESS_STEPS
from serrm.kernels.precision import resolved_precision
from serrm.models.layers import DTYPES
from serrm.puzzles.arc.grids import NUM_COLOURS, decode, encode
from serrm.puzzles.raw import Cells
from serrm.puzzles.task import ArcTask, GridTask, Task
from serrm.puzzles.tasks import ARC, TASKS, grid_task, question_task
from serrm.reading.question import Question
from serrm.scoring.tally import Key, Pool, add_vote, grid_key, ranked

FIRST_STEPS = 16  # supervision steps of the first attempt if guesses follow
ONLY_STEPS = 128  # and if none follow
PATIENCE = 4  # steps for which a prediction must stay the same if no rule verifies it
CONFIDENT = 0.9  # softmax probability from which a cell is a hint to the exact solver
MOST_VOTES = 8  # on an ARC test input: the dihedral variants, on which SE-RRM is trained
EXACT_OFFER = "--exact (is_exact=True) solves it exactly"
NO_CLUE = "without a clue nothing distinguishes the symbols, so the network cannot choose among them"
COLUMNS = "place", "task", "question", "answer", "status", "by", "steps", "attempts", "seconds", "remark"
VARIANT_LENGTH = 1 + NUM_COLOURS  # numbers of a variant of an ARC puzzle: its transform, and the new colours


class Status(StrEnum):
    """Status of an answer, or the reason why there is none."""

    VERIFIED = "verified"  # it obeys the rules and keeps what was given
    UNVERIFIED = "unverified"  # the network's best guess
    CONTRADICTORY = "contradictory"  # the puzzle has no solution
    UNSUPPORTED = "unsupported"  # the checkpoint cannot take it


@dataclass(frozen=True, eq=False)
class Trace:
    """Tokens of a question, and of the prediction after each supervision step of the attempt that gave the answer.

    `task` is the checkpoint's, such as arc_agi_1.
    """

    task: str
    side: int
    question: UInt8[np.ndarray, " I"]
    predictions: Sequence[UInt8[np.ndarray, " I"]]


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer to one puzzle of the input.

    `place` is the file and line of the puzzle, `task` its task (arc for both ARC-AGIs), `question` its text. `cells`
    are the answer's tokens, or the colours of an ARC grid, None without an answer. `steps` counts the supervision steps
    of all `attempts`, and `seconds` is the puzzle's share of the time they took; `by` names the source of the answer,
    the network or an exact solver.
    """

    place: str
    task: str
    question: str
    cells: UInt8[np.ndarray, "_ _"] | None
    status: Status
    by: str = ""
    steps: int = 0
    attempts: int = 0
    seconds: float = 0.0
    remark: str = ""
    trace: Trace | None = None
    signs: str = ""  # those of the question's tokens 1, 2, …, in which the answer is written

    @property
    def grid(self) -> UInt8[np.ndarray, "_ _"]:
        """The answer as an array: a Sudoku's values, a maze's tokens, an ARC grid's colours; 0 × 0 without one.

        The values are 1…n, and a cell left blank is 0.
        """
        if self.cells is None:
            return np.zeros((0, 0), dtype=np.uint8)
        if self.task == ARC:
            return self.cells
        return grid_task(self.task).text.numbers(self.cells)

    @property
    def answer(self) -> str:
        """The answer as text in its question's signs, an ARC grid as rows of JSON; empty without one."""
        if self.cells is not None and self.task == ARC:
            return json.dumps(self.cells.tolist())
        return "".join(sign for row in self._signs() for sign in row)

    def __str__(self) -> str:
        """Write the grid, with neither colours nor lines of boxes, above one line with its status."""
        rows = ["".join(f"{sign} " for sign in row).rstrip() for row in self._signs()]
        return "\n".join([*rows, status_line(self)])

    def _repr_html_(self) -> str:
        """Write the grid as a table above its status, for notebooks."""
        edge = "border:1px solid #999;width:1.6em;height:1.6em;text-align:center"
        cells = ("".join(f'<td style="{edge}">{escape(sign)}</td>' for sign in row) for row in self._signs())
        table = "".join(f"<tr>{row}</tr>" for row in cells)
        return f'<table style="border-collapse:collapse">{table}</table><p>{escape(status_line(self))}</p>'

    def _signs(self) -> list[list[str]]:
        """Write the rows of the answer in its question's signs; none without an answer."""
        if self.cells is None:
            return []
        if self.task == ARC:
            return [[str(colour) for colour in row] for row in self.cells.tolist()]
        signs = self.signs or grid_task(self.task).text.characters
        return [[signs[token - 1] for token in row] for row in self.cells.tolist()]


def as_text(answer: Answer) -> str:
    """Write place, answer, status, cost and remark, separated by tabs."""
    return "\t".join([answer.place, answer.answer, answer.status, cost(answer), answer.remark]).rstrip()


def status_line(answer: Answer) -> str:
    """Write status, cost and remark in a line, such as "verified: 3 steps, 0.041 s"."""
    return ": ".join(filter(None, [answer.status, "; ".join(filter(None, [cost(answer), answer.remark]))]))


def cost(answer: Answer) -> str:
    """Write steps and seconds; empty if the network was not used."""
    unit = "step" if answer.steps == 1 else "steps"
    return f"{answer.steps} {unit}, {answer.seconds:.3f} s" if answer.steps else ""


def as_csv(answer: Answer) -> str:
    """Write the fields separated by commas."""
    return _row(values(answer).values())


def csv_header() -> str:
    """Write the names of the fields, separated by commas."""
    return _row(COLUMNS)


def as_json(answer: Answer) -> str:
    """Write an object of the fields on one line; an ARC answer is a text of JSON rows within it."""
    return json.dumps(values(answer))


def values(answer: Answer) -> dict[str, str | int | float]:
    """List the columns of an answer by name; seconds are rounded to microseconds."""
    return {name: getattr(answer, name) for name in COLUMNS} | {"seconds": round(answer.seconds, 6)}


def summary(statuses: Counter[Status], num_steps: int, seconds: float) -> str:
    """Summarise all answers in one line."""
    num = statuses.total()
    counts = ", ".join(f"{statuses[status]} {status}" for status in Status if statuses[status])
    puzzles, steps = f"{num} puzzle{'s' * (num != 1)}", f"{num_steps} step{'s' * (num_steps != 1)}"
    return f"{puzzles}: {counts}; {steps}, {seconds:.1f} s"


def _row(cells: Iterable[str | int | float]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


FORMATS: dict[str, Callable[[Answer], str]] = {"text": as_text, "csv": as_csv, "json": as_json}


@dataclass(frozen=True)
class SolveOptions:
    """Limits on the cost of a puzzle, and options of its answer.

    `budget` limits the supervision steps of all attempts at a puzzle, `seconds` limits its share of its batches' time,
    and `max_steps` limits the steps of its first attempt, by default to 16 on Sudoku (guesses follow), else to 128.
    """

    budget: int = 4096
    seconds: float | None = None
    max_steps: int | None = None
    precision: str = "auto"  # the faster one on this machine
    batch_size: int | None = None  # 9×9 Sudoku per batch, larger grids fewer; None fits it to the memory
    is_exact: bool = False  # an exact solver answers what the network leaves unsolved
    has_trace: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown precision or a number that is not positive."""
        if self.precision not in ("auto", *DTYPES):
            raise ValueError(f"precision {self.precision!r}: auto, float32 or bfloat16")
        for name in ("budget", "seconds", "max_steps", "batch_size"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise ValueError(f"{name} {value}: must be positive")

    def limits(self, task: Task, num_searches: int) -> Limits:
        """Divide the limits among a puzzle's searches."""
        budget, can_guess = max(1, self.budget // num_searches), task.allows is not None
        first = min(budget, self.max_steps or (FIRST_STEPS if can_guess else ONLY_STEPS))
        guesses = (budget - first) // GUESS_STEPS if can_guess else 0
        patience = PATIENCE if task.verify is None else None
        return Limits(
            first, guesses, patience, math.inf if self.seconds is None else self.seconds / num_searches
        )


def solve(
    questions: Sequence[Question], model_for: Callable[[Question], LoadedModel], options: SolveOptions
) -> Iterator[tuple[int, Answer]]:
    """Yield (number of the question, its answer) in the order of completion.

    `model_for` returns the checkpoint for a question. ValueError if the device has too little memory for a batch.
    """
    groups: dict[tuple[int, int], tuple[LoadedModel, dict[int, Question]]] = {}
    for number, question in enumerate(questions):
        loaded = model_for(question)
        task = loaded.settings.task
        if question.task == question_task(task):
            side = loaded.config.side if question.task == ARC else question.side
            groups.setdefault((id(loaded), side), (loaded, {}))[1][number] = question
        else:
            reason = f"the puzzle's task is {question.task}, but the checkpoint's task is {task}"
            yield number, _without_network(question, Status.UNSUPPORTED, reason)
    for (_, side), (loaded, group) in groups.items():
        yield from _solve_size(loaded, side, group, options)


def in_order(answers: Iterable[tuple[int, Answer]]) -> Iterator[Answer]:
    """Yield the answers in the order of their numbers 0, 1, …, as early as this order allows."""
    waiting: dict[int, Answer] = {}
    next_number = 0
    for number, answer in answers:
        waiting[number] = answer
        while next_number in waiting:
            yield waiting.pop(next_number)
            next_number += 1


def _solve_size(
    loaded: LoadedModel, side: int, group: Mapping[int, Question], options: SolveOptions
) -> Iterator[tuple[int, Answer]]:
    """Yield (number, answer) for the questions of one checkpoint and size, in the order of completion."""
    record, device = TASKS[loaded.settings.task], loaded.model.initial.device
    num_symbols, solvable = record.alphabet(side).num_symbols, dict[int, Question]()
    size_refusal = refusal(loaded.model, side, num_symbols)
    for number, question in group.items():
        reason = size_refusal or (arc_refusal(loaded, question) if question.task == ARC else None)
        if reason:
            yield number, _without_network(question, Status.UNSUPPORTED, reason)
        elif isinstance(record, GridTask) and (reason := record.flaw(question.cells.reshape(-1))):
            yield number, _without_network(question, Status.CONTRADICTORY, reason)
        elif isinstance(record, GridTask) and has_no_clue(question):
            answer = _without_network(question, Status.UNSUPPORTED, NO_CLUE)
            yield number, _exactly(question, record, {}, answer, options)
        else:
            solvable[number] = question
    if not solvable:
        return
    puzzles = (
        ArcTestInputs(loaded, solvable)
        if isinstance(record, ArcTask)
        else GridPuzzles(loaded, side, solvable)
    )
    dtype = DTYPES[resolved_precision(options.precision, device)]
    if options.batch_size is None:
        rows = puzzles_in_memory(loaded.model, side, num_symbols, dtype)
    else:
        rows = puzzles_at_once(side, options.batch_size, num_symbols)
    limits = options.limits(record, puzzles.num_searches)
    unsolved = (puzzle for number in solvable for puzzle in puzzles.searches(number))
    finished: dict[int, list[Search]] = {number: [] for number in solvable}
    try:
        loss = loaded.settings.train.loss  # it defines the probabilities by which the search guesses
        for puzzle in search(loaded.model, unsolved, num_symbols, record, limits, rows, loss, dtype):
            number, searches = puzzle.key, finished[puzzle.key]
            searches.append(puzzle)
            if len(searches) == puzzles.num_searches:
                yield number, _answer(puzzles, number, solvable[number], searches, options)
    except torch.OutOfMemoryError as error:
        raise ValueError(
            f"{device} has too little memory for {rows} puzzles at once; lower the batch size"
        ) from error


def _answer(
    puzzles: "GridPuzzles | ArcTestInputs",
    number: int,
    question: Question,
    searches: Sequence[Search],
    options: SolveOptions,
) -> Answer:
    start = time.perf_counter()
    best, cells, remark = puzzles.best(number, searches)
    status = Status.VERIFIED if best.is_verified else Status.UNVERIFIED
    trace = Trace(puzzles.task, puzzles.side, best.question, best.history) if options.has_trace else None
    answer = Answer(
        question.place,
        question.task,
        question.text,
        cells,
        status,
        "network",
        remark=_with_layout(question, remark),
        trace=trace,
        signs=question.signs,
    )
    if isinstance(puzzles, GridPuzzles) and not best.is_verified:
        answer = _exactly(question, puzzles.record, puzzles.hints(best), answer, options)
    seconds = sum(puzzle.seconds for puzzle in searches) + time.perf_counter() - start
    return replace(
        answer,
        steps=sum(puzzle.steps for puzzle in searches),
        attempts=sum(puzzle.attempts for puzzle in searches),
        seconds=seconds,
    )


def _without_network(question: Question, status: Status, remark: str) -> Answer:
    remark = _with_layout(question, remark)
    return Answer(question.place, question.task, question.text, None, status, remark=remark)


def _with_layout(question: Question, remark: str) -> str:
    """Add to a remark what the size of the grid leaves open, such as the boxes of a 6×6 Sudoku."""
    layout = "" if question.task == ARC else grid_task(question.task).layout(question.side)
    return "; ".join(filter(None, [remark, layout]))


def has_no_clue(question: Question) -> bool:
    """Return True for a grid in which nothing distinguishes the symbols, because a permutation may exchange them."""
    record = grid_task(question.task)
    return record.has_permutations and bool((question.cells == record.blank).all())


def _exactly(
    question: Question, record: GridTask, hints: Mapping[int, int], answer: Answer, options: SolveOptions
) -> Answer:
    """Answer by the exact solver if the user asks for it; else offer it, if there is one."""
    if record.solutions is None:
        return answer
    if not options.is_exact:
        return replace(answer, remark="; ".join(filter(None, [answer.remark, EXACT_OFFER])))
    solutions = list(islice(record.solutions(question.cells.reshape(-1), hints), 2))
    answer = replace(answer, by=record.exact_method, signs=question.signs)
    if not solutions:
        remark = _with_layout(question, "the puzzle has no solution")
        return replace(answer, cells=None, status=Status.CONTRADICTORY, remark=remark)
    remark = "solved exactly" if len(solutions) == 1 else "solved exactly: one of several solutions"
    cells = solutions[0].reshape(question.cells.shape)
    return replace(answer, cells=cells, status=Status.VERIFIED, remark=_with_layout(question, remark))


class GridPuzzles:
    """Puzzles of a `GridTask` and one size, by number."""

    num_searches = 1  # of a puzzle

    def __init__(self, loaded: LoadedModel, side: int, questions: Mapping[int, Question]) -> None:
        record = TASKS[loaded.settings.task]
        assert isinstance(record, GridTask)
        self.record, self.task, self.side, self.questions = record, loaded.settings.task, side, questions

    def searches(self, number: int) -> Iterator[Search]:
        """Yield the one search."""
        yield Search(number, self.questions[number].cells.reshape(-1))

    def best(self, number: int, searches: Sequence[Search]) -> tuple[Search, Cells, str]:
        """Return the search, its answer and a remark.

        Padding in the answer becomes a blank cell; in a task without a blank, it becomes the question's token.
        """
        (puzzle,), question = searches, self.questions[number]
        assert puzzle.answer is not None
        cells = question.cells.reshape(-1)
        unfilled = cells if self.record.blank is None else np.uint8(self.record.blank)
        tokens = np.where(puzzle.answer == 0, unfilled, puzzle.answer)
        remark = self.record.caveat(cells) if puzzle.is_verified else ""
        return puzzle, tokens.reshape(self.side, self.side), remark

    def hints(self, network: Search) -> dict[int, int]:
        """Collect the symbols of which the network is certain, by cell."""
        assert network.answer is not None and network.certainty is not None
        is_hint = self.record.is_open(network.question[None])[0] & (network.certainty >= CONFIDENT)
        return {cell: int(network.answer[cell]) for cell in np.flatnonzero(is_hint).tolist()}


class ArcTestInputs:
    """Test inputs of ARC puzzles, by number, in the variants that vote on their answers.

    A model has a row of its task-type table for every variant of an ARC puzzle, so it can answer only puzzles that
    it was trained on; its configuration names them in the order of the rows. (Section "ARC-AGI".)
    """

    def __init__(self, loaded: LoadedModel, questions: Mapping[int, Question]) -> None:
        self.evaluation = arc_evaluation(loaded, list(questions.values()))
        self.task, self.side, self.questions = loaded.settings.task, self.evaluation.side, questions
        self.first_row = {number: row * self.evaluation.num_votes for row, number in enumerate(questions)}
        self.num_searches = min(MOST_VOTES, self.evaluation.num_votes)  # of a test input

    def searches(self, number: int) -> Iterator[Search]:
        """Yield a search for each variant, with its task type."""
        batch = self.evaluation.gather(self.first_row[number], self.num_searches)
        for tokens, task_type in zip(batch.questions, batch.task_types.tolist(), strict=True):
            yield Search(number, tokens, task_type)

    def best(self, number: int, searches: Sequence[Search]) -> tuple[Search, Cells, str]:
        """Find the first search whose grid won the vote, as evaluation counts it (`serrm.scoring.tally`)."""
        originals = [self._as_given(number, puzzle) for puzzle in searches]
        # Without guesses the last prediction is the answer.
        grids = [decode(puzzle.history[-1], self.side) for puzzle in originals]
        pools: dict[Key, Pool] = {}
        for grid, puzzle in zip(grids, originals, strict=True):
            assert puzzle.certainty is not None
            add_vote(pools, grid, float(puzzle.certainty.min()))
        winner = ranked(pools)[0]
        first = [grid_key(grid) for grid in grids].index(winner)
        remark = f"{pools[winner].num_votes} of {len(searches)} variants agree"
        return originals[first], grids[first], remark

    def _as_given(self, number: int, puzzle: Search) -> Search:
        """Undo the variant in the predictions of a search."""
        # Task types are numbered puzzle · num_variants + variant.
        row = self.first_row[number] + puzzle.task_type % self.evaluation.num_variants
        grids = [self.evaluation.undo(row, prediction[None])[0] for prediction in puzzle.history]
        question = encode(self.questions[number].cells, self.side)
        return replace(puzzle, question=question, history=[encode(grid, self.side) for grid in grids])


def arc_refusal(loaded: LoadedModel, question: Question) -> str | None:
    """Name the reason why a checkpoint cannot answer the test input of an ARC puzzle; None if it can."""
    names, side = loaded.config.puzzles, loaded.config.side
    if not names or loaded.model.task_types is None:
        return "the checkpoint does not list the ARC puzzles it was trained on"
    if question.name not in names:
        return (
            f"ARC puzzle {question.name!r} is not among the {len(names)} that the checkpoint was trained on"
        )
    largest = max(question.side, 0 if question.answer is None else max(question.answer.shape))
    if largest > side:
        return f"a grid of side {largest} does not fit the model's canvas of side {side}"
    return None


def arc_evaluation(loaded: LoadedModel, questions: Sequence[Question]) -> ArcEvaluation:
    """Take the test inputs of ARC puzzles in all variants that a model was trained on; unknown answers are empty."""
    run, side, names = loaded.settings, loaded.config.side, loaded.config.puzzles
    num_variants = run.arrays.num_augmentations + 1  # with the puzzle itself
    index = np.zeros((len(names), num_variants, VARIANT_LENGTH), dtype=np.uint8)
    rows = [names.index(question.name) for question in questions]
    numbers, num_inputs = list[int](), Counter[int]()
    for row in rows:
        index[row] = draw_variants(names[row], num_variants, run.arrays.seed)
        numbers.append(num_inputs[row])
        num_inputs[row] += 1
    empty = np.zeros((0, 0), dtype=np.uint8)
    cells = [question.cells for question in questions]
    answers = [empty if question.answer is None else question.answer for question in questions]
    arrays = ArcArrays(
        side,
        names,
        index,
        puzzles=np.array(rows),
        numbers=np.array(numbers),
        questions=np.stack([encode(grid, side) for grid in cells]),
        answers=np.stack([encode(grid, side) for grid in answers]),
        question_sizes=np.array([grid.shape for grid in cells], np.uint8),
        answer_sizes=np.array([grid.shape for grid in answers], np.uint8),
    )
    return ArcEvaluation(arrays, num_variants, num_votes=num_variants)
