"""The run of one cell while it is open: training, scores, pictures and description, as the stages come to know them."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec

from mlflow.entities import Dataset, DatasetInput, Metric, RunStatus, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.time import get_current_time_millis
from sqlalchemy.exc import SQLAlchemyError

from serrm.files import write_json
from serrm.reporting.results import Evaluation
from serrm.tracking.models import log_model
from serrm.tracking.store import (
    CURRENT,
    TRAINING,
    connect,
    known_run,
    new_run,
    one_line_failures,
    tagged_runs,
)
from serrm.tracking.words import cell_tags, description, headline, training_digest
from serrm.training.interrupt import Interrupted

P = ParamSpec("P")
log = logging.getLogger(__name__)
PICTURES = 2  # of each size of grid
BATCH = 500  # metrics sent at once; MLflow's limit is 1,000
FACTS = ("seconds", "samples", "steps", "operations", "puzzle_steps_per_second", "peak_memory_bytes")


@dataclass
class CellRun:
    """An open run: metrics are collected and sent in batches, and none that it has already."""

    client: MlflowClient
    profile: str
    run_id: str
    start: int  # in milliseconds since 1970
    # Of its training, which is what its duration tells; None, for now, while that is not finished.
    end: int | None = None
    logged: frozenset[str] = frozenset()  # metrics that the run had when it was opened
    known: dict[str, set[tuple[int, float]]] = field(default_factory=dict)  # (step, value) by metric
    pending: list[Metric] = field(default_factory=list)
    is_lost: bool = False  # the store failed, and hears of nothing more

    @classmethod
    def open(cls, client: MlflowClient, profile: str, run_id: str) -> "CellRun":
        """A run of the store, with the names of what has been logged to it."""
        run = client.get_run(run_id)
        return cls(
            client, profile, run_id, run.info.start_time, run.info.end_time, frozenset(run.data.metrics)
        )

    def tell(self, method: Callable[P, None], *values: P.args, **options: P.kwargs) -> None:
        """Log with one of the methods below, unless the store has failed: no result is lost for want of its mirror."""
        if self.is_lost:
            return
        try:
            method(*values, **options)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            self.is_lost = True
            reason = str(error).splitlines()[0]
            log.warning("MLflow failed, and is told no more (`serrm track sync` does it later): %s", reason)

    def history(self, name: str) -> set[tuple[int, float]]:
        """What the run had of a metric when it was opened, as (step, value); asked for once."""
        if name not in self.known:
            had = self.client.get_metric_history(self.run_id, name) if name in self.logged else []
            self.known[name] = {(metric.step, metric.value) for metric in had}
        return self.known[name]

    def log(self, values: Mapping[str, int | float | None], step: int = 0) -> None:
        """Note metrics; None is left out, and so is a value that the run has at this step."""
        now = get_current_time_millis()
        self.pending += [
            Metric(name, value, now, step)
            for name, value in values.items()
            if value is not None and (step, value) not in self.history(name)
        ]
        if len(self.pending) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Send what is noted."""
        for start in range(0, len(self.pending), BATCH):
            self.client.log_batch(self.run_id, metrics=self.pending[start : start + BATCH])
        self.pending.clear()

    def log_record(self, record: Mapping[str, int | float]) -> None:
        """A line of the training log, against optimiser steps; a resumed training repeats those it has had."""
        step = int(record["step"])
        if step > max((had for had, _ in self.history("train/loss")), default=-1):
            self.log({f"train/{k}": v for k, v in record.items() if k != "step"}, step=step)

    def log_training(self, config: Mapping[str, Any], name: str, checkpoint: Path, arrays: Path) -> None:
        """What a finished training was: sizes, speed, memory, data, checkpoint."""
        facts, data_hash = config["training"], config["data_hash"]
        self._log_facts(config["parameters"], config["parameters_with_task_types"], facts)
        self.tag(
            {
                "data_hash": data_hash,
                "code_hash": config["code_hash"],
                "device": facts["device"],
                TRAINING: training_digest(self.profile, name, data_hash, facts),
            }
        )
        source = json.dumps({"path": arrays.as_posix()})
        data = Dataset(name=arrays.name, digest=data_hash[:36], source_type="dvc", source=source)
        self.client.log_inputs(self.run_id, datasets=[DatasetInput(data)])
        log_model(self.client, self.run_id, name, checkpoint)
        self.end = self.start + int(1000 * facts["seconds"])
        self.become_current(name)

    def log_training_of(self, evaluation: Evaluation) -> None:
        """What a metric file says of its training, where there is no checkpoint to ask."""
        info, training = evaluation.model_info, evaluation.training
        facts = training.model_dump() | {"puzzle_steps_per_second": training.puzzles_per_second}
        self._log_facts(info.parameters, info.parameters_with_task_types, facts)
        self.tag({"data_hash": evaluation.data.hash, "device": training.device or ""})

    def _log_facts(self, parameters: int, with_task_types: int, facts: Mapping[str, Any]) -> None:
        sizes = {"model/parameters": parameters, "model/parameters_with_task_types": with_task_types}
        self.log({**sizes, **{f"train/{key}": facts.get(key) for key in FACTS}})

    def log_scores(self, metrics: Mapping[str, Any]) -> None:
        """The scores of an evaluation: each depth as a step, the deepest last, and the learning curve."""
        for name, scored in metrics["sets"].items():
            for depth, scores in scored.get("steps", {}).items():
                values = {f"test/{name.replace(',', '')}/{key}": value for key, value in scores.items()}
                self.log(values, step=int(depth))  # MLflow's names know no comma
            for depth, scores in scored.get("demonstrations", {}).get("steps", {}).items():
                # Of pairs trained on.
                self.log({f"train/{key}": value for key, value in scores.items()}, step=int(depth))
        for point in metrics["learning_curve"]:
            values = {key: value for key, value in point.items() if not key.endswith(("step", "_lo", "_hi"))}
            self.log({f"curve/{key}": value for key, value in values.items()}, step=point["step"])
        self.client.log_dict(self.run_id, dict(metrics), "metrics.json")

    def describe(self, evaluation: Evaluation) -> None:
        """What one compares runs by: tags, the scores on the set trained for, the description with its table."""
        of_set, scores = headline(evaluation)
        self.log(scores)
        tags = cell_tags(evaluation.task, evaluation.model, evaluation.seed, evaluation.model_info.family)
        self.tag(tags | {"score.set": of_set, "mlflow.note.content": description(evaluation)})
        self.become_current(evaluation.name)

    def become_current(self, name: str) -> None:
        """Of the runs of a cell, this is the one whose results the reports hold."""
        for other in tagged_runs(self.client, self.profile, "mlflow.runName", name):
            is_current = str(other.info.run_id == self.run_id).lower()
            if other.data.tags.get(CURRENT) != is_current:
                self.client.set_tag(other.info.run_id, CURRENT, is_current)

    def log_pictures(self, folder: Path) -> None:
        """Drawings of the examples that an evaluation kept in `folder`: the first of each size, as artifacts."""
        from serrm.drawing.files import read_examples
        from serrm.drawing.svg import scene_svg

        drawn: dict[int, int] = {}
        for number, scene in enumerate(read_examples(folder / "examples.json")):
            side = scene.items[0].puzzle.side
            drawn[side] = drawn.get(side, 0) + 1
            if drawn[side] <= PICTURES:
                self.client.log_text(self.run_id, scene_svg(scene), f"examples/{number:02d}.svg")

    def tag(self, tags: Mapping[str, str]) -> None:
        """Set tags; the run's description is the tag mlflow.note.content."""
        self.client.log_batch(self.run_id, tags=[RunTag(key, value) for key, value in tags.items()])


