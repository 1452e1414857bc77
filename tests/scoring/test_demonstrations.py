"""Demonstration pairs: whole grids as they are read back, and cells of the answers."""

import numpy as np

from serrm.puzzles.arc.canvas import encode
from serrm.scoring.demonstrations import DemonstrationTally
from serrm.scoring.intervals import wilson

SIDE = 4
GRID = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint8)


def canvases(*grids: list[list[int]]) -> np.ndarray:
    return np.stack([encode(np.array(grid, dtype=np.uint8), SIDE) for grid in grids])


def test_whole_grids_and_cells_are_counted() -> None:
    answers = canvases(GRID.tolist(), [[7]], [[1, 1]])
    predictions = canvases([[1, 2, 3], [4, 0, 6]], [[7]], [[1]])
    tally = DemonstrationTally()
    tally.add(predictions, answers, SIDE)
    assert (tally.num_pairs, tally.num_right_pairs) == (3, 1)
    assert (tally.num_cells, tally.num_right_cells) == (9, 7)
    scores = tally.scores()
    assert (scores["pair_fsr"], scores["pair_gpa"]) == (1 / 3, 7 / 9)
    assert (scores["pair_fsr_lo"], scores["pair_fsr_hi"]) == wilson(1, 3)
    assert (scores["pair_gpa_lo"], scores["pair_gpa_hi"]) == wilson(7, 9)


def test_a_grid_with_all_cells_right_and_one_row_too_many_is_wrong() -> None:
    tally = DemonstrationTally()
    tally.add(canvases([*GRID.tolist(), [1, 2, 3]]), canvases(GRID.tolist()), SIDE)
    assert (tally.num_right_pairs, tally.num_right_cells) == (0, 6)


def test_what_lies_beyond_the_grid_does_not_matter() -> None:
    """As for a test input, a prediction is the grid that is read off the canvas."""
    answers = canvases(GRID.tolist())
    predictions = answers.copy()
    predictions[0, -1] = 5
    tally = DemonstrationTally()
    tally.add(predictions, answers, SIDE)
    assert tally.num_right_pairs == 1
