"""Forecast of the time that a profile takes: the FLOPs of its training runs and evaluations over this machine's rate.

The FLOPs of training are exact; those of an evaluation are an upper bound, because the search stops at a verified
answer. The number of published ARC-AGI puzzles that fit a canvas is unknown before the download, so the numbers of
examples and test inputs are averages.
"""

import heapq
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from serrm.config import Params
from serrm.core.execution import Execution
from serrm.core.progress import duration
from serrm.inference.settings import GUESS_STEPS, HEADLINE_STEPS, ScoringSettings
from serrm.models.halting import HaltingSettings
from serrm.puzzles.raw import Counts
from serrm.puzzles.task import ArcTask
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.training.settings import RunSettings

TASK_STAGES = ("download", "augment", "build_arrays")
TEST_STAGE = "read_tests"  # of a file of puzzles
CODE_STAGE = "hash_code"  # of all runs
DATA_STAGES = (*TASK_STAGES, TEST_STAGE, CODE_STAGE)
# Seconds that a stage takes besides its FLOPs, for DVC, imports, MLflow, the trial step, reading and writing.
COMPUTING_SECONDS, DATA_SECONDS = 5.0, 1.5
MOST_AT_ONCE = 32  # puzzles per batch in the trial


@dataclass(frozen=True)
class Stage:
    """The stages before this one, named as DVC names them, and what counts its FLOPs."""

    after: list[str]
    count: Callable[[], int] = lambda: 0

    @property
    def flops(self) -> int:
        """The FLOPs, which take a moment to count; nobody asks for those of finished stages."""
        return self.count()


Stages = dict[str, Stage]  # by name, such as train@sudoku-trm-s0


def stages_of(params: Params) -> Stages:
    """The stages of a profile without `tabulate`."""
    stages: Stages = {CODE_STAGE: Stage([])}
    for task in params.tasks:
        names = [f"{stage}@{task}" for stage in TASK_STAGES]
        stages |= {name: Stage(names[:num]) for num, name in enumerate(names)}
    read = {f"{TEST_STAGE}@{name}": tests.task for name, tests in params.tests.items()}
    stages |= {name: Stage([]) for name in read}
    for name, run in params.runs.items():
        of_run = params.train_settings(name), params.counts(run.task)
        before = f"train@{run.init.removeprefix(f'{params.profile}/runs/')}"
        after = [CODE_STAGE, f"build_arrays@{run.task}", before]
        stages[f"train@{name}"] = Stage(after, partial(training_flops, *of_run))
        evaluation = partial(evaluation_flops, *of_run, params.evaluate_settings(name))
        tests = [stage for stage, task in read.items() if task == run.task]
        stages[f"evaluate@{name}"] = Stage([f"train@{name}", *tests], evaluation)
    return stages


def training_flops(run_settings: RunSettings, counts: Counts) -> int:
    """FLOPs of all optimiser steps."""
    examples = run_settings.train.num_steps(counts.num_train) * run_settings.train.batch_size
    return examples * _step(run_settings, counts.side, run_settings.train.halting)


def evaluation_flops(run_settings: RunSettings, counts: Counts, scoring: ScoringSettings) -> int:
    """FLOPs of every set at its most steps, learning curve, equivariance, and a search that finds no answer."""
    settings, search, num = scoring.evaluate, scoring.evaluate.test_time_compute, counts.tests[counts.side]
    votes, passes, snapshots = 1, 1, run_settings.train.snapshots
    if isinstance(TASKS[run_settings.kind], ArcTask):  # augmentations of a test input vote
        votes = run_settings.arrays.num_augmentations + 1
        passes = votes * len(settings.task_types)
    takes_all = run_settings.model.takes_larger_grids
    sizes = {side: of_side for side, of_side in counts.tests.items() if takes_all or side <= counts.side}
    of_sets = sum(number * _step(run_settings, side) for side, number in sizes.items())
    steps = 2 * HEADLINE_STEPS * min(settings.equivariance_pairs, num)
    steps += snapshots * settings.curve_steps * min(settings.curve_puzzles, num) * votes
    if search is not None:
        guessing = search.attempt_steps + (max(search.guesses) - 1) * GUESS_STEPS if search.guesses else 0
        steps += (max(search.max_steps) + guessing) * min(search.num_puzzles, num)
    return passes * max(settings.steps) * of_sets + steps * _step(run_settings, counts.side)


