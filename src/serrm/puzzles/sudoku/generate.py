"""Making Sudoku puzzles with one solution and a chosen number of clues, for any box shape.

The default data source: no download, everything decided by a seed. A puzzle is a random solution from which
clues are taken in random order for as long as the solution stays the only one. (The paper's 16×16 puzzles, made with
py-sudoku, are not published: these stand for them.)
"""

import itertools
from collections.abc import Iterator
from operator import attrgetter

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.distinct import distinct
from serrm.puzzles.sudoku.bitboard import (
    SearchBudgetError,
    Tables,
    places_from_values,
    search,
    tables,
    values_from_places,
)
from serrm.puzzles.sudoku.grid import Box
from serrm.puzzles.sudoku.parse import Puzzle
from serrm.puzzles.sudoku.symmetry import apply_parameters, draw_symmetries

MAX_ATTEMPTS = 100
"""Orders of removal to try on one solution, and puzzles met again in a row, before giving up."""
MAX_POSITIONS = 100
"""Positions to search for a second solution before a clue is kept."""


def check_clues(box: Box, clues: tuple[int, int]) -> tuple[int, int]:
    """The range itself. ValueError if it is empty or outside the grid."""
    if not 1 <= clues[0] <= clues[1] <= box.num_cells:
        raise ValueError(f"clues {clues[0]} to {clues[1]} are no range within 1 to {box.num_cells}")
    return clues


def random_solution(box: Box, rng: np.random.Generator) -> UInt8[np.ndarray, " I"]:
    """A random full grid: randomised search from nothing, then a random symmetry. Not exactly uniform."""
    board = tables(box)
    while True:
        found = search([board.all_cells] * box.side, board, rng, max_positions=2 * box.num_cells)
        try:
            solution = values_from_places(next(found), box.num_cells)
        except SearchBudgetError:
            continue
        image: UInt8[np.ndarray, " I"] = apply_parameters(solution[None], draw_symmetries(box, 1, rng), box)[
            0
        ]
        return image


def all_solutions_4x4() -> UInt8[np.ndarray, "288 16"]:
    """Every full 4×4 grid, in a fixed order."""
    box = Box(2, 2)
    found = search([tables(box).all_cells] * box.side, tables(box))
    return np.stack([values_from_places(places, box.num_cells) for places in found])


def remove_clues(
    solution: UInt8[np.ndarray, " I"], box: Box, rng: np.random.Generator, num_clues: int
) -> UInt8[np.ndarray, " I"]:
    """A puzzle whose only solution is `solution`, with `num_clues` clues, or more where no more can go."""
    board = tables(box)
    values = solution.tolist()
    num_left = len(values)
    for cell in rng.permutation(len(values)).tolist():
        if num_left <= num_clues:
            break
        if _is_implied(values, cell, board):
            values[cell] = 0
            num_left -= 1
    return np.array(values, dtype=np.uint8)


def iterate_puzzles(
    box: Box, rng: np.random.Generator, clues: tuple[int, int] = (30, 45)
) -> Iterator[Puzzle]:
    """Puzzles with one solution, without end and pairwise different; clues drawn uniformly from the range.

    Where the grid at hand does not go as low as the number drawn, it is larger, but in the range. Their solutions
    differ too, except that 4×4 goes through all 288 in random order, again and again. ValueError when no new puzzle is
    found.
    """
    puzzles = (
        _generate_from(solution, box, rng, int(rng.integers(*clues, endpoint=True)), clues[1])
        for solution in _draw_solutions(box, rng)
    )
    part = attrgetter("question" if box == Box(2, 2) else "answer")
    kind = f"puzzles with {clues[0]} to {clues[1]} clues"
    return distinct(puzzles, lambda puzzle: part(puzzle).tobytes(), MAX_ATTEMPTS, kind)


def generate_puzzles(
    box: Box, num: int, rng: np.random.Generator, clues: tuple[int, int] = (30, 45)
) -> list[Puzzle]:
    """The first `num` puzzles of `iterate_puzzles`."""
    return list(itertools.islice(iterate_puzzles(box, rng, clues), num))


def _is_implied(values: list[int], cell: int, board: Tables) -> bool:
    """Whether the other clues imply the one in `cell`, in a puzzle with one solution. Restores `values`."""
    digit = values[cell]
    values[cell] = 0
    places = places_from_values(values, board)
    values[cell] = digit
    places[digit - 1] &= ~(1 << cell)
    try:
        return next(search(places, board, max_positions=MAX_POSITIONS), None) is None
    except SearchBudgetError:
        return False


def _generate_from(
    solution: UInt8[np.ndarray, " I"],
    box: Box,
    rng: np.random.Generator,
    num_clues: int,
    max_clues: int,
) -> Puzzle:
    """A puzzle with this one solution and `num_clues` clues, or as few more as its order of removal gives."""
    for _ in range(MAX_ATTEMPTS):
        question = remove_clues(solution, box, rng, num_clues)
        if np.count_nonzero(question) <= max_clues:
            return Puzzle(question, solution, box.side, "generated")
    raise ValueError(
        f"no {box.side}x{box.side} puzzle with {max_clues} clues or fewer in {MAX_ATTEMPTS} attempts"
    )


def _draw_solutions(box: Box, rng: np.random.Generator) -> Iterator[UInt8[np.ndarray, " I"]]:
    """Full grids without end."""
    while True:
        if box == Box(2, 2):
            yield from rng.permutation(all_solutions_4x4())
        else:
            yield random_solution(box, rng)
