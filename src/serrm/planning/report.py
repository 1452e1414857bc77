"""What a rehearsal says at its end: how every stage went, and what the real run of the profile will take."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from serrm.planning.pool import Result
from serrm.planning.rate import Rate, with_prefix
from serrm.planning.workload import Stage
from serrm.progress import duration


def results_table(results: Sequence[Result]) -> Table:
    """A line a stage: of what, ok or the error, and seconds."""
    table = _table("cell", "stage", "result", "seconds")
    for result in results:
        word = "[green]ok[/]" if result.error is None else f"[red]{escape(result.error)}[/]"
        seconds = f"{result.seconds:.1f}" if result.seconds else ""
        table.add_row(result.job.of, result.job.stage, word, seconds)
    return table


def needs_table(stages: Sequence[Stage], rate: Rate) -> Table:
    """A line a cell of the real run: operations and time of its training and its evaluation, memory, disk."""
    table = _table("cell", "operations", "time", "memory", "disk")
    of_cells: dict[str, list[Stage]] = {}
    for stage in stages:
        if stage.operations:
            of_cells.setdefault(stage.of, []).append(stage)
    for name, both in of_cells.items():
        operations = sum(stage.operations for stage in both)
        memory, disk = max(stage.memory for stage in both), sum(stage.disk for stage in both)
        time = duration(operations / rate.operations)
        table.add_row(name, with_prefix(operations), time, f"{with_prefix(memory)}B", f"{with_prefix(disk)}B")
    return table


def disk_words(stages: Sequence[Stage]) -> str:
    """Disk of the whole run."""
    return f"{with_prefix(sum(stage.disk for stage in stages))}B on disk, puzzles included"


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="left" if column in ("cell", "stage", "result") else "right")
    return table
