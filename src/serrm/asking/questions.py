"""Which puzzles a language model is asked: a seeded draw of each size, with the answers that are known or computed."""

import heapq
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from serrm.arrays.puzzles import evaluation_sets, open_arrays
from serrm.asking.settings import LanguageModelSettings
from serrm.datasets.sudoku import check_puzzles
from serrm.puzzles.sudoku.parse import Puzzle, read_puzzles
from serrm.puzzles.sudoku.solve import answered
from serrm.randomness import Purpose, keyed_rng

logger = logging.getLogger(__name__)

SEED = 0  # of the draw

# Puzzles with answers by the name of their set, such as 9x9; smallest grids first.
PuzzleSets = dict[str, list[Puzzle]]


def puzzles_of_files(files: Iterable[Path]) -> Iterator[Puzzle]:
    """The puzzles of files in any format that `read_puzzles` knows, one file after another."""
    for file in files:
        yield from read_puzzles(file)


def puzzles_of_arrays(arrays: Path) -> Iterator[Puzzle]:
    """The puzzles of the evaluation sets in a folder of arrays, as the other models are scored on."""
    for name in evaluation_sets(arrays):
        part = open_arrays(arrays, name)
        for question, answer in zip(part.questions, part.answers, strict=True):
            yield Puzzle(
                np.asarray(question) - np.uint8(1), np.asarray(answer) - np.uint8(1), part.side, name
            )


def draw_sets(puzzles: Iterable[Puzzle], settings: LanguageModelSettings) -> PuzzleSets:
    """Of every size as many puzzles as the settings ask, in their order, each with its answer.

    One pass in memory for the drawn puzzles: every puzzle draws a number, and those with the largest stay, so that a
    larger draw holds a smaller one and asks only what that did not. A puzzle without an answer is solved exactly;
    those without a solution are left out.

    Raises:
        ValueError: no puzzle is left, or an answer breaks the rules.
    """
    sets: PuzzleSets = {}
    for side, rows in sorted(_draw(puzzles, settings).items()):
        name = f"{side}x{side}"
        solved = [(number, found) for number, puzzle in rows if (found := answered(puzzle))]
        if num := len(rows) - len(solved):
            logger.warning("%s: %d drawn puzzles have no solution and are left out", name, num)
        if solved:
            check_puzzles(solved, side, name)
            sets[name] = [puzzle for _, puzzle in solved]
    if not sets:
        raise ValueError("no puzzle to ask")
    return sets


def _draw(puzzles: Iterable[Puzzle], settings: LanguageModelSettings) -> dict[int, list[tuple[int, Puzzle]]]:
    """The drawn puzzles by side, numbered by their place among all."""
    rngs: dict[int, np.random.Generator] = {}
    kept: dict[int, list[tuple[float, int, Puzzle]]] = {}
    for number, puzzle in enumerate(puzzles):
        side, num = puzzle.side, settings.num_of(f"{puzzle.side}x{puzzle.side}")
        if side not in kept:
            rngs[side], kept[side] = keyed_rng(SEED, Purpose.SUBSET, side, 1), []
        heapq.heappush(kept[side], (rngs[side].random(), number, puzzle))
        if num is not None and len(kept[side]) > num:
            heapq.heappop(kept[side])
    return {
        side: sorted(((number, puzzle) for _, number, puzzle in rows), key=lambda row: row[0])
        for side, rows in kept.items()
        if rows
    }
