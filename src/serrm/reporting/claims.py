"""The paper's claims in words, each held against our numbers: holds here, does not hold here, not tested here.

A claim is a record of paper.yaml. Most compare scores, and the record says which and how (`check`, with one of
RULES); the others have a function in `checks`. Holding here says what the runs of a profile show, with their data and
sizes, and nothing about the paper's runs. A model is ahead only where its interval lies wholly above the other's, so a
difference that may be chance does not make a claim hold.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from serrm.reporting.checks import CHECKS
from serrm.reporting.evidence import NOTHING_SOLVED, Evidence, Finding, Score, missing, said
from serrm.reporting.names import METRIC_NAMES, set_name, task_name
from serrm.reporting.paper import PaperCheck, load_paper
from serrm.reporting.tables import Table

Verdict = Literal["holds here", "does not hold here", "not tested here"]
HOLDS: Final[Verdict] = "holds here"
FAILS: Final[Verdict] = "does not hold here"
UNTESTED: Final[Verdict] = "not tested here"

# How the scores of a check, in the order of its models, have to lie.
RULES: Final[dict[str, Callable[[Sequence[Score]], bool]]] = {
    "first is ahead": lambda scores: all(scores[0].is_ahead_of(other) for other in scores[1:]),
    "last is ahead": lambda scores: scores[-1].is_ahead_of(scores[0]),
    "level": lambda scores: not any(a.is_ahead_of(b) for a in scores for b in scores),
    "all zero": lambda scores: all(score.value == 0 for score in scores),
    "ahead of zero": lambda scores: all(
        scores[0].is_ahead_of(other) and other.value == 0 for other in scores[1:]
    ),
    "above second, ahead of third": lambda scores: (
        scores[0].value > scores[1].value and scores[0].is_ahead_of(scores[2])
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
    for key, claim in load_paper().claims.items():
        holds, ours = compare(claim.check, evidence) if claim.check else CHECKS[key](evidence)
        verdict = UNTESTED if holds is None else HOLDS if holds else FAILS
        claims.append(Claim(key, claim.says, claim.section, claim.paper, ours, verdict))
    return claims


def compare(check: PaperCheck, evidence: Evidence) -> Finding:
    """Whether the rule of a check holds wherever the models that it needs were run."""
    places = [(task, of_set) for task in check.tasks for of_set in check.sets or [None]]
    found = [(place, evidence.scores(place[0], check.models, check.metric, place[1])) for place in places]
    told = [
        (place, scores) for place, scores in found if check.has_enough([score.variant for score in scores])
    ]
    if not told:
        return missing(check.what)
    name = METRIC_NAMES[check.metric] if check.metric == "pass_at_2" else check.metric.upper()
    parts = [
        f"{set_name(of_set) if of_set else task_name(task)}: {said(scores)}"
        for (task, of_set), scores in told
    ]
    is_placed = len(places) > 1 or check.sets
    text = f"{name} on {'; '.join(parts)}." if is_placed else f"{name}: {said(told[0][1])}."
    if check.needs_solved and not any(score.value for _, scores in told for score in scores):
        return Finding(None, f"{text} {NOTHING_SOLVED}")
    holds = all(RULES[check.rule](scores) for _, scores in told)
    if holds and len(told) < len(places):
        return Finding(None, f"{text} The other set was not run.")
    return Finding(holds, text)


def tally(claims: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in (HOLDS, FAILS, UNTESTED)}


def claims_table(claims: Sequence[Claim]) -> Table:
    """The claims as a table."""
    header = ("The paper says", "Section", "The paper's numbers", "Ours", "Verdict")
    rows = tuple((claim.says, claim.section, claim.paper, claim.ours, claim.verdict) for claim in claims)
    held, failed, untested = tally(claims).values()
    caption = (
        f"Of {len(claims)} claims, on this profile's data and sizes, {held} hold, {failed} do not, and {untested} are "
        "not tested. Scores are percent with 95% Wilson intervals; a model is ahead only where its interval lies "
        "wholly above the other's."
    )
    return Table("claims", "The paper's claims, checked", caption, header, rows)
