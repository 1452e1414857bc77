"""Test-time compute: a search finds what an obvious reference finds, puzzle by puzzle, and within its budget."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from serrm.inference.predict import predict, symbols_of
from serrm.inference.search import LEAST_PROBABILITY, MISS_PROBABILITY, Limits, Search, fillings, search
from serrm.inference.settings import GUESS_STEPS
from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import ModelSizes
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.sudoku.rules import are_consistent
from serrm.puzzles.task import Task
from serrm.puzzles.tasks import TASKS
from serrm.training.losses import Stablemax
from tests.conftest import HRM, TASK_TYPES, TRM, run_settings, se_rrm_settings
from tests.drawn import seeded
from tests.oracle import make_oracle

pytestmark = pytest.mark.numeric

NUM, SYMBOLS, BLANK = 7, 6, 1
NO_RULE = TASKS["arc_agi_1"]
ANYTHING = replace(NO_RULE, blank=BLANK, allows=lambda questions: np.full(len(questions), True))
MODELS: dict[str, dict[str, Any]] = {
    "se_rrm": {"task_types": "factored", "layers": 1, "h_cycles": 1},
    "trm": {**TRM, "attention_dropout": 0.0},
    "hrm": HRM,
    "noisy_starts": {**TRM, "attention_dropout": 0.0, "starts": 2, "start_noise": 0.5},
}
Tokens = np.ndarray[Any, Any]


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> RecurrentModel:
    """A random model of each family, with three task types."""
    settings = run_settings(model=MODELS[request.param], train=TASK_TYPES).model
    generator = seeded(2)
    model = settings.build(ModelSizes(SYMBOLS, num_task_types=3), generator).eval()
    model.task_types.copy_(torch.randn(model.task_types.shape, generator=generator))
    return model


@pytest.fixture(scope="module")
def questions() -> Tokens:
    """Puzzles of 4×4 cells with eight clues, which hold all digits."""
    puzzles = generate_puzzles(4, NUM, np.random.default_rng(1), (8, 8))
    return np.stack([puzzle.question for puzzle in puzzles])


def reference(
    model: RecurrentModel, number: int, question: Tokens, task_type: int, task: Task, limits: Limits
) -> tuple[bool, int, int, list[int]]:
    """Verified or not, steps, attempts and answer of one puzzle by its number, all by itself."""
    waiting: list[tuple[float, int, Tokens]] = [(0.0, 0, question)]
    steps = attempts = 0
    answer: list[int] = []
    while waiting and attempts <= limits.more_attempts:
        waiting.sort(key=lambda each: each[:2])
        cost, _, asked = waiting.pop(0)
        depth = GUESS_STEPS if attempts else limits.max_steps
        attempts += 1
        predictions: list[list[int]] = []
        tokens = torch.from_numpy(asked.astype(np.int64))[None]
        vectors = model.task_vectors(torch.tensor([task_type]))
        steps_of_attempt = range(1, depth + 1)
        for _, output in predict(
            model, tokens, SYMBOLS, steps_of_attempt, task_vectors=vectors, first=number
        ):
            predictions.append(symbols_of(output.logits)[0].tolist())
            steps += 1
            if task.verify is not None and task.verify(question[None], symbols_of(output.logits))[0]:
                return True, steps, attempts, predictions[-1]
            last = predictions[-1 - (limits.patience or 99) :]
            if limits.patience and len(last) > limits.patience and all(each == last[0] for each in last):
                break
        answer = answer or predictions[-1]
        if not (asked == BLANK).any():
            continue
        weights = torch.where(output.logits[0] >= 0, output.logits[0] + 1, 1 / (1 - output.logits[0]))
        shares = (weights / weights.sum(-1, keepdim=True)).numpy()
        ranked = np.sort(shares[:, BLANK + 1 :], axis=1)
        doubt = [
            row[-2] - 2 * row[-3] if token == BLANK else -math.inf
            for row, token in zip(ranked, asked, strict=True)
        ]
        cell = int(np.argmax(doubt))
        for symbol in range(BLANK + 1, SYMBOLS):
            filled = asked.copy()
            filled[cell] = symbol
            if are_consistent(filled[None])[0]:
                more = -math.log(max(shares[cell, symbol], LEAST_PROBABILITY) * MISS_PROBABILITY)
                waiting.append((cost + more, len(waiting) + 100 * steps, filled))
    return False, steps, attempts, answer


@settings(max_examples=6)
@given(
    st.integers(1, NUM + 1),
    st.integers(1, 6),
    st.integers(0, 6),
    st.none() | st.integers(1, 2),
    st.sampled_from([None, 2, 5, 50]),
)
def test_a_search_is_what_every_puzzle_finds_by_itself(
    model: RecurrentModel,
    questions: Tokens,
    batch_size: int,
    max_steps: int,
    guesses: int,
    patience: int | None,
    one_in: int | None,
) -> None:
    """Under a rule that one in so many predictions obeys, or none."""

    def verify(questions: Tokens, predictions: Tokens) -> Tokens:
        return np.asarray((predictions * np.arange(16)).sum(1) % (one_in or 1) == 1)

    task = replace(NO_RULE, verify=verify, blank=BLANK, allows=are_consistent)
    limits = Limits(max_steps, guesses, patience)
    puzzles = [Search(n, question, n % 3) for n, question in enumerate(questions)]
    found = {
        each.key: each for each in search(model, puzzles, SYMBOLS, task, limits, batch_size, Stablemax())
    }
    assert sorted(found) == list(range(NUM))
    for n, question in enumerate(questions):
        each, expected = found[n], reference(model, n, question, n % 3, task, limits)
        assert (each.is_verified, each.steps, each.attempts, each.answer.tolist()) == expected
        assert each.steps <= limits.budget and each.seconds > 0
        assert np.array_equal(each.history[-1], each.answer)


def test_a_batch_stays_full_and_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_oracle(
        se_rrm_settings().build(ModelSizes(SYMBOLS), None), lambda question, _: int(question[0])
    )
    forward, sizes, num_read, batch_size, num = model.forward, [], 0, 4, 30

    def watched(state: Any, tokens: Tensor, task_vectors: Any) -> Any:
        sizes.append(len(tokens))
        return forward(state, tokens, task_vectors)

    monkeypatch.setattr(model, "forward", watched)

    def puzzles() -> Iterator[Search]:
        nonlocal num_read
        for number in range(num):
            num_read += 1
            yield Search(number, np.array([2 + number % 3, *[1] * 15], dtype=np.uint8))

    task, steps = replace(NO_RULE, verify=lambda _, predictions: ~(predictions == 2).all(axis=1)), {}
    for found in search(model, puzzles(), SYMBOLS, task, Limits(9), batch_size, Stablemax()):
        steps[found.key] = found.steps
        assert num_read <= len(steps) + batch_size
    assert steps == {number: 2 + number % 3 for number in range(num)}
    assert sum(sizes) == sum(steps.values())
    assert sizes == sorted(sizes, reverse=True), "smaller batches only when nothing waits"
    assert sizes.count(batch_size) >= sum(sizes) // batch_size - 3


@given(st.integers(0, 10**6), st.integers(1, 60))
def test_the_likeliest_guesses_come_first_and_none_twice(seed: int, num: int) -> None:
    """Of a network that never changes its mind."""
    rng = np.random.default_rng(seed)
    question = rng.integers(1, 5, 4).astype(np.uint8)
    shares = rng.dirichlet(np.full(5, 0.5), 4).astype(np.float32)
    puzzle, asked, likelihoods = Search(0, question), list[bytes](), list[float]()
    while len(asked) < num and puzzle.begin(Limits(1, num)):
        puzzle.branch(shares, ANYTHING)
        negative, filled = puzzle.neg_log_likelihood, puzzle.filling
        asked.append(filled.tobytes())
        likelihoods.append(-negative)
        cells = np.flatnonzero(filled != question)
        assert (question[cells] == BLANK).all()
        likely = [max(shares[cell, filled[cell]], LEAST_PROBABILITY) * MISS_PROBABILITY for cell in cells]
        assert negative == pytest.approx(-math.log(math.prod(likely)))
    assert likelihoods == sorted(likelihoods, reverse=True) and len(set(asked)) == len(asked)
    if num == 60 and not puzzle.queue:
        assert sum(BLANK not in each for each in asked) == 3 ** (question == BLANK).sum()


def test_the_least_certain_of_cells_with_two_symbols_is_filled() -> None:
    binary = np.array([[0, 0, 0.9, 0.1], [0, 0, 0.4, 0.6]], dtype=np.float32)
    found = fillings(np.array([1, 1], np.uint8), binary, ANYTHING)
    assert [filled.tolist() for _, filled in found] == [[1, 2], [1, 3]]
