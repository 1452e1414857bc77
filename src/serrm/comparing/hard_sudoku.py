"""Hard Sudoku solved against training FLOPs: our runs, the paper's models, and published peers; ours by rating too.

Ours are those of profiles `published` and `gpu_sudoku` and of reports/studies/hard_sudoku/guesses.json. The paper's
are in paper.yaml, with the FLOPs of profile `paper`, and the peers in reports/studies/hard_sudoku/peers.csv, which
names their sources.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from serrm.models.families import FAMILIES
from serrm.puzzles.sudoku.data import SUBSTITUTED
from serrm.reporting import figures, formats
from serrm.reporting.paper import load_paper, model_name, paper_cost
from serrm.reporting.results import Report, over_seeds, score, search_score, total_flops
from serrm.reporting.style import style
from serrm.scoring.metrics import wilson

SHOWN_PROFILES: Final = ("published", "gpu_sudoku")
FOLDER: Final = Path("reports/studies/hard_sudoku")
SEARCH: Final = FOLDER / "guesses.json"
OURS, PAPERS, PEERS = "ours", "the paper", "others"
MARKERS: Final = {OURS: "o", PAPERS: "s", PEERS: "D"}
SHAPES: Final = {OURS: "circle", PAPERS: "square", PEERS: "diamond"}
GREY: Final = "#767676"
LABEL_OFFSET: Final = 9  # type points from a marker to its label
# Labels that would hide another label or a marker to the right of their own: their side of the marker, and the type
# points by which they are lowered.
PLACES: Final = {
    "sudoku_extreme": ("right", 12.58),
    "Sotaku v2 ≈": ("left", 8.316),
    "TRM trained winner-take-all ≈": ("right", 5.69),
    "SE-RRM": ("left", 4.802),
    "TRM with Muon ≈": ("right", 5.56),
    "se_rrm_muon_hints": ("left", 0.0),
    "TRM (gpu_sudoku)": ("right", 4.026),
}
NUM_TRAINING: Final = 1_000  # puzzles of Sudoku-Extreme, in the paper and in SHOWN_PROFILES
OWN_TEST_FILE, SUBSTITUTE = "Sudoku-Extreme's test file", "a substitute for Sudoku-Extreme's test file"
RATINGS: Final = (0, 1, 10, 30, 40, 50, 60, 75, 1_000)
"""Where groups of ratings begin."""
LIMITS: Final = {16: "one attempt of 16 steps", 64: "64 steps with guesses", 256: "256 steps with guesses"}
RATINGS_CAPTION: Final = (
    "The packaged sudoku_extreme on the first 1,000 puzzles of a substitute for Sudoku-Extreme's test file, by the "
    "publisher's rating of difficulty, with 95% Wilson intervals. One network, so other seeds are not covered."
)


class RatedScore(NamedTuple):
    """How many of the puzzles with these ratings are solved within a limit on the steps of all attempts."""

    rating: str
    num_puzzles: int
    limit: int
    num_solved: int


@dataclass(frozen=True, kw_only=True)
class FlopsPoint:
    """A point of the picture, a system with its training FLOPs and percent of puzzles solved; a row of the CSV.

    `by` says who trained it: OURS, PAPERS or PEERS. `low` and `high` are the ends of the 95% interval, where known.
    """

    by: str
    system: str
    family: str
    num_training: int = NUM_TRAINING
    flops: float
    is_estimated: bool = False
    solved: float
    low: float | None = None
    high: float | None = None
    num_puzzles: int | None
    has_search: bool = False
    puzzles: str = OWN_TEST_FILE
    source: str


def points(reports: Mapping[str, Report], root: Path) -> list[FlopsPoint]:
    """Collect all points: ours of SHOWN_PROFILES and of the long search, the paper's, the peers'."""
    profile_points = [
        point for name in SHOWN_PROFILES if name in reports for point in _of_profile(name, reports[name])
    ]
    return [*profile_points, _long_search(root), *_papers(), *_peers(root)]


def _of_profile(profile: str, report: Report) -> Iterator[FlopsPoint]:
    for (_, variant), runs in report.results.items():
        scores = {"one attempt": score(runs, "fsr", "9x9")}
        if searches := [search for run in runs for search in run.attempts[-1:]]:
            by_seed = [search_score(search)[:3] for search in searches]
            attempts = f"at most {searches[0].num_attempts:,} attempts"
            scores[attempts] = over_seeds(by_seed, searches[0].num_puzzles)
        for attempts, result in scores.items():
            if result is None:
                continue
            where = "" if profile == SHOWN_PROFILES[0] else f" ({profile})"
            name = f"{model_name(variant)}{where}, {attempts}"
            yield FlopsPoint(
                by=OURS,
                system=f"{name}, {len(result.seeds)} seeds" if len(result.seeds) > 1 else name,
                family=runs[0].model_info.family,
                flops=float(total_flops(runs[0], report)),
                solved=result.value,
                low=result.low,
                high=result.high,
                num_puzzles=result.num_puzzles,
                has_search=attempts != "one attempt",
                puzzles=SUBSTITUTE if SUBSTITUTED in runs[0].data.source else OWN_TEST_FILE,
                source=f"reports/{profile}/metrics.json",
            )


def _long_search(root: Path) -> FlopsPoint:
    """Read the packaged checkpoint with the most guesses that were tried."""
    search = _read_search(root)
    last = search["within"][-1]
    return FlopsPoint(
        by=OURS,
        system=f"{search['checkpoint']}, at most {last['steps']:,} steps",
        family="se_rrm",
        flops=float(search["flops_training"]),
        solved=round(100 * last["fsr"], 2),
        low=round(100 * last["fsr_lo"], 2),
        high=round(100 * last["fsr_hi"], 2),
        num_puzzles=search["puzzles"]["first"],
        has_search=True,
        puzzles=SUBSTITUTE,
        source=str(SEARCH),
    )


def _read_search(root: Path) -> dict[str, Any]:
    """Read the search by the packaged checkpoint, with the steps and the rating of every puzzle."""
    search: dict[str, Any] = json.loads((root / SEARCH).read_text(encoding="utf-8"))
    return search


def _papers() -> Iterator[FlopsPoint]:
    table, key = load_paper().score_tables["1"], "9x9/fsr"
    for row in table.rows:
        entry, cost = row.entries.get(key), paper_cost("sudoku", row.variant)
        if cost and entry and entry.numbers:
            solved, *interval = map(float, entry.numbers)
            yield FlopsPoint(
                by=PAPERS,
                system=f"{row.name}, the paper",
                family=row.variant.removesuffix("_mlp"),  # trm_mlp is "TRM with MLP-mixer"
                flops=float(cost.flops),
                solved=solved,
                low=interval[0] if interval else None,
                high=interval[1] if interval else None,
                num_puzzles=table.columns[key].num,
                source="table 1, quoted there from the TRM paper" if entry.quoted else "table 1",
            )


def _peers(root: Path) -> Iterator[FlopsPoint]:
    for row in pd.read_csv(root / FOLDER / "peers.csv").to_dict("records"):
        yield FlopsPoint(
            by=PEERS,
            system=row["system"],
            family="" if pd.isna(row["family"]) else row["family"],
            num_training=row["training puzzles"],
            flops=row["training FLOPs"],
            is_estimated=row["estimated"] == "yes",
            solved=row["solved, percent"],
            num_puzzles=None if pd.isna(row["n"]) else int(row["n"]),
            has_search=row["search"] == "yes",
            source=row["source"],
        )


def to_csv(points: Sequence[FlopsPoint]) -> str:
    """Write the points as a CSV file."""
    frame = pd.DataFrame(points).astype({"num_puzzles": "Int64"})
    frame["flops"] = [formats.flops_text(int(flops), 4) for flops in frame["flops"]]
    return formats.to_csv(frame)


def caption(points: Sequence[FlopsPoint]) -> str:
    """Write the caption, which names the puzzles of each group, what FLOPs count and which are estimates."""

    def num_puzzles(by: str, has_search: bool = False) -> str:
        same = [point for point in points if (point.by, point.has_search) == (by, has_search)]
        return formats.counts_text(point.num_puzzles for point in same)

    names = sorted({point.puzzles for point in points if point.by == OURS})
    other_training_sets = {
        point.system.partition(",")[0]: f"{point.num_training:,}"
        for point in points
        if point.num_training != NUM_TRAINING
    }
    exceptions = "".join(f"; {system} on {number}" for system, number in other_training_sets.items())
    return (
        f"Models were trained on {NUM_TRAINING:,} puzzles of Sudoku-Extreme{exceptions}. Our models are scored on "
        f"{num_puzzles(OURS)} puzzles of {' or '.join(names)} ({num_puzzles(OURS, True)} with guesses), the paper's "
        f"models on all {num_puzzles(PAPERS)} puzzles of {OWN_TEST_FILE}, and other models on all or some of those. "
        "FLOPs count all matrix products, ours with those of Muon; we compute the paper's FLOPs from its settings, "
        "and ≈ marks estimates. Bars show 95% intervals or, for several seeds, the range of their intervals. Sources "
        "are in reports/studies/hard_sudoku/peers.csv."
    )


def picture(points: Sequence[FlopsPoint]) -> str:
    """Draw the points as an SVG document: colours by family, markers by whose they are, hollow with search."""
    with matplotlib.rc_context(figures.LOOK):
        figure = Figure(figsize=(9.2, 5.4), layout="constrained")
        axes, labels = figure.subplots(), dict[str, FlopsPoint]()
        papers_names = {point.system.partition(",")[0] for point in points if point.by == PAPERS}
        for point in sorted(
            points, key=lambda point: point.has_search
        ):  # hollow markers lie above filled ones
            colour = _colour(point.family)
            if point.low is not None and point.high is not None:
                axes.vlines(point.flops, point.low, point.high, color=colour, linewidth=1, alpha=0.6)
            marker = MARKERS[point.by]
            size = 10 if point.has_search else 6  # so that a hollow marker shows the one below it
            face = "none" if point.has_search else colour
            axes.plot(point.flops, point.solved, marker, markersize=size, markerfacecolor=face, color=colour)
            name = point.system.partition(",")[0]
            # Untuned models of `published` have the names of the paper's and stay without a label.
            if point.by != OURS or name not in papers_names:
                label = f"{name} ≈" if point.is_estimated else name
                labels[label] = max(labels.get(label, point), point, key=lambda system: system.flops)
        for label, point in sorted(labels.items(), key=lambda item: -item[1].solved):
            side, lowered = PLACES.get(label, ("right", 0.0))
            offset = (LABEL_OFFSET if side == "right" else -LABEL_OFFSET, -3 - lowered)
            alignment = "left" if side == "right" else "right"
            axes.annotate(
                label,
                (point.flops, point.solved),
                offset,
                textcoords="offset points",
                fontsize=8.5,
                horizontalalignment=alignment,
            )
        for family in (*FAMILIES, ""):
            axes.plot(
                [], [], "o", color=_colour(family), label=f"colour: {model_name(family) or 'another model'}"
            )
        for by, marker in MARKERS.items():
            axes.plot([], [], marker, color=figures.MUTED, label=f"{SHAPES[by]}: {by}")
        axes.plot([], [], "o", color=figures.MUTED, markerfacecolor="none", label="hollow: with search")
        axes.set(xscale="log", xlim=(7e13, 1e20), xlabel="Training FLOPs")
        axes.set(ylim=(-3, 104), ylabel="Hard 9×9 Sudoku solved (%)")
        return figures.svg_text(figures.framed(figure, "Hard Sudoku by training FLOPs", caption(points)))


def by_rating(root: Path) -> list[RatedScore]:
    """Score the packaged checkpoint by the publisher's rating of the puzzles, within each of LIMITS."""
    search = _read_search(root)
    puzzles = [*zip(search["ratings_of_puzzles"], search["steps_of_puzzles"], strict=True)]
    scores = []
    for low, end in pairwise(RATINGS):
        steps_of = [steps for rating, steps in puzzles if low <= rating < end]
        name = f"{low}" if end == low + 1 else f"{low} to {end - 1}" if end < RATINGS[-1] else f"{low}+"
        for limit in LIMITS:
            num_solved = sum(steps is not None and steps <= limit for steps in steps_of)
            scores.append(RatedScore(name, len(steps_of), limit, num_solved))
    return scores


