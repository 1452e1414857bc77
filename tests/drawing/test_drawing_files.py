"""Files as scenes: each kind is told by its content, what is wanted is found, and faults name the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.drawing.scenes import read_scene
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.scoring.predictions import PREDICTIONS
from tests.references import EXAMPLE, write_examples

HEADER = "source,question,answer,rating\n"
SUDOKUS = [("1.3.341.2..3.321", "1234341221434321"), ("12343412.1434321", "1234341221434321")]
PUZZLE = {
    "train": [{"input": [[1, 2]], "output": [[2], [1]]}],
    "test": [{"input": [[6, 7]], "output": [[7], [6]]}, {"input": [[8]], "output": [[9]]}],
}
CHALLENGE = {"train": PUZZLE["train"], "test": [{"input": test["input"]} for test in PUZZLE["test"]]}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def sudoku_csv() -> str:
    return HEADER + "".join(f"s,{question},{answer},1\n" for question, answer in SUDOKUS)


def test_a_puzzle_is_found_by_its_number_and_its_answer_computed_where_the_file_has_none(write: Any) -> None:
    for has_answer in (False, True):
        for path in (
            write("a.txt", "".join(f"{question}\n" for question, _ in SUDOKUS)),
            write("a.csv", sudoku_csv()),
        ):
            (puzzle,) = read_scene(path, 2, has_answer=has_answer).puzzles
            assert np.array_equal(puzzle.question, SUDOKU_TEXT.read(SUDOKUS[1][0]))
            assert (puzzle.answer is not None) == (has_answer or path.suffix == ".csv")
    assert np.array_equal(puzzle.answer, SUDOKU_TEXT.read(SUDOKUS[1][1]))


def test_predictions_have_a_trace(tmp_path: Path) -> None:
    path = write_examples(tmp_path, "sudoku", [EXAMPLE])
    for source in (path, path.parent):
        scene = read_scene(source)
        assert scene.title == f"{path.parent.name}: 4x4, p7"
        assert scene.puzzles[0].predictions.keys() == {1, 16}


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (sudoku_csv(), {"number": 3}),
        ({"abc": CHALLENGE}, {"name": "b"}),
        ([], {}),
        ([EXAMPLE], {"number": 2}),
        ([EXAMPLE | {"question": [200] * 16}], {}),
        ("\x00\x01", {}),
    ],
)
def test_missing_or_malformed_input_is_named_with_its_file(
    write: Any, tmp_path: Path, content: Any, wanted: dict[str, Any]
) -> None:
    has_puzzles = isinstance(content, list)
    path = write_examples(tmp_path, "sudoku", content) if has_puzzles else write("a.json", content)
    with pytest.raises(ValueError, match=rf"^{path}:"):
        read_scene(path, **wanted)
    (tmp_path / PREDICTIONS).write_bytes(b"PAR")
    with pytest.raises(ValueError, match=PREDICTIONS):
        read_scene(tmp_path)
