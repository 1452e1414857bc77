"""Tables of puzzles on square grids, as CSV or tab-separated: one puzzle per row, its grids as text.

A malformed row is a ValueError of one line that names file, line and value.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TextIO

from serrm.core.files import existing, new_file
from serrm.core.progress import with_progress
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.text import GridText, shorten

CSV_COLUMNS = ["source", "question", "answer", "rating"]
"""Columns of Sudoku-Extreme and of Maze-Hard."""
TSV_COLUMNS = ["Puzzle", "Solution"]
"""Columns of the 4×4 Sudokus."""


def read_table(text: GridText, path: Path | str) -> Iterator[Puzzle]:
    """Read the puzzles of a table with CSV_COLUMNS, or tab-separated with TSV_COLUMNS; blank lines are skipped.

    An empty answer or rating is None. The source of tab-separated puzzles is the file's name.
    """
    with open_text(path) as file:
        delimiter = "\t" if "\t" in file.readline() else ","
        file.seek(0)
        columns = CSV_COLUMNS if delimiter == "," else TSV_COLUMNS
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        rows = filter(None, reader)
        try:
            if (header := next(rows, [])) != columns:
                reason = f"is not {delimiter.join(columns)!r}"
                raise ValueError(f"header {shorten(delimiter.join(header))} {reason}")
            for row in rows:
                if len(row) != len(columns):
                    values = shorten(delimiter.join(row))
                    raise ValueError(f"{len(row)} columns instead of {len(columns)}: {values}")
                source, question, answer, rating = row if delimiter == "," else (Path(path).stem, *row, "")
                tokens, answered = text.read(question), text.read(answer) if answer else None
                yield text.checked(Puzzle(tokens, answered, source, int(rating) if rating else None))
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{path}:{max(reader.line_num, 1)}: {error}") from None


def write_table(text: GridText, path: Path | str, puzzles: Iterable[Puzzle]) -> None:
    """Write puzzles as source,question,answer,rating; None is an empty field. The file appears when it is complete."""
    with new_file(Path(path)) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for puzzle in puzzles:
            answer = "" if puzzle.answer is None else text.format(puzzle.answer)
            writer.writerow([puzzle.source, text.format(puzzle.question), answer, puzzle.rating])


def write_tables(
    text: GridText, folder: Path, nums: Mapping[str, int], puzzles: Iterable[Puzzle]
) -> list[str]:
    """Write the first puzzles of a sequence to tables, `nums` to each; return the names of those with any."""
    nums = {name: num for name, num in nums.items() if num}
    num = sum(nums.values())
    generated = with_progress(islice(puzzles, num), f"making {', '.join(nums)}", num)
    for name in nums:
        write_table(text, folder / name, islice(generated, nums[name]))
    return [*nums]


def open_text(path: Path | str) -> TextIO:
    """Open for reading; invalid UTF-8 becomes a character that no grid has. ValueError if there is no file."""
    return existing(Path(path)).open(newline="", encoding="utf-8-sig", errors="replace")
