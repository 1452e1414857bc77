"""Methods of test-time compute with independent attempts at a puzzle: how these differ, and which answer is taken.

Unlike guesses (`serrm.inference.search`), no attempt waits for the result of another one, so that answers can vote, or
the Q head can choose. Steps are counted until an attempt stops or is not needed any more, as a program would take them
that ends it there. (Extensions; noisy trajectories are PTRM's, arXiv:2605.19943.)
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import or_
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int, UInt8

from serrm.arrays.stream import PuzzleArrays
from serrm.core.progress import with_progress
from serrm.core.randomness import Purpose, normal_numbers
from serrm.inference import predict
from serrm.inference.settings import ATTEMPTS, MethodSettings
from serrm.models.q_head import HALT
from serrm.models.recurrence import State, SupervisionStep
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import grid_task


@dataclass(frozen=True)
class Attempt:
    """An attempt at a batch of puzzles, by their numbers in the set; attempt 0 of each method is a plain one."""

    task: GridTask
    side: int
    questions: UInt8[np.ndarray, "B I"]
    puzzles: range
    number: int
    settings: MethodSettings
    seed: int

    def inputs(self) -> UInt8[np.ndarray, "B I"]:
        """Change the questions to those that the model gets."""
        return self.questions

    def state(self, state: State, step: int) -> State:
        """Change the state with which a supervision step begins."""
        return state

    def answers(self, predictions: UInt8[np.ndarray, "B I"]) -> UInt8[np.ndarray, "B I"]:
        """Change the model's predictions to answers to `questions`."""
        return predictions


class Noisy(Attempt):
    """Normal numbers are added to the state before every step, one vector per part of the state and puzzle."""

    def state(self, state: State, step: int) -> State:
        """Draw by seed, puzzle, attempt and step."""
        if self.number == 0:
            return state
        address = self.number * self.settings.steps + step
        shape = (len(state), state[0].shape[-1])
        draws = normal_numbers(self.seed, Purpose.TRAJECTORY, self.puzzles, address, shape)
        noise = torch.from_numpy(self.settings.noise * draws).to(state[0].device, state[0].dtype)
        return tuple(
            part + noise[:, index].reshape(len(part), *[1] * (part.dim() - 2), -1)
            for index, part in enumerate(state)
        )


class Symmetric(Attempt):
    """The question is changed by a symmetry of the task, as in training, and the prediction is changed back."""

    def inputs(self) -> UInt8[np.ndarray, "B I"]:
        """Apply the augmentation with the attempt's number."""
        return self.task.apply(self.questions, self._parameters, self.side)

    def answers(self, predictions: UInt8[np.ndarray, "B I"]) -> UInt8[np.ndarray, "B I"]:
        """Undo it."""
        cells, tokens = self._inverse
        known = np.where(predictions < tokens.shape[1], predictions, 0).astype(np.intp)
        result = np.empty_like(predictions)
        np.put_along_axis(result, cells, np.take_along_axis(tokens, known, axis=1), axis=1)
        return result

    @cached_property
    def _inverse(self) -> tuple[Int[np.ndarray, "B I"], UInt8[np.ndarray, "B K"]]:
        """The cells that the question's cells came from, and the tokens that its tokens came from.

        Padding and the first special token stay in every augmentation, so they show where cells go.
        """
        num_cells, num_symbols = self.side**2, self.task.alphabet(self.side).num_symbols
        cells = sum(
            self._moved((np.arange(num_cells) >> bit & 1).astype(np.uint8)).astype(np.intp) << bit
            for bit in range(num_cells.bit_length())
        )
        tokens = [
            self._moved(np.full(num_cells, token, dtype=np.uint8))[:, 0] for token in range(num_symbols)
        ]
        return np.asarray(cells), np.argsort(np.stack(tokens, axis=1), axis=1).astype(np.uint8)

    @cached_property
    def _parameters(self) -> UInt8[np.ndarray, "B P"]:
        most = self.task.most_augmentations
        number = self.number if most is None else self.number % (most + 1)
        return np.stack([self.task.draw(self.seed, puzzle, number, self.side) for puzzle in self.puzzles])

    def _moved(self, grid: UInt8[np.ndarray, " I"]) -> UInt8[np.ndarray, "B I"]:
        grids = np.repeat(grid[None], len(self.questions), axis=0)
        return self.task.apply(grids, self._parameters, self.side)


class Ends(NamedTuple):
    """Attempts as they ended: those at a puzzle, `A`, one at each puzzle of a batch, `B`, or all at all, `N A`."""

    predictions: UInt8[np.ndarray, "... I"]
    steps: Int[np.ndarray, "..."]
    is_verified: Bool[np.ndarray, "..."]
    has_halted: Bool[np.ndarray, "..."]  # by the rule, or as the prediction no longer changed
    certainty: Float32[np.ndarray, "..."]
    q: Float32[np.ndarray, "..."]  # the Q head's logit of halting; 0 without one


class Choice(NamedTuple):
    """The number of the attempt that gives a puzzle's answer, and the steps of all attempts until it is known."""

    attempt: int
    steps: int


