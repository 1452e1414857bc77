"""Tables of a profile: functions from its runs to DataFrames, and how these are written.

Tables 1 to 3 and A5 to A7 set our numbers beside the paper's (paper.yaml); the paper has no counterpart of the others.
Signs and data are explained once, in notes.md, and differences from the paper's recipes once, in recipes.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.models.families import FAMILIES
from serrm.puzzles.arc.grids import MAX_SIDE
from serrm.puzzles.task import ArcTask, GridTask
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.reporting import paper
from serrm.reporting.paper import DASH, load_paper, model_name, set_name, task_name
from serrm.reporting.results import (
    Report,
    Results,
    Score,
    all_runs,
    headline_score,
    runs_on,
    score,
    search_score,
)
from serrm.scoring.metrics import METRICS, PASS_AT, metrics_of
from serrm.scoring.schema import ComputePoint, Evaluation, ScoredSet

CANNOT_EXTRAPOLATE, QUOTED = "cannot extrapolate", "†"
PAPERS_SE_RRM: Final = "SE-RRM, paper"
EASIER_BELOW: Final = 0.95  # share of the paper's blanks, whose numbers are approximate
MIN_PUZZLES: Final = 40  # in a set of the headline; smaller sets are only in the other tables
BEGIN: Final = "<!-- serrm headline {}: begin -->"
END: Final = "<!-- serrm headline {}: end -->"
NOTE_ON_SEEDS: Final = (
    " Scores of several seeds are mean ± standard deviation (range of the seeds' intervals)."
)
LEGEND: Final = (
    "Scores are percentages after 16 supervision steps unless a table gives another number, with 95% Wilson intervals "
    f"over puzzles (for GPA, over blank squares).{NOTE_ON_SEEDS}",
    f"{DASH} means not run here, or not in the paper. {QUOTED} marks a score that the paper quotes from the model's own"
    " paper and does not compute (HRM: https://arxiv.org/abs/2506.21734, TRM: https://arxiv.org/abs/2510.04871).",
    "↑ and ↓ mean that our interval lies wholly above or below the paper's; they are shown only for the same puzzles.",
)
READ_MORE: Final = "[How to read the tables](notes.md); [differences from the paper's recipes](recipes.md)"
LATEX: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"†": r"\dag{}", "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$"}
    | {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "\\": r"\textbackslash{}", "–": "--", "—": "---"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


class Table(NamedTuple):
    """A table for Markdown, CSV and LaTeX: the name of its files, title, caption, frame, and notes beneath."""

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    notes: Sequence[str] = ()


Columns = Mapping[str, tuple[str | None, str]]  # heading → test set (None: the main set) and metric


class Entry(NamedTuple):
    """A number of the paper, with our runs of its model and their score on the test set `of_set`.

    `key` is that of its column.
    """

    row: paper.PaperRow
    key: str
    column: paper.PaperColumn
    paper_entry: paper.PaperEntry
    variant: str
    runs: Sequence[Evaluation]
    of_set: str
    score: Score | None

    @property
    def our_text(self) -> str:
        """Our score, with an arrow if the intervals do not overlap and the puzzles are the same."""
        if any(self.of_set in run.refused for run in self.runs):
            return CANNOT_EXTRAPOLATE
        return DASH if self.score is None else f"{self.score}{self._arrow(self.score)}"

    def _arrow(self, score: Score) -> str:
        has_other_puzzles = self.column.unpublished or self.runs[0].data.is_generated
        ends = [float(end) for end in self.paper_entry.numbers[1:]]
        if has_other_puzzles or not ends or score.num_puzzles != (self.paper_entry.num or self.column.num):
            return ""
        return " ↑" if score.low > ends[1] else " ↓" if score.high < ends[0] else ""


def paper_text(entry: paper.PaperEntry) -> str:
    """One number of the paper with its interval, such as "93.73 (93.66–93.81)", or the paper's words in its place."""
    value, *ends = entry.numbers or (entry.words or DASH,)
    interval = f" ({'–'.join(ends)})" if ends else ""
    return value + interval + (QUOTED if entry.quoted else "")


