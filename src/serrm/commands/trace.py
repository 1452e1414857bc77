"""How an answer settled, step by step, for `serrm solve`: grids in the terminal, a PNG of them, or a GIF that plays.

Every panel marks the cells that changed since the one before. (The depth of the paper's table 2, looked at cell by
cell.)
"""

from pathlib import Path

import numpy as np

from serrm.drawing.panels import Panel, Puzzle
from serrm.solving.answers import Trace

MAX_PANELS = 12  # of a picture or in the terminal; a GIF has all steps at which something changed
PANELS_A_ROW = 4


def steps_worth_showing(trace: Trace, most: int | None) -> list[int]:
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
    """The question, and the predictions after the steps worth showing."""
    shown = {step: trace.predictions[step - 1] for step in steps_worth_showing(trace, most)}
    puzzle = Puzzle(trace.task, trace.side, trace.question)
    return [puzzle.question_panel(), *puzzle.trace_panels(shown)]


def write_picture(trace: Trace, path: Path, title: str = "") -> None:
    """A trace as .png or .gif, by the suffix of the file, which appears whole or not at all."""
    from serrm.drawing.picture import picture_svg
    from serrm.drawing.raster import gif, png
    from serrm.files import write_whole

    if path.suffix == ".png":
        panels = panels_of(trace)
        rows = [panels[start : start + PANELS_A_ROW] for start in range(0, len(panels), PANELS_A_ROW)]
        content = png(picture_svg(rows, title))
    else:
        content = gif([picture_svg([[panel]], title) for panel in panels_of(trace, most=None)])
    write_whole(path, content)
