"""The main scores of a profile in one table: for reports/README.md, the report page and `serrm headline`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.puzzles.task import ArcTask
from serrm.puzzles.tasks import TASKS
from serrm.reporting.formats import NOTE_ON_SEEDS, flops_text, markdown
from serrm.reporting.paper import (
    CANNOT_EXTRAPOLATE,
    DASH,
    data_set_name,
    load_paper,
    model_name,
    paper_cost,
    puzzle_set,
)
from serrm.reporting.paper_tables import blanks_text, paper_text, set_in_column
from serrm.reporting.results import (
    Report,
    Results,
    all_runs,
    has_several_seeds,
    headline_models,
    headline_score,
    total_flops,
    total_seconds,
)
from serrm.scoring.schema import Evaluation

PAPERS_SE_RRM: Final = "SE-RRM, paper"
MIN_PUZZLES: Final = 40  # in a set of the headline; smaller sets are only in the other tables
UNEQUAL: Final = 1.05
"""The ratio of two models' training FLOPs from which notes name them."""
BEGIN: Final = "<!-- serrm headline {}: begin -->"
END: Final = "<!-- serrm headline {}: end -->"


class HeadlineRow(NamedTuple):
    """A test set in the headline: its data set, number of puzzles, texts by column, and the paper's puzzles.

    `has_other_steps` is true if a score is not after HEADLINE_STEPS.
    """

    data_set: str
    num: int
    texts: dict[str, str]
    has_other_steps: bool
    paper_puzzles: str


class Headline(NamedTuple):
    """The main scores, their notes, and a note on the sets that the table omits, if any."""

    frame: pd.DataFrame
    notes: list[str]
    omitted: list[str]

    def text(self, style: str) -> str:
        """Write the table with its notes in a style of `tabulate`: `github` for Markdown, `simple` for a terminal."""
        return "\n\n".join([markdown(self.frame, style), *self.notes])


def headline(report: Report) -> Headline:
    """Tabulate the main scores, a row per test set: every headline model, and the paper's SE-RRM.

    Sets of fewer than 40 puzzles are omitted and named in a note, unless all sets are that small. Parameters are those
    on the first data set. Rows of training FLOPs and seconds (the median of the timed seeds) per data set include those
    of the runs whose weights a run starts from.
    """
    results = report.results
    variants = headline_models(results)
    runs = {
        data_set: {name: results[data_set, name] for name in variants if (data_set, name) in results}
        for data_set in dict.fromkeys(data_set for data_set, _ in results)
    }
    all_rows = [row for data_set in runs for row in _headline_rows(results, data_set, runs[data_set])]
    min_puzzles = MIN_PUZZLES if any(row.num >= MIN_PUZZLES for row in all_rows) else 0
    rows = [row for row in all_rows if row.num >= min_puzzles]
    shown = {data_set: runs[data_set] for data_set, *_ in rows}
    lines = [*(row.texts for row in rows), *_cost_lines(report, rows, shown)]
    has_arc = any(
        isinstance(TASKS[seeds[0].task], ArcTask)
        for seeds_of in shown.values()
        for seeds in seeds_of.values()
    )
    small = [row.texts["Test puzzles"] for row in all_rows if row.num < min_puzzles]
    omitted = [f"The table omits sets of fewer than {min_puzzles} puzzles ({'; '.join(small)})."]
    notes = _headline_notes(rows, has_arc=has_arc, has_seeds=has_several_seeds(results))
    notes += flops_notes((run for of in shown.values() for seeds in of.values() for run in seeds), report)
    return Headline(pd.DataFrame(lines).fillna(DASH), notes, omitted if small else [])


def _cost_lines(
    report: Report, rows: Sequence[HeadlineRow], runs: Mapping[str, Mapping[str, Sequence[Evaluation]]]
) -> Iterator[dict[str, str]]:
    """Yield the parameters on the first data set, and the training FLOPs and seconds on every one.

    `runs` has the seeds by data set and variant. Seconds are the median of those seeds that were timed.
    """
    for index, (data_set, seeds_of) in enumerate(runs.items()):
        run_of = {variant: seeds[0] for variant, seeds in seeds_of.items()}
        parameters = {
            model_name(variant): f"{run.model_info.parameters:,}" for variant, run in run_of.items()
        }
        flops = {model_name(variant): flops_text(total_flops(run, report)) for variant, run in run_of.items()}
        cost = paper_cost(next(iter(run_of.values())).task, "se_rrm")
        if cost and any(PAPERS_SE_RRM in row.texts for row in rows if row.data_set == data_set):
            parameters[PAPERS_SE_RRM], flops[PAPERS_SE_RRM] = f"{cost.parameters:,}", flops_text(cost.flops)
        if index == 0:
            yield {"Test puzzles": f"{data_set_name(data_set)}: parameters"} | parameters
        yield {"Test puzzles": f"{data_set_name(data_set)}: training FLOPs"} | flops
        times_of = {
            model_name(variant): [time for run in seeds if (time := total_seconds(run, report))]
            for variant, seeds in seeds_of.items()
        }
        texts = {name: f"{median(times):,.0f}" for name, times in times_of.items() if times}
        if texts:
            label = "training seconds" + (", median" if max(map(len, times_of.values())) > 1 else "")
            yield {"Test puzzles": f"{data_set_name(data_set)}: {label}"} | texts