def entries_of(paper_table: paper.ScoreTable, results: Results) -> list[Entry]:
    """The entries of one of the paper's tables, row by row."""
    entries = []
    for row in paper_table.rows:
        for key, column in paper_table.columns.items():
            variant, of_set = row.variant_of(key), column.set
            runs = runs_on(results, column.task, variant, of_set)
            # If only one size was scored, it stands for the paper's.
            if column.takes_other_sizes and runs and len(runs[0].own_sets) == 1:
                (of_set,) = runs[0].own_sets
            our_score = score(runs, column.metric, of_set, column.steps)
            paper_entry = row.entries.get(key, paper.PaperEntry())
            entries.append(Entry(row, key, column, paper_entry, variant, runs, of_set, our_score))
    return entries


def build_tables(report: Report) -> list[Table]:
    """Build all tables with at least one of our runs.

    The paper's tables A5 to A7 appear only if they have a run of a model that is not in tables 1 to 3.
    """
    tables, main_variants = list[Table](), set[str]()
    for number, paper_table in load_paper().score_tables.items():
        entries = entries_of(paper_table, report.results)
        variants = {entry.variant for entry in entries if entry.runs}
        is_appendix = number.startswith("A")
        shown = variants - main_variants if is_appendix else variants
        if shown:
            frame = side_by_side(number, paper_table, entries)
            notes = [*paper_table.remarks, f"Puzzles: {'; '.join(map(describe_test_set, by_set(entries)))}."]
            title, caption = f"Table {number}: {paper_table.title}", paper_table.caption
            if paper_table.attributes:
                caption += " Labels describe the paper's runs."
            tables.append(Table(f"table{number}", title, caption, frame, notes))
        if not is_appendix:
            main_variants |= variants
    for name, other in OTHER_TABLES.items():
        frame = other.build(report).map(str)
        tables.append(Table(name, other.title, other.caption, frame, list(other.notes(report.results))))
    return [table for table in tables if len(table.frame)]


def side_by_side(number: str, paper_table: paper.ScoreTable, entries: Sequence[Entry]) -> pd.DataFrame:
    """Our numbers beside the paper's: a row per model, in table 1 also per size, in table 2 per number of steps."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in entries:
        label, heading = {"Model": entry.row.name}, entry.column.name
        label |= dict(zip(paper_table.attributes, entry.row.attributes, strict=True))
        if number == "1":
            label["Grid"] = entry.column.group
        if number == "2":
            label, heading = {"Steps": heading}, entry.row.name
        papers_text = paper_text(entry.paper_entry)
        if entry.runs or papers_text != DASH:
            row = rows.setdefault(tuple(label.values()), label)
            row[f"{heading}, ours"] = entry.our_text
            row[f"{heading}, paper"] = papers_text
    return pd.DataFrame(rows.values()).fillna(DASH)


def by_set(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Group entries by the paper's test set."""
    sets: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        sets.setdefault((entry.column.task, entry.column.set), []).append(entry)
    return [*sets.values()]


def describe_test_set(entries: Sequence[Entry]) -> str:
    """The test set of some entries, such as "Sudoku 9×9, 43 blanks (paper: about 56), n 256 (paper: 422,786)"."""
    column, scored = entries[0].column, [entry for entry in entries if entry.score]
    sets = {entry.of_set for entry in scored} or {column.set}
    name = " or ".join(puzzle_set(column.task, of_set) for of_set in sorted(sets))
    if sets != {column.set}:
        name += f" (paper: {set_name(column.set)})"
    our_blanks = blanks_text(
        column.task, [run.scored[entry.of_set] for entry in scored for run in entry.runs]
    )
    name += our_blanks
    if our_blanks and column.blanks:
        name += f" (paper: {column.blanks})"
    num = counts_text(entry.score.num_puzzles for entry in scored if entry.score)
    return f"{name}, n {num} (paper: {counts_text(entry.paper_entry.num or column.num for entry in entries)})"