def first_verified(ends: Ends) -> Choice:
    """Take the first attempt whose answer obeys the rule, else the first; attempts follow one another."""
    (verified,) = np.nonzero(ends.is_verified)
    if len(verified):
        return Choice(int(verified[0]), int(ends.steps[: verified[0] + 1].sum()))
    return Choice(0, int(ends.steps.sum()))


def first_halted(ends: Ends) -> Choice:
    """Take the attempt that halts after the fewest steps, at which all end; without one the most certain."""
    steps = np.where(ends.has_halted, ends.steps, np.iinfo(np.int64).max)
    if not ends.has_halted.any():
        return most_certain(ends)
    return Choice(int(steps.argmin()), int(np.minimum(ends.steps, steps.min()).sum()))


def most_certain(ends: Ends) -> Choice:
    """Take the attempt whose least certain cell is most certain."""
    return Choice(int(ends.certainty.argmax()), int(ends.steps.sum()))


def highest_q(ends: Ends) -> Choice:
    """Take the attempt with the highest Q value."""
    return Choice(int(ends.q.argmax()), int(ends.steps.sum()))


def most_votes(ends: Ends) -> Choice:
    """Take the answer of most attempts; of equally many, that of the most certain attempt."""
    grids = [prediction.tobytes() for prediction in ends.predictions]
    votes = Counter(grids)
    best = max(range(len(grids)), key=lambda number: (votes[grids[number]], ends.certainty[number]))
    return Choice(best, int(ends.steps.sum()))


def attempt_ends(
    predictor: predict.Predictor, puzzles: PuzzleArrays, settings: MethodSettings, number: int
) -> Ends:
    """Make one attempt at all puzzles, `N`; processes share the batches."""
    processes = predictor.processes
    size = predict.puzzles_at_once(puzzles.side, predictor.batch_size, puzzles.num_symbols)
    starts = range(processes.rank * size, len(puzzles), processes.num * size)
    blocks = {
        start: _batch_ends(
            predictor, puzzles, settings, number, range(start, min(start + size, len(puzzles)))
        )
        for start in with_progress(
            starts, "attempt", len(starts), unit="batch", is_quiet=not processes.is_first
        )
    }
    blocks = processes.merge(blocks, or_)
    columns = zip(*(blocks[start] for start in sorted(blocks)), strict=True)
    return Ends(*map(np.concatenate, columns))


def _batch_ends(
    predictor: predict.Predictor,
    puzzles: PuzzleArrays,
    settings: MethodSettings,
    number: int,
    rows: range,
) -> Ends:
    """Make one attempt at the puzzles of a batch."""
    run, model, task = predictor.loaded.settings, predictor.loaded.model, grid_task(puzzles.task)
    questions = np.asarray(puzzles.questions[rows.start : rows.stop])
    attempt = ATTEMPTS[settings.kind](task, puzzles.side, questions, rows, number, settings, run.seed)
    tokens = torch.from_numpy(attempt.inputs().astype(np.int64)).to(model.initial.device)
    vectors = model.task_vectors(torch.zeros(len(rows), dtype=torch.long, device=model.initial.device))
    state = model.initial_state(len(rows), tokens.shape[1], puzzles.num_symbols, predictor.dtype, rows.start)
    num, ends, history = len(rows), None, list[UInt8[np.ndarray, "B I"]]()
    rule = run.train.halting.at_inference() if settings.halts else None
    is_open = np.ones(num, dtype=bool)
    for step in range(1, settings.steps + 1):
        before = attempt.state(state, step)
        output = predict.supervision_step(model, before, tokens, vectors, num)
        state = output.state
        history.append(attempt.answers(predict.symbols_of(output.logits)))
        has_halted = _are_settled(history, settings.patience)
        if rule is not None:
            counts, is_solved = torch.full((num,), step), torch.zeros(num, dtype=torch.bool)
            taken = SupervisionStep(
                model, tokens, tokens, vectors, before, output, is_solved, counts, settings.steps
            )
            signal = rule.signal(taken)
            signal = None if signal is None else signal.cpu()
            has_halted |= rule.halts(
                signal, counts, seed=run.seed, optimiser_step=0, max_steps=settings.steps
            ).numpy()
        is_verified = np.zeros(num, dtype=bool)
        if settings.answer == "verified":
            is_verified = task.obeys(questions, history[-1])
        q = np.zeros(num, np.float32)
        if output.halting is not None:
            q = output.halting[:, HALT].float().cpu().numpy()
        certainty = predict.confidences(output.logits, run.train.loss).float().cpu().numpy()
        now = Ends(history[-1], np.full(num, step), is_verified, has_halted, certainty, q)
        ends = now if ends is None else Ends(*map(partial(_where, is_open), now, ends))
        is_open &= ~(is_verified | has_halted)
        if not is_open.any():
            break
    assert ends is not None, "at least one step"
    return ends


def _where(is_open: Bool[np.ndarray, " B"], new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(is_open.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _are_settled(history: Sequence[UInt8[np.ndarray, "B I"]], patience: int | None) -> Bool[np.ndarray, " B"]:
    """Find predictions that have been the same for `patience` further steps."""
    if patience is None or len(history) <= patience:
        return np.zeros(len(history[-1]), dtype=bool)
    recent = np.stack(history[-1 - patience :])
    return np.asarray((recent == recent[-1]).all(axis=(0, 2)))
