"""The scores of legal guesses on the Sudoku sets of the profiles, from legal_guesses.csv, for claims about chance.

`python -m benchmarks.legal_guesses` writes the file; `serrm.scoring.legal_guesses` says what is counted.
"""

import csv
import io
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

FILE: Final = "legal_guesses.csv"


class LegalGuess(NamedTuple):
    """A row of the file: a set of a profile's data set, and the percent of its blanks that legal guesses fill right."""

    profile: str
    data_set: str
    set: str
    num_puzzles: int
    num_blank: int
    gpa: float


@cache
def legal_guesses() -> dict[tuple[str, str, str], LegalGuess]:
    """The rows by profile, data set and test set."""
    text = (files("serrm.reporting") / FILE).read_text(encoding="utf-8")
    rows = [
        LegalGuess(profile, data_set, name, int(num_puzzles), int(num_blank), float(gpa))
        for profile, data_set, name, num_puzzles, num_blank, gpa in [*csv.reader(io.StringIO(text))][1:]
    ]
    return {(row.profile, row.data_set, row.set): row for row in rows}