def blanks_text(task: str, parts: Iterable[ScoredSet]) -> str:
    """The mean number of blanks per puzzle, such as ", 43 blanks"; empty for a task without a number of blanks."""
    means = mean_blanks(task, parts)
    return f", {' or '.join(map(str, means))} blanks" if means else ""


def mean_blanks(task: str, parts: Iterable[ScoredSet]) -> list[int]:
    """The different mean numbers of blanks per puzzle; empty for a task without a number of blanks."""
    record = TASKS[task]
    if not (isinstance(record, GridTask) and record.names_blanks):
        return []
    return [*dict.fromkeys(round(part.num_blank / part.num_puzzles) for part in parts if part.num_blank)]


def counts_text(numbers: Iterable[int | None]) -> str:
    """The different numbers of puzzles, such as "100 or 1,000"; a dash if none is known."""
    return " or ".join(f"{number:,}" for number in sorted(set(filter(None, numbers)))) or DASH


def easier_puzzles(results: Results) -> list[str]:
    """Our test puzzles that are easier than the paper's, such as "Sudoku 9×9, 43 blanks (paper: about 56)"."""
    names = []
    for number in ("1", "3"):
        for entries in by_set(entries_of(load_paper().score_tables[number], results)):
            column, scored = entries[0].column, next((entry for entry in entries if entry.score), None)
            if scored is None:
                continue
            run, of_set = scored.runs[0], scored.of_set
            part, name = run.scored[of_set], puzzle_set(column.task, of_set)
            means = mean_blanks(column.task, [part])
            is_arc = isinstance(TASKS[column.task], ArcTask)
            if column.side is not None and part.side < column.side:
                names.append(f"{name} (paper: {set_name(column.set)})")
            elif column.blanks is not None and means and means[0] < EASIER_BELOW * column.blanks.num:
                names.append(f"{name}{blanks_text(column.task, [part])} (paper: {column.blanks})")
            elif is_arc and part.side < MAX_SIDE:
                names.append(f"{name}, grids of at most {part.side}×{part.side}")
    return names


# Tables that the paper does not have, with their captions in OTHER_TABLES.


def variants_table(report: Report) -> pd.DataFrame:
    """Variants in none of the paper's tables: a row per variant and own test set of its task, over all seeds."""
    paper_variants = {
        (column.task, row.variant_of(key))
        for table in load_paper().score_tables.values()
        for row in table.rows
        for key, column in table.columns.items()
    }
    rows = []
    for (data_set, variant), runs in report.results.items():
        if (runs[0].kind, variant) in paper_variants:
            continue
        for name in runs[0].own_sets:
            if (part := runs[0].scored.get(name)) is None:
                continue
            steps = part.headline_steps
            solved, gpa = (score(runs, metric, name, steps) for metric in (runs[0].main_metric, "gpa"))
            labels = task_name(data_set), model_name(variant), set_name(name)
            numbers = f"{part.num_puzzles:,}", str(steps), str(solved or DASH), str(gpa or DASH)
            rows.append((*labels, *numbers))
    return pd.DataFrame(rows, columns=["Task", "Model", "Puzzles", "n", "Steps", "Solved", "GPA"])


def file_sets_table(report: Report) -> pd.DataFrame:
    """Scores on the test sets of users' files: a row per variant and test set, over all seeds."""
    rows = []
    for (data_set, variant), runs in report.results.items():
        for name, part in runs[0].sets.items():
            if part.of_file is None:
                continue
            row = [task_name(data_set), name, model_name(variant)]
            if isinstance(part, ScoredSet):
                steps = part.headline_steps
                solved, gpa = (score(runs, metric, name, steps) for metric in (runs[0].main_metric, "gpa"))
                row += [f"{part.num_puzzles:,}", str(steps), str(solved or DASH), str(gpa or DASH)]
            else:
                row += [DASH, DASH, CANNOT_EXTRAPOLATE, DASH]
            rows.append(row)
    return pd.DataFrame(rows, columns=["Task", "Puzzles", "Model", "n", "Steps", "Solved", "GPA"])


