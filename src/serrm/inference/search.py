"""Test-time compute: more supervision steps, and guesses, until an answer obeys the task's rule.

The paper gives every puzzle the same number of supervision steps. Here a puzzle is done at the first step whose answer
obeys the rule. If its first attempt fails, guesses follow. The search takes the blank nearest to a
toss-up between two symbols, fills in each symbol that the rule allows, and expands the likeliest of all fillings next.
Only the network decides where to guess and what is likely. (An extension: docs/decisions/017.)

Every puzzle has a row of the batch and a depth of its own. A finished puzzle frees its row for the next, so the batch
stays full, and each puzzle gets the answer that it would get alone.
"""

import heapq
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor

from serrm.inference.predict import supervision_step, symbols_of
from serrm.inference.settings import GUESS_STEPS
from serrm.models.recurrence import RecurrentModel, State
from serrm.puzzles.task import Task
from serrm.training.parts import LossSettings

LEAST = (
    0.02  # least probability of a guess, as the network is wrong more often than its probabilities suggest
)
UNSOLVED = 0.67  # probability that an attempt at a right filling fails

Tokens = UInt8[np.ndarray, " I"]
Shares = Float32[np.ndarray, "I K"]  # probabilities of the symbols of every cell


@dataclass(frozen=True)
class Limits:
    """Supervision steps of a puzzle's first attempt, and how many attempts with guesses may follow it.

    An attempt also ends when its answer has been the same for `patience` further steps. When the puzzle's share of the
    time of its batches reaches `seconds`, the attempt ends and no other follows.
    """

    max_steps: int
    guesses: int = 0
    patience: int | None = None
    seconds: float = math.inf

    @property
    def budget(self) -> int:
        """The most supervision steps that a puzzle takes."""
        return self.max_steps + self.guesses * GUESS_STEPS


@dataclass(eq=False)
class Search:
    """Search state of a puzzle: answer so far, its cost, the queue of fillings to try, and the current attempt.

    The answer is the verified one, else that of the first attempt. `certainty` is that of
    each cell of the answer, and `history` has the predictions of its attempt. `seconds` is the puzzle's share of the
    time of its batches. An attempt takes the cheapest filling of the queue, from the model's own initial state.
    """

    key: int
    question: Tokens
    task_type: int = 0
    answer: Tokens | None = None
    certainty: Float32[np.ndarray, " I"] | None = None
    history: Sequence[Tokens] = ()
    is_verified: bool = False
    steps: int = 0
    attempts: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        # A heap of (cost, age, question with guesses); the question itself is the first.
        self.waiting: list[tuple[float, int, Tokens]] = [(0.0, 0, self.question)]
        self.seen: set[bytes] = set()
        self.asked, self.cost, self.steps_left = self.question, 0.0, 0
        self.predictions: list[Tokens] = []

    def begin(self, limits: Limits) -> bool:
        """Begin the next attempt; False if there is nothing left to try."""
        is_late = self.seconds >= limits.seconds
        if self.is_verified or is_late or self.attempts > limits.guesses or not self.waiting:
            return False
        self.cost, _, self.asked = heapq.heappop(self.waiting)
        self.steps_left = GUESS_STEPS if self.attempts else limits.max_steps
        self.attempts, self.predictions = self.attempts + 1, []
        return True

    def is_over(self, prediction: Tokens, is_verified: bool, patience: int | None) -> bool:
        """Count a supervision step of the attempt; returns True if it was the last."""
        self.predictions.append(prediction)
        self.steps, self.steps_left, self.is_verified = self.steps + 1, self.steps_left - 1, is_verified
        has_settled = False
        if patience is not None and len(self.predictions) > patience:
            has_settled = all(np.array_equal(each, prediction) for each in self.predictions[-1 - patience :])
        return is_verified or has_settled or self.steps_left == 0

    def end(self, certainty: Float32[np.ndarray, " I"], shares: Shares, task: Task) -> None:
        """Keep the attempt's answer and the fillings that may follow it."""
        if self.is_verified or self.answer is None:
            self.answer, self.certainty, self.history = self.predictions[-1], certainty, self.predictions
        if not self.is_verified and task.allows is not None:
            self.branch(shares, task)

    def branch(self, shares: Shares, task: Task) -> None:
        """Add the fillings of the question just predicted to the queue, each only once."""
        for share, filled in fillings(self.asked, shares, task):
            if filled.tobytes() not in self.seen:
                self.seen.add(filled.tobytes())
                # −log, so that costs add up to −log of the joint probability.
                cost = self.cost - math.log(max(share, LEAST) * UNSOLVED)
                heapq.heappush(self.waiting, (cost, len(self.seen), filled))


