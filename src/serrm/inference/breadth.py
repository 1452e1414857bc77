"""Breadth: several attempts at a puzzle, from other random initial states, on symmetric images of it, or with guesses.

An attempt at a transformed puzzle is turned back before it is judged. Where there is a rule, attempts are made one
after the other and the first verified answer is taken; where there is none, all are made and vote, equal votes by
confidence. Attempts of all puzzles share one pool, so its batch stays full. (Beside depth, the paper's only way to
spend more compute at evaluation, this is the other one.)
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from serrm.inference.adaptive import Attempt, Outcome, Plan, Pool
from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import ModelSettings
from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.symmetry import random_symmetry

Attempts = Generator[Attempt, Outcome | None, None]
"""Attempts at a puzzle, each told the outcome of the one before where a rule judges them one by one."""
Symmetries = Callable[[int, int, np.random.Generator, bool], "list[Way]"]
"""(side, number of ways, rng, whether digits are permuted too) → ways to look at a puzzle, the plain one first."""


@dataclass(frozen=True, eq=False)
class Way:
    """One way to look at any puzzle of a size: place i shows the token of place cells[i], renamed by `symbols`.

    None leaves places, symbols or the initial state as they are.
    """

    cells: Int[np.ndarray, " I"] | None = None
    symbols: UInt8[np.ndarray, " K"] | None = None
    initial: Float[Tensor, "S D"] | None = None

    def attempt(self, tokens: UInt8[np.ndarray, " I"]) -> Attempt:
        """The puzzle looked at this way."""
        moved = tokens if self.cells is None else tokens[self.cells]
        shown = moved if self.symbols is None else self.symbols[moved]
        return Attempt(shown, initial=self.initial, undo=self.undo)

    def undo(self, outcome: Outcome) -> Outcome:
        """An outcome for the image as one for the puzzle itself."""
        if self.cells is None and self.symbols is None:
            return outcome
        places = slice(None) if self.cells is None else np.argsort(self.cells)
        names = np.arange(256) if self.symbols is None else np.argsort(self.symbols)
        names = names.astype(np.uint8)
        assert outcome.probabilities is None, "kept of the puzzle itself alone"
        return replace(
            outcome,
            prediction=names[outcome.prediction[places]],
            certainty=outcome.certainty[places],
            history=[names[prediction[places]] for prediction in outcome.history],
        )


def attempts_at(tokens: UInt8[np.ndarray, " I"], ways: Iterable[Way]) -> Attempts:
    """A puzzle looked at in one way after the other."""
    for way in ways:
        yield way.attempt(tokens)


def sudoku_symmetries(side: int, num: int, rng: np.random.Generator, has_digits: bool) -> list[Way]:
    """`num` random symmetric images of n×n grids, the first the grid itself; digits are permuted too if asked."""
    ways = [Way()]
    for _ in range(num - 1):
        symmetry = random_symmetry(box_for_side(side), rng)
        blank_first = np.concatenate([np.zeros(1, np.uint8), symmetry.digits + np.uint8(1)])
        ways.append(Way(symmetry.cells, blank_first if has_digits else None))
    return ways


def maze_symmetries(side: int, num: int, rng: np.random.Generator, has_digits: bool) -> list[Way]:
    """Up to eight dihedral images of mazes, the first the maze itself; their symbols cannot be exchanged."""
    del rng, has_digits  # there is nothing to draw
    return [Way(), *(Way(cell_order(side, side, k)) for k in range(1, min(num, NUM_TRANSFORMS)))]


def sees_digits(settings: ModelSettings) -> bool:
    """Whether renaming symbols changes what the model computes: for all but a symbol-equivariant SE-RRM."""
    return settings.family != "se_rrm" or settings.symbols != "tied"


@dataclass(frozen=True, eq=False)
class Found:
    """The answer chosen for a puzzle and every attempt at it, in the puzzle's own frame."""

    key: int
    chosen: Outcome
    attempts: Sequence[Outcome]

    @property
    def puzzle_steps(self) -> int:
        """Supervision steps of all attempts: the compute spent."""
        return sum(attempt.steps for attempt in self.attempts)

    @property
    def seconds(self) -> float:
        """Time spent on all attempts."""
        return sum(attempt.seconds for attempt in self.attempts)


