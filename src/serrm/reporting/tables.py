"""Tables of a profile: functions from its runs to DataFrames, and how these are written.

Tables 1 to 3 and A2 to A7 set our numbers beside the paper's (paper.yaml); the others are of what the paper does not
have. Signs and data are explained once, in notes.md, and differences from the paper's recipes once, in recipes.md.
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
    runs_on,
    score,
    search_score,
)
from serrm.scoring.metrics import KS, METRICS, metrics_of
from serrm.scoring.schema import ComputePoint, Evaluation, ScoredSet

CANNOT_EXTRAPOLATE, QUOTED = "cannot extrapolate", "†"
PAPERS_SE_RRM: Final = "SE-RRM, paper"
NEARLY: Final = 0.95  # of the paper's blanks, whose numbers are approximate; fewer are easier
LEAST: Final = 40  # puzzles of a line of the headline; smaller sets are only in the other tables
BEGIN: Final = "<!-- serrm headline {}: begin -->"
END: Final = "<!-- serrm headline {}: end -->"
SEEDS: Final = " Scores of several seeds are mean ± standard deviation (range of the seeds' intervals)."
LEGEND: Final = (
    "Scores are percentages after 16 supervision steps unless a table gives another number, with 95% Wilson intervals "
    f"over puzzles (for GPA, over blank squares).{SEEDS}",
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
    """A table as it is written: the name of its files, title, caption, frame, and notes beneath."""

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    notes: Sequence[str] = ()


Columns = Mapping[str, tuple[str | None, str]]  # by heading: a set, or None for that trained on, and a metric


class Entry(NamedTuple):
    """A number of the paper's with our runs of its model and their score on `of_set`."""

    row: paper.PaperRow
    column: paper.PaperColumn
    printed: paper.PaperEntry
    variant: str
    runs: Sequence[Evaluation]
    of_set: str
    score: Score | None

    @property
    def ours(self) -> str:
        """Our number, with an arrow if the intervals do not overlap and the puzzles are the same."""
        if any(self.of_set in run.refused for run in self.runs):
            return CANNOT_EXTRAPOLATE
        return DASH if self.score is None else f"{self.score}{self._arrow(self.score)}"

    def _arrow(self, ours: Score) -> str:
        is_made = self.column.unpublished or self.runs[0].data.is_generated
        ends = [float(end) for end in self.printed.numbers[1:]]
        if is_made or not ends or ours.num_puzzles != (self.printed.num or self.column.num):
            return ""
        return " ↑" if ours.low > ends[1] else " ↓" if ours.high < ends[0] else ""


def as_printed(printed: paper.PaperEntry) -> str:
    """One number of the paper's with its interval, such as "93.73 (93.66–93.81)", or the words in its place."""
    value, *ends = printed.numbers or (printed.words or DASH,)
    return value + (f" ({'–'.join(ends)})" if ends else "") + QUOTED * printed.quoted


def entries_of(printed: paper.ScoreTable, results: Results) -> list[Entry]:
    """The entries of one of the paper's tables, row by row."""
    entries = []
    for row in printed.rows:
        for key, column in printed.columns.items():
            variant, of_set = row.variant_of(key), column.set
            runs = runs_on(results, column.task, variant, of_set)
            if column.takes_other_sizes and runs and len(runs[0].drawn) == 1:
                (of_set,) = runs[0].drawn
            ours = score(runs, column.metric, of_set, column.steps)
            theirs = row.entries.get(key, paper.PaperEntry())
            entries.append(Entry(row, column, theirs, variant, runs, of_set, ours))
    return entries


def build_tables(report: Report) -> list[Table]:
    """Every table of which something was run; ablations only where more than the models of tables 1 to 3 was run."""
    tables, basic = [], set[str]()
    for number, printed in load_paper().score_tables.items():
        entries = entries_of(printed, report.results)
        run = {entry.variant for entry in entries if entry.runs}
        if run - basic if number.startswith("A") else run:
            frame = side_by_side(number, printed, entries)
            notes = [*printed.remarks, f"Puzzles: {'; '.join(map(puzzles, by_set(entries)))}."]
            of_paper = " Labels describe the paper's runs." * bool(printed.attributes)
            title, caption = f"Table {number}: {printed.title}", printed.caption + of_paper
            tables.append(Table(f"table{number}", title, caption, frame, notes))
        basic |= set() if number.startswith("A") else run
    for name, (title, make) in FURTHER.items():
        notes = [*meanings(report.results)] if make is criteria else []
        tables.append(
            Table(name, title, " ".join((make.__doc__ or "").split()), make(report).map(str), notes)
        )
    return [table for table in tables if len(table.frame)]


