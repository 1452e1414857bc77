"""The scores of legal guesses on the Sudoku sets of the profiles, from legal_guesses.csv, for claims about chance.

`python -m benchmarks.legal_guesses` writes the file; its docstring says what is counted.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import Final

FILE: Final = "legal_guesses.csv"
SET: Final = ("profile", "data_set", "set")


@cache
def legal_guesses() -> dict[tuple[str, str, str], float]:
    """Read the percent of blanks that legal guesses fill right, by profile, data set and test set."""
    text = (files("serrm.reporting") / FILE).read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["profile"], row["data_set"], row["set"]): float(row["gpa"]) for row in rows}
