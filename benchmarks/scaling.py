"""Time and memory of a step against the numbers of positions and symbols: the paper's O(I²K + K²I), measured.

    python -m benchmarks.scaling > benchmarks/scaling.md

A time is fitted as a·IK + b·I²K + c·IK², none negative: the products with weights, and the two attentions.
"""

import numpy as np
import typer
from scipy.optimize import nnls

from benchmarks.steps import SE_RRM, Case, flops_of, in_own_process, set_up

SIZES = [*((side, 11) for side in (4, 6, 9, 12, 16, 20)), *((9, num) for num in (4, 8, 16, 32))]
# One cycle of two updates, so that the axes show; about as many FLOPs per step for every size.
SETTINGS = SE_RRM.model_copy(update={"h_cycles": 1, "l_cycles": 2, "registers": 0})
CASES = [Case("", SETTINGS, max(1, round(3750 / (side**2 * num))), side, num) for side, num in SIZES]


def fit(sizes: np.ndarray, times: np.ndarray) -> str:
    """The law that times follow over sizes (I, K), by least squares of relative errors, and how well they do."""
    positions, symbols = sizes.astype(float).T
    terms = np.stack([positions * symbols, positions**2 * symbols, positions * symbols**2], axis=1)
    terms /= times[:, None]
    parts, _ = nnls(terms, np.ones(len(times)))
    law = f"time ∝ IK·(1 + {parts[1] / parts[0]:.2g}·I + {parts[2] / parts[0]:.2g}·K)"
    return f"Fitted: {law}, to within {np.abs(terms @ parts - 1).max():.0%} at every size."


def main(device: str = "auto", turns: int = 2) -> None:
    """Print a Markdown table of the medians, and the fit."""
    setup = set_up(device, turns)
    print("| I | K | batch | ms per puzzle-step | GFLOP per puzzle | share | memory (MB per puzzle) |")
    print("|" + "---|" * 7)
    times = []
    for case in CASES:
        num = case.batch_size
        form = setup.ours[0]
        measured = in_own_process(case, "evaluation", setup, [form])
        seconds, share, memory = measured.seconds[form], measured.shares[form], measured.memory
        times.append(seconds / num)
        cost = f"{1e3 * seconds / num:.2f} | {flops_of(case, 'evaluation') / num / 1e9:.2f} | {share:.1%}"
        sizes = f"{case.side**2} | {case.num_symbols} | {num}"
        print(f"| {sizes} | {cost} | {memory / num / 2**20:.1f} |", flush=True)
    print("\n" + fit(np.array([(side**2, num) for side, num in SIZES]), np.array(times)))


if __name__ == "__main__":
    typer.run(main)
