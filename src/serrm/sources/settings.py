"""Where raw files come from, by task: settings of the `download` stage."""

from typing import Any, Generic, TypeVar

from pydantic import NonNegativeInt

from serrm.settings import Settings
from serrm.sources.arc_settings import ArcSource
from serrm.sources.maze_settings import MazeSource
from serrm.sources.sudoku_settings import Source

S = TypeVar("S")


class Download(Settings, Generic[S]):
    """Where a task's raw files come from."""

    source: S
    seed: NonNegativeInt


DOWNLOAD: dict[str, type[Download[Any]]] = {
    "sudoku": Download[Source],
    "maze": Download[MazeSource],
    "arc_agi_1": Download[ArcSource],
    "arc_agi_2": Download[ArcSource],
}
"""By task. A task of one's own is one entry more."""
