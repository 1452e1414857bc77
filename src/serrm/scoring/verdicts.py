"""Words for a difference between two scores, the same in claims, comparisons, tables and texts (docs/glossary.md)."""

import math
from typing import Final

from serrm.scoring.intervals import Difference

AHEAD, BEHIND, LEVEL, UNDECIDED = "ahead", "behind", "level", "undecided"
MARGIN: Final = 10.0  # points within which two scores are level; our choice, as the paper names none


def relation(difference: Difference, margin: float = MARGIN) -> str:
    """Relate the first score to the second, by the 95% interval of their difference.

    AHEAD if the interval lies wholly above zero, and BEHIND if wholly below. Else LEVEL if it lies within ± `margin`
    points; with a margin of 0 nothing is level. Else, and without an interval, UNDECIDED.
    """
    if math.isnan(difference.low) or math.isnan(difference.high):
        return UNDECIDED
    if difference.low > 0:
        return AHEAD
    if difference.high < 0:
        return BEHIND
    return LEVEL if max(-difference.low, difference.high) < margin else UNDECIDED
