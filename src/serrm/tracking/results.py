"""Finished runs by their files: a checkpoint, the log and facts of its training, and its scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from serrm.core.files import parse_file
from serrm.core.project import Layout
from serrm.core.provenance import read_provenance
from serrm.scoring.schema import Evaluation, read_evaluation
from serrm.tracking.values import Value, fact_values, log_values, params_of, score_values
from serrm.training.identity import weights_sha256
from serrm.training.log import Record, read_training_log
from serrm.training.scratch import Training, trainings_of
from serrm.training.settings import CheckpointConfig

CONFIG: Final = "config.json"
MACHINE: Final = ("cpu", "host", "threads", "device")  # facts about the machine that are parameters in MLflow


class Result(NamedTuple):
    """What the files of a finished run say of it."""

    weights: str
    """The sha256 of the checkpoint's weights."""
    config: CheckpointConfig
    facts: dict[str, Any]
    """Machine, time, commit and identifier of the training; empty if it was trained elsewhere."""
    evaluation: Evaluation | None
    records: Sequence[Record]

    @property
    def duration(self) -> int:
        """Milliseconds of training; 0 if not known."""
        return int(1000 * self.facts.get("seconds", 0))

    @property
    def training(self) -> dict[str, Any]:
        """Length and circumstances of the training; empty for imported weights."""
        return self.config.training.model_dump() if self.config.training else {}

    def values(self) -> list[Value]:
        """List all metrics."""
        scores = score_values(self.evaluation) if self.evaluation else ()
        sizes = self.config.model_dump(exclude={"run", "training"})
        return [*log_values(self.records), *fact_values({**sizes, **self.training, **self.facts}), *scores]

    def params(self) -> dict[str, str]:
        """List the settings, and the machine and precision that ran."""
        circumstances = {key: self.facts.get(key) for key in MACHINE}
        circumstances |= {key: self.training.get(key) for key in ("precision", "native")}
        machine = {f"machine.{key}": str(value) for key, value in circumstances.items() if value is not None}
        return params_of(self.config.run) | machine


def result_files(layout: Layout, name: str) -> tuple[Path, Path, Path]:
    """Locate the files of a finished run: config.json, scores, training log."""
    return layout.runs / name / CONFIG, layout.scores / f"{name}.json", layout.logs / f"{name}.csv"


def read_result(layout: Layout, name: str) -> Result:
    """Read a finished run. ValueError if a file is malformed or there is no checkpoint."""
    config_file, scores, log = result_files(layout, name)
    config = parse_file(config_file, CheckpointConfig.model_validate_json)
    weights = weights_sha256(config_file.parent)
    evaluation = read_evaluation(scores) if scores.is_file() else None
    if evaluation and evaluation.training.weights_sha256 not in (None, weights):
        evaluation = None  # the scores of another training
    records = read_training_log(log) if log.is_file() else ()
    return Result(weights, config, training_facts(layout, name, weights), evaluation, records)


def training_facts(layout: Layout, name: str, weights: str) -> dict[str, Any]:
    """Read the facts about the training of the checkpoint in place; empty if it was trained elsewhere.

    Until the stage has written them, they are in the scratch folder.
    """
    facts: dict[str, Any] = read_provenance(layout.provenance, weights).get("training", {})
    if facts:
        return facts
    for training in trainings_of(layout.scratch, layout.profile, layout.root):
        if training.identity.run == name and has_ended(training, weights):
            return training.facts
    return {}


def has_ended(training: Training, weights: str) -> bool:
    """True if a training has made these weights, although its scratch folder is still there."""
    try:
        return any(weights_sha256(path) == weights for path in training.folder.glob("step_*"))
    except (OSError, ValueError):  # a folder that is being removed
        return False