def side_by_side(number: str, printed: paper.ScoreTable, entries: Sequence[Entry]) -> pd.DataFrame:
    """Our numbers beside the paper's: a line per model, in table 1 also per size, in table 2 per number of steps."""
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in entries:
        label, heading = {"Model": entry.row.name}, entry.column.name
        label |= dict(zip(printed.attributes, entry.row.attributes, strict=True))
        if number == "1":
            label["Grid"] = entry.column.group
        if number == "2":
            label, heading = {"Steps": heading}, entry.row.name
        theirs = as_printed(entry.printed)
        if entry.runs or theirs != DASH:
            line = lines.setdefault(tuple(label.values()), label)
            line[f"{heading}, ours"] = entry.ours
            line[f"{heading}, paper"] = theirs
    return pd.DataFrame(lines.values()).fillna(DASH)


def by_set(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Entries by the paper's set."""
    sets: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        sets.setdefault((entry.column.task, entry.column.set), []).append(entry)
    return [*sets.values()]


def puzzles(entries: Sequence[Entry]) -> str:
    """The set of some entries, such as "Sudoku 9×9, 43 blanks (paper: about 56), n 256 (paper: 422,786)"."""
    column, scored = entries[0].column, [entry for entry in entries if entry.score]
    sizes = {entry.of_set for entry in scored} or {column.set}
    words = " or ".join(puzzle_set(column.task, size) for size in sorted(sizes))
    words += f" (paper: {set_name(column.set)})" if sizes != {column.set} else ""
    ours = blanks(column.task, [run.scored[entry.of_set] for entry in scored for run in entry.runs])
    words += ours + (f" (paper: {column.blanks})" if ours and column.blanks else "")
    num = counts(entry.score.num_puzzles for entry in scored if entry.score)
    return f"{words}, n {num} (paper: {counts(entry.printed.num or column.num for entry in entries)})"


def blanks(kind: str, parts: Iterable[ScoredSet]) -> str:
    """The mean number of blanks, such as ", 43 blanks"; nothing for a task whose blanks are not named."""
    means = mean_blanks(kind, parts)
    return f", {' or '.join(map(str, means))} blanks" if means else ""


def mean_blanks(kind: str, parts: Iterable[ScoredSet]) -> list[int]:
    """The different mean numbers of blanks per puzzle; none for a task whose blanks are not named."""
    task = TASKS[kind]
    if not (isinstance(task, GridTask) and task.names_blanks):
        return []
    return [*dict.fromkeys(round(part.num_blank / part.num_puzzles) for part in parts if part.num_blank)]


def counts(numbers: Iterable[int | None]) -> str:
    """Numbers of puzzles as far as they are known, such as "100 or 1,000"."""
    return " or ".join(f"{number:,}" for number in sorted({each for each in numbers if each})) or DASH


def easier(results: Results) -> list[str]:
    """Our test puzzles that are easier than the paper's, such as "Sudoku 9×9, 43 blanks (paper: about 56)"."""
    found = []
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
                found.append(f"{name} (paper: {set_name(column.set)})")
            elif column.blanks is not None and means and means[0] < NEARLY * column.blanks.num:
                found.append(f"{name}{blanks(column.task, [part])} (paper: {column.blanks})")
            elif is_arc and part.side < MAX_SIDE:
                found.append(f"{name}, grids of at most {part.side}×{part.side}")
    return found


# Tables that the paper does not have. The docstring of each is the caption of its table.


def variants(report: Report) -> pd.DataFrame:
    """These runs are in none of the paper's tables. "Solved" is the fully solved rate, or pass@2 on ARC-AGI."""
    every = [each for table in load_paper().score_tables.values() for each in entries_of(table, {})]
    known = {(entry.column.task, entry.variant) for entry in every}
    lines = []
    for (task, model), runs in report.results.items():
        names = [] if (runs[0].kind, model) in known else runs[0].drawn
        for name, part in ((name, runs[0].scored[name]) for name in names if name in runs[0].scored):
            steps = part.headline_steps
            solved, gpa = (score(runs, metric, name, steps) for metric in (runs[0].main_metric, "gpa"))
            words = task_name(task), model_name(model), set_name(name), f"{part.num_puzzles:,}", str(steps)
            lines.append((*words, str(solved or DASH), str(gpa or DASH)))
    return pd.DataFrame(lines, columns=["Task", "Model", "Puzzles", "n", "Steps", "Solved", "GPA"])


def tests(report: Report) -> pd.DataFrame:
    """The scores on the puzzles of your files (`tests` in params.yaml), on which nothing was trained."""
    lines = []
    for (task, model), runs in report.results.items():
        for name, part in runs[0].sets.items():
            if part.of_file is None:
                continue
            words = [task_name(task), name, model_name(model)]
            if isinstance(part, ScoredSet):
                steps = part.headline_steps
                solved, gpa = (score(runs, metric, name, steps) for metric in (runs[0].main_metric, "gpa"))
                words += [f"{part.num_puzzles:,}", str(steps), str(solved or DASH), str(gpa or DASH)]
            else:
                words += [DASH, DASH, CANNOT_EXTRAPOLATE, DASH]
            lines.append(words)
    return pd.DataFrame(lines, columns=["Task", "Puzzles", "Model", "n", "Steps", "Solved", "GPA"])


def criteria(report: Report) -> pd.DataFrame:
    """FSR counts exact matches, and GPA counts the blank squares that are right. The other columns count answers that
    obey a rule of the task, whether or not they match the label."""

    def columns(kind: str) -> Columns:
        known = metrics_of(kind)
        rules = {each.short: (None, name) for name, each in known.items() if each.meaning}
        return {"FSR": (None, "fsr"), **rules, "GPA": (None, "gpa")} if rules else {}

    return _scores(report, columns)


def meanings(results: Results) -> Iterator[str]:
    """The meaning of every rule, one line each."""
    for kind in dict.fromkeys(run.kind for run in all_runs(results)):
        for each in metrics_of(kind).values():
            if each.meaning:
                yield f'{TASKS[kind].name}: "{each.name}" counts {each.meaning}.'


def pass_at_k(report: Report) -> pd.DataFrame:
    """pass@k is the share of test inputs whose right answer is among the k answers with the most votes of the
    augmentations, averaged over puzzles. The paper prints only pass@2."""
    return _scores(report, lambda kind: {f"pass@{k}": (None, f"pass_at_{k}") for k in KS})


def task_types(report: Report) -> pd.DataFrame:
    """The table shows pass@2 with each puzzle's own task-type embedding, with zeros, and with the embedding of a random
    puzzle. Training includes the demonstrations of the evaluation puzzles, never their test pairs."""
    sets = {"Own": None, "Zeros": "evaluation, blank task type", "Random": "evaluation, random task type"}
    return _scores(report, lambda kind: {name: (of_set, "pass_at_2") for name, of_set in sets.items()})


def metrics(report: Report) -> pd.DataFrame:
    """Metrics that are neither in the paper nor rules of a task, on the set trained on: rates in percent, means as they
    are."""
    own = {name: each for name, each in METRICS.items() if each.values and name not in ("fsr", "gpa")}
    return _scores(report, lambda kind: {each.short: (None, name) for name, each in own.items()})


def _scores(report: Report, columns: Callable[[str], Columns]) -> pd.DataFrame:
    """A line per task and model with a score; `columns` are those of the task's kind."""
    lines = []
    for (task, model), runs in report.results.items():
        part = runs[0].scored.get(runs[0].main_set)
        steps = part.headline_steps if part else HEADLINE_STEPS
        scores = {
            name: score(runs, metric, of_set, steps)
            for name, (of_set, metric) in columns(runs[0].kind).items()
        }
        if any(scores.values()):
            where = f"{task_name(task)}, n {counts(each.num_puzzles for each in scores.values() if each)}"
            where += f", after {steps} steps" * (steps != HEADLINE_STEPS)
            texts = {name: str(each or DASH) for name, each in scores.items()}
            lines.append({"Task": where, "Model": model_name(model), **texts})
    return pd.DataFrame(lines).fillna(DASH)


def trainings(report: Report) -> pd.DataFrame:
    """Parameters are those of the model + those of its task-type embeddings. FLOPs count all matrix products, two per
    multiply-add. Arithmetic is the precision and the kernels, where the run kept them."""
    lines = []
    for run in all_runs(report.results):
        info, training = run.model_info, run.training
        embeddings = info.parameters_with_task_types - info.parameters
        seed = f", seed {run.seed}" * (len(report.results[run.task, run.model]) > 1)
        lines.append(
            {
                "Task": task_name(run.task),
                "Model": model_name(run.model) + seed,
                "Parameters": f"{info.parameters:,}" + f" + {embeddings:,}" * bool(embeddings),
                "Steps": f"{training.steps:,}",
                "Samples": f"{training.samples:,}",
                "FLOPs": at_most(run.model_info.family) + power(training.flops),
                "Arithmetic": training.arithmetic or DASH,
            }
        )
    return pd.DataFrame(lines)


def power(flops: int | None) -> str:
    """FLOPs with two digits, such as "5.0e14"; a dash for none."""
    return f"{flops:.1e}".replace("e+", "e") if flops else DASH


def at_most(family: str) -> str:
    """Words before the FLOPs of a family's run, where a step may take fewer than are counted."""
    settings = FAMILIES.get(family)
    return "at most " if settings is not None and settings.flops_are_bound else ""


def compute_points(report: Report) -> dict[tuple[str, str, str], list[tuple[float, ComputePoint]]]:
    """FLOPs per puzzle and the searches that took them, by task, model and method, of the main models."""
    points, shown = {}, main_models(report.results)
    for (task, model), (run, *_) in report.results.items():
        for method, searches in (("first verified answer", run.early_stopping), ("guesses", run.guesses)):
            if searches and model in shown:
                side = run.data.side
                flops = report.flops[task, model](side**2, alphabet(run.kind, side).num_symbols)
                points[task, model, method] = [(flops * each.mean_steps, each) for each in searches]
    return points


def compute(report: Report) -> pd.DataFrame:
    """The table shows how many puzzles of the trained size are solved. "First verified answer" is one attempt that
    stops at a verified answer; with "guesses", further attempts of 4 steps each follow. Mean steps and FLOPs are those
    of all attempts at a puzzle."""
    lines = []
    for (task, model, method), points in compute_points(report).items():
        bound = at_most(report.results[task, model][0].model_info.family)
        for place in sorted({0, (len(points) - 1) // 2, len(points) - 1}):
            flops, each = points[place]
            searched = (
                f"{each.num_puzzles:,}",
                f"{each.num:,}",
                f"{each.max_steps:,}",
                f"{each.mean_steps:.2f}",
            )
            names = f"{model_name(model)}, {task_name(task)}", method
            lines.append((*names, *searched, f"{bound}{flops / 1e9:.3g}", str(search_score(each))))
    counted = ["n", "Most attempts", "Most steps of the first", "Mean steps", "GFLOPs per puzzle"]
    return pd.DataFrame(lines, columns=["Model", "Method", *counted, "Solved"])


FURTHER: Final[dict[str, tuple[str, Callable[[Report], pd.DataFrame]]]] = {
    "variants": ("Our own variants", variants),
    "tests": ("Further test sets", tests),
    "criteria": ("Answers that obey the rules", criteria),
    "pass_at_k": ("ARC-AGI: pass@k", pass_at_k),
    "task_types": ("ARC-AGI: scores without the task type", task_types),
    "metrics": ("Further metrics", metrics),
    "compute": ("Test-time compute", compute),
    "runs": ("Training runs", trainings),
}


def notes(results: Results) -> list[str]:
    """Notes that hold for all tables of a profile: signs, data, and why a model cannot take a set."""
    runs = all_runs(results)
    data = [
        f"{task_name(run.task)}: {run.data.source}; {run.data.train_puzzles:,} training "
        f"{TASKS[run.kind].examples}."
        for run in runs
    ]
    refused = [
        f"{model_name(run.model)} {CANNOT_EXTRAPOLATE} to {set_name(name)}, because {part.reason}."
        for run in runs
        for name, part in run.refused.items()
    ]
    return [*dict.fromkeys([*LEGEND, *data, *refused])]


class Recipe(NamedTuple):
    """The settings of one task's runs that differ from profile `paper`'s runs of the same families.

    `settings` has a row per setting and a column per main model, with our value and the paper's in brackets; `others`
    has a row per other run, with what it has beyond the differences of its family's main model.
    """

    title: str
    settings: pd.DataFrame
    others: pd.DataFrame


def recipes(report: Report) -> list[Recipe]:
    """The differences from the paper's settings, task by task."""
    main = main_models(report.results)
    found = []
    for task in dict.fromkeys(task for task, _ in report.results):
        models = {model: runs for (of, model), runs in report.results.items() if of == task}
        columns = {
            model: report.differences[task, model]
            for model in main
            if model in FAMILIES and (task, model) in report.differences
        }
        rows: dict[str, dict[str, str]] = {}
        for model, settings in columns.items():
            for each in settings:
                row = rows.setdefault(each.name, {"Setting, ours (paper's)": each.name})
                row[model_name(model)] = f"{each.ours} ({each.paper})"
        order = [model_name(model) for model in columns]
        frame = pd.DataFrame(
            rows.values(), columns=["Setting, ours (paper's)", *order] if rows else None
        ).fillna(DASH)
        lines = []
        for model, runs in models.items():
            notes = [*dict.fromkeys(note for run in runs for note in run.notes)]
            if model not in columns:
                differences = report.differences.get((task, model))
                of_family = columns.get(runs[0].model_info.family, [])
                beyond = [str(each) for each in differences or () if each not in of_family]
                notes = [*(["the paper has no such model"] if differences is None else beyond), *notes]
            if model not in columns or notes:
                lines.append({"Run": model_name(model), "Further differences": "; ".join(notes) or "none"})
        found.append(Recipe(task_name(task), frame, pd.DataFrame(lines)))
    return found


class Line(NamedTuple):
    """A test set in the headline: its task, its number of puzzles, its words by column, and the paper's puzzles."""

    task: str
    num: int
    words: dict[str, str]
    theirs: str


class Headline(NamedTuple):
    """The main scores, their notes, and a note on sets that are left out, if there are any."""

    frame: pd.DataFrame
    notes: list[str]
    omitted: list[str]

    def text(self, style: str) -> str:
        """The table with its notes in a style of `tabulate`: `github` for Markdown, `simple` for a terminal."""
        return "\n\n".join([markdown(self.frame, style), *self.notes])


def headline(report: Report) -> Headline:
    """The main scores, a line per test set: every family, the best other run, and the paper's SE-RRM.

    A variant with more seeds is shown in place of its family's own run. Sets of fewer than 40 puzzles are left out and
    named in a note, unless all are so small. Parameters are those on the first task; training FLOPs, for every task
    shown, include those of the runs whose weights a run starts from.
    """
    results = report.results
    models = list(dict.fromkeys(_with_most_seeds(results, model) for model in main_models(results)))
    tasks = dict.fromkeys(task for task, _ in results)
    runs = {
        task: {model: results[task, model] for model in models if (task, model) in results} for task in tasks
    }
    found = [line for task in tasks for line in _lines(results, task, runs[task])]
    least = LEAST if any(line.num >= LEAST for line in found) else 0
    lines = [line for line in found if line.num >= least]
    shown = {task: {model: first for model, (first, *_) in runs[task].items()} for task, *_ in lines}
    by_two = " (on ARC-AGI, by one of two answers)" * any(
        isinstance(TASKS[run.kind], ArcTask) for first in shown.values() for run in first.values()
    )
    others = any(" after " in text for line in lines for text in line.words.values())
    steps = f"{HEADLINE_STEPS} supervision steps" + ", or the number after a score" * others
    of_seeds = SEEDS if any(len(runs) > 1 for (_, model), runs in results.items() if model in models) else ""
    notes = [
        f"Scores are percentages of n puzzles solved exactly{by_two} after {steps}, with "
        f"95% Wilson intervals.{of_seeds}"
    ]
    if theirs := dict.fromkeys(line.theirs for line in lines if line.theirs):
        notes.append(f"The paper's test puzzles are {'; '.join(theirs)}.")
    small = [line.words["Test puzzles"] for line in found if line.num < least]
    omitted = [f"The table omits sets of fewer than {least} puzzles ({'; '.join(small)})."] if small else []
    kept = [line.words for line in lines]
    for place, (task, first) in enumerate(shown.items()):
        sizes = {model_name(model): f"{run.model_info.parameters:,}" for model, run in first.items()}
        flops = {
            model_name(model): at_most(run.model_info.family) + power(total_flops(run, report))
            for model, run in first.items()
        }
        cost = report.cost(next(iter(first.values())).kind, "se_rrm")
        if cost and any(PAPERS_SE_RRM in line.words for line in lines if line.task == task):
            sizes[PAPERS_SE_RRM], flops[PAPERS_SE_RRM] = f"{cost.parameters:,}", power(cost.flops)
        kept += [{"Test puzzles": f"{task_name(task)}: parameters"} | sizes] * (place == 0)
        kept.append({"Test puzzles": f"{task_name(task)}: training FLOPs"} | flops)
    return Headline(pd.DataFrame(kept).fillna(DASH), notes, omitted)


def _lines(results: Results, task: str, runs: Mapping[str, Sequence[Evaluation]]) -> Iterator[Line]:
    """A line for every set of a task of which a model has a score, but not for those with another task type.

    A set of another size than the paper's stands beside the paper's only if no run was scored on the latter.
    """
    kinds = {seeds[0].kind for seeds in runs.values()}
    sets = {name for run in all_runs(results) if run.kind in kinds for name in run.scored}
    for of_set in dict.fromkeys(
        name for seeds in runs.values() for name, part in seeds[0].scored.items() if part.task_type == "right"
    ):
        steps = {
            model: seeds[0].scored[of_set].headline_steps
            for model, seeds in runs.items()
            if of_set in seeds[0].scored
        }
        scores = {
            model: score(seeds, seeds[0].main_metric, of_set, steps.get(model, HEADLINE_STEPS))
            for model, seeds in runs.items()
        }
        if not any(scores.values()):
            continue
        num = max(each.num_puzzles for each in scores.values() if each)
        (run, *_), *_ = runs.values()
        parts = [seeds[0].scored[of_set] for seeds in runs.values() if of_set in seeds[0].scored]
        is_drawn = parts[0].of_file is None
        name = puzzle_set(task, of_set) if is_drawn else f"{task_name(task)} {of_set}"
        words = {"Test puzzles": f"{name}{blanks(run.kind, parts)}, n {num:,}"}
        for model, each in scores.items():
            if each is None:
                is_refused = any(of_set in run.refused for run in runs[model])
                words[model_name(model)] = CANNOT_EXTRAPOLATE if is_refused else DASH
            else:
                words[model_name(model)] = f"{each}" + f" after {steps[model]}" * (
                    steps[model] != HEADLINE_STEPS
                )
        theirs = ""
        for table in (load_paper().score_tables[number] for number in (("1", "3") if is_drawn else ())):
            (row,) = (row for row in table.rows if row.variant == "se_rrm")
            for key, column in table.columns.items():
                is_set = column.set == of_set or (column.takes_other_sizes and column.set not in sets)
                if (column.task, column.metric) == (run.kind, run.main_metric) and is_set:
                    words[PAPERS_SE_RRM] = as_printed(row.entries[key])
                    theirs = puzzle_set(run.kind, column.set) + (
                        f", {column.blanks} blanks" if column.blanks else ""
                    )
                    theirs += f", n {column.num:,}"
        yield Line(task, num, words, theirs)


def _with_most_seeds(results: Results, model: str) -> str:
    """Of the runs of a family on the first task those with the most seeds, if in doubt without changes."""
    (task, _), *_ = results
    variants = [
        name for (of, name), (run, *_) in results.items() if (of, run.model_info.family) == (task, model)
    ]
    return max(variants, key=lambda name: (len(results[task, name]), name == model), default=model)


def puzzle_set(task: str, of_set: str) -> str:
    """The name of a set of puzzles, such as "Sudoku 9×9", or "ARC-AGI-1" where the set has no size."""
    return f"{task_name(task)} {set_name(of_set)}" if of_set[:1].isdigit() else task_name(task)


def main_models(results: Results) -> list[str]:
    """The families with a run of their name, and the other run with the highest score on the first task."""
    (task, _), *_ = results
    scores = {
        model: each.value
        for (of, model), runs in results.items()
        if of == task and model not in FAMILIES and (each := score(runs, runs[0].main_metric))
    }
    best = sorted(scores, key=lambda model: scores[model])[-1:]
    return [*(model for model in FAMILIES if any(model == run for _, run in results)), *best]


def total_flops(run: Evaluation, report: Report) -> int:
    """FLOPs of a run and of the runs whose weights it starts from, as far as they are in the profile."""
    total, runs = 0, {each.name: each for each in all_runs(report.results)}
    name: str | None = run.name
    while name in runs:
        total += runs[name].training.flops
        name = report.init.get((runs[name].task, runs[name].model))
    return total


def markdown(frame: pd.DataFrame, style: str = "github") -> str:
    """The words of a table in a style of `tabulate`."""
    return str(frame.to_markdown(index=False, tablefmt=style, disable_numparse=True))


def to_markdown(table: Table) -> str:
    """A table between its title and its notes."""
    words = markdown(table.frame.map(lambda text: text.replace("|", r"\|")))
    beneath = "".join(f"- {note}\n" for note in table.notes) + "\n" * bool(table.notes)
    return f"### {table.title}\n\n{table.caption}\n\n{words}\n\n{beneath}{READ_MORE}\n"


def to_csv(frame: pd.DataFrame) -> str:
    """A frame as a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """A table* float that compiles as it stands after booktabs and graphicx."""
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
