"""ARC tasks for `serrm solve`: a test input is asked in the variants of its task that a model learned, and they vote.

A model knows an ARC task by the rows of its task-type table, one a variant, so it can be asked about the tasks it was
trained on and no others; its configuration names them in the order of the rows. (Paper: section "ARC-AGI".)
"""

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import UInt8

from serrm.arrays.arc_index import draw_variants
from serrm.inference.breadth import Attempt, Found, Undo
from serrm.inference.load import LoadedModel
from serrm.puzzles.arc.canvas import decode, encode
from serrm.puzzles.arc.colours import inverse, recoloured
from serrm.puzzles.dihedral import inverse as inverse_transform
from serrm.puzzles.dihedral import transformed
from serrm.solving.answers import NETWORK, Status, Verdict
from serrm.solving.questions import ARC, Question

NUM_VARIANTS = 8  # that vote unless more are asked for: the dihedral ones, all that SE-RRM knows
Tokens = UInt8[np.ndarray, " I"]


class Arc:
    """Test inputs of ARC tasks: the model's variants of a task vote."""

    def __init__(self, loaded: LoadedModel, side: int, num_attempts: int, seed: int) -> None:
        self.task = loaded.cell.task if loaded.cell.task.startswith(ARC) else "arc_agi_1"
        self.side = loaded.config["side"]
        self.names: list[str] = loaded.config.get("puzzles", [])
        table = loaded.model.task_types
        self.num_slots = 0 if table is None or not self.names else len(table) // len(self.names)
        num_learned = min(self.num_slots, loaded.cell.arrays.num_augmentations + 1)
        self.num_variants = min(num_learned, max(NUM_VARIANTS, num_attempts))
        self.seed = loaded.cell.arrays.seed

    def refusal(self, question: Question) -> str | None:
        if not self.num_slots:
            return "the checkpoint does not name the ARC tasks that it knows, and cannot learn from demonstrations"
        if question.name not in self.names:
            known = f"the {len(self.names)} that it was trained on"
            return f"no task type for ARC task {question.name!r}: the checkpoint knows {known}"
        if question.side > self.side:
            return f"its canvas has a side of {self.side}, the input one of {question.side}"
        return None

    def contradiction(self, question: Question) -> str | None:
        return None

    def tokens(self, question: Question) -> Tokens:
        return encode(question.cells, self.side)

    def attempts(self, question: Question) -> Iterator[Attempt]:
        """The input in each variant that votes, with that variant's task type."""
        first = self.names.index(question.name) * self.num_slots
        variants = draw_variants(question.name, self.num_variants, self.seed)
        for slot, (transform, *colours) in enumerate(variants.tolist()):
            permutation = np.array(colours, dtype=np.uint8)
            shown = recoloured(transformed(question.cells, transform), permutation)
            yield Attempt(encode(shown, self.side), self._undo(transform, permutation), first + slot)

    def text(self, tokens: Tokens) -> str:
        """Rows of colours as JSON."""
        return json.dumps(decode(tokens, self.side).tolist())

    def otherwise(self, question: Question, found: Found, *, is_exact: bool) -> Verdict:
        chosen = found.chosen.prediction
        num_votes = sum(np.array_equal(chosen, attempt.prediction) for attempt in found.attempts)
        remark = f"{num_votes} of {len(found.attempts)} variants agree"
        return Verdict(Status.UNVERIFIED, self.text(chosen), NETWORK, remark)

    def _undo(self, transform: int, permutation: UInt8[np.ndarray, "10"]) -> Undo:
        """Predictions in the frame of the task itself; certainties stay where they are, for their least counts."""

        def plain(tokens: Tokens) -> Tokens:
            grid = recoloured(decode(tokens, self.side), inverse(permutation))
            return encode(transformed(grid, inverse_transform(transform)), self.side)

        return lambda outcome: replace(
            outcome, prediction=plain(outcome.prediction), history=[plain(each) for each in outcome.history]
        )
