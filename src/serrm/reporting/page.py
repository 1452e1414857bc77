"""report.html: one self-contained page of everything a profile gave, in the order a reader asks for it.

Figures are inlined as SVG, style and script are in the page, and nothing is fetched. Equal inputs give equal bytes:
what changes from run to run, such as the commit and the date, is passed in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from serrm.reporting.cells import Reading
from serrm.reporting.claims import tally
from serrm.reporting.examples import Shown
from serrm.reporting.figures import FIGURES
from serrm.reporting.inline import inline_svg
from serrm.reporting.names import METRIC_NAMES, TASKS, duration, reported, set_name, task_name
from serrm.reporting.notes import ARROWS, by_name, data_notes, run_notes
from serrm.reporting.report import Report
from serrm.reporting.results import all_runs

TEMPLATE: Final = "report.html.j2"


def render_page(
    report: Report, figures: Mapping[str, str], examples: Sequence[Shown], provenance: Mapping[str, str]
) -> str:
    """The page as HTML: figures by name as SVG documents, labels and values for the colophon such as the commit."""
    look: dict[str, Any] = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True}
    page = Environment(loader=PackageLoader("serrm.reporting"), undefined=StrictUndefined, **look)
    page.filters |= {
        "grouped": _grouped,
        "by_group": lambda columns: [
            (name, [*part]) for name, part in groupby(columns, lambda each: each.group)
        ],
    }
    runs, every = all_runs(report.results), by_name(report.results)
    return page.get_template(TEMPLATE).render(
        report=report,
        examples=examples,
        provenance=provenance,
        figures={
            name: inline_svg(svg, f"f{number}", FIGURES[name].shows)
            for number, (name, svg) in enumerate(figures.items())
        },
        own=[report.tables[task] for task in dict.fromkeys(run.task for run in runs) if task not in TASKS],
        arrows=ARROWS,
        tally=tally(report.claims),
        summary=[_summary(report, task) for task in dict.fromkeys(run.task for run in runs)],
        total_time=duration(sum(run.training.seconds for run in runs)),
        num_runs=len(runs),
        notes=[note.text for note in (*data_notes(every), *run_notes(every))],
        hashes=dict.fromkeys((task_name(run.task), run.data.hash) for run in runs if run.data.hash),
    )


@dataclass(frozen=True)
class Summary:
    """One task in a line: each model's first score, beside the paper's."""

    task: str
    metric: str
    of_set: str
    scores: tuple[tuple[str, Reading, str], ...]


def _summary(report: Report, task: str) -> Summary:
    record = reported(task)
    table, first = report.tables[record.table], (task, record.set, record.headline)
    headings = [(each.task, each.set, each.metric) for each in table.columns]
    place = headings.index(first) if first in headings else 0
    variants = [variant for of, variant in report.results if of == task]
    rows = [
        row for row in table.models if row.variant in variants and row.cells[place].ours.value is not None
    ]
    scores = [(row.name, row.cells[place].ours, str(row.cells[place].paper).split(" (")[0]) for row in rows]
    sets = report.results[task, variants[0]][0].sets
    of_set = "9x9" if "9x9" in sets else next(iter(sets))
    shown = "" if of_set == "evaluation" else set_name(of_set)
    return Summary(task_name(task), METRIC_NAMES[reported(task).headline], shown, tuple(scores))


def _grouped(header: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Neighbouring headings "group: name" under their group; one without a group under an empty one of its own."""
    groups: list[tuple[str, list[str]]] = []
    for words in header:
        group, _, name = words.rpartition(": ")
        if groups and group and groups[-1][0] == group:
            groups[-1][1].append(name)
        else:
            groups.append((group, [name]))
    return groups
