"""The lines beneath a table: the paper's footnotes, our remarks on them, what ours were measured on."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from serrm.reporting.cells import QUOTED, Comparison, part_of
from serrm.reporting.names import duration, model_name, set_name, task_name
from serrm.reporting.paper import PaperColumn, ScoreTable
from serrm.reporting.results import Evaluation, RefusedSet, Results

ARROWS = {"": "", "above": "↑", "below": "↓"}
OWN_PAPERS = "HRM: https://arxiv.org/abs/2506.21734, TRM: https://arxiv.org/abs/2510.04871"
Runs = dict[str, list[Evaluation]]  # by what notes call them
SIDES = f"{ARROWS['above']} {ARROWS['below']}: our interval lies wholly above or below the paper's."


@dataclass(frozen=True)
class Note:
    """A sentence or two beneath a table, called by its mark where it has one.

    Notes `about_runs` say the same beneath every table that shows those runs; the page says them once.
    """

    text: str
    mark: str = ""
    about_runs: bool = False


def notes_of(paper: ScoreTable, cells: Sequence[Comparison], results: Results) -> tuple[Note, ...]:
    """All notes of a table of the paper's with the rows that are shown, as far as its cells call for them."""
    runs = _runs(paper, results)
    return (
        *(
            Note(text, mark)
            for mark, text in (paper.footnotes | paper.remarks).items()
            if mark in paper.marks
        ),
        *_legend(paper, cells),
        *_sizes(paper),
        *_other_sizes(paper, runs),
        *_blanks(paper, runs),
        *_refusals(runs, {column.set for column in paper.columns.values()}),
        *data_notes(runs),
        *run_notes(runs),
    )


def run_notes(runs: Runs) -> tuple[Note, ...]:
    """What the evaluations of each model, by what it is called, were trained and measured on."""
    recipes = [
        (" ".join(map(_sentence, run.deviations)), name) for name, run in _each(runs) if run.deviations
    ]
    texts = (
        *(_model(name, seeds) for name, seeds in runs.items()),
        *(f"Differs from the paper's recipe ({who}): {said}" for said, who in _grouped(recipes)),
        *(f"{who}: {said}" for said, who in _grouped(_own_notes(runs))),
    )
    return tuple(Note(text, about_runs=True) for text in texts)


def data_notes(runs: Runs) -> tuple[Note, ...]:
    """Where the puzzles of each model come from, trained on and scored: beneath every table of scores."""
    data = [
        (f"{run.data.source}; {run.data.train_puzzles:,} training puzzles", name) for name, run in _each(runs)
    ]
    return tuple(Note(f"Data ({who}): {source}") for source, who in _grouped(data))


def by_name(results: Results) -> Runs:
    """All evaluations by the name of their model, with that of the task where there are several."""
    return _named(results, {task for task, _ in results}, model_name)


def _named(results: Results, tasks: set[str], name: Callable[[str], str]) -> Runs:
    return {
        name(variant) + (f" on {task_name(task)}" if len(tasks) > 1 else ""): seeds
        for (task, variant), seeds in results.items()
    }


def blanks(column: PaperColumn, runs: Iterable[Evaluation]) -> str:
    """Our mean number of blanks in a Sudoku puzzle, beside the paper's where it is known; empty if ours is not."""
    parts = [run.scored.get(column.set) for run in runs if run.task == column.task == "sudoku"]
    numbers = [f"{part.num_blank / part.num_puzzles:.0f}" for part in parts if part and part.num_blank]
    paper = f" (paper: {column.blanks})" if column.blanks else ""
    return f"{' or '.join(dict.fromkeys(numbers))} blanks{paper}" if numbers else ""


def _runs(paper: ScoreTable, results: Results) -> Runs:
    """The evaluations that the table shows, by the name of their row, or of the variant where rows share a name."""
    shown = {(column.task, variant) for column, variant in paper.places}
    printed = [row.name for row in paper.rows]
    names = {row.variant: row.name for row in paper.rows if printed.count(row.name) == 1}
    ours = {key: seeds for key, seeds in results.items() if key in shown}
    return _named(ours, {task for task, _ in shown}, lambda variant: names.get(variant, variant))


