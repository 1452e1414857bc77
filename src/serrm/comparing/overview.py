"""One page over all committed profiles: the claims with their verdicts, and the paper's tables with all scores.

Our profiles have different puzzles and lengths of training, so tables name the puzzles and the share of the paper's
training FLOPs per profile.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pandas as pd

from serrm.comparing.costs import CAPTION
from serrm.comparing.hard_sudoku import RATINGS_CAPTION
from serrm.models.families import FAMILIES
from serrm.reporting.claim_checks import Part
from serrm.reporting.claim_rules import BY_CONSTRUCTION, DECIDED, HOLDS, ONLY_WITH_FAULT, UNTESTED
from serrm.reporting.claims import judge, overall, rests_on_one_seed, with_seed
from serrm.reporting.formats import flops_text, markdown
from serrm.reporting.paper import (
    DASH,
    PaperColumn,
    PaperEntry,
    PaperRow,
    ScoreTable,
    data_set_name,
    load_paper,
    paper_cost,
)
from serrm.reporting.paper_tables import Entry, by_set, describe_test_set, entries_of, paper_text
from serrm.reporting.results import Report, total_flops
from serrm.scoring.metrics import METRICS

BEGIN: Final = "<!-- serrm overview: begin -->"
END: Final = "<!-- serrm overview: end -->"
PICTURE: Final = "hard_sudoku.svg"
COSTS: Final = "costs.svg"
RATINGS: Final = "hard_sudoku_ratings.svg"
FLOPS: Final = "Training FLOPs"
# profile → its report, and the entries of one paper table
Profiles = Mapping[str, tuple[Report, Sequence[Entry]]]


def overview(reports: Sequence[Report], caption: str, studies: Sequence[str] = ()) -> str:
    """Write the page of at least one report in Markdown, with further sections; `caption` is that of hard Sudoku."""
    tables = [
        scores_section(number, paper_table, reports)
        for number, paper_table in load_paper().score_tables.items()
    ]
    intro = (
        "Each model has a row with the paper's scores and one per profile that ran it. Scores are percentages with "
        "95% intervals in brackets; of several seeds they are mean ± standard deviation (range of the seeds' "
        "intervals), with all seeds in square brackets if they span more than 30 points. GPA's intervals are over "
        "puzzles, because the squares of a puzzle depend on one another; profiles that were scored before they were "
        "kept have none. Profiles have different puzzles, so compare models within a profile. In the last column, "
        "(1/200) means 1/200 of the FLOPs of the paper's run. † marks scores that the paper quotes; ↑ and ↓ mean "
        "ahead of the paper's score and behind it, for the same puzzles. The [notes](laptop/tables/notes.md) explain "
        "the rest."
    )
    sections = [
        f"## The paper's tables\n\n{intro}",
        *tables,
        claims_section(reports),
        *studies,
        f"## Scores by cost\n\n![{CAPTION}]({COSTS})\n\n{CAPTION}",
        f"## Hard Sudoku by training FLOPs\n\n![{caption}]({PICTURE})\n\n{caption} [All points](hard_sudoku.csv).",
        f"## Hard Sudoku by rating\n\n![{RATINGS_CAPTION}]({RATINGS})\n\n{RATINGS_CAPTION}",
    ]
    return "\n\n".join(sections)


def claims_section(reports: Sequence[Report]) -> str:
    """Tabulate every claim with its verdict per profile and, of several parts, how many of the tested ones hold."""
    judgements = {report.profile: judge(report) for report in reports}
    lines, num_tested, num_decided, num_one_seed = [], 0, 0, 0
    for key, claim in load_paper().claims.items():
        parts_of = {profile: parts[key] for profile, parts in judgements.items()}
        decided = [parts for parts in parts_of.values() if overall(parts) in DECIDED]
        num_tested += not {overall(parts) for parts in parts_of.values()} <= {UNTESTED, BY_CONSTRUCTION}
        num_decided += bool(decided)
        num_one_seed += bool(decided) and all(map(rests_on_one_seed, decided))
        columns = {f"[{name}]({name}/tables/claims.md)": _verdict(parts) for name, parts in parts_of.items()}
        lines.append({"The paper says": claim.says} | columns)
    text = (
        f"Each of {num_tested} of the {len(lines)} claims is tested by at least one profile. For {num_decided}, at "
        f"least one profile decides the claim for its own puzzles and model sizes, for {num_one_seed} of them only "
        "profiles with one seed. What holds by construction is not counted. Brackets show how many of the tested "
        "parts hold; a claim with parts that are not tested holds only in part. A link leads to the parts with their "
        "rules and numbers."
    )
    return f"## The paper's claims\n\n{text}\n\n{markdown(pd.DataFrame(lines))}"


def _verdict(parts: Sequence[Part]) -> str:
    tested = [part.verdict for part in parts if part.verdict not in (UNTESTED, BY_CONSTRUCTION)]
    if overall(parts) == UNTESTED:
        return DASH
    has_counts = len(tested) > 1 and set(tested) != {ONLY_WITH_FAULT}
    counts = f" ({tested.count(HOLDS)} of {len(tested)})" if has_counts else ""
    return with_seed(overall(parts), is_one=rests_on_one_seed(parts)) + counts


def scores_section(number: str, paper_table: ScoreTable, reports: Sequence[Report]) -> str:
    """Write one of the paper's tables in its layout: per model a row with the paper's numbers and one per profile.

    Table 1 is split by metric, so that it fits on a page.
    """
    profiles = {report.profile: (report, entries_of(paper_table, report.results)) for report in reports}
    variants = {
        name: {entry.variant for entry in entries if entry.runs} for name, (_, entries) in profiles.items()
    }
    names = [name for name in profiles if variants[name]]
    if paper_table.ablation:  # profiles with an ablation, if there are any
        names = [name for name in names if variants[name] - FAMILIES.keys()] or names
    profiles = {name: profiles[name] for name in names}
    metrics = (
        dict.fromkeys(column.metric for column in paper_table.columns.values()) if number == "1" else [None]
    )
    blocks = [f"### Table {number}: {paper_table.title}"]
    for metric in metrics:
        keys = [key for key, column in paper_table.columns.items() if metric in (None, column.metric)]
        rows = [line for row in paper_table.rows for line in _rows(paper_table, row, keys, profiles)]
        if metric:
            blocks.append(f"**{METRICS[metric].short}** ({METRICS[metric].name})")
        blocks.append(markdown(pd.DataFrame(rows).fillna(DASH)))
    lines = []
    for name, (_, entries) in profiles.items():
        scored = [group for group in by_set(entries) if any(entry.score for entry in group)]
        lines.append(f"- {name}: {'; '.join(map(describe_test_set, scored))}.")
    if lines:
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _rows(
    paper_table: ScoreTable,
    row: PaperRow,
    keys: Sequence[str],
    profiles: Profiles,
) -> Iterator[dict[str, str]]:
    """Yield the rows of one of the paper's models: the paper's numbers, then those of every profile that ran it."""
    model = row.name + (f" ({', '.join(row.attributes)})" if row.attributes else "")
    columns = {key: _heading(paper_table.columns[key]) for key in keys}
    texts = {columns[key]: paper_text(row.entries.get(key, PaperEntry())) for key in keys}
    if any(text != DASH for text in texts.values()):
        flops = _paper_flops(paper_table, row, keys)
        yield {"Model": model, "Runs": "the paper"} | texts | {FLOPS: flops}
    for name, (report, entries) in profiles.items():
        rows: dict[str, dict[str, Entry]] = {}
        for entry in entries:
            if entry.row is row and entry.key in keys:
                label = f"`{name}`, {entry.twin}" if entry.twin else f"`{name}`"
                rows.setdefault(label, {})[entry.key] = entry
        for label, of_keys in rows.items():
            if any(entry.runs for entry in of_keys.values()):
                texts = {columns[key]: entry.our_text for key, entry in of_keys.items()}
                flops = _our_flops(report, [*of_keys.values()])
                yield {"Model": model, "Runs": label} | texts | {FLOPS: flops}


def _heading(column: PaperColumn) -> str:
    """Choose the heading of a column: the size of a Sudoku, the number of supervision steps, or the task."""
    if column.group[:1].isdigit():
        return column.group
    if column.name.isdigit():
        return f"{column.name} step" + ("s" if column.name != "1" else "")
    return column.name


def _our_flops(report: Report, entries: Sequence[Entry]) -> str:
    """Write the training FLOPs of our runs behind a row with their shares of the paper's, for every task."""
    texts = {}
    for entry in entries:
        if entry.runs and entry.column.task not in texts:
            flops = total_flops(entry.runs[0], report)
            cost = paper_cost(entry.column.task, entry.variant)
            texts[entry.column.task] = _share(flops, cost.flops) if cost else flops_text(flops)
    return _by_task(texts)


def _paper_flops(
    paper_table: ScoreTable,
    row: PaperRow,
    keys: Sequence[str],
) -> str:
    """Write the training FLOPs of the paper's run behind a row, for every task; a dash if there is no such run."""
    tasks = {paper_table.columns[key].task: row.variant_of(key) for key in keys}
    costs = {task: paper_cost(task, variant) for task, variant in tasks.items()}
    return _by_task({task: flops_text(cost.flops) for task, cost in costs.items() if cost})


def _by_task(texts: Mapping[str, str]) -> str:
    """Join the texts of several tasks with the names of the tasks; the text alone if there is only one."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{data_set_name(task)} {text}" for task, text in texts.items()) or DASH


def _share(flops: int, paper_flops: int) -> str:
    """Write FLOPs with their share of the paper's, such as "5.0e14 (1/2,310)"."""
    return f"{flops_text(flops)} (1/{float(f'{paper_flops / flops:.3g}'):,.0f})"
