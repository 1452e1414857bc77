"""Sudoku: box shapes, units and rules; a grid as text; the symmetries; the published files; exact solutions.

A grid is a flat uint8 array of I = n² values in row-major order, 0 for a blank and 1…n for the digits. As text it has a
character a cell: `.` or `0` for a blank, 1…9 and then A…Z for the digits from 10 on. The files are CSV with the columns
source, question, answer, rating (Sudoku-Extreme), tab-separated Puzzle and Solution (4×4), and JSON (25×25);
`puzzles.files` reads those of users. Reading is lazy; a malformed row is a ValueError with file, line and value.

The symmetries are the paper's augmentations (section "Sudoku", data): digit permutation, permutation of bands, of rows
within a band, of stacks, of columns within a stack, and transposition where boxes are square. One is a row of P = 3n+1
parameters: n row and n column sources, a transposition flag, n new digits. Output cell (i, j) takes input cell
(rows[i], columns[j]), of the transposed input where the flag is set.

The exact search works on bit sets, Python integers: a position is one integer a digit, of which bit i is set where the
digit may still stand in cell i. Propagation follows naked singles (a cell with one digit left) and hidden singles (a
digit with one cell left in a unit), and search branches where the fewest digits are left. Uniqueness checks and the
generator run tens of thousands of these; an ordinary 9×9 takes a fraction of a millisecond. CP-SAT is the independent
referee: it decides which of the published 25×25 puzzles have a solution (the paper's 42). One worker and a fixed seed
make it deterministic.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import product
from operator import or_
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Bool, Float64, Int, UInt8

from serrm.files import existing
from serrm.puzzles import raw
from serrm.randomness import Purpose, keyed_rng

BLANK: Final = 1  # the token of a blank cell; token 0 is padding, v + 1 the digit v


@dataclass(frozen=True)
class Box:
    """A box of `rows` × `cols` cells; the grid has side rows·cols, `cols` bands and `rows` stacks."""

    rows: int
    cols: int

    def __post_init__(self) -> None:
        """Raise ValueError for shapes whose values would not fit uint8 bit sets of 62 digits."""
        if self.rows < 1 or self.cols < 1 or not 2 <= self.side <= 62:
            raise ValueError(f"no Sudoku has boxes of {self.rows}x{self.cols} cells")

    @property
    def side(self) -> int:
        """n, the number of digits and the length of a row."""
        return self.rows * self.cols

    @property
    def num_cells(self) -> int:
        """I, the number of cells: n²."""
        return self.side**2

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols}"


def box_for_side(n: int) -> Box:
    """The box shape of an n×n grid: the squarest with no more rows than columns, so that 9 gives 3×3, 6 gives 2×3.

    ValueError where n has no such shape, as primes.
    """
    rows = max((d for d in range(2, math.isqrt(max(n, 0)) + 1) if n % d == 0), default=None)
    if rows is None:
        raise ValueError(f"no box shape for a grid of side {n}")
    return Box(rows, n // rows)


@lru_cache
def unit_indices(box: Box) -> Int[np.ndarray, "U n"]:
    """Cells of the U = 3n units: rows, then columns, then boxes, each ascending. Read-only."""
    n = box.side
    cells = np.arange(box.num_cells).reshape(n, n)
    # axes: band, row in band, stack, column in stack
    boxes = cells.reshape(box.cols, box.rows, box.rows, box.cols).transpose(0, 2, 1, 3)
    units = np.concatenate([cells, cells.T, boxes.reshape(n, n)])
    units.flags.writeable = False
    return units


def are_consistent(grids: UInt8[np.ndarray, "N I"], box: Box) -> Bool[np.ndarray, " N"]:
    """True for grids with no digit twice in a unit. Values above n are no digits and make a grid inconsistent."""
    if grids.shape[1] != box.num_cells:
        raise ValueError(f"a grid with boxes of {box} has {box.num_cells} cells, not {grids.shape[1]}")
    values = np.sort(grids[:, unit_indices(box)], axis=-1)
    is_repeated = (values[..., 1:] == values[..., :-1]) & (values[..., 1:] > 0)
    return np.asarray(~is_repeated.any(axis=(1, 2)) & np.all(grids <= box.side, axis=-1))


def are_solutions(grids: UInt8[np.ndarray, "N I"], box: Box) -> Bool[np.ndarray, " N"]:
    """True where every unit holds every digit once."""
    return np.asarray(are_consistent(grids, box) & np.all(grids > 0, axis=-1))


def are_answers(
    questions: UInt8[np.ndarray, "N I"], answers: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """True for answers that are solutions and keep the digits of their questions."""
    keeps_digits = np.all((questions == 0) | (questions == answers), axis=1)
    return np.asarray(keeps_digits & are_solutions(answers, box_for_side(math.isqrt(questions.shape[1]))))


def solves(
    questions: UInt8[np.ndarray, "N I"], predictions: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """The same of tokens. Padding, token 0, wraps round to 255, which is no digit."""
    return are_answers(questions - np.uint8(BLANK), predictions - np.uint8(BLANK))


def allows(questions: UInt8[np.ndarray, "N I"]) -> Bool[np.ndarray, " N"]:
    """True where the digits of questions, as tokens, break no rule."""
    box = box_for_side(math.isqrt(questions.shape[1]))
    return are_consistent(questions - np.uint8(BLANK), box)


def is_consistent(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """True for no digit twice in a unit; blanks are allowed."""
    return bool(are_consistent(grid[None], box)[0])


def is_solution(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """True where every unit holds every digit once."""
    return bool(are_solutions(grid[None], box)[0])


def judge(
    side: int,
    prediction: UInt8[np.ndarray, " I"],
    question: UInt8[np.ndarray, " I"],
    answer: UInt8[np.ndarray, " I"] | None,
) -> str:
    """Judge a prediction in a few words; all are tokens."""
    is_blank = question == BLANK
    if answer is None:
        values = np.maximum(prediction, BLANK) - np.uint8(BLANK)
        keeps = np.array_equal(prediction[~is_blank], question[~is_blank])
        return "a solution" if keeps and is_solution(values, box_for_side(side)) else "no solution"
    is_wrong = prediction != answer
    if not is_wrong.any():
        return "solved"
    blanks = f"{np.count_nonzero(is_wrong & is_blank)} of {np.count_nonzero(is_blank)} blanks wrong"
    return f"{blanks}, and clues" if is_wrong[~is_blank].any() else blanks


# Text.

SYMBOLS = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Characters of the values 0…35."""

