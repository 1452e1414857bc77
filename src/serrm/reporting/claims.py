"""The paper's claims with verdicts on them: a claim has parts, one or more per check in paper.yaml.

A verdict is about the runs of a profile, with their data and sizes, and not about the paper's runs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from serrm.core.project import PAPER
from serrm.reporting.claim_checks import CHECKS, Part
from serrm.reporting.claim_rules import FAILS, HOLDS, MARGIN, NEARLY_NONE, PARTLY, UNDECIDED, UNTESTED
from serrm.reporting.formats import Table
from serrm.reporting.paper import load_paper
from serrm.reporting.results import Report

VERDICTS: Final = {  # with the words for one claim and for several
    HOLDS: (HOLDS, "hold"),
    PARTLY: (PARTLY, "hold in part"),
    UNDECIDED: ("stays undecided", "stay undecided"),
    FAILS: (FAILS, "do not hold"),
    UNTESTED: ("is not tested", "are not tested"),
}
COLUMNS: Final = [
    "The paper says",
    "The paper's numbers",
    "Section",
    "Verdict",
    "Part",
    "Verdict on the part",
    "Ours",
]
NOTES: Final = (
    "The interval of a difference is Newcombe's over puzzles. With several seeds (±) it adds Welch's t interval over "
    "seeds in quadrature, and assumes that a model with one seed varies as much as the other model. If both models "
    "have one seed, the interval does not cover other seeds.",
    f"'Comparable' means that the interval of the difference lies within ±{MARGIN:g} points, and 'not behind' that it "
    f"lies above -{MARGIN:g} and not wholly below zero. If all scores are below {MARGIN:g}, the highest score replaces "
    f"{MARGIN:g}. 'Nearly none' means that no puzzle is solved, or that the interval lies below {NEARLY_NONE:g}%. The "
    "paper gives no such bounds.",
    "A claim holds in part if some parts hold and others fail, are undecided or are not tested. It does not hold if no "
    "part holds and at least one fails.",
)
OTHER_SETTINGS: Final = "The settings of all models differ from the paper's."


def overall(parts: Sequence[Part]) -> str:
    """The verdict on a claim, from those on its parts (the last of NOTES has the rule)."""
    verdicts = {part.verdict for part in parts}
    if HOLDS in verdicts:
        return HOLDS if verdicts == {HOLDS} else PARTLY
    if FAILS in verdicts:
        return FAILS
    return UNDECIDED if UNDECIDED in verdicts else UNTESTED


def judge(report: Report) -> dict[str, list[Part]]:
    """The parts of every claim with verdicts; an untested claim has one part, with what it lacks if that is known.

    Runs on tasks that the paper does not have test no claim.
    """
    columns = [column for table in load_paper().score_tables.values() for column in table.columns.values()]
    tasks = {column.task for column in columns}
    results = {key: runs for key, runs in report.results.items() if runs[0].task in tasks}
    is_other = bool(report.results) and not results  # else `parameters`, which reads no runs, would be judged
    report, judged = replace(report, results=results), {}
    for key, claim in load_paper().claims.items():
        checks = () if is_other else claim.checks
        parts = [part for check in checks for part in CHECKS[check.rule](report, check)]
        why = " ".join(dict.fromkeys(part.evidence for part in parts)) or claim.why_untested
        judged[key] = [Part("", UNTESTED, why)] if overall(parts) == UNTESTED else parts
    return judged


def claims_table(report: Report) -> Table:
    """A line for every part of every claim; claim and verdict stand in the first line."""
    lines, judged = [], judge(report)
    for key, parts in judged.items():
        claim = load_paper().claims[key]
        of_claim = claim.says, claim.paper, claim.section, overall(parts)
        for index, part in enumerate(parts):
            lines.append((*(of_claim if index == 0 else [""] * len(of_claim)), *part))
    caption = (
        f"{len(judged)} claims, checked on this profile's data and model sizes ({tally(judged)}). A model is ahead "
        "only if the 95% interval of the difference lies wholly above zero, or above the stated number of points."
    )
    notes = NOTES if report.profile == PAPER else [OTHER_SETTINGS, *NOTES]
    return Table(
        "claims", "The paper's claims, checked", caption, pd.DataFrame(lines, columns=COLUMNS), notes
    )


def tally(judged: Mapping[str, Sequence[Part]]) -> str:
    """Number of claims by verdict, such as "5 hold, 1 holds in part, …"."""
    counts = Counter(overall(parts) for parts in judged.values())
    return ", ".join(
        f"{counts[verdict]} {one if counts[verdict] == 1 else several}"
        for verdict, (one, several) in VERDICTS.items()
    )
