"""What a model is asked about ARC: every test input of a puzzle to score in each variant, and the way back.

Inputs lie at the corner of the canvas. A prediction is decoded, its colours and its transform are undone, and
what remains is a vote for a grid in the puzzle's own frame (`serrm.scoring.arc`). Paper: section "ARC-AGI".
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8

from serrm.arrays.arc import open_arc_arrays, scored_set
from serrm.arrays.arc_index import used_variants
from serrm.arrays.arc_stream import ArcPairs, Drawn
from serrm.arrays.stream import Examples
from serrm.puzzles.arc.canvas import FIRST_COLOUR, decode, decoded_sizes
from serrm.puzzles.arc.colours import inverse, recoloured
from serrm.puzzles.arc.grid import Grid
from serrm.puzzles.dihedral import inverse as inverse_transform
from serrm.puzzles.dihedral import transformed


@dataclass(frozen=True, eq=False)
class ArcEvaluation(ArcPairs):
    """The questions to a model that was trained on `variants`: every test input in each of them.

    Question number n is test input n // num_votes in the variant of slot n % num_votes.
    """

    set_name: str = "evaluation"  # or held_out

    @property
    def num_votes(self) -> int:
        """Variants asked for each test input; the identity counts twice where that fault is asked for."""
        return len(self.variants)

    @property
    def num_examples(self) -> int:
        """How many questions there are: test inputs times votes."""
        return len(self.arrays) * self.num_votes

    def gather(self, start: int, num: int) -> Examples:
        """The questions start … start+num-1 with their answers, as tokens at the corner, in their variants."""
        return self.gather_pairs(Drawn(*self._pairs_and_slots(start, num), np.zeros((num, 2))))

    def inputs(self, start: int, num: int) -> list[tuple[str, int]]:
        """(name of the puzzle, number of the test input) of the questions start … start+num-1."""
        pairs, _ = self._pairs_and_slots(start, num)
        names = (self.arrays.puzzle_names[puzzle] for puzzle in self.arrays.puzzles[pairs])
        return list(zip(names, self.arrays.numbers[pairs].tolist(), strict=True))

    def undo(self, start: int, tokens: UInt8[np.ndarray, "B I"]) -> list[Grid]:
        """The grids that predictions for the questions from `start` on mean in the frames of their puzzles."""
        pairs, slots = self._pairs_and_slots(start, len(tokens))
        canvases = tokens.reshape(-1, self.side, self.side)
        sizes = decoded_sizes(tokens, self.side).tolist()
        grids = []
        changes = self.changes(pairs, slots)
        for canvas, (num_rows, num_columns), change in zip(canvases, sizes, changes, strict=True):
            colours = canvas[:num_rows, :num_columns] - np.uint8(FIRST_COLOUR)
            plain = recoloured(colours, inverse(change[1:]))
            grids.append(transformed(plain, inverse_transform(int(change[0]))))
        return grids

    def answers(self) -> dict[str, list[Grid]]:
        """The answers to the test inputs of each puzzle, in the order of their numbers."""
        answers: dict[str, list[Grid]] = {}
        parts = (self.arrays.puzzles, self.arrays.numbers, self.arrays.answers)
        for puzzle, number, tokens in zip(*parts, strict=True):
            grids = answers.setdefault(self.arrays.puzzle_names[puzzle], [])
            assert number == len(grids), "the test inputs of a puzzle are all there"
            grids.append(decode(np.asarray(tokens), self.side))
        return answers

    def _pairs_and_slots(
        self, start: int, num: int
    ) -> tuple[Int64[np.ndarray, " B"], Int64[np.ndarray, " B"]]:
        pairs, slots = np.divmod(np.arange(start, start + num), self.num_votes)
        return pairs, slots


def open_arc_evaluation(
    arrays: Path, num_variants: int, *, has_identity_twice: bool = False
) -> ArcEvaluation:
    """The questions of a folder of ARC arrays to a model trained on the first variants of its index."""
    variants = used_variants(num_variants, has_identity_twice)
    name = scored_set(arrays)
    return ArcEvaluation(open_arc_arrays(arrays, name), variants, name)
