"""The names of the raw maze files: the one place that says which file holds which mazes.

Every source writes these names, and the maze sets are built from them. The folder says what the mazes are: Maze-Hard,
or made here. Paper: section "Maze", data.
"""

from pathlib import Path
from typing import Final

FOLDER_HARD: Final = "maze-30x30-hard-1k"
FOLDER_GENERATED: Final = "maze-generated"
FOLDERS = (FOLDER_HARD, FOLDER_GENERATED)
TRAIN_MAZES: Final = "train.csv"
TEST_MAZES: Final = "test.csv"


def maze_folder(raw: Path) -> Path:
    """The folder of the mazes in a raw directory; `ValueError` unless there is exactly one."""
    found = [name for name in FOLDERS if (raw / name).is_dir()]
    if len(found) != 1:
        raise ValueError(f"{raw}: exactly one of {', '.join(FOLDERS)} expected, found {found}")
    return raw / found[0]
