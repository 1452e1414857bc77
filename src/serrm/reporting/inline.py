"""Figures as parts of the page: an SVG file's content without what only a file needs, in the page's own colours.

Matplotlib and `svg` write plain colours. Those of the common palette become CSS variables here, so that one figure is
right on light and on dark; names of parts get a prefix, so that many figures fit into one document.
"""

import re
from typing import Final
from xml.sax.saxutils import unescape

from markupsafe import Markup

from serrm.drawing import panels as colours

# What the page's style sheet gives a light and a dark value, by colour. Those of ARC-AGI stay what they are.
VARIABLES: Final = {
    "#333333": "ink",
    colours.INK: "ink",
    "#595959": "muted",
    colours.FAINT_INK: "muted",
    "#e6e6e6": "line",
    colours.LINE: "rule",
    colours.GIVEN_TINT: "given",
    colours.PAPER: "surface",
    colours.WALL: "wall",
    colours.WRONG_TINT: "wrong-tint",
    colours.RIGHT_TINT: "right-tint",
    colours.FILLED: "blue",
    colours.WRONG: "orange",
    colours.START: "green",
    colours.GOAL: "pink",
    colours.CHANGED: "yellow",
    "#56b4e9": "sky",
}
_BY_COLOUR: Final = {colour.lower(): f"var(--{name})" for colour, name in VARIABLES.items()}
_COLOUR: Final = re.compile("|".join(map(re.escape, _BY_COLOUR)), re.IGNORECASE)
_SIZE: Final = re.compile(r'\s(?:width|height)="[\d.]+(?:pt)?"')
_TITLE: Final = re.compile(r"(<svg[^>]*>)\s*<title>([^<]*)</title>")
_VIEW: Final = re.compile(r'viewBox="0 0 ([\d.]+) ')


def inline_svg(svg: str, prefix: str, title: str) -> Markup:
    """An SVG document as an element of the page, as wide as its place allows.

    Screen readers get its own title, or where it has none `title`.
    """
    body = svg[svg.index("<svg") :]
    if own := _TITLE.match(body):
        title, body = unescape(own[2]), own[1] + body[own.end() :]
    for unwanted in (r"<metadata>.*?</metadata>", r"<style.*?</style>", r"<!--.*?-->"):
        body = re.sub(unwanted, "", body, flags=re.DOTALL)
    body = re.sub(r"font-family: ?[^;\"]*;? ?", "", body)
    body = re.sub(r'(?<=[\s"])id="', f'id="{prefix}-', body)
    body = body.replace("url(#", f"url(#{prefix}-").replace('href="#', f'href="#{prefix}-')
    opening, rest = body.split(">", 1)
    view = _VIEW.search(opening)
    assert view is not None, prefix
    width = round(float(view[1]) * (4 / 3 if "pt" in opening else 1))
    opening = _SIZE.sub("", opening).replace(' role="img"', "")
    opening += f' role="img" aria-label="{Markup.escape(title)}" style="max-width:{width}px"'
    return themed(f"{opening}>{_thinned(rest)}")


def themed(svg: str) -> Markup:
    """SVG with the colours of the palette as variables of the style sheet."""
    return Markup(_COLOUR.sub(lambda match: _BY_COLOUR[match[0].lower()], svg))


def _thinned(body: str) -> str:
    """Without the line breaks and indents of a file."""
    return re.sub(r"\s*\n\s*", "\n", body).replace(" \n", "\n").replace('\n"', '"').strip()
