"""Which stages DVC has run with just these settings, as far as dvc.lock tells: quick, and blind to a change of code."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from serrm.planning.workload import Stage

# Where a stage leaves its result, under the root; (profile, task or cell).
RESULTS = {
    "download": "data/raw/{}/{}",
    "augment": "data/augmented/{}/{}",
    "build_arrays": "data/arrays/{}/{}",
    "train": "data/runs/{}/{}",
    "evaluate": "data/predictions/{}/{}",
}


def still_to_do(
    stages: Sequence[Stage], profile: str, locked: Mapping[str, str], root: Path
) -> Iterator[Stage]:
    """Stages without a result or with other settings than in dvc.lock (`locked`: md5 by path), and all behind them."""
    waiting: set[str] = set()
    for stage in stages:
        path = f"data/config/{profile}/{stage.settings}.json"
        is_known = locked.get(path) == hashlib.md5(stage.text.encode()).hexdigest()
        has_result = (root / RESULTS[stage.name].format(profile, stage.of)).exists()
        if not (is_known and has_result) or waiting & {stage.task, stage.of}:
            # Data stages are named after the task, which all its cells wait for; a training's evaluation has its name.
            waiting.add(stage.of)
            yield stage
