"""Adaptive depth changes when puzzles leave, not what they are answered."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from serrm.inference.adaptive import TIE, Attempt, Outcome, Plan, first_of_largest
from serrm.inference.breadth import Attempts, Way, attempts_at, search
from serrm.inference.predict import predict
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.training.settings import TrainCell
from tests.conftest import TRM
from tests.oracle import make_oracle, outcomes_of

pytestmark = pytest.mark.numeric

NUM, SIDE, SYMBOLS, MOST = 7, 4, 6, 5
TASK_TYPES = [number % 3 for number in range(NUM)]
MODELS: dict[str, dict[str, Any]] = {
    "se_rrm": {"task_types": "factored", "layers": 1, "h_cycles": 1},
    "trm": {**TRM, "attention_dropout": 0.0},
    "hrm": {**{name: value for name, value in TRM.items() if name != "mixer"}, "family": "hrm"},
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, make_cell: Callable[..., TrainCell]) -> RecurrentModel:
    """A random model of each family, with three task types."""
    train = {} if request.param == "se_rrm" else {"task_types": {"learning_rate": 0.1, "weight_decay": 0.0}}
    settings = make_cell(model=MODELS[request.param], train=train).model
    generator = torch.Generator().manual_seed(2)
    model = build_model(settings, SYMBOLS, generator, num_task_types=3).eval()
    assert model.task_types is not None
    model.task_types.copy_(torch.randn(model.task_types.shape, generator=generator))
    return model


@pytest.fixture(scope="module")
def tokens() -> np.ndarray[Any, Any]:
    """Questions of 4×4 cells, no two alike."""
    drawn = np.random.default_rng(0).integers(1, SYMBOLS, (NUM, SIDE**2), dtype=np.uint8)
    assert len(np.unique(drawn, axis=0)) == NUM
    return drawn


@pytest.fixture(scope="module")
def logits(model: RecurrentModel, tokens: np.ndarray[Any, Any]) -> list[Tensor]:
    """Of the whole batch with its task types, after 1, 2, … steps."""
    return fixed_depth(model, tokens)


def fixed_depth(model: RecurrentModel, tokens: np.ndarray[Any, Any]) -> list[Tensor]:
    steps, batch = range(1, MOST + 1), torch.from_numpy(tokens.astype(np.int64))
    vectors = model.task_vectors(torch.tensor(TASK_TYPES))
    return [output.logits for _, output in predict(model, batch, SYMBOLS, steps, task_vectors=vectors)]


def at_steps(stops: list[int], tokens: np.ndarray[Any, Any]) -> Callable[[Any, Any], Any]:
    """A rule that approves of puzzle i when it has been asked for stops[i] times."""
    asked = {row.tobytes(): 0 for row in tokens}
    wanted = {row.tobytes(): stop for row, stop in zip(tokens, stops, strict=True)}

    def verify(questions: np.ndarray[Any, Any], predictions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        for question in questions:
            asked[question.tobytes()] += 1
        return np.array([asked[question.tobytes()] == wanted[question.tobytes()] for question in questions])

    return verify


def assert_is_prediction(outcome: Outcome, logits: Tensor) -> None:
    """Whether an outcome is that of these logits, but for ties that rounding decides."""
    gaps = logits.amax(-1, keepdim=True) - logits
    is_clear = ~((gaps - TIE).abs() < TIE / 4).any(-1).numpy()
    assert is_clear.mean() > 0.9
    expected = first_of_largest(logits[None])[0].numpy()
    assert np.array_equal(outcome.prediction[is_clear], expected[is_clear])
    assert torch.allclose(torch.from_numpy(outcome.certainty), logits.softmax(-1).amax(-1), atol=1e-4)


def plain_attempts(tokens: np.ndarray[Any, Any]) -> list[Attempt]:
    return [Attempt(row, kind) for row, kind in zip(tokens, TASK_TYPES, strict=True)]


@settings(max_examples=15)
@given(st.lists(st.integers(1, MOST + 2), min_size=NUM, max_size=NUM), st.integers(1, NUM + 1))
def test_compaction_changes_no_answer(
    model: RecurrentModel,
    tokens: np.ndarray[Any, Any],
    logits: list[Tensor],
    stops: list[int],
    batch_size: int,
) -> None:
    plan = Plan(MOST, batch_size, at_steps(stops, tokens))
    outcomes = outcomes_of(model, plain_attempts(tokens), SYMBOLS, plan)
    for number, (stop, outcome) in enumerate(zip(stops, outcomes, strict=True)):
        assert outcome.steps == min(stop, MOST)
        assert outcome.is_verified == (stop <= MOST)
        assert_is_prediction(outcome, logits[outcome.steps - 1][number])


@pytest.mark.parametrize("patience", [1, 2])
def test_patience_ends_when_nothing_changes(
    model: RecurrentModel, tokens: np.ndarray[Any, Any], logits: list[Tensor], patience: int
) -> None:
    predictions = [first_of_largest(each).numpy() for each in logits]
    plan = Plan(MOST, NUM, patience=patience, keeps_history=True)
    for number, outcome in enumerate(outcomes_of(model, plain_attempts(tokens), SYMBOLS, plan)):
        rows = [prediction[number] for prediction in predictions]
        same = [all(np.array_equal(rows[s], rows[s - k - 1]) for k in range(patience)) for s in range(MOST)]
        expected = next((step + 1 for step in range(patience, MOST) if same[step]), MOST)
        assert outcome.steps == expected
        assert not outcome.is_verified
        assert len(outcome.history) == outcome.steps
        assert all(np.array_equal(*pair) for pair in zip(outcome.history, rows, strict=False))


def test_a_batch_stays_full_and_is_read_no_further(
    make_settings: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_oracle(build_model(make_settings(), SYMBOLS), lambda question, _: int(question[0]))
    forward, sizes, num_read, batch_size, num = model.forward, [], 0, 4, 30

    def watched(state: Any, tokens: Tensor, task_vectors: Any) -> Any:
        sizes.append(len(tokens))
        return forward(state, tokens, task_vectors)

    monkeypatch.setattr(model, "forward", watched)

    def puzzles() -> Iterator[tuple[int, Attempts]]:
        nonlocal num_read
        for number in range(num):
            num_read += 1
            tokens = np.array([2 + number % 3, *[1] * 15], dtype=np.uint8)
            yield number, attempts_at(tokens, [Way()])

    def verify(questions: Any, predictions: Any) -> Any:
        return ~(predictions == 2).all(axis=1)

    steps: dict[int, int] = {}
    for found in search(model, puzzles(), SYMBOLS, Plan(9, batch_size, verify)):
        steps[found.key] = found.chosen.steps
        assert num_read <= len(steps) + batch_size and found.seconds > 0
    assert steps == {number: 2 + number % 3 for number in range(num)}
    total = sum(steps.values())
    assert sum(sizes) == total
    assert sizes == sorted(sizes, reverse=True), "smaller batches only when nothing waits"
    assert sizes.count(batch_size) >= total // batch_size - 3


def test_an_attempt_may_start_elsewhere(model: RecurrentModel, tokens: np.ndarray[Any, Any]) -> None:
    other = torch.randn(model.initial.shape, generator=torch.Generator().manual_seed(5))
    attempts = [Attempt(tokens[0]), *(Attempt(tokens[place], initial=other) for place in (0, 3))]
    together = outcomes_of(model, attempts, SYMBOLS, Plan(3, 3))
    own = model.initial.clone()
    at_own = fixed_depth(model, tokens)[2]
    model.initial.copy_(other)
    at_other = fixed_depth(model, tokens)[2]
    model.initial.copy_(own)
    for outcome, expected in zip(together, (at_own[0], at_other[0], at_other[3]), strict=True):
        assert_is_prediction(outcome, expected)


@given(st.integers(0, 5), st.lists(st.floats(-3, 3, width=32), min_size=6, max_size=6), st.integers(0, 5))
def test_of_equal_symbols_the_first_is_taken(place: int, values: list[float], other: int) -> None:
    logits = torch.tensor(values)
    logits[place] = logits[other] = 4.0
    logits[other] += TIE / 2
    assert int(first_of_largest(logits[None, None])) == min(place, other)
