"""What is fetched from which publisher, at pinned commits, or found in a mirror: parts of the tasks' settings."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from serrm.settings import Settings


class Mirror(Settings):
    """A local directory with the publishers' file names, for machines without network."""

    kind: Literal["mirror"]
    # The directory; a relative one is relative to the repository root, and arrives here resolved.
    root: Path


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]


class Repository(Settings):
    """A repository of Hugging Face or GitHub at a pinned commit."""

    repository: str  # "owner/name"
    revision: Commit


class HuggingFaceFiles(Repository):
    """Files of one data set on the Hugging Face hub."""

    # File name and its sha256; null: not checked, only recorded in the manifest.
    sha256: dict[str, Sha256 | None]


class GitHubFile(Repository):
    """One file of a GitHub repository."""

    path: str  # in the repository
    sha256: Sha256 | None  # null: not checked, only recorded in the manifest


class GitHubFiles(Repository):
    """The files of a GitHub repository that match a pattern, from the archive of the commit."""

    # How many files match each pattern at that commit; a * stands for anything within a part of the path.
    num_files: dict[str, PositiveInt]
