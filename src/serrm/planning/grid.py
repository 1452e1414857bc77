"""A grid of runs: a baseline and named changes of a model, each with several seeds, as entries of a params file.

The entries are inserted at the end of the section `runs`, in the form in which DVC writes YAML. No other line of the
file changes, so comments stay.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from serrm.config import RANDOM, Params, RunSection
from serrm.core.settings import parse

SECTION = "runs"
MAX_COLUMNS = 80  # a longer line is folded when DVC writes the file
Changes = dict[str, Any]  # by section and key, such as model.width


class Grid(NamedTuple):
    """Runs of a model on a data set: for every seed one without changes, and one for every named set of changes."""

    data_set: str
    model: str
    seeds: Sequence[int]
    changes: Mapping[str, Changes]

    def runs(self) -> dict[str, dict[str, Any]]:
        """The entries of a params file by their names, those of the baseline first."""
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
    """The runs of a grid that a params file does not have. ValueError if it has another run of such a name."""
    runs = grid.runs()
    for name in runs.keys() & params.runs.keys():
        if parse(RunSection, runs[name], f"{SECTION}.{name}") != params.runs[name]:
            raise ValueError(f"{SECTION}.{name}: params.yaml has a run of this name with other settings")
    return {name: run for name, run in runs.items() if name not in params.runs}


def with_runs(text: str, runs: Mapping[str, Mapping[str, Any]], file: str) -> str:
    """The text of a params file with further runs.

    Raises:
        ValueError: a run has an unknown key or a wrong value, which the message names, or `runs` is on one line.
    """
    values = yaml.safe_load(text)
    values[SECTION] |= runs
    parse(Params, values, file)
    line, indent = _end_of_section(text, file)
    lines = text.splitlines(keepends=True)
    if not lines[line].endswith("\n"):
        lines[line] += "\n"
    entries = "".join(_entry(name, run, indent) for name, run in runs.items())
    extended = "".join([*lines[: line + 1], entries, *lines[line + 1 :]])
    assert yaml.safe_load(extended) == values, runs
    return extended


def _end_of_section(text: str, file: str) -> tuple[int, int]:
    """The last line with content of the section `runs`, and the indentation of its entries."""
    (start, *_), *events = _events_of_section(text)
    if not isinstance(start, yaml.MappingStartEvent) or start.flow_style:
        raise ValueError(f"{file}.{SECTION}: must have one entry per line, so that entries can be added")
    # A mapping without brackets ends behind the comments that follow it.
    ends = [
        after.line
        for event, before, after in events
        if isinstance(event, yaml.ScalarEvent | yaml.AliasEvent)
        or (isinstance(event, yaml.CollectionEndEvent) and after.index > before.index)
    ]
    return ends[-1], events[0][1].column


def _events_of_section(text: str) -> Iterator[tuple[yaml.Event, Any, Any]]:
    """The parser's events of the value of the key `runs`, with the positions of their start and end."""
    top: Any = yaml.compose(text)
    start = next(value.start_mark.index for key, value in top.value if key.value == SECTION)
    event: Any
    depth = 0
    for event in yaml.parse(text):
        if event.start_mark.index >= start:
            yield event, event.start_mark, event.end_mark
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth == 0:
                return


def _entry(name: str, run: Mapping[str, Any], indent: int) -> str:
    """A run as DVC writes it: on one line if it fits, else one line per setting."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    writer = YAML()
    writer.default_flow_style = False

    def dump(values: Any) -> list[str]:
        stream = io.StringIO()
        writer.dump(values, stream)
        return [f"{' ' * indent}{line}\n" for line in stream.getvalue().splitlines()]

    def in_form(key: str, value: Any, depth: int) -> Any:
        """The value on the line of its key if it fits."""
        if not isinstance(value, Mapping):
            return value
        flow = CommentedMap(value)
        flow.fa.set_flow_style()
        writer.width = 10_000
        (line,) = dump({key: flow})
        writer.width = MAX_COLUMNS
        if len(line) + 2 * depth <= MAX_COLUMNS:
            return flow
        return CommentedMap({name: in_form(name, part, depth + 1) for name, part in value.items()})

    return "".join(dump({name: in_form(name, run, 0)}))
