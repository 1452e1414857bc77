"""Published files: copied from a mirror, or downloaded from Hugging Face and GitHub at pinned commits.

Everything is downloaded before anything is unpacked, so that after a failure what is complete is used again. The
download is ours, because `hf_hub_download` discards an unfinished file when it fails, and Sudoku-Extreme's train.csv
alone has 719 MB. Paper: appendix, data sets.
"""

import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from huggingface_hub import hf_hub_url

from serrm.manifest import Origin
from serrm.sources.download import download
from serrm.sources.publishers import GitHubFile, GitHubFiles, HuggingFaceFiles

Unpack = Callable[[Path, Path], list[str]]


class Published(NamedTuple):
    """A file to download; `unpack(file, directory)` puts it there, or what is in it, and returns the names."""

    url: str
    revision: str
    sha256: str | None
    unpack: Unpack


def copy_files(root: Path, names: list[str], directory: Path) -> dict[str, Origin]:
    """Copy files below a mirror's root to the same names below `directory`; none if one is not there.

    The origins are names below the root, so that the manifest does not depend on where the mirror lies; and files are
    copied, not linked, because the data pipeline may change their permissions or delete them.
    """
    for name in names:
        if not (root / name).is_file():
            raise ValueError(f"{root / name}: no such file in the mirror")
    for name in names:
        _place(root / name, directory, name, shutil.copyfile)
    return {name: Origin(f"mirror:{name}") for name in names}


def download_all(files: Iterable[Published], directory: Path, scratch: Path) -> dict[str, Origin]:
    """Download files into the scratch directory, then unpack them; returns where each in `directory` comes from.

    ValueError if a download fails, is incomplete or has the wrong content; names the address.
    """
    files = list(files)
    fetched = [download(file.url, sha256=file.sha256, scratch=scratch) for file in files]
    origins: dict[str, Origin] = {}
    for file, path in zip(files, fetched, strict=True):
        try:
            origins |= dict.fromkeys(file.unpack(path, directory), Origin(file.url, file.revision))
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise ValueError(f"{file.url}: not a readable tar.gz archive: {error}") from error
        except ValueError as error:
            raise ValueError(f"{file.url}: {error}") from error
        finally:
            path.unlink(missing_ok=True)
    return origins


def of_hugging_face(files: HuggingFaceFiles, folder: str, endpoint: str) -> list[Published]:
    """The files of a data set, to be named below `folder`."""
    url = partial(
        hf_hub_url, files.repository, repo_type="dataset", revision=files.revision, endpoint=endpoint
    )
    return [
        Published(url(name), files.revision, sha256, _move_to(f"{folder}/{name}"))
        for name, sha256 in files.sha256.items()
    ]


def of_github(file: GitHubFile, name: str, base: str) -> Published:
    """A file of a repository, and its name in the raw directory."""
    url = f"{base}/{file.repository}/{file.revision}/{file.path}"
    return Published(url, file.revision, file.sha256, _move_to(name))


def of_archive(files: GitHubFiles, folder: str, base: str, *, is_flat: bool = False) -> Published:
    """The files of a repository that match a pattern, below `folder` at their paths in it, or right there if flat.

    GitHub does not promise that an archive's bytes stay the same, so it is the commit that pins them.
    """

    unpack = partial(_extract, num_files=files.num_files, folder=folder, is_flat=is_flat)
    return Published(f"{base}/{files.repository}/tar.gz/{files.revision}", files.revision, None, unpack)


def _move_to(name: str) -> Unpack:
    def unpack(path: Path, directory: Path) -> list[str]:
        _place(path, directory, name, shutil.move)
        return [name]

    return unpack


def _place(path: Path, directory: Path, name: str, carry: Callable[[Path, Path], object]) -> None:
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    carry(path, directory / name)


def _extract(
    archive: Path, directory: Path, num_files: dict[str, int], folder: str, *, is_flat: bool
) -> list[str]:
    """Write the files that match a pattern; returns their names in `directory`.

    GitHub puts everything below one top folder, `<name>-<commit>`, hence the first part of a name is skipped.
    ValueError if the files matching a pattern are not as many as expected.
    """
    names: dict[str, list[str]] = {pattern: [] for pattern in num_files}
    with tarfile.open(archive, mode="r:gz") as tar:
        for member in tar:
            path = PurePosixPath(member.name.partition("/")[2])
            content = tar.extractfile(member)
            for pattern in names:
                if content is not None and _does_match(path, pattern):
                    name = f"{folder}/{path.name if is_flat else path}"
                    (directory / name).parent.mkdir(parents=True, exist_ok=True)
                    (directory / name).write_bytes(content.read())
                    names[pattern].append(name)
    for pattern, num in num_files.items():
        if len(names[pattern]) != num:
            raise ValueError(f"{len(names[pattern])} files match {pattern}, expected {num}")
    return [name for matching in names.values() for name in matching]


def _does_match(path: PurePosixPath, pattern: str) -> bool:
    """Whether a path matches a pattern as a whole; `match` alone would accept a match of its end."""
    return len(path.parts) == len(PurePosixPath(pattern).parts) and path.match(pattern)
