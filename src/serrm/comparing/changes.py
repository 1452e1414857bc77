"""Settings of runs that differ between two revisions, by their keys in the params file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from serrm.comparing.revisions import RUN, Revision, few
from serrm.core.differences import Change, changes

NUM_CHANGES: Final = 4  # settings named in a line


def changes_of(first: Revision, second: Revision, name: str) -> Iterator[str]:
    """Yield the settings and arithmetic of a run that differ, such as "recipes.sudoku.trm.steps 656 → 700".

    They are compared as the params files have them, before they are composed to the settings of a run. Nothing is
    known where a params file does not have the run.
    """
    runs = [revision.runs[name] for revision in (first, second)]
    values = [revision.settings.get(name, {}) for revision in (first, second)]
    for change in changes(*values) if all(values) else ():
        key = change.key
        full_key = key.replace(RUN, f"runs.{runs[1].name}.", 1) if key.startswith(RUN) else key
        yield str(change._replace(key=full_key))
    for stage, arithmetics in (
        ("training", [run.training.arithmetic for run in runs]),
        ("evaluation", [run.arithmetic for run in runs]),
    ):
        if None not in arithmetics and arithmetics[0] != arithmetics[1]:
            yield str(Change(f"arithmetic of the {stage}", *arithmetics))


def in_lines(changes_by_run: Mapping[str, Sequence[str]]) -> list[str]:
    """Write one line per run whose settings differ; runs with the same changes share one."""
    runs_by_text: dict[str, list[str]] = {}
    for name, texts in changes_by_run.items():
        more = [f"and {len(texts) - NUM_CHANGES} more"] if len(texts) > NUM_CHANGES else []
        runs_by_text.setdefault("; ".join([*texts[:NUM_CHANGES], *more]), []).append(name)
    return [f"{few(runs)}: {text}" for text, runs in runs_by_text.items()]
