"""Every test input is asked in every variant, and what comes back is the grid in the puzzle's own frame.

Beside them a seeded few trained demonstrations of the puzzles to score are asked, as they were published.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.arrays.arc_demonstrations import ArcDemonstrations, open_arc_demonstrations
from serrm.arrays.arc_evaluation import ArcEvaluation, open_arc_evaluation
from serrm.arrays.arc_stream import open_arc_examples
from serrm.puzzles.arc.canvas import decode, encode
from serrm.puzzles.arc.colours import recoloured
from serrm.puzzles.dihedral import transformed
from tests.arrays.made_arc import grid_of, make_arrays, make_rows
from tests.references import describe

SIDE, NUM_VARIANTS, NUM_TESTS = 5, 1000, 3
# With one demonstration of an evaluation puzzle that the audit has dropped.
DROPPED = ("evaluation_3", "demonstration", 1)
ROWS = [
    row | {"is_trained": row["is_trained"] and (row["puzzle"], row["role"], row["number"]) != DROPPED}
    for row in make_rows(side=SIDE, seed=1)
]
TESTS = {(row["puzzle"], row["number"]): row for row in ROWS if row["role"] == "test"}
DEMONSTRATIONS = {(row["puzzle"], row["number"]): row for row in ROWS if row["role"] == "demonstration"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_arrays(tmp_path_factory.mktemp("arc"), ROWS, SIDE, NUM_VARIANTS)


@pytest.fixture(scope="module")
def evaluation(folder: Path) -> ArcEvaluation:
    return open_arc_evaluation(folder, NUM_VARIANTS)


def test_the_true_answer_of_every_variant_comes_back_as_the_answer(evaluation: ArcEvaluation) -> None:
    answers = {
        place: grid_of(row, "answer") for place, row in TESTS.items() if row["collection"] == "evaluation"
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
    found = {(name, n): grid for name, grids in evaluation.answers().items() for n, grid in enumerate(grids)}
    assert found.keys() == answers.keys()
    assert all(np.array_equal(found[place], answers[place]) for place in answers)


def test_questions_lie_at_the_corner_in_their_variant(evaluation: ArcEvaluation) -> None:
    for start in range(0, evaluation.num_examples, 61):
        batch, (place,) = evaluation.gather(start, 1), evaluation.inputs(start, 1)
        puzzle, transform, permutation = describe(evaluation, int(batch.task_types[0]))
        assert puzzle == place[0]
        image = recoloured(transformed(grid_of(TESTS[place], "question"), transform), permutation)
        assert np.array_equal(decode(batch.questions[0], SIDE), image)


@given(st.integers(0, NUM_TESTS * NUM_VARIANTS - 1), st.randoms(use_true_random=False))
def test_any_tokens_mean_the_decoded_grid_undone(evaluation: ArcEvaluation, number: int, random: Any) -> None:
    tokens = np.array([random.choice((0, 1, 2, 5, 9, 11, 11, 11)) for _ in range(SIDE**2)], dtype=np.uint8)
    (grid,) = evaluation.undo(number, tokens[None])
    _, transform, permutation = describe(evaluation, int(evaluation.gather(number, 1).task_types[0]))
    assert np.array_equal(recoloured(transformed(grid, transform), permutation), decode(tokens, SIDE))


def names(pairs: ArcDemonstrations) -> list[tuple[str, int]]:
    puzzles = [pairs.arrays.puzzle_names[puzzle] for puzzle in pairs.arrays.puzzles[pairs.places]]
    return list(zip(puzzles, pairs.arrays.numbers[pairs.places].tolist(), strict=True))


@pytest.mark.parametrize("twice", [False, True])
def test_task_types_are_those_of_training(folder: Path, twice: bool) -> None:
    stream = open_arc_examples(folder, 8, seed=0, has_identity_twice=twice)
    asked = open_arc_evaluation(folder, 8, has_identity_twice=twice)
    num_votes = 8 + twice
    assert (asked.num_votes, asked.num_examples) == (num_votes, NUM_TESTS * num_votes)
    assert (asked.num_task_types, asked.num_symbols) == (stream.num_task_types, stream.num_symbols)
    types = asked.gather(0, asked.num_examples).task_types.reshape(NUM_TESTS, num_votes)
    assert (types % num_votes == np.arange(num_votes)).all()
    puzzles = [describe(stream, int(row)).puzzle for row in types[:, -1]]
    assert puzzles == ["evaluation_1", "evaluation_1", "evaluation_3"]
    # Demonstrations lie at the corner, asked in the identity.
    pairs = open_arc_demonstrations(folder, 8, 99, has_identity_twice=twice)
    batches = [pairs.gather(start, 3) for start in (0, 3)]
    assert [len(batch.questions) for batch in batches] == [3, 1]
    questions, answers, rows = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    for name, question, answer, row in zip(names(pairs), questions, answers, rows, strict=True):
        assert np.array_equal(question, encode(grid_of(DEMONSTRATIONS[name], "question"), SIDE))
        assert np.array_equal(answer, encode(grid_of(DEMONSTRATIONS[name], "answer"), SIDE))
        assert describe(stream, int(row))[:2] == (name[0], 0)


def test_demonstrations_asked_are_trained_ones_of_scored_puzzles_the_same_for_every_model(
    folder: Path,
) -> None:
    expected = [("evaluation_1", 0), ("evaluation_1", 1), ("evaluation_3", 0), ("evaluation_3", 2)]
    assert names(open_arc_demonstrations(folder, NUM_VARIANTS, 99)) == expected
    assert len(open_arc_demonstrations(folder, NUM_VARIANTS, 0)) == 0
    few, fewer = (names(open_arc_demonstrations(folder, num, 2)) for num in (NUM_VARIANTS, 8))
    assert few == fewer and len(few) == 2
    assert set(few) < set(names(open_arc_demonstrations(folder, NUM_VARIANTS, 3)))


def test_variants_that_are_not_there_are_named(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"variants \[1000\] asked for, the index has 0 to 999"):
        open_arc_evaluation(folder, 1001)
    with pytest.raises(ValueError, match="variants"):
        open_arc_evaluation(folder, 0)
