"""How figures look: colours, markers, axes, captions; and how they are written. Same input, same bytes.

Only figures import matplotlib, for it loads slowly.
"""

import io
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MultipleLocator

from serrm.reporting.names import short_number

INK, MUTED, LINE, SURFACE = "#333333", "#595959", "#e6e6e6", "#ffffff"


# The colours of Okabe and Ito, told apart by all common kinds of colour vision; markers for print in grey.
class Style(NamedTuple):
    colour: str
    marker: str


STYLES = {"se_rrm": Style("#d55e00", "o"), "trm": Style("#0072b2", "s"), "hrm": Style("#009e73", "^")}
OTHER_STYLES = [*map(Style, ("#cc79a7", "#e69f00", "#56b4e9", "#666666", "#8c564b"), "DvPX*")]

LOOK: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.facecolor": SURFACE,
    "font.size": 10.5,
    "grid.color": LINE,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 2,
    "lines.markersize": 6,
    "svg.fonttype": "none",
    "svg.hashsalt": "serrm",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def svg_text(figure: Figure) -> str:
    """A figure as an SVG document, without date and version: equal figures are equal texts.

    Matplotlib names a clipping frame after its corners to the last bit, which the layout does not always find alike; so
    frames are numbered.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    for number, name in enumerate(re.findall(r'<clipPath id="(\w+)"', text)):
        text = text.replace(f'"{name}"', f'"frame{number}"').replace(f"#{name})", f"#frame{number})")
    return text


def panels(num: int, width: float = 4.7, height: float = 3.7, columns: int = 2) -> tuple[Figure, list[Axes]]:
    """A figure with a number of axes in rows of at most `columns`; sizes in inches."""
    columns = min(num, columns)
    rows = -(-num // columns)
    figure = Figure(figsize=(width * columns + 0.3, height * rows + 1.1), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for surplus in axes[num:]:
        surplus.remove()
    return figure, axes[:num]


def styles_of(variants: Iterable[str | None]) -> dict[str | None, Style]:
    """A colour and a marker for each variant: the paper's three keep theirs in every figure."""
    others = [variant for variant in dict.fromkeys(variants) if variant not in STYLES]
    styles: dict[str | None, Style] = dict(zip(others, cycle(OTHER_STYLES), strict=False))
    return styles | dict(STYLES.items())


def percent_axis(axes: Axes, label: str) -> None:
    """A vertical axis from 0 to 100%."""
    axes.set(ylabel=f"{label} (%)", ylim=(-2, 102))
    axes.yaxis.set_major_locator(MultipleLocator(20))


def short_axis(axes: Axes, label: str, *, is_log: bool = False) -> None:
    """A horizontal axis with numbers such as 1.2k, from 0 on or in powers of two."""
    axes.set_xlabel(label)
    if is_log:
        axes.set_xscale("log", base=2)
    else:
        axes.set_xlim(0, None)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda number, _: short_number(number)))


def draw_band(
    axes: Axes,
    at: Sequence[float],
    points: Sequence[Mapping[str, float]],
    metric: str,
    style: Style,
    label: str,
) -> None:
    """A line through scores given as fractions, with a band for their intervals."""
    low, value, high = ([100 * point[f"{metric}{end}"] for point in points] for end in ("_lo", "", "_hi"))
    axes.fill_between(at, low, high, color=style.colour, alpha=0.2, linewidth=0)
    axes.plot(at, value, color=style.colour, marker=style.marker, label=label)


def note_if_empty(axes: Axes) -> None:
    """Words in a panel without a point, as of a task whose snapshots a profile does not score."""
    if not any(len(line.get_xdata()) for line in axes.get_lines()):  # type: ignore[arg-type]
        place: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "color": MUTED}
        axes.text(0.5, 0.5, "snapshots not scored in this profile", **place)


def frame(figure: Figure, title: str, text: str, axes: Sequence[Axes] = (), columns: int = 3) -> None:
    """A title above, and below the legend of some axes and a remark, flush left."""
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(text, int(width * 14))
    entries: dict[str, Any] = {}  # one sample a name, though several seeds and panels may share it
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    rows = -(-len(entries) // columns)
    below, above = 0.1 + 0.165 * len(lines) + 0.24 * rows, 0.42
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0.005, below / height, 0.99, 1 - (above + below) / height))
    figure.text(0.08 / width, 1 - 0.1 / height, title, fontsize=12.5, fontweight="bold", va="top")
    remark: dict[str, Any] = {"fontsize": 8.5, "color": MUTED, "va": "bottom", "linespacing": 1.25}
    figure.text(0.08 / width, 0.06 / height, "\n".join(lines), **remark)
    if entries:
        place = (0.08 / width, (below - 0.24 * rows) / height)
        look: dict[str, Any] = {"borderpad": 0, "borderaxespad": 0, "labelspacing": 0.35, "fontsize": 9.5}
        legend = figure.legend(
            [*entries.values()], [*entries], loc="lower left", bbox_to_anchor=place, ncols=columns, **look
        )
        legend.set_in_layout(False)
