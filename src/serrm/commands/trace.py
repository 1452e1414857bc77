"""How an answer settled, step by step, for `serrm solve`: grids in the terminal, a PNG of them, or a GIF that plays.

Every panel marks the cells that changed since the one before. (The depth of the paper's table 2, looked at cell by
cell.)
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from serrm.drawing.panels import Panel, question_panel, trace_panels
from serrm.files import new_file
from serrm.solving.answers import Trace

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PANELS = 12  # of a picture or in the terminal; a GIF has all steps at which something changed
PANELS_A_ROW = 4
MILLISECONDS, LAST_MILLISECONDS = 600, 3000  # that a frame of a GIF is shown, and its last


def telling_steps(trace: Trace, most: int | None) -> list[int]:
    """The steps worth showing: the first, the last, and those that changed something.

    If they are more than `most`, those of them that are the last up to 1, 2, 4, … steps.
    """
    predictions = trace.predictions
    last = len(predictions)
    changed = [
        step
        for step in range(2, last + 1)
        if not np.array_equal(predictions[step - 1], predictions[step - 2])
    ]
    steps = sorted({1, *changed, last})
    if most is None or len(steps) <= most:
        return steps
    powers = [2**power for power in range(last.bit_length())]
    return sorted({max(step for step in steps if step <= power) for power in powers} | {last})


def panels_of(trace: Trace, most: int | None = MAX_PANELS) -> list[Panel]:
    """The question, and the predictions after the telling steps."""
    shown = {step: trace.predictions[step - 1] for step in telling_steps(trace, most)}
    question = question_panel(trace.task, trace.side, trace.question)
    return [question, *trace_panels(trace.task, trace.side, trace.question, shown)]


def rows_of(panels: list[Panel]) -> list[list[Panel]]:
    """The panels in rows of a picture."""
    return [panels[start : start + PANELS_A_ROW] for start in range(0, len(panels), PANELS_A_ROW)]


def write_picture(trace: Trace, path: Path, title: str = "") -> None:
    """A trace as .png or .gif, by the suffix of the file, which appears whole or not at all.

    Raises ValueError for another suffix.
    """
    from serrm.drawing.figure import draw_figure, save_figure

    if path.suffix not in SUFFIXES:
        raise ValueError(f"a trace is written as {' or '.join(SUFFIXES)}, not as {path.suffix!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        save_figure(draw_figure(rows_of(panels_of(trace)), title), path)
        return
    frames = [_frame(panel, title) for panel in panels_of(trace, most=None)]
    with new_file(path) as partial:
        _save_frames(frames, partial)


SUFFIXES = (".png", ".gif")


def _frame(panel: Panel, title: str) -> "Image":
    from PIL import Image

    from serrm.drawing.figure import draw_figure, figure_bytes

    return Image.open(io.BytesIO(figure_bytes(draw_figure([[panel]], title), ".png"))).convert("RGB")


def _save_frames(frames: list["Image"], path: Path) -> None:
    """Frames differ in size with their captions: each lies at the top left of one that all fit on."""
    from PIL import Image

    from serrm.drawing.colours import PAPER

    size = max(frame.width for frame in frames), max(frame.height for frame in frames)
    canvases = []
    for frame in frames:
        canvas = Image.new("RGB", size, PAPER)
        canvas.paste(frame)
        canvases.append(canvas)
    times = [MILLISECONDS] * (len(frames) - 1) + [LAST_MILLISECONDS]
    first, *others = canvases
    first.save(path, format="GIF", save_all=True, append_images=others, duration=times, loop=0)