def choose(attempts: Sequence[Outcome]) -> Outcome:
    """A verified outcome if there is one; else the prediction with most votes, then the highest mean confidence.

    Attempts with guesses have no vote: they answer other puzzles.
    """
    verified = next((attempt for attempt in attempts if attempt.is_verified), None)
    if verified is not None:
        return verified
    voters: dict[bytes, list[Outcome]] = {}
    for attempt in attempts:
        if attempt.has_guesses:
            continue
        voters.setdefault(attempt.prediction.tobytes(), []).append(attempt)
    winners = max(voters.values(), key=lambda group: (len(group), fmean(each.confidence for each in group)))
    return max(winners, key=lambda each: each.confidence)


@dataclass
class _Search:
    """A puzzle in progress: attempts not yet made, and outcomes by the number of the attempt."""

    key: int
    attempts: Attempts
    num_started: int = 0
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @property
    def is_idle(self) -> bool:
        return len(self.outcomes) == self.num_started

    def found(self) -> Found:
        outcomes = [self.outcomes[number] for number in range(self.num_started)]
        return Found(self.key, choose(outcomes), outcomes)


class Searcher:
    """A pool that is fed with attempts at puzzles of one size until each has its answer."""

    def __init__(self, model: RecurrentModel, num_symbols: int, plan: Plan) -> None:
        self.pool = Pool(model, num_symbols, plan)
        self.has_rule = plan.verify is not None
        self.waiting: deque[Attempt] = deque()
        self.at_work: dict[Attempt, tuple[_Search, int]] = {}  # with the numbers of the attempts

    def __len__(self) -> int:
        """Attempts in progress or waiting: 0 if all puzzles have their answers."""
        return len(self.at_work)

    @property
    def num_free(self) -> int:
        """How many puzzles more would fill the batch."""
        return max(0, self.pool.num_free - len(self.waiting))

    def add(self, key: int, attempts: Attempts) -> None:
        """Take on a puzzle; there is at least one attempt at it."""
        search = _Search(key, attempts)
        self.waiting.extend(self._next_attempts(search))
        assert search.num_started > 0

    def step(self) -> list[Found]:
        """One supervision step for the attempts at work; the puzzles that are done."""
        free = min(self.pool.num_free, len(self.waiting))
        self.pool.add([self.waiting.popleft() for _ in range(free)])
        done = []
        for attempt, outcome in self.pool.step():
            search, number = self.at_work.pop(attempt)
            search.outcomes[number] = attempt.undo(outcome)
            if not search.is_idle:
                continue
            more = [] if outcome.is_verified else list(self._next_attempts(search, outcome))
            self.waiting.extendleft(more)  # before puzzles not begun
            if not more:
                done.append(search.found())
        return done

    def _next_attempts(self, search: _Search, last: Outcome | None = None) -> Iterator[Attempt]:
        """The next attempt where a rule will judge it, else all that are left."""
        with suppress(StopIteration):
            while True:
                attempt = search.attempts.send(last)
                self.at_work[attempt] = search, search.num_started
                search.num_started += 1
                yield attempt
                if self.has_rule:
                    return


def search(
    model: RecurrentModel, puzzles: Iterable[tuple[int, Attempts]], num_symbols: int, plan: Plan
) -> Iterator[Found]:
    """The answers to (key, attempts) of puzzles of one size, in the order in which they are done.

    Puzzles are read when a place in the batch is free, so that it stays full while any wait.
    """
    searcher, waiting = Searcher(model, num_symbols, plan), iter(puzzles)
    while True:
        while searcher.num_free and (puzzle := next(waiting, None)) is not None:
            searcher.add(*puzzle)
        if not len(searcher):
            return
        yield from searcher.step()
