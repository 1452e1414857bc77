"""What an evaluation measures beside the scores: points of test-time compute, and equivariance."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from torch import Tensor

from serrm.arrays.stream import PuzzleArrays
from serrm.inference.compute import method_points, search_points
from serrm.inference.equivariance import equivariance, symmetric_questions
from serrm.inference.evaluate import score_set
from serrm.inference.methods import Symmetric
from serrm.inference.predict import LoadedModel, Predictor, load_model, puzzles_of_trained_size
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import ComputeSettings, MethodSettings
from serrm.models.halting import HaltingRule
from serrm.models.recurrence import SupervisionStep
from serrm.models.settings import ModelSizes
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.tasks import TASKS, grid_task
from serrm.scoring.metrics import wilson
from serrm.training.losses import Stablemax
from tests.conftest import SHALLOW, TRM_CHANGES, MakePath, config_of, run_settings
from tests.drawn import CPU
from tests.oracle import make_oracle

NUM, NUM_STUDIED = 60, 58  # a batch of 57, another, and puzzles that are not looked at
DEPTHS, GUESSES = (8, 1, 4), (5, 1, 2)


def needed(question: np.ndarray[Any, Any]) -> int:
    """Steps to the solution, by the first clue; those that need nine are never solved as they are."""
    steps = 1 + 4 * int(np.argmax(question > 1))
    return steps if steps < 9 or (question == 1).sum() < 8 else 99


@pytest.fixture
def oracle() -> LoadedModel:
    settings = run_settings()
    model = make_oracle(settings.model.build(ModelSizes(6), None), lambda question, _: needed(question))
    return LoadedModel(model, config_of(settings))


@pytest.fixture(scope="module")
def puzzles() -> PuzzleArrays:
    found = list(generate_puzzles(4, NUM, np.random.default_rng(0), (8, 8)))
    answers = np.stack([puzzle.answer for puzzle in found if puzzle.answer is not None])
    answers[0] = answers[1]  # a label other than the answer that the rule verifies
    return PuzzleArrays("4x4", 4, np.stack([puzzle.question for puzzle in found]), answers, "sudoku")


@pytest.mark.parametrize("right_answers", ["any", "label"])
def test_points_are_what_a_search_of_each_limit_finds(
    oracle: LoadedModel, puzzles: PuzzleArrays, right_answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TASKS, "sudoku", replace(TASKS["sudoku"], right_answers=right_answers))
    test_time_compute = ComputeSettings(
        num_puzzles=NUM_STUDIED, max_steps=DEPTHS, attempt_steps=4, attempts=GUESSES
    )
    puzzles = puzzles.first(NUM_STUDIED)
    first_verified, guesses = search_points(Predictor(oracle, 1), puzzles, test_time_compute)
    limits = [Limits(depth) for depth in sorted(DEPTHS)] + [Limits(4, num - 1) for num in sorted(GUESSES)]
    solved = []
    for limit, point in zip(limits, first_verified + guesses, strict=True):
        asked = (Search(n, row) for n, row in enumerate(puzzles.questions))
        found = list(search(oracle.model, asked, 6, TASKS["sudoku"], limit, 9, Stablemax()))
        num_right = sum(
            each.is_verified
            if right_answers == "any"
            else np.array_equal(each.answer, puzzles.answers[each.key])
            for each in found
        )
        assert (point.fsr, point.fsr_lo) == (num_right / NUM_STUDIED, wilson(num_right, NUM_STUDIED)[0])
        assert point.num_puzzles == NUM_STUDIED
        assert point.mean_steps == pytest.approx(np.mean([each.steps for each in found]))
        solved.append(num_right)
    assert solved[0] < solved[2] and solved[3] < solved[5] <= NUM_STUDIED
    assert [point.max_steps for point in first_verified] == [1, 4, 8]
    assert [(point.num_attempts, point.max_steps) for point in guesses] == [(num, 4) for num in (1, 2, 5)]


@pytest.fixture(scope="module")
def arrays(make_arrays: MakePath) -> Path:
    return make_arrays(side=4, tests=(4, 9))


@pytest.fixture(scope="module", params=["se_rrm", "trm"])
def loaded(request: pytest.FixtureRequest, trained: MakePath) -> LoadedModel:
    return load_model(trained(**(TRM_CHANGES if request.param == "trm" else {"model": SHALLOW})), CPU)


def test_equivariance_compares_what_was_permuted(loaded: LoadedModel, arrays: Path) -> None:
    asked = symmetric_questions(loaded, arrays)
    found = equivariance(Predictor(loaded, 2), asked, num=4, seed=0)
    assert found.num_pairs == 4
    if loaded.settings.model.family == "se_rrm":
        assert found.num_identical == 4
    example = found.example
    permutation = np.array(example.permutation)
    assert permutation[:2].tolist() == [0, 1] and sorted(permutation) == list(range(6))
    assert permutation[list(example.question)].tolist() == [*example.permuted_question]
    is_identical = permutation[list(example.prediction)].tolist() == [*example.permuted_prediction]
    assert is_identical == (found.num_identical == found.num_pairs)
    puzzles = puzzles_of_trained_size(loaded, arrays)
    if is_identical:
        assert puzzles.questions[0].tolist() == [*example.question]


def test_equivariance_is_measured_without_dropout(trained: MakePath, arrays: Path) -> None:
    loaded = load_model(trained(model=SHALLOW), CPU, keeps_dropout=True)
    asked = symmetric_questions(loaded, arrays)
    assert equivariance(Predictor(loaded, 2), asked, num=4, seed=0).num_identical == 4
    assert loaded.model.training, "the learning curve that follows has dropout again"


@pytest.mark.parametrize("kind", ["symmetries", "noise"])
@pytest.mark.parametrize("answer", ["verified", "halted", "certain", "vote"])
def test_a_method_begins_with_the_plain_attempt_and_counts_the_steps_of_all(
    oracle: LoadedModel, puzzles: PuzzleArrays, kind: str, answer: str
) -> None:
    """An oracle whose steps to the solution depend on the first clue, which symmetries move."""
    method = MethodSettings(kind=kind, answer=answer, attempts=(4, 1), steps=5, noise=0.1)
    predictor = Predictor(oracle, 1)
    one, four = method_points(predictor, puzzles, method)
    plain = score_set(predictor, puzzles, (5,))
    assert one.fsr == plain.steps[5]["fsr"] and (one.num_attempts, four.num_attempts) == (1, 4)
    assert one.mean_steps <= 5 and one.mean_steps < four.mean_steps <= 20
    if answer == "verified":
        assert four.mean_steps < 20 and (four.fsr > one.fsr) == (kind == "symmetries")
    else:
        assert four.mean_steps == 20


def test_attempts_end_when_the_answer_no_longer_changes(oracle: LoadedModel, puzzles: PuzzleArrays) -> None:
    method = MethodSettings(kind="noise", answer="halted", attempts=(1,), steps=16, patience=2)
    (point,) = method_points(Predictor(oracle, 1), puzzles, method)
    assert 3 <= point.mean_steps < 16


class Unchanged(HaltingRule):
    """Halts when the state no longer changes much, also in scoring."""

    kind: Literal["unchanged"] = "unchanged"
    tolerance: float

    def signal(self, step: SupervisionStep) -> Tensor:
        assert not step.is_solved.any() and step.targets is step.tokens
        return (step.output.state[-1] - step.before[-1]).flatten(1).abs().amax(1)

    def halts(self, signal: Any, num_steps: Tensor, **_: int) -> Tensor:
        return signal < self.tolerance

    def at_inference(self) -> "Unchanged":
        return self


@pytest.mark.parametrize(("tolerance", "steps"), [(1e9, 1), (0.0, 7)])
def test_a_halting_rule_ends_attempts(
    oracle: LoadedModel, puzzles: PuzzleArrays, tolerance: float, steps: int
) -> None:
    train = oracle.settings.train.model_copy(update={"halting": Unchanged(tolerance=tolerance)})
    config = oracle.config.model_copy(update={"run": oracle.settings.model_copy(update={"train": train})})
    method = MethodSettings(kind="noise", answer="halted", attempts=(1,), steps=7, halts=True)
    (point,) = method_points(Predictor(replace(oracle, config=config), 1), puzzles, method)
    assert point.mean_steps == steps


def test_a_method_by_the_q_head_leaves_out_runs_without(oracle: LoadedModel, puzzles: PuzzleArrays) -> None:
    for changes in ({"answer": "q"}, {"answer": "halted", "halts": True}):
        method = MethodSettings(kind="noise", attempts=(1,), **changes)
        assert method_points(Predictor(oracle, 1), puzzles, method) == ()


@pytest.mark.parametrize("task", ["sudoku", "maze"])
def test_the_answer_to_a_changed_question_is_changed_back(task: str) -> None:
    record, rng = grid_task(task), np.random.default_rng(0)
    tokens = rng.integers(0, record.alphabet(9).num_symbols, (5, 81), dtype=np.uint8)
    method = MethodSettings(kind="symmetries", answer="vote", attempts=(1,))
    for number in range(12):
        attempt = Symmetric(record, 9, tokens, range(3, 8), number, method, seed=1)
        assert np.array_equal(attempt.answers(attempt.inputs()), tokens)
        assert np.array_equal(attempt.inputs(), tokens) == (
            number % 8 == 0 if task == "maze" else number == 0
        )
