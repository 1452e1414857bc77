"""Every test input is asked in every variant, and what comes back is the grid in the puzzle's own frame."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.arrays.arc_evaluation import ArcEvaluation, open_arc_evaluation
from serrm.arrays.arc_stream import open_arc_stream
from serrm.arrays.build_arc import build_arc_arrays
from serrm.puzzles.arc.canvas import decode
from serrm.puzzles.arc.colours import recoloured
from serrm.puzzles.dihedral import transformed
from tests.references import describe

SIDE, NUM_VARIANTS, NUM_TESTS = 5, 1000, 3


@pytest.fixture(scope="module")
def rows(make_arc_rows: Callable[..., list[Any]]) -> list[dict[str, Any]]:
    return make_arc_rows(side=SIDE, seed=1)


@pytest.fixture(scope="module")
def folder(
    rows: list[Any], write_arc_rows: Callable[[list[Any]], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    target = tmp_path_factory.mktemp("arc") / "arrays"
    build_arc_arrays(write_arc_rows(rows), target, task="arc_agi_1", num_variants=NUM_VARIANTS, seed=0)
    return target


@pytest.fixture(scope="module")
def evaluation(folder: Path) -> ArcEvaluation:
    return open_arc_evaluation(folder, NUM_VARIANTS)


def test_the_true_answer_of_every_variant_comes_back_as_the_answer(
    evaluation: ArcEvaluation, rows: list[dict[str, Any]]
) -> None:
    answers = {
        (row["puzzle"], row["number"]): np.frombuffer(row["answer"], np.uint8).reshape(row["answer_rows"], -1)
        for row in rows
        if row["role"] == "test" and row["collection"] == "evaluation"
    }
    asked: Counter[tuple[str, int]] = Counter()
    images = set()
    for start in range(0, evaluation.num_examples, 271):
        batch = evaluation.gather(start, min(271, evaluation.num_examples - start))
        inputs = evaluation.inputs(start, len(batch.answers))
        for place, grid in zip(inputs, evaluation.undo(start, batch.answers), strict=True):
            assert np.array_equal(grid, answers[place])
        asked.update(inputs)
        images |= {answer.tobytes() for answer in batch.answers}
    assert asked == dict.fromkeys(answers, NUM_VARIANTS)
    assert len(images) > NUM_VARIANTS
    found = {
        (name, number): grid
        for name, grids in evaluation.answers().items()
        for number, grid in enumerate(grids)
    }
    assert found.keys() == answers.keys()
    assert all(np.array_equal(found[place], answers[place]) for place in answers)


def test_questions_lie_at_the_corner_in_their_variant(
    evaluation: ArcEvaluation, rows: list[dict[str, Any]]
) -> None:
    questions = {(row["puzzle"], row["number"]): row for row in rows if row["role"] == "test"}
    for start in range(0, evaluation.num_examples, 61):
        batch, (place,) = evaluation.gather(start, 1), evaluation.inputs(start, 1)
        row = questions[place]
        puzzle, transform, permutation = describe(evaluation.task_types, int(batch.task_types[0]))
        grid = np.frombuffer(row["question"], np.uint8).reshape(row["question_rows"], -1)
        assert puzzle == row["puzzle"]
        image = recoloured(transformed(grid, transform), permutation)
        assert np.array_equal(decode(batch.questions[0], SIDE), image)


@given(st.integers(0, NUM_TESTS * NUM_VARIANTS - 1), st.randoms(use_true_random=False))
def test_any_tokens_mean_the_decoded_grid_undone(evaluation: ArcEvaluation, number: int, random: Any) -> None:
    tokens = np.array([random.choice((0, 1, 2, 5, 9, 11, 11, 11)) for _ in range(SIDE**2)], dtype=np.uint8)
    (grid,) = evaluation.undo(number, tokens[None])
    row = int(evaluation.gather(number, 1).task_types[0])
    _, transform, permutation = describe(evaluation.task_types, row)
    assert np.array_equal(recoloured(transformed(grid, transform), permutation), decode(tokens, SIDE))


@pytest.mark.parametrize("has_identity_twice", [False, True])
def test_task_types_are_those_of_training(folder: Path, has_identity_twice: bool) -> None:
    stream = open_arc_stream(folder, 8, seed=0, has_identity_twice=has_identity_twice)
    asked = open_arc_evaluation(folder, 8, has_identity_twice=has_identity_twice)
    num_votes = 8 + has_identity_twice
    assert (asked.num_votes, asked.num_examples) == (num_votes, NUM_TESTS * num_votes)
    assert (len(asked.task_types), asked.num_symbols) == (stream.num_task_types, stream.num_symbols)
    types = asked.gather(0, asked.num_examples).task_types.reshape(NUM_TESTS, num_votes)
    assert (types % num_votes == np.arange(num_votes)).all()
    names = [describe(stream.task_types, int(row)).puzzle for row in types[:, -1]]
    assert names == ["evaluation_1", "evaluation_1", "evaluation_3"]


def test_what_cannot_be_asked_is_named(folder: Path, evaluation: ArcEvaluation) -> None:
    with pytest.raises(ValueError, match=r"variants \[1000\] asked for"):
        open_arc_evaluation(folder, 1001)
    with pytest.raises(ValueError, match="questions 2999 to 3001 asked for, there are 3000"):
        evaluation.gather(2999, 2)
