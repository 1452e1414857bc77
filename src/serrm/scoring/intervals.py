"""Wilson score intervals, the uncertainty beside every rate (tables 1, 3, A5 to A7 of the paper)."""

import math
from collections.abc import Mapping
from statistics import NormalDist


def wilson(successes: float | int, num: int, level: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a proportion, without continuity correction, as two fractions in 0..1.

    Successes may be fractional, as the credits of ARC-AGI puzzles with several test inputs are.
    Source: Wilson (1927), https://doi.org/10.1080/01621459.1927.10502953, in its closed form.

    Raises:
        ValueError: no trials, successes outside 0..num, or a level outside 0..1.
    """
    if num < 1:
        raise ValueError(f"a Wilson interval needs at least one trial, not {num}")
    if not 0 <= successes <= num:
        raise ValueError(f"successes must lie in 0..{num}, not {successes}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate = successes / num
    centre = (rate + z**2 / (2 * num)) / (1 + z**2 / num)
    half = z * math.sqrt(rate * (1 - rate) / num + z**2 / (4 * num**2)) / (1 + z**2 / num)
    # Rounding must not push the ends past the rate itself, which they meet at no and at all successes.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def rates(counts: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """Of (successes, trials) by name: each rate as a fraction, with the ends of its interval as _lo and _hi.

    ValueError if there were no trials.
    """
    found: dict[str, float] = {}
    for name, (successes, num) in counts.items():
        low, high = wilson(successes, num)
        found |= {name: successes / num, f"{name}_lo": low, f"{name}_hi": high}
    return found
