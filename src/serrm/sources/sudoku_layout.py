"""The names of the raw Sudoku files: the one place that says which file holds which puzzles.

Every source writes these names, and the puzzle sets are built from them. Files and formats are the
publishers'; only the 16×16 puzzles, of which none were published, have a name of our own.
Paper: section "Sudoku", data.
"""

from pathlib import Path
from typing import Final

# The folder of the 9×9 puzzles says what they are: the published set, its 1,000 training puzzles with
# other test puzzles beside them, or puzzles made here. A raw directory holds exactly one of them.
FOLDER_EXTREME: Final = "sudoku-extreme"
FOLDER_EXTREME_1K: Final = "sudoku-extreme-1k"
FOLDER_GENERATED = "sudoku-9x9"
FOLDERS_9X9 = (FOLDER_EXTREME, FOLDER_EXTREME_1K, FOLDER_GENERATED)
TRAIN_9X9 = "train.csv"
TEST_9X9 = "test.csv"

# Of the test puzzles beside the 1,000, the first are for choosing settings, the others for the score.
NUM_HELD_OUT = 512

FILE_4X4 = "sudoku-4x4/4x4_sudoku_unique_solution.csv"
FILE_16X16 = "sudoku-16x16/puzzles.csv"
FOLDER_25X25 = "sudoku-25x25"

# Of the 25×25 puzzles 100 were published, one a file; 42 of them have a solution.
NUM_PUBLISHED_25X25 = 100


def files_25x25(raw: Path) -> list[Path]:
    """The 25×25 files sorted by name, so that their order does not depend on the file system."""
    return sorted((raw / FOLDER_25X25).glob("*.json"), key=lambda path: path.name)
