"""Search for the rules of the grammar that explain demonstrations, to keep only puzzles with one answer.

The search does not enumerate colours: squares that a rule paints must have one colour in all answers, and the colours
of the others must follow from those of the questions by one injective map (the identity, without a recolouring).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from serrm.puzzles.arc.grammar import BACKGROUND, FAMILIES, RECOLOUR, UNPAINTED, Drawing, Operation, chains
from serrm.puzzles.arc.grids import Grid, Pair

UNKNOWN: Final = 255
"""A colour that the demonstrations do not determine."""
Answers = tuple[bytes, ...]  # to all test questions
DrawOne = Callable[[Operation, Grid], Drawing | None]


def as_bytes(grid: Grid) -> bytes:
    """Encode a grid with its size, for comparisons."""
    return bytes(grid.shape) + grid.tobytes()


def explanations(
    pairs: Sequence[Pair], questions: Sequence[Grid], names: frozenset[str], max_rules: int
) -> Iterator[tuple[int, Answers]]:
    """Yield (number of rules, answers to the questions) for every rule of the grammar that explains all pairs.

    Rules that are not defined on one of the questions are left out.
    """
    can_recolour, draw_one = RECOLOUR in names, _cached_drawing()
    for chain in chains(names, max_rules):
        fitted = _fit(chain, pairs, can_recolour and len(chain) < max_rules, draw_one)
        if fitted is None:
            continue
        table, colour = fitted
        drawings = [draw(chain, question, draw_one) for question in questions]
        num_rules = len(chain) + any(table[c] not in (c, UNKNOWN) for c in range(UNPAINTED))
        answers = tuple(
            as_bytes(_finish(drawing, table, colour)) for drawing in drawings if drawing is not None
        )
        if len(answers) == len(questions):
            yield num_rules, answers


def _cached_drawing() -> DrawOne:
    """Return a function that draws by one operation, with a cache, because chains share most of their steps."""
    drawings: dict[tuple[str, str, bytes], Drawing | None] = {}

    def draw_one(operation: Operation, question: Grid) -> Drawing | None:
        key = operation.family, operation.name, as_bytes(question)
        if key not in drawings:
            drawings[key] = operation.draw(question)
        return drawings[key]

    return draw_one


def draw(chain: Sequence[Operation], question: Grid, draw_one: DrawOne) -> Drawing | None:
    """Draw an answer by operations in a row, before colours are known; None if one of them is not defined.

    A second operation moves the squares that the first one paints.
    """
    drawing: Drawing | None = Drawing(question)
    for operation in chain:
        assert drawing is not None
        if drawing.is_painted is None:
            drawing = draw_one(operation, drawing.cells)
        else:
            assert FAMILIES[operation.family].moves, "a rule that paints is followed by one that moves"
            marked = np.where(drawing.is_painted, np.uint8(UNPAINTED), drawing.cells)
            moved = draw_one(operation, marked)
            drawing = None if moved is None else Drawing(moved.cells, moved.cells == UNPAINTED)
        if drawing is None:
            return None
    return drawing


def _fit(
    chain: Sequence[Operation], pairs: Sequence[Pair], can_recolour: bool, draw_one: DrawOne
) -> tuple[list[int], int] | None:
    """Fit the map of colours and the painted colour with which the operations explain all pairs; None if impossible."""
    table = [BACKGROUND, *([UNKNOWN] * (UNPAINTED - 1))] if can_recolour else list(range(UNPAINTED))
    colour = UNKNOWN
    for pair in pairs:
        drawing = draw(chain, pair.question, draw_one)
        if drawing is None or drawing.cells.shape != pair.answer.shape:
            return None
        kept, answer = drawing.cells, pair.answer
        if drawing.is_painted is not None:
            colours = set(answer[drawing.is_painted].tolist())
            if colour != UNKNOWN:
                colours.add(colour)
            if len(colours) > 1 or BACKGROUND in colours:
                return None
            (colour,) = colours or {UNKNOWN}
            kept, answer = kept[~drawing.is_painted], answer[~drawing.is_painted]
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


def _finish(drawing: Drawing, table: list[int], colour: int) -> Grid:
    """Colour a drawing by a map of colours and the painted colour."""
    # UNPAINTED, which has no entry in the table, becomes 0 here: its squares are painted, and get their colour below.
    cells: Grid = np.array(table, dtype=np.uint8)[drawing.cells % UNPAINTED]
    return cells if drawing.is_painted is None else np.where(drawing.is_painted, np.uint8(colour), cells)
