"""Settings of the data stages that tasks share: kinds of sources, subsets, augmentations, hints."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, NonNegativeInt, PositiveInt

from serrm.core.settings import Settings

Scored = Literal["evaluation", "held_out"]
"""The test sets, or puzzles of no score to choose settings on."""


class Hub(Settings):
    """The publishers: Hugging Face and GitHub, at pinned commits."""

    kind: Literal["hub"]


def _at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError(f"{path}: {error}") from None


class Mirror(Settings):
    """A local directory with the publishers' file names, for machines without network."""

    kind: Literal["mirror"]
    # The directory; ~ is the user's own, and a relative one is relative to the repository root.
    root: Annotated[Path, AfterValidator(_at_home)]


class SubsetSettings(Settings):
    """Numbers of puzzles to draw from the raw ones (stage augment); None: all of them."""

    num_train: PositiveInt | None
    num_test: PositiveInt | None
    seed: NonNegativeInt


class ArraySettings(Settings):
    """Augmentations of the training set (stage build_arrays); a recipe may use fewer than are built."""

    num_augmentations: NonNegativeInt  # of a training puzzle, besides itself
    seed: NonNegativeInt


class HintSettings(Settings):
    """Cells of the answer that the first questions show: of example n, up to max_cells · (1 − n / examples)."""

    max_cells: PositiveInt
    examples: PositiveInt  # from this example on there are none