def fillings(asked: Tokens, shares: Shares, task: Task) -> Iterator[tuple[float, Tokens]]:
    """Each symbol that the rule allows in the blank nearest to a toss-up, as (its probability, the filled question)."""
    assert task.blank is not None and task.allows is not None
    is_open = task.is_open(asked[None])[0] & (asked == task.blank)
    if not is_open.any():
        return
    symbols = shares[:, task.blank + 1 :]
    _, second, third = -np.sort(-symbols, axis=1)[:, :3].T
    cell = int(np.where(is_open, second - 2 * third, -np.inf).argmax())
    filled = np.repeat(asked[None], symbols.shape[1], axis=0)
    filled[:, cell] = np.arange(task.blank + 1, shares.shape[1])
    for number in np.flatnonzero(task.allows(filled)):
        yield float(symbols[cell, number]), filled[number].copy()


def search(
    model: RecurrentModel,
    puzzles: Iterable[Search],
    num_symbols: int,
    task: Task,
    limits: Limits,
    batch_size: int,
    loss: LossSettings,
    dtype: torch.dtype = torch.float32,
) -> Iterator[Search]:
    """Yield the puzzles, all of one size, as they are done; the next is read when a row of the batch is free.

    `loss` is the one that the model was trained with.
    """
    unread, device = iter(puzzles), model.initial.device
    going: list[Search] = []
    begun: list[Search] = []
    state: State = ()
    while True:
        while len(going) + len(begun) < batch_size and (puzzle := next(unread, None)) is not None:
            if puzzle.begin(limits):
                begun.append(puzzle)
            else:
                yield puzzle
        if begun:
            fresh = model.initial_state(len(begun), len(begun[0].asked), num_symbols, dtype)
            state = tuple(torch.cat(parts) for parts in zip(state, fresh, strict=True)) if going else fresh
        at_work = going + begun
        if not at_work:
            return
        start = time.perf_counter()
        tokens = torch.from_numpy(np.stack([puzzle.asked for puzzle in at_work]).astype(np.int64))
        task_types = torch.tensor([puzzle.task_type for puzzle in at_work], device=device)
        vectors = model.task_vectors(task_types)
        state, logits, *_ = supervision_step(model, state, tokens.to(device), vectors, batch_size)
        predictions, is_verified = symbols_of(logits), [False] * len(at_work)
        if task.verify is not None:
            is_verified = task.obeys(np.stack([each.question for each in at_work]), predictions).tolist()
        seconds = (time.perf_counter() - start) / len(at_work)
        stays, ends = list[int](), list[int]()
        for place, puzzle in enumerate(at_work):
            puzzle.seconds += seconds
            is_over = puzzle.is_over(predictions[place], is_verified[place], limits.patience)
            (ends if is_over or puzzle.seconds >= limits.seconds else stays).append(place)
        going, begun = at_work, []
        if not ends:
            continue
        going, state = [at_work[place] for place in stays], tuple(part[stays] for part in state)
        for place, certainty, shares in zip(ends, *how_sure(logits[ends], num_symbols, loss), strict=True):
            puzzle = at_work[place]
            puzzle.end(certainty, shares, task)
            if puzzle.begin(limits):
                begun.append(puzzle)
            else:
                yield puzzle


def how_sure(
    logits: Float[Tensor, "B I K"], num_symbols: int, loss: LossSettings
) -> tuple[Float32[np.ndarray, "B I"], Float32[np.ndarray, "B I N"]]:
    """The certainty of every cell and the probabilities of its symbols, as the loss has them."""
    shares = loss.probabilities(logits)[..., :num_symbols]
    return loss.certainty(logits).cpu().numpy(), shares.cpu().numpy()
