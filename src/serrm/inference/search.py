"""Test-time compute: more supervision steps, and guesses, until an answer obeys the task's rule.

The paper gives every puzzle the same number of supervision steps. Here a puzzle is done at the first step whose answer
obeys the rule. If its first attempt fails, guesses follow. The search takes the blank nearest to a toss-up between two
symbols, fills in each symbol that the rule allows, and expands the likeliest of all fillings next. Only the network
decides where to guess and what is likely. (An extension; docs/experiments/published.md has its results.)

Every puzzle has a row of the batch and counts its own steps. A finished puzzle frees its row for the next, so the batch
stays full, and every puzzle gets the answer that it would get in a batch of its own, in compiled networks up to
rounding.
"""

import heapq
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from serrm.inference.predict import supervision_step, symbols_of
from serrm.inference.settings import GUESS_STEPS
from serrm.models.recurrence import RecurrentModel, State
from serrm.puzzles.raw import Tokens
from serrm.puzzles.task import Task
from serrm.training.losses import LossSettings

# The least probability of a guess, because the network is wrong more often than its probabilities suggest. This and the
# next number were chosen on validation puzzles.
LEAST_PROBABILITY = 0.02
# The probability that an attempt fails although all its guesses are right. Only then is a further guess needed, so each
# guess multiplies the likelihood of a filling by this.
MISS_PROBABILITY = 0.67

Probabilities = Float32[np.ndarray, "I K"]  # of the symbols of every cell


@dataclass(frozen=True)
class Limits:
    """Supervision steps of a puzzle's first attempt, and how many more attempts, with guesses, may follow it.

    An attempt also ends when its answer has been the same for `patience` further steps. When the puzzle's share of the
    time of its batches reaches `seconds`, the attempt ends and no other follows.
    """

    max_steps: int
    more_attempts: int = 0
    patience: int | None = None
    seconds: float = math.inf

    @property
    def budget(self) -> int:
        """The most supervision steps that a puzzle takes."""
        return self.max_steps + self.more_attempts * GUESS_STEPS


@dataclass(eq=False)
class Search:
    """Search state of a puzzle: the answer so far, the steps taken, the queue of fillings to try, the current attempt.

    The answer is the verified one, else that of the first attempt. `certainty` holds the certainty of every cell of the
    answer, and `history` the predictions of its attempt. `seconds` is the puzzle's share of the time of its batches. An
    attempt takes the likeliest filling of the queue and begins with the model's initial state. `key` is the caller's
    number of the puzzle, by which noise of the initial state is drawn.
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
        # A heap of (negative log-likelihood of the guesses, order of entry, question with guesses).
        self.queue: list[tuple[float, int, Tokens]] = [(0.0, 0, self.question)]
        self.seen: set[bytes] = set()
        self.filling, self.neg_log_likelihood, self.steps_left = self.question, 0.0, 0
        self.predictions: list[Tokens] = []

    def begin(self, limits: Limits) -> bool:
        """Begin the next attempt; False if there is nothing left to try."""
        is_late = self.seconds >= limits.seconds
        if self.is_verified or is_late or self.attempts > limits.more_attempts or not self.queue:
            return False
        self.neg_log_likelihood, _, self.filling = heapq.heappop(self.queue)
        self.steps_left = GUESS_STEPS if self.attempts else limits.max_steps
        self.attempts, self.predictions = self.attempts + 1, []
        return True

    def take_step(self, prediction: Tokens, is_verified: bool, patience: int | None) -> bool:
        """Count a supervision step of the attempt and keep its prediction; returns True if it was the last."""
        self.predictions.append(prediction)
        self.steps, self.steps_left, self.is_verified = self.steps + 1, self.steps_left - 1, is_verified
        has_settled = False
        if patience is not None and len(self.predictions) > patience:
            recent = self.predictions[-1 - patience :]
            has_settled = all(np.array_equal(earlier, prediction) for earlier in recent)
        return is_verified or has_settled or self.steps_left == 0

    def end(self, certainty: Float32[np.ndarray, " I"], probabilities: Probabilities, task: Task) -> None:
        """Keep the attempt's answer and the fillings that may follow it."""
        if self.is_verified or self.answer is None:
            self.answer, self.certainty, self.history = self.predictions[-1], certainty, self.predictions
        if not self.is_verified and task.allows is not None:
            self.branch(probabilities, task)

    def branch(self, probabilities: Probabilities, task: Task) -> None:
        """Add the fillings of the question just predicted to the queue; no filling enters it twice."""
        for probability, filled in fillings(self.filling, probabilities, task):
            if filled.tobytes() not in self.seen:
                self.seen.add(filled.tobytes())
                log_probability = math.log(max(probability, LEAST_PROBABILITY) * MISS_PROBABILITY)
                entry = (self.neg_log_likelihood - log_probability, len(self.seen), filled)
                heapq.heappush(self.queue, entry)


