"""The report's figures: curves (matplotlib), the architecture and equivariance (SVG written here)."""

from collections.abc import Callable
from typing import Final, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from serrm.reporting.figures.architecture import architecture_figure
from serrm.reporting.figures.compute import compute_figure
from serrm.reporting.figures.curves import depth_figure, learning_curves_figure
from serrm.reporting.figures.equivariance import equivariance_figure, recoloured_figure
from serrm.reporting.figures.style import LOOK, svg_text
from serrm.reporting.report import Report


class ReportFigure(NamedTuple):
    """How a figure is drawn, if there is data for it, and what it shows, for those who cannot see it."""

    draw: Callable[[Report], Figure | str | None]
    shows: str


# Every figure by its name; the page's template says where it stands.
FIGURES: Final = {
    "depth": ReportFigure(
        depth_figure,
        "Fully solved rate on 9×9 Sudoku against the number of supervision steps, ours with 95% intervals and "
        "the paper's; the numbers are those of table 2",
    ),
    "learning_curves": ReportFigure(
        learning_curves_figure,
        "Scores against samples processed for each task and model, ours with 95% intervals",
    ),
    "compute": ReportFigure(
        compute_figure,
        "Scores against puzzle-steps of training and against mean supervision steps at inference",
    ),
    "architecture": ReportFigure(
        architecture_figure,
        "Architecture of each model that was run, with the shapes, layers and cycles of its settings",
    ),
    "equivariance": ReportFigure(
        equivariance_figure,
        "Puzzles and the same with permuted symbols, with each model's predictions for both",
    ),
    "recoloured": ReportFigure(
        recoloured_figure,
        "An ARC-AGI task and the same in permuted colours, with each model's answers to both",
    ),
}


def build_figures(report: Report) -> dict[str, str]:
    """Every figure that the results have data for, by name, as an SVG document."""
    with matplotlib.rc_context(LOOK):
        drawn = {name: figure.draw(report) for name, figure in FIGURES.items()}
        return {
            name: svg_text(each) if isinstance(each, Figure) else each for name, each in drawn.items() if each
        }
