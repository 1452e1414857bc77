"""The spread of a variant's scores over seeds in committed files: the noise of training that one run does not show."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from serrm.comparing.revisions import UnknownRevision, scores_at
from serrm.core.project import git
from serrm.reporting.results import Key, grouped, headline_score
from serrm.scoring.schema import METRICS_FILE

# Several seeds per profile, data set and variant, which were trained to find where scores level off.
STUDY: Final = "reports/studies/plateau.csv"
SOLVED: Final = "solved, percent of 256"


class Spread(NamedTuple):
    """The distance in points of the lowest and the highest score of a variant's seeds: main metric, main test set."""

    key: Key
    num_seeds: int
    points: float
    source: str
    """The committed file with the scores."""


def seed_spreads(root: Path, profile: str, keys: Iterable[Key]) -> Iterator[Spread]:
    """The spreads over seeds in files of HEAD; a key without several seeds in any file is skipped.

    The scores of `profile` come first, then the study of seeds, then the scores of other profiles, whose settings
    differ.

    Raises:
        ValueError: a committed file is malformed.
    """
    todo = dict.fromkeys(keys)
    for source, scores in _studies(root, profile):
        for key in [key for key in todo if len(scores.get(key, ())) > 1]:
            yield Spread(key, len(scores[key]), max(scores[key]) - min(scores[key]), source)
            del todo[key]
        if not todo:
            return


def _studies(root: Path, profile: str) -> Iterator[tuple[str, dict[Key, list[float]]]]:
    """Committed files with their scores of every seed, the files with the settings of `profile` first."""
    listed = git(root, "ls-tree", "--name-only", "HEAD", "reports/").split()
    profiles = [Path(path).name for path in listed]
    if profile in profiles:
        yield f"reports/{profile}/{METRICS_FILE}", _of_profile(root, profile)
    yield STUDY, _of_study(root, profile)
    for other in profiles:
        if other != profile:
            yield f"reports/{other}/{METRICS_FILE}", _of_profile(root, other)


def _of_profile(root: Path, profile: str) -> dict[Key, list[float]]:
    """Scores after the headline steps on the main sets; empty if HEAD has no scores of the profile."""
    try:
        scored = scores_at(root, "HEAD", profile, "HEAD")
    except UnknownRevision:
        return {}
    values: dict[Key, list[float]] = {}
    for key, runs in grouped(scored.values()).items():
        if result := headline_score(runs):
            values[key] = [value for value, *_ in result.seeds]
    return values


def _of_study(root: Path, profile: str) -> dict[Key, list[float]]:
    """Scores of the study's runs with the settings of a profile."""
    values: dict[Key, list[float]] = {}
    for row in csv.DictReader(git(root, "show", f"HEAD:./{STUDY}").splitlines()):
        if row["profile"] == profile:
            values.setdefault((row["data_set"], row["model"]), []).append(float(row[SOLVED]))
    return values
