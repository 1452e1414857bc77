"""The scores of several seeds in a committed study: the noise of training, which one run does not show."""

from pathlib import Path
from typing import Final

from serrm.reporting.results import Key, read_study

STUDY: Final = "reports/studies/plateau.csv"
SOLVED: Final = "solved, percent of 256"


def seed_scores(root: Path, profile: str) -> dict[Key, list[float]]:
    """Read the scores of all seeds of a profile's variants in the study, in percent of the main test set."""
    scores: dict[Key, list[float]] = {}
    for row in read_study(root / STUDY, profile):
        scores.setdefault((row["data_set"], row["model"]), []).append(float(row[SOLVED]))
    return scores