def criteria_table(report: Report) -> pd.DataFrame:
    """FSR, the rates of answers that obey the task's rules, and GPA: a row per data set and variant."""

    def columns(task: str) -> Columns:
        rules = {metric.short: (None, name) for name, metric in metrics_of(task).items() if metric.meaning}
        return {"FSR": (None, "fsr"), **rules, "GPA": (None, "gpa")} if rules else {}

    return _scores(report, columns)


def meanings_of_criteria(results: Results) -> Iterator[str]:
    """The meaning of every rule, one line per rule."""
    for task in dict.fromkeys(run.kind for run in all_runs(results)):
        for metric in metrics_of(task).values():
            if metric.meaning:
                yield f'{TASKS[task].name}: "{metric.name}" counts {metric.meaning}.'


def pass_at_k_table(report: Report) -> pd.DataFrame:
    """pass@k for every k: a row per ARC-AGI data set and variant."""
    return _scores(report, lambda task: {f"pass@{k}": (None, f"pass_at_{k}") for k in PASS_AT})


def task_types_table(report: Report) -> pd.DataFrame:
    """pass@2 with three choices of the task-type embedding: a row per ARC-AGI data set and variant."""
    sets = {"Own": None, "Zeros": "evaluation, blank task type", "Random": "evaluation, random task type"}
    return _scores(report, lambda task: {name: (of_set, "pass_at_2") for name, of_set in sets.items()})


def further_metrics_table(report: Report) -> pd.DataFrame:
    """Metrics that are neither in the paper nor rules of a task: a row per data set and variant."""
    columns = {
        metric.short: (None, name)
        for name, metric in METRICS.items()
        if metric.values and name not in ("fsr", "gpa")
    }
    return _scores(report, lambda task: columns)


def _scores(report: Report, columns: Callable[[str], Columns]) -> pd.DataFrame:
    """A row per data set and variant with a score; `columns` is a function from a task to its columns."""
    rows = []
    for (data_set, variant), runs in report.results.items():
        part = runs[0].scored.get(runs[0].main_set)
        steps = part.headline_steps if part else HEADLINE_STEPS
        scores = {
            name: score(runs, metric, of_set, steps)
            for name, (of_set, metric) in columns(runs[0].kind).items()
        }
        if any(scores.values()):
            num = counts_text(value.num_puzzles for value in scores.values() if value)
            label = f"{task_name(data_set)}, n {num}"
            if steps != HEADLINE_STEPS:
                label += f", after {steps} steps"
            texts = {name: str(value or DASH) for name, value in scores.items()}
            rows.append({"Task": label, "Model": model_name(variant), **texts})
    return pd.DataFrame(rows).fillna(DASH)


def trainings_table(report: Report) -> pd.DataFrame:
    """Size, length and arithmetic of the training runs: a row per run."""
    rows = []
    for run in all_runs(report.results):
        info, training = run.model_info, run.training
        embeddings = info.parameters_with_task_types - info.parameters
        has_seeds = len(report.results[run.task, run.variant]) > 1
        rows.append(
            {
                "Task": task_name(run.task),
                "Model": model_name(run.variant) + (f", seed {run.seed}" if has_seeds else ""),
                "Parameters": f"{info.parameters:,}" + (f" + {embeddings:,}" if embeddings else ""),
                "Steps": f"{training.steps:,}",
                "Samples": f"{training.samples:,}",
                "FLOPs": bound_prefix(run.model_info.family) + flops_text(training.flops),
                "Arithmetic": training.arithmetic or DASH,
            }
        )
    return pd.DataFrame(rows)


def flops_text(flops: int | None) -> str:
    """FLOPs with two digits, such as "5.0e14"; a dash for none."""
    return f"{flops:.1e}".replace("e+", "e") if flops else DASH


