"""Hard Sudoku solved against training FLOPs: our runs of profile `published`, the paper's models, and published peers.

Ours are looked up in the scores and in docs/experiments/hard_sudoku/guesses.json, the paper's in paper.yaml with
the FLOPs of profile `paper`, and the peers in docs/experiments/hard_sudoku/peers.csv, which names their sources.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from serrm.models.families import FAMILIES
from serrm.reporting import figures, tables
from serrm.reporting.paper import load_paper, model_name, style
from serrm.reporting.results import Report, over_seeds, score, search_score

PROFILE: Final = "published"
FOLDER: Final = Path("docs/experiments/hard_sudoku")
OURS, PAPERS, PEERS = "ours", "the paper", "others"
MARKERS: Final = {OURS: "o", PAPERS: "s", PEERS: "D"}
GREY: Final = "#767676"
TYPE_POINTS, LINE = 2.6, 10.5  # points of type per percent of the picture, and per line of a label
LETTER, GAP = 0.05, 0.1  # powers of ten of FLOPs that a letter of a label takes, and the gap before the label
CLOSE: Final = 8.0  # percent between markers beside each other
NUM_TRAINING: Final = 1_000  # puzzles of Sudoku-Extreme, in the paper and in profile `published`
OWN_TEST_FILE, SUBSTITUTE = "Sudoku-Extreme's test file", "a substitute for Sudoku-Extreme's test file"


class Point(NamedTuple):
    """A system with its training FLOPs and percent of puzzles solved, as in the CSV beside the picture."""

    by: str
    system: str
    family: str
    num_training: int
    flops: float
    is_estimated: bool
    solved: float
    low: float | None
    high: float | None
    num_puzzles: int | None
    has_search: bool
    puzzles: str
    source: str


def points(report: Report, root: Path) -> list[Point]:
    """All points: ours of profile `published`, the paper's, the peers'."""
    return [*_ours(report, root), *_papers(report), *_peers(root)]


def _ours(report: Report, root: Path) -> Iterator[Point]:
    for (_, model), runs in report.results.items():
        found = {"one attempt": score(runs, "fsr", "9x9")}
        if searches := [search for run in runs for search in run.guesses[-1:]]:
            ends = [search_score(each)[:3] for each in searches]
            attempts = f"at most {searches[0].num:,} attempts"
            found[attempts] = over_seeds(ends, searches[0].num_puzzles)
        family, flops = runs[0].model_info.family, float(tables.total_flops(runs[0], report))
        source = f"reports/{PROFILE}/metrics.json"
        for words, each in found.items():
            if each:
                name = f"{model_name(model)}, {words}" + f", {len(each.seeds)} seeds" * (len(each.seeds) > 1)
                has_search = words != "one attempt"
                yield Point(
                    OURS, name, family, NUM_TRAINING, flops, False, *each[:4], has_search, SUBSTITUTE, source
                )
    path = FOLDER / "guesses.json"
    search = json.loads((root / path).read_text(encoding="utf-8"))
    last, num = search["within"][-1], search["puzzles"]["first"]
    solved, low, high = (round(100 * last[name], 2) for name in ("fsr", "fsr_lo", "fsr_hi"))
    name, flops = f"{search['checkpoint']}, at most {last['steps']:,} steps", float(search["flops_training"])
    numbers = NUM_TRAINING, flops, False, solved, low, high, num
    yield Point(OURS, name, "se_rrm", *numbers, True, SUBSTITUTE, str(path))


def _papers(report: Report) -> Iterator[Point]:
    table, key = load_paper().score_tables["1"], "9x9/fsr"
    for row in table.rows:
        entry, cost = row.entries.get(key), report.cost("sudoku", row.variant)
        if cost and entry and entry.numbers:
            source = "table 1" + ", quoted there from the TRM paper" * entry.quoted
            name, family = f"{row.name}, the paper", row.variant.removesuffix("_mlp")
            solved, low, high, *_ = (*map(float, entry.numbers), None, None)
            numbers = NUM_TRAINING, float(cost.flops), False, solved, low, high, table.columns[key].num
            yield Point(PAPERS, name, family, *numbers, False, OWN_TEST_FILE, source)


def _peers(root: Path) -> Iterator[Point]:
    for row in pd.read_csv(root / FOLDER / "peers.csv").to_dict("records"):
        name, family = row["system"], "" if pd.isna(row["family"]) else row["family"]
        flops, solved = row["training FLOPs"], row["solved, percent"]
        num = None if pd.isna(row["n"]) else int(row["n"])
        is_estimated, has_search = row["estimated"] == "yes", row["search"] == "yes"
        numbers = row["training puzzles"], flops, is_estimated, solved, None, None, num
        yield Point(PEERS, name, family, *numbers, has_search, OWN_TEST_FILE, row["source"])


def to_csv(found: Sequence[Point]) -> str:
    """The points as a CSV file."""
    frame = pd.DataFrame(found).astype({"num_puzzles": "Int64"})
    frame["flops"] = [f"{each:.3e}".replace("e+", "e") for each in frame["flops"]]
    return tables.to_csv(frame)


def caption(found: Sequence[Point]) -> str:
    """Whose puzzles they are, and what is counted and what estimated."""

    def num(by: str, has_search: bool = False) -> str:
        sets = [point for point in found if (point.by, point.has_search) == (by, has_search)]
        return tables.counts(point.num_puzzles for point in sets)

    others = {
        point.system.partition(",")[0]: f"{point.num_training:,}"
        for point in found
        if point.num_training != NUM_TRAINING
    }
    of_others = "".join(f"; {system} on {number}" for system, number in others.items())
    return (
        f"Models were trained on {NUM_TRAINING:,} puzzles of Sudoku-Extreme{of_others}. Our models are scored on "
        f"{num(OURS)} puzzles of {SUBSTITUTE} ({num(OURS, True)} with guesses), the paper's models on all "
        f"{num(PAPERS)} puzzles of {OWN_TEST_FILE}, and other models on all or some of those. FLOPs count all matrix "
        "products; we compute the paper's FLOPs from its settings, and ≈ marks estimates. Bars show 95% intervals or, "
        "for several seeds, the range of their intervals. Sources are in docs/experiments/hard_sudoku/peers.csv."
    )


def picture(found: Sequence[Point]) -> str:
    """The points as an SVG document: colours by family, markers by whose they are, hollow with search."""
    with matplotlib.rc_context(figures.LOOK):
        figure = Figure(figsize=(9.2, 5.4), layout="constrained")
        axes, labels = figure.subplots(), dict[str, Point]()
        for point in found:
            colour = _colour(point.family)
            face = "white" if point.has_search else colour
            if point.low is not None and point.high is not None:
                axes.vlines(point.flops, point.low, point.high, color=colour, linewidth=1, alpha=0.6)
            marker = MARKERS[point.by]
            axes.plot(point.flops, point.solved, marker, markersize=7, markerfacecolor=face, color=colour)
            words = point.system.partition(",")[0] + " ≈" * point.is_estimated
            if point.by != OURS:
                labels.setdefault(words, point)
        for words, (is_left, below) in _places(labels).items():
            at, side = (labels[words].flops, labels[words].solved), "right" if is_left else "left"
            place = (-9 if is_left else 9, -3 - below)
            axes.annotate(
                words, at, place, textcoords="offset points", fontsize=8.5, horizontalalignment=side
            )
        for family in (*FAMILIES, ""):
            axes.plot([], [], "o", color=_colour(family), label=model_name(family) or "another model")
        for by, marker in MARKERS.items():
            axes.plot([], [], marker, color=figures.MUTED, label=by)
        axes.plot([], [], "o", color=figures.MUTED, markerfacecolor="white", label="with search")
        axes.set(xscale="log", xlim=(3e14, 1e20), xlabel="Training FLOPs")
        axes.set(ylim=(-3, 104), ylabel="Hard 9×9 Sudoku solved (%)")
        return figures.svg_text(figures.framed(figure, "Hard Sudoku by training FLOPs", caption(found)))


def _places(labels: Mapping[str, Point]) -> dict[str, tuple[bool, float]]:
    """Whether a label stands left of its marker, and how many points of type below it, so that no two overlap.

    It stands left if another marker is close at its right.
    """
    taken, places = list[tuple[float, float, float]](), dict[str, tuple[bool, float]]()
    for words, point in sorted(labels.items(), key=lambda item: -item[1].solved):
        is_left = any(
            1.3 < each.flops / point.flops < 3 and abs(each.solved - point.solved) < CLOSE
            for each in labels.values()
        )
        width, start = LETTER * len(words), math.log10(point.flops) + GAP
        start -= (2 * GAP + width) * is_left
        height = wanted = point.solved * TYPE_POINTS
        for first, last, other in sorted(taken, key=lambda each: -each[2]):
            if first < start + width and start < last and abs(height - other) < LINE:
                height = other - LINE
        taken.append((start, start + width, height))
        places[words] = is_left, wanted - height
    return places


def _colour(family: str) -> str:
    return style(family)[0] if family else GREY
