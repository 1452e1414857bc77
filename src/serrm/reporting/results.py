"""Evaluations and settings of a profile's runs, for tables and figures, and the scores in them.

A data set is an entry of `data_sets` in the params file, a task is a key of TASKS.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import isnan, nan
from pathlib import Path
from statistics import fmean, stdev
from typing import Final, NamedTuple

import numpy as np

from serrm.config import RANDOM, Params
from serrm.core.files import existing
from serrm.inference.settings import HEADLINE_STEPS
from serrm.models.families import FAMILIES
from serrm.reporting.flops import optimiser_flops, step_flops
from serrm.reporting.recipes import ComposedSettings, Setting, setting_differences
from serrm.scoring import intervals
from serrm.scoring.intervals import Difference, newcombe_correlation
from serrm.scoring.metrics import MEAN, interval, metrics_of
from serrm.scoring.schema import (
    ComputePoint,
    Evaluation,
    ProfileScores,
    ScoredSet,
    read_evaluation,
    read_profile_scores,
)
from serrm.scoring.significance import p_value

Key = tuple[str, str]  # data set (an entry of `data_sets`) and variant of a run
TUNING: Final = "reports/studies/tuning.csv"
TRAINING_TIMES: Final = "reports/studies/training_times.csv"
WIDE: Final = (
    30.0  # points; seeds that span more are printed one by one, because a mean hides that they differ
)
Results = dict[Key, list[Evaluation]]  # all seeds, in the order of the profile's runs


class Score(NamedTuple):
    """A score, rates in percent, with its 95% interval.

    The three numbers are rounded to two digits if `over_seeds` made it; `search_score` does not round.
    Over several seeds the value is the mean, `sd` the standard deviation, and the interval reaches from the lowest end
    of the seeds' intervals to the highest. `by_seed` has value and interval per seed, unrounded,
    if `over_seeds` made the score; the property `seeds` has them for any score.
    `puzzles_digest` is that of the puzzles and `outcomes` the mean credit per puzzle over the seeds, if they were kept.
    """

    value: float
    low: float
    high: float
    num_puzzles: int
    sd: float | None = None
    by_seed: tuple[tuple[float, ...], ...] = ()
    puzzles_digest: str | None = None
    outcomes: tuple[float, ...] | None = None
    is_rate: bool = True

    @property
    def seeds(self) -> tuple[tuple[float, ...], ...]:
        """Choose `by_seed`, or the score's own value and interval where that is empty."""
        return self.by_seed or ((self.value, self.low, self.high),)

    def __str__(self) -> str:
        """Write such as "61.33 (55.23–67.09)" or "61.20 ± 1.10 (54.02–68.11)", in brackets seeds that differ much."""
        spread = "" if self.sd is None else f" ± {self.sd:.2f}"
        ends = "" if isnan(self.low) else f" ({self.low:.2f}–{self.high:.2f})"
        values = sorted(value for value, *_ in self.seeds)
        is_wide = self.is_rate and values[-1] - values[0] > WIDE
        seeds = f" [{', '.join(f'{value:.1f}' for value in values)}]" if is_wide else ""
        return f"{self.value:.2f}{spread}{ends}{seeds}"


def score(
    runs: Sequence[Evaluation], metric: str, test_set: str | None = None, steps: int = HEADLINE_STEPS
) -> Score | None:
    """Score all seeds of a variant on a set, by default on the main one; None if a seed has no score."""
    sets = [run.scored.get(run.main_set if test_set is None else test_set) for run in runs]
    scored = [scored_set for scored_set in sets if scored_set and metric in scored_set.steps.get(steps, {})]
    if not scored or len(scored) < len(runs):
        return None
    by_seed = [in_percent(runs[0].task, metric, scored_set.steps[steps]) for scored_set in scored]
    is_rate = metrics_of(runs[0].task)[metric].statistic is not MEAN
    result = over_seeds(by_seed, scored[0].num_at(steps))._replace(is_rate=is_rate)
    if metric != runs[0].main_metric:
        return result
    return result._replace(puzzles_digest=scored[0].puzzles_digest, outcomes=_outcomes(scored, steps))


