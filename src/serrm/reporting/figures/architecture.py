"""The architecture of the models that were run, drawn from their settings (figure 1): shapes, layers, cycles, sizes.

One column a model: the question, its embedding (one sheet of positions × features, or for SE-RRM one such sheet a
symbol), the block with its layers, how often it is applied, and the answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from serrm.drawing.svg import Length, arrow, document, path, rectangle, text
from serrm.puzzles.alphabet import alphabet
from serrm.reporting.figures.style import INK, MUTED, STYLES, SURFACE, Style
from serrm.reporting.names import model_name, task_name
from serrm.reporting.report import Report
from serrm.reporting.results import Evaluation
from serrm.reporting.settings import POSITIONS, Settings, setting

LINE, SHEET = "#b4b4b4", "#efefef"
COLUMN, GAP, LEFT, TOP = 268, 30, 16, 66  # pixels
LAYER_HEIGHT = 40


@dataclass(frozen=True)
class Sketch:
    """One model in words, as they stand in its column of the figure."""

    name: str
    colour: str
    parameters: str
    steps: str
    shape: str
    axes: str
    embedding: str
    num_sheets: int
    block: str
    layers: tuple[tuple[str, str], ...]
    cycles: tuple[str, ...]
    answer: str


def architecture_figure(report: Report) -> str:
    """An SVG with a column for each model of the first task."""
    task = next(iter(report.results))[0]
    runs = [seeds[0] for (of, _), seeds in report.results.items() if of == task]
    sketches = [sketch(run, report.settings.here[task, run.model]) for run in runs]
    most = max(len(each.layers) for each in sketches)
    heading = f"The models, as trained on {task_name(task)}"
    parts = [
        text(LEFT, 26, heading, font_size=16, font_weight=700, fill=INK),
        text(LEFT, 46, "Every sum is followed by a normalisation.", font_size=11.5, fill=MUTED),
    ]
    for place, each in enumerate(sketches):
        parts += _column(each, LEFT + place * (COLUMN + GAP), most)
    described = [
        f"{each.name} has {each.parameters} and works on {each.shape}, {each.axes}" for each in sketches
    ]
    title = f"Architecture of {', '.join(each.name for each in sketches)}: {'; '.join(described)}"
    width = 2 * LEFT + len(sketches) * (COLUMN + GAP) - GAP
    return document(width, TOP + 448 + most * LAYER_HEIGHT, title, parts)


def sketch(run: Evaluation, settings: Settings) -> Sketch:
    """What is drawn of one model, from its resolved settings and the size it was trained on."""
    model = settings["model"]
    halting, most = setting("halting", settings).split(" (")[0], settings["train"]["max_supervision_steps"]
    side, num_symbols = _sizes(run, settings)
    describe = _se_rrm if model["family"] == "se_rrm" else _sequence
    return Sketch(
        name=model_name(run.model),
        colour=STYLES.get(run.model, STYLES.get(model["family"], Style(INK, "o"))).colour,
        parameters=f"{run.model_info.parameters:,} parameters",
        steps=f"at most {most} supervision steps; halts: {halting}",
        answer=f"{side} × {num_symbols} logits",
        **describe(model, side, num_symbols),
    )


def _se_rrm(model: Settings, side: str, num_symbols: str) -> dict[str, Any]:
    positions = f"({side} + {model['registers']})" if model["registers"] else side
    is_tied = model["symbols"] == "tied"
    over_positions = _heads(model["heads"], model["head_dim"], model["positions"])
    over_symbols = _heads(model["symbol_heads"], model["symbol_head_dim"], "none")
    return {
        "shape": f"{positions} × {num_symbols} × {model['width']}",
        "axes": "positions × symbols × features",
        "embedding": "one vector for all usual symbols" if is_tied else "a vector for each symbol",
        "num_sheets": 4,
        "block": f"block: {_counted(model['layers'], 'layer')} of",
        "layers": (
            ("attention over positions", over_positions),
            ("attention over symbols", over_symbols),
            ("SwiGLU", "on each position and symbol"),
        ),
        "cycles": (
            "Z ← block(Z + E)",
            f"L = {model['l_cycles']} times; all of it H = {model['h_cycles']} times",
            "gradient through the last L applications",
        ),
    }


def _sequence(model: Settings, side: str, num_symbols: str) -> dict[str, Any]:
    heads = _heads(model["heads"], model["width"] // model["heads"], model["positions"])
    mixers = {"mlp": ("SwiGLU over positions", "for one number of positions")}
    is_hrm = model["family"] == "hrm"
    low, high = ("low", "high") if is_hrm else ("block", "block")
    blocks = "two blocks, low and high" if is_hrm else "block"
    return {
        "shape": f"({model['prefix']} + {side}) × {model['width']}",
        "axes": "prefix and positions × features",
        "embedding": "a vector for each symbol",
        "num_sheets": 1,
        "block": f"{blocks}: {_counted(model['layers'], 'layer')} of",
        "layers": (
            mixers.get(str(model.get("mixer")), ("attention over positions", heads)),
            ("SwiGLU", "on each position"),
        ),
        "cycles": (
            f"z_L ← {low}(z_L + z_H + E), L = {model['l_cycles']} times",
            f"z_H ← {high}(z_H + z_L); all of it H = {model['h_cycles']} times",
            f"gradient through the last {'application of each' if is_hrm else 'cycle'}",
        ),
    }


def _sizes(run: Evaluation, settings: Settings) -> tuple[str, str]:
    """Positions and symbols in numbers where the names of the sets tell, else in the paper's letters."""
    sizes = [name for name in run.sets if name[:1].isdigit()]
    if not sizes:
        return "I", str(alphabet(run.task, 30).num_symbols)
    side = 9 if "9x9" in sizes else int(sizes[0].split("x")[0])
    num_symbols = alphabet(run.task, side).num_symbols
    return str(side * side), str(num_symbols - 2 * (settings["model"].get("planes") == "usual"))


