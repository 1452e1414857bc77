"""Arrays of tasks on square grids, and streams of training examples of these and other tasks.

The stage build_arrays writes two folders for a data set, so that no training depends on a test set:

    training/               metadata.json, questions.npy, answers.npy
    test/drawn/             metadata.json
    test/drawn/<set>/       questions.npy, answers.npy, of tasks with grades groups.json (`serrm.arrays.groups`)

The sets in test/drawn are the data set's own, from stage `choose_puzzles`. Beside them, test/files has the sets of
users' files (`serrm.arrays.file_sets`). The arrays are token grids as memory-mapped uint8, one question and one answer
per puzzle.

An epoch of the stream shuffles the puzzles and takes one random augmentation of each. Example number n is a pure
function of (seed, n), so the whole state of a reader is the number of examples drawn. The seed is the data set's, so
all runs on it with the same number of augmentations and the same hints get the same examples in the same order.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int64, Shaped, UInt8

from serrm.core.randomness import Purpose, keyed_rng
from serrm.puzzles.raw import Grids
from serrm.puzzles.settings import HintSettings
from serrm.puzzles.tasks import alphabet, grid_task

METADATA = "metadata.json"
TRAIN = "train"  # the name of the training set
TRAINING, TEST, FILES = "training", "test/drawn", "test/files"  # the folders of a data set's arrays


@dataclass(frozen=True)
class PuzzleArrays:
    """One set of puzzles as tokens: questions and answers `N I`."""

    name: str
    side: int
    questions: Grids
    answers: Grids
    task: str  # a key of TASKS

    def __post_init__(self) -> None:
        """Raise ValueError for puzzles that are not square grids of this side."""
        for part, tokens in (("questions", self.questions), ("answers", self.answers)):
            if tokens.shape[1:] != (self.side**2,):
                expected = f"rows of {self.side**2} cells for grids of {self.side}×{self.side}"
                raise ValueError(f"{self.name}: {part} must be {expected}, got shape {tokens.shape}")

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""
        return alphabet(self.task, self.side).num_symbols

    def __len__(self) -> int:
        return len(self.questions)

    def first(self, num: int) -> "PuzzleArrays":
        """Return the first `num` puzzles."""
        return self.slice(0, num)

    def slice(self, start: int, end: int) -> "PuzzleArrays":
        """Return the puzzles from number `start` to before number `end`."""
        return replace(self, questions=self.questions[start:end], answers=self.answers[start:end])

    @property
    def num_examples(self) -> int:
        """The number of puzzles."""
        return len(self.questions)

    def gather(self, start: int, num: int) -> "Examples":
        """Gather the puzzles start … start+num-1 without augmentation."""
        rows = slice(start, start + num)
        questions, answers = np.asarray(self.questions[rows]), np.asarray(self.answers[rows])
        return Examples(questions, answers, np.zeros(num, dtype=np.int64))


def read_metadata(folder: Path) -> dict[str, Any]:
    """Read the metadata of the training or the test folder of a data set's arrays. ValueError if it is not one."""
    if not (folder / METADATA).is_file():
        raise ValueError(f"{folder}: no arrays here ({METADATA} is missing)")
    metadata: dict[str, Any] = json.loads((folder / METADATA).read_text())
    return metadata


def find_set(arrays: Path, name: str) -> tuple[Path, dict[str, Any]]:
    """Find the folder of the training set or of a test set ("train", "9x9", …), with its metadata.

    ValueError, which names the existing sets, if it is not one of them.
    """
    metadata = read_metadata(arrays / (TRAINING if name == TRAIN else TEST))
    if name not in metadata["sets"]:
        raise ValueError(f"{arrays}: no set {name!r}, only {sorted({TRAIN, *metadata['sets']})}")
    return (arrays / TRAINING if name == TRAIN else arrays / TEST / name), metadata


def open_arrays(arrays: Path, name: str) -> PuzzleArrays:
    """Memory-map one set ("train", "9x9", …). ValueError, which names the existing sets, if it is not one of them."""
    return _opened(*find_set(arrays, name), name)


def open_file_sets(arrays: Path, entry: str) -> list[PuzzleArrays]:
    """Memory-map the test sets of a user's file, smallest grid first. ValueError if they were not read."""
    folder = arrays / FILES / entry
    metadata = read_metadata(folder)
    return [_opened(folder / name, metadata, name) for name in metadata["sets"]]


def _opened(folder: Path, metadata: dict[str, Any], name: str) -> PuzzleArrays:
    questions, answers = (np.load(folder / f"{part}.npy", mmap_mode="r") for part in ("questions", "answers"))
    return PuzzleArrays(name, metadata["sets"][name]["side"], questions, answers, metadata["task"])


def list_test_sets(arrays: Path) -> list[str]:
    """List the names of a data set's own test sets, smallest grid first."""
    sets = read_metadata(arrays / TEST)["sets"]
    return sorted(sets, key=lambda name: int(sets[name]["side"]))


def set_of_side(arrays: Path, side: int) -> str | None:
    """Return the name of the first of the data set's own test sets with grids of a side; None if there is none."""
    sets = read_metadata(arrays / TEST)["sets"]
    return next((name for name in list_test_sets(arrays) if sets[name]["side"] == side), None)


# Streams.


class Examples(NamedTuple):
    """A batch of training examples: tokens, targets, and rows of the task-type table."""

    questions: UInt8[np.ndarray, "B I"]
    answers: UInt8[np.ndarray, "B I"]
    task_types: Int64[np.ndarray, " B"]