def headline_score(
    runs: Sequence[Evaluation], test_set: str | None = None, metric: str | None = None
) -> Score | None:
    """Compute the score of all seeds of a variant after the headline steps of a set; by default the main ones."""
    scored_set = runs[0].scored.get(runs[0].main_set if test_set is None else test_set)
    if scored_set is None:
        return None
    return score(runs, metric or runs[0].main_metric, test_set, scored_set.headline_steps)


def _outcomes(sets: Sequence[ScoredSet], steps: int) -> tuple[float, ...] | None:
    """Average the credit of every puzzle over seeds.

    None unless all seeds have outcomes after `steps` on the same puzzles.
    """
    outcomes = [seed for scored_set in sets if (seed := scored_set.outcomes_after(steps)) is not None]
    if len(outcomes) < len(sets) or len({scored_set.puzzles_digest for scored_set in sets}) > 1:
        return None
    return tuple(np.mean(outcomes, axis=0).tolist())


def difference(first: Score, second: Score, *, has_same_runs: bool = False) -> Difference:
    """Subtract the second score from the first, as paired samples if both have the outcomes of the same puzzles."""
    rho, seeds = _correlation(first, second), (first.seeds, second.seeds)
    value, low, high = intervals.difference(*seeds, correlation=rho, has_same_runs=has_same_runs)
    if first.is_rate and second.is_rate:  # no difference of percentages is larger
        low, high = max(low, -100.0), min(high, 100.0)
    return Difference(value, low, high)


def p_value_of(first: Score, second: Score, bound: float = 0.0, *, has_same_runs: bool = False) -> float:
    """Compute the p-value of the first score minus the second against a bound (`serrm.scoring.significance`)."""
    rho, seeds = _correlation(first, second), (first.seeds, second.seeds)
    return p_value(intervals.spread(*seeds, correlation=rho, has_same_runs=has_same_runs), bound)


def _correlation(first: Score, second: Score) -> float:
    """Correlate the outcomes of the same puzzles; 0 if they are not known to be the same."""
    if not are_pairs(first, second):
        return 0.0
    return newcombe_correlation(np.array(first.outcomes), np.array(second.outcomes))


def are_pairs(first: Score, second: Score) -> bool:
    """True if both scores have the outcomes of the same puzzles."""
    is_kept = None not in (first.puzzles_digest, first.outcomes, second.outcomes)
    return is_kept and first.puzzles_digest == second.puzzles_digest


def in_percent(task: str, metric: str, scores: Mapping[str, float]) -> tuple[float, float, float]:
    """Compute a metric's value and the ends of its interval, unrounded, rates in percent; NaN for unknown ends.

    `task` is a key of TASKS.
    """
    record = metrics_of(task)[metric]
    ends = interval(metric, record.statistic, scores)
    value, low, high = (record.statistic.factor * number for number in (scores.get(metric, nan), *ends))
    return value, low, high


def over_seeds(by_seed: Sequence[tuple[float, ...]], num_puzzles: int) -> Score:
    """Join the scores of several seeds; `by_seed` has value and interval per seed."""
    values, low, high = zip(*by_seed, strict=True)
    sd = round(stdev(values), 2) if len(values) > 1 else None
    numbers = round(fmean(values), 2), round(min(low), 2), round(max(high), 2)
    return Score(*numbers, num_puzzles, sd, tuple(by_seed))


def runs_on(results: Results, task: str, variant: str, test_set: str | None = None) -> list[Evaluation]:
    """Select all seeds of a variant on one data set of a task (a key of TASKS); none if it did not run on the task.

    It is the first data set that has the test set `test_set`, else the first on which the variant ran.
    """
    candidates = [runs for (_, name), runs in results.items() if (runs[0].task, name) == (task, variant)]
    return next(
        (runs for runs in candidates if test_set in runs[0].sets), candidates[0] if candidates else []
    )


def all_runs(results: Results) -> list[Evaluation]:
    """List the evaluations of all runs."""
    return [run for seeds in results.values() for run in seeds]


