"""Settings of runs that differ between two revisions, by their keys in the params file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from serrm.comparing.revisions import Revision, value_at

NUM_CHANGES: Final = 4  # settings or runs named in a line
RUN: Final = "run."  # begins the keys of a run's own section, in place of `runs.NAME.`
SEED: Final = f"{RUN}seed"
INIT: Final = f"{RUN}init"


def changes_of(first: Revision, second: Revision, name: str) -> Iterator[str]:
    """The settings and arithmetic of a run that differ, such as "recipes.sudoku.trm.steps 656 → 700".

    They are compared as the params files have them, before they are composed to the settings of a run.
    `name` is that of the run in both revisions; in a params file the run may have another (`-S runs.RUN.seed=1`).
    """
    runs = [revision.runs[name] for revision in (first, second)]
    first_values, second_values = (
        values_used_by(revision.params, run.name) for revision, run in zip((first, second), runs, strict=True)
    )
    # A joined revision has the params file of its first part, whose seeds may differ from those of the runs.
    if runs[0].seed == runs[1].seed:
        for values in (first_values, second_values):
            values.pop(SEED, None)
    if first_values and second_values:
        for key in first_values | second_values:
            if first_values.get(key) != second_values.get(key):
                full_key = key.replace(RUN, f"runs.{runs[1].name}.", 1) if key.startswith(RUN) else key
                yield f"{full_key} {value_text(first_values.get(key))} → {value_text(second_values.get(key))}"
    for stage, arithmetics in (
        ("training", [run.training.arithmetic for run in runs]),
        ("evaluation", [run.arithmetic for run in runs]),
    ):
        if None not in arithmetics and arithmetics[0] != arithmetics[1]:
            yield f"arithmetic of the {stage} {arithmetics[0]} → {arithmetics[1]}"


def values_used_by(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The values of a params file that a run uses, by dotted key; empty if the file does not have the run.

    They include the entries of `tests` of the run's data set. The run's own keys are `run.seed`, `run.init` and so on,
    so that runs of different names can be compared.
    """
    run = (settings.get("runs") or {}).get(name)
    if not isinstance(run, Mapping):
        return {}
    data_set, model = str(run.get("data_set")), str(run.get("model"))
    result = dict[str, Any]()
    tests = settings.get("tests") or {}
    sections = [
        ("fidelity",),
        ("models", model),
        ("data_sets", data_set),
        ("recipes", data_set, model),
        *(("tests", key) for key, entry in tests.items() if entry.get("data_set") == data_set),
    ]
    for keys in sections:
        result |= _by_dotted_key(value_at(settings, keys), ".".join(keys))
    return result | _by_dotted_key(run, RUN.removesuffix("."))


def _by_dotted_key(value: Any, key: str) -> dict[str, Any]:
    """The values of nested settings by dotted key, without those that are null."""
    if isinstance(value, Mapping) and value:
        return {
            name: leaf
            for part in value
            for name, leaf in _by_dotted_key(value[part], f"{key}.{part}").items()
        }
    return {} if value is None else {key: value}


def value_text(value: Any) -> str:
    """A setting's value as `compare` and `sweep` show it."""
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case list():
            return ",".join(map(value_text, value))
    return str(value)


def in_lines(changes: Mapping[str, Sequence[str]]) -> list[str]:
    """One line per run whose settings differ; runs with the same changes share one. `changes` are by run."""
    runs_by_text: dict[str, list[str]] = {}
    for name, settings in changes.items():
        texts = list(settings[:NUM_CHANGES])
        if len(settings) > NUM_CHANGES:
            texts.append(f"and {len(settings) - NUM_CHANGES} more")
        runs_by_text.setdefault("; ".join(texts), []).append(name)
    lines = []
    for text, runs in runs_by_text.items():
        subject = ", ".join(runs) if len(runs) <= NUM_CHANGES else f"{len(runs)} runs"
        lines.append(f"{subject}: {text}")
    return lines
