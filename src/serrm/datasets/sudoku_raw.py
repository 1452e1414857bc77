"""The puzzles of raw Sudoku files, set by set: which are trained on, which are scored, and which are for choosing.

Settings are chosen on 9×9 puzzles of no score. Where the training file has more than is trained on, they are of the
rest of it. Beside Sudoku-Extreme's 1,000 training puzzles they are the first of the test file, the others the score.
"""

import logging
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice
from pathlib import Path

from serrm.manifest import only_folder
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.parse import Puzzle, read_csv, read_json, read_tsv
from serrm.puzzles.sudoku.solve import solve
from serrm.sources.sudoku_layout import (
    FILE_4X4,
    FILE_16X16,
    FOLDER_EXTREME_1K,
    FOLDERS_9X9,
    NUM_HELD_OUT,
    TEST_9X9,
    TRAIN_9X9,
    files_25x25,
)

logger = logging.getLogger(__name__)

# A puzzle and its number: its row in the raw file from 0, or its file's place among the sorted file names.
Numbered = tuple[int, Puzzle]


def read_training(raw: Path) -> Iterator[Numbered]:
    """The 9×9 puzzles of the training file."""
    return enumerate(read_csv(only_folder(raw, FOLDERS_9X9) / TRAIN_9X9))


def read_held_out(raw: Path, trained: AbstractSet[int]) -> Iterator[Numbered]:
    """The 9×9 puzzles for choosing, if those with the numbers `trained` are trained on."""
    folder = only_folder(raw, FOLDERS_9X9)
    if folder.name == FOLDER_EXTREME_1K:
        return islice(enumerate(read_csv(folder / TEST_9X9)), NUM_HELD_OUT)
    return (row for row in read_training(raw) if row[0] not in trained)


def read_scored(raw: Path, size: str) -> Iterator[Numbered]:
    """The puzzles of a size, such as 9x9, that are scored."""
    match size:
        case "25x25":
            return read_solvable(files_25x25(raw))
        case "4x4":
            return enumerate(read_tsv(raw / FILE_4X4))
        case "16x16":
            return enumerate(read_csv(raw / FILE_16X16))
        case _:
            folder = only_folder(raw, FOLDERS_9X9)
            first = NUM_HELD_OUT if folder.name == FOLDER_EXTREME_1K else 0
            return islice(enumerate(read_csv(folder / TEST_9X9)), first, None)


def read_solvable(files: list[Path]) -> Iterator[Numbered]:
    """The puzzles of JSON files, solved; those without a solution are dropped, and their number logged.

    The published 25×25 puzzles come without solutions, and 58 of the 100 have none.
    """
    num_dropped = 0
    for number, path in enumerate(files):
        for puzzle in read_json(path):
            answer = solve(puzzle.question, box_for_side(puzzle.side))
            if answer is None:
                num_dropped += 1
            else:
                yield number, replace(puzzle, answer=answer)
    logger.info("%d of %d puzzles without a solution dropped", num_dropped, len(files))
