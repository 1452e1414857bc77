"""The three sources of Sudoku: published puzzles of a mirror or of the hubs, or generated ones of the same formats.

Part of the `download` stage; `sudoku_layout` knows the names of the files. The 16×16 puzzles, of which none were
published, are made here whatever the source. Paper: section "Sudoku", data; appendix, data sets.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from serrm.manifest import Origin
from serrm.progress import watch
from serrm.puzzles.sudoku.generate import iterate_puzzles
from serrm.puzzles.sudoku.grid import Box
from serrm.puzzles.sudoku.parse import Puzzle, write_csv
from serrm.puzzles.sudoku.text import format_grid
from serrm.sources.download import copy_files, download_all, of_archive, of_github, of_hugging_face
from serrm.sources.sudoku_layout import (
    FILE_4X4,
    FILE_16X16,
    FOLDER_25X25,
    FOLDER_EXTREME,
    FOLDER_GENERATED,
    NUM_PUBLISHED_25X25,
    TEST_9X9,
    TRAIN_9X9,
    files_25x25,
)
from serrm.sources.sudoku_settings import GeneratedSource, HubSource, MirrorSource, Source, WithGenerated16

ORIGIN = Origin("generated")

# One puzzle for each of the 288 4×4 grids, with as many clues as each of the published 288 has.
NUM_4X4 = 288
CLUES_4X4 = (7, 7)


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


def write_generated(source: GeneratedSource, directory: Path, seed: int) -> dict[str, Origin]:
    """Make the 9×9, 4×4 and 25×25 puzzles in `directory` and say where each file comes from."""
    names = [f"{FOLDER_GENERATED}/{TRAIN_9X9}", f"{FOLDER_GENERATED}/{TEST_9X9}", FILE_4X4]
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
    # One run of different puzzles for both files, so that no test puzzle is a training puzzle.
    puzzles = _generate(Box(3, 3), source.num_train + source.num_test, seed, source.clues)
    write_csv(directory / names[0], islice(puzzles, source.num_train))
    write_csv(directory / names[1], puzzles)
    _write_tsv(directory / FILE_4X4, _generate(Box(2, 2), NUM_4X4, seed, CLUES_4X4))
    if source.num_25x25:
        names += _write_json(directory, _generate(Box(5, 5), source.num_25x25, seed, source.clues_25x25))
    return dict.fromkeys(names, ORIGIN)


def _generate(box: Box, num: int, seed: int, clues: tuple[int, int]) -> Iterator[Puzzle]:
    """`num` different puzzles from the size's own random stream, with a progress bar."""
    puzzles = islice(iterate_puzzles(box, np.random.default_rng([seed, box.side]), clues), num)
    yield from watch(puzzles, f"making {box.side}x{box.side} puzzles", num)


def write_16x16(source: WithGenerated16, directory: Path, seed: int) -> dict[str, Origin]:
    """Make the 16×16 puzzles: Sudoku-Extreme's CSV with A to G for 10 to 16, no file for no puzzles."""
    if not source.num_16x16:
        return {}
    (directory / FILE_16X16).parent.mkdir(parents=True)
    write_csv(directory / FILE_16X16, _generate(Box(4, 4), source.num_16x16, seed, source.clues_16x16))
    return {FILE_16X16: ORIGIN}


def _write_tsv(path: Path, puzzles: Iterable[Puzzle]) -> None:
    lines = ["Puzzle\tSolution"]
    for puzzle in puzzles:
        assert puzzle.answer is not None
        lines.append(f"{format_grid(puzzle.question).replace('.', '0')}\t{format_grid(puzzle.answer)}")
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _write_json(directory: Path, puzzles: Iterable[Puzzle]) -> list[str]:
    """One file a puzzle, numbered, without the solution, as the 25×25 puzzles are published."""
    (directory / FOLDER_25X25).mkdir()
    names = []
    for number, puzzle in enumerate(puzzles):
        names.append(f"{FOLDER_25X25}/generated_{number:04d}_puzzle.json")
        record = {
            "size": puzzle.side,
            "difficulty": "generated",
            "givens": int((puzzle.question > 0).sum()),
            "type": "puzzle",
            "grid": puzzle.question.reshape(puzzle.side, puzzle.side).tolist(),
        }
        (directory / names[-1]).write_text(json.dumps(record) + "\n", encoding="ascii")
    return names
