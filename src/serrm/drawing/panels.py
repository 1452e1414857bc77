"""Grids as pictures: the content of each cell, which cells are given, wrong or changed, and the remark beneath.

An evaluation's examples are read as scenes, as are files of puzzles by `serrm.drawing.scenes`. The tokens of a
question, its answer and predictions become panels; SVG and `terminal` draw what `cell_of` gives for each cell and
compare nothing. A fault in a file is a ValueError of one line that names the file.

SVG is written as text, for the diagrams of the report too, with colours as #rrggbb, so that a picture stands alone as a
file; the report's page turns those of its palette into its own light or dark ones. PNG and GIF are rendered from it.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from jaxtyping import Bool, UInt8
from pydantic import BaseModel, Field

from serrm.core.files import read_parsed, write_output
from serrm.puzzles.look import INK, PAPER, Cell, Look
from serrm.puzzles.tasks import TASKS

Tokens = UInt8[np.ndarray, " I"]
Cells = UInt8[np.ndarray, "_ _"]  # R × C, without names, as the panels of one picture differ in size
Mask = Bool[np.ndarray, "_ _"]

FAINT_INK, LINE, CHANGED = "#666666", "#B4B4B4", "#E69F00"


@dataclass(frozen=True, eq=False)
class Panel:
    """One grid of a picture: R × C tokens and three masks of the same shape.

    `is_given` marks what the question fixes (the clues of a Sudoku; walls, start and goal of a maze; nothing in ARC),
    `is_wrong` what differs from the answer, `is_changed` what differs from the panel before.
    """

    look: Look
    caption: str
    cells: Cells
    is_given: Mask
    is_wrong: Mask
    is_changed: Mask
    remark: str = ""


def cell_of(panel: Panel, row: int, column: int) -> Cell:
    """The look of a cell of a panel."""
    token, place = int(panel.cells[row, column]), (row, column)
    return panel.look.cell(token, bool(panel.is_given[place]), bool(panel.is_wrong[place]))


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A question of a task and its answer, if known, as I = side² tokens each.

    `predictions` are those of a model after so many supervision steps.

    Methods raise ValueError for an unknown task, a number of tokens other than side², or a token that it does not have.
    """

    task: str
    side: int
    question: Tokens
    answer: Tokens | None = None
    predictions: Mapping[int, Tokens] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError unless the tokens are a grid of the task."""
        self._check(self.question)
        if self.answer is not None:
            self._check(self.answer)

    def question_panel(self, caption: str = "question") -> Panel:
        """The panel of the question."""
        return self.answer_panel(self.question, caption)

    def answer_panel(self, answer: Tokens, caption: str = "answer") -> Panel:
        """The panel of an answer without a remark; the cells that the question gives are marked."""
        task = TASKS[self.task]
        cells = self._visible(answer)
        nothing = np.zeros(cells.shape, dtype=bool)
        is_given = nothing if task.blank is None else self.question.reshape(cells.shape) != task.blank
        return Panel(task.look, caption, cells, is_given, nothing, nothing)

    def prediction_panel(
        self, prediction: Tokens, caption: str = "prediction", before: Tokens | None = None
    ) -> Panel:
        """The panel of a prediction, with a remark on how good it is.

        Where the answer is known, cells that differ from it are wrong; those that differ from `before` have changed.
        """
        self._check(prediction)
        panel = self.answer_panel(prediction, caption)
        is_wrong, is_changed = (
            panel.is_wrong if other is None else _differs(panel.cells, self._visible(other))
            for other in (self.answer, before)
        )
        remark = TASKS[self.task].judge(self.side, prediction, self.question, self.answer)
        return replace(panel, is_wrong=is_wrong, is_changed=is_changed, remark=remark)

    def trace_panels(self, steps: Sequence[int]) -> list[Panel]:
        """The predictions after these supervision steps, each with what changed since the one before."""
        panels, before = [], None
        for step in steps:
            caption = f"after {step} step{'s' * (step > 1)}"
            panels.append(self.prediction_panel(self.predictions[step], caption, before))
            before = self.predictions[step]
        return panels

    def _visible(self, tokens: Tokens) -> Cells:
        """The visible tokens as a grid: of an ARC canvas the decoded part."""
        return TASKS[self.task].look.visible(tokens, self.side)

    def _check(self, tokens: Tokens) -> None:
        if self.task not in TASKS:
            raise ValueError(f"unknown task {self.task!r}; there are {', '.join(TASKS)}")
        if len(tokens) != self.side**2:
            raise ValueError(f"{len(tokens)} tokens are not a {self.side}×{self.side} grid")
        if tokens.max() >= (num := TASKS[self.task].alphabet(self.side).num_symbols):
            raise ValueError(f"token {tokens.max()} is out of range: {self.task} has {num} tokens")


def as_tokens(values: Sequence[int]) -> Tokens:
    """Tokens from a file."""
    return np.array(values, dtype=np.uint8)


def _differs(cells: Cells, other: Cells) -> Mask:
    """The cells in which a grid differs from another; cells beyond the other grid differ."""
    rows, columns = np.minimum(cells.shape, other.shape)
    is_different = np.ones(cells.shape, dtype=bool)
    is_different[:rows, :columns] = cells[:rows, :columns] != other[:rows, :columns]
    return is_different


@dataclass(frozen=True, eq=False)
class Scene:
    """A puzzle to draw, of ARC one for each test input, and its demonstrations."""

    title: str
    puzzles: Sequence[Puzzle]
    demonstrations: Sequence[Puzzle] = ()

    def rows(self, *, has_answer: bool = False, has_trace: bool = False) -> list[list[Panel]]:
        """A row for each demonstration and puzzle, one for each trace that is shown; else its last prediction."""
        rows = []
        for number, shown in enumerate(self.demonstrations, start=1):
            assert shown.answer is not None
            output = shown.answer_panel(shown.answer, f"output {number}")
            rows.append([shown.question_panel(f"input {number}"), output])
        for puzzle in self.puzzles:
            steps, row = sorted(puzzle.predictions), [puzzle.question_panel()]
            if has_answer and puzzle.answer is not None:
                row.append(puzzle.answer_panel(puzzle.answer))
            trace = puzzle.trace_panels(steps if has_trace else steps[-1:])
            rows += [row, trace] if has_trace else [row + trace]
        return rows


def settling_panels(puzzle: Puzzle, most: int | None = None) -> list[Panel]:
    """The question and the predictions after the steps worth showing: the first, the last, those that changed it.

    If they are more than `most`, those of them that are the last up to 1, 2, 4, … steps.
    """
    grids, last = puzzle.predictions, len(puzzle.predictions)
    steps = sorted(
        {1, last, *(step for step in grids if step > 1 and (grids[step] != grids[step - 1]).any())}
    )
    if most is not None and len(steps) > most:
        powers = (2**power for power in range(last.bit_length()))
        steps = sorted({max(step for step in steps if step <= power) for power in powers} | {last})
    return [puzzle.question_panel(), *puzzle.trace_panels(steps)]


# Reading.

EXAMPLES: Final = "examples.json"
Token = Annotated[int, Field(strict=True, ge=0, le=255)]


class Example(BaseModel):
    """A puzzle in examples.json: side² tokens per grid, the predictions by numbers of supervision steps."""

    set: str
    side: int
    name: str
    question: list[Token]
    answer: list[Token]
    predictions: dict[int, list[Token]]
    is_right: bool = False

    def puzzle(self, task: str) -> Puzzle:
        """The example with its predictions. ValueError where a grid is none of the task's."""
        predictions = {steps: as_tokens(grid) for steps, grid in self.predictions.items()}
        return Puzzle(task, self.side, as_tokens(self.question), as_tokens(self.answer), predictions)