def bound_prefix(family: str) -> str:
    """The prefix of a family's FLOPs: "at most " if a step may take fewer than are counted, else empty."""
    settings = FAMILIES.get(family)
    return "at most " if settings is not None and settings.flops_are_upper_bound else ""


def compute_points(report: Report) -> dict[tuple[str, str, str], list[tuple[float, ComputePoint]]]:
    """The main models' searches with their FLOPs per puzzle, by data set, variant and method."""
    points, main = {}, main_models(report.results)
    for (data_set, variant), (run, *_) in report.results.items():
        for method, searches in (("first verified answer", run.first_verified), ("guesses", run.guesses)):
            if searches and variant in main:
                side = run.data.side
                flops = report.flops[data_set, variant](
                    num_symbols=alphabet(run.kind, side).num_symbols, num_positions=side**2
                )
                points[data_set, variant, method] = [
                    (flops * search.mean_steps, search) for search in searches
                ]
    return points


def compute_table(report: Report) -> pd.DataFrame:
    """Scores of the first, middle and last search of a method: a row per variant, method and search.

    The searches ascend by their limit, which is on the steps of one attempt or on the attempts.
    """
    rows = []
    for (data_set, variant, method), points in compute_points(report).items():
        bound = bound_prefix(report.results[data_set, variant][0].model_info.family)
        for index in sorted({0, (len(points) - 1) // 2, len(points) - 1}):
            flops, search = points[index]
            numbers = (
                f"{search.num_puzzles:,}",
                f"{search.num_attempts:,}",
                f"{search.max_steps:,}",
                f"{search.mean_steps:.2f}",
            )
            names = f"{model_name(variant)}, {task_name(data_set)}", method
            rows.append((*names, *numbers, f"{bound}{flops / 1e9:.3g}", str(search_score(search))))
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
    ),
    "tests": OtherTable(
        "Further test sets",
        "The scores on the puzzles of your files (`tests` in params.yaml), on which nothing was trained.",
        file_sets_table,
    ),
    "criteria": OtherTable(
        "Answers that obey the rules",
        "FSR counts exact matches, and GPA counts the blank squares that are right. The other columns count answers "
        "that obey a rule of the task, whether or not they match the label.",
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
        "Metrics that are neither in the paper nor rules of a task, on the set trained on: rates in percent, means as "
        "they are.",
        further_metrics_table,
    ),
    "compute": OtherTable(
        "Test-time compute",
        'The table shows how many puzzles of the trained size are solved. "First verified answer" is one attempt that '
        'stops at a verified answer; with "guesses", further attempts of 4 steps each follow. Mean steps and FLOPs are '
        "those of all attempts at a puzzle.",
        compute_table,
    ),
    "runs": OtherTable(
        "Training runs",
        "Parameters are those of the model + those of its task-type embeddings. FLOPs count all matrix products, two "
        "per multiply-add. Arithmetic is the precision and the kernels, where the run kept them.",
        trainings_table,
    ),
}


def notes_on_tables(results: Results) -> list[str]:
    """Notes that hold for all tables of a profile: signs, data, and why a model cannot be scored on a set."""
    runs = all_runs(results)
    data = [
        f"{task_name(run.task)}: {run.data.source}; {run.data.train_puzzles:,} training "
        f"{TASKS[run.kind].examples}."
        for run in runs
    ]
    refused = [
        f"{model_name(run.variant)} {CANNOT_EXTRAPOLATE} to {set_name(name)}, because {part.reason}."
        for run in runs
        for name, part in run.refused.items()
    ]
    return [*dict.fromkeys([*LEGEND, *data, *refused])]


class Recipe(NamedTuple):
    """The settings of a data set's runs that differ from profile `paper`'s runs of the same families.

    `settings` has a row per setting and a column per main model, with our value and the paper's in brackets. `others`
    has a row per run of another model, with the differences that the main model of its family does not have.
    """

    title: str
    settings: pd.DataFrame
    others: pd.DataFrame


