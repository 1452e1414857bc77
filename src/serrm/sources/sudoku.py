"""The three sources of Sudoku: published puzzles of a mirror or of the hubs, or generated ones of the same formats.

Part of the `download` stage; `sudoku_layout` knows the names of the files. The 16×16 puzzles, of which none were
published, are made here whatever the source. Paper: section "Sudoku", data; appendix, data sets.
"""

from pathlib import Path

from serrm.manifest import Origin
from serrm.sources.published import copy_files, download_all, of_archive, of_github, of_hugging_face
from serrm.sources.sudoku_generated import write_16x16, write_generated
from serrm.sources.sudoku_layout import (
    FILE_4X4,
    FOLDER_25X25,
    FOLDER_EXTREME,
    NUM_PUBLISHED_25X25,
    TEST_9X9,
    TRAIN_9X9,
    files_25x25,
)
from serrm.sources.sudoku_settings import GeneratedSource, HubSource, MirrorSource, Source


def write_sudoku(source: Source, directory: Path, seed: int, scratch: Path) -> dict[str, Origin]:
    """Write the raw files of a source into `directory` and say where each comes from.

    Args:
        seed: of generated puzzles.
        scratch: downloads lie here, finished or not, until all are complete.

    Raises:
        ValueError: a file is missing, or a download fails or has the wrong content; names it.
    """
    match source:
        case GeneratedSource():
            origins = write_generated(source, directory, seed)
        case MirrorSource():
            origins = copy_files(source.root, mirrored_files(source), directory)
        case HubSource():
            wanted = [
                *of_hugging_face(source.sudoku_9x9, FOLDER_EXTREME, source.hugging_face),
                of_github(source.sudoku_4x4, FILE_4X4, source.github_files),
                of_archive(source.sudoku_25x25, FOLDER_25X25, source.github_archives, is_flat=True),
            ]
            origins = download_all(wanted, directory, scratch)
    return origins | write_16x16(source, directory, seed)


def mirrored_files(source: MirrorSource) -> list[str]:
    """The published files below a mirror's root. ValueError if the 25×25 puzzles are not all there."""
    puzzles_25x25 = files_25x25(source.root)
    if len(puzzles_25x25) != NUM_PUBLISHED_25X25:
        folder = source.root / FOLDER_25X25
        raise ValueError(f"{folder}: {len(puzzles_25x25)} .json files, {NUM_PUBLISHED_25X25} are published")
    names = [f"{source.folder_9x9}/{TRAIN_9X9}", f"{source.folder_9x9}/{TEST_9X9}", FILE_4X4]
    return names + [f"{FOLDER_25X25}/{path.name}" for path in puzzles_25x25]
