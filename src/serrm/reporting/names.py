"""How tasks, sets, models and numbers are called in tables, figures and the page. (Names as in the paper.)"""

from dataclasses import dataclass
from typing import Final

from serrm.reporting.paper import load_paper


@dataclass(frozen=True)
class ReportedTask:
    """A task as the paper reports it."""

    name: str
    # Of its learning curves (figure A3); the first is what the paper gives first.
    metrics: tuple[str, ...] = ("fsr",)
    set: str = "evaluation"
    takes_other_sizes: bool = False  # the only set that we scored stands for the paper's
    table: str = "3"

    @property
    def headline(self) -> str:
        """The score that the paper gives first."""
        return self.metrics[0]


TASKS: Final = {
    "sudoku": ReportedTask("Sudoku", ("fsr", "gpa"), "9x9", table="1"),
    "maze": ReportedTask("Maze", set="30x30", takes_other_sizes=True),
    "arc_agi_1": ReportedTask("ARC-AGI-1", ("pass_at_2",)),
    "arc_agi_2": ReportedTask("ARC-AGI-2", ("pass_at_2",)),
}
METRIC_NAMES: Final = {
    "fsr": "Fully solved rate",
    "gpa": "Grid-point accuracy",
    "pass_at_2": "pass@2",
    "pair_fsr": "demonstration pairs",
    "pair_gpa": "their cells",
    "valid": "valid paths",
    "valid_shortest": "shortest paths",
}


def reported(task: str) -> ReportedTask:
    """A task of the paper's; one that it does not have keeps its name and has a table of its own."""
    return TASKS.get(task) or ReportedTask(task, table=task)


def task_name(task: str) -> str:
    """The paper's name of a task; one that it does not have keeps its own."""
    return reported(task).name


def model_name(variant: str) -> str:
    """The paper's name of a model; a variant without one keeps its own."""
    names = {row.variant: row.name for row in load_paper().score_tables["1"].rows if row.variant}
    return names.get(variant, variant)


def set_name(name: str) -> str:
    """A set by its size, such as 9×9, or in words."""
    return name.replace("x", "×") if name[:1].isdigit() else name.replace("_", "-")


def short_number(number: float) -> str:
    """1200 as 1.2k and 3000000 as 3M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """Seconds in words, such as "3 min 24 s" or "1 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"