class Examples(BaseModel):
    """An examples.json, as evaluations write it."""

    task: str
    examples: list[Example]


def load_examples(path: Path) -> Examples:
    """An examples.json. ValueError, with the file, where it is malformed."""
    return read_parsed(path, Examples.model_validate_json)


def read_examples(path: Path) -> list[Scene]:
    """All scenes of an examples.json, each with a trace. ValueError, with the file, where it is malformed."""
    content = load_examples(path)
    return [
        Scene(f"{path.parent.name}: {each.set}, {each.name}", [each.puzzle(content.task)])
        for each in content.examples
    ]


Length = int | float

FONT: Final = "font-family=\"'DejaVu Sans', Verdana, sans-serif\""
# Pixels.
CELL: Final = 20  # of a grid's own units
MARGIN, GRID, GAP, LINE_HEIGHT = 16, 270, 24, 22  # GRID: the longer side of a grid at least
ZOOM: Final = 2  # pixels of a PNG for one of the SVG
MILLISECONDS, LAST_MILLISECONDS = 600, 3000  # that a frame of a GIF is shown, and its last


def picture_svg(rows: Sequence[Sequence[Panel]], title: str) -> str:
    """Rows of panels of one task under their captions, and what their marks mean."""
    panels = [panel for row in rows for panel in row]
    size = max(GRID, *(18 * max(panel.cells.shape) for panel in panels))
    parts = [text(MARGIN, MARGIN + 15, title, fill=INK, font_size=15, font_weight=700)]
    top: Length = MARGIN + LINE_HEIGHT
    for row in rows:
        for number, panel in enumerate(row):
            left = MARGIN + number * (size + GAP)
            parts.append(text(left, top + 18, panel.caption, fill=INK, font_size=13, font_weight=700))
            parts.append(text(left, top + 35, panel.remark, fill=FAINT_INK, font_size=11))
            if panel.cells.size:  # the empty grid that an ARC prediction may be
                title_of = f"{panel.caption}: {panel.remark}"
                parts.append(grid_svg(panel, title_of, left, top + 2 * LINE_HEIGHT, size))
        top += 2 * LINE_HEIGHT + GAP
        top += max(size * len(panel.cells) / max(*panel.cells.shape, 1) for panel in row)
    words = _legend(panels)
    if words:
        parts.append(text(MARGIN, top + 11, words, fill=INK, font_size=11))
        top += LINE_HEIGHT
    width = 2 * MARGIN + max(round(0.62 * 15 * len(title)), *(len(row) * (size + GAP) - GAP for row in rows))
    return document(width, top + MARGIN, title, parts)


