"""The paper's claims in words, each held against our numbers, with one of four verdicts.

A claim is a record of paper.yaml. Most compare scores, and the record says which and how (`check`, with one of
RULES); the others have a function in `checks`. Holding here says what the runs of a profile show, with their data and
sizes, and nothing about the paper's runs. A model is ahead only where its interval lies wholly above the other's:
where two overlap they are not separated, which neither bears a claim out nor refutes it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Final

from serrm.reporting.checks import CHECKS
from serrm.reporting.evidence import (
    BASELINES,
    FAILS,
    HOLDS,
    LEVEL,
    UNTESTED,
    Evidence,
    Finding,
    Score,
    Verdict,
    in_words,
    missing,
    weakest,
)
from serrm.reporting.names import METRIC_NAMES, set_name, task_name
from serrm.reporting.notes import Note
from serrm.reporting.paper import PaperCheck, load_paper
from serrm.reporting.tables import Table
from serrm.scoring.intervals import wilson

TUNED_LESS: Final = "TRM and HRM were tuned less."


def _is(condition: bool) -> Verdict:
    return HOLDS if condition else FAILS


def _above(first: Score, second: Score) -> Verdict:
    """First above second, by however little."""
    return HOLDS if first.value > second.value else first.leads(second)


def _is_zero(score: Score) -> Verdict:
    """Zero, or not to be told from none of as many puzzles."""
    if score.value == 0:
        return HOLDS
    _, high = wilson(0, score.reading.num_puzzles or 1)
    return FAILS if score.low > 100 * Decimal(high) else LEVEL


# How the scores of a check, in the order of its models, have to lie.
RULES: Final[dict[str, Callable[[Sequence[Score]], Verdict]]] = {
    "first is ahead": lambda scores: scores[0].leads(*scores[1:]),
    "last is ahead": lambda scores: scores[-1].leads(scores[0]),
    "last is behind": lambda scores: weakest(score.leads(scores[-1]) for score in scores[:-1]),
    "level": lambda scores: _is(not any(a.is_ahead_of(b) for a in scores for b in scores)),
    "all zero": lambda scores: _is(all(score.value == 0 for score in scores)),
    "all solved": lambda scores: _is(all(score.value == 100 for score in scores)),
    "ahead of zero": lambda scores: weakest([scores[0].leads(*scores[1:]), *map(_is_zero, scores[1:])]),
    "above second, ahead of third": lambda scores: weakest(
        [_above(scores[0], scores[1]), scores[0].leads(scores[2])]
    ),
    "falling": lambda scores: weakest(
        [*(_above(*pair) for pair in pairwise(scores)), scores[0].leads(scores[-1])]
    ),
}


@dataclass(frozen=True)
class Claim:
    """A claim of the paper with our verdict and the numbers behind it."""

    key: str
    says: str
    section: str
    paper: str
    ours: str
    verdict: Verdict


def check_claims(evidence: Evidence) -> list[Claim]:
    """Every claim of paper.yaml, judged by its check."""
    claims = []
    is_of_ours = any(evidence.is_rescaled(variant) for variant in BASELINES)
    for key, claim in load_paper().claims.items():
        verdict, ours = compare(claim.check, evidence) if claim.check else CHECKS[key](evidence)
        if verdict == HOLDS and claim.over_baselines and is_of_ours:
            ours = f"{ours} {TUNED_LESS}"
        claims.append(Claim(key, claim.says, claim.section, claim.paper, ours, verdict))
    return claims


def compare(check: PaperCheck, evidence: Evidence) -> Finding:
    """The verdict of a check's rule wherever the models that it needs were run."""
    places = [(task, of_set) for task in check.tasks for of_set in check.sets or [None]]
    found = [(place, evidence.scores(place[0], check.models, check.metric, place[1])) for place in places]
    compared = [
        (set_name(of_set) if of_set else task_name(task), scores)
        for (task, of_set), scores in found
        if check.has_enough([score.variant for score in scores])
    ]
    if not compared:
        return missing(check.what)
    name = METRIC_NAMES[check.metric] if check.metric == "pass_at_2" else check.metric.upper()
    is_placed = len(places) > 1 or check.sets
    parts = "; ".join(f"{where}: {in_words(scores)}" for where, scores in compared)
    texts = [f"{name} on {parts}." if is_placed else f"{name}: {in_words(compared[0][1])}."]
    empty = [
        where for where, scores in compared if check.needs_solved and not any(each.value for each in scores)
    ]
    verdicts = [UNTESTED if where in empty else RULES[check.rule](scores) for where, scores in compared]
    if empty:
        texts.append(f"Nothing was solved on {' and '.join(empty)}, which compares nothing.")
    if len(compared) < len(places):
        verdicts.append(UNTESTED)
        texts.append("The other set was not run.")
    if beside := [
        score for task in check.tasks for score in evidence.scores(task, check.beside, check.metric)
    ]:
        texts.append(f"Beside it, not of the paper: {in_words(beside)}.")
    return Finding(weakest(verdicts), " ".join(texts))


def tally(claims: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in (HOLDS, LEVEL, FAILS, UNTESTED)}


def claims_table(claims: Sequence[Claim], notes: tuple[Note, ...] = ()) -> Table:
    """The claims as a table, with notes on what they were judged on."""
    header = ("The paper says", "Section", "The paper's numbers", "Ours", "Verdict")
    rows = tuple((claim.says, claim.section, claim.paper, claim.ours, claim.verdict) for claim in claims)
    held, level, failed, untested = tally(claims).values()
    caption = (
        f"Of {len(claims)} claims, on this profile's data and sizes, {held} hold, {level} are not separated, {failed} "
        f"do not hold, and {untested} are not tested. Scores are percent with 95% Wilson intervals; a model is ahead "
        "only where its interval lies wholly above the other's, and overlapping intervals are not separated."
    )
    return Table("claims", "The paper's claims, checked", caption, header, rows, notes)