# 255, no digit of any grid, for every other character.
_VALUE_OF_BYTE = bytes(0 if c == "0" else SYMBOLS.find(c) % 256 for c in map(chr, range(256)))


def parse_grid(text: str) -> UInt8[np.ndarray, " I"]:
    """Values 0…n of a grid of I = n² characters.

    ValueError with the offending part: a character that is no digit, a digit above n, or a number of
    characters that makes no grid.
    """
    values = np.frombuffer(
        bytearray(text.encode("latin-1", "replace").translate(_VALUE_OF_BYTE)), dtype=np.uint8
    )
    side = math.isqrt(len(values))
    if side**2 != len(values):
        raise ValueError(f"{len(values)} characters are not a square grid: {raw.shorten(text)}")
    box_for_side(side)
    too_large = np.flatnonzero(values > side)
    if len(too_large):
        position = int(too_large[0])
        raise ValueError(
            f"{text[position]!r} at position {position + 1} is not a digit of a {side}x{side} grid"
        )
    return values


def format_grid(grid: UInt8[np.ndarray, " I"]) -> str:
    """The I characters of a grid, `.` for a blank. ValueError for values that have no character."""
    if grid.size and grid.max() >= len(SYMBOLS):
        raise ValueError(f"no character for the digit {grid.max()}; the largest is {len(SYMBOLS) - 1}")
    return "".join(SYMBOLS[value] for value in grid.tolist())


# Symmetries.


