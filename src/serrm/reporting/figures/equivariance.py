"""Equivariance drawn from real runs (figures A1 and A2): a puzzle and its image under a permutation of the symbols.

For each model that has such an example: the puzzle x and the prediction f(x), the permuted puzzle πx and f(πx), whose
cells are marked where they are not those of πf(x).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8

from serrm.drawing.panels import Panel, prediction_panel, question_panel
from serrm.drawing.symbols import sudoku_symbol
from serrm.reporting.grids import grid_svg
from serrm.reporting.names import model_name, task_name
from serrm.reporting.results import Equivariance, Evaluation, PermutedPuzzle, Results
from serrm.reporting.svg import Length, document, text

INK, MUTED = "#333333", "#595959"
SIZE, GAP, LEFT, TOP = 190, 26, 16, 74  # pixels: of a grid, between grids, and at the edges
ROW_HEIGHT = SIZE + 92


def equivariance_figure(results: Results) -> str | None:
    """An SVG with a row for each model that has an example; None where there is none."""
    rows = [
        (run, run.equivariance, run.equivariance.example)
        for seeds in results.values()
        for run in seeds[:1]
        if run.equivariance is not None and run.equivariance.example is not None
    ]
    if not rows:
        return None
    width = 2 * LEFT + 4 * SIZE + 3 * GAP
    parts = [
        text(LEFT, 26, "A permutation of the symbols", font_size=16, font_weight=700, fill=INK),
        text(LEFT, 46, _explained(), font_size=11.5, fill=MUTED),
    ]
    for place, (run, finding, example) in enumerate(rows):
        parts += _row(run, finding, example, TOP + place * ROW_HEIGHT)
    title = "Puzzles before and after a permutation of their symbols, with the predictions of each model"
    return document(width, TOP + len(rows) * ROW_HEIGHT, title, parts)


def _explained() -> str:
    return "x: a puzzle; π: a permutation of its symbols; f: the model after 16 steps. Orange: f(πx) is not πf(x)."


def _row(run: Evaluation, finding: Equivariance, example: PermutedPuzzle, top: Length) -> list[str]:
    parts = [
        text(LEFT, top + 14, _heading(run), font_size=13.5, font_weight=700, fill=INK),
        text(LEFT, top + 32, _counts(finding), font_size=11.5, fill=MUTED),
        text(LEFT + 2 * (SIZE + GAP), top + 32, _permutation(run.task, example), font_size=11.5, fill=MUTED),
    ]
    for place, (name, panel) in enumerate(_panels(run.task, example)):
        left = LEFT + place * (SIZE + GAP)
        parts.append(grid_svg(panel, f"{name}, {model_name(run.model)}", left, top + 44, SIZE))
        parts.append(text(left, top + 62 + SIZE, name, font_size=12, fill=INK))
    return parts


def _heading(run: Evaluation) -> str:
    return f"{model_name(run.model)}, {task_name(run.task)}"


def _counts(finding: Equivariance) -> str:
    largest = "" if finding.max_difference is None else f", logits at most {finding.max_difference:.1e} apart"
    return f"{finding.num_identical:,} of {finding.num_pairs:,} predictions the same{largest}"


def _permutation(task: str, example: PermutedPuzzle) -> str:
    """The symbols that the permutation moves, such as 1→4 4→1; of ARC's colours their numbers."""
    moved = [(k, to) for k, to in enumerate(example.permutation) if k != to]
    named = [f"{_symbol(task, k)}→{_symbol(task, to)}" for k, to in moved]
    return "π: " + "  ".join(named[:9]) + (" …" if len(named) > 9 else "")


def _symbol(task: str, token: int) -> str:
    return sudoku_symbol(token) if task == "sudoku" else str(token - 2)


def _panels(task: str, example: PermutedPuzzle) -> list[tuple[str, Panel]]:
    question, prediction = _tokens(example.question), _tokens(example.prediction)
    permuted, answered = _tokens(example.permuted_question), _tokens(example.permuted_prediction)
    expected = _tokens([example.permutation[token] for token in example.prediction])
    side = example.side
    return [
        ("x", question_panel(task, side, question)),
        ("f(x)", prediction_panel(task, side, question, prediction)),
        ("πx", question_panel(task, side, permuted)),
        ("f(πx)", prediction_panel(task, side, permuted, answered, answer=expected)),
    ]


def _tokens(values: Sequence[int]) -> UInt8[np.ndarray, " I"]:
    return np.array(values, dtype=np.uint8)
