"""Arrays on disk: token grids as memory-mapped uint8 `.npy`, with one metadata.json (the build_arrays stage).

This is the form of tasks on square grids with one answer a puzzle, as Sudoku and mazes.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.tasks import alphabet

METADATA = "metadata.json"
TRAIN = "train"
HELD_OUT = "held_out"  # puzzles to choose settings on, of the size trained on


@dataclass(frozen=True)
class PuzzleArrays:
    """One set of puzzles as tokens: questions and answers `N I`."""

    name: str
    side: int
    questions: UInt8[np.ndarray, "N I"]
    answers: UInt8[np.ndarray, "N I"]
    task: str = "sudoku"

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""
        return alphabet(self.task, self.side).num_symbols

    def __len__(self) -> int:
        return len(self.questions)

    def first(self, num: int) -> "PuzzleArrays":
        """The first `num` puzzles."""
        return replace(self, questions=self.questions[:num], answers=self.answers[:num])


def read_metadata(arrays: Path) -> dict[str, Any]:
    """The metadata of a folder of arrays. ValueError if it is not one."""
    if not (arrays / METADATA).is_file():
        raise ValueError(f"{arrays}: no arrays here ({METADATA} is missing)")
    metadata: dict[str, Any] = json.loads((arrays / METADATA).read_text())
    return metadata


def open_arrays(arrays: Path, name: str) -> PuzzleArrays:
    """Memory-map one set ("train", "9x9", …). ValueError naming the sets there are if it is not among them."""
    metadata = read_metadata(arrays)
    if name not in metadata["sets"]:
        raise ValueError(f"{arrays}: no set {name!r}, there are {sorted(metadata['sets'])}")
    return PuzzleArrays(
        name,
        metadata["sets"][name]["side"],
        np.load(arrays / name / "questions.npy", mmap_mode="r"),
        np.load(arrays / name / "answers.npy", mmap_mode="r"),
        metadata["task"],
    )


def evaluation_sets(arrays: Path) -> list[str]:
    """The evaluation sets of a folder, smallest grid first."""
    sets = read_metadata(arrays)["sets"]
    return sorted((name for name in sets if name != TRAIN), key=lambda name: int(sets[name]["side"]))


def trained_size(arrays: Path, side: int) -> str | None:
    """The evaluation set of the size trained on: puzzles held out, or by its size. None where there is neither."""
    names = evaluation_sets(arrays)
    return next((name for name in (HELD_OUT, f"{side}x{side}") if name in names), None)
