"""Kaggle's submission.json of an ARC Prize: two attempts at every test input of every puzzle, and a check of its form.

Format: https://www.kaggle.com/competitions/arc-prize-2025/overview/evaluation.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from serrm.puzzles.arc.grid import MAX_SIDE, NUM_COLOURS, Grid
from serrm.scoring.arc import ArcTally

NUM_ATTEMPTS = 2
# Stands for a missing or empty prediction: a grid without cells is no attempt. It is no answer of any published puzzle.
PLACEHOLDER = ((0, 0), (0, 0))

Colour = Annotated[int, Field(ge=0, lt=NUM_COLOURS, strict=True)]
Line = Annotated[list[Colour], Field(min_length=1, max_length=MAX_SIDE)]
Lines = Annotated[list[Line], Field(min_length=1, max_length=MAX_SIDE)]
Submission = dict[str, list[dict[str, list[list[int]]]]]


class Attempts(BaseModel):
    """The two attempts at one test input."""

    model_config = ConfigDict(extra="forbid", strict=True)

    attempt_1: Lines
    attempt_2: Lines


_SCHEMA = TypeAdapter(dict[str, list[Attempts]])


def submission(tally: ArcTally) -> Submission:
    """The two best grids for every test input, in the order of the test inputs; placeholders where there are none."""
    return {
        puzzle: [_attempts(tally, puzzle, test) for test in range(len(answers))]
        for puzzle, answers in tally.answers.items()
    }


def _attempts(tally: ArcTally, puzzle: str, test: int) -> dict[str, list[list[int]]]:
    grids = [_lines(candidate.grid) for candidate in islice(tally.ranking(puzzle, test), NUM_ATTEMPTS)]
    missing = [[list(line) for line in PLACEHOLDER] for _ in range(NUM_ATTEMPTS - len(grids))]
    return {f"attempt_{number}": lines for number, lines in enumerate(grids + missing, start=1)}


def _lines(grid: Grid) -> list[list[int]]:
    lines: list[list[int]] = grid.tolist() if grid.size else [list(line) for line in PLACEHOLDER]
    return lines


def check_submission(submission: Any, num_tests: Mapping[str, int]) -> None:
    """ValueError unless the content of a submission.json has the form Kaggle accepts, naming the first fault.

    Args:
        submission: what `json.load` made of the file.
        num_tests: how many test inputs each puzzle has, by its name.
    """
    try:
        attempts = _SCHEMA.validate_python(submission)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise ValueError(f"submission: {place or 'top level'}: {fault['msg']}") from error
    if wrong := set(attempts) ^ set(num_tests):
        name = min(wrong)
        raise ValueError(f"submission: puzzle {name} is {'unknown' if name in attempts else 'missing'}")
    for puzzle, inputs in attempts.items():
        if len(inputs) != num_tests[puzzle]:
            raise ValueError(f"submission: {puzzle} has {len(inputs)} test inputs, not {num_tests[puzzle]}")
        for number, pair in enumerate(inputs):
            for name, lines in pair:
                if len({len(line) for line in lines}) > 1:
                    raise ValueError(f"submission: {puzzle}.{number}.{name}: lines of different lengths")