def search_score(search: ComputePoint) -> Score:
    """Score a search: its FSR in percent, unrounded."""
    return Score(100 * search.fsr, 100 * search.fsr_lo, 100 * search.fsr_hi, search.num_puzzles)


def read_runs(params: Params, folder: Path) -> list[Evaluation]:
    """Read the scores of a profile's runs, one file per run in a folder below data/, in the order of the profile.

    Test sets from users' files that are no longer in the profile are left out.

    Raises:
        ValueError: a file is missing, malformed, or of another run than its name says.
    """
    runs = []
    for name in params.runs:
        path = folder / f"{name}.json"
        run = read_evaluation(path)
        if (run.profile, run.name) != (params.profile, name):
            raise ValueError(f"{path}: holds run {run.name} of profile {run.profile}")
        sets = {key: scored for key, scored in run.sets.items() if scored.of_file in (None, *params.tests)}
        runs.append(run.model_copy(update={"sets": sets}))
    return runs


def check_settings(params: Params, runs: Iterable[Evaluation]) -> None:
    """Raise ValueError for scores of a training with other settings than those of the run in the profile."""
    for run in runs:
        if run.training.settings_digest != params.run_settings(run.name).digest():
            raise ValueError(
                f"runs.{run.name}: the scores are of other settings; `dvc repro` makes them anew"
            )


def read_gathered(params: Params, path: Path) -> list[Evaluation]:
    """Read the scores of a profile's runs from its `metrics.json`, in the order of the profile.

    Raises:
        ValueError: the file is missing, malformed, of another profile, or lacks a run.
    """
    scores = read_metrics(path)
    if scores.profile != params.profile:
        raise ValueError(f"{path}: is of profile {scores.profile}, not {params.profile}")
    if missing := [name for name in params.runs if name not in scores.runs]:
        raise ValueError(f"{path}: has no run {missing[0]}; `dvc repro` writes it")
    return [scores.runs[name] for name in params.runs]


def read_metrics(path: Path) -> ProfileScores:
    """Read a profile's `metrics.json`. ValueError if it is missing, malformed, or a pointer that Git LFS left."""
    if existing(path).read_bytes().startswith(b"version https://git-lfs"):
        raise ValueError(f"{path} is a Git LFS pointer: git lfs pull")
    return read_profile_scores(path)


def grouped(runs: Iterable[Evaluation]) -> Results:
    """Group runs by data set and variant."""
    results: Results = {}
    for run in runs:
        results.setdefault((run.data_set, run.variant), []).append(run)
    return results


