"""The paper's claims with verdicts on them: a claim has parts, one or more per check in paper.yaml.

A verdict is about the runs of a profile, with their data and sizes, and not about the paper's runs.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from serrm.core.project import PAPER
from serrm.reporting.claim_checks import CHECKS, Part, with_most_seeds, with_twins
from serrm.reporting.claim_rules import (
    BY_CONSTRUCTION,
    DECIDED,
    FAILS,
    HOLDS,
    NEARLY_NONE,
    ONLY_WITH_FAULT,
    PARTLY,
    UNTESTED,
)
from serrm.reporting.formats import Table
from serrm.reporting.paper import load_paper
from serrm.reporting.results import Report
from serrm.scoring.significance import holm, least_permutation_p
from serrm.scoring.verdicts import MARGIN, UNDECIDED

VERDICTS: Final = {  # with the words for one claim and for several
    HOLDS: (HOLDS, "hold"),
    PARTLY: (PARTLY, "hold in part"),
    ONLY_WITH_FAULT: ("holds only with the fault", "hold only with the fault"),
    FAILS: (FAILS, "do not hold"),
    UNDECIDED: ("stays undecided", "stay undecided"),
    BY_CONSTRUCTION: ("holds by construction", "hold by construction"),
    UNTESTED: ("is not tested", "are not tested"),
}
COLUMNS: Final = [
    "The paper says",
    "The paper's numbers (section)",
    "Verdict",
    "Part",
    "Rule",
    "Verdict on the part",
    "p; Holm",
    "Ours",
]
ONE_SEED: Final = "one seed"
NOTES: Final = (
    "The interval of a difference is Newcombe's over puzzles. With several seeds (±) it adds Welch's t interval over "
    "seeds in quadrature, and assumes that a model with one seed varies as much as the other model. Verdicts with 'one "
    "seed' rest on a score of one seed, and do not cover other seeds where both models have one. GPA has a ratio "
    "estimator's interval over puzzles, and both models' puzzles count as independent; scores from before it was kept "
    "are compared over seeds alone.",
    "Ahead, behind, level and undecided are defined in the glossary (docs/glossary.md). Level means within "
    f"±{MARGIN:g} points; if all scores are below {MARGIN:g}, the highest score replaces {MARGIN:g}. 'Nearly none' "
    f"means that the interval lies below {NEARLY_NONE:g}%. The paper gives no such bounds. The deciding difference is "
    "the one with the least lower end.",
    "p is two-sided and the level at which the interval of the deciding difference excludes the rule's bound; after "
    "the semicolon it is corrected for all parts with a p of this profile by Holm's method. Verdicts do not depend on "
    "it. It takes seeds as normally distributed: a permutation test of 3 against 3 seeds cannot give less than "
    f"{least_permutation_p(3, 3):g}, and of 5 against 5 less than {least_permutation_p(5, 5):.2g}.",
    "A claim holds in part if some parts hold and others fail, are undecided or are not tested. It does not hold if no "
    "part holds and at least one fails. Parts by construction count only where all parts are.",
    "The rules (commit 3e8602bf) were written before the float32 runs of `claims_sudoku`, `claims_maze`, `claims_arc` "
    "and `claims_fresh`, but after the same experiments had been judged in bfloat16 (commit 390654f3), and after the "
    "runs of all other profiles committed by November 2026: they are predictions only for harder Sudokus and for "
    "puzzles of a new data seed. Parts on models that were tuned equally, which are the variants that equal tuning "
    "chose where the families have the paper's recipes, and on models without symmetric copies were added after all "
    "runs but those planned in commit 46aa8ccf. Where a family has a variant with more seeds, as the tuned models of "
    "profile `published` have, that variant stands for the family.",
)
OTHER_SETTINGS: Final = "The settings of all models differ from the paper's."


def overall(parts: Sequence[Part]) -> str:
    """Judge a claim by the verdicts on its parts (NOTES has the rule)."""
    verdicts = {part.verdict for part in parts}
    tested = verdicts - {BY_CONSTRUCTION}
    if verdicts == {BY_CONSTRUCTION}:
        return BY_CONSTRUCTION
    if tested in ({HOLDS}, {ONLY_WITH_FAULT}):
        return next(iter(tested))
    if tested & {HOLDS, ONLY_WITH_FAULT}:
        return PARTLY
    return next((verdict for verdict in (FAILS, UNDECIDED) if verdict in tested), UNTESTED)


def rests_on_one_seed(parts: Sequence[Part]) -> bool:
    """True if a part that is decided, and so decides the claim, rests on a score of one seed."""
    return any(part.verdict in DECIDED and part.num_seeds == 1 for part in parts)


def judge(report: Report) -> dict[str, list[Part]]:
    """Judge the parts of every claim; an untested claim has one part, with what it lacks if that is known.

    Runs on tasks that the paper does not have test no claim.
    """
    columns = [column for table in load_paper().score_tables.values() for column in table.columns.values()]
    tasks = {column.task for column in columns}
    results = {key: runs for key, runs in report.results.items() if runs[0].task in tasks}
    is_other = bool(report.results) and not results  # else `parameters`, which reads no runs, would be judged
    report, judgements = replace(report, results=results), {}
    for key, claim in load_paper().claims.items():
        checks = () if is_other else claim.checks
        all_checks = [with_most_seeds(report, one) for check in checks for one in with_twins(report, check)]
        parts = [part for check in all_checks for part in CHECKS[check.rule](report, check)]
        why = " ".join(dict.fromkeys(part.evidence for part in parts)) or claim.why_untested
        is_untested = all(part.verdict == UNTESTED for part in parts)
        judgements[key] = [Part("", UNTESTED, why)] if is_untested else parts
    return judgements


def claims_table(report: Report) -> Table:
    """Tabulate every part of every claim; claim and verdict stand in the first line."""
    lines, judgements = [], judge(report)
    all_p = [part.p for parts in judgements.values() for part in parts if not math.isnan(part.p)]
    corrected = iter(holm(all_p))
    for key, parts in judgements.items():
        claim = load_paper().claims[key]
        verdict = with_seed(overall(parts), is_one=rests_on_one_seed(parts))
        head = claim.says, f"{claim.paper} ({claim.section})", verdict
        for index, part in enumerate(parts):
            part_verdict = with_seed(part.verdict, is_one=rests_on_one_seed([part]))
            p_text = "" if math.isnan(part.p) else f"{_p_text(part.p)}; {_p_text(next(corrected))}"
            cells = part.statement, part.rule, part_verdict, p_text, part.evidence
            lines.append((*(head if index == 0 else [""] * len(head)), *cells))
    caption = (
        f"{len(judgements)} claims, checked on this profile's data and model sizes ({tally(judgements)}). "
        "Every part is judged by the rule beside it."
    )
    notes = NOTES if report.profile == PAPER else [OTHER_SETTINGS, *NOTES]
    return Table(
        "claims", "The paper's claims, checked", caption, pd.DataFrame(lines, columns=COLUMNS), notes
    )


def with_seed(verdict: str, *, is_one: bool) -> str:
    """Mark a verdict if it rests on one seed."""
    return f"{verdict} ({ONE_SEED})" if is_one else verdict


def _p_text(p: float) -> str:
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


def tally(judgements: Mapping[str, Sequence[Part]]) -> str:
    """Count claims by verdict, such as "5 hold (1 of them by one seed), 1 holds in part, …"."""
    counts = Counter(overall(parts) for parts in judgements.values())
    one_seed = Counter(overall(parts) for parts in judgements.values() if rests_on_one_seed(parts))
    texts = []
    for verdict, (one, several) in VERDICTS.items():
        text = f"{counts[verdict]} {one if counts[verdict] == 1 else several}"
        texts.append(text + (f" ({one_seed[verdict]} by {ONE_SEED})" if one_seed[verdict] else ""))
    return ", ".join(texts)