def recipe_tables(report: Report) -> list[Recipe]:
    """The differences from the paper's settings, one data set after the other."""
    main, tables = main_models(report.results), []
    for data_set in dict.fromkeys(data_set for data_set, _ in report.results):
        columns = {
            variant: report.setting_differences[data_set, variant]
            for variant in main
            if variant in FAMILIES and (data_set, variant) in report.setting_differences
        }
        rows: dict[str, dict[str, str]] = {}
        for variant, settings in columns.items():
            for setting in settings:
                row = rows.setdefault(setting.name, {"Setting, ours (paper's)": setting.name})
                row[model_name(variant)] = f"{setting.run} ({setting.paper})"
        order = [model_name(variant) for variant in columns]
        frame = pd.DataFrame(
            rows.values(), columns=["Setting, ours (paper's)", *order] if rows else None
        ).fillna(DASH)
        others = []
        for (runs_data_set, variant), runs in report.results.items():
            if runs_data_set != data_set:
                continue
            notes = [*dict.fromkeys(note for run in runs for note in run.notes)]
            if variant not in columns:
                settings_of_variant = report.setting_differences.get((data_set, variant))
                of_family = columns.get(runs[0].model_info.family, [])
                further = [str(setting) for setting in settings_of_variant or () if setting not in of_family]
                is_unknown = settings_of_variant is None
                notes = [*(["the paper has no such model"] if is_unknown else further), *notes]
            if variant not in columns or notes:
                others.append({"Run": model_name(variant), "Further differences": "; ".join(notes) or "none"})
        tables.append(Recipe(task_name(data_set), frame, pd.DataFrame(others)))
    return tables


class HeadlineRow(NamedTuple):
    """A test set in the headline: its data set, number of puzzles, texts by column, and the paper's puzzles."""

    data_set: str
    num: int
    texts: dict[str, str]
    paper_puzzles: str


class Headline(NamedTuple):
    """The main scores, their notes, and a note on the sets that the table omits, if any."""

    frame: pd.DataFrame
    notes: list[str]
    omitted: list[str]

    def text(self, style: str) -> str:
        """The table with its notes in a style of `tabulate`: `github` for Markdown, `simple` for a terminal."""
        return "\n\n".join([markdown(self.frame, style), *self.notes])


def headline(report: Report) -> Headline:
    """The main scores, a row per test set: every family, the best other run, and the paper's SE-RRM.

    A variant with more seeds replaces the run named after its family. Sets of fewer than 40 puzzles are omitted and
    named in a note, unless all sets are that small. Parameters are those on the first task. A row of training FLOPs
    per task includes those of the runs whose weights a run starts from.
    """
    results = report.results
    variants = list(dict.fromkeys(_with_most_seeds(results, name) for name in main_models(results)))
    runs = {
        data_set: {name: results[data_set, name] for name in variants if (data_set, name) in results}
        for data_set in dict.fromkeys(data_set for data_set, _ in results)
    }
    all_rows = [row for data_set in runs for row in _headline_rows(results, data_set, runs[data_set])]
    min_puzzles = MIN_PUZZLES if any(row.num >= MIN_PUZZLES for row in all_rows) else 0
    rows = [row for row in all_rows if row.num >= min_puzzles]
    # The first seed's run of every variant, by the data sets that have a row.
    first_runs = {
        data_set: {variant: seeds[0] for variant, seeds in runs[data_set].items()} for data_set, *_ in rows
    }
    lines = [row.texts for row in rows]
    for index, (data_set, run_of) in enumerate(first_runs.items()):
        parameters = {
            model_name(variant): f"{run.model_info.parameters:,}" for variant, run in run_of.items()
        }
        flops = {
            model_name(variant): bound_prefix(run.model_info.family) + flops_text(total_flops(run, report))
            for variant, run in run_of.items()
        }
        cost = report.cost(next(iter(run_of.values())).kind, "se_rrm")
        if cost and any(PAPERS_SE_RRM in row.texts for row in rows if row.data_set == data_set):
            parameters[PAPERS_SE_RRM], flops[PAPERS_SE_RRM] = f"{cost.parameters:,}", flops_text(cost.flops)
        if index == 0:
            lines.append({"Test puzzles": f"{task_name(data_set)}: parameters"} | parameters)
        lines.append({"Test puzzles": f"{task_name(data_set)}: training FLOPs"} | flops)
    has_arc = any(
        isinstance(TASKS[run.kind], ArcTask) for run_of in first_runs.values() for run in run_of.values()
    )
    has_seeds = any(len(seeds) > 1 for (_, variant), seeds in results.items() if variant in variants)
    small = [row.texts["Test puzzles"] for row in all_rows if row.num < min_puzzles]
    omitted = [f"The table omits sets of fewer than {min_puzzles} puzzles ({'; '.join(small)})."]
    notes = _headline_notes(rows, has_arc=has_arc, has_seeds=has_seeds)
    return Headline(pd.DataFrame(lines).fillna(DASH), notes, omitted if small else [])


