"""Adaptive depth: a puzzle leaves the batch when its answer is verified, and the next one takes its place.

The paper gives every puzzle the same number of supervision steps. Here each spends what it needs: after every step
the answers are checked, puzzles that are done leave, the batch is compacted or filled up with waiting puzzles, and
the rest goes on. What a puzzle is answered does not depend on its neighbours: it is the prediction of a fixed depth
at the step where it stopped.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, UInt8
from torch import Tensor

from serrm.inference.predict import filled_up
from serrm.kernels.accelerate import runs_compiled
from serrm.models.recurrence import RecurrentModel, State, StepOutput
from serrm.training.loss import stablemax

# (questions, predictions), as tokens → which predictions are right, by a rule of the task.
Verify = Callable[[UInt8[np.ndarray, "B I"], UInt8[np.ndarray, "B I"]], Bool[np.ndarray, " B"]]
TIE = 1e-4  # logits no further apart than this are equal: two symbols that a question does not hold


@dataclass(frozen=True)
class Plan:
    """How long a puzzle is worked on, and with how many others.

    It is done when `verify` approves its prediction, when the prediction has been the same for `patience` further
    steps, or after `max_steps` supervision steps.
    """

    max_steps: int
    batch_size: int  # puzzles at once
    verify: Verify | None = None
    patience: int | None = None
    dtype: torch.dtype = torch.float32  # of all arithmetic
    keeps_history: bool = False  # of the predictions, one a step


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of an attempt: predicted tokens, how sure each is, and what it took.

    `certainty` is the largest softmax probability of every cell. `seconds` is the attempt's share of the time of its
    batches. `history` has the prediction of every step where the pool keeps it, and nothing otherwise. `probabilities`
    are those of the training's loss (stablemax) after the last step, where the attempt keeps them.
    """

    prediction: UInt8[np.ndarray, " I"]
    certainty: Float32[np.ndarray, " I"]
    steps: int
    seconds: float
    is_verified: bool
    history: Sequence[UInt8[np.ndarray, " I"]] = ()
    probabilities: Float32[np.ndarray, "I K"] | None = None
    has_guesses: bool = False  # in the puzzle it answers

    @property
    def confidence(self) -> float:
        """The least certain cell's certainty, the paper's measure for ARC voting."""
        return float(self.certainty.min())


@dataclass(frozen=True, eq=False)
class Attempt:
    """A puzzle as the model is shown it: its tokens, its row of the task-type table, and where its state starts.

    `initial` has one vector a state, for all positions (and symbols); None is the model's own. `max_steps` is a
    limit below the plan's. `undo` turns an outcome for what is shown into one for the puzzle asked.
    """

    tokens: UInt8[np.ndarray, " I"]
    task_type: int = 0
    initial: Float[Tensor, "S D"] | None = None
    max_steps: int | None = None
    keeps_probabilities: bool = False
    undo: Callable[[Outcome], Outcome] = lambda outcome: outcome


@dataclass
class Slot:
    """An attempt at work."""

    attempt: Attempt
    last: UInt8[np.ndarray, " I"] | None = None
    steps: int = 0
    num_unchanged: int = 0  # steps for which the prediction has been the same
    seconds: float = 0.0
    history: list[UInt8[np.ndarray, " I"]] = field(default_factory=list)

    def go_on(self, prediction: UInt8[np.ndarray, " I"], seconds: float) -> None:
        """Count a step."""
        is_unchanged = self.last is not None and np.array_equal(self.last, prediction)
        self.num_unchanged = self.num_unchanged + 1 if is_unchanged else 0
        self.last, self.steps, self.seconds = prediction, self.steps + 1, self.seconds + seconds


