"""The grammar of generated ARC-like puzzles: families of rules and their operations; the background is colour 0.

An operation turns a question into a sketch of its answer. It copies colours, and may leave squares to be painted in
one colour, which is a parameter of the rule. So all operations commute with permutations of the colours 1…9, on which
the search for other rules that explain a puzzle relies. Families that move squares ignore colours. The parts of a rule
are one operation, a recolouring, or two of these in a row. The grammar was written for this project; the paper has no
generated ARC puzzles.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import filterfalse, pairwise
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool

from serrm.puzzles.arc.grids import NUM_COLOURS, Grid
from serrm.puzzles.transforms import transformed

Mask = Bool[np.ndarray, "_ _"]
Colours = tuple[int, ...]

BACKGROUND: Final = 0
UNPAINTED: Final = NUM_COLOURS
"""A placeholder for the rule's colour while it is unknown: the number after those of the colours."""
RECOLOUR: Final = "recolour"
"""The family of recolourings, each by a map of colours; it has no operations."""


class Sketch(NamedTuple):
    """An answer, and the squares still to be painted in the rule's colour; None if the rule has no colour."""

    cells: Grid
    is_unpainted: Mask | None = None


Apply = Callable[[Grid], Sketch | None]
Sample = Callable[[np.random.Generator, int, int, Colours], Grid]


class Operation(NamedTuple):
    """A step of a rule without its colour; `apply` returns None for a question on which it is not defined."""

    family: str
    name: str
    apply: Apply
    has_colour: bool


@dataclass(frozen=True, eq=False)
class Family:
    """Operations of one kind, and how their questions are sampled.

    `sample` is (rng, least side, largest side, colours) → a question on which the rule may be defined.
    """

    meaning: str
    moves: bool  # True if they move squares, whatever their colours; other families add or change colours
    sample: Sample
    operations: Mapping[str, Apply]
    colourless: frozenset[str] = frozenset()  # operations without a colour as a parameter, besides moves
    growth: int = 1  # the factor by which answers are larger; a margin of fixed width is not counted


@dataclass(frozen=True)
class Rule:
    """At most two parts: a recolouring, which comes first, and operations with their colours (0: none).

    `recoloured` are pairs of a colour and its replacement, for colours that occur in questions.
    """

    recoloured: tuple[tuple[int, int], ...] = ()
    steps: tuple[tuple[Operation, int], ...] = ()

    @property
    def families(self) -> tuple[str, ...]:
        """The families of the rule's parts, in order."""
        return ((RECOLOUR,) if self.recoloured else ()) + tuple(
            operation.family for operation, _ in self.steps
        )

    def answer(self, question: Grid) -> Grid | None:
        """Compute the answer to a question; None if the rule is not defined on it."""
        table = np.arange(NUM_COLOURS, dtype=np.uint8)
        for colour, other in self.recoloured:
            table[colour] = other
        cells: Grid = table[question]
        for operation, colour in self.steps:
            sketch = operation.apply(cells)
            if sketch is None:
                return None
            cells = painted(sketch, colour)
        return cells


def painted(sketch: Sketch, colour: int) -> Grid:
    """Return the answer with its unpainted squares in a colour."""
    if sketch.is_unpainted is None:
        return sketch.cells
    return np.where(sketch.is_unpainted, np.uint8(colour), sketch.cells)


# Objects and areas.

