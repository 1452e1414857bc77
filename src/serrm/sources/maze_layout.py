"""The names of the raw maze files: the one place that says which file holds which mazes.

Every source writes these names, and the maze sets are built from them. The folder says what the mazes are: Maze-Hard,
or made here. Paper: section "Maze", data.
"""

from typing import Final

FOLDER_HARD: Final = "maze-30x30-hard-1k"
FOLDER_GENERATED: Final = "maze-generated"
FOLDERS = (FOLDER_HARD, FOLDER_GENERATED)  # of which a raw directory holds exactly one
TRAIN_MAZES: Final = "train.csv"
TEST_MAZES: Final = "test.csv"
