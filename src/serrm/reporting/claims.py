"""The paper's claims in words, each held against our numbers: holds here, does not hold here, not tested here.

The words are data (paper.yaml); the checks are in `claims_on_sudoku` and `claims_on_others`. Holding here says what the
runs of a profile show, with their data and sizes, and nothing about the paper's runs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from serrm.reporting import claims_on_others, claims_on_sudoku
from serrm.reporting.evidence import Evidence
from serrm.reporting.paper import load_paper
from serrm.reporting.plain import PlainTable

Verdict = Literal["holds here", "does not hold here", "not tested here"]
HOLDS: Final[Verdict] = "holds here"
FAILS: Final[Verdict] = "does not hold here"
UNTESTED: Final[Verdict] = "not tested here"

CHECKS: Final = claims_on_sudoku.CHECKS | claims_on_others.CHECKS


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
        holds, ours = CHECKS[key](evidence)
        verdict = UNTESTED if holds is None else HOLDS if holds else FAILS
        claims.append(Claim(key, claim.says, claim.section, claim.paper, ours, verdict))
    return claims


def tally(claims: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in (HOLDS, FAILS, UNTESTED)}


def claims_table(claims: Sequence[Claim]) -> PlainTable:
    """The claims as a table."""
    header = ("The paper says", "Section", "The paper's numbers", "Ours", "Verdict")
    rows = tuple((claim.says, claim.section, claim.paper, claim.ours, claim.verdict) for claim in claims)
    held, failed, untested = tally(claims).values()
    caption = (
        f"Of {len(claims)} claims, on this profile's data and sizes, {held} hold, {failed} do not, and {untested} are "
        "not tested. Scores are percent with 95% Wilson intervals; a model is ahead only where its interval lies "
        "wholly above the other's."
    )
    return PlainTable("claims", "The paper's claims, checked", caption, header, rows)