@dataclass(frozen=True)
class Stream:
    """An endless stream of training examples on grids of side × side cells."""

    side: int
    num_symbols: int  # K of the alphabet, padding included
    num_examples: int  # of an epoch
    gather: Callable[[int, int], Examples]  # (start, num) → the examples start … start+num-1
    num_task_types: int = 1  # rows of the task-type table
    # The puzzles that task types stand for, in the order of the table; empty if there is one type.
    puzzle_names: tuple[str, ...] = ()
    num_special: int = 2  # tokens in `Alphabet.special`, which come first
    # (questions, predictions, labels) → right predictions by the task's rule, if its `right_answers` is "any".
    are_right: Callable[[Grids, Grids, Grids], Bool[np.ndarray, " N"]] | None = None


@dataclass(frozen=True)
class GridExamples:
    """Endless training examples from a set of puzzles with `num_augmentations` augmentations per puzzle."""

    arrays: PuzzleArrays
    num_augmentations: int
    seed: int
    hints: HintSettings | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for more augmentations than the task has."""
        most = grid_task(self.arrays.task).most_augmentations
        if most is not None and self.num_augmentations > most:
            raise ValueError(f"{self.num_augmentations} augmentations requested, a puzzle has {most}")

    def stream(self) -> Stream:
        """Return the training stream of these examples."""
        arrays, task = self.arrays, grid_task(self.arrays.task)
        return Stream(
            arrays.side,
            arrays.num_symbols,
            len(arrays),
            self.gather,
            num_special=len(task.alphabet(arrays.side).special),
            are_right=task.are_right if task.right_answers == "any" else None,
        )

    def examples(self, start: int, num: int) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
        """(puzzle, augmentation) of the examples start … start+num-1."""
        settings = self.seed, len(self.arrays), self.num_augmentations
        puzzles, numbers = across_epochs(lambda epoch: _epoch(epoch, *settings), len(self.arrays), start, num)
        return puzzles, numbers

    def gather(self, start: int, num: int) -> Examples:
        """Tokens and targets of the examples start … start+num-1, augmented and with their hints."""
        puzzles, numbers = self.examples(start, num)
        questions, answers = self.arrays.questions[puzzles], self.arrays.answers[puzzles]
        if self.num_augmentations > 0:
            task, side = grid_task(self.arrays.task), self.arrays.side
            pairs = zip(puzzles.tolist(), numbers.tolist(), strict=True)
            rows = np.stack([task.draw(self.seed, *pair, side) for pair in pairs])
            both = np.concatenate([questions, answers]), np.concatenate([rows, rows])
            questions, answers = np.split(task.apply(*both, side), 2)
        if self.hints is not None:
            questions = with_hints(questions, answers, self.hints, self.seed, start)
        return Examples(questions, answers, np.zeros(num, dtype=np.int64))


def across_epochs(
    epoch: Callable[[int], Sequence[Shaped[np.ndarray, "N *_"]]], num_examples: int, start: int, num: int
) -> list[Shaped[np.ndarray, "B *_"]]:
    """Join the entries start … start+num-1 of arrays drawn for epochs 0, 1, 2, … of that many examples each."""
    epochs, entries = np.divmod(np.arange(start, start + num), num_examples)
    parts = [
        [array[entries[epochs == number]] for array in epoch(number)] for number in np.unique(epochs).tolist()
    ]
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


@lru_cache(maxsize=4)
def _epoch(
    epoch: int, seed: int, num_puzzles: int, num_augmentations: int
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    order = keyed_rng(seed, Purpose.SHUFFLE, epoch).permutation(num_puzzles)
    rng = keyed_rng(seed, Purpose.AUGMENTATION_INDEX, epoch)
    return order, rng.integers(0, num_augmentations + 1, num_puzzles)


def with_hints(
    questions: UInt8[np.ndarray, "B I"],
    answers: UInt8[np.ndarray, "B I"],
    hints: HintSettings,
    seed: int,
    start: int,
) -> UInt8[np.ndarray, "B I"]:
    """Show hints in the questions of the examples start, start + 1, …

    Their number is uniform up to a limit, which falls to 0 over the first `hints.examples` examples.
    """
    shown = questions.copy()
    for index, example in enumerate(range(start, min(start + len(questions), hints.examples))):
        rng = keyed_rng(seed, Purpose.HINTS, example)
        most = round(hints.max_cells * (1 - example / hints.examples))
        open_cells = rng.permutation(np.flatnonzero(questions[index] != answers[index]))
        cells = open_cells[: rng.integers(most + 1)]
        shown[index, cells] = answers[index, cells]
    return shown


def random_stream(side: int, num_symbols: int) -> Stream:
    """Endless random tokens, the same at every call, to time training steps without puzzles."""

    def gather(start: int, num: int) -> Examples:
        tokens = np.random.default_rng(start).integers(1, num_symbols, (2, num, side**2), dtype=np.uint8)
        return Examples(tokens[0], tokens[1], np.zeros(num, dtype=np.int64))

    return Stream(side, num_symbols, 1000, gather)


def read_ahead(stream: Stream, num: int) -> Stream:
    """Prefetch a stream: a thread gathers blocks of `num` examples, one block ahead of the caller."""
    pool = ThreadPoolExecutor(1, "read-ahead")
    blocks: dict[int, Future[Examples]] = {}

    def gather(start: int, num_requested: int) -> Examples:
        first, last = start // num, (start + max(num_requested, 1) - 1) // num
        for number in blocks.keys() - range(first, last + 2):
            del blocks[number]
        for number in range(first, last + 2):
            if number not in blocks:
                blocks[number] = pool.submit(stream.gather, number * num, num)
        whole = zip(*(blocks[number].result() for number in range(first, last + 1)), strict=True)
        window = slice(start - first * num, start - first * num + num_requested)
        return Examples(*(np.concatenate(parts)[window] for parts in whole))

    return replace(stream, gather=gather)