def _headline_notes(rows: Sequence[HeadlineRow], *, has_arc: bool, has_seeds: bool) -> list[str]:
    by_two = " (on ARC-AGI, by one of two answers)" if has_arc else ""
    steps = f"{HEADLINE_STEPS} supervision steps"
    if any(" after " in text for row in rows for text in row.texts.values()):
        steps += ", or the number after a score"
    notes = [
        f"Scores are percentages of n puzzles solved exactly{by_two} after {steps}, with "
        f"95% Wilson intervals.{NOTE_ON_SEEDS if has_seeds else ''}"
    ]
    if paper_puzzles := dict.fromkeys(row.paper_puzzles for row in rows if row.paper_puzzles):
        notes.append(f"The paper's test puzzles are {'; '.join(paper_puzzles)}.")
    return notes


def _headline_rows(
    results: Results, data_set: str, runs: Mapping[str, Sequence[Evaluation]]
) -> Iterator[HeadlineRow]:
    """A row for every set of a data set on which a variant has a score with the puzzles' own task types."""
    for of_set in dict.fromkeys(
        name for seeds in runs.values() for name, part in seeds[0].scored.items() if part.has_own_task_types
    ):
        steps = {
            variant: seeds[0].scored[of_set].headline_steps
            for variant, seeds in runs.items()
            if of_set in seeds[0].scored
        }
        scores = {variant: headline_score(seeds, of_set) for variant, seeds in runs.items()}
        if not any(scores.values()):
            continue
        num = max(value.num_puzzles for value in scores.values() if value)
        first_run = next(iter(runs.values()))[0]
        parts = [seeds[0].scored[of_set] for seeds in runs.values() if of_set in seeds[0].scored]
        is_own_set = parts[0].of_file is None
        name = puzzle_set(data_set, of_set) if is_own_set else f"{task_name(data_set)} {of_set}"
        texts = {"Test puzzles": f"{name}{blanks_text(first_run.kind, parts)}, n {num:,}"}
        for variant, value in scores.items():
            if value is None:
                is_refused = any(of_set in run.refused for run in runs[variant])
                text = CANNOT_EXTRAPOLATE if is_refused else DASH
            else:
                text = str(value) if steps[variant] == HEADLINE_STEPS else f"{value} after {steps[variant]}"
            texts[model_name(variant)] = text
        paper_puzzles = ""
        if is_own_set and (column := _paper_column(results, first_run, of_set)):
            texts[PAPERS_SE_RRM], paper_puzzles = column
        yield HeadlineRow(data_set, num, texts, paper_puzzles)


