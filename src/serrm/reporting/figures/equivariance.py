"""Equivariance drawn from real runs: a puzzle and its image under a permutation of the symbols (figures A1 and A2).

For each model that has such an example: the puzzle x and the prediction f(x), the permuted puzzle πx and f(πx), whose
cells are marked where they are not those of πf(x).
"""

import textwrap
from typing import Final

from serrm.drawing.panels import TASKS, Panel, Puzzle, as_tokens, sudoku_symbol
from serrm.drawing.svg import Length, document, grid_svg, text
from serrm.puzzles.arc.canvas import FIRST_COLOUR
from serrm.reporting.figures.style import INK, MUTED
from serrm.reporting.names import model_name, task_name
from serrm.reporting.report import Report
from serrm.reporting.results import Equivariance, Evaluation, PermutedPuzzle

SIZE, GAP, LEFT, TOP = 190, 26, 16, 58  # pixels: of a grid, between grids, and at the edges
LINE, LETTERS = 16, 135  # of the explanation: height in pixels, length
ROW_HEIGHT = SIZE + 92
EXPLAINED: Final = (
    "x: the first test puzzle of profile {}; π: a permutation of its symbols; f: the model after 16 steps, in "
    "float32. {} The paper's figure is a sketch without a model's answers."
)
MARKED: Final = {
    "sudoku": "Orange: f(πx) is not πf(x).",
    "arc_agi_1": "A cross: f(πx) is not πf(x). Each model is told the puzzle's own task type; "
    "what SE-RRM's says of a colour, π moves too.",
}


def equivariance_figure(report: Report) -> str | None:
    """Figure A1, of Sudoku: an SVG with a row for each model that has an example; None where there is none."""
    return _figure(report, "sudoku", "A permutation of the digits")


def recoloured_figure(report: Report) -> str | None:
    """Figure A2, likewise: the first test input of ARC-AGI-1, recoloured."""
    return _figure(report, "arc_agi_1", "A recoloured ARC-AGI task")


def _figure(report: Report, task: str, title: str) -> str | None:
    runs = [seeds[0] for (of, _), seeds in report.results.items() if of == task]
    rows = [(run, run.equivariance) for run in runs if run.equivariance]
    if not rows:
        return None
    lines = textwrap.wrap(EXPLAINED.format(report.profile, MARKED[task]), LETTERS)
    parts = [text(LEFT, 26, title, font_size=16, font_weight=700, fill=INK)]
    for place, line in enumerate(lines):
        parts.append(text(LEFT, 46 + LINE * place, line, font_size=11.5, fill=MUTED))
    top = TOP + LINE * len(lines)
    for place, row in enumerate(rows):
        parts += _row(*row, top + place * ROW_HEIGHT)
    return document(2 * LEFT + 4 * SIZE + 3 * GAP, top + len(rows) * ROW_HEIGHT, title, parts)


def _row(run: Evaluation, finding: Equivariance, top: Length) -> list[str]:
    name, example = model_name(run.model), finding.example
    right = LEFT + 2 * (SIZE + GAP)
    parts = [
        text(LEFT, top + 14, f"{name}, {task_name(run.task)}", font_size=13.5, font_weight=700, fill=INK),
        text(LEFT, top + 32, f"{finding.counts} predictions the same", font_size=11.5, fill=MUTED),
        text(right, top + 32, _permutation(run.task, example), font_size=11.5, fill=MUTED),
    ]
    for place, (what, panel) in enumerate(_panels(run.task, example).items()):
        left = LEFT + place * (SIZE + GAP)
        parts.append(grid_svg(panel, f"{what}, {name}", left, top + 44, SIZE))
        caption = what if panel.cells.size else f"{what}: no grid"
        parts.append(text(left, top + 62 + SIZE, caption, font_size=12, fill=INK))
    return parts


def _permutation(task: str, example: PermutedPuzzle) -> str:
    """The symbols that the permutation moves, such as 1→4 4→1; of ARC's colours their numbers."""
    symbol = sudoku_symbol if TASKS[task].look == "digits" else lambda token: str(token - FIRST_COLOUR)
    moved = ["→".join(map(symbol, pair)) for pair in enumerate(example.permutation) if pair[0] != pair[1]]
    return "π: " + "  ".join(moved[:10]) + (" …" if len(moved) > 10 else "")


def _panels(task: str, example: PermutedPuzzle) -> dict[str, Panel]:
    expected = as_tokens([example.permutation[token] for token in example.prediction])
    plain = Puzzle(task, example.side, as_tokens(example.question))
    permuted = Puzzle(task, example.side, as_tokens(example.permuted_question), expected)
    return {
        "x": plain.question_panel(),
        "f(x)": plain.prediction_panel(as_tokens(example.prediction)),
        "πx": permuted.question_panel(),
        "f(πx)": permuted.prediction_panel(as_tokens(example.permuted_prediction)),
    }
