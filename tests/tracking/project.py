"""A run in the files of a project, written part by part as the stages do, and what MLflow holds of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from serrm.core.files import remove_directory, write_json, write_whole
from serrm.core.locks import lock
from serrm.core.project import Layout
from serrm.core.provenance import write_provenance
from serrm.scoring.schema import Evaluation, write_evaluation
from serrm.tracking.mirror import Mirror
from serrm.tracking.results import CONFIG
from serrm.training.identity import IDENTITY, LOCK, MODEL, SUMS, Identity
from serrm.training.log import Record, TrainingLog, write_training_log
from serrm.training.scratch import SETTINGS, read_facts, write_facts
from serrm.training.settings import RunSettings
from tests.references import EXAMPLE, RATES, SCORED, run_scores, write_examples

NAME = "sudoku-tiny-s0"
RECORDS: list[Record] = [{"step": step, "samples": 4 * step, "loss": 1 / step} for step in (2, 4, 6)]
LOSSES = [(2, 1 / 2), (4, 1 / 4), (6, 1 / 6)]


class TinyRun:
    """The files of a run of a profile of its own."""

    def __init__(self, root: Path, profile: str, settings: RunSettings) -> None:
        self.layout = Layout(profile, root)
        self.settings = settings.model_copy(update={"data_set": "sudoku", "variant": "tiny"})
        self.results: dict[str, Any] = {"steps": 6, "samples": 24, "flops": 100, "final_loss": 0.5}
        self.results |= {"arithmetic": "exact", "train_puzzles": 12, "precision": "float32", "device": "cpu"}
        self.results |= {"processes": 1, "micro_batch": None, "native": True}
        self.weights = "w" * 64
        self.measured = {"seconds": 1.5, "puzzle_steps_per_second": 16.0, "peak_memory_bytes": 10**8}
        self.folder = self.layout.scratch / f"{profile}-{self.settings.digest()[:8]}"

    @contextmanager
    def training(self, num_records: int = 0) -> Iterator[TrainingLog]:
        """A training in progress with some records so far."""
        write_facts(self.folder, self.layout.root)
        write_whole(self.folder / IDENTITY, self.identity().model_dump_json())
        write_whole(self.folder / SETTINGS, self.settings.model_dump_json())
        held = lock(self.folder / LOCK)
        assert held is not None
        with held:
            yield TrainingLog(self.folder, RECORDS[:num_records])

    def finish(self, *, is_training_elsewhere: bool = False) -> None:
        """Leave what the train stage leaves."""
        checkpoint, facts = self.layout.runs / NAME, read_facts(self.folder)
        config = {
            "run": self.settings.model_dump(mode="json"),
            "settings_digest": self.settings.digest(),
            "data_hash": "d" * 64,
            "num_symbols": 10,
            "side": 9,
            "parameters": 1000,
            "parameters_with_task_types": 1016,
            "training": self.results,
        }
        write_json(checkpoint / CONFIG, config)
        write_whole(checkpoint / SUMS, f"{self.weights}  {MODEL}\n")
        write_training_log(self.layout.logs / f"{NAME}.csv", RECORDS)
        if not is_training_elsewhere:
            write_provenance(self.layout.provenance, self.weights, "training", facts | self.measured)
        if self.folder.is_dir():
            remove_directory(self.folder)

    def identity(self) -> Identity:
        """The identity of the training."""
        digests = {"settings": self.settings.digest(), "data": "d", "code": "c", "arithmetic": "exact"}
        return Identity(profile=self.layout.profile, run=NAME, **digests)

    def train(self) -> None:
        """Train from beginning to end."""
        with self.training(len(RECORDS)):
            self.finish()

    def evaluate(self) -> None:
        """Leave what the evaluate stage leaves."""
        write_evaluation(self.layout.scores / f"{NAME}.json", self.scores())
        write_examples(self.layout.predictions / NAME, "sudoku", [EXAMPLE])

    def scores(self) -> Evaluation:
        """The scores of the checkpoint."""
        sets = {
            "4x4": {**SCORED, "side": 4, "steps": {"1": RATES, "16": RATES}},
            "9x9": {**SCORED, "steps": {"1": RATES, "16": RATES | {"fsr": 0.25}}},
            "25x25": {"status": "cannot_extrapolate", "side": 25, "reason": "no weights"},
        }
        kept = {key: self.results[key] for key in ("steps", "samples", "flops", "final_loss", "arithmetic")}
        training = kept | {"settings_digest": self.settings.digest(), "weights_sha256": self.weights}
        curve = [{"step": 6, "samples": 24, "loss": 0.5, "scores": RATES}]
        return run_scores(self.layout.profile, "tiny", sets, training=training, learning_curve=curve)

    def mirror(self, mirror: Mirror | None = None) -> None:
        """Bring MLflow up to date."""
        failures = [
            news for news in (mirror or Mirror(self.layout.root)).update([self.layout.profile]) if news[1]
        ]
        assert not failures

    def stored(self, client: MlflowClient) -> list[Run]:
        """The runs of the experiment, newest first."""
        experiment = client.get_experiment_by_name(f"serrm/{self.layout.profile}/sudoku")
        return list(client.search_runs([experiment.experiment_id])) if experiment else []

    def statuses(self, client: MlflowClient) -> list[str]:
        """The status of every run, newest first."""
        return [run.info.status for run in self.stored(client)]


def history(client: MlflowClient, run: Run, name: str) -> list[tuple[int, float]]:
    """The values of a metric by step."""
    return sorted((metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name))


def content(client: MlflowClient, tiny: TinyRun) -> Any:
    """All that MLflow holds of a profile's data set."""
    return [
        (run.to_dictionary(), {name: history(client, run, name) for name in run.data.metrics})
        for run in tiny.stored(client)
    ]
