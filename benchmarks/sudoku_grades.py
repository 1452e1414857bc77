"""Count the Sudokus of the profiles' generated sets and of published files by grade, and symmetric copies of training
puzzles among the test puzzles (docs/data.md).

    python -m benchmarks.sudoku_grades [--mirror FOLDER] > reports/studies/sudoku_grades.csv

A profile's sets are generated anew. With a mirror's folder, the files in its sudoku-extreme-1k, sudoku-4x4 and
sudoku-25x25 are counted too.
"""

import csv
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from serrm.puzzles.raw import Puzzle
from serrm.puzzles.sudoku import data
from serrm.puzzles.sudoku.canonical import find_copies
from serrm.puzzles.sudoku.data import TEXT, GeneratedSudoku
from serrm.puzzles.sudoku.grade import GRADES, grades
from serrm.puzzles.tables import read_table

GENERATED = {
    "laptop": ("sudoku",),
    "ci": ("sudoku",),
    "claims_sudoku": ("sudoku", "sudoku_techniques"),
    "claims_fresh": ("sudoku_techniques", "sudoku_singles"),
    "factorial_symmetry": ("fewer_clues",),
    "ideas": ("sudoku",),
}
# Like the training puzzles of the packaged checkpoint `sudoku` (docs/model-card.md), and like Sudoku-Extreme in clues.
FURTHER = {"30 to 45 clues": {"clues": (30, 45)}, "22 to 26 clues": {"clues": (22, 26)}}
COLUMNS = ["set", "file", "puzzles", *GRADES, "symmetric_copies"]
Row = dict[str, Any]


def rows_of_files(name: str, files: dict[str, Sequence[Puzzle]]) -> Iterator[Row]:
    """A row per file; copies are those of the puzzles of the first file of its side."""
    firsts: dict[int, np.ndarray] = {}
    for file, puzzles in files.items():
        grids = np.stack([puzzle.question for puzzle in puzzles])
        first = firsts.setdefault(grids.shape[1], grids)
        counts = Counter(grades(grids))
        row = {"set": name, "file": file, "puzzles": len(grids)} | {grade: counts[grade] for grade in GRADES}
        yield row | {"symmetric_copies": "" if first is grids else len(find_copies(first, grids))}


def rows_of_source(name: str, source: GeneratedSudoku, seed: int) -> Iterator[Row]:
    """The rows of a generated set."""
    with TemporaryDirectory() as folder:
        directory = Path(folder)
        for file in ("sudoku-9x9", "sudoku-4x4", "sudoku-16x16", "sudoku-25x25"):
            (directory / file).mkdir()
        files = data.make(source, directory, seed)
        yield from rows_of_files(name, {file: [*read_table(TEXT, directory / file)] for file in files})


def main() -> None:
    """Write the counts."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, help="a mirror's folder (docs/data.md)")
    mirror: Path | None = parser.parse_args().mirror
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    settings: dict[str, Any] = {}
    for profile, data_set in ((profile, name) for profile, names in GENERATED.items() for name in names):
        section = yaml.safe_load(Path(f"profiles/{profile}.yaml").read_text())["data_sets"][data_set]
        source = GeneratedSudoku.model_validate(settings := section["download"]["source"])
        writer.writerows(rows_of_source(f"{profile}, {data_set}", source, section["seed"]))
    for name, changes in FURTHER.items():
        sizes = {"num_train": 1000, "num_test": 1000, "num_16x16": 0, "num_25x25": 0}
        source = GeneratedSudoku.model_validate({**settings, **sizes, **changes, "least_shares": {}})
        rows = rows_of_source(f"generated, {name}", source, 0)
        writer.writerows(row for row in rows if row["file"] != data.FILE_4X4)
    if mirror is not None:
        files = {f"{data.FOLDER_EXTREME_1K}/{name}.csv" for name in ("train", "test")}
        read = {file: [*read_table(TEXT, mirror / file)] for file in sorted(files, reverse=True)}
        writer.writerows(rows_of_files("mirror", read))
        writer.writerows(
            rows_of_files("mirror", {data.FILE_4X4: [*read_table(TEXT, mirror / data.FILE_4X4)]})
        )
        solvable = [puzzle for _, puzzle in data.read_solvable(data.files_25x25(mirror))]
        writer.writerows(rows_of_files("mirror", {data.FOLDER_25X25: solvable}))


if __name__ == "__main__":
    main()
