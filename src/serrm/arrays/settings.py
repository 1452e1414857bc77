"""How many symmetric images a training puzzle has: settings of the `build_arrays` stage, the same for every task; and
the hints with which a training may begin.
"""

from pydantic import NonNegativeInt, PositiveInt

from serrm.settings import Settings


class ArraySettings(Settings):
    """How the training set is augmented; a recipe may ask for fewer images than are built."""

    num_augmentations: NonNegativeInt  # symmetric images of a training puzzle, besides itself
    seed: NonNegativeInt


class HintSettings(Settings):
    """Cells of the answer that the first questions show: of example n, up to most · (1 − n / examples)."""

    most: PositiveInt
    examples: PositiveInt  # from this example on there are none
