"""Draw docs/images/arc_rules.svg: every family of rules of generated ARC-like puzzles, with pairs of some operations.

python docs/arc_rules.py           # `make docs` runs it too
"""

from pathlib import Path

from serrm.core.files import write_whole
from serrm.core.randomness import Purpose, keyed_rng
from serrm.drawing import svg
from serrm.drawing.puzzles import DrawnPuzzle
from serrm.puzzles.arc import grids as arc
from serrm.puzzles.arc.generate import GeneratedArc, draw_pairs
from serrm.puzzles.arc.grammar import FAMILIES, NAMES, OPERATIONS, RECOLOUR, Rule
from serrm.puzzles.look import INK

PICTURE = Path(__file__).with_name("images") / "arc_rules.svg"
SOURCE = GeneratedArc(
    kind="generated",
    num_train=1,
    num_evaluation=1,
    sides=(4, 5),
    colours=(3, 3),
    families=tuple(NAMES),
    max_parts=1,
)
COLOURS = (1, 2, 4)
# Two operations of each family; the rule's colour is 3.
SHOWN = {
    "select": ("largest", "rarest"),
    "mirror": ("vertical", "diagonal"),
    "turn": ("quarter", "half"),
    "shift": ("right 1 round", "down 2 off"),
    "gravity": ("down", "left"),
    "repeat": ("across", "both mirrored"),
    "fill": ("enclosed", "background"),
    "frame": ("edge", "around"),
    "connect": ("rows", "columns own colour"),
    "count": ("objects in a row", "squares in a column"),
}
# Pixels.
MARGIN, SIDE, ARROW, COLUMN, ROW = 16, 90, 30, 250, 132


def rules() -> dict[str, Rule]:
    """The rules of the picture by their titles."""
    operations = {(operation.family, operation.name): operation for operation in OPERATIONS}
    maps = {
        f"{RECOLOUR}: {title}": Rule(pairs)
        for title, pairs in (("a cycle", ((1, 2), (2, 4), (4, 1))), ("one colour", ((4, 8),)))
    }
    steps = {
        f"{family}: {name}": Rule(steps=((operations[family, name], 3),))
        for family in FAMILIES
        for name in SHOWN[family]
    }
    both = Rule(((1, 2), (2, 1)), ((operations["gravity", "down"], 0),))
    chain = Rule(steps=((operations["fill", "enclosed"], 3), (operations["mirror", "horizontal"], 0)))
    return maps | steps | {"recolour, then gravity": both, "fill, then mirror": chain}


def picture() -> str:
    """The SVG: a pair of each rule, four per row."""
    parts = []
    for number, (title, rule) in enumerate(rules().items()):
        top, left = MARGIN + number // 4 * ROW, MARGIN + number % 4 * COLUMN
        # The first draw whose demonstrations determine the rule.
        source = SOURCE.model_copy(update={"max_parts": len(rule.families)})
        drawn = (
            draw_pairs(keyed_rng(attempt, Purpose.GENERATED, number, 3), source, rule, COLOURS, set())
            for attempt in range(100)
        )
        pair = next(demonstrations[0] for demonstrations, _ in filter(None, drawn))
        parts.append(svg.text(left, top + 12, title, fill=INK, font_size=12, font_weight=700))
        for grid, name, shift in ((pair.question, "question", 0), (pair.answer, "answer", SIDE + ARROW)):
            puzzle = DrawnPuzzle("arc_agi_1", arc.MAX_SIDE, arc.encode(grid, arc.MAX_SIDE))
            panel = puzzle.question_panel(name)
            size = SIDE * max(grid.shape) / SOURCE.sides[1]
            parts.append(svg.grid_svg(panel, f"{title}, {name}", left + shift, top + 20, size))
        middle = left + SIDE + ARROW / 2
        parts.append(svg.text(middle, top + 60, "→", fill=INK, font_size=16, text_anchor="middle"))
    num_rows = -(-len(rules()) // 4)
    title = "Rules of generated ARC-like puzzles"
    return svg.document(2 * MARGIN + 4 * COLUMN - 40, 2 * MARGIN + num_rows * ROW - 20, title, parts)


if __name__ == "__main__":
    write_whole(PICTURE, picture())
