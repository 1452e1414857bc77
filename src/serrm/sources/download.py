"""Published files: copied from a mirror, or downloaded from Hugging Face and GitHub at pinned commits.

Everything is downloaded before anything is unpacked, so that after a failure what is complete is used again.
Paper: appendix, data sets.
"""

import shutil
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from serrm.manifest import Origin
from serrm.sources.publishers import GitHubFile, GitHubFiles, HuggingFaceFiles

RETRIES = 3  # after a failed attempt


class Published(NamedTuple):
    """A file to download and its name in the raw directory, or an archive and the folder for some of its files."""

    url: str
    revision: str
    sha256: str | None
    name: str
    num_files: dict[str, int] | None = None  # of an archive: files that match each pattern
    is_flat: bool = False  # they lie right in the folder, not at their paths in the archive


def copy_files(root: Path, names: list[str], directory: Path) -> dict[str, Origin]:
    """Copy files below a mirror's root to the same names below `directory`; none if one is not there.

    The origins are names below the root, so that the manifest does not depend on where the mirror lies; and files are
    copied, not linked, because the data pipeline may change their permissions or delete them.
    """
    for name in names:
        if not (root / name).is_file():
            raise ValueError(f"{root / name}: no such file in the mirror")
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, directory / name)
    return {name: Origin(f"mirror:{name}") for name in names}


def download_all(files: Iterable[Published], directory: Path, scratch: Path) -> dict[str, Origin]:
    """Download files into the scratch directory, then put them in place; returns where each in `directory` comes from.

    What an earlier call left complete in the scratch directory is used. ValueError if a download fails or has the wrong
    content; names the address.
    """
    files = list(files)
    fetched = [_download(file, scratch) for file in files]
    origins: dict[str, Origin] = {}
    for file, path in zip(files, fetched, strict=True):
        names = _place(file, path, directory)
        origins |= dict.fromkeys(names, Origin(file.url, file.revision))
        path.unlink(missing_ok=True)
    return origins


def _download(file: Published, scratch: Path) -> Path:
    """The complete file in the scratch directory."""
    import pooch
    import requests

    name = pooch.utils.unique_file_name(file.url)
    cache = pooch.create(
        scratch, "", registry={name: file.sha256}, urls={name: file.url}, retry_if_failed=RETRIES
    )
    try:
        downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty())
        return Path(cache.fetch(name, downloader=downloader))
    except (requests.RequestException, ValueError) as error:
        raise ValueError(f"{file.url}: {' '.join(str(error).split())}") from error


def _place(file: Published, path: Path, directory: Path) -> list[str]:
    """Move a file, or unpack an archive; returns the names in `directory`."""
    if file.num_files is None:
        (directory / file.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, directory / file.name)
        return [file.name]
    try:
        return _unpack(file, file.num_files, path, directory)
    except (tarfile.TarError, EOFError, OSError) as error:
        path.unlink()
        raise ValueError(f"{file.url}: not a readable tar.gz archive: {error}") from error


def _unpack(file: Published, num_files: dict[str, int], archive: Path, directory: Path) -> list[str]:
    """Copy the files that match a pattern. GitHub puts everything below one top folder, `<name>-<commit>`."""
    names = []
    with tarfile.open(archive, mode="r:gz") as tar, TemporaryDirectory(dir=archive.parent) as unpacked:
        tar.extractall(unpacked, filter="data")
        (top,) = Path(unpacked).iterdir()
        for pattern, num in num_files.items():
            found = sorted(path.relative_to(top) for path in top.glob(pattern))
            if len(found) != num:
                raise ValueError(f"{file.url}: {len(found)} files match {pattern}, expected {num}")
            for path in found:
                names.append(f"{file.name}/{path.name if file.is_flat else path.as_posix()}")
                (directory / names[-1]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(top / path, directory / names[-1])
    return names


def of_hugging_face(files: HuggingFaceFiles, folder: str, endpoint: str) -> list[Published]:
    """The files of a data set, to be named below `folder`."""
    base = f"{endpoint}/datasets/{files.repository}/resolve/{files.revision}"
    return [
        Published(f"{base}/{name}", files.revision, sha256, f"{folder}/{name}")
        for name, sha256 in files.sha256.items()
    ]


def of_github(file: GitHubFile, name: str, base: str) -> Published:
    """A file of a repository, and its name in the raw directory."""
    url = f"{base}/{file.repository}/{file.revision}/{file.path}"
    return Published(url, file.revision, file.sha256, name)


def of_archive(files: GitHubFiles, folder: str, base: str, *, is_flat: bool = False) -> Published:
    """The files of a repository that match a pattern, below `folder` at their paths in it, or right there if flat.

    GitHub does not promise that an archive's bytes stay the same, so it is the commit that pins them.
    """
    url = f"{base}/{files.repository}/tar.gz/{files.revision}"
    return Published(url, files.revision, None, folder, files.num_files, is_flat)
