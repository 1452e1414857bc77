"""The README's table, and the file of numbers that it is written from: tables 1 and 3 in one, a line for each side.

`serrm headline --write README.md` takes a snapshot of a profile's metric files and writes both, so that the page and
its numbers cannot part; pipeline runs change neither.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import TypeAdapter

from serrm.reporting.cells import Comparison, Reading, part_of
from serrm.reporting.files import between_markers, read_parsed
from serrm.reporting.names import HEADLINE, duration, set_name, task_name
from serrm.reporting.notes import QUOTED, SIDES
from serrm.reporting.paper import PaperColumn, load_paper
from serrm.reporting.render import ARROWS, escape_markdown, plain
from serrm.reporting.results import Evaluation, Results, load_results
from serrm.reporting.tables import build_table

TABLES: Final = ("1", "3")
BEGIN: Final = "<!-- serrm headline {}: begin -->"
END: Final = "<!-- serrm headline {}: end -->"


@dataclass(frozen=True)
class SnapshotRow:
    """A model: its size and training on the first of the tasks, and our score beside the paper's for each column."""

    name: str
    parameters: int
    seconds: float
    cells: tuple[Comparison, ...]


@dataclass(frozen=True)
class Snapshot:
    """What a profile left, in the scores that the paper gives first."""

    command: str
    profile: str
    task: str
    columns: tuple[str, ...]
    rows: tuple[SnapshotRow, ...]


FILE = TypeAdapter(Snapshot)


def take_snapshot(
    profile: str, cells: Sequence[tuple[str, str, int]], metrics: Path, target: str
) -> Snapshot:
    """The scores of a profile's cells, of all that the paper's tables 1 and 3 have and the profile ran.

    `target` is the file that the table is for, by its name in the project.

    Raises:
        ValueError: a metric file of the profile's cells is missing or malformed.
    """
    results = load_results(cells, metrics)
    first = cells[0][0]
    columns: list[str] = []
    of_model: dict[str, list[Comparison]] = {variant: [] for _, variant, _ in cells}
    names: dict[str, str] = {}
    for number in TABLES:
        paper = load_paper().score_tables[number]
        rows = {row.variant: row for row in build_table(number, paper, results).rows}
        for place, column in enumerate(paper.columns.values()):
            if column.metric != HEADLINE[column.task] or not _runs_of(column, results):
                continue
            columns.append(_heading(column, results))
            for variant, comparisons in of_model.items():
                names[variant] = rows[variant].name
                comparisons.append(rows[variant].cells[place])
    lines = tuple(_row(names[variant], results[first, variant], of_model[variant]) for variant in of_model)
    command = f"serrm headline --profile {profile} --write {target}"
    return Snapshot(command, profile, task_name(first), tuple(columns), lines)


def snapshot_markdown(snapshot: Snapshot) -> str:
    """The table of a snapshot: two lines a model, ours and the paper's."""
    headings = (_heading_with_sizes(name, snapshot, place) for place, name in enumerate(snapshot.columns))
    header = ("", "", *headings, f"parameters ({snapshot.task})", "trained for")
    lines = [_line(header), _line(("---",) * len(header))]
    for row in snapshot.rows:
        size = f"{row.parameters:,}", duration(row.seconds)
        lines.append(_line((f"**{escape_markdown(row.name)}**", "ours", *map(_ours, row.cells), *size)))
        lines.append(_line(("", "paper", *(_paper(cell.paper) for cell in row.cells), "", "")))
    caption = (
        "Puzzles solved exactly (on ARC-AGI, by one of two answers), in percent of n with 95% intervals, after 16 "
        f"supervision steps. {SIDES} {QUOTED}: quoted by the paper, not run there. Profile `{snapshot.profile}`, "
        f"written by `{snapshot.command}`."
    )
    return "\n".join([*lines, "", caption])


def replace_table(text: str, snapshot: Snapshot) -> str:
    """A page with a profile's table between its two markers. ValueError if they are not there once, in their order."""
    begin, end = (marker.format(snapshot.profile) for marker in (BEGIN, END))
    return between_markers(text, begin, end, snapshot_markdown(snapshot))


def snapshot_json(snapshot: Snapshot) -> str:
    """A snapshot as a file; what is empty is left out."""
    return FILE.dump_json(snapshot, indent=2, exclude_defaults=True).decode() + "\n"


def read_snapshot(path: Path) -> Snapshot:
    """A snapshot from its file. ValueError naming the first key that is missing or wrong."""
    return read_parsed(path, FILE.validate_json)


def _runs_of(column: PaperColumn, results: Results) -> list[Evaluation]:
    runs = [run for seeds in results.values() for run in seeds if run.task == column.task]
    return [run for run in runs if part_of(run, column)[1] is not None]


def _heading(column: PaperColumn, results: Results) -> str:
    """Task and size, with the paper's where ours is another."""
    sizes = {part_of(run, column)[0] for run in _runs_of(column, results)}
    if not column.set[:1].isdigit():
        return task_name(column.task)
    other = "" if sizes == {column.set} else f" (paper: {set_name(column.set)})"
    return f"{task_name(column.task)} {', '.join(map(set_name, sorted(sizes)))}{other}"


def _row(name: str, runs: Sequence[Evaluation], cells: Sequence[Comparison]) -> SnapshotRow:
    seconds = round(fmean(run.training.seconds for run in runs), 1)
    return SnapshotRow(name, runs[0].model_info.parameters, seconds, tuple(cells))


def _heading_with_sizes(name: str, snapshot: Snapshot, place: int) -> str:
    cells = [row.cells[place] for row in snapshot.rows]
    ours = _numbers(cell.ours.num_puzzles for cell in cells)
    paper = _numbers(cell.paper.num_puzzles for cell in cells)
    sizes = [f"n {ours}"] * bool(ours) + [f"paper {paper}"] * bool(paper)
    return f"{escape_markdown(name)}, {'; '.join(sizes)}"


def _numbers(numbers: Iterable[int | None]) -> str:
    return " or ".join(f"{number:,}" for number in sorted({number for number in numbers if number}))


def _ours(cell: Comparison) -> str:
    return f"{escape_markdown(plain(cell.ours))} {ARROWS[cell.side]}".rstrip()


def _paper(reading: Reading) -> str:
    return escape_markdown(plain(reading)) + QUOTED * reading.is_quoted


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
