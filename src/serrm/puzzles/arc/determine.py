"""Search for the rules of the grammar that explain demonstrations, to keep only puzzles with one answer.

The search does not enumerate colours: squares that a rule paints must have one colour in all answers, and the colours
of the others must follow from those of the questions by one injective map (the identity, without a recolouring).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from serrm.puzzles.arc.grammar import (
    BACKGROUND,
    FAMILIES,
    RECOLOUR,
    UNPAINTED,
    Operation,
    Sketch,
    chains,
    painted,
)
from serrm.puzzles.arc.grids import NUM_COLOURS, Grid, Pair

UNKNOWN: Final = 255
"""A colour that the demonstrations do not determine."""
Answers = tuple[bytes, ...]  # to all test questions
ApplyOne = Callable[[Operation, Grid], Sketch | None]


def as_bytes(grid: Grid) -> bytes:
    """Encode a grid with its size, for comparisons."""
    return bytes(grid.shape) + grid.tobytes()


def explanations(
    pairs: Sequence[Pair], questions: Sequence[Grid], names: frozenset[str], max_parts: int
) -> Iterator[tuple[int, Answers]]:
    """Yield (number of parts, answers to the questions) for every rule of the grammar that explains all pairs.

    Rules that are not defined on one of the questions are left out.
    """
    can_recolour, apply_one = RECOLOUR in names, _cached_apply()
    for chain in chains(names, max_parts):
        fitted = _fit(chain, pairs, can_recolour and len(chain) < max_parts, apply_one)
        if fitted is None:
            continue
        table, colour = fitted
        sketches = [apply(chain, question, apply_one) for question in questions]
        num_parts = len(chain) + any(table[c] not in (c, UNKNOWN) for c in range(NUM_COLOURS))
        answers = tuple(as_bytes(_finish(sketch, table, colour)) for sketch in sketches if sketch is not None)
        if len(answers) == len(questions):
            yield num_parts, answers


def _cached_apply() -> ApplyOne:
    """Return a function that applies one operation, with a cache, because chains share most of their steps."""
    sketches: dict[tuple[str, str, bytes], Sketch | None] = {}

    def apply_one(operation: Operation, question: Grid) -> Sketch | None:
        key = operation.family, operation.name, as_bytes(question)
        if key not in sketches:
            sketches[key] = operation.apply(question)
        return sketches[key]

    return apply_one


def apply(chain: Sequence[Operation], question: Grid, apply_one: ApplyOne) -> Sketch | None:
    """Apply operations in a row, before colours are known; None if one of them is not defined.

    A second operation moves the squares that the first one paints.
    """
    sketch: Sketch | None = Sketch(question)
    for operation in chain:
        assert sketch is not None
        if sketch.is_unpainted is None:
            sketch = apply_one(operation, sketch.cells)
        else:
            assert FAMILIES[operation.family].moves, "a rule that paints is followed by one that moves"
            marked = np.where(sketch.is_unpainted, np.uint8(UNPAINTED), sketch.cells)
            moved = apply_one(operation, marked)
            sketch = None if moved is None else Sketch(moved.cells, moved.cells == UNPAINTED)
        if sketch is None:
            return None
    return sketch


def _fit(
    chain: Sequence[Operation], pairs: Sequence[Pair], can_recolour: bool, apply_one: ApplyOne
) -> tuple[list[int], int] | None:
    """Fit the map of colours and the painted colour with which the operations explain all pairs; None if impossible."""
    table = [BACKGROUND, *([UNKNOWN] * (NUM_COLOURS - 1))] if can_recolour else list(range(NUM_COLOURS))
    colour = UNKNOWN
    for pair in pairs:
        sketch = apply(chain, pair.question, apply_one)
        if sketch is None or sketch.cells.shape != pair.answer.shape:
            return None
        kept, answer = sketch.cells, pair.answer
        if sketch.is_unpainted is not None:
            colours = set(answer[sketch.is_unpainted].tolist())
            if colour != UNKNOWN:
                colours.add(colour)
            if len(colours) > 1 or BACKGROUND in colours:
                return None
            (colour,) = colours or {UNKNOWN}
            kept, answer = kept[~sketch.is_unpainted], answer[~sketch.is_unpainted]
        if not can_recolour:
            if kept.tobytes() != answer.tobytes():
                return None
            continue
        for before, after in set(zip(kept.reshape(-1).tolist(), answer.reshape(-1).tolist(), strict=True)):
            if table[before] == UNKNOWN and after not in table:
                table[before] = after
            elif table[before] != after:
                return None
    return table, colour


def _finish(sketch: Sketch, table: list[int], colour: int) -> Grid:
    """Colour a sketch by a map of colours and the painted colour."""
    # UNPAINTED has no entry in the table; its squares become background here and get their colour below.
    cells: Grid = np.array(table, dtype=np.uint8)[sketch.cells % NUM_COLOURS]
    return painted(Sketch(cells, sketch.is_unpainted), colour)
