"""Sudoku: the rules against a slow, obvious reference; text, files and symmetries there and back."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.boxes import box_for_side
from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.sudoku import rules as sudoku_rules
from serrm.puzzles.sudoku import symmetries as sudoku_symmetries
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.data import generate_puzzles, random_solution, read_json
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.tables import read_table, write_table
from tests.references import is_solution

SIDES = [4, 6, 9, 16, 25]
seeds = st.integers(0, 2**32)


def is_consistent_slowly(grid: np.ndarray, side: int) -> bool:
    """Collect the (unit, digit) of every cell."""
    box = box_for_side(side)
    seen: set[tuple[str, int, int, int]] = set()
    for cell, token in enumerate(grid.tolist()):
        row, col = divmod(cell, side)
        units = ("row", row, 0), ("column", 0, col), ("box", row // box.rows, col // box.cols)
        new = {(*unit, token) for unit in units if token != BLANK}
        if new & seen:
            return False
        seen |= new
    return True


@given(
    side=st.sampled_from(SIDES[:3]), num_blanks=st.integers(0, 60), num_changes=st.integers(0, 3), seed=seeds
)
def test_consistency_agrees_with_all_pairs(side: int, num_blanks: int, num_changes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_solution(side, rng)
    grid[rng.permutation(side**2)[:num_blanks]] = BLANK
    grid[rng.permutation(side**2)[:num_changes]] = rng.integers(2, side + 2)
    assert sudoku_rules.are_consistent(grid[None]).all() == is_consistent_slowly(grid, side)
    assert is_solution(grid) == (is_consistent_slowly(grid, side) and BLANK not in grid)


@given(seeds, st.sampled_from([4, 6]), st.integers(0, 35), st.integers(0, 8))
def test_an_answer_is_a_solution_that_keeps_the_clues(seed: int, side: int, cell: int, value: int) -> None:
    """A changed cell may hold padding (0), a blank (1), or a token beyond the side's."""
    rng = np.random.default_rng(seed)
    answer = random_solution(side, rng)
    question = np.where(rng.random(side**2) < 0.5, answer, np.uint8(BLANK))
    changed, other = answer.copy(), random_solution(side, rng)
    changed[cell % side**2] = value
    are_right = sudoku_rules.are_answers(
        np.stack([question] * 3), np.stack([answer, changed, other])
    ).tolist()
    keeps = [bool(((question == BLANK) | (question == grid)).all()) for grid in (answer, changed, other)]
    right = [grid.min() > BLANK and is_solution(grid) for grid in (answer, changed, other)]
    assert are_right == [a and b for a, b in zip(keeps, right, strict=True)]
    assert are_right[0]


# Text and files.


@given(side=st.sampled_from([4, 6, 9, 16, 25, 35]), seed=seeds)
def test_a_grid_is_read_as_written(side: int, seed: int) -> None:
    for text in (SUDOKU_TEXT, MAZE_TEXT):
        tokens = np.random.default_rng(seed).integers(1, text.largest(side) + 1, side**2, dtype=np.uint8)
        written = text.format(tokens)
        assert [*written] == [text.characters[token - 1] for token in tokens]
        for same in (written, written.replace(".", "0")):
            assert np.array_equal(text.read(same), tokens)


def test_a_table_is_read_as_written(tmp_path: Path) -> None:
    made = [generate_puzzles(side, 1, np.random.default_rng(0), (9, 50))[0] for side in SIDES[:3]]
    puzzles = [*made, replace(made[0], answer=None, source='a "b", c', rating=7)]
    write_table(SUDOKU_TEXT, tmp_path / "a.csv", iter(puzzles))
    for puzzle, copy in zip(puzzles, read_table(SUDOKU_TEXT, tmp_path / "a.csv"), strict=True):
        assert (puzzle.side, puzzle.source, puzzle.rating) == (copy.side, copy.source, copy.rating)
        np.testing.assert_equal([puzzle.question, puzzle.answer], [copy.question, copy.answer])


