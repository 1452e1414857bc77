"""Source `generated`: Sudoku puzzles of all four sizes made here, in the publishers' file formats.

Nothing downstream can tell them from downloaded ones: 9×9 as Sudoku-Extreme's CSV, 4×4 tab-separated,
25×25 one JSON file each. Every puzzle has exactly one solution; every size has its own random stream, so
asking for more puzzles of one size changes no other. The 16×16 puzzles of every source are made here too.
Paper: section "Sudoku", data.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from serrm.manifest import Origin
from serrm.progress import watch
from serrm.puzzles.sudoku.generate import generate_16x16, iterate_puzzles
from serrm.puzzles.sudoku.grid import Box
from serrm.puzzles.sudoku.parse import Puzzle, write_csv
from serrm.puzzles.sudoku.text import format_grid
from serrm.sources.sudoku_layout import (
    FILE_4X4,
    FILE_16X16,
    FOLDER_25X25,
    FOLDER_GENERATED,
    TEST_9X9,
    TRAIN_9X9,
)
from serrm.sources.sudoku_settings import GeneratedSource, WithGenerated16

ORIGIN = Origin("generated")

# One puzzle for each of the 288 4×4 grids, with as many clues as each of the published 288 has.
NUM_4X4 = 288
CLUES_4X4 = (7, 7)


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
    write_csv(directory / FILE_16X16, generate_16x16(source.num_16x16, seed, source.clues_16x16))
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
