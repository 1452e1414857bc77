"""The architecture of the models that were run, drawn from their settings (figure 1): shapes, layers, cycles, sizes.

One column a model: the question, its embedding (one sheet of positions × features, or for SE-RRM one such sheet a
symbol), the block with its layers, how often it is applied, and the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from serrm.puzzles.alphabet import alphabet
from serrm.reporting.figures.style import STYLES
from serrm.reporting.hyperparameters import CellSettings
from serrm.reporting.names import model_name, task_name
from serrm.reporting.results import Evaluation, Results
from serrm.reporting.setting_words import POSITIONS, Settings, setting
from serrm.reporting.svg import Length, arrow, document, path, rectangle, text

INK, MUTED, LINE, SURFACE, SHEET = "#333333", "#595959", "#b4b4b4", "#ffffff", "#efefef"
COLUMN, GAP, LEFT, TOP = 268, 30, 16, 66  # pixels
LAYER_HEIGHT, SHEETS_HEIGHT = 40, 92


@dataclass(frozen=True)
class Anatomy:
    """What a family of models is made of, in words as they stand in the figure."""

    shape: str
    axes: str
    embedding: str
    num_sheets: int
    block: str
    layers: tuple[tuple[str, str], ...]
    cycles: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Sketch:
    """One model: its column of the figure."""

    name: str
    colour: str
    parameters: str
    steps: str
    anatomy: Anatomy


def architecture_figure(results: Results, settings: CellSettings) -> str:
    """An SVG with a column for each model of the first task."""
    task = next(iter(results))[0]
    runs = [seeds[0] for (of, _), seeds in results.items() if of == task]
    sketches = [sketch(run, settings.here[task, run.model]) for run in runs]
    width = 2 * LEFT + len(sketches) * COLUMN + (len(sketches) - 1) * GAP
    most = max(len(each.anatomy.layers) for each in sketches)
    parts = [
        text(
            LEFT, 26, f"The models, as trained on {task_name(task)}", font_size=16, font_weight=700, fill=INK
        ),
        text(LEFT, 46, "Every sum is followed by a normalisation.", font_size=11.5, fill=MUTED),
    ]
    for place, each in enumerate(sketches):
        parts += _column(each, LEFT + place * (COLUMN + GAP), most)
    height = TOP + 448 + most * LAYER_HEIGHT
    title = f"Architecture of {', '.join(each.name for each in sketches)}: " + "; ".join(
        f"{each.name} has {each.parameters} and works on {each.anatomy.shape}, {each.anatomy.axes}"
        for each in sketches
    )
    return document(width, height, title, parts)


def sketch(run: Evaluation, settings: Settings) -> Sketch:
    """What is drawn of one model, from its resolved settings and the size it was trained on."""
    model = settings["model"]
    is_equivariant = model["family"] == "se_rrm"
    side, num_symbols = _sizes(run, settings)
    colour = STYLES.get(run.model, STYLES.get(model["family"], (INK, "o")))[0]
    halting, most = setting("halting", settings).split(" (")[0], settings["train"]["max_supervision_steps"]
    describe = _se_rrm if is_equivariant else _sequence
    return Sketch(
        name=model_name(run.model),
        colour=colour,
        parameters=f"{run.model_info.parameters:,} parameters",
        steps=f"at most {most} supervision steps; halts: {halting}",
        anatomy=describe(model, side, num_symbols),
    )


def _se_rrm(model: Settings, side: str, num_symbols: str) -> Anatomy:
    positions = f"({side} + {model['registers']})" if model["registers"] else side
    vectors = "one vector for all usual symbols" if model["symbols"] == "tied" else "a vector for each symbol"
    return Anatomy(
        shape=f"{positions} × {num_symbols} × {model['width']}",
        axes="positions × symbols × features",
        embedding=vectors,
        num_sheets=4,
        block=_block(model["layers"], "block"),
        layers=(
            ("attention over positions", _heads(model["heads"], model["head_dim"], model["positions"])),
            ("attention over symbols", _heads(model["symbol_heads"], model["symbol_head_dim"], "none")),
            ("SwiGLU", "on each position and symbol"),
        ),
        cycles=(
            "Z ← block(Z + E)",
            f"L = {model['l_cycles']} times; all of it H = {model['h_cycles']} times",
            "gradient through the last L applications",
        ),
        answer=f"{side} × {num_symbols} logits",
    )


def _sequence(model: Settings, side: str, num_symbols: str) -> Anatomy:
    mixing = (
        "attention over positions",
        _heads(model["heads"], model["width"] // model["heads"], model["positions"]),
    )
    if model.get("mixer") == "mlp":
        mixing = ("SwiGLU over positions", "for one number of positions")
    is_hrm = model["family"] == "hrm"
    low, high = ("low", "high") if is_hrm else ("block", "block")
    return Anatomy(
        shape=f"({model['prefix']} + {side}) × {model['width']}",
        axes="prefix and positions × features",
        embedding="a vector for each symbol",
        num_sheets=1,
        block=_block(model["layers"], "two blocks, low and high" if is_hrm else "block"),
        layers=(mixing, ("SwiGLU", "on each position")),
        cycles=(
            f"z_L ← {low}(z_L + z_H + E), L = {model['l_cycles']} times",
            f"z_H ← {high}(z_H + z_L); all of it H = {model['h_cycles']} times",
            "gradient through the last application of each" if is_hrm else "gradient through the last cycle",
        ),
        answer=f"{side} × {num_symbols} logits",
    )


def _sizes(run: Evaluation, settings: Settings) -> tuple[str, str]:
    """Positions and symbols in numbers where the names of the sets tell, else in the paper's letters."""
    sizes = [name for name in run.sets if name[:1].isdigit()]
    name = "9x9" if "9x9" in sizes else next(iter(sizes), "")
    if not name:
        return "I", str(alphabet(run.task, 30).num_symbols)
    side = int(name.split("x")[0])
    num_symbols = alphabet(run.task, side).num_symbols
    has_usual_planes = settings["model"].get("planes") == "usual"
    return str(side * side), str(num_symbols - 2 if has_usual_planes else num_symbols)


