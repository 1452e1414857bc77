"""Source `mirror`: raw files copied from a local directory with the publishers' file names.

For machines without network, and for data that was fetched once. Files are copied, not linked: the copy
belongs to the data pipeline, which may change its permissions or delete it.
"""

import shutil
from pathlib import Path

from serrm.manifest import Origin
from serrm.sources.sudoku_layout import (
    FILE_4X4,
    FOLDER_25X25,
    NUM_PUBLISHED_25X25,
    TEST_9X9,
    TRAIN_9X9,
    files_25x25,
)
from serrm.sources.sudoku_settings import MirrorSource


def copy_mirror(source: MirrorSource, directory: Path) -> dict[str, Origin]:
    """Copy the published files into `directory` and say where each comes from.

    The origins are names below the mirror's root, so the manifest does not depend on where the mirror lies.

    Raises:
        ValueError: a file is not there; names it.
    """
    names = [f"{source.folder_9x9}/{TRAIN_9X9}", f"{source.folder_9x9}/{TEST_9X9}", FILE_4X4]
    puzzles_25x25 = files_25x25(source.root)
    if len(puzzles_25x25) != NUM_PUBLISHED_25X25:
        folder = source.root / FOLDER_25X25
        raise ValueError(f"{folder}: {len(puzzles_25x25)} .json files, {NUM_PUBLISHED_25X25} are published")
    names += [f"{FOLDER_25X25}/{path.name}" for path in puzzles_25x25]
    return copy_files(source.root, names, directory)


def copy_files(root: Path, names: list[str], directory: Path) -> dict[str, Origin]:
    """Copy files below a mirror's root to the same names below `directory`; none if one is not there."""
    for name in names:
        if not (root / name).is_file():
            raise ValueError(f"{root / name}: no such file in the mirror")
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, directory / name)
    return {name: Origin(f"mirror:{name}") for name in names}
