"""Demonstration pairs of the puzzles to score, asked as they were trained on: what of its training a model reproduces.

Every pair lies at the corner of the canvas, in the puzzle's own frame and with its own task type, as a test input is
asked first. Paper: section "ARC-AGI", data; that they are scored is ours.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from serrm.arrays.arc import open_arc_arrays, scored_set, used_variants
from serrm.arrays.arc_stream import ArcPairs, Drawn
from serrm.arrays.puzzles import TRAIN, read_metadata
from serrm.arrays.stream import Examples
from serrm.randomness import Purpose, keyed_rng


@dataclass(frozen=True, eq=False)
class ArcDemonstrations(ArcPairs):
    """Some of the trained pairs, by their places in `arrays`, to be asked in the identity."""

    places: Int64[np.ndarray, " P"]

    def __len__(self) -> int:
        return len(self.places)

    def gather(self, start: int, num: int) -> Examples:
        """The pairs start … start+num-1, fewer at the end, as tokens at the corner."""
        places = self.places[start : start + num]
        identity = np.zeros(len(places), dtype=np.int64)
        return self.gather_pairs(Drawn(places, identity, np.zeros((len(places), 2))))


def open_arc_demonstrations(
    arrays: Path, num_variants: int, num: int, *, has_identity_twice: bool = False
) -> ArcDemonstrations:
    """At most `num` demonstration pairs of the puzzles to score that were trained on, for a model of these variants.

    They are drawn by the seed of the arrays: the same ones for every model that was trained on them.
    """
    trained = open_arc_arrays(arrays, TRAIN)
    scored = np.unique(open_arc_arrays(arrays, scored_set(arrays)).puzzles)
    there = np.flatnonzero(np.isin(trained.puzzles, scored))
    rng = keyed_rng(read_metadata(arrays)["seed"], Purpose.DEMONSTRATION)
    places = np.sort(rng.permutation(there)[:num])
    return ArcDemonstrations(trained, used_variants(num_variants, has_identity_twice), places)
