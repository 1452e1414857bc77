"""Settings of runs that differ between two revisions, by their keys in the params file, and seeds of a variant."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from serrm.comparing.revisions import INIT, RUN, SEED, Revision, few
from serrm.core.differences import Change, changes
from serrm.reporting.results import Key
from serrm.scoring.schema import Evaluation

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


def shared_settings(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Select the settings of a run that all seeds of its variant share.

    The run's seed is left out. A checkpoint to start from loses its number if that is the run's own, because every
    seed of a variant may continue the run of its own number.
    """
    shared = {key: value for key, value in settings.items() if key != SEED}
    if shared.get(INIT):
        shared[INIT] = str(shared[INIT]).removesuffix(f"-{name.rpartition('-')[2]}")
    return shared


def not_seeds(revision: Revision) -> dict[Key, list[str]]:
    """Find the variants whose runs differ in more than the seed, with a line per run that differs from the first."""
    first: dict[Key, tuple[str, dict[str, Any]]] = {}
    lines: dict[Key, list[str]] = {}
    for name, run in revision.runs.items():
        key = run.data_set, run.variant
        if settings := shared_settings(revision.settings.get(name, {}), run.name):
            first_name, first_settings = first.setdefault(key, (name, settings))
            if differing := changes(first_settings, settings):
                subject = f"{first_name} and {name} are no seeds of one variant"
                lines.setdefault(key, []).append(f"{subject}: {_changes_text(differing)}")
    return lines


def seeds_of_variants(revision: Revision, split: Collection[Key] = ()) -> dict[Key, list[Evaluation]]:
    """Group the runs by `variant_of`, all seeds of a variant together."""
    variants: dict[Key, list[Evaluation]] = {}
    for name, run in revision.runs.items():
        variants.setdefault(variant_of(revision, name, split), []).append(run)
    return variants


def variant_of(revision: Revision, name: str, split: Collection[Key]) -> Key:
    """Name the data set and variant of a run; of a run of a variant in `split` the variant with its number."""
    run = revision.runs[name]
    key = run.data_set, run.variant
    return (run.data_set, name.removeprefix(f"{run.data_set}-")) if key in split else key


def in_lines(changes_by_run: Mapping[str, Sequence[str]]) -> list[str]:
    """Write one line per run whose settings differ; runs with the same changes share one."""
    runs_by_text: dict[str, list[str]] = {}
    for name, settings in changes_by_run.items():
        runs_by_text.setdefault(_changes_text(settings), []).append(name)
    return [f"{few(runs)}: {text}" for text, runs in runs_by_text.items()]


def _changes_text(settings: Sequence[Change | str]) -> str:
    """Write changes on a line, of many only the first ones."""
    texts = [str(change) for change in settings[:NUM_CHANGES]]
    if len(settings) > NUM_CHANGES:
        texts.append(f"and {len(settings) - NUM_CHANGES} more")
    return "; ".join(texts)