def _step(run_settings: RunSettings, side: int, halting: HaltingSettings | None = None) -> int:
    from serrm.models.registry import flops

    of_task = alphabet(run_settings.kind, side)
    num_special = len(of_task.special)
    return flops(run_settings.model, side**2, of_task.num_symbols, halting, num_special=num_special)


def still_to_do(stages: Stages, root: Path) -> Stages:
    """The stages that DVC finds changed, and all after them. ValueError with DVC's reason if `dvc status` fails."""
    command = [sys.executable, "-m", "dvc", "status", "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"dvc status failed: {done.stderr.strip()} (with --tflops, no DVC is needed)")
    changed = json.loads(done.stdout)

    def is_left(name: str) -> bool:
        return name in stages and (name in changed or any(map(is_left, stages[name].after)))

    return {name: stage for name, stage in stages.items() if is_left(name)}


def ready_runs(stages: Stages) -> list[str]:
    """The runs among stages still to do that wait for no other training, the one with the most FLOPs first."""
    flops, waiting = Counter[str](), set()
    for name, stage in stages.items():
        kind, _, run = name.partition("@")
        if kind not in DATA_STAGES:
            flops[run] += stage.flops
        if kind == "train" and any(
            before in stages and before.startswith("train@") for before in stage.after
        ):
            waiting.add(run)
    return [run for run, _ in flops.most_common() if run not in waiting]


def rate_of(params: Params, stages: Stages, execution: Execution, tflops: float | None) -> tuple[float, str]:
    """FLOPs per second, given or measured by a few training steps of the longest stage, and where it comes from."""
    if tflops is not None:
        return 1e12 * tflops, f"at {tflops:g} TFLOP/s"
    from serrm.arrays.stream import random_stream
    from serrm.core.devices import prepare_device
    from serrm.kernels.accelerate import accelerate
    from serrm.kernels.precision import resolved_precision
    from serrm.training.loop import Trainer
    from serrm.training.run import build_run_model, seconds_of_step

    longest = max(stages, key=lambda name: stages[name].flops).partition("@")[2]
    run_settings, device = params.train_settings(longest), prepare_device(execution.device, execution.threads)
    side, asked = params.counts(run_settings.task).side, run_settings.train.precision
    precision = resolved_precision(asked, device)
    here = {"precision": precision, "batch_size": min(run_settings.train.batch_size, MOST_AT_ONCE)}
    settings = run_settings.train.model_copy(update=here)
    of_task = alphabet(run_settings.kind, side)
    num_special = len(of_task.special)
    stream = replace(random_stream(side, of_task.num_symbols), num_special=num_special)
    model = build_run_model(run_settings, stream).to(device).train()
    accelerate(model, is_native=execution.native)  # not compiled, which would take longer
    seconds = seconds_of_step(
        Trainer(model, stream, settings, run_settings.seed, micro_batch=execution.micro_batch)
    )
    rate = settings.batch_size * _step(run_settings, side, settings.halting) / seconds
    return rate, f"this machine does about {with_prefix(rate)}FLOP/s in {settings.precision}"


def summary(profile: str, stages: Stages, rate: float, source: str, jobs: int = 1) -> str:
    """The forecast in one line, at a rate in FLOPs per second; `source` names where the rate comes from.

    With several jobs, each run does that rate, and the next one starts when a job is free. Runs that wait for another
    run are counted as if they did not.
    """
    flops = {name: stage.flops for name, stage in stages.items()}
    seconds, of_runs = 0.0, dict.fromkeys((name.partition("@")[2] for name in flops), 0.0)
    for name, number in flops.items():
        stage, _, of = name.partition("@")
        took = number / rate + (COMPUTING_SECONDS if number else DATA_SECONDS)
        if stage in DATA_STAGES:
            seconds += took
        else:
            of_runs[of] += took
    ends = [0.0] * jobs
    for took in sorted(of_runs.values(), reverse=True):
        heapq.heapreplace(ends, ends[0] + took)
    seconds += max(ends)
    num = sum(name.startswith("train@") for name in stages)
    needs = (
        f"{num} training run{'' if num == 1 else 's'}, at most {with_prefix(sum(flops.values()))}FLOP in all"
    )
    at_once = f", {jobs} runs at a time" if jobs > 1 else ""
    return f"profile {profile}: {needs}; {source}{at_once}: about {duration(seconds)}"


def with_prefix(number: int | float) -> str:
    """ "38.2 T", "0.64 P": three digits and the prefix of a unit."""
    power = int(math.log10(max(number, 1)) // 3)
    return f"{number / 1000**power:.3g} {['', *'kMGTPEZY'][power]}"