def _legend(panels: Sequence[Panel]) -> str:
    wrong = "a cross" if panels[0].look.has_crosses else "orange"
    marks = {f"{wrong}: wrong": "is_wrong", "a corner: changed since the panel before": "is_changed"}
    return "; ".join(
        words for words, mask in marks.items() if any(getattr(each, mask).any() for each in panels)
    )


def grid_svg(
    panel: Panel, title: str, x: Length = 0, y: Length = 0, size: Length | None = None,
    draw: Callable[[Panel, int, int], Cell] = cell_of,
) -> str:  # fmt: skip
    """A panel as an <svg>; with a `size`, that of its longer side, at (x, y) of the figure around it."""
    rows, columns = panel.cells.shape
    grounds: dict[str, str] = {}  # runs of cells by their colour
    letters: dict[tuple[str, int], str] = {}  # by ink and weight
    for row in range(rows):
        cells = [draw(panel, row, column) for column in range(columns)]
        for ground, run in groupby(enumerate(cells), lambda each: each[1].ground):
            (first, _), *others = run
            num = 1 + len(others)
            grounds[ground] = grounds.get(ground, "") + f"M{first} {row}h{num}v1h-{num}z"
        for column, cell in enumerate(cells):
            symbol = "×" if panel.look.has_crosses and panel.is_wrong[row, column] else cell.symbol
            if symbol:
                look = cell.ink, 400 if panel.look.is_light and not panel.is_given[row, column] else 700
                letter = text((column + 0.5) * CELL, (row + 0.72) * CELL, symbol)
                letters[look] = letters.get(look, "") + letter
    grounds.pop(PAPER, None)
    shapes = [
        rectangle(0, 0, columns, rows, fill=PAPER),
        *(path(d, fill=each) for each, d in grounds.items()),
    ]
    if corners := "".join(
        f"M{number(c + 0.7)} {number(r + 0.05)}h.25v.25z" for r, c in np.argwhere(panel.is_changed)
    ):
        shapes.append(path(corners, fill=CHANGED, stroke=INK, stroke_width=0.03))
    if panel.look.has_lines:
        shapes.append(_lines(1, 1, rows, columns, LINE, 0.03))
    box = panel.look.box(rows)
    shapes.append(_lines(box.rows if box else rows, box.cols if box else columns, rows, columns, INK, 0.08))
    written = (
        f'<g fill="{ink}" font-weight="{weight}" font-size="{0.62 * CELL}" text-anchor="middle">{each}</g>'
        for (ink, weight), each in letters.items()
    )
    place = ""
    if size is not None:
        width, height = (size * part / max(rows, columns, 1) for part in (columns, rows))
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
    view = f"-1 -1 {columns * CELL + 2} {rows * CELL + 2}"
    body = f'<g transform="scale({CELL})">{"".join(shapes)}</g>{"".join(written)}'
    return f'<svg {place}viewBox="{view}" role="img"><title>{escape(title)}</title>{body}</svg>'


