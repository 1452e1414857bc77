"""ARC pairs on disk: tokens at the corner of a canvas, memory-mapped, with the index of variants (build_arrays).

    index.npy       uint8, puzzle × variant × (transform, permutation of the ten colours)
    metadata.json   task, side, names of the puzzles in the order of the index, counts, seed, hash of the source
    train/, evaluation/ (or held_out/)
        questions.npy, answers.npy              uint8 tokens "P I", the pairs of one puzzle side by side
        question_sizes.npy, answer_sizes.npy    uint8 "P 2", rows and columns
        puzzles.npy, numbers.npy                int64 "P": the puzzle's place in the index, the pair's in its role

`train` are the demonstrations of all puzzles and the test pairs of those that are not scored; `evaluation` are the
test pairs of the evaluation puzzles, `held_out` those of training puzzles that stand in for them. Paper: section
"ARC-AGI", data.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8

from serrm.arrays.puzzles import read_metadata
from serrm.puzzles.arc.grid import SCORED

INDEX = "index.npy"
ARRAYS = ("questions", "answers", "question_sizes", "answer_sizes", "puzzles", "numbers")


@dataclass(frozen=True, eq=False)
class ArcArrays:
    """The pairs of one set, and the index of variants of all puzzles."""

    side: int
    puzzle_names: tuple[str, ...]
    index: UInt8[np.ndarray, "N V 11"]
    questions: UInt8[np.ndarray, "P I"]
    answers: UInt8[np.ndarray, "P I"]
    question_sizes: UInt8[np.ndarray, "P 2"]
    answer_sizes: UInt8[np.ndarray, "P 2"]
    puzzles: Int64[np.ndarray, " P"]
    numbers: Int64[np.ndarray, " P"]

    def __len__(self) -> int:
        return len(self.questions)


def scored_set(arrays: Path) -> str:
    """The set of a folder of ARC arrays that is scored: "evaluation" or "held_out". ValueError if there is none."""
    metadata = read_metadata(arrays)
    found: list[str] = [name for name in metadata["sets"] if name in SCORED]
    if not found:
        raise ValueError(f"{arrays}: no ARC set to score here")
    return found[0]


def open_arc_arrays(arrays: Path, name: str) -> ArcArrays:
    """Memory-map one set, "train" or the one to score. ValueError if the folder is not one of ARC arrays."""
    metadata = read_metadata(arrays)
    if name not in metadata["sets"] or "puzzles" not in metadata:
        raise ValueError(f"{arrays}: no ARC set {name!r} here, but {sorted(metadata['sets'])}")
    parts = {part: np.load(arrays / name / f"{part}.npy", mmap_mode="r") for part in ARRAYS}
    index = np.load(arrays / INDEX, mmap_mode="r")
    return ArcArrays(metadata["side"], tuple(metadata["puzzles"]), index, **parts)
