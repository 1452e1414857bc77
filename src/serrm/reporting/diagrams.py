"""Diagrams as SVG: the models that were run (figure 1), and puzzles with permuted symbols (figures A1 and A2)."""

import textwrap
from typing import Final

from serrm.drawing.panels import Panel, Puzzle, as_tokens, sudoku_symbol
from serrm.drawing.svg import arrow, document, grid_svg, rectangle, text
from serrm.puzzles.arc import FIRST_COLOUR
from serrm.puzzles.tasks import TASKS
from serrm.reporting.names import model_name, task_name
from serrm.reporting.results import PermutedPuzzle
from serrm.reporting.settings import Settings, halting, positions
from serrm.reporting.tables import Report

INK, MUTED, LINE = "#333333", "#595959", "#b4b4b4"
LEFT, WIDTH, SIZE, GAP = 16, 290, 190, 26  # pixels: the edge, a model's column, a grid, between either
PERMUTED: Final = {
    "equivariance": ("sudoku", "A permutation of the digits", "Orange: f(πx) is not πf(x)."),
    "recoloured": (
        "arc_agi_1",
        "A recoloured ARC-AGI task",
        "A cross: f(πx) is not πf(x). Each model has the puzzle's own task type; what SE-RRM's says of a colour is "
        "permuted too.",
    ),
}


def build_diagrams(report: Report) -> dict[str, str]:
    """Every diagram that the results have data for, by name, as an SVG document."""
    drawn = {name: permuted(report, *words) for name, words in PERMUTED.items()}
    return {"architecture": architecture(report), **{name: svg for name, svg in drawn.items() if svg}}


def architecture(report: Report) -> str:
    """A column for the first model of each family on the first task, from its settings."""
    (task, _), *_ = report.results
    first = {
        runs[0].model_info.family: runs[0] for (of, _), runs in reversed(report.results.items()) if of == task
    }
    parts = [
        text(
            LEFT, 26, f"The models, as trained on {task_name(task)}", font_size=16, font_weight=700, fill=INK
        )
    ]
    look, bottom = {"font_size": 11.5, "fill": INK, "text_anchor": "middle"}, 0
    for place, run in enumerate(reversed(first.values())):
        left, top = LEFT + place * (WIDTH + GAP), 48
        head = [model_name(run.model), f"{run.model_info.parameters:,} parameters"]
        for box in [head, ["question"], *_boxes(report.settings.here[task, run.model]), ["answer"]]:
            lines = [line for words in box for line in textwrap.wrap(words, 42)]
            height = 12 + 16 * len(lines)
            if box not in (head, ["question"]):
                parts.append(arrow(left + WIDTH / 2, top - 16, top, MUTED))
            parts.append(rectangle(left, top, WIDTH, height, rx=6, fill="#ffffff", stroke=LINE))
            parts += [text(left + WIDTH / 2, top + 18 + 16 * n, line, **look) for n, line in enumerate(lines)]
            top += height + 16
        bottom = max(bottom, top)
    title = f"Architecture of {', '.join(model_name(run.model) for run in reversed(first.values()))}"
    return document(LEFT + len(first) * (WIDTH + GAP), bottom, title, parts)


