"""The mirror source: a faithful copy of the publishers' files, or one line that names what is missing."""

import os
from pathlib import Path

import numpy as np
import pytest

from serrm.datasets.parquet import read_puzzle_set, set_file
from serrm.datasets.sudoku import write_puzzle_sets
from serrm.manifest import check_manifest
from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.sources.fetch import fetch
from serrm.sources.sudoku_settings import MirrorSource

NAMES = [
    "sudoku-extreme-1k/train.csv",
    "sudoku-extreme-1k/test.csv",
    "sudoku-4x4/4x4_sudoku_unique_solution.csv",
    *(f"sudoku-25x25/sudoku_25x25_Easy_{number:03d}_puzzle.json" for number in range(100)),
]
MIRROR = os.environ.get("SERRM_MIRROR")


def make_mirror(root: Path) -> MirrorSource:
    for name in [*NAMES, "sudoku-25x25/README.md", "maze/train.csv"]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"content of {name}")
    return MirrorSource(kind="mirror", root=root, num_16x16=0, clues_16x16=(150, 200))


def test_the_mirror_is_copied_as_it_is(tmp_path: Path) -> None:
    fetch("sudoku", make_mirror(tmp_path / "mirror"), tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    assert manifest.kind == "mirror"
    assert [record.name for record in manifest.files] == sorted(NAMES)
    for record in manifest.files:
        assert (tmp_path / "raw" / record.name).read_text() == f"content of {record.name}"
        assert record.origin == f"mirror:{record.name}"


def test_the_copy_can_be_written_where_the_mirror_cannot(tmp_path: Path) -> None:
    source = make_mirror(tmp_path / "mirror")
    (source.root / NAMES[0]).chmod(0o444)
    fetch("sudoku", source, tmp_path / "raw", seed=0)
    copy, original = (tmp_path / "raw" / NAMES[0]).stat(), (source.root / NAMES[0]).stat()
    assert copy.st_mode & 0o200
    assert copy.st_ino != original.st_ino


@pytest.mark.parametrize("name", NAMES[:3])
def test_a_missing_file_is_named_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    source = make_mirror(tmp_path / "mirror")
    (source.root / name).unlink()
    with pytest.raises(ValueError, match=f"{name}: no such file in the mirror"):
        fetch("sudoku", source, tmp_path / "raw", seed=0)
    assert list(tmp_path.iterdir()) == [source.root]


def test_all_published_25x25_puzzles_must_be_there(tmp_path: Path) -> None:
    source = make_mirror(tmp_path / "mirror")
    (source.root / NAMES[-1]).unlink()
    with pytest.raises(ValueError, match=r"sudoku-25x25: 99 \.json files, 100 are published"):
        fetch("sudoku", source, tmp_path / "raw", seed=0)
    assert list(tmp_path.iterdir()) == [source.root]


# Collected only where the environment names a real mirror.
if MIRROR is not None:

    def test_the_real_mirror_becomes_puzzle_sets(tmp_path: Path) -> None:
        source = MirrorSource(kind="mirror", root=Path(MIRROR or ""), num_16x16=2, clues_16x16=(150, 200))
        fetch("sudoku", source, tmp_path / "raw", seed=0)
        sizes = {"4x4": None, "16x16": None, "25x25": None}
        write_puzzle_sets(
            tmp_path / "raw", tmp_path / "sets", num_train=None, num_test=500, num_test_sizes=sizes, seed=0
        )
        nums = {"train": 1_000, "9x9": 500, "4x4": 288, "16x16": 2, "25x25": 42}
        for name, num in nums.items():
            questions, answers = read_puzzle_set(tmp_path / "sets" / set_file(name))
            side = round(questions.shape[1] ** 0.5)
            assert len(questions) == num
            assert are_solutions(answers, box_for_side(side)).all()
            assert np.all((questions == 0) | (questions == answers))
