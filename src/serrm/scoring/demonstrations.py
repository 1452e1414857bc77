"""Demonstration pairs reproduced: whole grids, and cells, of pairs that a model was trained on.

Where pass@k is 0 this tells a model that has learned nothing from one that does not carry over. It is training data:
no score of the paper, and none to set beside a test score. Evaluation adds one batch after another.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.arc.canvas import FIRST_COLOUR, decoded_sizes
from serrm.scoring.intervals import rates


@dataclass
class DemonstrationTally:
    """Counts over the batches seen so far."""

    num_pairs: int = 0
    num_right_pairs: int = 0
    num_cells: int = 0
    num_right_cells: int = 0

    def add(
        self, predictions: UInt8[np.ndarray, "N I"], answers: UInt8[np.ndarray, "N I"], side: int
    ) -> None:
        """Count N pairs, as tokens on canvases of `side`, their grids at the corner.

        A pair is right if the grid read off the prediction is the answer; cells are those of the answer's grid.
        """
        is_cell = answers >= FIRST_COLOUR
        is_right = is_cell & (predictions == answers)
        has_size = (decoded_sizes(predictions, side) == decoded_sizes(answers, side)).all(axis=1)
        self.num_pairs += len(answers)
        self.num_right_pairs += int(np.sum(has_size & (is_right == is_cell).all(axis=1)))
        self.num_cells += int(np.sum(is_cell))
        self.num_right_cells += int(np.sum(is_right))

    def scores(self) -> dict[str, float]:
        """`pair_fsr` over pairs and `pair_gpa` over the cells of their answers, as fractions, with Wilson intervals.

        ValueError if nothing was counted.
        """
        return rates(
            {
                "pair_fsr": (self.num_right_pairs, self.num_pairs),
                "pair_gpa": (self.num_right_cells, self.num_cells),
            }
        )