@contextmanager
def cell_run(
    root: Path,
    profile: str,
    name: str,
    pointer: Path,
    *,
    params: Mapping[str, Any] | None = None,
    training: str | None = None,
) -> Iterator[CellRun]:
    """The run of a cell: the one that `pointer` names, else the one of that `training`, else a new one.

    With `params`, those of a new run, `pointer` is made to name it; without, the file is only read (it is an output
    of the training then, and belongs to DVC). The run ends FINISHED, or FAILED or KILLED as the body does; if the
    store fails on the way, it stays RUNNING. ValueError if the store does not answer at the beginning.
    """
    client = connect(root)
    with one_line_failures():
        run_id = find_run(client, profile, pointer, training)
        if run_id is None:
            tags = {"dvc.stage": f"train@{profile}-{name}"} | ({TRAINING: training} if training else {})
            run_id = new_run(client, root, profile, name, tags, params or {})
        client.update_run(run_id, RunStatus.to_string(RunStatus.RUNNING))
        run = CellRun.open(client, profile, run_id)
    if params is not None:
        pointer.parent.mkdir(parents=True, exist_ok=True)
        write_json(pointer, {"run_id": run_id})
    run.end = run.end if params is None else None
    status = RunStatus.FAILED
    try:
        yield run
        status = RunStatus.FINISHED
    except (KeyboardInterrupt, SystemExit, Interrupted):
        status = RunStatus.KILLED
        raise
    finally:
        run.tell(run.flush)
        run.tell(client.set_terminated, run_id, RunStatus.to_string(status), run.end)


def find_run(client: MlflowClient, profile: str, pointer: Path, training: str | None) -> str | None:
    """The run that a pointer names, else the newest one of a training; None where the store has neither.

    Only the store in which a training ran knows the pointer's id; one made again from the files has the tag.
    """
    pointed = str(json.loads(pointer.read_text())["run_id"]) if pointer.is_file() else None
    if run_id := known_run(client, pointed):
        return run_id
    found = tagged_runs(client, profile, TRAINING, training) if training else []
    return str(found[0].info.run_id) if found else None
