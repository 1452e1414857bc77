"""A profile's main scores as one small table: on the terminal, in the report, and in a page such as README."""

from collections.abc import Mapping
from typing import Final

import pandas as pd

from serrm.files import between_markers
from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.names import DASH, metrics_of, model_name, set_name, task_name
from serrm.reporting.paper import PaperRow, load_paper
from serrm.reporting.results import Evaluation, Results, score
from serrm.reporting.settings import Key
from serrm.reporting.tables import blanks, by_set, paper_cells, unmarked

PAPERS: Final = ("hrm", "trm", "se_rrm")
LEAST: Final = 40  # puzzles of a line; a set of fewer stands in the other tables alone
BEGIN: Final = "<!-- serrm headline {}: begin -->"
END: Final = "<!-- serrm headline {}: end -->"


def headline(results: Results, init: Mapping[Key, str]) -> tuple[pd.DataFrame, list[str]]:
    """A line a test set with the scores of HRM, TRM, SE-RRM, the best other run, and the paper's SE-RRM; and its notes.

    `init` gives the run whose weights a run begins with, by name. Sets of fewer than 40 puzzles are left out and named
    in a note, unless all are so small.
    """
    models = [*(model for model in PAPERS if any(model in key for key in results)), *best_other(results)]
    cells, lines = [], []
    for number in ("1", "3"):
        printed = load_paper().score_tables[number]
        known = {row.variant: row for row in printed.rows}
        rows = [known.get(model, PaperRow(name=model, variant=model, cells={})) for model in models]
        cells += paper_cells(printed.model_copy(update={"rows": rows}), results)
    for group in by_set(cell for cell in cells if cell.column.metric == metrics_of(cell.column.task)[0]):
        if scored := [cell for cell in group if cell.score]:
            column, num = group[0].column, max(cell.score.num_puzzles for cell in scored if cell.score)
            name, of_paper = (_name(column.task, each) for each in (scored[0].of_set, column.set))
            ours = {model_name(cell.variant): cell.ours.rstrip(" ↑↓") for cell in group}
            paper = [("SE-RRM, paper", cell.paper) for cell in group if cell.variant == PAPERS[-1]]
            their = f"{of_paper}, {column.blanks + ' blanks, ' if column.blanks else ''}n {column.num:,}"
            lines.append(
                (num, {"Test puzzles": f"{name}, {blanks(scored)}n {num:,}"} | ours | dict(paper), their)
            )
    least = LEAST if any(num >= LEAST for num, _, _ in lines) else 0
    kept = [line for num, line, _ in lines if num >= least]
    by_two = (
        " (ARC-AGI: by one of two answers)" if any("ARC" in line["Test puzzles"] for line in kept) else ""
    )
    notes = [
        f"Percent of n puzzles solved exactly{by_two}, with 95% Wilson intervals, after {HEADLINE_STEPS} supervision "
        "steps.",
        f"The paper's puzzles: {'; '.join(their for num, _, their in lines if num >= least)}.",
    ]
    if small := [line["Test puzzles"] for num, line, _ in lines if num < least]:
        notes.append(f"Fewer than {least} puzzles, so only in the other tables: {'; '.join(small)}.")
    (task, _), *_ = results
    runs = {model_name(model): results[task, model][0] for model in models if (task, model) in results}
    sizes = {name: f"{run.model_info.parameters:,}" for name, run in runs.items()}
    costs = {name: f"{total_flops(run, results, init):.1e}".replace("e+", "e") for name, run in runs.items()}
    kept += [
        {"Test puzzles": f"{task_name(task)}: parameters"} | sizes,
        {"Test puzzles": f"{task_name(task)}: training FLOPs"} | costs,
    ]
    return unmarked(pd.DataFrame(kept).fillna(DASH)), notes


def _name(task: str, of_set: str) -> str:
    return f"{task_name(task)} {set_name(of_set)}" if of_set[:1].isdigit() else task_name(task)


def best_other(results: Results) -> list[str]:
    """The run with the highest score of those that are no model of the paper's table 1, on the first task; or none."""
    (task, _), *_ = results
    others = [model for of, model in results if of == task and model_name(model) == model]
    scores = {
        model: each.value for model in others if (each := score(results[task, model], metrics_of(task)[0]))
    }
    return sorted(scores, key=lambda model: scores[model])[-1:]


def total_flops(run: Evaluation, results: Results, init: Mapping[Key, str]) -> int:
    """FLOPs of a training and of those whose weights it begins with, as far as they are runs of the profile."""
    total, names = 0, {each.name: each for seeds in results.values() for each in seeds}
    name: str | None = run.name
    while name in names:
        total += names[name].training.operations or 0
        name = init.get((names[name].task, names[name].model))
    return total


def as_text(results: Results, init: Mapping[Key, str], style: str) -> str:
    """The table and its notes, as `tabulate` writes tables in a style: `github` for Markdown, `simple`."""
    frame, notes = headline(results, init)
    return "\n\n".join([frame.to_markdown(index=False, tablefmt=style, disable_numparse=True), *notes])


def replace_table(page: str, profile: str, text: str) -> str:
    """A page with a profile's scores between its two markers. ValueError if they are not there once, in their order."""
    return between_markers(page, BEGIN.format(profile), END.format(profile), text)
