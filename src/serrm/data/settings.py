"""Settings of the data stages by task: where raw files come from, which puzzles are used, how they are augmented."""

from typing import Any, NamedTuple

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from serrm.data.sources.arc_settings import ArcSource
from serrm.data.sources.maze_settings import MazeSource
from serrm.data.sources.settings import Closed, Source
from serrm.puzzles.arc.grid import Scored


class AnyDownload(Closed):
    """Where a task's raw files come from."""

    source: Any
    seed: NonNegativeInt


class DownloadSettings(AnyDownload):
    """Sudoku's."""

    source: Source = Field(discriminator="kind")


class MazeDownloadSettings(AnyDownload):
    """The mazes'."""

    source: MazeSource = Field(discriminator="kind")


class ArcDownloadSettings(AnyDownload):
    """An ARC-AGI set's."""

    source: ArcSource = Field(discriminator="kind")


class SubsetSettings(Closed):
    """Which of the raw puzzles are used; None: all of them. Sudoku's."""

    num_train: PositiveInt | None
    num_test: PositiveInt | None  # of the size trained on
    num_test_sizes: dict[str, PositiveInt | None]  # of the other sizes
    seed: NonNegativeInt


class MazeSubsetSettings(Closed):
    """Which of the raw mazes are used; None: all of them."""

    num_train: PositiveInt | None
    num_test: PositiveInt | None
    seed: NonNegativeInt


class ArcSubsetSettings(Closed):
    """Which of the ARC-AGI puzzles are used; None: all of them."""

    canvas: PositiveInt = Field(le=30)  # side of the canvas; puzzles with a larger grid are left out
    num_train: PositiveInt | None  # training and concept puzzles
    num_test: PositiveInt | None  # puzzles to score
    scored: Scored = "evaluation"  # which; held_out: so many training puzzles instead, to choose settings on
    seed: NonNegativeInt

    @model_validator(mode="after")
    def _says_how_many_are_held_out(self) -> "ArcSubsetSettings":
        if self.scored == "held_out" and self.num_test is None:
            raise ValueError("scored: held_out needs a number of puzzles as num_test, not null")
        return self


class ArraySettings(Closed):
    """How the training set is augmented; a recipe may ask for fewer images than are built."""

    num_augmentations: NonNegativeInt  # symmetric images of a training puzzle, besides itself
    prebuilt: bool  # store their parameters, or draw them when a batch is gathered (Sudoku)
    seed: NonNegativeInt


class TaskData(NamedTuple):
    """The kinds of settings that the stages of a task's data take."""

    download: type[AnyDownload]
    augment: type[Closed]
    arrays: type[ArraySettings]


DATA = {
    "sudoku": TaskData(DownloadSettings, SubsetSettings, ArraySettings),
    "maze": TaskData(MazeDownloadSettings, MazeSubsetSettings, ArraySettings),
    "arc_agi_1": TaskData(ArcDownloadSettings, ArcSubsetSettings, ArraySettings),
    "arc_agi_2": TaskData(ArcDownloadSettings, ArcSubsetSettings, ArraySettings),
}
