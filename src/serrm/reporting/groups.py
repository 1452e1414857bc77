"""Scores by group of puzzles (ARC-like puzzles by family, Sudokus by grade), and notes on them beneath tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS
from serrm.reporting.paper import model_name, puzzle_set
from serrm.reporting.paper_tables import Entry
from serrm.reporting.results import Score, over_seeds
from serrm.scoring.schema import Evaluation, GroupScore

Groups = Mapping[str, Mapping[str, GroupScore]]  # by kind and name


def groups_of(runs: Sequence[Evaluation], test_set: str) -> Groups:
    """Find the groups of a set that all seeds scored, without kinds of one group; empty for a set without groups.

    Grades are in their order, easiest first.
    """
    scored = [run.scored[test_set].groups if test_set in run.scored else None for run in runs]
    if not scored or None in scored:
        return {}
    record = TASKS[runs[0].task]
    names = record.grading.names if isinstance(record, GridTask) and record.grading else ()
    ranks = {name: rank for rank, name in enumerate(names)}
    return {
        kind: {name: groups[name] for name in sorted(groups, key=lambda name: (ranks.get(name, 0), name))}
        for kind, groups in (scored[0] or {}).items()
        if len(groups) > 1
    }


def group_score(runs: Sequence[Evaluation], test_set: str, kind: str, name: str) -> Score:
    """Score all seeds on a group, in percent."""
    groups = [(run.scored[test_set].groups or {})[kind][name] for run in runs]
    by_seed = [(100 * g.num_solved / g.num_puzzles, 100 * g.low, 100 * g.high) for g in groups]
    return over_seeds(by_seed, groups[0].num_puzzles)


def group_notes(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the scores of a table's models by group, a line per test set and kind, and the units of intervals."""
    sets: dict[tuple[str, str], dict[str, Sequence[Evaluation]]] = {}
    for entry in entries:
        if entry.score and groups_of(entry.runs, entry.test_set):
            sets.setdefault((entry.runs[0].task, entry.test_set), {})[entry.variant] = entry.runs
    for (task, test_set), runs_of in sets.items():
        yield from group_lines(puzzle_set(task, test_set), test_set, runs_of)


def group_lines(title: str, test_set: str, runs_of: Mapping[str, Sequence[Evaluation]]) -> Iterator[str]:
    """Yield the scores of variants on a test set by group, a line per kind, and the units of intervals."""
    names = ", ".join(map(model_name, runs_of))
    units = list[GroupScore]()
    for kind, groups in groups_of(next(iter(runs_of.values())), test_set).items():
        texts = []
        for name, group in groups.items():
            values = [group_score(runs, test_set, kind, name).value for runs in runs_of.values()]
            texts.append(f"{name} {', '.join(f'{value:.0f}' for value in values)} (n {group.num_puzzles:,})")
        yield f"{title} by {kind}, solved in percent by {names}: {'; '.join(texts)}."
        units = units or [*groups.values()]
    num_puzzles, num_units = (
        sum(getattr(group, count) for group in units) for count in ("num_puzzles", "num_units")
    )
    if num_units < num_puzzles:
        yield f"{title}: the {num_puzzles:,} puzzles have {num_units:,} rules, the independent units of intervals."
