"""Pictures as SVG, and as PNG and GIF rendered from it: panels of puzzles, and the shapes of other diagrams.

SVG is written as text, also for the diagrams of the report. Colours are #rrggbb, so a picture needs no style sheet.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from serrm.core.files import write_output
from serrm.drawing.puzzles import Panel, cell_of
from serrm.puzzles.look import INK, PAPER, CellLook

Length = int | float

FAINT_INK, LINE, CHANGED = "#666666", "#B4B4B4", "#E69F00"
FONT: Final = "font-family=\"'DejaVu Sans', Verdana, sans-serif\""
CELL: Final = 20  # side of a cell, in units of the grid's viewBox
MARGIN, GAP, LINE_HEIGHT = 16, 24, 22  # pixels
GRID: Final = 270  # pixels of a grid's longer side, at least
ZOOM: Final = 2  # pixels of a PNG per pixel of the SVG
MILLISECONDS, LAST_MILLISECONDS = 600, 3000  # per frame of a GIF, and for its last frame


def picture_svg(rows: Sequence[Sequence[Panel]], title: str) -> str:
    """Draw rows of panels of one task under their captions, with a legend of their marks."""
    panels = [panel for row in rows for panel in row]
    size = max(GRID, *(18 * max(panel.cells.shape) for panel in panels))
    elements = [text(MARGIN, MARGIN + 15, title, fill=INK, font_size=15, font_weight=700)]
    top: Length = MARGIN + LINE_HEIGHT
    for row in rows:
        for column, panel in enumerate(row):
            left = MARGIN + column * (size + GAP)
            elements.append(text(left, top + 18, panel.caption, fill=INK, font_size=13, font_weight=700))
            elements.append(text(left, top + 35, panel.remark, fill=FAINT_INK, font_size=11))
            if panel.cells.size:  # the empty grid that an ARC prediction may be
                description = f"{panel.caption}: {panel.remark}"
                elements.append(grid_svg(panel, description, left, top + 2 * LINE_HEIGHT, size))
        top += 2 * LINE_HEIGHT + GAP
        top += max(size * len(panel.cells) / max(*panel.cells.shape, 1) for panel in row)
    legend = _legend(panels)
    if legend:
        elements.append(text(MARGIN, top + 11, legend, fill=INK, font_size=11))
        top += LINE_HEIGHT
    width = 2 * MARGIN + max(round(0.62 * 15 * len(title)), *(len(row) * (size + GAP) - GAP for row in rows))
    return document(width, top + MARGIN, title, elements)


def _legend(panels: Sequence[Panel]) -> str:
    wrong = "a cross" if panels[0].look.has_crosses else "orange"
    meanings = []
    if any(panel.is_wrong.any() for panel in panels):
        meanings.append(f"{wrong}: wrong")
    if any(panel.is_changed.any() for panel in panels):
        meanings.append("a corner: changed since the panel before")
    return "; ".join(meanings)


def grid_svg(
    panel: Panel, title: str, x: Length = 0, y: Length = 0, size: Length | None = None,
    look_of: Callable[[Panel, int, int], CellLook] = cell_of,
) -> str:  # fmt: skip
    """Draw a panel as an <svg>. With a `size`, its longer side in pixels, it is at (x, y) of the figure around it.

    `look_of` is (panel, row, column) → the look of a cell.
    """
    rows, columns = panel.cells.shape
    grounds: dict[str, str] = {}  # paths of runs of cells, by colour
    letters: dict[tuple[str, int], str] = {}  # elements, by ink and weight
    for row in range(rows):
        cells = [look_of(panel, row, column) for column in range(columns)]
        start = 0
        for ground, run in groupby(cells, lambda cell: cell.ground):
            num = len(list(run))
            grounds[ground] = grounds.get(ground, "") + f"M{start} {row}h{num}v1h-{num}z"
            start += num
        for column, cell in enumerate(cells):
            symbol = "×" if panel.look.has_crosses and panel.is_wrong[row, column] else cell.symbol
            if symbol:
                is_bold = panel.is_given[row, column] or not panel.look.bolds_only_givens
                look = cell.ink, 700 if is_bold else 400
                letter = text((column + 0.5) * CELL, (row + 0.72) * CELL, symbol)
                letters[look] = letters.get(look, "") + letter
    grounds.pop(PAPER, None)
    shapes = [
        rectangle(0, 0, columns, rows, fill=PAPER),
        *(path(d, fill=ground) for ground, d in grounds.items()),
    ]
    corners = [f"M{number(c + 0.7)} {number(r + 0.05)}h.25v.25z" for r, c in np.argwhere(panel.is_changed)]
    if corners:
        shapes.append(path("".join(corners), fill=CHANGED, stroke=INK, stroke_width=0.03))
    if panel.look.has_lines:
        shapes.append(_lines(1, 1, rows, columns, LINE, 0.03))
    box = panel.look.box(rows)
    shapes.append(_lines(box.rows if box else rows, box.cols if box else columns, rows, columns, INK, 0.08))
    groups = (
        f'<g fill="{ink}" font-weight="{weight}" font-size="{0.62 * CELL}" text-anchor="middle">{elements}</g>'
        for (ink, weight), elements in letters.items()
    )
    frame = ""
    if size is not None:
        width, height = (size * num / max(rows, columns, 1) for num in (columns, rows))
        frame = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
    view = f"-1 -1 {columns * CELL + 2} {rows * CELL + 2}"
    body = f'<g transform="scale({CELL})">{"".join(shapes)}</g>{"".join(groups)}'
    return f'<svg {frame}viewBox="{view}" role="img"><title>{escape(title)}</title>{body}</svg>'


def _lines(every_row: int, every_column: int, rows: int, columns: int, colour: str, width: Length) -> str:
    across = (f"M0 {row}h{columns}" for row in range(0, rows + 1, max(1, every_row)))
    down = (f"M{column} 0v{rows}" for column in range(0, columns + 1, max(1, every_column)))
    d = "".join([*across, *down])
    return path(d, fill="none", stroke=colour, stroke_width=width, stroke_linecap="square")


def write_picture(file: Path, svgs: Sequence[str]) -> None:
    """Write an SVG as .svg or .png, or several as a .gif, by the suffix. The file appears when it is complete."""
    if file.suffix == ".svg":
        write_output(file, svgs[0])
    else:
        write_output(file, png(svgs[0]) if file.suffix == ".png" else gif(svgs))


def png(svg: str) -> bytes:
    """Render an SVG as a PNG file, in the typeface that comes with matplotlib."""
    import matplotlib
    import resvg_py

    fonts = Path(matplotlib.get_data_path(), "fonts/ttf")
    files = [str(fonts / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")]
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM, skip_system_fonts=True, font_files=files))


def gif(svgs: Sequence[str]) -> bytes:
    """Render SVGs of the same size as the frames of a GIF."""
    from PIL import Image

    first, *others = (Image.open(io.BytesIO(png(svg))).convert("RGB") for svg in svgs)
    times, stream = [MILLISECONDS] * len(others) + [LAST_MILLISECONDS], io.BytesIO()
    first.save(stream, format="GIF", save_all=True, append_images=others, duration=times, loop=0)
    return stream.getvalue()


def document(width: Length, height: Length, title: str, elements: Iterable[str]) -> str:
    """Write a whole SVG document on white; screen readers read its title."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" {FONT}>\n<title>{escape(title)}</title>\n'
        f"{rectangle(0, 0, width, height, fill='#ffffff')}\n" + "\n".join(elements) + "\n</svg>\n"
    )


def rectangle(x: Length, y: Length, width: Length, height: Length, **look: object) -> str:
    """Write a rectangle. The names in `look` are attributes, with _ for -."""
    box = {"x": x, "y": y, "width": width, "height": height}
    return f"<rect{_attributes(box | look)}/>"


def path(d: str, **look: object) -> str:
    """Write a path."""
    return f"<path{_attributes({'d': d} | look)}/>"


def text(x: Length, y: Length, content: str, **look: object) -> str:
    """Write a line of text that begins at (x, y), or with `text_anchor` is aligned there."""
    return f"<text{_attributes({'x': x, 'y': y} | look)}>{escape(content)}</text>"


def number(value: Length) -> str:
    """Format a number with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _attributes(values: dict[str, object]) -> str:
    pairs = (
        (key.replace("_", "-"), number(value) if isinstance(value, int | float) else str(value))
        for key, value in values.items()
        if value is not None
    )
    return "".join(f" {key}={quoteattr(value)}" for key, value in pairs)
