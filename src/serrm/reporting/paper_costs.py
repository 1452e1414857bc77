"""Parameters and training FLOPs of the paper's runs (profile `paper`), which headlines and tables show beside ours.

Counting them takes torch, whose import takes longer than everything else in a headline. So counted_runs.json keeps what
was counted, with a hash of the settings that it follows from; with other settings it is counted again. `make docs`
writes the file.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from serrm.config import Params
from serrm.core.files import json_text, write_whole
from serrm.puzzles.tasks import alphabet
from serrm.training.settings import RunSettings

FILE: Final = "counted_runs.json"


class Cost(NamedTuple):
    """Size and cost of a training run: parameters without the task-type embeddings, and training FLOPs."""

    parameters: int
    flops: int


class CountedRun(NamedTuple):
    """What is counted of a run: parameters, and FLOPs of a supervision step in training on one puzzle."""

    settings: str  # their hash
    parameters: int
    flops_of_step: int


def paper_costs(paper_params: Params) -> Callable[[str, str], Cost | None]:
    """A function from task and variant to the cost of profile `paper`'s run, or to None if there is no such run."""
    # Profile `paper` names its data sets after their tasks.
    names = {(run.data_set, paper_params.variant(name)): name for name, run in paper_params.runs.items()}
    known = read_counted()

    @cache
    def cost(task: str, variant: str) -> Cost | None:
        name = names.get((task, variant))
        if name is None:
            return None
        run, counts = paper_params.run_settings(name), paper_params.counts(task)
        counted = known.get(name)
        if counted is None or counted.settings != _hash(run, counts.side):
            counted = count(run, counts.side)
        num_samples = run.train.num_optimiser_steps(counts.num_train) * run.train.batch_size
        return Cost(counted.parameters, num_samples * counted.flops_of_step)

    return cost


def count(run: RunSettings, side: int) -> CountedRun:
    """Count a run on grids of a side."""
    from serrm.models.flops import flops, num_parameters

    sizes = _sizes(run, side)
    step = flops(run.model, run.train.halting, **sizes)
    return CountedRun(_hash(run, side), num_parameters(run.model, **sizes), step)


def read_counted() -> dict[str, CountedRun]:
    """The contents of the file, by run."""
    text = (files("serrm.reporting") / FILE).read_text(encoding="utf-8")
    return {name: CountedRun(**values) for name, values in json.loads(text).items()}


def write_counted(paper_params: Params) -> None:
    """Count all runs of profile `paper` and write the file."""
    counted = {
        name: count(paper_params.run_settings(name), paper_params.counts(run.data_set).side)._asdict()
        for name, run in paper_params.runs.items()
    }
    write_whole(Path(__file__).with_name(FILE), json_text(counted))


def _hash(run: RunSettings, side: int) -> str:
    settings = [
        run.model.model_dump(mode="json"),
        run.train.halting.model_dump(mode="json"),
        _sizes(run, side),
    ]
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def _sizes(run: RunSettings, side: int) -> dict[str, int]:
    tokens = alphabet(run.task, side)
    return {
        "num_symbols": tokens.num_symbols,
        "num_positions": side**2,
        "num_special": len(tokens.special),
    }
