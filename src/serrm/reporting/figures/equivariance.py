"""Equivariance drawn from real runs (figures A1 and A2): a puzzle and its image under a permutation of the symbols.

For each model that has such an example: the puzzle x and the prediction f(x), the permuted puzzle πx and f(πx), whose
cells are marked where they are not those of πf(x).
"""

from serrm.drawing.grids import grid_svg
from serrm.drawing.panels import Panel, as_tokens, prediction_panel, question_panel
from serrm.drawing.svg import Length, document, text
from serrm.drawing.symbols import sudoku_symbol
from serrm.reporting.figures.style import INK, MUTED
from serrm.reporting.names import model_name, task_name
from serrm.reporting.report import Report
from serrm.reporting.results import Equivariance, Evaluation, PermutedPuzzle

SIZE, GAP, LEFT, TOP = 190, 26, 16, 74  # pixels: of a grid, between grids, and at the edges
ROW_HEIGHT = SIZE + 92
TITLE = "Puzzles before and after a permutation of their symbols, with the predictions of each model"
EXPLAINED = (
    "x: a puzzle; π: a permutation of its symbols; f: the model after 16 steps. Orange: f(πx) is not πf(x)."
)


def equivariance_figure(report: Report) -> str | None:
    """An SVG with a row for each model that has an example; None where there is none."""
    runs = [seeds[0] for seeds in report.results.values()]
    rows = [(run, part, part.example) for run in runs if (part := run.equivariance) and part.example]
    if not rows:
        return None
    parts = [
        text(LEFT, 26, "A permutation of the symbols", font_size=16, font_weight=700, fill=INK),
        text(LEFT, 46, EXPLAINED, font_size=11.5, fill=MUTED),
    ]
    for place, row in enumerate(rows):
        parts += _row(*row, TOP + place * ROW_HEIGHT)
    return document(2 * LEFT + 4 * SIZE + 3 * GAP, TOP + len(rows) * ROW_HEIGHT, TITLE, parts)


def _row(run: Evaluation, finding: Equivariance, example: PermutedPuzzle, top: Length) -> list[str]:
    name = model_name(run.model)
    counts = finding.counts("predictions the same", "logits at most {:.1e} apart")
    right = LEFT + 2 * (SIZE + GAP)
    parts = [
        text(LEFT, top + 14, f"{name}, {task_name(run.task)}", font_size=13.5, font_weight=700, fill=INK),
        text(LEFT, top + 32, counts, font_size=11.5, fill=MUTED),
        text(right, top + 32, _permutation(run.task, example), font_size=11.5, fill=MUTED),
    ]
    for place, (what, panel) in enumerate(_panels(run.task, example).items()):
        left = LEFT + place * (SIZE + GAP)
        parts.append(grid_svg(panel, f"{what}, {name}", left, top + 44, SIZE))
        parts.append(text(left, top + 62 + SIZE, what, font_size=12, fill=INK))
    return parts


def _permutation(task: str, example: PermutedPuzzle) -> str:
    """The symbols that the permutation moves, such as 1→4 4→1; of ARC's colours their numbers."""
    pairs = [pair for pair in enumerate(example.permutation) if pair[0] != pair[1]]
    moved = ["→".join(sudoku_symbol(k) if task == "sudoku" else str(k - 2) for k in pair) for pair in pairs]
    return "π: " + "  ".join(moved[:9]) + (" …" if len(moved) > 9 else "")


def _panels(task: str, example: PermutedPuzzle) -> dict[str, Panel]:
    question, permuted = as_tokens(example.question), as_tokens(example.permuted_question)
    answered = as_tokens(example.permuted_prediction)
    expected = as_tokens([example.permutation[token] for token in example.prediction])
    side = example.side
    return {
        "x": question_panel(task, side, question),
        "f(x)": prediction_panel(task, side, question, as_tokens(example.prediction)),
        "πx": question_panel(task, side, permuted),
        "f(πx)": prediction_panel(task, side, permuted, answered, answer=expected),
    }
