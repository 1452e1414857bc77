"""Accuracy against compute: one pass gives what separate runs at every limit give."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from serrm.arrays.puzzles import PuzzleArrays
from serrm.inference.adaptive import Plan
from serrm.inference.breadth import attempts_at, choose, search
from serrm.inference.frontier import adaptive_curve, breadth_points
from serrm.inference.load import LoadedModel
from serrm.inference.tasks import WAYS, solves_sudoku
from serrm.models.registry import build_model
from serrm.puzzles.sudoku.generate import generate_puzzles
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.scoring.intervals import wilson
from serrm.training.settings import TrainCell
from tests.oracle import make_oracle

NUM = 12


def difficulty(question: np.ndarray[Any, Any], first: float) -> int:
    """1 to 9 steps by the place of the first clue and by the initial state."""
    return 1 + (3 * int(np.argmax(question > 1)) + round(7 * abs(first))) % 9


@pytest.fixture
def oracle(make_cell: Callable[..., TrainCell]) -> LoadedModel:
    cell = make_cell()
    model = make_oracle(build_model(cell.model, 6, torch.Generator().manual_seed(0)), difficulty)
    return LoadedModel(model, cell, {})


@pytest.fixture(scope="module")
def puzzles() -> PuzzleArrays:
    found = list(generate_puzzles(box_for_side(4), NUM, np.random.default_rng(0), (5, 8)))
    answers = [puzzle.answer for puzzle in found if puzzle.answer is not None]
    questions = np.stack([puzzle.question for puzzle in found]) + np.uint8(1)
    return PuzzleArrays("4x4", 4, questions, np.stack(answers) + np.uint8(1))


def test_the_curve_is_fsr_and_mean_steps_at_every_limit(oracle: LoadedModel, puzzles: PuzzleArrays) -> None:
    needed = np.array(
        [difficulty(row.astype(np.int64), float(oracle.model.initial[0, 0])) for row in puzzles.questions]
    )
    assert len(set(needed)) > 2
    curve = adaptive_curve(oracle, puzzles, Plan(1, 5, solves_sudoku), (8, 1, 4))
    assert [point["max_steps"] for point in curve] == [1, 4, 8]
    for point in curve:
        limit = int(point["max_steps"])
        num_right = int((needed <= limit).sum())
        assert point["fsr"] == num_right / NUM
        assert (point["fsr_lo"], point["fsr_hi"]) == wilson(num_right, NUM)
        assert point["mean_steps"] == pytest.approx(np.minimum(needed, limit).mean())


def test_an_answer_that_is_no_label_is_not_right(oracle: LoadedModel, puzzles: PuzzleArrays) -> None:
    others = replace(puzzles, answers=puzzles.answers[::-1].copy())
    curve = adaptive_curve(oracle, others, Plan(1, 5, solves_sudoku), (9,))
    assert curve[0]["fsr"] == 0


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("has_rule", [True, False])
def test_fewer_attempts_are_the_first_of_more(
    oracle: LoadedModel, puzzles: PuzzleArrays, kind: str, has_rule: bool
) -> None:
    plan = Plan(4, 7, solves_sudoku if has_rule else None)
    points = breadth_points(oracle, puzzles, plan, kind, (1, 2, 5))
    assert [point["num"] for point in points] == [1, 2, 5]
    ways = WAYS[kind](oracle, 4, 5, 0)
    for point in points:
        rows = ((n, attempts_at(row, ways[: int(point["num"])])) for n, row in enumerate(puzzles.questions))
        alone = list(search(oracle.model, rows, 6, plan))
        right = [
            np.array_equal(choose(each.attempts).prediction, puzzles.answers[each.key]) for each in alone
        ]
        assert point["fsr"] == np.mean(right)
        assert point["mean_steps"] == pytest.approx(np.mean([each.puzzle_steps for each in alone]))
        assert (point["kind"], point["max_steps"]) == (kind, 4)
    if has_rule:
        assert points[0]["fsr"] < points[-1]["fsr"], "further attempts solve more"
