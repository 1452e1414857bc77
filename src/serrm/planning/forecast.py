"""Forecast of the time that a profile takes: the FLOPs of its training runs and evaluations over this machine's rate.

The FLOPs of training are exact. Those of an evaluation on the data set's own test sets are an upper bound, because the
search stops at a verified answer. Test sets of users' files are left out, because their sizes are not known before the
stage `read_tests`. The number of published ARC-AGI puzzles that fit a canvas is unknown before the download, so the
numbers of examples and test inputs are estimates.
"""

import heapq
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from serrm.config import Params
from serrm.core.execution import Execution
from serrm.core.progress import duration
from serrm.core.project import TABLES_STAGE
from serrm.inference.settings import GUESS_STEPS, HEADLINE_STEPS, ScoringSettings
from serrm.planning.dvc import dvc
from serrm.planning.pipeline import stages_of_pipeline
from serrm.puzzles.raw import Counts
from serrm.puzzles.task import ArcTask
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.reporting.flops import model_on_meta, optimiser_flops, sizes_of, step_flops
from serrm.training.settings import RunSettings

# Seconds that a stage takes besides its FLOPs, for DVC, imports, reading and writing.
COMPUTING_SECONDS, DATA_SECONDS = 5.0, 1.5


@dataclass(frozen=True)
class Stage:
    """A stage: DVC's names of the stages before it, its run, and a function that counts its FLOPs."""

    after: frozenset[str]
    run: str = ""  # empty for a stage of the data or of the code
    count: Callable[[], int] = lambda: 0

    @property
    def flops(self) -> int:
        """Count the FLOPs, at each access: counting takes a moment, and those of finished stages are not needed."""
        return self.count()


Stages = dict[str, Stage]  # by name, such as train@sudoku-trm-s0


def stages_of(params: Params, root: Path) -> Stages:
    """List all stages of a profile except `tabulate`."""
    stages: Stages = {}
    for name, (stage, section, key, after) in stages_of_pipeline(root, params).items():
        if stage != TABLES_STAGE:
            run = key if section == "runs" else ""
            stages[name] = Stage(after, run, partial(_run_flops, params, stage, run) if run else lambda: 0)
    return stages


def _run_flops(params: Params, stage: str, name: str) -> int:
    """Count FLOPs of a stage of a run; none of a stage other than `train` and `evaluate`."""
    settings, counts = params.run_settings(name), params.counts(params.runs[name].data_set)
    if stage == "train":
        return training_flops(settings, counts)
    return evaluation_flops(settings, counts, params.scoring_settings(name)) if stage == "evaluate" else 0


def flops_by_run(params: Params) -> list[tuple[str, int, int, int, int]]:
    """List each run's name, steps, FLOPs of training, these with the trainings that it starts from, and the
    limit on the FLOPs of its evaluation."""
    flops = {name: _run_flops(params, "train", name) for name in params.runs}

    def in_all(name: str) -> int:
        init = params.initial_run(name)
        return flops[name] + (in_all(init) if init else 0)

    return [
        (
            name,
            params.run_settings(name).train.num_optimiser_steps(params.counts(run.data_set).num_train),
            flops[name],
            in_all(name),
            _run_flops(params, "evaluate", name),
        )
        for name, run in params.runs.items()
    ]


def training_flops(run_settings: RunSettings, counts: Counts) -> int:
    """Count FLOPs of all optimiser steps, with the optimiser's matrix products."""
    from serrm.training import flops

    steps = run_settings.train.num_optimiser_steps(counts.num_train)
    total = flops.training_flops(run_settings, sizes_of(run_settings, counts.side), steps, steps)
    return total + steps * optimiser_flops(run_settings, counts.side)


def evaluation_flops(run_settings: RunSettings, counts: Counts, scoring: ScoringSettings) -> int:
    """Count FLOPs of the sets at the most steps, the curve, equivariance, and a search that verifies no answer.

    All except the sets themselves are scored on the puzzles of the size trained on, if there are any.
    """
    settings, search = scoring.evaluate, scoring.evaluate.test_time_compute
    num = counts.tests.get(counts.side, 0)
    votes, passes, snapshots = 1, 1, run_settings.train.snapshots
    if isinstance(TASKS[run_settings.task], ArcTask):  # augmentations of a test input vote
        votes = run_settings.arrays.num_augmentations + 1
        passes = votes * len(settings.task_types)
    set_flops = sum(
        settings.puzzle_steps(num_puzzles) * step_flops(run_settings, side)
        for side, num_puzzles in counts.tests.items()
        if _takes_side(run_settings, counts.side, side)
    )
    steps = 2 * HEADLINE_STEPS * min(settings.equivariance_pairs, num)
    steps += snapshots * settings.curve_steps * min(settings.curve_puzzles, num) * votes
    if search is not None:
        guessing = search.attempt_steps + (max(search.attempts) - 1) * GUESS_STEPS if search.attempts else 0
        attempts = sum(method.steps * max(method.attempts) for method in search.methods.values())
        steps += (max(search.max_steps) + guessing + attempts) * min(search.num_puzzles, num)
    return passes * set_flops + steps * step_flops(run_settings, counts.side)