def _legend(paper: ScoreTable, cells: Sequence[Comparison]) -> Iterable[Note]:
    if any(QUOTED in cell.paper.marks for cell in cells):
        yield Note(f"Quoted by the paper from the model's own paper, not run there ({OWN_PAPERS}).", QUOTED)
    if any(cell.ours.value is not None for cell in cells):
        has_gpa = any(column.metric == "gpa" for column in paper.columns.values())
        counted = ", which for GPA counts blank cells" if has_gpa else ""
        yield Note(f"Ours: percent with its 95% Wilson interval{counted}; n is the number of puzzles.")
    if any(cell.ours.sd is not None for cell in cells):
        yield Note(
            "Several seeds: mean ± standard deviation; the interval spans those of all seeds from end to end."
        )
    if any(cell.side for cell in cells):
        yield Note(SIDES)
    if any(cell.paper.is_bold for cell in cells):
        yield Note("Bold: the best recurrent model, as the paper marks it.")


def _sizes(paper: ScoreTable) -> Iterable[Note]:
    """How many puzzles the paper scored in each set, and which of its rows had fewer."""
    columns = [column for column in paper.columns.values() if column.num]
    has_one_task = len({column.task for column in columns}) == 1
    sizes = [
        f"{each.num:,} ({set_name(each.set) if has_one_task else task_name(each.task)})" for each in columns
    ]
    sizes += [
        f"{row.name} {cell.num:,} ({set_name(paper.columns[key].set)})"
        for row in paper.rows
        for key, cell in row.cells.items()
        if cell.num
    ]
    if columns:
        yield Note(f"Puzzles in the paper: {_join(sizes)}.")


def _other_sizes(paper: ScoreTable, runs: Runs) -> Iterable[Note]:
    """Where a column shows a set of another size than the paper's."""
    said = [
        f"{task_name(column.task)}: {set_name(name)} here, {set_name(column.set)} in the paper."
        for column in paper.columns.values()
        for _, run in _each(runs)
        for name, part in [part_of(run, column)]
        if run.task == column.task and part is not None and name != column.set
    ]
    return (Note(text) for text in dict.fromkeys(said))


def _blanks(paper: ScoreTable, runs: Runs) -> Iterable[Note]:
    """How many blanks the Sudoku puzzles of each size have, which tells how hard they are."""
    columns = {column.set: column for column in reversed(paper.columns.values())}
    ours = [run for _, run in _each(runs)]
    said = [f"{set_name(name)} {text}" for name, column in columns.items() if (text := blanks(column, ours))]
    if said:
        yield Note(f"Sudoku puzzles, on average: {', '.join(reversed(said))}.")


def _refusals(runs: Runs, sets: set[str]) -> Iterable[Note]:
    refused = [
        (part.reason, f"{name} on {set_name(of_set)}")
        for name, run in _each(runs)
        for of_set, part in run.sets.items()
        if of_set in sets and isinstance(part, RefusedSet)
    ]
    return (Note(f"Cannot extrapolate ({who}): {why}") for why, who in _grouped(refused))


def _model(name: str, seeds: Sequence[Evaluation]) -> str:
    first = seeds[0]
    numbers = _join(str(run.seed) for run in seeds)
    seconds = fmean(run.training.seconds for run in seeds)
    family = "" if first.model == first.model_info.family else f"{first.model_info.family} with "
    return (
        f"{name} ({'seeds' if len(seeds) > 1 else 'seed'} {numbers}): {family}"
        f"{first.model_info.parameters:,} parameters "
        f"({first.model_info.parameters_with_task_types:,} with task-type embeddings), trained "
        f"{first.training.steps:,} steps on {first.training.samples:,} samples in {duration(seconds)}."
    )


def _own_notes(runs: Runs) -> list[tuple[str, str]]:
    return [(note, name) for name, run in _each(runs) for note in run.notes]


def _each(runs: Runs) -> list[tuple[str, Evaluation]]:
    """Every evaluation with its name."""
    return [(name, run) for name, seeds in runs.items() for run in seeds]


def _grouped(pairs: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Each distinct saying once, as a sentence, with everyone of whom it is said."""
    groups: dict[str, list[str]] = {}
    for said, who in pairs:
        groups.setdefault(said, []).append(who)
    return ((_sentence(said), _join(names)) for said, names in groups.items())


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _join(names: Iterable[str]) -> str:
    """The distinct names, in order, with commas."""
    return ", ".join(dict.fromkeys(names))