class Pool:
    """The puzzles of one size that the model works on at once, each at a depth of its own."""

    def __init__(self, model: RecurrentModel, num_symbols: int, plan: Plan) -> None:
        self.model, self.num_symbols, self.plan = model, num_symbols, plan
        self.slots: list[Slot] = []
        self.state: State = ()
        self.device = model.initial.device
        self.tokens = torch.empty(0, 0, dtype=torch.long, device=self.device)
        self.task_types = torch.empty(0, dtype=torch.long, device=self.device)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def num_free(self) -> int:
        """How many puzzles may join."""
        return self.plan.batch_size - len(self.slots)

    def add(self, attempts: Sequence[Attempt]) -> None:
        """Let attempts join, all of the size of those already here."""
        assert len(attempts) <= self.num_free
        if not attempts:
            return
        shown = np.stack([attempt.tokens for attempt in attempts]).astype(np.int64)
        tokens = torch.from_numpy(shown).to(self.device)
        task_types = torch.tensor([attempt.task_type for attempt in attempts], device=self.device)
        state = self._initial_state(attempts)
        if self.slots:
            tokens, task_types = torch.cat([self.tokens, tokens]), torch.cat([self.task_types, task_types])
            state = tuple(torch.cat(parts) for parts in zip(self.state, state, strict=True))
        self.tokens, self.task_types, self.state = tokens, task_types, state
        self.slots += [Slot(attempt) for attempt in attempts]

    def step(self) -> list[tuple[Attempt, Outcome]]:
        """One supervision step for all; those that are done leave, and the batch is compacted."""
        start = time.perf_counter()
        logits = self._predicted()
        predictions = first_of_largest(logits).cpu().numpy().astype(np.uint8)
        is_verified = self._verified(predictions)
        share = (time.perf_counter() - start) / len(self.slots)
        for slot, prediction in zip(self.slots, predictions, strict=True):
            slot.go_on(prediction, share)
            if self.plan.keeps_history:
                slot.history.append(prediction)
        is_done = is_verified | np.array([self._gives_up(slot) for slot in self.slots])
        places = np.flatnonzero(is_done).tolist()
        outcomes = _outcomes([self.slots[place] for place in places], logits[places], is_verified[is_done])
        self._keep(np.flatnonzero(~is_done).tolist())
        return outcomes

    @torch.no_grad()
    def _predicted(self) -> Float[Tensor, "B I K"]:
        """Logits after a step for all; where networks are compiled, every batch has the size of a full one."""
        num = len(self.slots)
        rows = self.plan.batch_size if runs_compiled(self.model, self.plan.dtype) else num
        state = tuple(filled_up(part, rows) for part in self.state)
        task_vectors = self.model.task_vectors(filled_up(self.task_types, rows))
        output: StepOutput = self.model(state, filled_up(self.tokens, rows), task_vectors)
        self.state = tuple(part[:num] for part in output.state)
        return output.logits[:num]

    def _initial_state(self, attempts: Sequence[Attempt]) -> State:
        """The states of new attempts, each part of `B …`."""
        num_positions = len(attempts[0].tokens)
        if all(attempt.initial is None for attempt in attempts):
            return self.model.initial_state(len(attempts), num_positions, self.num_symbols, self.plan.dtype)
        shape = self.model.embedding.state_shape(1, num_positions, self.num_symbols)
        own = self.model.initial
        vectors = [own if attempt.initial is None else attempt.initial for attempt in attempts]
        return tuple(
            torch.cat([vector[index].to(self.plan.dtype).expand(shape) for vector in vectors])
            for index in range(len(self.model.initial))
        )

    def _verified(self, predictions: UInt8[np.ndarray, "B I"]) -> Bool[np.ndarray, " B"]:
        if self.plan.verify is None:
            return np.zeros(len(predictions), dtype=bool)
        return self.plan.verify(np.stack([slot.attempt.tokens for slot in self.slots]), predictions)

    def _gives_up(self, slot: Slot) -> bool:
        patience = self.plan.patience
        has_settled = patience is not None and slot.num_unchanged >= patience
        most = min(self.plan.max_steps, slot.attempt.max_steps or self.plan.max_steps)
        return has_settled or slot.steps >= most

    def _keep(self, places: list[int]) -> None:
        """Compact the batch to the puzzles at these places."""
        if len(places) == len(self.slots):
            return
        self.slots = [self.slots[place] for place in places]
        self.tokens, self.task_types = self.tokens[places], self.task_types[places]
        self.state = tuple(part[places] for part in self.state)


def _outcomes(
    slots: Sequence[Slot], logits: Float[Tensor, "B I K"], is_verified: Bool[np.ndarray, " B"]
) -> list[tuple[Attempt, Outcome]]:
    """What became of attempts that are done, by their last logits."""
    if not slots:
        return []
    certainties = logits.softmax(-1).amax(-1).cpu().numpy()
    probabilities: Sequence[Float32[np.ndarray, "I K"] | None] = [None] * len(slots)
    if any(slot.attempt.keeps_probabilities for slot in slots):
        weights = stablemax(logits.float())
        probabilities = list((weights / weights.sum(-1, keepdim=True)).cpu().numpy())
    found = []
    for slot, certainty, is_right, shares in zip(slots, certainties, is_verified, probabilities, strict=True):
        assert slot.last is not None
        kept = shares if slot.attempt.keeps_probabilities else None
        of_slot = Outcome(slot.last, certainty, slot.steps, slot.seconds, bool(is_right), slot.history, kept)
        found.append((slot.attempt, of_slot))
    return found


def first_of_largest(logits: Float[Tensor, "B I K"]) -> Int[Tensor, "B I"]:
    """The symbol with the largest logit; of several that are equal up to rounding, the first."""
    return (logits >= logits.amax(-1, keepdim=True) - TIE).int().argmax(-1)