def draw_symmetries(box: Box, num: int, rng: np.random.Generator) -> UInt8[np.ndarray, "num P"]:
    """Parameters of `num` independent uniform symmetries.

    Every permutation is the sort order of uniform numbers: one a digit, row, column, band, stack, and one for the flag.
    """
    n = box.side
    cuts = np.cumsum([n, n, n, box.cols, box.rows])
    digits, rows, cols, bands, stacks, flag = np.split(rng.random((num, cuts[-1] + 1)), cuts, axis=1)
    transposed = (flag < 0.5) & (box.rows == box.cols)
    parts = [_line_order(rows, bands), _line_order(cols, stacks), transposed, np.argsort(digits, axis=1) + 1]
    return np.concatenate(parts, axis=1).astype(np.uint8)


def _line_order(
    line_keys: Float64[np.ndarray, "N n"], group_keys: Float64[np.ndarray, "N G"]
) -> Int[np.ndarray, "N n"]:
    """Orders of the n lines that keep the G groups (bands or stacks) together."""
    num, num_groups = group_keys.shape
    within = np.argsort(line_keys.reshape(num, num_groups, -1), axis=2)
    starts = within.shape[2] * np.argsort(group_keys, axis=1)
    return np.asarray((starts[:, :, None] + within).reshape(line_keys.shape))


def draw_symmetry(seed: int, puzzle: int, augmentation: int, side: int) -> UInt8[np.ndarray, " P"]:
    """Parameters of an augmentation of a puzzle, a pure function of its address; 0 is the puzzle itself."""
    if augmentation == 0:
        lines = np.arange(side, dtype=np.uint8)
        return np.concatenate([lines, lines, [0], lines + 1]).astype(np.uint8)
    rng = keyed_rng(seed, Purpose.AUGMENTATION, puzzle, augmentation)
    return np.asarray(draw_symmetries(box_for_side(side), 1, rng)[0])


def apply_symmetries(
    tokens: UInt8[np.ndarray, "N I"], rows: UInt8[np.ndarray, "N P"], side: int
) -> UInt8[np.ndarray, "N I"]:
    """Tokens of Sudokus with their digits relabelled and their cells moved, each by its row of parameters."""
    return apply_parameters(tokens - 1, rows, side) + 1


def apply_parameters(
    grids: UInt8[np.ndarray, "N I"], parameters: UInt8[np.ndarray, "N P"], side: int
) -> UInt8[np.ndarray, "N I"]:
    """Transform grid k by symmetry k, all at once."""
    rows, cols, is_transposed, digits = np.split(
        parameters.astype(np.intp), [side, 2 * side, 2 * side + 1], axis=1
    )
    rows, cols = rows[:, :, None], cols[:, None, :]
    # The input cell of every output cell.
    sources = np.where(is_transposed[:, :, None] != 0, cols * side + rows, rows * side + cols)
    moved = np.take_along_axis(grids, sources.reshape(grids.shape), axis=1)
    new_values = np.pad(digits, ((0, 0), (1, 0))).astype(np.uint8)  # a blank stays one
    return np.take_along_axis(new_values, moved.astype(np.intp), axis=1)


# Files.


def checked(puzzle: raw.Puzzle) -> raw.Puzzle:
    """The puzzle. ValueError unless its answer, if there is one, has no blanks and keeps the question's digits."""
    if puzzle.answer is not None:
        is_given = puzzle.question != 0
        wrong = np.flatnonzero((puzzle.answer == 0) | (is_given & (puzzle.question != puzzle.answer)))
        if len(wrong):
            given, answered = puzzle.question[wrong[0]], puzzle.answer[wrong[0]]
            raise ValueError(f"cell {wrong[0] + 1} is {given} in the question but {answered} in the answer")
    return puzzle


def read_csv(path: Path | str) -> Iterator[raw.Puzzle]:
    """Read puzzles from a table of either form in `raw`."""
    return raw.read_puzzles(path, parse_grid, checked)


def read_json(path: Path) -> raw.Puzzle:
    """Read the puzzle of a file {"size", "difficulty", "givens", "type", "grid"}; its source is "difficulty"."""
    try:
        record = json.loads(existing(path).read_text(encoding="utf-8"))
        question = np.array(record["grid"], dtype=np.uint8).reshape(len(record["grid"]) ** 2)
        return raw.Puzzle(question, None, record.get("difficulty", ""))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}:1: {error}") from None


