"""Scores of the same puzzles are compared as pairs where it was kept which of them were solved."""

import numpy as np

from serrm.reporting.results import are_pairs, difference, score
from serrm.scoring.metrics import wilson
from serrm.scoring.schema import Evaluation, pack
from tests.references import run_scores


def run(is_solved: np.ndarray, puzzles: str | None = "a", seed: int = 0, steps: int = 16) -> Evaluation:
    """A run with these outcomes after 16 steps."""
    rate, (low, high) = float(is_solved.mean()), wilson(int(is_solved.sum()), len(is_solved))
    part = {
        "status": "scored",
        "side": 9,
        "num_puzzles": len(is_solved),
        "headline_steps": steps,
        "steps": {number: {"fsr": rate, "fsr_lo": low, "fsr_hi": high} for number in (8, 16)},
        "puzzles_digest": puzzles,
        "solved": pack(is_solved),
    }
    return run_scores("made", "trm", {"9x9": part}, seed=seed)


FIRST, SECOND = np.repeat([True, True, False, False], [36, 12, 2, 50]), np.repeat([True, False], [36, 64])


def test_more_steps_are_compared_as_pairs_with_the_headline() -> None:
    part = run(SECOND, steps=8).scored["9x9"].model_copy(update={"solved_after_most": pack(FIRST)})
    steps = part.steps | {16: run(FIRST).scored["9x9"].steps[16]}
    runs = [run(SECOND).model_copy(update={"sets": {"9x9": part.model_copy(update={"steps": steps})}})]
    longer, shorter = score(runs, "fsr", "9x9", 16), score(runs, "fsr", "9x9", 8)
    assert longer and shorter and are_pairs(longer, shorter)
    apart = score([run(SECOND, puzzles="b")], "fsr")
    assert apart and difference(longer, apart).low < difference(longer, shorter).low < 12


def test_seeds_are_paired_by_their_mean_outcomes() -> None:
    first = score([run(FIRST, seed=0), run(~SECOND, seed=1)], "fsr")
    assert first and first.outcomes is not None and set(first.outcomes) == {0.5, 1.0}
    mixed = score([run(FIRST, seed=0), run(SECOND, puzzles="b", seed=1)], "fsr")
    unknown = score([run(FIRST, puzzles=None)], "fsr")
    assert mixed and mixed.outcomes is None
    assert unknown and not are_pairs(unknown, unknown)