def _takes_side(run_settings: RunSettings, trained_side: int, side: int) -> bool:
    """True if a model trained on grids of one side takes those of another, by a model on device meta."""
    from serrm.inference.predict import refusal

    model = model_on_meta(run_settings, trained_side)
    return refusal(model, side, alphabet(run_settings.task, side).num_symbols) is None


def still_to_do(stages: Stages, root: Path) -> Stages:
    """List the stages that have changed by `dvc status`, and all after them. ValueError with DVC's reason."""
    try:
        status = dvc(root, "status", "--json")
    except ValueError as error:
        raise ValueError(f"{error} (with --tflops, no DVC is needed)") from None
    changed = json.loads(status)

    def is_left(name: str) -> bool:
        return name in stages and (name in changed or any(map(is_left, stages[name].after)))

    return {name: stage for name, stage in stages.items() if is_left(name)}


def ready_runs(stages: Stages) -> list[str]:
    """List the runs among unfinished stages that need no other training, in descending order of FLOPs."""
    flops, waiting = Counter[str](), set()
    for name, stage in stages.items():
        if stage.run:
            flops[stage.run] += stage.flops
        trainings = [before for before in stage.after if before.startswith("train@") and before in stages]
        if name.startswith("train@") and trainings:
            waiting.add(stage.run)
    return [run for run, _ in flops.most_common() if run not in waiting]


def rate_of(params: Params, stages: Stages, execution: Execution, tflops: float | None) -> tuple[float, str]:
    """Measure FLOPs per second and their source: `tflops`, or the best of a few training steps of the longest stage.

    The rate is that of an idle machine, and infinite if no stage has FLOPs.
    """
    if tflops is not None:
        return 1e12 * tflops, f"at {tflops:g} TFLOP/s"
    flops = {name: stage.flops for name, stage in stages.items() if stage.flops}
    if not flops:
        return math.inf, "nothing to train or score"
    from serrm.planning.trial import check_memory, open_trial, seconds_of_puzzle

    run_settings = params.run_settings(stages[max(flops, key=lambda name: flops[name])].run)
    side = params.counts(run_settings.data_set).side
    trainer = open_trial(run_settings, side, execution)
    check_memory(trainer, run_settings, execution.micro_batch)
    rate = step_flops(run_settings, side, in_training=True) / seconds_of_puzzle(trainer)
    return rate, f"this machine does about {with_prefix(rate)}FLOP/s in {trainer.settings.precision}"


def summary(profile: str, stages: Stages, rate: float, source: str, jobs: int = 1) -> str:
    """Write the forecast in one line, at a rate in FLOPs per second from `source`.

    Several jobs run at this rate each, and the next run starts when a job is free. That some runs must wait for others
    is ignored.
    """
    flops = {name: stage.flops for name, stage in stages.items()}
    seconds, run_seconds = 0.0, defaultdict[str, float](float)
    for name, number in flops.items():
        stage_seconds = number / rate + (COMPUTING_SECONDS if number else DATA_SECONDS)
        if run := stages[name].run:
            run_seconds[run] += stage_seconds
        else:
            seconds += stage_seconds
    ends = [0.0] * jobs
    for stage_seconds in sorted(run_seconds.values(), reverse=True):
        heapq.heapreplace(ends, ends[0] + stage_seconds)
    seconds += max(ends)
    num = sum(name.startswith("train@") for name in stages)
    needs = (
        f"{num} training run{'' if num == 1 else 's'}, at most {with_prefix(sum(flops.values()))}FLOP in all"
    )
    jobs_text = f", {jobs} runs at a time" if jobs > 1 else ""
    return f"profile {profile}: {needs}; {source}{jobs_text}: about {duration(seconds)}"


def with_prefix(number: int | float) -> str:
    """Write a number with three digits and the prefix of a unit, such as "38.2 T"."""
    rounded = float(f"{number:.3g}")  # before the prefix is chosen, as 999,600 is "1 M"
    power = int(math.log10(max(rounded, 1)) // 3)
    return f"{rounded / 1000**power:.3g} {['', *'kMGTPEZY'][power]}"
