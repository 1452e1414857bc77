"""What the command line shows: results as tables for people, coloured on a terminal and plain elsewhere."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from serrm.published.conformance import Check

PLAIN_WIDTH = 110  # of what does not go to a terminal


def console() -> Console:
    """Standard output; plain and of a fixed width unless it is a terminal."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)


def conformance_table(checks: "Sequence[Check]") -> Table:
    """One line a comparison."""
    lines = table("quantity", "largest difference", "tolerance", "ok")
    for check in checks:
        word = "[green]yes[/]" if check.is_ok else "[red]no[/]"
        lines.add_row(check.quantity, f"{check.difference:.1e}", f"{check.tolerance:.0e}", word)
    return lines


def scores_table(sets: Mapping[str, Mapping[str, Any]]) -> Table:
    """FSR and GPA of the scored sets of `score_file`, by depth."""
    lines = table("grid", "puzzles", "steps", "FSR", "GPA")
    for name, entry in sets.items():
        for step, values in entry.get("steps", {}).items():
            is_first = step == next(iter(entry["steps"]))
            rates = (percent(values, metric) for metric in ("fsr", "gpa"))
            lines.add_row(*((name, str(entry["num_puzzles"])) if is_first else ("", "")), step, *rates)
        lines.add_section()
    return lines


def remarks_on(sets: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the table of scores does not show: sizes and puzzles left out, answers computed."""
    remarks = []
    for name, entry in sets.items():
        if entry["status"] == "cannot_extrapolate":
            remarks.append(f"{name}: left out, the model cannot take it: {entry['reason']}")
            continue
        if entry["status"] == "nothing_to_score":
            remarks.append(f"{name}: no puzzle with a blank cell and a solution")
        if num := entry["num_without_solution"]:
            remarks.append(f"{name}: left out because they have no solution: {num}")
        if num := entry["num_answers_computed"]:
            remarks.append(f"{name}: without an answer in the file, solved exactly: {num}")
    return remarks


def table(*columns: str) -> Table:
    """An empty table: the first column is of names, the others of numbers."""
    empty = Table(box=SIMPLE_HEAD)
    for column in columns:
        empty.add_column(column, justify="left" if column == columns[0] else "right", no_wrap=True)
    return empty


def percent(values: Mapping[str, float], metric: str) -> str:
    """A rate with its interval; a dash where there is none."""
    if metric not in values:
        return "—"
    rate, low, high = (100 * values[key] for key in (metric, f"{metric}_lo", f"{metric}_hi"))
    return f"{rate:.2f} ({low:.2f} to {high:.2f})"
