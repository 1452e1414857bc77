"""The checkpoint in the package: what its provenance says of it is so, and it solves."""

import hashlib
import json
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from serrm.cli import main
from serrm.puzzles.sudoku.generate import generate_puzzles
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.text import format_grid

FOLDER = files("serrm") / "checkpoints" / "sudoku"


def test_the_provenance_is_of_these_weights() -> None:
    provenance = json.loads((FOLDER / "provenance.json").read_text())
    config = json.loads((FOLDER / "config.json").read_text())
    weights = (FOLDER / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == provenance["sha256"]
    assert len(weights) < 4_000_000
    for key in ("data_hash", "code_hash"):
        assert provenance[key] == config[key]


def test_a_changed_byte_is_one_line_and_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sudoku"
    shutil.copytree(str(FOLDER), folder)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    assert main(["solve", "--checkpoint", str(folder), "1.3.34...14...21"]) == 1
    err = capsys.readouterr().err
    assert "model.safetensors is not what was written" in err and err.count("\n") == 1


def test_it_solves_fresh_puzzles(capsys: pytest.CaptureFixture[str]) -> None:
    puzzles = list(generate_puzzles(box_for_side(9), 4, np.random.default_rng(77), (40, 45)))
    assert (
        main(["solve", "--max-steps", "32", "--exact", *(format_grid(each.question) for each in puzzles)])
        == 0
    )
    out = capsys.readouterr().out
    for puzzle in puzzles:
        assert puzzle.answer is not None and format_grid(puzzle.answer) in out
