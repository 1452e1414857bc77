"""Our SVG pictures as pixels: PNG, and GIF that plays several. Knows the shapes that `svg` and `grids` write."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element, fromstring

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from PIL import Image

from serrm.drawing.colours import PAPER

Point = tuple[float, float]
SCALE: Final = 2  # pixels of the picture for one of the SVG
INHERITED: Final = ("fill", "font-size", "font-weight", "text-anchor")
ALIGNED: Final = {"start": "left", "middle": "center"}
MILLISECONDS, LAST_MILLISECONDS = 600, 3000  # that a frame of a GIF is shown, and its last


def png(svg: str) -> bytes:
    """An SVG as a PNG file."""
    root = fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    figure = Figure(figsize=(width / 72, height / 72), dpi=72 * SCALE)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    _draw(axes, root, 1.0, (0.0, 0.0), {})
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def gif(svgs: Sequence[str]) -> bytes:
    """SVGs that follow each other as a GIF. Where they differ in size, each lies at the top left."""
    frames = [Image.open(io.BytesIO(png(svg))).convert("RGB") for svg in svgs]
    size = max(frame.width for frame in frames), max(frame.height for frame in frames)
    canvases = [Image.new("RGB", size, PAPER) for _ in frames]
    for canvas, frame in zip(canvases, frames, strict=True):
        canvas.paste(frame)
    times, stream = [MILLISECONDS] * (len(frames) - 1) + [LAST_MILLISECONDS], io.BytesIO()
    canvases[0].save(stream, format="GIF", save_all=True, append_images=canvases[1:], duration=times, loop=0)
    return stream.getvalue()


def _draw(axes: Axes, element: Element, scale: float, at: Point, inherited: Mapping[str, str]) -> None:
    """An element and what is within, whose coordinates are in units of `scale` pixels from the point `at`."""
    own = element.attrib
    look = dict(inherited) | {name: own[name] for name in INHERITED if name in own}
    if found := re.match(r"scale\((.+)\)", own.get("transform", "")):
        scale *= float(found[1])
    elif element.tag.endswith("}svg") and "x" in own:
        left, top, width, _ = map(float, own["viewBox"].split())
        at, scale = _placed(own["x"], own["y"], scale, at), scale * float(own["width"]) / width
        at = at[0] - left * scale, at[1] - top * scale
    if element.tag.endswith("}text") and element.text:
        place, size = _placed(own["x"], own["y"], scale, at), float(look["font-size"]) * scale
        weight = "bold" if look.get("font-weight") == "700" else "normal"
        anchor = ALIGNED[look.get("text-anchor", "start")]
        axes.text(
            *place, element.text, color=look["fill"], size=size, weight=weight, ha=anchor, parse_math=False
        )
    elif (outline := _outline(element)) is not None:
        caps: Any = {"round": "round", "square": "projecting"}.get(own.get("stroke-linecap", ""), "butt")
        shape = Path(np.asarray(outline.vertices) * scale + at, outline.codes)
        width = float(own.get("stroke-width", 1)) * scale
        fill, edge = own.get("fill", "none"), own.get("stroke", "none")
        axes.add_patch(PathPatch(shape, fc=fill, ec=edge, lw=width, capstyle=caps, clip_on=False))
    for child in element:
        _draw(axes, child, scale, at, look)


def _placed(x: str, y: str, scale: float, at: Point) -> Point:
    return at[0] + scale * float(x), at[1] + scale * float(y)


def _outline(element: Element) -> Path | None:
    """The path of a shape; None for what is none."""
    kind, own = element.tag.rpartition("}")[2], element.attrib
    if kind == "path":
        return _path(own["d"])
    if kind == "circle":
        return Path.circle((float(own["cx"]), float(own["cy"])), float(own["r"]))
    if kind == "rect":
        return _path(f"M{own['x']} {own['y']}h{own['width']}v{own['height']}h-{own['width']}z")
    return None


def _path(d: str) -> Path:
    """The letters M, L, h, v, m, l and z of an SVG path, which are all that we write."""
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    x = y = 0.0
    for letter, words in re.findall(r"([MLhvmlz])([^A-Za-z]*)", d):
        numbers = [float(word) for word in re.findall(r"-?\d*\.?\d+", words)]
        across, down = {"h": (*numbers, 0.0), "v": (0.0, *numbers), "z": (0.0, 0.0)}.get(letter, numbers)
        x, y = (across, down) if letter in "ML" else (x + across, y + down)
        points.append((x, y))
        codes.append(int({"M": Path.MOVETO, "m": Path.MOVETO, "z": Path.CLOSEPOLY}.get(letter, Path.LINETO)))
    return Path(points, codes)