def fillings(question: Tokens, probabilities: Probabilities, task: Task) -> Iterator[tuple[float, Tokens]]:
    """Yield (probability, filled question) for every symbol that the rule allows in the blank nearest to a toss-up."""
    assert task.blank is not None and task.allows is not None
    # Only blanks: a task may let an answer change other cells, too.
    is_open = task.is_open(question[None])[0]
    if not is_open.any():
        return
    symbols = probabilities[:, task.blank + 1 :]
    ranked = -np.sort(-symbols, axis=1)
    # Padded with probabilities of 0, because a task may have fewer than three symbols above the blank.
    _, second, third = np.pad(ranked, ((0, 0), (0, 2)))[:, :3].T
    # Large where the second symbol is likely and the third is not; the first is then at most 1 − second.
    cell = int(np.where(is_open, second - 2 * third, -np.inf).argmax())
    filled = np.repeat(question[None], symbols.shape[1], axis=0)
    filled[:, cell] = np.arange(task.blank + 1, probabilities.shape[1])
    for number in np.flatnonzero(task.allows(filled)):
        yield float(symbols[cell, number]), filled[number].copy()


def search(
    model: RecurrentModel,
    searches: Iterable[Search],
    num_symbols: int,
    task: Task,
    limits: Limits,
    batch_size: int,
    loss: LossSettings,
    dtype: torch.dtype = torch.float32,
) -> Iterator[Search]:
    """Yield the searches of puzzles of one size as they finish; read the next puzzle when a row of the batch is free.

    `loss` is the loss that the model was trained with.
    """
    unread, device = iter(searches), model.initial.device
    active: list[Search] = []  # whose states are in `state`, in this order
    new: list[Search] = []
    state: State = ()
    while True:
        while len(active) + len(new) < batch_size and (puzzle := next(unread, None)) is not None:
            if puzzle.begin(limits):
                new.append(puzzle)
            else:
                yield puzzle
        if new:
            states = [state] if active else []
            states += [
                model.initial_state(1, len(puzzle.filling), num_symbols, dtype, first=puzzle.key)
                for puzzle in new
            ]
            state = tuple(torch.cat(parts) for parts in zip(*states, strict=True))
        batch = active + new
        if not batch:
            return
        start = time.perf_counter()
        tokens = torch.from_numpy(np.stack([puzzle.filling for puzzle in batch]).astype(np.int64))
        task_types = torch.tensor([puzzle.task_type for puzzle in batch], device=device)
        vectors = model.task_vectors(task_types)
        state, logits, *_ = supervision_step(model, state, tokens.to(device), vectors, batch_size)
        predictions, is_verified = symbols_of(logits), [False] * len(batch)
        if task.verify is not None:
            is_verified = task.obeys(np.stack([puzzle.question for puzzle in batch]), predictions).tolist()
        seconds = (time.perf_counter() - start) / len(batch)
        stays, ends = list[int](), list[int]()
        for row, puzzle in enumerate(batch):
            puzzle.seconds += seconds
            is_over = puzzle.take_step(predictions[row], is_verified[row], limits.patience)
            (ends if is_over or puzzle.seconds >= limits.seconds else stays).append(row)
        active, new = batch, []
        if not ends:
            continue
        active, state = [batch[row] for row in stays], tuple(part[stays] for part in state)
        of_cells = certainties_and_probabilities(logits[ends], num_symbols, loss)
        for row, certainty, probabilities in zip(ends, *of_cells, strict=True):
            puzzle = batch[row]
            puzzle.end(certainty, probabilities, task)
            if puzzle.begin(limits):
                new.append(puzzle)
            else:
                yield puzzle


def certainties_and_probabilities(
    logits: Float[Tensor, "B I K"], num_symbols: int, loss: LossSettings
) -> tuple[Float32[np.ndarray, "B I"], Float32[np.ndarray, "B I K"]]:
    """Compute the certainty of every cell and the probabilities of its symbols, as the loss defines them."""
    probabilities = loss.probabilities(logits)[..., :num_symbols]
    return loss.certainty(logits).cpu().numpy(), probabilities.cpu().numpy()
