"""Settings that tasks share: of the data stages (kinds of sources, subsets, augmentations), and hints of training."""

from pathlib import Path
from typing import Final, Literal

from pydantic import NonNegativeInt, PositiveInt

from serrm.core.settings import Settings

MIRROR: Final = "mirror"  # the kind of source that reads a folder of the user
Scored = Literal["evaluation", "held_out"]
"""`evaluation`: the test sets. `held_out`: validation puzzles, on which settings are chosen."""


class Hub(Settings):
    """The publishers: Hugging Face and GitHub, at pinned commits."""

    kind: Literal["hub"]


class Mirror(Settings):
    """A local directory with the publishers' file names, for machines without network."""

    kind: Literal["mirror"]
    root: Path
    """Set by `data_sets.<data_set>.files`, which DVC watches."""


class SubsetSettings(Settings):
    """Numbers of puzzles to draw from the raw ones (stage choose_puzzles); None: all of them."""

    num_train: PositiveInt | None
    """Training puzzles; null: all."""
    num_test: PositiveInt | None
    """Test puzzles; null: all."""
    seed: NonNegativeInt


class ArraySettings(Settings):
    """Augmentations of the training set. On ARC-AGI the stage build_arrays draws them, and a recipe may use fewer.

    On Sudoku and mazes the training stream draws them, and a recipe may use fewer or more.
    """

    num_augmentations: NonNegativeInt
    """Augmentations of a training puzzle, besides the puzzle itself."""
    seed: NonNegativeInt
    """The data set's seed, also for the order, augmentations and hints of the training stream."""


class HintSettings(Settings):
    """Cells of the answer that the first training examples show.

    Example n shows up to max_cells · (1 − n / examples) of them.
    """

    max_cells: PositiveInt
    """Largest number of squares shown; falls linearly to 0."""
    examples: PositiveInt
    """Number of examples after which none are shown."""
