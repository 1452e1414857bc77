"""Scores by group of puzzles (ARC-like puzzles by family, Sudokus by grade): notes beneath tables, and a figure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from matplotlib.figure import Figure

from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS
from serrm.reporting.paper import data_set_name, model_name, puzzle_set
from serrm.reporting.paper_tables import Entry
from serrm.reporting.results import Report, Score, main_models, over_seeds
from serrm.reporting.style import style
from serrm.scoring.schema import Evaluation, GroupScore

Groups = Mapping[str, Mapping[str, GroupScore]]  # by kind and name


def groups_of(runs: Sequence[Evaluation], test_set: str) -> Groups:
    """The groups of a set that all seeds scored, without kinds of one group; empty for a set without groups.

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
    """The score of all seeds on a group, in percent."""
    groups = [(run.scored[test_set].groups or {})[kind][name] for run in runs]
    by_seed = [(100 * g.num_solved / g.num_puzzles, 100 * g.low, 100 * g.high) for g in groups]
    return over_seeds(by_seed, groups[0].num_puzzles)


def group_notes(entries: Iterable[Entry]) -> Iterator[str]:
    """The scores of a table's models by group: a line per test set and kind; and the units of intervals, if any."""
    sets: dict[tuple[str, str], dict[str, Sequence[Evaluation]]] = {}
    for entry in entries:
        if entry.score and groups_of(entry.runs, entry.test_set):
            sets.setdefault((entry.runs[0].task, entry.test_set), {})[entry.variant] = entry.runs
    for (task, test_set), runs_of in sets.items():
        names = ", ".join(map(model_name, runs_of))
        title = puzzle_set(task, test_set)
        units = list[GroupScore]()
        for kind, groups in groups_of(next(iter(runs_of.values())), test_set).items():
            parts = []
            for name, group in groups.items():
                values = [group_score(runs, test_set, kind, name).value for runs in runs_of.values()]
                parts.append(
                    f"{name} {', '.join(f'{value:.0f}' for value in values)} (n {group.num_puzzles:,})"
                )
            yield f"{title} by {kind}, solved in percent by {names}: {'; '.join(parts)}."
            units = units or [*groups.values()]
        num_puzzles, num_units = (
            sum(getattr(group, count) for group in units) for count in ("num_puzzles", "num_units")
        )
        if num_units < num_puzzles:
            yield f"{title}: the {num_puzzles:,} puzzles have {num_units:,} rules, the independent units of intervals."


def groups_figure(report: Report) -> Figure | None:
    """Solved puzzles by group, of the main models: a panel per data set and kind of group; None without groups."""
    main = main_models(report.results)
    panels: dict[tuple[str, str], dict[str, Sequence[Evaluation]]] = {}
    for (data_set, variant), seeds in report.results.items():
        for kind in groups_of(seeds, seeds[0].main_set) if variant in main else ():
            panels.setdefault((data_set, kind), {})[variant] = seeds
    if not panels:
        return None
    nums = [len(groups_of(next(iter(p.values())), _main_set(p))[kind]) for (_, kind), p in panels.items()]
    figure = Figure(figsize=(8.5, 0.45 * sum(nums) + 1.0 * len(nums) + 0.6), layout="constrained")
    axes_of = figure.subplots(len(panels), squeeze=False, height_ratios=[n + 1 for n in nums]).ravel()
    for axes, ((data_set, kind), runs_of) in zip(axes_of, panels.items(), strict=True):
        test_set = _main_set(runs_of)
        groups = groups_of(next(iter(runs_of.values())), test_set)[kind]
        for number, (variant, runs) in enumerate(runs_of.items()):
            scores = [group_score(runs, test_set, kind, name) for name in groups]
            shift = 0.22 * (number - (len(runs_of) - 1) / 2)
            colour, marker = style(variant)
            ends = [[s.value - s.low for s in scores], [s.high - s.value for s in scores]]
            values, places = [s.value for s in scores], [place + shift for place in range(len(scores))]
            look = {"color": colour, "marker": marker, "linestyle": "none", "label": model_name(variant)}
            axes.errorbar(values, places, xerr=ends, elinewidth=1.4, **look)
        labels = [f"{name} (n {group.num_puzzles:,})" for name, group in groups.items()]
        axes.set_yticks(range(len(groups)), labels=labels)
        axes.set(title=f"{data_set_name(data_set)} by {kind}", xlim=(-2, 102), xlabel="Solved (%)")
        axes.invert_yaxis()
    return figure


def _main_set(runs_of: Mapping[str, Sequence[Evaluation]]) -> str:
    return next(iter(runs_of.values()))[0].main_set