def _heads(num: int, width: int, positions: str) -> str:
    how = "" if positions == "none" else f", {POSITIONS.get(positions, positions)}"
    return f"{_counted(num, 'head')} × {width}{how}"


def _counted(num: int, what: str) -> str:
    return f"{num} {what}{'' if num == 1 else 's'}"


def _column(each: Sketch, left: Length, most: int) -> list[str]:
    """Everything about one model, from top to bottom."""
    middle, block_top = left + COLUMN / 2, TOP + 252
    block_height = 34 + most * LAYER_HEIGHT
    step_height, block_end = block_height + 112, block_top + block_height
    sheets = (each.embedding, MUTED), (f"E: {each.shape}", INK), (each.axes, MUTED)
    return [
        _centred(middle, TOP + 14, each.name, 14, each.colour, is_bold=True),
        _centred(middle, TOP + 32, each.parameters, 11.5, MUTED),
        *_boxed(["question"], left + 70, TOP + 48, COLUMN - 140, 28, 6),
        arrow(middle, TOP + 76, TOP + 98, MUTED),
        *_sheets(each, middle, TOP + 100),
        *(_centred(middle, TOP + 176 + 15 * i, words, 11, colour) for i, (words, colour) in enumerate(sheets)),
        rectangle(left, block_top - 26, COLUMN, step_height, rx=10, fill="none", stroke=LINE, stroke_dasharray="4 3"),
        arrow(middle, TOP + 212, block_top, MUTED),
        rectangle(left + 12, block_top, COLUMN - 24, block_height, rx=8, fill=SHEET, stroke=each.colour),
        _centred(middle, block_top + 20, each.block, 11.5, INK),
        *_layers(each.layers, left + 24, block_top + 30, most),
        *(_centred(middle, block_end + 22 + 17 * i, words, 11, INK) for i, words in enumerate(each.cycles)),
        _centred(middle, block_end + 75, each.steps, 10, MUTED),
        arrow(middle, block_top - 26 + step_height, block_top + step_height, MUTED),
        *_boxed(["answer: " + each.answer], left + 44, block_top + step_height, COLUMN - 88, 28, 6),
    ]  # fmt: skip


def _sheets(each: Sketch, middle: Length, top: Length) -> Iterator[str]:
    """The embedding: sheets of positions (down) and features (across), one behind the other for each symbol."""
    width, height, shift = 84, 44, 5
    first = middle - (width + shift * (each.num_sheets - 1)) / 2
    for number in reversed(range(each.num_sheets)):
        x, y = first + shift * number, top + 16 - shift * number
        lines = "".join(f"M{x} {y + height * k / 5}h{width}" for k in range(1, 5))
        yield rectangle(x, y, width, height, fill=SURFACE, stroke=each.colour)
        yield path(lines, stroke=each.colour, stroke_width=0.5, fill="none")


def _layers(layers: Sequence[Sequence[str]], left: Length, top: Length, most: int) -> Iterator[str]:
    """The layers of a block, spread over the height of the longest one."""
    height = LAYER_HEIGHT * most / len(layers)
    for place, words in enumerate(layers):
        yield from _boxed(words, left, top + place * height, COLUMN - 48, height - 6, 5)


def _boxed(
    words: Sequence[str], left: Length, top: Length, width: Length, height: Length, rx: int
) -> Iterator[str]:
    """A line of words in a box, and a smaller one below."""
    yield rectangle(left, top, width, height, rx=rx, fill=SURFACE, stroke=LINE)
    name, *detail = words
    middle, down = left + width / 2, top + height / 2
    yield _centred(middle, down - 3 if detail else down + 4, name, 11.5, INK)
    yield from (_centred(middle, down + 12, each, 10, MUTED) for each in detail)


def _centred(x: Length, y: Length, words: str, size: Length, colour: str, is_bold: bool = False) -> str:
    weight = 700 if is_bold else None
    return text(x, y, words, font_size=size, fill=colour, text_anchor="middle", font_weight=weight)