def flops_notes(runs: Iterable[Evaluation], report: Report) -> list[str]:
    """Note every data set on which the training FLOPs of a table's models differ by more than UNEQUAL."""
    flops_of: dict[str, dict[str, int]] = {}
    for run in runs:
        flops_of.setdefault(run.data_set, {})[run.variant] = total_flops(run, report)
    return [
        f"Training FLOPs on {data_set_name(data_set)} are not equal: "
        + ", ".join(f"{model_name(variant)} {flops_text(flops, 3)}" for variant, flops in values.items())
        + "."
        for data_set, values in flops_of.items()
        if max(values.values()) > UNEQUAL * min(values.values())
    ]


def _headline_notes(rows: Sequence[HeadlineRow], *, has_arc: bool, has_seeds: bool) -> list[str]:
    criterion = " (on ARC-AGI, by one of two answers)" if has_arc else ""
    steps = f"{HEADLINE_STEPS} supervision steps"
    if any(row.has_other_steps for row in rows):
        steps += ", or the number after a score"
    notes = [
        f"Scores are percentages of n puzzles solved exactly{criterion} after {steps}, with 95% Wilson "
        f"intervals.{NOTE_ON_SEEDS if has_seeds else ''}"
    ]
    if paper_puzzles := dict.fromkeys(row.paper_puzzles for row in rows if row.paper_puzzles):
        notes.append(f"The paper's test puzzles are {'; '.join(paper_puzzles)}.")
    return notes


def _headline_rows(
    results: Results, data_set: str, runs: Mapping[str, Sequence[Evaluation]]
) -> Iterator[HeadlineRow]:
    """Yield a row for every set of a data set on which a variant has a score with the puzzles' own task types."""
    for test_set in dict.fromkeys(
        name
        for seeds in runs.values()
        for name, scored in seeds[0].scored.items()
        if scored.has_own_task_types
    ):
        steps = {
            variant: seeds[0].scored[test_set].headline_steps
            for variant, seeds in runs.items()
            if test_set in seeds[0].scored
        }
        scores = {variant: headline_score(seeds, test_set) for variant, seeds in runs.items()}
        if not any(scores.values()):
            continue
        num = max(value.num_puzzles for value in scores.values() if value)
        first_run = next(iter(runs.values()))[0]
        scored = [seeds[0].scored[test_set] for seeds in runs.values() if test_set in seeds[0].scored]
        is_own_set = scored[0].of_file is None
        name = puzzle_set(data_set, test_set) if is_own_set else f"{data_set_name(data_set)} {test_set}"
        texts = {"Test puzzles": f"{name}{blanks_text(first_run.task, scored)}, n {num:,}"}
        for variant, value in scores.items():
            if value is None:
                is_refused = any(test_set in run.refused for run in runs[variant])
                text = CANNOT_EXTRAPOLATE if is_refused else DASH
            else:
                text = str(value) if steps[variant] == HEADLINE_STEPS else f"{value} after {steps[variant]}"
            texts[model_name(variant)] = text
        paper_puzzles = ""
        if is_own_set and (column := _paper_column(results, first_run, test_set)):
            texts[PAPERS_SE_RRM], paper_puzzles = column
        has_other_steps = any(steps[variant] != HEADLINE_STEPS for variant, value in scores.items() if value)
        yield HeadlineRow(data_set, num, texts, has_other_steps, paper_puzzles)


def _paper_column(results: Results, run: Evaluation, test_set: str) -> tuple[str, str] | None:
    """Find the paper's score of SE-RRM beside a run's test set, and the paper's puzzles; None without such a set.

    A set of another size than the paper's stands beside the paper's as in the tables, and only if no run of the task
    was scored on the latter.
    """
    scored = {name for other in all_runs(results) if other.task == run.task for name in other.scored}
    for number in ("1", "3"):
        table = load_paper().score_tables[number]
        (row,) = (row for row in table.rows if row.variant == "se_rrm")
        for key, column in table.columns.items():
            is_column = (column.task, column.metric) == (run.task, run.main_metric)
            is_other_size = test_set != column.set and column.set in scored
            if is_column and test_set == set_in_column(column, run) and not is_other_size:
                blanks = f", {column.blanks} blanks" if column.blanks else ""
                puzzles = f"{puzzle_set(run.task, column.set)}{blanks}, n {column.num:,}"
                return paper_text(row.entries[key]), puzzles
    return None
