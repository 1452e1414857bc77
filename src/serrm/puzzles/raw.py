"""Raw puzzles: what a source is, which files are published where, and the sets that a task makes of its files.

A raw directory has the publishers' file names and formats whatever the source, so that nothing after the `download`
stage asks where the puzzles came from. Paper: appendix, data sets.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import NonNegativeInt, PositiveInt

from serrm.settings import Settings

Scored = Literal["evaluation", "held_out"]
"""The test sets, or puzzles of no score to choose settings on."""


class Hub(Settings):
    """The publishers: Hugging Face and GitHub, at pinned commits."""

    kind: Literal["hub"]


class Mirror(Settings):
    """A local directory with the publishers' file names, for machines without network."""

    kind: Literal["mirror"]
    # The directory; a relative one is relative to the repository root, and arrives here resolved.
    root: Path


class SubsetSettings(Settings):
    """Which of the raw puzzles are used; None: all of them."""

    num_train: PositiveInt | None
    num_test: PositiveInt | None
    seed: NonNegativeInt


class Published(NamedTuple):
    """A file to download and its name in the raw directory, or an archive and the folder for some of its files."""

    url: str
    revision: str
    name: str
    sha256: str | None = None
    num_files: dict[str, int] | None = None  # of an archive: files that match each pattern
    is_flat: bool = False  # they lie right in the folder, not at their paths in the archive


def hugging_face(repository: str, revision: str, folder: str, sha256: dict[str, str]) -> list[Published]:
    """The files of a data set with their hashes, to be named below `folder`."""
    base = f"https://huggingface.co/datasets/{repository}/resolve/{revision}"
    return [
        Published(f"{base}/{name}", revision, f"{folder}/{name}", found) for name, found in sha256.items()
    ]


def github_archive(
    repository: str, revision: str, folder: str, num_files: dict[str, int], *, is_flat: bool = False
) -> Published:
    """The files of a repository that match a pattern.

    GitHub does not promise that an archive's bytes stay the same, so it is the commit that pins them.
    """
    url = f"https://codeload.github.com/{repository}/tar.gz/{revision}"
    return Published(url, revision, folder, num_files=num_files, is_flat=is_flat)


# A puzzle and its number: its row in the raw file from 0, or its file's place among the sorted file names.
Numbered = tuple[int, Any]


class RawSet(NamedTuple):
    """The raw puzzles of one side that a set is drawn from."""

    side: int
    num: int | None  # to draw; None: all of them
    stream: int  # of random numbers; every set has its own, so that no set's size moves another's draw
    puzzles: Iterator[Numbered]
    is_rest: bool = False  # those that are in the training set already are left out


class Column(NamedTuple):
    """A column of a Parquet set besides number, side, grids and source."""

    kind: str  # pyarrow's name of the type
    is_nullable: bool
    value: Callable[[Any], int | None]  # of a puzzle
