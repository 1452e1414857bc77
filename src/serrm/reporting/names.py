"""Names of tasks, sets, models and metrics in tables, figures and the page, as in the paper; numbers in words."""

from typing import Final

from serrm.reporting.paper import load_paper

DASH: Final = "—"  # no number: not run here, or not in the paper
TASKS: Final = {"sudoku": "Sudoku", "maze": "Maze", "arc_agi_1": "ARC-AGI-1", "arc_agi_2": "ARC-AGI-2"}
METRICS: Final = {"sudoku": ("fsr", "gpa"), "arc_agi_1": ("pass_at_2",), "arc_agi_2": ("pass_at_2",)}
METRIC_NAMES: Final = {
    "fsr": "Fully solved rate",
    "gpa": "Grid-point accuracy",
    "pass_at_2": "pass@2",
    "valid": "Valid paths",
    "valid_shortest": "Shortest paths",
}


def task_name(task: str) -> str:
    """The paper's name of a task; any other keeps its own."""
    return TASKS.get(task, task)


def metrics_of(task: str) -> tuple[str, ...]:
    """The metrics of a task's learning curves (figure A3), that of tables 1 and 3 first."""
    return METRICS.get(task, ("fsr",))


def model_name(variant: str) -> str:
    """The paper's name of a model of its table 1; any other run keeps its own."""
    names = {row.variant: row.name for row in load_paper().score_tables["1"].rows}
    return names.get(variant, variant)


def set_name(name: str) -> str:
    """A set by its size, such as 9×9, or in words."""
    return name.replace("x", "×") if name[:1].isdigit() else name.replace("_", "-")


def percent(rate: float, low: float, high: float) -> str:
    """A fraction with its interval, such as "61.33 (55.23–67.09)"."""
    return f"{100 * rate:.2f} ({100 * low:.2f}–{100 * high:.2f})"


def duration(seconds: float) -> str:
    """Seconds in words, rounded, such as "3 min 24 s" or "1 h 5 min"."""
    if (whole := round(seconds)) < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60} min"
