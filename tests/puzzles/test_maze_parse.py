"""The publisher's CSV: what is written is read again, byte for byte, and bad rows are refused with their place."""

from pathlib import Path

import numpy as np
import pytest

from serrm.puzzles.maze.parse import read_csv, write_csv
from tests.references import generate_mazes

HEADER = "source,question,answer,rating"
GOOD = "made,S  G,SooG,2"


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_written_mazes_are_read_again(tmp_path: Path) -> None:
    puzzles = generate_mazes(7, 20, np.random.default_rng(0), 8)
    write_csv(tmp_path / "mazes.csv", puzzles)
    read = list(read_csv(tmp_path / "mazes.csv"))
    for before, after in zip(puzzles, read, strict=True):
        assert np.array_equal(before.question, after.question)
        assert np.array_equal(before.answer, after.answer)
        assert (before.side, before.source, before.rating) == (after.side, after.source, after.rating)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("made,S  G,SooG", "3 columns instead of 4"),
        ("made,S  G#,SooG#,2", "5 characters make no square maze"),
        ("made,S  G,S,2", "a maze of 4 cells with an answer of 1"),
        ("made,S   ,SooG,2", "needs one start and one goal"),
        ("made,S# G,SooG,2", "cell 2 is '#' in the question but 'o' in the answer"),
        ("made,S  G,SooG,2.5", r"rating '2\.5' is no whole number"),
    ],
)
def test_a_bad_row_is_refused_with_its_place(tmp_path: Path, row: str, message: str) -> None:
    path = write(tmp_path / "mazes.csv", GOOD, row)
    with pytest.raises(ValueError, match=rf"mazes\.csv:3: .*{message}") as error:
        list(read_csv(path))
    assert "\n" not in str(error.value)
