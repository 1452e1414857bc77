"""The `download` stage: a data set's raw files from any source, in one directory with a manifest.

Files are generated, copied from a mirror, or downloaded from Hugging Face and GitHub at pinned commits. Everything is
downloaded before anything is unpacked, so that a second attempt uses complete downloads again. Paper: appendix, data
sets.
"""

import logging
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from pydantic import NonNegativeInt

from serrm.core.files import Origin, existing, new_directory
from serrm.core.settings import Settings
from serrm.puzzles.raw import Published
from serrm.puzzles.tasks import TASKS
from serrm.sources.manifest import write_manifest

logger = logging.getLogger(__name__)
S = TypeVar("S")

RETRIES = 3  # after a failed attempt


class Download(Settings, Generic[S]):
    """Source of a data set's raw files."""

    source: S
    seed: NonNegativeInt


def download_settings_class(task: str) -> Any:
    """Return the class of the settings of a task's `download` stage."""
    generic: Any = Download
    return generic[TASKS[task].source]


def fetch(task: str, source: Any, target: Path, seed: int, scratch: Path | None = None) -> None:
    """Write the raw files of a task's `source` and their `manifest.json` to the directory `target`.

    The directory appears when it is complete, and replaces an older one; a failure changes nothing.

    Args:
        task: a key of `TASKS`.
        source: the settings of a source of this task.
        seed: of generated puzzles.
        scratch: a directory that outlives this call and keeps complete downloads until all files are there. By default
            every call downloads all of them.

    Raises:
        ValueError: a file is missing, incomplete or has the wrong hash; the message is one line with its name.
    """
    record = TASKS[task]
    with new_directory(target) as directory:
        origins: dict[str, Origin] = {}
        if source.kind == "mirror":
            if not source.root.is_dir():
                raise ValueError(f"{source.root}: no such folder (the folder of the source mirror of {task})")
            origins = copy_files(source.root, record.mirror_files(source), directory)
        elif source.kind == "hub":
            with TemporaryDirectory(dir=target.parent) as temporary:
                origins = download_all(record.published, directory, scratch or Path(temporary))
        origins |= record.make(source, directory, seed)
        write_manifest(directory, source.kind, seed, origins)
    logger.info("%s: %d files from source %s", target, len(origins), source.kind)


def copy_files(root: Path, names: list[str], directory: Path) -> dict[str, Origin]:
    """Copy files below a mirror's root to the same names below `directory`. ValueError if one is missing.

    Origins are names below the root, so that the manifest does not depend on the mirror's path. Files are copied, not
    linked, because DVC may change their permissions or delete them.
    """
    for name in names:
        _copy(existing(root / name), directory / name)
    return {name: Origin(f"mirror:{name}") for name in names}


def download_all(files: Iterable[Published], directory: Path, scratch: Path) -> dict[str, Origin]:
    """Download files into the scratch directory, copy or unpack them into `directory`; return their origins by name.

    Complete downloads of an earlier call in the scratch directory are used again. All are deleted when every file is in
    `directory`. ValueError with the address if a download fails or has the wrong content.
    """
    fetched = [(file, _download(file, scratch)) for file in files]
    origins: dict[str, Origin] = {}
    for file, path in fetched:
        names = [file.name]
        if file.num_files is None:
            _copy(path, directory / file.name)
        else:
            names = _unpack(file, file.num_files, path, directory)
        origins |= dict.fromkeys(names, Origin(file.url, file.revision))
    for _, path in fetched:
        path.unlink()
    return origins


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _download(file: Published, scratch: Path) -> Path:
    """Return the complete file in the scratch directory."""
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


def _unpack(file: Published, num_files: dict[str, int], archive: Path, directory: Path) -> list[str]:
    """Copy the archive's files that match a pattern. GitHub's archives have one top folder, `<name>-<commit>`."""
    names = []
    with TemporaryDirectory(dir=archive.parent) as unpacked:
        try:
            with tarfile.open(archive, mode="r:gz") as tar:
                # Python 3.11 before 3.11.4 has no filter and ignores the attribute.
                tar.extraction_filter = getattr(tarfile, "data_filter", None)
                tar.extractall(unpacked)
        except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
            archive.unlink()
            raise ValueError(f"{file.url}: not a readable tar.gz archive: {error}") from error
        (top,) = Path(unpacked).iterdir()
        for pattern, num in num_files.items():
            paths = sorted(path.relative_to(top) for path in top.glob(pattern))
            if len(paths) != num:
                archive.unlink()
                raise ValueError(f"{file.url}: {len(paths)} files match {pattern}, expected {num}")
            for path in paths:
                names.append(f"{file.name}/{path.name if file.is_flat else path.as_posix()}")
                _copy(top / path, directory / names[-1])
    return names
