"""The tables that the paper does not have: functions from a profile's runs to DataFrames, and their captions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Final, NamedTuple

import pandas as pd

from serrm.inference.settings import GUESS_STEPS, HEADLINE_STEPS
from serrm.puzzles.tasks import TASKS
from serrm.reporting.formats import counts_text, flops_text
from serrm.reporting.groups import group_lines, groups_of
from serrm.reporting.paper import CANNOT_EXTRAPOLATE, DASH, data_set_name, load_paper, model_name, set_name
from serrm.reporting.results import (
    Key,
    Report,
    Results,
    Score,
    all_runs,
    main_models,
    over_seeds,
    runs_on,
    score,
    search_score,
    training_flops,
)
from serrm.scoring.metrics import METRICS, PASS_AT, metrics_of
from serrm.scoring.schema import ComputePoint, Evaluation, TaskTypeRow, Training

NO_SET: Final = ""  # in place of a test set's name: there is no such set
Columns = Mapping[str, tuple[str, str]]  # heading → test set and metric


def variants_table(report: Report) -> pd.DataFrame:
    """Tabulate variants in none of the paper's tables: a row per variant and own test set of its data set."""
    papers = _in_papers_tables(report.results)

    def sets(run: Evaluation) -> list[str]:
        is_ours = (run.data_set, run.variant) not in papers
        return [name for name in run.own_sets if is_ours and name in run.scored]

    return _by_set(report, sets, ["Task", "Model", "Puzzles"])


def _in_papers_tables(results: Results) -> set[Key]:
    """Find the variants that the paper's tables show, each on the data set that stands for a task."""
    shown = [
        runs_on(results, column.task, row.variant_of(key), column.set)
        for table in load_paper().score_tables.values()
        for row in table.rows
        for key, column in table.columns.items()
    ]
    return {(runs[0].data_set, runs[0].variant) for runs in shown if runs}


def further_groups(results: Results) -> Iterator[str]:
    """Yield the scores by group of puzzles on data sets of which the paper's tables show no run."""
    papers = {data_set for data_set, _ in _in_papers_tables(results)}
    for data_set in dict.fromkeys(name for name, _ in results if name not in papers):
        runs_of = {variant: runs for (name, variant), runs in results.items() if name == data_set}
        for test_set in dict.fromkeys(name for runs in runs_of.values() for name in runs[0].own_sets):
            grouped = {variant: runs for variant, runs in runs_of.items() if groups_of(runs, test_set)}
            if grouped:
                yield from group_lines(f"{data_set_name(data_set)} {set_name(test_set)}", test_set, grouped)


def file_sets_table(report: Report) -> pd.DataFrame:
    """Tabulate scores on the test sets of users' files: a row per variant and test set."""

    def sets(run: Evaluation) -> list[str]:
        return [name for name, scored_set in run.sets.items() if scored_set.of_file is not None]

    return _by_set(report, sets, ["Task", "Puzzles", "Model"], further_metrics())


