"""Where a project keeps what MLflow mirrors, and what those files say of a cell's training."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from serrm.reporting.results import Evaluation, read_evaluation
from serrm.tracking.words import training_digest


class CellFiles:
    """The files of one cell of a profile; any of them may be missing."""

    def __init__(self, root: Path, profile: str, name: str) -> None:
        self.root, self.profile, self.name = root, profile, name
        data, reports = root / "data", root / "reports" / profile
        self.checkpoint = data / "runs" / profile / name  # the finished training, a folder
        # The id of the run that watched the training, in the store of that time.
        self.pointer = self.checkpoint.with_name(f"{name}.mlflow.json")
        self.arrays = data / "arrays" / profile  # what it was trained on, a folder
        self.training_log = (
            reports / "training" / f"{name}.csv"
        )  # loss and solved puzzles, every so many steps
        self.metrics = reports / "metrics" / f"{name}.json"
        self.examples = data / "predictions" / profile / name / "examples.json"  # predictions to draw

    def config(self) -> dict[str, Any] | None:
        """config.json of the checkpoint, if the checkpoint is there."""
        path = self.checkpoint / "config.json"
        if not path.is_file():
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(content, dict)
        return content

    def training(self) -> str | None:
        """The digest of the training whose checkpoint is there."""
        config = self.config()
        if config is None:
            return None
        return training_digest(self.profile, self.name, config["data_hash"], config["training"])

    def evaluation(self) -> Evaluation | None:
        """The metric file, if it is there. ValueError naming it if it is malformed."""
        return read_evaluation(self.metrics) if self.metrics.is_file() else None

    def digest(self) -> str:
        """sha256 of all that MLflow is told of the cell: unchanged, there is nothing to tell."""
        total = hashlib.sha256()
        for path in (self.checkpoint / "config.json", self.training_log, self.metrics, self.examples):
            total.update(hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b"-")
        return total.hexdigest()

    def missing(self) -> Iterator[str]:
        """The files that are not there, relative to the root."""
        for path in (self.checkpoint, self.training_log, self.metrics, self.examples):
            if not path.exists():
                yield path.relative_to(self.root).as_posix()


def training_of_evaluation(evaluation: Evaluation) -> str:
    """The digest of the training that a metric file tells of."""
    training = evaluation.training.model_dump()
    return training_digest(evaluation.profile, evaluation.name, evaluation.data.hash, training)


def cells_with_files(root: Path, profile: str) -> list[str]:
    """The cells of a profile that left a checkpoint or a metric file."""
    checkpoints = (root / "data" / "runs" / profile).glob("*/config.json")
    metrics = (root / "reports" / profile / "metrics").glob("*.json")
    return sorted({path.parent.name for path in checkpoints} | {path.stem for path in metrics})


def profiles_with_files(root: Path) -> list[str]:
    """The profiles of which there is any result."""
    places = [*(root / "data" / "runs").glob("*"), *(root / "reports").glob("*")]
    return sorted({place.name for place in places if cells_with_files(root, place.name)})
