"""Tables of a profile: functions from its runs to DataFrames, and how these are written.

Tables 1 to 3 and A2 to A7 set our numbers beside the paper's (paper.yaml); the others hold what the paper lacks. What
is needed to read any of them stands once, in notes.md, and where runs differ from the paper's in recipes.md.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.puzzles.tasks import alphabet
from serrm.reporting.names import DASH, duration, metrics_of, model_name, percent, set_name, task_name
from serrm.reporting.paper import (
    HyperparameterTable,
    PaperCell,
    PaperColumn,
    PaperRow,
    ScoreTable,
    load_paper,
)
from serrm.reporting.results import Effort, Evaluation, RefusedSet, Results, Score, all_runs, score
from serrm.reporting.settings import LABELS, READERS, CellSettings

CANNOT_EXTRAPOLATE, QUOTED, DIFFERS = "cannot extrapolate", "†", " ≠"
MARK, SUPERSCRIPTS = re.compile(r"\[\^(\w+)\]"), "⁰¹²³⁴⁵⁶⁷⁸⁹"  # of a remark, before and after it is numbered
ARC: Final = ("arc_agi_1", "arc_agi_2")
MOST: Final = 3  # models in table and figure of test-time compute, and rows of each way in the table
LEGEND: Final = (
    "Scores are percent with 95% Wilson intervals over puzzles, of GPA over blank squares, after 16 supervision steps "
    "unless a table says otherwise. Of several seeds: mean ± standard deviation, the lowest and the highest end.",
    f"{DASH}: not run here, or not in the paper. {QUOTED}: quoted by the paper from the model's own paper, not run "
    "there (HRM: https://arxiv.org/abs/2506.21734, TRM: https://arxiv.org/abs/2510.04871).",
    "↑ ↓: our interval lies wholly above or below the paper's; only where both have the same puzzles.",
)
READ_MORE: Final = "[How to read the tables](notes.md); [where runs differ from the paper's](recipes.md)"
SPECIAL: Final = dict(
    zip("†×±≤≠↑↓", ("dagger", "times", "pm", "leq", "neq", "uparrow", "downarrow"), strict=True)
)
LATEX: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: f"$\\{name}$" for sign, name in SPECIAL.items()}
    | {sign: f"$^{number}$" for number, sign in enumerate(SUPERSCRIPTS)}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "—": "---",
    }
)


@dataclass(frozen=True)
class Report:
    """What a profile gave: the results of its runs, and their settings."""

    profile: str
    results: Results
    settings: CellSettings


class Table(NamedTuple):
    """A table as it is written: the name of its files, what stands above it, its words, and notes beneath."""

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    notes: Sequence[str] = ()


class Cell(NamedTuple):
    """One of the paper's cells, with our runs of its model and their score on `of_set`."""

    row: PaperRow
    column: PaperColumn
    printed: PaperCell
    variant: str
    runs: Sequence[Evaluation]
    of_set: str
    score: Score | None

    @property
    def model(self) -> str:
        """The paper's name of the model."""
        return self.row.name + _marks(self.row.marks)

    @property
    def paper(self) -> str:
        """The paper's side."""
        value, *ends = self.printed.numbers or (self.printed.words or DASH,)
        interval = f" ({'–'.join(ends)})" if ends else ""
        return value + interval + QUOTED * self.printed.quoted + _marks(self.printed.marks)

    @property
    def ours(self) -> str:
        """Our side, with an arrow where the intervals part and the puzzles are the same."""
        if any(isinstance(run.sets.get(self.of_set), RefusedSet) for run in self.runs):
            return CANNOT_EXTRAPOLATE
        return DASH if self.score is None else f"{self.score}{self._arrow(self.score)}"

    def _arrow(self, ours: Score) -> str:
        is_made = self.column.unpublished or self.runs[0].data.source.startswith("generated")
        ends = [float(end) for end in self.printed.numbers[1:]]
        if is_made or not ends or ours.num_puzzles != (self.printed.num or self.column.num):
            return ""
        return " ↑" if ours.low > ends[1] else " ↓" if ours.high < ends[0] else ""


