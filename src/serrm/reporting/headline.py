"""The scores that one looks at first: tables 1 and 3 on the terminal, and in one table of a page such as README."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

import pandas as pd

from serrm.files import between_markers
from serrm.reporting.names import DASH, duration, metrics_of, model_name, task_name
from serrm.reporting.paper import PaperRow, load_paper
from serrm.reporting.results import Results, all_runs
from serrm.reporting.tables import (
    LEGEND,
    SIDE_BY_SIDE,
    Report,
    by_set,
    notes,
    paper_cells,
    puzzles,
    unmarked,
    variants,
)

NUMBERS: Final = ("1", "3")
BEGIN: Final = "<!-- serrm headline {}: begin -->"
END: Final = "<!-- serrm headline {}: end -->"


def headline(results: Results, models: Sequence[str]) -> pd.DataFrame:
    """A line a test set that was scored, with what each of some models solves of it beside the paper's number."""
    cells = []
    for number in NUMBERS:
        printed = load_paper().score_tables[number]
        known = {row.variant: row for row in printed.rows}
        rows = [known.get(model, PaperRow(name=model, variant=model, cells={})) for model in models]
        cells += paper_cells(printed.model_copy(update={"rows": rows}), results)
    lines = []
    for group in by_set(cell for cell in cells if cell.column.metric == metrics_of(cell.column.task)[0]):
        if any(cell.runs and cell.of_set in cell.runs[0].sets for cell in group):
            line = {"": puzzles(group)}
            for cell in group:
                line |= {
                    model_name(cell.variant): cell.ours,
                    f"{model_name(cell.variant)}, paper": cell.paper,
                }
            lines.append(line)
    (task, _), *_ = results
    trained = {model_name(model): results[task, model] for model in models if (task, model) in results}
    sizes = {name: f"{runs[0].model_info.parameters:,}" for name, runs in trained.items()}
    times = {name: duration(fmean(run.training.seconds for run in runs)) for name, runs in trained.items()}
    words = f"({task_name(task)})"
    frame = pd.DataFrame(
        [*lines, {"": f"parameters {words}", **sizes}, {"": f"trained for {words}", **times}]
    )
    frame = unmarked(frame.fillna(""))
    return frame.loc[:, [not set(frame[name]) <= {"", DASH} for name in frame.columns]]


def headlines(results: Results) -> list[pd.DataFrame]:
    """The headline of the paper's models, and that of our own."""
    known = [row.variant for row in load_paper().score_tables["1"].rows]
    models = list(dict.fromkeys(model for _, model in results))
    parts = [model for model in models if model in known], [model for model in models if model not in known]
    return [headline(results, part) for part in parts if part]


def in_terminal(report: Report) -> Iterator[str]:
    """Tables 1 and 3 as far as something of them was run, the paper's models apart, and how to read them."""
    cells = {number: paper_cells(load_paper().score_tables[number], report.results) for number in NUMBERS}
    frames = [SIDE_BY_SIDE[number](each) for number, each in cells.items() if any(cell.runs for cell in each)]
    for frame in (*frames, variants(report)):
        if len(frame):
            yield unmarked(frame).to_markdown(index=False, tablefmt="simple", disable_numparse=True) + "\n"
    yield from notes(report.results)


def replace_table(page: str, report: Report, target: str) -> str:
    """A page with a profile's scores between its two markers; `target` is the page's name in the project.

    ValueError if the markers are not there once, in their order.
    """
    results, profile = report.results, report.profile
    frames = headlines(results)
    tables = [frame.to_markdown(index=False, tablefmt="github", disable_numparse=True) for frame in frames]
    data = " ".join(dict.fromkeys(f"{task_name(run.task)}: {run.data.source}." for run in all_runs(results)))
    caption = (
        "Puzzles solved exactly (on ARC-AGI, by one of two answers), in percent of n with 95% intervals, after 16 "
        f"supervision steps. {' '.join(LEGEND[1:])} Our puzzles: {data} Profile `{profile}`, written by "
        f"`serrm headline --profile {profile} --write {target}`."
    )
    begin, end = BEGIN.format(profile), END.format(profile)
    return between_markers(page, begin, end, "\n\n".join([*tables, caption]))
