"""A grid of runs: a baseline and named changes of a model, each with several seeds, as entries of a params file.

The entries are inserted at the end of the section `runs`. No other line of the file changes, so comments stay.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import yaml

from serrm.config import RANDOM, Params, RunSection
from serrm.core.settings import parse

SECTION = "runs"
WIDTH = 80  # characters; DVC folds a longer line when it writes the file
HEADING = re.compile(rf"{SECTION}:(\s+#.*)?")
COMMENT = re.compile(r"\s*(#|$)")
INSIDE = re.compile(r"\s|#")  # begins a line of a section, or of what may follow it
Changes = dict[str, Any]  # by section and key, such as model.width


class Grid(NamedTuple):
    """Runs of a model on a data set: for every seed one without changes, and one for every named set of changes."""

    data_set: str
    model: str
    seeds: Sequence[int]
    changes: Mapping[str, Changes]

    def runs(self) -> dict[str, dict[str, Any]]:
        """Write the entries of a params file by their names, those of the baseline first."""
        variants = {self.model: Changes(), **{f"{self.model}_{name}": c for name, c in self.changes.items()}}
        entry = {"data_set": self.data_set, "model": self.model}
        return {
            f"{self.data_set}-{variant}-s{seed}": entry
            | {"seed": seed, "init": RANDOM}
            | ({"changes": changes} if changes else {})
            for variant, changes in variants.items()
            for seed in self.seeds
        }


def missing_runs(params: Params, grid: Grid) -> dict[str, dict[str, Any]]:
    """Select the runs of a grid that a params file does not have. ValueError if it has another run of such a name."""
    runs = grid.runs()
    for name in runs.keys() & params.runs.keys():
        if parse(RunSection, runs[name], f"{SECTION}.{name}") != params.runs[name]:
            raise ValueError(f"{SECTION}.{name}: params.yaml has a run of this name with other settings")
    return {name: run for name, run in runs.items() if name not in params.runs}


def with_runs(text: str, runs: Mapping[str, Mapping[str, Any]], file: str) -> str:
    """Add runs to the text of a params file.

    Raises:
        ValueError: a run has an unknown key or a wrong value, which the message names, or `runs` is on one line.
    """
    values = yaml.safe_load(text)
    values[SECTION] |= runs
    parse(Params, values, file)
    lines = text.splitlines(keepends=True)
    first, end = _section(lines)
    indent = len(first) - len(first.lstrip())
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    lines[end:end] = [
        textwrap.indent(
            yaml.safe_dump({name: run}, sort_keys=False, default_flow_style=None, width=WIDTH - indent),
            " " * indent,
        )
        for name, run in runs.items()
    ]
    extended = "".join(lines)
    if indent == 0 or yaml.safe_load(extended) != values:
        raise ValueError(f"{file}.{SECTION}: must have one entry per line, so that entries can be added")
    return extended


def _section(lines: Sequence[str]) -> tuple[str, int]:
    """Find the section `runs`: its first entry, and the number of lines up to its last one; ("", 1) without one."""
    start = next((number for number, line in enumerate(lines) if HEADING.fullmatch(line.rstrip())), None)
    if start is None:
        return "", 1
    rest = takewhile(lambda numbered: INSIDE.match(numbered[1]), enumerate(lines[start + 1 :], start + 2))
    entries = [(number, line) for number, line in rest if not COMMENT.match(line)]
    return entries[0][1], entries[-1][0]