@dataclass(frozen=True)
class Report:
    """The results of a profile's runs with their settings, and the differences of these from the paper's.

    `flops` has, by data set and variant, a function from the side of a grid to the FLOPs of a supervision step at
    inference.
    `flops_of_optimiser` has, likewise, a function to the FLOPs of the matrix products of the optimiser's step.
    `seconds` has the time of trainings by the run's name, where a study measured it, and `tuning` the rows of the
    study of tuning runs.
    `init` has the checkpoint below data/ of every run that does not start from random weights, by the run's name.
    `cost` is a function from task and variant to the cost of the paper's run, or None if there is none.
    """

    profile: str
    results: Results
    settings: Mapping[Key, ComposedSettings] = field(default_factory=dict)
    setting_differences: Mapping[Key, Sequence[Setting]] = field(default_factory=dict)
    flops: Mapping[Key, Callable[[int], int]] = field(default_factory=dict)
    flops_of_optimiser: Mapping[Key, Callable[[], int]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    tuning: Sequence[Mapping[str, str]] = ()
    init: Mapping[str, str] = field(default_factory=dict)


def read_study(path: Path, profile: str) -> list[dict[str, str]]:
    """Read the rows of a profile in a CSV file of reports/studies; none without the file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["profile"] == profile]


def make_report(
    params: Params, paper_params: Params, runs: Iterable[Evaluation], root: Path = Path()
) -> Report:
    """Gather a profile's runs and settings for tables and figures, and compare the latter with profile `paper`'s.

    `root` is the project's folder, with the studies of training times and tuning runs.
    """
    settings, differences, flops_of, flops_of_optimiser = {}, {}, {}, {}
    for name in params.runs:
        run = params.run_settings(name)
        key = run.data_set, run.variant
        paper = paper_params.settings_of_plain_run(run.task, run.model.family)
        composed = settings[key] = run.model_dump(mode="json")
        flops_of[key] = partial(step_flops, run)
        flops_of_optimiser[key] = cache(partial(optimiser_flops, run, params.counts(run.data_set).side))
        if paper is not None:
            num_examples = paper_params.counts(run.task).num_train
            differences[key] = setting_differences(composed, paper.model_dump(mode="json"), num_examples)
    init = {name: run.init for name, run in params.runs.items() if run.init != RANDOM}
    times = read_study(root / TRAINING_TIMES, params.profile)
    return Report(
        params.profile,
        grouped(runs),
        settings,
        differences,
        flops_of,
        flops_of_optimiser,
        {row["run"]: float(row["seconds"]) for row in times},
        read_study(root / TUNING, params.profile),
        init,
    )


def main_models(results: Results) -> list[str]:
    """List the families with a run of their name, and the other variant that is best on the first data set."""
    first, _ = next(iter(results))
    scores = {
        variant: headline_score(runs)
        for (data_set, variant), runs in results.items()
        if data_set == first and variant not in FAMILIES
    }
    values = {variant: result.value for variant, result in scores.items() if result}
    best = sorted(values, key=lambda variant: values[variant])[-1:]  # empty without another variant
    variants = {variant for _, variant in results}
    return [*(family for family in FAMILIES if family in variants), *best]


def headline_models(results: Results) -> list[str]:
    """List the main models, a family's replaced by the family's variant with more seeds on the first data set."""
    return list(dict.fromkeys(variant_with_most_seeds(results, name) for name in main_models(results)))


def has_several_seeds(results: Results) -> bool:
    """True if a headline model has more than one seed on a data set."""
    variants = headline_models(results)
    return any(len(seeds) > 1 for (_, variant), seeds in results.items() if variant in variants)


def variant_with_most_seeds(results: Results, family: str) -> str:
    """Find a family's variant with the most seeds on the first data set; among equals, the family's own name.

    Any other variant is returned as it is.
    """
    first, _ = next(iter(results), ("", ""))
    variants = [
        name
        for (data_set, name), (run, *_) in results.items()
        if data_set == first and run.model_info.family == family
    ]
    return max(variants, key=lambda name: (len(results[first, name]), name == family), default=family)


def training_flops(run: Evaluation, report: Report) -> int:
    """Count FLOPs of all matrix products of a training: the model's, which scores keep, and the optimiser's."""
    optimiser = run.training.optimiser_flops
    if optimiser is None:
        count = report.flops_of_optimiser.get((run.data_set, run.variant), lambda: 0)
        optimiser = run.training.steps * count()
    return run.training.flops + optimiser


def total_flops(run: Evaluation, report: Report) -> int:
    """Sum the FLOPs of a run and of those runs of the profile whose weights it starts from."""
    return sum(training_flops(member, report) for member in chain_of(run, report))


def total_seconds(run: Evaluation, report: Report) -> float | None:
    """Sum the seconds of the same runs; None if one was not measured."""
    seconds = [report.seconds.get(member.name) for member in chain_of(run, report)]
    return None if None in seconds else sum(filter(None, seconds))


def chain_of(run: Evaluation, report: Report) -> list[Evaluation]:
    """List a run and those runs of the profile whose weights it starts from, last first."""
    folder = f"{report.profile}/runs"
    runs = {f"{folder}/{member.name}": member for member in all_runs(report.results)}
    chain, checkpoint = list[Evaluation](), f"{folder}/{run.name}"
    while checkpoint in runs:
        chain.append(runs.pop(checkpoint))  # no run counts twice
        checkpoint = report.init.get(chain[-1].name, "")
    return chain