def _heads(num: int, width: int, positions: str) -> str:
    how = "" if positions == "none" else f", {POSITIONS.get(positions, positions)}"
    return f"{num} head{'' if num == 1 else 's'} × {width}{how}"


def _block(num_layers: int, name: str) -> str:
    return f"{name}: {num_layers} layer{'' if num_layers == 1 else 's'} of"


def _column(each: Sketch, left: Length, most: int) -> list[str]:
    """Everything about one model, from top to bottom."""
    anatomy = each.anatomy
    middle, block_top = left + COLUMN / 2, TOP + 252
    block_height = 34 + most * LAYER_HEIGHT
    step_height, block_end = block_height + 112, block_top + block_height
    sheets = anatomy.embedding, f"E: {anatomy.shape}", anatomy.axes
    return [
        _centred(middle, TOP + 14, each.name, 14, each.colour, is_bold=True),
        _centred(middle, TOP + 32, each.parameters, 11.5, MUTED),
        *_boxed("question", left + 70, TOP + 48, COLUMN - 140, 28),
        arrow(middle, TOP + 76, TOP + 98, MUTED),
        *_sheets(each, middle, TOP + 100),
        *(_centred(middle, TOP + 176 + 15 * i, words, 11, (MUTED, INK, MUTED)[i]) for i, words in enumerate(sheets)),
        rectangle(left, block_top - 26, COLUMN, step_height, rx=10, fill="none", stroke=LINE, stroke_dasharray="4 3"),
        arrow(middle, TOP + 212, block_top, MUTED),
        rectangle(left + 12, block_top, COLUMN - 24, block_height, rx=8, fill=SHEET, stroke=each.colour),
        _centred(middle, block_top + 20, anatomy.block, 11.5, INK),
        *_layers(anatomy.layers, left + 24, block_top + 30, most),
        *(_centred(middle, block_end + 22 + 17 * i, words, 11, INK) for i, words in enumerate(anatomy.cycles)),
        _centred(middle, block_end + 75, each.steps, 10, MUTED),
        arrow(middle, block_top - 26 + step_height, block_top + step_height, MUTED),
        *_boxed("answer: " + anatomy.answer, left + 44, block_top + step_height, COLUMN - 88, 28),
    ]  # fmt: skip


def _sheets(each: Sketch, middle: Length, top: Length) -> list[str]:
    """The embedding: sheets of positions (down) and features (across), one behind the other for each symbol."""
    anatomy, (width, height, shift) = each.anatomy, (84, 44, 5)
    first = middle - (width + shift * (anatomy.num_sheets - 1)) / 2
    parts = []
    for number in reversed(range(anatomy.num_sheets)):
        x, y = first + shift * number, top + 16 - shift * number
        lines = "".join(f"M{x} {y + height * k / 5}h{width}" for k in range(1, 5))
        parts.append(rectangle(x, y, width, height, fill=SURFACE, stroke=each.colour))
        parts.append(path(lines, stroke=each.colour, stroke_width=0.5, fill="none"))
    return parts


def _layers(layers: Sequence[tuple[str, str]], left: Length, top: Length, most: int) -> list[str]:
    """The layers of a block, spread over the height of the longest one."""
    height = LAYER_HEIGHT * most / len(layers)
    parts = []
    for place, (name, detail) in enumerate(layers):
        y = top + place * height
        parts.append(rectangle(left, y, COLUMN - 48, height - 6, rx=5, fill=SURFACE, stroke=LINE))
        parts.append(_centred(left + COLUMN / 2 - 24, y + height / 2 - 6, name, 11.5, INK))
        parts.append(_centred(left + COLUMN / 2 - 24, y + height / 2 + 9, detail, 10, MUTED))
    return parts


def _boxed(words: str, left: Length, top: Length, width: Length, height: Length) -> list[str]:
    box = rectangle(left, top, width, height, rx=6, fill=SURFACE, stroke=LINE)
    return [box, _centred(left + width / 2, top + height / 2 + 4, words, 11.5, INK)]


def _centred(x: Length, y: Length, words: str, size: Length, colour: str, is_bold: bool = False) -> str:
    weight = 700 if is_bold else None
    return text(x, y, words, font_size=size, fill=colour, text_anchor="middle", font_weight=weight)