def write_csv(path: Path | str, puzzles: Iterable[raw.Puzzle]) -> None:
    """Write puzzles of any side up to 35 as source,question,answer,rating. The file appears once whole."""
    raw.write_puzzles(path, puzzles, format_grid)


Places = list[int]
"""A position: for every digit the set of cells where it may stand."""


class SearchBudgetError(Exception):
    """The search visited as many positions as it was allowed to, without an answer."""


@dataclass(frozen=True)
class Tables:
    """The cell sets of a box shape: all cells, every unit, and the peers of every cell."""

    side: int
    all_cells: int
    units: tuple[int, ...]
    peers: tuple[int, ...]


@lru_cache
def tables(box: Box) -> Tables:
    """The cell sets of a box shape."""
    units = [sum(1 << cell for cell in unit) for unit in unit_indices(box).tolist()]
    cells = [1 << cell for cell in range(box.num_cells)]
    peers = tuple(reduce(or_, (unit for unit in units if unit & cell)) & ~cell for cell in cells)
    return Tables(box.side, sum(cells), tuple(units), peers)


def places_from_values(values: Sequence[int], board: Tables) -> Places:
    """The position with the clues: I values, 0 for a blank. Other digits leave the clues' cells, no more."""
    clues = [0] * board.side
    for cell, value in enumerate(values):
        if value:
            clues[value - 1] |= 1 << cell
    return [board.all_cells & ~sum(clues) | own for own in clues]


def values_from_places(places: Places, num_cells: int) -> UInt8[np.ndarray, " I"]:
    """The grid of a position in which every cell has one digit left."""
    grid = np.zeros(num_cells, dtype=np.uint8)
    for digit, cells in enumerate(places, start=1):
        while cells:
            low = cells & -cells
            grid[low.bit_length() - 1] = digit
            cells ^= low
    return grid


def propagate(places: Places, board: Tables) -> bool:
    """Follow naked and hidden singles in place, to the end; False where they lead to a contradiction."""
    settled, seen = 0, [-1] * board.side
    while True:
        once = twice = 0
        for cells in places:
            twice |= once & cells
            once |= cells
        if once != board.all_cells:
            return False
        single = once & ~twice
        if fresh := single & ~settled:
            _clear_peers(places, fresh, board.peers)
            settled |= fresh
        elif settled == board.all_cells:
            return True
        elif not (claimed := _claim_hidden_singles(places, seen, settled, board)):
            return claimed is not None


def _clear_peers(places: Places, cells: int, peers: tuple[int, ...]) -> None:
    """Take the one digit of each of `cells` from the peers of its cell."""
    for digit, own in enumerate(places):
        single = own & cells
        while single:
            low = single & -single
            own &= ~peers[low.bit_length() - 1]
            single ^= low
        places[digit] = own


def _claim_hidden_singles(places: Places, seen: Places, settled: int, board: Tables) -> int | None:
    """Leave a digit alone in a cell that is its last one in a unit, and return all such cells.

    None where a unit has no cell for a digit. `seen` holds each digit's cells when last looked at: without a
    change there is nothing to find.
    """
    claimed = 0
    for digit, cells in enumerate(places):
        if cells == seen[digit]:
            continue
        seen[digit] = cells
        last = 0
        for unit in board.units:
            here = cells & unit
            if not here & (here - 1):
                if not here:
                    return None
                last |= here
        last &= ~settled
        if last:
            claimed |= last
            for other in range(board.side):
                if other != digit:
                    places[other] &= ~last
    return claimed


def search(
    places: Places, board: Tables, rng: np.random.Generator | None = None, max_positions: int | None = None
) -> Iterator[Places]:
    """All solutions below a position, depth first, each as a position with one digit a cell.

    Digits are tried in ascending order, or in random order with `rng`. SearchBudgetError after
    `max_positions` positions without a solution.
    """
    stack = [places]
    num_positions = 0
    while stack:
        if num_positions == max_positions:
            raise SearchBudgetError(f"no answer after {num_positions} positions")
        num_positions += 1
        position = stack.pop()
        if not propagate(position, board):
            continue
        cell = _branch_cell(position, board)
        if not cell:
            num_positions = 0
            yield position
            continue
        children = [_place(position, digit, cell) for digit in range(board.side) if position[digit] & cell]
        order = range(len(children)) if rng is None else rng.permutation(len(children)).tolist()
        stack.extend(children[index] for index in reversed(order))


