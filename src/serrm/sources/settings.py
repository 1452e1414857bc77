"""Where raw files come from, by task: settings of the `download` stage."""

from typing import Any

from pydantic import Field, NonNegativeInt

from serrm.sources.arc_settings import ArcSource
from serrm.sources.maze_settings import MazeSource
from serrm.sources.sudoku_settings import Closed, Source


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


DOWNLOAD: dict[str, type[AnyDownload]] = {
    "sudoku": DownloadSettings,
    "maze": MazeDownloadSettings,
    "arc_agi_1": ArcDownloadSettings,
    "arc_agi_2": ArcDownloadSettings,
}