def paper_cells(printed: ScoreTable, results: Results) -> list[Cell]:
    """The cells of one of the paper's tables, row by row."""
    cells = []
    for row in printed.rows:
        for key, column in printed.columns.items():
            variant, of_set = row.variant_of(key), column.set
            runs = results.get((column.task, variant), [])
            if column.takes_other_sizes and runs and len(runs[0].sets) == 1:
                (of_set,) = runs[0].sets
            found = score(runs, column.metric, of_set, column.steps)
            cells.append(Cell(row, column, row.cells.get(key, PaperCell()), variant, runs, of_set, found))
    return cells


def build_tables(report: Report) -> list[Table]:
    """Every table of which something was run."""
    tables = []
    for number, printed in load_paper().score_tables.items():
        cells = paper_cells(printed, report.results)
        if any(cell.runs for cell in cells):
            build = SIDE_BY_SIDE.get(number)
            frame = build(cells) if build else ablation(cells, printed, report.settings)
            frame, remarks = numbered(frame, printed.remarks)
            notes = [*remarks, f"Puzzles: {'; '.join(map(puzzles, by_set(cells)))}."]
            tables.append(
                Table(f"table{number}", f"Table {number}: {printed.title}", printed.caption, frame, notes)
            )
    for number, asked in load_paper().hyperparameter_tables.items():
        caption = f"The paper's values and those of profile {report.profile};{DIFFERS} where they differ."
        frame = hyperparameters(report, asked)
        tables.append(Table(f"table{number}", f"Table {number}: {asked.title}", caption, frame))
    for name, (title, make) in FURTHER.items():
        tables.append(Table(name, title, " ".join((make.__doc__ or "").split()), make(report)))
    return [table for table in tables if len(table.frame)]


def table_1(cells: Sequence[Cell]) -> pd.DataFrame:
    """A line a model and size."""
    labels = [{"Model": cell.model, "Grid": cell.column.group} for cell in cells]
    return _side_by_side(cells, labels, [cell.column.name for cell in cells])


def table_2(cells: Sequence[Cell]) -> pd.DataFrame:
    """A line a number of steps."""
    return _side_by_side(
        cells, [{"Steps": cell.column.name} for cell in cells], [cell.model for cell in cells]
    )


def table_3(cells: Sequence[Cell]) -> pd.DataFrame:
    """A line a model."""
    return _side_by_side(
        cells, [{"Model": cell.model} for cell in cells], [cell.column.name for cell in cells]
    )


SIDE_BY_SIDE: Final = {"1": table_1, "2": table_2, "3": table_3}


def _side_by_side(
    cells: Sequence[Cell], labels: Sequence[dict[str, str]], headings: Sequence[str]
) -> pd.DataFrame:
    """A line for all cells with the same labels: under each heading our side and the paper's."""
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for cell, label, heading in zip(cells, labels, headings, strict=True):
        if cell.runs or cell.paper != DASH:
            line = lines.setdefault(tuple(label.values()), label)
            line[f"{heading}, ours"] = cell.ours
            line[f"{heading}, paper{_marks(cell.column.marks)}"] = cell.paper
    return pd.DataFrame(lines.values()).fillna(DASH)


def ablation(cells: Sequence[Cell], printed: ScoreTable, settings: CellSettings) -> pd.DataFrame:
    """A line of the paper's, and where its model was run one of ours, labelled by what was run."""
    lines: dict[tuple[int, str], dict[str, str]] = {}
    for cell in cells:
        task, labels = cell.column.task, dict(zip(printed.attributes, cell.row.attributes, strict=True))
        sides = [("paper", {"Model": cell.model, **labels}, cell.paper)]
        if cell.runs:
            ours = {name: LABELS[name](task, settings.here[task, cell.variant]) for name in labels}
            sides.append(("ours", {"Model": model_name(cell.variant), **ours}, cell.ours))
        for side, labels, text in sides:
            line = lines.setdefault((printed.rows.index(cell.row), side), {**labels, "Side": side})
            for name, label in labels.items():  # which may differ between tasks
                line[name] += "" if label in line[name].split(" / ") else f" / {label}"
            line[cell.column.name] = text
    return pd.DataFrame(lines.values()).fillna(DASH)


