"""Raw puzzles: the published files, one of their puzzles, and the sets that a task draws.

The name of a folder in a raw directory tells the source of its files; the readers of each task list the folders they
know. Generated puzzles on square grids are tables with answers (`serrm.puzzles.tables`). Paper: appendix, data sets.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

Tokens = UInt8[np.ndarray, " I"]  # of a square grid, row by row
Grids = UInt8[np.ndarray, "N I"]  # tokens of square grids of one size
# The rows of a grid: tokens, or ARC's colours. The axes have no names, because grids of one call may differ in size.
Cells = UInt8[np.ndarray, "_ _"]


class Published(NamedTuple):
    """A file to download and its name in the raw directory, or an archive and the folder for its files."""

    url: str
    revision: str
    name: str
    sha256: str | None = None
    # Of an archive: patterns of files, each with the number that match.
    num_files: dict[str, int] | None = None
    is_flat: bool = False  # files go straight into the folder, without their paths in the archive


def hugging_face(repository: str, revision: str, folder: str, sha256: dict[str, str]) -> list[Published]:
    """List the files of a data set on Hugging Face, given the hashes by name and their folder in the raw directory."""
    base = f"https://huggingface.co/datasets/{repository}/resolve/{revision}"
    return [Published(f"{base}/{name}", revision, f"{folder}/{name}", sha) for name, sha in sha256.items()]


def github_archive(
    repository: str, revision: str, folder: str, num_files: dict[str, int], *, is_flat: bool = False
) -> Published:
    """Describe the archive of a repository at a commit.

    `num_files` has patterns of the files to unpack, with their numbers.

    The commit pins the files. There is no hash, because GitHub does not promise that an archive's bytes stay the same.
    """
    url = f"https://codeload.github.com/{repository}/tar.gz/{revision}"
    return Published(url, revision, folder, num_files=num_files, is_flat=is_flat)


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A puzzle on a square grid of I = side² cells, as tokens.

    `answer` is None if it is not known. `source` is the column of that name in published tables, such as a data set;
    for puzzles made here "generated", or "crop" for a window of a maze; for a published 25×25 puzzle its difficulty.
    `rating` is the publisher's difficulty, or the number of steps of a maze.
    """

    question: UInt8[np.ndarray, "_"]
    answer: UInt8[np.ndarray, "_"] | None
    source: str = ""
    rating: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if the question and the answer differ in size."""
        num = len(self.question)
        if self.answer is not None and num != len(self.answer):
            raise ValueError(f"a question of {num} cells with an answer of {len(self.answer)}")

    @property
    def side(self) -> int:
        """Cells of a row."""
        return math.isqrt(len(self.question))


# A puzzle and its number: its row in the raw file from 0, or the rank of its file's name.
Numbered = tuple[int, Puzzle]


class RawSet(NamedTuple):
    """The raw puzzles of one side that a set is drawn from."""

    side: int
    num: int | None  # to draw; None: all of them
    stream: int  # of random numbers; sets have different streams, so the size of one does not change another
    puzzles: Iterator[Numbered]
    # Without the numbers that the training set drew, as both sets are of the same file.
    is_rest: bool = False


class Counts(NamedTuple):
    """The side of the main grids, the examples per epoch, and the puzzles (or ARC's test inputs) to score by side."""

    side: int
    num_train: int
    tests: Mapping[int, int]
