"""A submission holds the two best grids of every test input, and its check names what Kaggle would refuse."""

import json
from typing import Any

import numpy as np
import pytest

from serrm.scoring.arc import ArcTally
from serrm.scoring.submission import check_submission, submission

NUM_TESTS = {"a": 2, "b": 1}
ANSWER = np.ones((1, 1), dtype=np.uint8)
BLANK = [[0, 0], [0, 0]]


def tally_of(votes: list[tuple[str, int, list[list[int]]]]) -> ArcTally:
    tally = ArcTally({puzzle: [ANSWER] * num for puzzle, num in NUM_TESTS.items()})
    for puzzle, test, lines in votes:
        tally.add(puzzle, test, np.array(lines, dtype=np.uint8), 0.5)
    return tally


def test_the_two_best_grids_are_handed_in_and_blanks_where_there_are_none() -> None:
    votes = [("a", 1, [[1, 2]]), ("a", 1, [[3]]), ("a", 1, [[3]]), ("a", 1, [[4], [5]]), ("b", 0, [[9]])]
    content = submission(tally_of(votes))
    assert content == {
        "a": [{"attempt_1": BLANK, "attempt_2": BLANK}, {"attempt_1": [[3]], "attempt_2": [[1, 2]]}],
        "b": [{"attempt_1": [[9]], "attempt_2": BLANK}],
    }
    assert json.loads(json.dumps(content)) == content
    check_submission(content, NUM_TESTS)


def test_an_empty_prediction_is_handed_in_as_a_blank() -> None:
    tally = tally_of([("b", 0, [[9]])])
    tally.add("a", 0, np.zeros((0, 0), dtype=np.uint8), 1.0)
    content = submission(tally)
    assert content["a"][0] == {"attempt_1": BLANK, "attempt_2": BLANK}
    check_submission(content, NUM_TESTS)


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """A right submission but for one place; None takes it away."""
    content: Any = submission(tally_of([]))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    assert isinstance(content, dict)
    return content


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("b",), None, "puzzle b is missing"),
        (("c",), [], "puzzle c is unknown"),
        (("a", 1), None, "a has 1 test inputs, not 2"),
        (("b", 0, "attempt_2"), None, "b.0.attempt_2: Field required"),
        (("b", 0, "attempt_3"), BLANK, "b.0.attempt_3: Extra inputs are not permitted"),
        (("b", 0, "attempt_1"), [], "b.0.attempt_1: List should have at least 1 item"),
        (("b", 0, "attempt_1"), [[]], "b.0.attempt_1.0: List should have at least 1 item"),
        (("b", 0, "attempt_1"), [[0]] * 31, "b.0.attempt_1: List should have at most 30 items"),
        (("b", 0, "attempt_1"), [[0, 1], [2]], "b.0.attempt_1: lines of different lengths"),
        (("b", 0, "attempt_1", 1, 0), 10, "b.0.attempt_1.1.0: Input should be less than 10"),
        (("b", 0, "attempt_1", 1, 0), -1, "b.0.attempt_1.1.0: Input should be greater than or equal to 0"),
        (("b", 0, "attempt_1", 1, 0), "1", "b.0.attempt_1.1.0: Input should be a valid integer"),
        (("b", 0, "attempt_1", 1, 0), 1.0, "b.0.attempt_1.1.0: Input should be a valid integer"),
        (("b", 0), [BLANK, BLANK], "b.0: Input should be a valid dictionary"),
    ],
)
def test_a_wrong_submission_is_refused_by_its_first_fault(
    path: tuple[str | int, ...], value: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^submission: {message}") as caught:
        check_submission(changed(path, value), NUM_TESTS)
    assert "\n" not in str(caught.value)


def test_a_submission_is_an_object() -> None:
    with pytest.raises(ValueError, match="submission: top level: Input should be a valid dictionary"):
        check_submission([], NUM_TESTS)