def _boxes(settings: Settings) -> list[list[str]]:
    """What a question passes through: the embedding, a block's layers, and how often it is applied."""
    model, num = settings["model"], settings["model"]["layers"]
    halts = (
        f"up to {settings['train']['max_supervision_steps']} supervision steps, halting: {halting(settings)}"
    )
    ends = ["SwiGLU over features", "a norm after every sum"]
    if model["family"] == "se_rrm":
        return [
            [
                "E: positions × symbols × features",
                f"{model['symbols']} symbol embeddings, width {model['width']}",
            ],
            [
                f"block of {num} layers:",
                f"attention over positions, {model['heads']} × {model['head_dim']}, {positions(settings)}",
                f"attention over symbols, {model['symbol_heads']} × {model['symbol_head_dim']}",
                *ends,
            ],
            [f"Z ← block(Z + E), {model['l_cycles']} times", f"all of it {model['h_cycles']} times", halts],
        ]
    low, high = ("low", "high") if model["family"] == "hrm" else ("block", "block")
    heads = f"attention over positions, {model['heads']} × {model['width'] // model['heads']}, {positions(settings)}"
    return [
        ["E: prefix and positions × features", f"prefix {model['prefix']}, width {model['width']}"],
        [
            f"{'two blocks, low and high,' if low != high else 'block'} of {num} layers:",
            "SwiGLU over positions" if model.get("mixer") == "mlp" else heads,
            *ends,
        ],
        [
            f"z_L ← {low}(z_L + z_H + E), {model['l_cycles']} times",
            f"z_H ← {high}(z_H + z_L); all of it {model['h_cycles']} times",
            halts,
        ],
    ]


def permuted(report: Report, task: str, title: str, marked: str) -> str:
    """A row of grids for each model: x, f(x), πx, and f(πx), marked where it is not πf(x); empty without an example."""
    runs = [runs[0] for (of, _), runs in report.results.items() if of == task]
    rows = [(run, run.equivariance) for run in runs if run.equivariance]
    if not rows:
        return ""
    about = (
        f"x: the first test puzzle of profile {report.profile}; π: a permutation of its symbols; f: the model after 16 "
        f"steps. {marked} The paper's figure is a sketch without a model's answers."
    )
    lines = textwrap.wrap(about, 135)
    look = {"font_size": 11.5, "fill": MUTED}
    parts = [text(LEFT, 26, title, font_size=16, font_weight=700, fill=INK)]
    parts += [text(LEFT, 46 + 16 * place, line, **look) for place, line in enumerate(lines)]
    top = 58 + 16 * len(lines)
    for run, finding in rows:
        name, example = model_name(run.model), finding.example
        parts.append(
            text(LEFT, top + 14, f"{name}, {task_name(task)}", font_size=13.5, font_weight=700, fill=INK)
        )
        parts.append(text(LEFT, top + 32, f"Predictions: {finding.counts}", **look))
        parts.append(text(LEFT + 2 * (SIZE + GAP), top + 32, _permutation(task, example), **look))
        for place, (what, panel) in enumerate(_panels(task, example).items()):
            left = LEFT + place * (SIZE + GAP)
            parts.append(grid_svg(panel, f"{what}, {name}", left, top + 44, SIZE))
            caption = what if panel.cells.size else f"{what}: no grid"
            parts.append(text(left, top + 62 + SIZE, caption, font_size=12, fill=INK))
        top += SIZE + 92
    return document(LEFT + 4 * (SIZE + GAP), top, title, parts)


def _permutation(task: str, example: PermutedPuzzle) -> str:
    """The symbols that the permutation moves, such as 1→4 4→1; of ARC's colours their numbers."""
    symbol = sudoku_symbol if TASKS[task].look == "digits" else lambda token: str(token - FIRST_COLOUR)
    moved = ["→".join(map(symbol, pair)) for pair in enumerate(example.permutation) if pair[0] != pair[1]]
    return "π: " + "  ".join(moved[:10]) + (" …" if len(moved) > 10 else "")


def _panels(task: str, example: PermutedPuzzle) -> dict[str, Panel]:
    expected = as_tokens([example.permutation[token] for token in example.prediction])
    plain = Puzzle(task, example.side, as_tokens(example.question))
    moved = Puzzle(task, example.side, as_tokens(example.permuted_question), expected)
    return {
        "x": plain.question_panel(),
        "f(x)": plain.prediction_panel(as_tokens(example.prediction)),
        "πx": moved.question_panel(),
        "f(πx)": moved.prediction_panel(as_tokens(example.permuted_prediction)),
    }
