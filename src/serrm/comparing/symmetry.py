"""Symbol equivariance by the number of training puzzles: tied against untied SE-RRM in the profiles `factorial_…`."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from serrm.reporting import figures
from serrm.reporting.results import Report, headline_score
from serrm.reporting.style import style

PREFIX: Final = "factorial_"
FIGURE: Final = "symmetry.svg"
# The variant whose colour and marker each form has, and the factor by which its points stand aside.
LOOKS: Final = {"tied": ("se_rrm", 0.94), "untied": ("se_rrm_untied", 1.06)}
REMARK: Final = (
    "A point is a seed; the lines join the means. Profiles factorial_symmetry, _puzzles and _more_puzzles."
)


class Cell(NamedTuple):
    """The scores of all seeds, in percent, with this number of training puzzles and of symmetric copies of each."""

    num_puzzles: int
    num_copies: int
    symbols: str
    scores: tuple[float, ...]


def cells(reports: Mapping[str, Report]) -> list[Cell]:
    """Collect the cells of all profiles, by number of puzzles."""
    return sorted(cell for name, report in reports.items() if name.startswith(PREFIX) for cell in _of(report))


def _of(report: Report) -> Iterator[Cell]:
    for (data_set, variant), runs in report.results.items():
        settings, result = report.settings[data_set, variant], headline_score(runs)
        if result:
            scores = tuple(value for value, *_ in result.seeds)
            copies, symbols = settings["arrays"]["num_augmentations"], settings["model"]["symbols"]
            yield Cell(runs[0].data.train_puzzles, copies, symbols, scores)


def picture(cells: Sequence[Cell]) -> str:
    """Draw a panel without and one with copies, as an SVG document."""
    copies = sorted({cell.num_copies for cell in cells})
    numbers = sorted({cell.num_puzzles for cell in cells})
    with matplotlib.rc_context(figures.LOOK):
        figure = Figure(figsize=(9.2, 3.8), layout="constrained")
        panels = figure.subplots(1, len(copies), squeeze=False, sharey=True)[0]
        for axes, num_copies in zip(panels, copies, strict=True):
            for symbols, (variant, shift) in LOOKS.items():
                colour, marker = style(variant)
                shown = [cell for cell in cells if (cell.num_copies, cell.symbols) == (num_copies, symbols)]
                means = [(cell.num_puzzles * shift, fmean(cell.scores)) for cell in shown]
                axes.plot(*zip(*means, strict=True), color=colour, label=f"{symbols} symbols")
                for cell in shown:
                    position = [cell.num_puzzles * shift] * len(cell.scores)
                    axes.plot(position, cell.scores, marker, color=colour, markersize=5, alpha=0.6)
            axes.set(xscale="log", ylim=(-3, 103), xlabel="Training puzzles")
            axes.set_xticks(numbers, [f"{number:,}" for number in numbers])
            axes.minorticks_off()
            axes.set_title(f"{num_copies:,} symmetric copies of each" if num_copies else "no copies")
        panels[0].set_ylabel("Fully solved rate (%)")
        return figures.svg_text(figures.framed(figure, "Symbol equivariance by training puzzles", REMARK))
