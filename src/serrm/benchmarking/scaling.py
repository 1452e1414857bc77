"""Time and memory against the numbers of positions and symbols: the paper's O(I²K + K²I), measured.

A step's time is fitted as a·IK + b·I²K + c·IK² (no negative share): the products with weights, and the two attentions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from serrm.benchmarking.cases import SE_RRM, Case
from serrm.benchmarking.run import Measured

SIDES = (4, 6, 9, 12, 16, 20)
SYMBOLS = (4, 8, 16, 32)
OPERATIONS = 3e10  # about as many a step for every size

# One application with and one without gradient would hide the axes; so few cycles, no registers, the paper's layers.
SETTINGS = SE_RRM.model_copy(update={"h_cycles": 1, "l_cycles": 2, "registers": 0})


def scaling_cases() -> tuple[Case, ...]:
    """K fixed with growing I, then I fixed with growing K."""
    cases = []
    for side, num_symbols in [*((side, 11) for side in SIDES), *((9, num) for num in SYMBOLS)]:
        batch_size = max(1, round(OPERATIONS / (side**2 * num_symbols * 8e6)))
        name = f"I = {side**2}, K = {num_symbols}"
        cases.append(Case(name, SETTINGS, batch_size, side, num_symbols))
    return tuple(cases)


@dataclass(frozen=True)
class Fit:
    """Seconds a puzzle-step = of_weights·IK + of_positions·I²K + of_symbols·IK², and how well that holds."""

    of_weights: float
    of_positions: float
    of_symbols: float
    worst: float  # largest relative error over the sizes


def fit(measured: Sequence[Measured]) -> Fit:
    """Least squares of relative errors over the sizes measured."""
    from scipy.optimize import nnls

    seconds = np.array([1 / each.throughput for each in measured])
    positions = np.array([each.case.side**2 for each in measured], dtype=float)
    symbols = np.array([each.case.num_symbols for each in measured], dtype=float)
    terms = np.stack([positions * symbols, positions**2 * symbols, positions * symbols**2], axis=1)
    shares, _ = nnls(terms / seconds[:, None], np.ones(len(seconds)))
    worst = float(np.abs(terms @ shares / seconds - 1).max())
    of_weights, of_positions, of_symbols = (float(share) for share in shares)
    return Fit(of_weights, of_positions, of_symbols, worst)
