"""The checkpoint in the package: what its provenance says of it is so, and it solves."""

import hashlib
import json
from importlib.resources import files

import numpy as np
import pytest

from serrm.cli import main
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.data import generate_puzzles

FOLDER = files("serrm") / "checkpoints" / "sudoku"


def test_the_provenance_is_of_these_weights() -> None:
    provenance = json.loads((FOLDER / "provenance.json").read_text())
    config = json.loads((FOLDER / "config.json").read_text())
    weights = (FOLDER / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == provenance["sha256"]
    assert len(weights) < 4_000_000
    for key in ("data_hash", "code_hash"):
        assert provenance[key] == config[key]


def test_it_solves_fresh_puzzles(capsys: pytest.CaptureFixture[str]) -> None:
    puzzles = list(generate_puzzles(9, 4, np.random.default_rng(77), (40, 45)))
    assert (
        main(["solve", "--budget", "32", "--exact", *(SUDOKU_TEXT.format(each.question) for each in puzzles)])
        == 0
    )
    out = capsys.readouterr().out
    for puzzle in puzzles:
        assert puzzle.answer is not None and SUDOKU_TEXT.format(puzzle.answer) in out