def _by_set(
    report: Report,
    sets: Callable[[Evaluation], Sequence[str]],
    labels: Sequence[str],
    further: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Tabulate the scores of all seeds: a row per variant and each of its `sets`; `further` has metrics by heading."""
    rows = []
    for (data_set, variant), runs in report.results.items():
        for name in sets(runs[0]):
            puzzles = set_name(name) if name in runs[0].own_sets else name
            row = {"Task": data_set_name(data_set), "Model": model_name(variant), "Puzzles": puzzles}
            if scored_set := runs[0].scored.get(name):
                steps = scored_set.headline_steps
                metrics = {"Solved": runs[0].main_metric, "GPA": "gpa", **further}
                scores = {heading: score(runs, metric, name, steps) for heading, metric in metrics.items()}
                row |= {"n": f"{scored_set.num_puzzles:,}", "Steps": str(steps)}
                rows.append(row | {heading: str(result) for heading, result in scores.items() if result})
            else:
                rows.append(row | {"Solved": CANNOT_EXTRAPOLATE})
    headings = [heading for heading in further if any(heading in row for row in rows)]
    columns = [*labels, "n", "Steps", "Solved", "GPA", *headings]
    return pd.DataFrame(rows, columns=columns, dtype=object).fillna(DASH)


def criteria_table(report: Report) -> pd.DataFrame:
    """Tabulate FSR, the rates of answers that obey the task's rules, and GPA: a row per data set and variant."""

    def columns(run: Evaluation) -> Columns:
        rules = {metric.short: name for name, metric in metrics_of(run.task).items() if metric.is_criterion}
        metrics = {"FSR": "fsr", **rules, "GPA": "gpa"} if rules else {}
        return {heading: (run.main_set, metric) for heading, metric in metrics.items()}

    return _scores(report, columns)


def meanings_of_criteria(results: Results) -> Iterator[str]:
    """State what FSR and every rule count, one line each, for the tasks with rules."""
    for task in dict.fromkeys(run.task for run in all_runs(results)):
        rules = [metric for metric in metrics_of(task).values() if metric.is_criterion]
        if rules:
            is_any = TASKS[task].right_answers == "any"
            counted = "every answer that solves the puzzle" if is_any else "exact matches with the label"
            yield f"{TASKS[task].name}: FSR counts {counted}."
        for metric in rules:
            yield f'{TASKS[task].name}: "{metric.name}" counts {metric.meaning}.'


def pass_at_k_table(report: Report) -> pd.DataFrame:
    """Tabulate pass@k for every k: a row per ARC-AGI data set and variant."""
    return _scores(report, lambda run: {f"pass@{k}": (run.main_set, f"pass_at_{k}") for k in PASS_AT})


def task_types_table(report: Report) -> pd.DataFrame:
    """Tabulate pass@2 with three choices of the task-type embedding: a row per ARC-AGI data set and variant."""
    headings: dict[str, TaskTypeRow] = {"Own": "right", "Zeros": "blank", "Random": "random"}

    def columns(run: Evaluation) -> Columns:
        sets = {scored_set.task_type_row: name for name, scored_set in run.scored.items()}
        return {heading: (sets.get(row, NO_SET), "pass_at_2") for heading, row in headings.items()}

    return _scores(report, columns)


def further_metrics_table(report: Report) -> pd.DataFrame:
    """Tabulate metrics that are neither in the paper nor rules of a task: a row per data set and variant."""
    metrics = further_metrics()
    return _scores(
        report, lambda run: {heading: (run.main_set, metric) for heading, metric in metrics.items()}
    )


def further_metrics() -> dict[str, str]:
    """List the metrics that are neither in the paper nor rules of a task, by their headings."""
    return {
        metric.short: name
        for name, metric in METRICS.items()
        if not metric.is_of_votes and name not in ("fsr", "gpa")
    }


def _scores(report: Report, columns: Callable[[Evaluation], Columns]) -> pd.DataFrame:
    """Tabulate a row per data set and variant with a score; `columns` is a function from a run to its columns."""
    rows = []
    for (data_set, variant), runs in report.results.items():
        main_set = runs[0].scored.get(runs[0].main_set)
        steps = main_set.headline_steps if main_set else HEADLINE_STEPS
        scores = {
            name: score(runs, metric, test_set, steps)
            for name, (test_set, metric) in columns(runs[0]).items()
        }
        if any(scores.values()):
            num = counts_text(value.num_puzzles for value in scores.values() if value)
            label = f"{data_set_name(data_set)}, n {num}"
            if steps != HEADLINE_STEPS:
                label += f", after {steps} steps"
            texts = {name: str(value or DASH) for name, value in scores.items()}
            rows.append({"Task": label, "Model": model_name(variant), **texts})
    return pd.DataFrame(rows).fillna(DASH)


def trainings_table(report: Report) -> pd.DataFrame:
    """Tabulate size, length and arithmetic of the training runs: a row per run."""
    rows = []
    for run in all_runs(report.results):
        info, training = run.model_info, run.training
        embeddings = info.parameters_with_task_types - info.parameters
        has_seeds = len(report.results[run.data_set, run.variant]) > 1
        rows.append(
            {
                "Task": data_set_name(run.data_set),
                "Model": model_name(run.variant) + (f", seed {run.seed}" if has_seeds else ""),
                "Parameters": f"{info.parameters:,}" + (f" + {embeddings:,}" if embeddings else ""),
                "Steps": f"{training.steps:,}{_refills(training)}",
                "Samples": f"{training.samples:,}",
                "FLOPs": flops_text(training_flops(run, report)),
                "Seconds": f"{seconds:,.0f}" if (seconds := report.seconds.get(run.name)) else DASH,
                "Arithmetic": training.arithmetic or DASH,
            }
        )
    return pd.DataFrame(rows)


def _refills(training: Training) -> str:
    """Write such as " (new slots after 1,200)", where a training went on without the puzzles in its slots."""
    steps = ", ".join(f"{step:,}" for step in training.refilled or ())
    return f" (new slots after {steps})" if steps else ""


def tuning_table(report: Report) -> pd.DataFrame:
    """Tabulate tuning runs per data set and model, with their FLOPs and the puzzles that they were judged on."""
    return pd.DataFrame(
        {
            "Task": data_set_name(row["data_set"]),
            "Model": model_name(row["model"]),
            "Tuning runs": row["runs"],
            "FLOPs": flops_text(int(float(row["flops"]))),
            "Chosen on": row["puzzles"],
            "Runs": row["file"] or DASH,
        }
        for row in report.tuning
    )


class Search(NamedTuple):
    """A search with given limits, over all seeds of a variant: the first seed's point, mean steps and FLOPs, score."""

    point: ComputePoint
    mean_steps: float
    flops: float
    score: Score


def searches_of(report: Report) -> dict[tuple[str, str, str], list[Search]]:
    """Find the searches that all seeds have, by data set, variant and method: of main models, and named methods."""
    searches, main = {}, main_models(report.results)
    for (data_set, variant), runs in report.results.items():
        methods_by_seed = [run.methods or {} for run in runs]
        points = {name: [methods.get(name, ()) for methods in methods_by_seed] for name in methods_by_seed[0]}
        if variant in main:
            searches_of_main = {
                "first verified answer": [run.first_verified for run in runs],
                "guesses": [run.attempts for run in runs],
            }
            points = searches_of_main | points
        for method, points_by_seed in points.items():
            if groups := _same_limits(points_by_seed):
                flops = report.flops[data_set, variant](runs[0].data.side)
                searches[data_set, variant, method] = [_search(points, flops) for points in groups]
    return searches


def _same_limits(points_by_seed: Sequence[Sequence[ComputePoint]]) -> list[list[ComputePoint]]:
    """Group the points of all seeds by the limits on attempts and steps; those that some seeds lack are left out."""
    seeds = [{(point.num_attempts, point.max_steps): point for point in points} for points in points_by_seed]
    return [
        [points[limits] for points in seeds]
        for limits in seeds[0]
        if all(limits in points for points in seeds)
    ]


def _search(points: Sequence[ComputePoint], flops_of_step: int) -> Search:
    """Average the search over all seeds; `points` are theirs."""
    mean_steps = fmean(point.mean_steps for point in points)
    score_of_search = search_score(points[0])  # unrounded
    if len(points) > 1:
        score_of_search = over_seeds([search_score(point)[:3] for point in points], points[0].num_puzzles)
    return Search(points[0], mean_steps, flops_of_step * mean_steps, score_of_search)


def compute_table(report: Report) -> pd.DataFrame:
    """Tabulate the first, middle and last search of a method: a row per variant, method and search, over all seeds.

    The searches ascend by their limit, which is on the steps of one attempt or on the attempts.
    """
    rows = []
    for (data_set, variant, method), searches in searches_of(report).items():
        for index in sorted({0, (len(searches) - 1) // 2, len(searches) - 1}):
            point, mean_steps, flops, score_of_search = searches[index]
            numbers = (
                f"{point.num_puzzles:,}",
                f"{point.num_attempts:,}",
                f"{point.max_steps:,}",
                f"{mean_steps:.2f}",
            )
            names = f"{model_name(variant)}, {data_set_name(data_set)}", method
            rows.append((*names, *numbers, f"{flops / 1e9:.3g}", str(score_of_search)))
    headings = ["n", "Most attempts", "Most steps of the first", "Mean steps", "GFLOPs per puzzle"]
    return pd.DataFrame(rows, columns=["Model", "Method", *headings, "Solved"])


class OtherTable(NamedTuple):
    """A table that the paper does not have: its title, its caption, and the functions that build frame and notes."""

    title: str
    caption: str
    build: Callable[[Report], pd.DataFrame]
    notes: Callable[[Results], Iterable[str]] = lambda results: ()


OTHER_TABLES: Final = {
    "variants": OtherTable(
        "Our own variants",
        "These runs are in none of the paper's tables. "
        '"Solved" is the fully solved rate, or pass@2 on ARC-AGI.',
        variants_table,
        further_groups,
    ),
    "tests": OtherTable(
        "Further test sets",
        "The scores on the puzzles of your files (`tests` in params.yaml), on which nothing was trained.",
        file_sets_table,
    ),
    "criteria": OtherTable(
        "Answers that obey the rules",
        "GPA counts the blank squares that are right. The columns between FSR and GPA count answers that obey a rule "
        "of the task, whether or not they match the label.",
        criteria_table,
        meanings_of_criteria,
    ),
    "pass_at_k": OtherTable(
        "ARC-AGI: pass@k",
        "pass@k is the share of test inputs whose right answer is among the k answers with the most votes of the "
        "augmentations, averaged over puzzles. The paper prints only pass@2.",
        pass_at_k_table,
    ),
    "task_types": OtherTable(
        "ARC-AGI: scores without the task type",
        "The table shows pass@2 with each puzzle's own task-type embedding, with zeros, and with the embedding of a "
        "random puzzle. Training includes the demonstrations of the evaluation puzzles, never their test pairs.",
        task_types_table,
    ),
    "metrics": OtherTable(
        "Further metrics",
        "Metrics that are neither in the paper nor rules of a task, on the test set of the size trained on. Rates are "
        "percentages with Wilson intervals, and means are in their own unit with normal intervals.",
        further_metrics_table,
    ),
    "compute": OtherTable(
        "Test-time compute",
        'The table shows how many puzzles of the trained size are solved. "First verified answer" is one attempt that '
        f'stops at a verified answer; with "guesses", further attempts of {GUESS_STEPS} steps each follow. Other '
        "methods are those of test_time_compute.methods in the params file. Mean steps and FLOPs are those of all "
        "attempts at a puzzle.",
        compute_table,
    ),
    "runs": OtherTable(
        "Training runs",
        "Parameters are those of the model + those of its task-type embeddings. FLOPs count all matrix products, two "
        "per multiply-add, the optimiser's too. Seconds are those of the run behind the committed scores, where they "
        "were measured (reports/studies/training_times.csv). Arithmetic is the precision and the kernels, where the "
        "run kept them.",
        trainings_table,
    ),
    "tuning": OtherTable(
        "Tuning runs",
        "The runs that chose the settings of each model, their FLOPs (without those of Muon's products), and the "
        "puzzles that they were judged on. Where models had unequal numbers, a difference between them may be one of "
        "tuning. The files are in docs/experiments.",
        tuning_table,
    ),
}