def _place(places: Places, digit: int, cell: int) -> Places:
    """A copy of the position in which `cell` (a set of one) has only `digit` left."""
    return [cells if other == digit else cells & ~cell for other, cells in enumerate(places)]


def _branch_cell(places: Places, board: Tables) -> int:
    """The first of the undecided cells with the fewest digits, as a set of one; 0 where all are decided."""
    at_least = [board.all_cells] + [0] * (board.side + 1)  # at_least[k]: cells with k digits or more
    for num_before, cells in enumerate(places):
        for k in range(num_before, -1, -1):
            at_least[k + 1] |= at_least[k] & cells
    for k in range(2, board.side + 1):
        exactly = at_least[k] & ~at_least[k + 1]
        if exactly:
            return exactly & -exactly
    return 0


# CP-SAT.


def iterate_solutions(
    grid: UInt8[np.ndarray, " I"], box: Box, hints: Mapping[int, int] | None = None
) -> Iterator[UInt8[np.ndarray, " I"]]:
    """Find the solutions of a grid one after the other, each with the former ones forbidden.

    The search tries `hints`, digits by cell, first; wrong ones cost time, no solution. ValueError where the grid does
    not fit the box.
    """
    # OR-tools takes half a second to import, and most of the project never calls it.
    from ortools.sat.python import cp_model

    if not is_consistent(grid, box):
        return
    model, cells, digits = cp_model.CpModel(), range(box.num_cells), range(1, box.side + 1)
    stands = {key: model.new_bool_var("") for key in product(cells, digits)}  # by cell and digit
    for cell in cells:
        model.add_exactly_one(stands[cell, digit] for digit in digits)
    for unit, digit in product(unit_indices(box).tolist(), digits):
        model.add_exactly_one(stands[cell, digit] for cell in unit)
    for cell in np.flatnonzero(grid).tolist():
        model.add(stands[cell, int(grid[cell])] == 1)
    for hint in stands.keys() & (hints or {}).items():
        model.add_hint(stands[hint], True)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    # Otherwise an interrupt, from then on, ends the process at once and without KeyboardInterrupt.
    solver.parameters.catch_sigint_signal = False
    while (status := solver.solve(model)) == cp_model.OPTIMAL:
        chosen = [key for key, is_here in stands.items() if solver.boolean_value(is_here)]
        yield np.array([digit for _, digit in chosen], dtype=np.uint8)
        model.add_bool_or([~stands[key] for key in chosen])
    assert status == cp_model.INFEASIBLE, solver.status_name(status)


def solutions(
    question: UInt8[np.ndarray, " I"], hints: Mapping[int, int]
) -> Iterator[UInt8[np.ndarray, " I"]]:
    """The solutions of a Sudoku; `hints` are digits by cell that are tried first."""
    return iterate_solutions(question, box_for_side(math.isqrt(len(question))), hints)


def flaw(question: UInt8[np.ndarray, " I"]) -> str | None:
    """Why a Sudoku has no solution, as far as propagation alone shows it."""
    box = box_for_side(math.isqrt(len(question)))
    if not is_consistent(question, box):
        return "a digit is given twice in a row, column or box"
    board = tables(box)
    if not propagate(places_from_values(question.tolist(), board), board):
        return "the clues contradict one another"
    return None


def solve(grid: UInt8[np.ndarray, " I"], box: Box) -> UInt8[np.ndarray, " I"] | None:
    """A solution of the grid, or None where there is none. ValueError where the grid does not fit the box."""
    return next(iterate_solutions(grid, box), None)


def answered(puzzle: raw.Puzzle) -> raw.Puzzle | None:
    """The puzzle with an answer, solved if it has none; None where it has no solution."""
    if puzzle.answer is not None:
        return puzzle
    answer = solve(puzzle.question, box_for_side(puzzle.side))
    return None if answer is None else replace(puzzle, answer=answer)
