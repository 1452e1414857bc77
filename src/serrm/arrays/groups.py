"""Groups of a test set's puzzles, by which scores stand too: the file `groups.json` beside a set's arrays.

    {"groups": {"family": [name, …]}, "units": [name, …]}

The lists have an entry per puzzle of the set, in its order. Puzzles of one unit, such as generated ARC-like puzzles of
one rule, are not independent; without units every puzzle is independent.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from serrm.arrays.stream import find_set
from serrm.core.files import write_json

GROUPS = "groups.json"


class Groups(NamedTuple):
    """The groups of every puzzle of a set, by kind such as `family`, and the unit of every puzzle, if there are any."""

    groups: Mapping[str, Sequence[str]]
    units: Sequence[str] | None = None


def write_groups(folder: Path, groups: Groups) -> None:
    """Write the groups of a set into the folder of its arrays."""
    write_json(folder / GROUPS, {name: value for name, value in groups._asdict().items() if value})


def read_groups(arrays: Path, name: str) -> Groups | None:
    """Read the groups of one of a data set's own test sets; None if its puzzles have none."""
    folder, _ = find_set(arrays, name)
    path = folder / GROUPS
    return Groups(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
