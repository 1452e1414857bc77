"""Arrays on disk: token grids as memory-mapped uint8 `.npy`, with one metadata.json (the build_arrays stage).

This is Sudoku's and the mazes' form. Puzzles stay as they are; an augmentation is applied when a batch is gathered.
Of a Sudoku it is a row of parameters, either stored here (`prebuilt`) or drawn at that moment, both the same pure
function of (seed, puzzle, member); of a maze it is one of the eight dihedral transforms.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from serrm.puzzles.alphabet import alphabet
from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.sudoku.grid import Box, box_for_side
from serrm.puzzles.sudoku.symmetry import apply_parameters, num_uniforms, symmetries_from_uniforms
from serrm.randomness import Purpose, keyed_rng

METADATA = "metadata.json"
TRAIN = "train"
HELD_OUT = "held_out"  # puzzles to choose settings on, of the size trained on
AUGMENTATIONS = "augmentations.npy"  # of the training set, where stored
Tokens = UInt8[np.ndarray, "N I"]
Numbers = Int[np.ndarray, " N"]


@dataclass(frozen=True)
class PuzzleArrays:
    """One set of puzzles as tokens: questions and answers `N I`, and its augmentations if stored."""

    name: str
    side: int
    questions: UInt8[np.ndarray, "N I"]
    answers: UInt8[np.ndarray, "N I"]
    augmentations: UInt8[np.ndarray, "N A P"] | None = None
    task: str = "sudoku"

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""
        return alphabet(self.task, self.side).num_symbols

    @property
    def num_augmentations(self) -> int | None:
        """Images a puzzle can have besides itself; None: any number."""
        if self.task == "maze":
            return NUM_TRANSFORMS - 1
        return None if self.augmentations is None else self.augmentations.shape[1] - 1

    def __len__(self) -> int:
        return len(self.questions)

    def first(self, num: int) -> "PuzzleArrays":
        """The first `num` puzzles."""
        return self.part(0, num)

    def part(self, start: int, stop: int | None = None) -> "PuzzleArrays":
        """The puzzles from one number to before another."""
        rows = slice(start, stop)
        return replace(self, questions=self.questions[rows], answers=self.answers[rows])


def draw_augmentation(seed: int, puzzle: int, member: int, box: Box) -> UInt8[np.ndarray, " P"]:
    """The parameters of augmentation `member` (1, 2, …) of a puzzle; member 0 is the puzzle itself."""
    if member == 0:
        lines = np.arange(box.side, dtype=np.uint8)
        return np.concatenate([lines, lines, [0], lines + 1]).astype(np.uint8)
    uniforms = keyed_rng(seed, Purpose.AUGMENTATION, puzzle, member).random((1, num_uniforms(box)))
    row: UInt8[np.ndarray, " P"] = symmetries_from_uniforms(uniforms, box)[0]
    return row


def read_metadata(arrays: Path) -> dict[str, object]:
    """The metadata of a folder of arrays. ValueError if it is not one."""
    if not (arrays / METADATA).is_file():
        raise ValueError(f"{arrays}: no arrays here ({METADATA} is missing)")
    metadata: dict[str, object] = json.loads((arrays / METADATA).read_text())
    return metadata


def open_arrays(arrays: Path, name: str) -> PuzzleArrays:
    """Memory-map one set ("train", "9x9", …). ValueError naming the sets there are if it is not among them."""
    metadata = read_metadata(arrays)
    sets = metadata["sets"]
    assert isinstance(sets, dict)
    if name not in sets:
        raise ValueError(f"{arrays}: no set {name!r}, there are {sorted(sets)}")
    folder = arrays / name
    stored = folder / AUGMENTATIONS
    return PuzzleArrays(
        name,
        sets[name]["side"],
        np.load(folder / "questions.npy", mmap_mode="r"),
        np.load(folder / "answers.npy", mmap_mode="r"),
        np.load(stored, mmap_mode="r") if stored.exists() else None,
        str(metadata["task"]),
    )


def evaluation_sets(arrays: Path) -> list[str]:
    """The evaluation sets of a folder, smallest grid first."""
    sets = read_metadata(arrays)["sets"]
    assert isinstance(sets, dict)
    return sorted((name for name in sets if name != TRAIN), key=lambda name: int(sets[name]["side"]))


def trained_size(arrays: Path, side: int) -> str | None:
    """The evaluation set of the size trained on: puzzles held out, or by its size. None where there is neither."""
    names = evaluation_sets(arrays)
    return next((name for name in (HELD_OUT, f"{side}x{side}") if name in names), None)


def augment(
    arrays: PuzzleArrays, questions: Tokens, answers: Tokens, puzzles: Numbers, members: Numbers, seed: int
) -> tuple[Tokens, Tokens]:
    """The images of (puzzle, member) pairs, given their questions and answers; member 0 is the puzzle itself."""
    both = np.concatenate([questions, answers])
    if arrays.task == "maze":
        orders = np.stack([cell_order(arrays.side, arrays.side, member) for member in members.tolist()])
        images = np.take_along_axis(both, np.concatenate([orders, orders]), axis=1)
    else:
        rows = augmentation_rows(arrays, puzzles, members, seed)
        box = box_for_side(arrays.side)
        images = apply_parameters(both - 1, np.concatenate([rows, rows]), box) + 1
    return images[: len(questions)], images[len(questions) :]


def augmentation_rows(
    arrays: PuzzleArrays, puzzles: Int[np.ndarray, " B"], members: Int[np.ndarray, " B"], seed: int
) -> UInt8[np.ndarray, "B P"]:
    """The augmentation parameters of (puzzle, member) pairs, looked up where stored, else drawn."""
    if arrays.augmentations is not None:
        return np.asarray(arrays.augmentations[puzzles, members])
    box = box_for_side(arrays.side)
    pairs = zip(puzzles.tolist(), members.tolist(), strict=True)
    return np.stack([draw_augmentation(seed, puzzle, member, box) for puzzle, member in pairs])