def _paper_column(results: Results, run: Evaluation, of_set: str) -> tuple[str, str] | None:
    """The paper's score of SE-RRM beside a test set of a run, and the paper's test puzzles; None if it has no such set.

    A set of another size than the paper's stands beside the paper's only if no run of the task was scored on the
    latter.
    """
    scored_sets = {name for other in all_runs(results) if other.kind == run.kind for name in other.scored}
    for number in ("1", "3"):
        table = load_paper().score_tables[number]
        (row,) = (row for row in table.rows if row.variant == "se_rrm")
        for key, column in table.columns.items():
            stands_in = column.takes_other_sizes and column.set not in scored_sets
            is_column = (column.task, column.metric) == (run.kind, run.main_metric)
            if is_column and (column.set == of_set or stands_in):
                blanks = f", {column.blanks} blanks" if column.blanks else ""
                puzzles = f"{puzzle_set(run.kind, column.set)}{blanks}, n {column.num:,}"
                return paper_text(row.entries[key]), puzzles
    return None


def _with_most_seeds(results: Results, family: str) -> str:
    """The variant of a family with the most seeds on the first data set; among equals, the family's own name.

    Any other variant is returned as it is.
    """
    (first, _), *_ = results
    variants = [
        name
        for (data_set, name), (run, *_) in results.items()
        if data_set == first and run.model_info.family == family
    ]
    return max(variants, key=lambda name: (len(results[first, name]), name == family), default=family)


def puzzle_set(data_set: str, of_set: str) -> str:
    """The name of a set of puzzles, such as "Sudoku 9×9", or "ARC-AGI-1" where the set has no size."""
    name = task_name(data_set)
    return f"{name} {set_name(of_set)}" if of_set[:1].isdigit() else name


def main_models(results: Results) -> list[str]:
    """The families with a run of their name, and the other variant with the highest score on the first data set."""
    (first, _), *_ = results
    scores = {
        variant: headline_score(runs)
        for (data_set, variant), runs in results.items()
        if data_set == first and variant not in FAMILIES
    }
    values = {variant: result.value for variant, result in scores.items() if result}
    best = sorted(values, key=lambda variant: values[variant])[-1:]  # empty without another variant
    variants = {variant for _, variant in results}
    return [*(family for family in FAMILIES if family in variants), *best]


def total_flops(run: Evaluation, report: Report) -> int:
    """FLOPs of a run and of those runs of the profile whose weights it starts from."""
    folder = f"{report.profile}/runs"
    runs = {f"{folder}/{member.name}": member for member in all_runs(report.results)}
    total, checkpoint = 0, f"{folder}/{run.name}"
    while checkpoint in runs:
        member = runs.pop(checkpoint)  # no run counts twice
        total += member.training.flops
        checkpoint = report.init.get(member.name, "")
    return total


def markdown(frame: pd.DataFrame, style: str = "github") -> str:
    """A frame as text in a style of the package `tabulate`."""
    return str(frame.to_markdown(index=False, tablefmt=style, disable_numparse=True))


def to_markdown(table: Table) -> str:
    """A table as Markdown, between its title and its notes."""
    text = markdown(table.frame.map(lambda text: text.replace("|", r"\|")))
    notes = "".join(f"- {note}\n" for note in table.notes) + "\n" if table.notes else ""
    return f"### {table.title}\n\n{table.caption}\n\n{text}\n\n{notes}{READ_MORE}\n"


def to_csv(frame: pd.DataFrame) -> str:
    """A frame as a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """A table as a LaTeX float (`table*`), which needs the packages booktabs and graphicx."""
    frame = table.frame.map(lambda text: text.translate(LATEX)).rename(
        columns=lambda name: name.translate(LATEX)
    )
    notes = "".join(f"{note.translate(LATEX)}\\par\n" for note in table.notes)
    caption = f"{table.title}. {table.caption}".translate(LATEX)
    return (
        f"% needs booktabs and graphicx\n\\begin{{table*}}[t]\n\\centering\n\\caption{{{caption}}}\n"
        f"\\label{{tab:ours_{table.name}}}\n"
        f"\\resizebox{{\\linewidth}}{{!}}{{%\n{frame.to_latex(index=False).rstrip()}}}\n"
        f"\\par\\medskip\\raggedright\\footnotesize\n{notes}\\end{{table*}}\n"
    )