def ratings_picture(scores: Sequence[RatedScore]) -> str:
    """Draw scores by rating as an SVG document, a line per limit on steps."""
    names = [*dict.fromkeys((score.rating, score.num_puzzles) for score in scores)]
    with matplotlib.rc_context(figures.LOOK):
        figure = Figure(figsize=(9.2, 4.0), layout="constrained")
        axes = figure.subplots()
        for index, (limit, what) in enumerate(LIMITS.items()):
            shown = [score for score in scores if score.limit == limit]
            values = [100 * score.num_solved / score.num_puzzles for score in shown]
            ends = np.array([wilson(score.num_solved, score.num_puzzles) for score in shown]).T * 100
            positions, errors = np.arange(len(shown)) + 0.12 * (index - 1), abs(ends - values)
            colour = to_rgba(style("se_rrm")[0], 1 - 0.3 * index)
            axes.errorbar(positions, values, errors, color=colour, marker="osD"[index], capsize=2, label=what)
        axes.set_xticks(range(len(names)), [f"{rating}\nn {num}" for rating, num in names])
        axes.set(xlabel="Rating by the publisher", ylim=(-3, 104), ylabel="Hard 9×9 Sudoku solved (%)")
        return figures.svg_text(figures.framed(figure, "Hard Sudoku by rating", RATINGS_CAPTION))


def _colour(family: str) -> str:
    return style(family)[0] if family else GREY