EDGES: Final = np.array([np.zeros((3, 3)), [[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.zeros((3, 3))])
"""The squares that share an edge with a square of the same layer."""


def areas(is_part: Mask, grid: Grid | None = None) -> list[Mask]:
    """Find the connected areas of squares that share an edge, in reading order.

    With a `grid` the squares of an area have one colour.
    """
    # SciPy takes long to import, and only generation uses it.
    from scipy.ndimage import label

    colours = is_part if grid is None else np.where(is_part, grid, np.uint8(BACKGROUND))
    layers = colours == np.unique(colours[is_part])[:, None, None]
    labels, num = label(layers, structure=EDGES)
    masks = labels.sum(axis=0) == np.arange(1, num + 1)[:, None, None]
    return sorted(masks, key=lambda mask: int(mask.argmax()))


def objects(grid: Grid) -> list[Mask]:
    """Find the connected areas of squares of one colour, without the background."""
    return areas(grid != BACKGROUND, grid)


def joined(grid: Grid, masks: Iterable[Mask]) -> Mask:
    """Join the squares of all masks of a grid."""
    return np.asarray(np.logical_or.reduce([np.zeros(grid.shape, dtype=bool), *masks]))


def touches_border(mask: Mask) -> bool:
    """Return True if the area has a square in an outermost row or column."""
    return bool(mask[0].any() or mask[-1].any() or mask[:, 0].any() or mask[:, -1].any())


# Recolouring by a property.


def paint_object(grid: Grid, sign: int) -> Sketch | None:
    """Paint the object with the most squares (sign 1) or the fewest (-1); None for a single object or a tie."""
    masks = sorted(objects(grid), key=lambda mask: -sign * int(mask.sum()))
    if len(masks) < 2 or masks[0].sum() == masks[1].sum():
        return None
    return Sketch(grid, masks[0])


def paint_colour(grid: Grid, sign: int) -> Sketch | None:
    """Paint all squares of the most frequent colour (sign 1) or the rarest (-1); None for a single colour or a tie."""
    ranked = ranked_colours(grid, sign)
    if len(ranked) < 2 or ranked[0][0] == ranked[1][0]:
        return None
    return Sketch(grid, grid == ranked[0][1])


def ranked_colours(grid: Grid, sign: int) -> list[tuple[int, int]]:
    """(sign × number of squares, colour) of the colours that occur, in descending order."""
    counts = np.bincount(grid.reshape(-1), minlength=NUM_COLOURS)[1:].tolist()
    ranked = [(sign * num, colour) for colour, num in enumerate(counts, start=1) if num]
    return sorted(ranked, reverse=True)


def paint_kind(grid: Grid, is_chosen: Callable[[Mask], bool]) -> Sketch:
    """Paint all objects of a kind."""
    return Sketch(grid, joined(grid, filter(is_chosen, objects(grid))))


# Moves.


def turn(grid: Grid, transform: int) -> Sketch:
    """Apply one of the dihedral transforms."""
    return Sketch(transformed(grid, transform))


def shift(grid: Grid, transform: int, distance: int, *, wraps: bool) -> Sketch | None:
    """Move all squares down, in the grid turned by `transform`; squares that leave it wrap around or are lost."""
    down: Grid = transformed(grid, transform)
    if distance >= len(down):
        return None
    moved = np.roll(down, distance, axis=0)
    if not wraps:
        moved[:distance] = BACKGROUND
    return Sketch(transformed(moved, -transform % 4))


def fall(grid: Grid, transform: int) -> Sketch:
    """Let every square fall down its column, in the grid turned by `transform`, onto the border or another square."""
    down: Grid = transformed(grid, transform)
    order = np.argsort(down != BACKGROUND, axis=0, kind="stable")
    return Sketch(transformed(np.take_along_axis(down, order, axis=0), -transform % 4))


def repeat(grid: Grid, rows: int, columns: int, *, mirrors: bool) -> Sketch:
    """Repeat the grid several times side by side, every second one mirrored or not."""
    across = np.concatenate(
        [grid[:, ::-1] if mirrors and number % 2 else grid for number in range(columns)], axis=1
    )
    return Sketch(np.concatenate([across[::-1] if mirrors and n % 2 else across for n in range(rows)]))


# Filling, frames and lines.


def fill_enclosed(grid: Grid) -> Sketch:
    """Fill the background that is not connected to the border by squares that share an edge."""
    return Sketch(grid, joined(grid, filterfalse(touches_border, areas(grid == BACKGROUND))))


def fill_background(grid: Grid) -> Sketch:
    """Fill all of the background."""
    return Sketch(grid, grid == BACKGROUND)


def frame_edge(grid: Grid) -> Sketch:
    """Frame the outermost rows and columns."""
    is_unpainted = np.ones(grid.shape, dtype=bool)
    is_unpainted[1:-1, 1:-1] = False
    return Sketch(grid, is_unpainted)


def frame_pad(grid: Grid) -> Sketch:
    """Add a ring of new squares around the grid."""
    padded = np.pad(grid, 1)
    return frame_edge(padded)


def frame_objects(grid: Grid) -> Sketch:
    """Frame the background beside a coloured square, corners included."""
    is_near = np.pad(grid != BACKGROUND, 1)
    is_near = is_near[:-2] | is_near[1:-1] | is_near[2:]
    is_near = is_near[:, :-2] | is_near[:, 1:-1] | is_near[:, 2:]
    return Sketch(grid, is_near & (grid == BACKGROUND))


def gaps_between_equals(grid: Grid) -> Iterator[tuple[int, int, int, int]]:
    """(row, start, end, colour) of the background between two squares of a row that have the same colour."""
    for row, values in enumerate(grid.tolist()):
        coloured = [column for column, value in enumerate(values) if value]
        for left, right in pairwise(coloured):
            if right > left + 1 and values[left] == values[right]:
                yield row, left + 1, right, values[left]


def connect(grid: Grid, directions: Sequence[str], *, keeps_colour: bool) -> Sketch:
    """Draw lines of background between equal colours, along "rows", "columns" or both, in that colour or a new one."""
    cells, is_unpainted = grid.copy(), np.zeros(grid.shape, dtype=bool)
    for direction, turned, target, mask in (
        ("rows", grid, cells, is_unpainted),
        ("columns", grid.T, cells.T, is_unpainted.T),
    ):
        if direction in directions:
            for row, first, last, colour in gaps_between_equals(turned):
                target[row, first:last] = colour
                mask[row, first:last] = True
    return Sketch(cells) if keeps_colour else Sketch(grid, is_unpainted)


# Counting.


def count_objects(grid: Grid, *, is_column: bool) -> Sketch | None:
    """Draw a row or a column with a square for each object."""
    return _bar(len(objects(grid)), is_column)


def count_colours(grid: Grid, *, is_column: bool) -> Sketch | None:
    """Draw a row or a column with a square for each colour that occurs."""
    return _bar(len(ranked_colours(grid, 1)), is_column)


def _bar(num: int, is_column: bool) -> Sketch | None:
    if not num:
        return None
    shape = (num, 1) if is_column else (1, num)
    return Sketch(np.zeros(shape, dtype=np.uint8), np.ones(shape, dtype=bool))


def count_squares(grid: Grid, *, is_column: bool) -> Sketch | None:
    """Draw a row or a column with a square for each of the most frequent colour, in that colour."""
    sketch = paint_colour(grid, 1)
    if sketch is None or sketch.is_unpainted is None:
        return None
    cells = grid[sketch.is_unpainted]
    return Sketch(cells[:, None] if is_column else cells[None])


# Questions.


def scatter(
    rng: np.random.Generator, least: int, most: int, colours: Colours, percents: tuple[int, int] = (30, 70)
) -> Grid:
    """Coloured squares at random, of a share between the two percents."""
    rows, columns = rng.integers(least, most, 2, endpoint=True)
    drawn = np.array(colours, dtype=np.uint8)[rng.integers(len(colours), size=(rows, columns))]
    is_coloured = rng.integers(100, size=(rows, columns)) < rng.integers(*percents, endpoint=True)
    return np.where(is_coloured, drawn, np.uint8(BACKGROUND))


def ring(rng: np.random.Generator, least: int, most: int, colours: Colours) -> Grid:
    """Draw scattered squares with a rectangle of one colour that is empty inside."""
    grid = scatter(rng, max(least, 3), max(most, 3), colours, (10, 40))
    (top, bottom), (left, right) = (_edges(rng, side) for side in grid.shape)
    grid[top : bottom + 1, left : right + 1] = colours[rng.integers(len(colours))]
    grid[top + 1 : bottom, left + 1 : right] = BACKGROUND
    return grid


def _edges(rng: np.random.Generator, side: int) -> tuple[int, int]:
    """Draw the first and the last row of a ring in a grid of `side` rows."""
    num = int(rng.integers(3, side, endpoint=True))
    first = int(rng.integers(side - num, endpoint=True))
    return first, first + num - 1


sparse: Final = partial(scatter, percents=(15, 40))
dense: Final = partial(scatter, percents=(50, 85))

# Families.

DIRECTIONS: Final = {"down": 0, "left": 1, "up": 2, "right": 3}
"""Quarter turns counter-clockwise after which the direction is down."""

FAMILIES: Final[dict[str, Family]] = {
    "select": Family(
        "paint one object or colour: the largest or smallest object, the most frequent or rarest colour, the objects "
        "inside (not at the border), at the border, or of one square",
        moves=False,
        sample=dense,
        operations={
            "largest": partial(paint_object, sign=1),
            "smallest": partial(paint_object, sign=-1),
            "commonest": partial(paint_colour, sign=1),
            "rarest": partial(paint_colour, sign=-1),
            "inside": partial(paint_kind, is_chosen=lambda mask: not touches_border(mask)),
            "border": partial(paint_kind, is_chosen=touches_border),
            "single": partial(paint_kind, is_chosen=lambda mask: mask.sum() == 1),
        },
    ),
    "mirror": Family(
        "mirror the grid in a vertical or horizontal axis or in a diagonal",
        moves=True,
        sample=scatter,
        operations={
            "vertical": partial(turn, transform=7),
            "horizontal": partial(turn, transform=5),
            "diagonal": partial(turn, transform=4),
            "antidiagonal": partial(turn, transform=6),
        },
    ),
    "turn": Family(
        "turn the grid by one, two or three quarters",
        moves=True,
        sample=scatter,
        operations={
            "quarter": partial(turn, transform=1),
            "half": partial(turn, transform=2),
            "back": partial(turn, transform=3),
        },
    ),
    "shift": Family(
        "shift all squares by one or two; what leaves the grid comes back at the other side, or is lost",
        moves=True,
        sample=scatter,
        operations={
            f"{direction} {distance} {manner}": partial(
                shift, transform=transform, distance=distance, wraps=manner == "round"
            )
            for direction, transform in DIRECTIONS.items()
            for distance in (1, 2)
            for manner in ("round", "off")
        },
    ),
    "gravity": Family(
        "let all squares fall in one of four directions",
        moves=True,
        sample=scatter,
        operations={
            direction: partial(fall, transform=transform) for direction, transform in DIRECTIONS.items()
        },
    ),
    "repeat": Family(
        "repeat the grid to the right, downwards or both, mirrored or not",
        moves=True,
        sample=dense,
        operations={
            f"{name}{suffix}": partial(repeat, rows=rows, columns=columns, mirrors=mirrors)
            for name, rows, columns in (("across", 1, 2), ("down", 2, 1), ("both", 2, 2))
            for suffix, mirrors in (("", False), (" mirrored", True))
        },
        growth=2,
    ),
    "fill": Family(
        "fill the enclosed background, or all background",
        moves=False,
        sample=ring,
        operations={"enclosed": fill_enclosed, "background": fill_background},
    ),
    "frame": Family(
        "frame the grid inside or outside, or frame the coloured squares",
        moves=False,
        sample=sparse,
        operations={"edge": frame_edge, "pad": frame_pad, "around": frame_objects},
    ),
    "connect": Family(
        "draw lines between equal colours along rows, columns or both, in that colour or in one colour",
        moves=False,
        sample=sparse,
        operations={
            f"{' and '.join(directions)}{suffix}": partial(
                connect, directions=directions, keeps_colour=keeps_colour
            )
            for directions in (("rows",), ("columns",), ("rows", "columns"))
            for suffix, keeps_colour in (("", False), (" own colour", True))
        },
        colourless=frozenset({"rows own colour", "columns own colour", "rows and columns own colour"}),
    ),
    "count": Family(
        "count objects, colours, or the squares of the most frequent colour, as a row or a column",
        moves=False,
        sample=sparse,
        operations={
            f"{name} in a {line}": partial(count, is_column=line == "column")
            for name, count in (
                ("objects", count_objects),
                ("colours", count_colours),
                ("squares", count_squares),
            )
            for line in ("row", "column")
        },
        colourless=frozenset({"squares in a row", "squares in a column"}),
    ),
}

OPERATIONS: Final[tuple[Operation, ...]] = tuple(
    Operation(family_name, name, apply, not family.moves and name not in family.colourless)
    for family_name, family in FAMILIES.items()
    for name, apply in family.operations.items()
)

NAMES: Final = {RECOLOUR: "replace each colour by another", **{n: f.meaning for n, f in FAMILIES.items()}}
"""The names of all families with their meanings."""


def chains(names: frozenset[str], max_parts: int) -> Iterator[tuple[Operation, ...]]:
    """Yield all sequences of operations of these families in a rule.

    A sequence has no operation, one, or two of which exactly one moves squares.
    """
    yield ()
    single = [operation for operation in OPERATIONS if operation.family in names]
    yield from ((operation,) for operation in single)
    if max_parts > 1:
        for first in single:
            for second in single:
                if FAMILIES[first.family].moves != FAMILIES[second.family].moves:
                    yield first, second
