"""Raw Sudoku files become puzzle sets: one typed Parquet file a set, one row a puzzle.

This is the work of the `augment` stage for Sudoku: a seeded subset of each raw file, every answer checked,
no test puzzle among the training puzzles. (The augmentations themselves are drawn when a batch is gathered.)
Files are streamed; memory holds one row group, the drawn subset, and the test questions while they are compared.
Paper: section "Sudoku", data: 1,000 training puzzles; test sets of four sizes.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from serrm.datasets.parquet import TRAIN, draw, refuse_leaks, set_file, write_set
from serrm.datasets.settings import SudokuSubsetSettings
from serrm.datasets.sudoku_raw import Numbered, read_held_out, read_scored, read_training
from serrm.manifest import check_manifest, new_directory
from serrm.progress import watch
from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.puzzles.sudoku.parse import Puzzle
from serrm.puzzles.sudoku.text import format_grid
from serrm.randomness import Purpose, keyed_rng
from serrm.sources.sudoku_layout import NUM_HELD_OUT

logger = logging.getLogger(__name__)

HELD_OUT: Final = "held_out"  # 9×9 puzzles to choose settings on, which are never scored otherwise
STREAMS = {TRAIN: 0, HELD_OUT: 1}  # of random numbers; a test set's is its side


def write_puzzle_sets(raw: Path, target: Path, settings: SudokuSubsetSettings) -> None:
    """Write the training set and the test sets of a raw directory to the directory `target`.

    A subset depends on the seed and on its raw file alone. Where puzzles are held out to choose settings on, they are
    written in place of all test sets, 512 of them unless it is said how many.

    Raises:
        ValueError: the raw files are not those of the manifest, a row is malformed, an answer is wrong, a
            test puzzle also is a training puzzle, or there are fewer puzzles than asked for. Nothing is left
            behind.
    """
    check_manifest(raw)
    tests: dict[str, int | None] = {"9x9": settings.num_test, **settings.num_test_sizes}
    if settings.scored == HELD_OUT:
        tests = {HELD_OUT: settings.num_test or NUM_HELD_OUT}
    with new_directory(target) as directory:
        for size, num in {TRAIN: settings.num_train, **tests}.items():
            side = 9 if size in STREAMS else int(size.partition("x")[0])
            # Every set has its own stream, so that no set's size moves another's draw.
            rng = keyed_rng(settings.seed, Purpose.SUBSET, STREAMS.get(size, side))
            puzzles = watch(_read(raw, size, directory), f"{size} puzzles")
            drawn = draw(puzzles, num, rng, size)
            num_written = write_puzzle_set(directory / set_file(size), drawn, side, size)
            logger.info("%s: %d puzzles", set_file(size), num_written)
        refuse_leaks(directory / set_file(TRAIN), directory / set_file(next(iter(tests))), format_grid)


def _read(raw: Path, size: str, written: Path) -> Iterator[Numbered]:
    """The raw puzzles that a set is drawn from; those held out are none of the training set already written."""
    if size == TRAIN:
        return read_training(raw)
    if size != HELD_OUT:
        return read_scored(raw, size)
    import pyarrow.parquet as pq

    ids = pq.read_table(written / set_file(TRAIN), columns=["id"])["id"].to_pylist()
    return read_held_out(raw, set(ids))


def write_puzzle_set(path: Path, puzzles: Iterable[Numbered], side: int, name: str) -> int:
    """Check puzzles of one side and write them as Parquet; returns how many. Blanks are 0, a rating may be null."""
    import pyarrow as pa

    def facts(puzzle: Puzzle) -> dict[str, int | None]:
        return {"num_clues": int((puzzle.question > 0).sum()), "rating": puzzle.rating}

    columns = [pa.field("num_clues", pa.int16(), nullable=False), pa.field("rating", pa.int32())]
    return write_set(path, puzzles, side, name, lambda rows: check_puzzles(rows, side, name), columns, facts)


def check_puzzles(rows: list[Numbered], side: int, name: str) -> None:
    """`ValueError` for the first puzzle of a side without an answer, or with one that breaks the rules.

    That the answer keeps the question's digits is true of every `Puzzle`.
    """
    for number, puzzle in rows:
        if puzzle.answer is None:
            raise ValueError(f"{name}: puzzle {number} has no answer")
    answers = np.stack([puzzle.answer for _, puzzle in rows if puzzle.answer is not None])
    is_solution = are_solutions(answers, box_for_side(side))
    if not is_solution.all():
        number, puzzle = rows[int(np.argmin(is_solution))]
        question = format_grid(puzzle.question)
        raise ValueError(f"{name}: the answer of puzzle {number} is no solution: {question}")
