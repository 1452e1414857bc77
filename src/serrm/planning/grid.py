"""A grid of runs: a baseline and named changes of a model, each with several seeds, as entries of a params file.

The entries are added to the section `runs` as DVC would write them, so other lines of the file and comments stay.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from io import StringIO
from typing import Any, NamedTuple

from serrm.config import RANDOM, Params, RunSection
from serrm.core.settings import parse

Changes = dict[str, Any]  # by section and key, such as model.width


class Grid(NamedTuple):
    """Runs of a model on a data set: for every seed one without changes, and one for every named set of changes."""

    data_set: str
    model: str
    seeds: Sequence[int]
    changes: Mapping[str, Changes]

    def runs(self) -> dict[str, dict[str, Any]]:
        """List the entries of a params file by their names, those of the baseline first."""
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
        if parse(RunSection, runs[name], f"runs.{name}") != params.runs[name]:
            raise ValueError(f"runs.{name}: params.yaml has a run of this name with other settings")
    return {name: run for name, run in runs.items() if name not in params.runs}


def with_runs(text: str, runs: Mapping[str, Mapping[str, Any]], file: str) -> str:
    """Add runs to the text of a params file.

    Raises:
        ValueError: a run has an unknown key or a wrong value, which the message names.
    """
    from ruamel.yaml import YAML  # DVC's

    yaml, extended = YAML(), StringIO()
    yaml.default_flow_style = False
    values = yaml.load(text)
    values["runs"].update({name: deepcopy(run) for name, run in runs.items()})
    yaml.dump(values, extended)
    parse(Params, YAML(typ="safe").load(extended.getvalue()), file)
    return extended.getvalue()