def _lines(every_row: int, every_column: int, rows: int, columns: int, colour: str, width: Length) -> str:
    across = (f"M0 {row}h{columns}" for row in range(0, rows + 1, max(1, every_row)))
    down = (f"M{column} 0v{rows}" for column in range(0, columns + 1, max(1, every_column)))
    d = "".join([*across, *down])
    return path(d, fill="none", stroke=colour, stroke_width=width, stroke_linecap="square")


def write_picture(path: Path, svgs: Sequence[str]) -> None:
    """Write an SVG as .svg or .png, or several as a .gif, by the suffix; the file appears whole or not at all."""
    if path.suffix == ".svg":
        write_output(path, svgs[0])
    else:
        write_output(path, png(svgs[0]) if path.suffix == ".png" else gif(svgs))


def png(svg: str) -> bytes:
    """An SVG as a PNG file, in the typeface that comes with matplotlib."""
    import matplotlib
    import resvg_py

    fonts = Path(matplotlib.get_data_path(), "fonts/ttf")
    files = [str(fonts / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")]
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM, skip_system_fonts=True, font_files=files))


def gif(svgs: Sequence[str]) -> bytes:
    """SVGs of one size that follow each other as a GIF."""
    from PIL import Image

    first, *others = (Image.open(io.BytesIO(png(svg))).convert("RGB") for svg in svgs)
    times, stream = [MILLISECONDS] * len(others) + [LAST_MILLISECONDS], io.BytesIO()
    first.save(stream, format="GIF", save_all=True, append_images=others, duration=times, loop=0)
    return stream.getvalue()


def document(width: Length, height: Length, title: str, parts: Iterable[str]) -> str:
    """A whole SVG on white, with its title as the text for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" {FONT}>\n<title>{escape(title)}</title>\n'
        f"{rectangle(0, 0, width, height, fill='#ffffff')}\n" + "\n".join(parts) + "\n</svg>\n"
    )


def rectangle(x: Length, y: Length, width: Length, height: Length, **look: object) -> str:
    """A rectangle; its look as attributes, with _ for -."""
    box = {"x": x, "y": y, "width": width, "height": height}
    return f"<rect{_attributes(box | look)}/>"


def path(d: str, **look: object) -> str:
    """A path."""
    return f"<path{_attributes({'d': d} | look)}/>"


def text(x: Length, y: Length, words: str, **look: object) -> str:
    """A line of text from (x, y) on, or around it with text_anchor."""
    return f"<text{_attributes({'x': x, 'y': y} | look)}>{escape(words)}</text>"


def number(value: Length) -> str:
    """A number as short as two decimals allow."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _attributes(values: dict[str, object]) -> str:
    pairs = (
        (key.replace("_", "-"), number(value) if isinstance(value, int | float) else str(value))
        for key, value in values.items()
        if value is not None
    )
    return "".join(f" {key}={quoteattr(value)}" for key, value in pairs)
