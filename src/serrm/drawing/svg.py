"""SVG by hand: the few shapes that the diagrams and the puzzles' pictures are made of, as text.

Colours are written as #rrggbb, so that a figure stands alone as a file; the page turns those of its palette into its
own light or dark ones. (Nothing of the paper.)
"""

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape, quoteattr

Length = int | float

FONT: Final = "font-family=\"'DejaVu Sans', Verdana, sans-serif\""


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


def arrow(x: Length, top: Length, bottom: Length, colour: str) -> str:
    """An arrow straight down."""
    head = f"M{number(x - 4)} {number(bottom - 6)}L{number(x)} {number(bottom)}L{number(x + 4)} {number(bottom - 6)}"
    line = f"M{number(x)} {number(top)}V{number(bottom - 1)}"
    return path(line + head, fill="none", stroke=colour, stroke_width=1.5)


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
