"""The published formats, and what is said about a row that is none."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.sudoku.grid import Box
from serrm.puzzles.sudoku.parse import (
    Puzzle,
    read_csv,
    read_json,
    read_tsv,
    write_csv,
)
from serrm.puzzles.sudoku.text import format_grid, parse_grid

QUESTION_4X4 = "1.3...1.2...4..1"
ANSWER_4X4 = "1234341221434321"
HEADER = "source,question,answer,rating\n"
GRID: list[list[object]] = [[1, 0, 3, 0], [0, 0, 0, 2], [0, 0, 4, 0], [0, 0, 0, 0]]
RECORD: dict[str, object] = {
    "size": 4,
    "difficulty": "Easy",
    "givens": 4,
    "type": "puzzle",
    "grid": GRID,
}


@given(side=st.sampled_from([4, 6, 9, 16, 25, 35]), seed=st.integers(0, 2**32))
def test_a_grid_is_read_as_written(side: int, seed: int) -> None:
    grid = np.random.default_rng(seed).integers(0, side + 1, side * side, dtype=np.uint8)
    text = format_grid(grid)
    assert len(text) == side * side
    assert np.array_equal(parse_grid(text), grid)
    assert np.array_equal(parse_grid(text.replace(".", "0")), grid)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("123", r"3 characters make no square grid: '123'"),
        ("." * 25, "side 5"),
        ("." * 15 + "5", "'5' at position 16 is no digit of a 4x4 grid"),
        ("..x" + "." * 13, "'x' at position 3"),
        ("é" + "." * 15, "'é' at position 1"),
        ("−" + "." * 15, "'−' at position 1"),
        ("", "side 0"),
    ],
)
def test_text_that_is_no_grid(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_grid(text)


GOOD_ROW = f"one,{QUESTION_4X4},{ANSWER_4X4},7\n"


@pytest.mark.parametrize(
    ("reader", "content", "line", "value"),
    [
        (read_csv, "a,b\n", 1, "'a,b'"),
        (
            read_csv,
            f"{HEADER}{GOOD_ROW}one,{QUESTION_4X4}\n",
            3,
            f"2 columns instead of 4: 'one,{QUESTION_4X4}'",
        ),
        (read_csv, f"{HEADER}one,{QUESTION_4X4[:-1]},{ANSWER_4X4},7\n", 2, QUESTION_4X4[:-1]),
        (read_csv, f"{HEADER}one,{QUESTION_4X4},{'.' * 81},7\n", 2, "16 cells with an answer of 81"),
        (read_csv, f"{HEADER}one,{QUESTION_4X4},{QUESTION_4X4},7\n", 2, "cell 2 is 0 in the question but 0"),
        (read_csv, f"{HEADER}one,{QUESTION_4X4},2{ANSWER_4X4[1:]},7\n", 2, "cell 1 is 1 .* but 2"),
        (read_csv, f"{HEADER}one,{QUESTION_4X4},{ANSWER_4X4},hard\n", 2, "'hard'"),
        (read_csv, f"{HEADER}{GOOD_ROW}one,\x00{QUESTION_4X4[1:]},{ANSWER_4X4},7\n", 3, r"'\\x00'"),
        (read_csv, f'{HEADER}"one"x,{QUESTION_4X4},{ANSWER_4X4},7\n', 2, "expected after"),
        (read_tsv, f"Puzzle,Solution\n{QUESTION_4X4}\n", 1, "'Puzzle,Solution'"),
        (read_json, "{", 1, "property name"),
        (read_json, "[1]", 1, r"\[1\]"),
        (read_json, json.dumps({**RECORD, "size": 5}), 1, "size '5' but a grid of 4 rows"),
        (read_json, json.dumps({**RECORD, "givens": 9}), 1, "givens '9' but 4"),
        (read_json, json.dumps({**RECORD, "grid": [[1, 2]] * 4}), 1, r"row 1 .* 4 numbers: '\[1, 2\]'"),
        (read_json, json.dumps({**RECORD, "grid": [*GRID[:3], [0, 0, 7, 0]]}), 1, "row 4 .* '7'"),
        (read_json, json.dumps({**RECORD, "grid": [*GRID[:3], [0, "a", 0, 0]]}), 1, "row 4 .*a"),
        (read_json, json.dumps({**RECORD, "size": 2, "grid": [[0, 0], [0, 0]]}), 1, "side 2"),
    ],
)
def test_a_malformed_row_is_named_in_one_line(
    tmp_path: Path, reader: Callable[[Path], Iterable[Puzzle]], content: str, line: int, value: str
) -> None:
    path = tmp_path / "bad.file"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"bad.file:{line}: .*{value}") as caught:
        list(reader(path))
    assert "\n" not in str(caught.value)


def test_reading_is_lazy(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(HEADER + GOOD_ROW * 3 + "broken\n")
    puzzles = read_csv(path)
    assert [next(puzzles).source for _ in range(3)] == ["one"] * 3
    with pytest.raises(ValueError, match=r"long\.csv:5: 1 columns"):
        next(puzzles)


@given(
    box=st.sampled_from([Box(2, 2), Box(3, 3), Box(5, 5)]), num=st.integers(0, 3), seed=st.integers(0, 2**32)
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, box: Box, num: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    puzzles = []
    for index in range(num):
        answer = rng.integers(1, box.side + 1, box.num_cells, dtype=np.uint8)
        question = np.where(rng.random(box.num_cells) < 0.5, answer, 0).astype(np.uint8)
        source, rating = (f'a "{index}", b', None) if index % 2 else ("plain", index)
        puzzles.append(Puzzle(question, answer if index else None, box.side, source, rating))
    path = tmp_path_factory.mktemp("written") / "a.csv"
    write_csv(path, iter(puzzles))
    for puzzle, copy in zip(puzzles, read_csv(path), strict=True):
        assert (puzzle.side, puzzle.source, puzzle.rating) == (copy.side, copy.source, copy.rating)
        assert np.array_equal(puzzle.question, copy.question)
        answers = [None if p.answer is None else p.answer.tolist() for p in (puzzle, copy)]
        assert answers[0] == answers[1]
