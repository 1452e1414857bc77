"""Answers to a stream of puzzles of any sizes, in the order of the input, in constant memory.

What `serrm solve` runs. Puzzles are read as places in a batch become free, each goes to the batch of its own size,
and answers wait for those before them; how many may be on their way is bounded, and with it what is read ahead.
(Evaluation at adaptive depth and breadth; see `adaptive` and `breadth`.)
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch

from serrm.inference.adaptive import Plan
from serrm.inference.breadth import Found, Searcher
from serrm.inference.load import LoadedModel
from serrm.inference.predict import refusal, rows_at_once
from serrm.inference.tasks import TASKS
from serrm.models.formulations import DTYPES
from serrm.puzzles.tasks import alphabet
from serrm.solving.answers import NETWORK, Answer, Status, Trace, Verdict
from serrm.solving.questions import Entry, Question
from serrm.solving.subjects import SUBJECTS, Subject
from serrm.training.device import supported

BATCH_SIZES = {"cpu": 8, "cuda": 512}
PATIENCE = 4  # steps for which a prediction has to stay the same where there is no rule
WINDOW, TRACED_WINDOW = 8192, 64  # those traced keep all their predictions


@dataclass(frozen=True)
class SolveOptions:
    """How hard the network tries, and what is done with what it leaves unsolved.

    Attempts after the first are `restarts` or, of Sudoku, `guesses`, not both. `patience` gives a puzzle up when its
    prediction has been the same for that many further steps.
    """

    max_steps: int = 128
    restarts: int = 0
    guesses: int = 0
    precision: Literal["float32", "bfloat16"] = "float32"
    batch_size: int | None = None  # 9×9 Sudoku at once, larger grids fewer; None: as BATCH_SIZES says
    patience: int | None = None
    is_exact: bool = False
    has_trace: bool = False
    seed: int = 0
    window: int | None = None  # puzzles from the oldest unanswered to the newest read; None: as WINDOW says

    def __post_init__(self) -> None:
        if self.precision not in DTYPES:
            raise ValueError(f"precision {self.precision!r}: float32 or bfloat16")
        for name, least in {"max_steps": 1, "restarts": 0, "guesses": 0}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} {getattr(self, name)}: at least {least}")
        if self.guesses and self.restarts:
            raise ValueError(f"{self.restarts} restarts and {self.guesses} guesses: one of the two, please")


@dataclass(frozen=True)
class Group:
    """The puzzles of one size."""

    subject: Subject
    searcher: Searcher
    refusal: str | None  # why the model cannot take this size


class Solver:
    """A checkpoint at work on a stream of puzzles."""

    def __init__(self, loaded: LoadedModel, options: SolveOptions) -> None:
        self.loaded, self.options = loaded, options
        self.device = loaded.model.initial.device
        self.dtype = DTYPES[supported(options.precision, False, self.device)[0]]
        self.batch_size = options.batch_size or BATCH_SIZES[self.device.type]
        self.window = options.window or (TRACED_WINDOW if options.has_trace else WINDOW)
        self.subject = SUBJECTS[loaded.cell.task]
        if options.guesses and TASKS[loaded.cell.task].blank is None:
            raise ValueError(
                f"guesses fill in the blanks of a Sudoku; the checkpoint is of {loaded.cell.task}"
            )
        self.groups: dict[int, Group] = {}  # by size
        self.pending: dict[int, tuple[Entry, Question, Group]] = {}
        self.done: dict[int, Answer] = {}

    def solve(self, entries: Iterable[Entry]) -> Iterator[Answer]:
        """The answer to every entry, in their order.

        Raises ValueError if the device has too little memory for the batch.
        """
        unread: Iterator[Entry] | None = iter(entries)
        num_read = num_given = 0
        while unread is not None or num_given < num_read:
            if num_given in self.done:
                yield self.done.pop(num_given)
                num_given += 1
            elif unread is not None and self._wants_more(num_given, num_read):
                entry = next(unread, None)
                if entry is None:
                    unread = None
                else:
                    self._begin(num_read, entry)
                    num_read += 1
            else:
                self._step(self.pending[num_given][2])

    def _wants_more(self, oldest: int, num_read: int) -> bool:
        """Whether the batch of the oldest puzzle has places free, and the window too."""
        if oldest == num_read:
            return True
        return num_read - oldest < self.window and self.pending[oldest][2].searcher.num_free > 0

    def _begin(self, number: int, entry: Entry) -> None:
        """Answer an entry at once if it is none for the network; else put it to its batch."""
        question = entry.question
        if question is None:
            self.done[number] = _not_asked(entry, Status.MALFORMED, entry.error)
            return
        if question.task != self.subject.kind:
            reason = f"a puzzle of the task {question.task}, and the checkpoint is of {self.loaded.cell.task}"
            self.done[number] = _not_asked(entry, Status.UNSUPPORTED, reason)
            return
        group = self._group(question)
        if why_not := group.refusal or group.subject.refusal(question):
            self.done[number] = _not_asked(entry, Status.UNSUPPORTED, why_not)
        elif contradiction := group.subject.contradiction(question):
            self.done[number] = _not_asked(entry, Status.CONTRADICTORY, contradiction)
        else:
            self.pending[number] = entry, question, group
            group.searcher.add(number, group.subject.attempts(question, self.options.guesses))

    def _step(self, group: Group) -> None:
        try:
            found = group.searcher.step()
        except torch.OutOfMemoryError as error:
            raise ValueError(
                f"{self.device} has too little memory for a batch of {self.batch_size}"
            ) from error
        for each in found:
            entry, question, _ = self.pending.pop(each.key)
            self.done[each.key] = self._answer(entry, question, group.subject, each)

    def _answer(self, entry: Entry, question: Question, subject: Subject, found: Found) -> Answer:
        start = time.perf_counter()
        if found.chosen.is_verified:
            verdict = Verdict(Status.VERIFIED, subject.text(found.chosen.prediction), NETWORK)
        else:
            verdict = subject.otherwise(question, found, is_exact=self.options.is_exact)
        tokens, history = subject.tokens(question), found.chosen.history
        return Answer(
            place=entry.place,
            task=question.task,
            question=entry.text,
            steps=found.puzzle_steps,
            attempts=len(found.attempts),
            seconds=found.seconds + time.perf_counter() - start,
            trace=Trace(subject.task, subject.side, tokens, history) if history else None,
            **vars(verdict),
        )

    def _group(self, question: Question) -> Group:
        key = 0 if self.subject.has_canvas else question.side
        if key not in self.groups:
            self.groups[key] = self._new_group(question)
        return self.groups[key]

    def _new_group(self, question: Question) -> Group:
        options, model = self.options, self.loaded.model
        num_attempts = 1 + options.restarts
        subject = self.subject(self.loaded, question.side, num_attempts, options.seed)
        side, rule = subject.side, TASKS[subject.task].verify
        symbols = alphabet(subject.task, side).num_symbols
        plan = Plan(
            max_steps=options.max_steps,
            batch_size=rows_at_once(side, self.batch_size, symbols),
            verify=rule,
            patience=PATIENCE if rule is None and options.patience is None else options.patience,
            dtype=self.dtype,
            keeps_history=options.has_trace,
        )
        return Group(subject, Searcher(model, symbols, plan), refusal(model, side, symbols))


def _not_asked(entry: Entry, status: Status, remark: str) -> Answer:
    """What is said of a puzzle that the network is not asked."""
    task = "" if entry.question is None else entry.question.task
    return Answer(entry.place, task, entry.text, "", status, remark=remark)
