"""How tasks, sets, models and numbers are called in tables, figures and the page. (Names as in the paper.)"""

from typing import Final

from serrm.reporting.paper import load_paper

TASK_NAMES: Final = {
    "sudoku": "Sudoku",
    "maze": "Maze",
    "arc_agi_1": "ARC-AGI-1",
    "arc_agi_2": "ARC-AGI-2",
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
# The score that the paper gives first, by task; its learning curves (figure A3) show these.
HEADLINE: Final = {"sudoku": "fsr", "maze": "fsr", "arc_agi_1": "pass_at_2", "arc_agi_2": "pass_at_2"}


def task_name(task: str) -> str:
    """The paper's name of a task; one that it has not keeps its own."""
    return TASK_NAMES.get(task, task)


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