def test_the_other_published_formats(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Puzzle\tSolution\n1030001200400001\t1234341221434321\n")
    (puzzle,) = read_table(SUDOKU_TEXT, tmp_path / "a.tsv")
    assert (SUDOKU_TEXT.format(puzzle.question), puzzle.source) == ("1.3...12..4....1", "a")
    (tmp_path / "a.json").write_text(json.dumps({"difficulty": "Easy", "grid": [[0, 2, 0, 4]] * 4}))
    puzzle = read_json(tmp_path / "a.json")
    assert (SUDOKU_TEXT.format(puzzle.question), puzzle.source, puzzle.answer) == (".2.4" * 4, "Easy", None)


HEADER = "source,question,answer,rating\n"
QUESTION, ANSWER = "1.3...1.2...4..1", "1234341221434321"
GOOD = f"one,{QUESTION},{ANSWER},7\n"


@pytest.mark.parametrize(
    ("read", "content", "line"),
    [
        *((SUDOKU_TEXT.read, text, None) for text in ("123", "." * 25, "." * 15 + "5", "é" + "." * 15, "")),
        (partial(read_table, SUDOKU_TEXT), "a,b\n", 1),
        (partial(read_table, SUDOKU_TEXT), f"{HEADER}{GOOD}one,{QUESTION}\n", 3),
        (partial(read_table, SUDOKU_TEXT), f"{HEADER}one,{QUESTION},{'.' * 81},7\n", 2),
        (partial(read_table, SUDOKU_TEXT), f"{HEADER}one,{QUESTION},2{ANSWER[1:]},7\n", 2),
        (partial(read_table, SUDOKU_TEXT), f"{HEADER}one,{QUESTION},{'.' * 16},7\n", 2),
        (partial(read_table, SUDOKU_TEXT), f"{HEADER}one,{QUESTION},{ANSWER},hard\n", 2),
        (partial(read_table, SUDOKU_TEXT), f"{HEADER}{GOOD}one,\x00{QUESTION[1:]},{ANSWER},7\n", 3),
        (partial(read_table, SUDOKU_TEXT), f'{HEADER}"one"x,{QUESTION},{ANSWER},7\n', 2),
        (partial(read_table, SUDOKU_TEXT), f"Puzzle,Solution\n{QUESTION}\n", 1),
        *((read_json, text, 0) for text in ("{", "[[1, 2]]", "{}", '{"grid": 5}', '{"grid": [[1, 2]]}')),
    ],
)
def test_an_invalid_puzzle_is_one_line_with_its_place(
    tmp_path: Path, read: Callable[..., object], content: str, line: int | None
) -> None:
    path = tmp_path / "bad"
    path.write_text(content)
    place = None if line is None else f"^{path}:{line}: " if line else f"^{path}: "
    with pytest.raises(ValueError, match=place) as error:
        list(read(content if line is None else path))
    assert "\n" not in str(error.value)


# Symmetries.


@pytest.mark.parametrize("side", SIDES)
def test_solutions_stay_solutions(side: int) -> None:
    rng = np.random.default_rng(5)
    solutions = np.tile(random_solution(side, rng), (50, 1))
    parameters = sudoku_symmetries.draw_symmetries(side, 50, rng)
    moved = sudoku_symmetries.apply_symmetries(solutions, parameters, side)
    assert sudoku_rules.are_solutions(moved).all()
    assert len(np.unique(moved, axis=0)) > 1


def test_every_symmetry_of_4x4_is_drawn_about_equally_often_and_only_square_boxes_are_transposed() -> None:
    parameters = sudoku_symmetries.draw_symmetries(4, 20_000, np.random.default_rng(0))
    rows, cols, flags, digits = np.split(parameters, [4, 8, 9], axis=1)
    for part, num in ((rows, 8), (cols, 8), (flags, 2), (digits, 24)):
        _, counts = np.unique(part, axis=0, return_counts=True)
        assert len(counts) == num
        assert np.abs(counts - 20_000 / num).max() < 5 * np.sqrt(20_000 / num)
    assert not sudoku_symmetries.draw_symmetries(6, 100, np.random.default_rng(0))[:, 12].any()
