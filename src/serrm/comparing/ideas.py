"""The table and the figure of the field's ideas: each against the plain model of the same family and profile.

reports/studies/ideas.csv says for each change of the profiles, and each method of test-time compute, what it is and
what its paper claims.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from serrm.comparing.effects import Group, effects, score_text, verdict
from serrm.core.files import existing
from serrm.reporting import figures
from serrm.reporting.formats import flops_text, markdown
from serrm.reporting.other_tables import searches_of
from serrm.reporting.paper import DASH, model_name
from serrm.reporting.results import Report, Score, difference, total_flops, total_seconds
from serrm.reporting.style import style
from serrm.scoring.intervals import Difference
from serrm.scoring.metrics import metrics_of
from serrm.scoring.schema import Evaluation

PROFILES: Final = ("ideas", "ideas_slow")
STUDY: Final = "reports/studies/ideas.csv"
FIGURE: Final = "ideas.svg"


class Idea(NamedTuple):
    """An idea in words, what its paper claims, and the paper's arXiv number; empty where no paper claims anything."""

    text: str
    claim: str
    paper: str


PLAIN: Final = Idea("Plain model", "", "")
TITLE: Final = "Ideas of the field"
TEXT: Final = (
    "Profiles [`ideas` and `ideas_slow`](../docs/experiments/ideas.md) have each idea alone as a change of TRM "
    "(RoPE2D, random halting) and of SE-RRM, with the same training FLOPs. The learning rates of all rows, the plain "
    "models' too, were chosen from the same three values on validation puzzles. Solved is the fully solved rate after"
    " 16 supervision steps, mean ± standard deviation over seeds; a difference has its 95% interval over puzzles and "
    "seeds. Seconds are those of a training with one thread, beside other work on the machine; steps and GFLOPs are "
    "those of all attempts at a puzzle. At test time the difference is that of several attempts from one, on the "
    "first 256 puzzles."
)
CAPTION: Final = (
    "Each idea's fully solved rate minus that of the plain model of the same family, trained with the same FLOPs "
    "(within 5%), with the 95% interval over puzzles and seeds. Ideas at test time have the plain models' weights "
    "and more steps."
)


class Row(NamedTuple):
    """An idea with a model of a family; a plain model has no difference."""

    idea: Idea
    family: str
    score: Score
    difference: Difference | None
    verdict: str
    num_seeds: int
    training_flops: float
    seconds: float | None
    steps: float
    """Supervision steps of all attempts at a puzzle, the mean."""
    flops: float
    """Of these steps."""


def read_ideas(root: Path) -> dict[str, Idea]:
    """Read the ideas by their change's or method's name. ValueError if a committed file is missing."""
    with existing(root / STUDY).open(encoding="utf-8") as file:
        return {row["change"]: Idea(row["idea"], row["claim"], row["paper"]) for row in csv.DictReader(file)}


def rows(reports: Sequence[Report], ideas: Mapping[str, Idea]) -> list[Row]:
    """List per family the plain model, its changes and its methods of test-time compute, in the profiles' order.

    Further reports have the plain models of the first one again, so only their changes are listed. A change or method
    that `ideas` lacks stands under its own name.
    """
    return [
        row
        for key, runs in reports[0].results.items()
        if key[1] == runs[0].model_info.family
        for report in reports
        if key in report.results
        for row in _rows_of_family(report, ideas, Group(key, {}, report.results[key]))
        if report is reports[0] or row.difference
    ]


def _rows_of_family(report: Report, ideas: Mapping[str, Idea], plain: Group) -> Iterator[Row]:
    data_set, family = plain.key
    groups = [
        Group(key, {}, runs)
        for key, runs in report.results.items()
        if key[0] == data_set and key[1] != family and runs[0].model_info.family == family
    ]
    first_run = plain.runs[0]
    steps = first_run.scored[first_run.main_set].headline_steps
    for effect in effects(plain, groups):
        if effect.score is not None:
            name = effect.group.key[1].removeprefix(f"{family}_")
            idea = PLAIN if effect.group is plain else ideas.get(name, Idea(name, "", ""))
            flops = steps * report.flops[effect.group.key](first_run.data.side)
            scores = effect.score, effect.difference, effect.verdict
            yield Row(idea, family, *scores, *_training(report, effect.group.runs), steps, flops)
    metric = metrics_of(first_run.task)[first_run.main_metric]
    for (*key, method), by_attempts in searches_of(report).items():
        if (*key,) == plain.key and method in (first_run.methods or {}):
            last = by_attempts[-1]
            once = by_attempts[0].score
            delta = difference(last.score, once, has_same_runs=True)
            scores = last.score, delta, verdict(delta, metric, last.score, once)
            idea = ideas.get(method, Idea(method, "", ""))
            yield Row(idea, family, *scores, *_training(report, plain.runs), last.mean_steps, last.flops)


def _training(report: Report, runs: Sequence[Evaluation]) -> tuple[int, float, float | None]:
    """Count seeds, mean training FLOPs and mean seconds; no seconds if one was not measured."""
    seconds = [total_seconds(run, report) for run in runs]
    known = [number for number in seconds if number is not None]
    mean = fmean(known) if len(known) == len(seconds) else None
    return len(runs), fmean(total_flops(run, report) for run in runs), mean


def section(rows: Sequence[Row]) -> str:
    """Write the table in Markdown below a heading, with the figure."""
    lines = [
        {
            "Idea": row.idea.text,
            "Model": model_name(row.family),
            "Its paper claims": _claim(row.idea),
            "Solved": score_text(row.score),
            "Difference (95%)": DASH if row.difference is None else f"{row.difference}",
            "Verdict": row.verdict,
            "Seeds": row.num_seeds,
            "Training FLOPs": flops_text(round(row.training_flops)),
            "Seconds": DASH if row.seconds is None else f"{row.seconds:.0f}",
            "Steps": f"{row.steps:.1f}",
            "GFLOPs": f"{row.flops / 1e9:.2g}",
        }
        for row in rows
    ]
    return f"## {TITLE}\n\n{TEXT}\n\n{markdown(pd.DataFrame(lines))}\n\n![{CAPTION}]({FIGURE})\n\n{CAPTION}"


def _claim(idea: Idea) -> str:
    return f"{idea.claim} ([{idea.paper}](https://arxiv.org/abs/{idea.paper}))" if idea.paper else DASH


def picture(rows: Sequence[Row]) -> str:
    """Draw differences with their intervals, a line per idea and a colour per family, as an SVG document."""
    texts = list(dict.fromkeys(row.idea.text for row in rows if row.difference))
    families = list(dict.fromkeys(row.family for row in rows))
    with matplotlib.rc_context(figures.LOOK):
        figure = Figure(figsize=(10.8, 0.42 * len(texts) + 1.6), layout="constrained")
        axes = figure.subplots()
        for row in rows:
            if row.difference:
                value, low, high = row.difference
                colour, marker = style(row.family)
                shift = 0.24 * (families.index(row.family) - (len(families) - 1) / 2)
                height = texts.index(row.idea.text) + shift
                axes.plot([low, high], [height, height], color=colour, linewidth=1.6)
                axes.plot(value, height, marker, color=colour, markersize=6)
        for family in families:
            colour, marker = style(family)
            axes.plot([], [], marker, color=colour, label=model_name(family))
        axes.axvline(0, color=figures.MUTED, linewidth=1)
        axes.set_yticks(range(len(texts)), texts)
        axes.invert_yaxis()
        axes.set_xlabel("Difference of the fully solved rate from the plain model (points)")
        return figures.svg_text(figures.framed(figure, TITLE, CAPTION))
