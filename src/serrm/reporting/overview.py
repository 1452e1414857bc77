"""One page over all committed profiles: the claims with the verdict of each, and the paper's tables with all scores.

Our profiles have different puzzles and lengths of training, so each has a column of its own, with its puzzles and its
share of the paper's training FLOPs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pandas as pd

from serrm.models.families import FAMILIES
from serrm.reporting.claims import FAILS, HOLDS, PARTLY, UNTESTED, Part, judge, overall
from serrm.reporting.paper import DASH, PaperColumn, PaperEntry, PaperRow, ScoreTable, load_paper, task_name
from serrm.reporting.results import Report
from serrm.reporting.tables import (
    Entry,
    as_printed,
    by_set,
    entries_of,
    markdown,
    power,
    puzzles,
    total_flops,
)
from serrm.scoring.metrics import METRICS

BEGIN: Final = "<!-- serrm overview: begin -->"
END: Final = "<!-- serrm overview: end -->"
PICTURE: Final = "hard_sudoku.svg"
FLOPS: Final = "Training FLOPs"


def overview(reports: Sequence[Report], caption: str) -> str:
    """The page in Markdown; `caption` is that of the picture."""
    tables = [scores(number, printed, reports) for number, printed in load_paper().score_tables.items()]
    about = (
        "Each model has a row with the paper's scores and one per profile that ran it. Brackets after the training "
        "FLOPs give their share of the FLOPs of the paper's run. The [notes](laptop/tables/notes.md) explain signs, "
        "seeds and data."
    )
    picture = f"## Hard Sudoku by training FLOPs\n\n![{caption}]({PICTURE})\n\n{caption} [All points](hard_sudoku.csv)."
    return "\n\n".join([f"## The paper's tables\n\n{about}", *tables, claims(reports), picture])


def claims(reports: Sequence[Report]) -> str:
    """Every claim with its verdict in every profile, and with how many of its parts hold where that is not all."""
    judged = {report.profile: judge(report) for report in reports}
    lines, num_tested, num_decided = [], 0, 0
    for key, claim in load_paper().claims.items():
        parts = {profile: of_profile[key] for profile, of_profile in judged.items()}
        verdicts = {overall(each) for each in parts.values()}
        num_tested += verdicts != {UNTESTED}
        num_decided += bool(verdicts & {HOLDS, PARTLY, FAILS})
        linked = {f"[{name}]({name}/tables/claims.md)": _verdict(each) for name, each in parts.items()}
        lines.append({"The paper says": claim.says} | linked)
    text = (
        f"Each of {num_tested} of the {len(lines)} claims is tested by at least one profile. For {num_decided}, "
        "at least one profile decides the claim for its own puzzles and model sizes. Brackets show how many of the "
        "tested parts hold; a claim with parts that are not tested holds only in part. A link leads to the parts with "
        "their numbers."
    )
    return f"## The paper's claims\n\n{text}\n\n{markdown(pd.DataFrame(lines))}"


def _verdict(parts: Sequence[Part]) -> str:
    tested = [part.verdict for part in parts if part.verdict != UNTESTED]
    if not tested:
        return DASH
    return overall(parts) + f" ({tested.count(HOLDS)} of {len(tested)})" * (len(parts) > 1)


def scores(number: str, printed: ScoreTable, reports: Sequence[Report]) -> str:
    """One of the paper's tables in its layout: per model a row with the paper's numbers and one per profile.

    Table 1 is split by metric, so that it fits on a page.
    """
    every = {report.profile: (report, entries_of(printed, report.results)) for report in reports}
    run = {name: {entry.variant for entry in entries if entry.runs} for name, (_, entries) in every.items()}
    ablated = [name for name in every if run[name] - FAMILIES.keys()] if number.startswith("A") else []
    shown = {name: every[name] for name in ablated or [name for name in every if run[name]]}
    metrics = dict.fromkeys(column.metric for column in printed.columns.values()) if number == "1" else [None]
    parts = [f"### Table {number}: {printed.title}"]
    for metric in metrics:
        keys = [key for key, column in printed.columns.items() if metric in (None, column.metric)]
        rows = [row for place in range(len(printed.rows)) for row in _rows(printed, place, keys, shown)]
        if metric:
            parts.append(f"**{METRICS[metric].short}** ({METRICS[metric].name})")
        parts.append(markdown(pd.DataFrame(rows).fillna(DASH)))
    parts.append(
        "\n".join(
            f"- {name}: {'; '.join(puzzles(each) for each in by_set(entries) if any(entry.score for entry in each))}."
            for name, (_, entries) in shown.items()
        )
    )
    return "\n\n".join(parts)


def _rows(
    printed: ScoreTable, place: int, keys: Sequence[str], shown: Mapping[str, tuple[Report, Sequence[Entry]]]
) -> Iterator[dict[str, str]]:
    """The rows of one of the paper's models: the paper's numbers, then those of every profile that ran it."""
    row = printed.rows[place]
    model = row.name + (f" ({', '.join(row.attributes)})" if row.attributes else "")
    columns = {key: _heading(printed.columns[key]) for key in keys}
    theirs = {columns[key]: as_printed(row.entries.get(key, PaperEntry())) for key in keys}
    if any(text != DASH for text in theirs.values()):
        yield (
            {"Model": model, "Runs": "the paper"} | theirs | {FLOPS: _paper_flops(printed, row, keys, shown)}
        )
    first = place * len(printed.columns)
    for name, (report, entries) in shown.items():
        of_row = dict(zip(printed.columns, entries[first : first + len(printed.columns)], strict=True))
        ours = {key: of_row[key] for key in keys}
        if any(entry.runs for entry in ours.values()):
            texts = {columns[key]: entry.ours for key, entry in ours.items()}
            yield (
                {"Model": model, "Runs": f"`{name}`"} | texts | {FLOPS: _our_flops(report, [*ours.values()])}
            )


def _heading(column: PaperColumn) -> str:
    """The heading of a column: the size of a Sudoku, the number of supervision steps, or the task."""
    if column.group[:1].isdigit():
        return column.group
    if column.name.isdigit():
        return f"{column.name} step" + ("s" if column.name != "1" else "")
    return column.name


def _our_flops(report: Report, entries: Sequence[Entry]) -> str:
    """The training FLOPs of our runs behind a row with their shares of the paper's, for every task."""
    texts = {}
    for entry in entries:
        if entry.runs and entry.column.task not in texts:
            flops = total_flops(entry.runs[0], report)
            cost = report.cost(entry.column.task, entry.variant)
            texts[entry.column.task] = _share(flops, cost.flops) if cost else power(flops)
    return _by_task(texts)


def _paper_flops(
    printed: ScoreTable,
    row: PaperRow,
    keys: Sequence[str],
    shown: Mapping[str, tuple[Report, Sequence[Entry]]],
) -> str:
    """The training FLOPs of the paper's run behind a row, for every task, as far as profile `paper` has it."""
    report = next(iter(shown.values()))[0]
    tasks = {printed.columns[key].task: row.variant_of(key) for key in keys}
    costs = {task: report.cost(task, variant) for task, variant in tasks.items()}
    return _by_task({task: power(cost.flops) for task, cost in costs.items() if cost})


def _by_task(texts: Mapping[str, str]) -> str:
    """One text, or those of several tasks with the names of the tasks."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{task_name(task)} {text}" for task, text in texts.items()) or DASH


def _share(ours: int, theirs: int) -> str:
    """FLOPs with their share of the paper's, such as "5.0e14 (1/2,310)"."""
    return f"{power(ours)} (1/{float(f'{theirs / ours:.3g}'):,.0f})"
