"""One page over all committed profiles: the claims with the verdict of each, and the paper's tables with all scores.

Our profiles have different puzzles and lengths of training, so each has a column of its own, with its puzzles and its
share of the paper's training FLOPs.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from serrm.models.families import FAMILIES
from serrm.reporting.claims import FAILS, HOLDS, PARTLY, UNTESTED, Part, judge, overall
from serrm.reporting.paper import DASH, ScoreTable, load_paper, task_name
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

BEGIN: Final = "<!-- serrm overview: begin -->"
END: Final = "<!-- serrm overview: end -->"
PICTURE: Final = "hard_sudoku.svg"


def overview(reports: Sequence[Report], caption: str) -> str:
    """The page in Markdown; `caption` is that of the picture."""
    tables = [scores(number, printed, reports) for number, printed in load_paper().score_tables.items()]
    about = (
        "The tables show the scores and training FLOPs of each profile's runs with the paper's models and ablations. "
        "Brackets give the share of profile `paper`'s FLOPs. Bold marks the score of the run with the most training "
        "FLOPs; runs on the paper's size of grid come first. The [notes](laptop/tables/notes.md) explain signs, seeds "
        "and data."
    )
    picture = f"## Hard Sudoku by training FLOPs\n\n![{caption}]({PICTURE})\n\n{caption} [All points](hard_sudoku.csv)."
    return "\n\n".join([claims(reports), picture, f"## The paper's tables\n\n{about}", *tables])


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
    """One of the paper's tables: a line for every number, with ours by profile, and one for the training FLOPs."""
    every = {report.profile: (report, entries_of(printed, report.results)) for report in reports}
    run = {name: {entry.variant for entry in entries if entry.runs} for name, (_, entries) in every.items()}
    ablated = [name for name in every if run[name] - FAMILIES.keys()] if number.startswith("A") else []
    shown = {name: every[name] for name in ablated or [name for name in every if run[name]]}
    lines = []
    for row in printed.rows:
        model = row.name + f" ({', '.join(row.attributes)})" * bool(row.attributes)
        of_row = {name: [each for each in entries if each.row is row] for name, (_, entries) in shown.items()}
        for task in dict.fromkeys(column.task for column in printed.columns.values()):
            runs = {name: [each for each in of_row[name] if each.column.task == task] for name in shown}
            flops = {name: _flops(shown[name][0], entries) for name, entries in runs.items()}
            for same in zip(*runs.values(), strict=True):
                ours = {name: entry for name, entry in zip(shown, same, strict=True) if entry.runs}
                if ours or as_printed(same[0].printed) != DASH:
                    lines.append({"Model": model} | _line(same[0], ours, flops))
            variants = [each.variant for entries in runs.values() for each in entries[:1]]
            cost = reports[0].cost(task, variants[0])
            if cost and any(flops.values()):
                shares = {name: _share(num, cost.flops) for name, num in flops.items() if num}
                name = f"{task_name(task)}: training FLOPs"
                lines.append({"Model": model, "Score": name, "Paper": power(cost.flops)} | shares)
    notes = [
        f"- {name}: {'; '.join(puzzles(each) for each in by_set(entries) if any(entry.score for entry in each))}."
        for name, (_, entries) in shown.items()
    ]
    return (
        f"### Table {number}: {printed.title}\n\n{markdown(pd.DataFrame(lines).fillna(DASH))}\n\n"
        + "\n".join(notes)
    )


def _line(first: Entry, ours: Mapping[str, Entry], flops: Mapping[str, int]) -> dict[str, str]:
    """A number of the paper's with ours; in bold that on the paper's size of grid, if any, with the most FLOPs."""
    texts = {name: entry.ours for name, entry in ours.items()}
    ranks = {name: (entry.of_set == first.column.set, flops[name]) for name, entry in ours.items()}
    if found := [name for name in ours if texts[name] != DASH]:
        best = max(found, key=lambda name: ranks[name])
        texts[best] = f"**{texts[best]}**"
    column = first.column
    words = [column.group, column.name] if column.group[:1].isdigit() else [column.name, column.group]
    return {"Score": " ".join(words), "Paper": as_printed(first.printed)} | texts


def _flops(report: Report, entries: Sequence[Entry]) -> int:
    """The training FLOPs of the run behind some entries of one model and task; 0 if there is none."""
    return next((total_flops(entry.runs[0], report) for entry in entries if entry.runs), 0)


def _share(ours: int, theirs: int) -> str:
    """FLOPs with their share of the paper's, such as "5.0e14 (1/2,310)"."""
    return f"{power(ours)} (1/{float(f'{theirs / ours:.3g}'):,.0f})"