def _marks(marks: Sequence[str]) -> str:
    return "".join(f"[^{mark}]" for mark in marks)


def numbered(frame: pd.DataFrame, remarks: dict[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """A table whose marks are numbers, in the order in which they appear, and the remarks with theirs."""
    order: dict[str, str] = {}

    def text(words: str) -> str:
        return MARK.sub(lambda match: order.setdefault(match[1], SUPERSCRIPTS[len(order) + 1]), words)

    columns = [text(name) for name in frame.columns]
    frame = pd.DataFrame([[text(words) for words in row] for row in frame.to_numpy()], columns=columns)
    return frame, [f"{number} {remarks[mark]}" for mark, number in order.items()]


def unmarked(frame: pd.DataFrame) -> pd.DataFrame:
    """A table without marks."""
    return frame.rename(columns=lambda name: MARK.sub("", name)).map(lambda text: MARK.sub("", text))


def by_set(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells by the paper's set."""
    sets: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        sets.setdefault((cell.column.task, cell.column.set), []).append(cell)
    return [*sets.values()]


def puzzles(cells: Sequence[Cell]) -> str:
    """The set that cells share, such as "Sudoku 9×9, 43 blanks (paper: about 56), n 256 (paper: 422,786)"."""
    column, scored = cells[0].column, [cell for cell in cells if cell.score]
    words, sizes = task_name(column.task), {cell.of_set for cell in scored} or {column.set}
    if column.set[:1].isdigit():
        words += f" {', '.join(map(set_name, sorted(sizes)))}"
        words += f" (paper: {set_name(column.set)})" if sizes != {column.set} else ""
    words += f", {ours}" if (ours := blanks(scored).removesuffix(", ")) else ""
    words += f" (paper: {column.blanks})" if ours and column.blanks else ""
    num = _counts(cell.score.num_puzzles for cell in scored if cell.score)
    return f"{words}, n {num} (paper: {_counts(cell.printed.num or column.num for cell in cells)})"


def blanks(scored: Sequence[Cell]) -> str:
    """The mean number of blanks in a Sudoku that cells share, such as "43 blanks, "; else nothing."""
    parts = [run.scored[cell.of_set] for cell in scored for run in cell.runs if cell.column.task == "sudoku"]
    means = dict.fromkeys(f"{part.num_blank / part.num_puzzles:.0f}" for part in parts if part.num_blank)
    return f"{' or '.join(means)} blanks, " if means else ""


def _counts(numbers: Iterable[int]) -> str:
    return " or ".join(f"{number:,}" for number in sorted(set(numbers))) or DASH


def hyperparameters(report: Report, printed: HyperparameterTable) -> pd.DataFrame:
    """A line a printed hyperparameter: the paper's value and ours, of the first task of the table that was run."""
    lines: list[dict[str, str]] = [{"Hyperparameter": row.name} for row in printed.rows.values()]
    is_run = False
    for place, (model, name) in enumerate(printed.columns.items()):
        key = next(((task, model) for task in printed.tasks if (task, model) in report.results), None)
        is_run |= key is not None
        for line, (reader, row) in zip(lines, printed.rows.items(), strict=True):
            line[f"{name}, paper"] = value = row.cells[place]
            line[f"{name}, ours"] = DASH if key is None else _setting(report, key, reader, value)
    return pd.DataFrame(lines if is_run else [])


def _setting(report: Report, key: tuple[str, str], reader: str, printed: str) -> str:
    if reader == "parameters":
        number = report.results[key][0].model_info.parameters
        return f"{number:,}" + DIFFERS * (f"{round(number / 1e6)}M" != printed)
    ours = READERS[reader](report.settings.here[key])
    return ours + DIFFERS * (ours != printed)


# What the paper does not have. The docstring of each is the caption of its table.


def variants(report: Report) -> pd.DataFrame:
    """Solved: fully solved rate, of ARC-AGI pass@2; of the set trained on after every number of steps."""
    tables, lines = load_paper().score_tables.values(), []
    known = {(cell.column.task, cell.variant) for each in tables for cell in paper_cells(each, {})}
    for (task, model), runs in report.results.items():
        for name, part in runs[0].scored.items() if (task, model) not in known else ():
            usual = HEADLINE_STEPS if HEADLINE_STEPS in part.steps else max(part.steps)
            for steps in part.steps if name == runs[0].trained_set else [usual]:
                solved, gpa = (score(runs, metric, name, steps) for metric in (metrics_of(task)[0], "gpa"))
                words = task_name(task), model_name(model), set_name(name), str(steps)
                lines.append(
                    (*words, *(str(each or DASH) for each in (solved, gpa)), f"{part.num_puzzles:,}")
                )
    return pd.DataFrame(lines, columns=["Task", "Model", "Puzzles", "Steps", "Solved", "GPA", "n"])


def mazes(report: Report) -> pd.DataFrame:
    """Exact match (FSR) also tests which of several shortest paths the answer takes. Valid: a simple path from start to
    goal; shortest: one as short as can be; GPA: the share of free squares that are right."""
    columns = {"FSR": "fsr", "Valid": "valid", "Shortest": "valid_shortest", "GPA": "gpa"}
    return _extension(report, ("maze",), {name: (None, metric) for name, metric in columns.items()})


def pass_at_k(report: Report) -> pd.DataFrame:
    """The share of test inputs whose answer is among the first k after the vote of all augmentations, averaged over
    puzzles. The paper prints pass@2 alone."""
    return _extension(report, ARC, {f"pass@{k}": (None, f"pass_at_{k}") for k in (1, 2, 5, 10, 100, 1000)})


def task_types(report: Report) -> pd.DataFrame:
    """pass@2 with each puzzle's own row of the task-type table, with a blank one (all zeros), and with that of a random
    puzzle. The demonstrations of the evaluation puzzles are trained on, their test pairs never."""
    sets = {"Own": None, "Blank": "evaluation, blank task type", "Random": "evaluation, random task type"}
    return _extension(report, ARC, {name: (of_set, "pass_at_2") for name, of_set in sets.items()})


def _extension(
    report: Report, tasks: Sequence[str], columns: dict[str, tuple[str | None, str]]
) -> pd.DataFrame:
    """A line a task and model: under each heading a metric on the set trained on, or on another."""
    lines = []
    for (task, model), runs in report.results.items():
        found = {name: score(runs, metric, of_set) for name, (of_set, metric) in columns.items()}
        if task in tasks and any(found.values()):
            where = f"{task_name(task)}, n {_counts(each.num_puzzles for each in found.values() if each)}"
            texts = {name: str(each or DASH) for name, each in found.items()}
            lines.append({"Task": where, "Model": model_name(model), **texts})
    return pd.DataFrame(lines)


def trainings(report: Report) -> pd.DataFrame:
    """Parameters, and those of the task-type table; FLOPs of all matrix products, two a multiply-add; a puzzle-step is
    one supervision step of one puzzle, forward and backward."""
    lines = []
    for run in all_runs(report.results):
        info, training = run.model_info, run.training
        rows = info.parameters_with_task_types - info.parameters
        seed = f", seed {run.seed}" * (len(report.results[run.task, run.model]) > 1)
        speed, flops = training.puzzles_per_second, training.operations
        lines.append(
            (
                *(task_name(run.task), model_name(run.model) + seed),
                f"{info.parameters:,}" + f" + {rows:,}" * bool(rows),
                *(f"{training.steps:,}", f"{training.samples:,}"),
                f"{flops:.1e}".replace("e+", "e") if flops else DASH,
                f"{duration(training.seconds)} on {training.device or 'an unknown device'}",
                f"{speed:,.0f}" if speed else DASH,
            )
        )
    names = ["Task", "Model", "Parameters", "Steps", "Samples", "FLOPs", "Time", "Puzzle-steps a second"]
    return pd.DataFrame(lines, columns=names)


def compute_points(report: Report) -> dict[tuple[str, str], list[tuple[float, Effort]]]:
    """By model and way, FLOPs a puzzle and what they solve; of the models that solve most."""
    points, best = {}, dict[str, float]()
    for (task, model), (run, *_) in report.results.items():
        for way, efforts in (("first verified answer", run.adaptive), ("guesses", run.guesses)):
            if efforts:
                side = int(run.trained_set.split("x")[0])
                flops = report.settings.flops[task, model](side**2, alphabet(task, side).num_symbols)
                points[model_name(model), way] = [(flops * effort.mean_steps, effort) for effort in efforts]
                best[model_name(model)] = max(
                    best.get(model_name(model), 0.0), *(each.fsr for each in efforts)
                )
    most = sorted(best, key=lambda model: best[model])[-MOST:]
    return {key: each for key, each in points.items() if key[0] in most}


def compute(report: Report) -> pd.DataFrame:
    """Solved puzzles of the size trained on against supervision steps and FLOPs of a puzzle, all its attempts together:
    one attempt up to the first verified answer, or several with blanks filled in with guesses of the network."""
    lines = []
    for (model, way), points in compute_points(report).items():
        for place in sorted({0, (len(points) - 1) // 2, len(points) - 1}):
            flops, effort = points[place]
            counts = f"≤ {effort.num:,}", f"≤ {effort.max_steps:,}", f"{effort.mean_steps:.2f}"
            solved = percent(effort.fsr, effort.fsr_lo, effort.fsr_hi)
            lines.append((model, way, *counts, f"{flops / 1e9:.3g}", solved))
    names = ["Model", "Way", "Attempts", "Steps of each", "Mean steps", "GFLOPs a puzzle", "Solved"]
    return pd.DataFrame(lines, columns=names)


FURTHER: Final[dict[str, tuple[str, Callable[[Report], pd.DataFrame]]]] = {
    "variants": ("Runs that the paper does not have", variants),
    "mazes": ("Mazes: exact match, valid paths, shortest paths", mazes),
    "pass_at_k": ("ARC-AGI: pass@k", pass_at_k),
    "task_types": ("ARC-AGI: what the task type brings", task_types),
    "compute": ("Test-time compute", compute),
    "runs": ("What was run", trainings),
}


def notes(results: Results) -> list[str]:
    """What is needed to read any of a profile's tables: signs, data, and why a model cannot take a set."""
    runs = all_runs(results)
    data = [
        f"{task_name(run.task)}: {run.data.source}; {run.data.train_puzzles:,} training puzzles."
        for run in runs
    ]
    refused = [
        f"{model_name(run.model)} {CANNOT_EXTRAPOLATE} to {set_name(name)}: {part.reason}."
        for run in runs
        for name, part in run.sets.items()
        if isinstance(part, RefusedSet)
    ]
    return [*dict.fromkeys([*LEGEND, *data, *refused])]


def recipes(report: Report) -> list[str]:
    """Every run with where it differs from the paper's model of its family, and with its own notes."""
    lines = []
    for (task, model), runs in report.results.items():
        words = [
            *report.settings.deviations.get((task, model), ()),
            *(note for run in runs for note in run.notes),
        ]
        what = "; ".join(dict.fromkeys(words)) or "no difference"
        lines.append(f"{model_name(model)} on {task_name(task)}: {what}.")
    return lines


def to_markdown(table: Table) -> str:
    """A table between its title and its notes."""
    frame = table.frame.map(lambda text: text.replace("|", r"\|"))
    words = frame.to_markdown(index=False, tablefmt="github", disable_numparse=True)
    beneath = "".join(f"- {note}\n" for note in table.notes)
    return f"### {table.title}\n\n{table.caption}\n\n{words}\n\n{beneath}\n{READ_MORE}\n"


def to_csv(table: Table) -> str:
    """The words of a table."""
    return table.frame.to_csv(index=False, lineterminator="\n")


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
