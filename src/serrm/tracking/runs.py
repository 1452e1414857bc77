"""A run in MLflow: step metrics while it trains (`log_training`), and all the rest from its files (`sync_run`).

The experiment `serrm/<profile>/<task>` holds the runs of a task, so that MLflow's charts compare models on the same
puzzles. A run is found by one tag, `serrm.run`. While it trains, that is the digest of its settings, which its scratch
folder is named after: a resumed training goes on in the same run. Once it is finished it is `training_digest`, made
from what the checkpoint and the metric file both say of the training: the run is found when a checkpoint came out of
DVC's cache, and in a clone that has nothing but the metric file; a training done again is another run.
"""

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import mlflow
from filelock import FileLock
from mlflow.entities import Dataset, DatasetInput, LoggedModelOutput, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.time import get_current_time_millis
from sqlalchemy.exc import SQLAlchemyError

from serrm.layout import Layout
from serrm.project import current_commit
from serrm.reporting.names import duration, percent
from serrm.reporting.results import Evaluation, read_evaluation
from serrm.reporting.training_log import Record, read_training_log
from serrm.tracking.server import SQLITE, tracking_uri
from serrm.training.interrupt import Interrupted
from serrm.training.settings import TrainCell

log = logging.getLogger(__name__)
RUN, SYNCED, CURRENT, NOTE = "serrm.run", "serrm.synced", "serrm.current", "mlflow.note.content"
EXPERIMENT_TAGS: Final = {
    "mlflow.experimentKind": "custom_model_development",  # opens MLflow's view for model training
    NOTE: "A run is a training. Those with the tag `serrm.current` = `true` are what the files hold now.",
}
COUNTED = ("seconds", "samples", "steps", "operations", "puzzle_steps_per_second", "peak_memory_bytes")
SIZES = ("parameters", "parameters_with_task_types")
TAGGED = ("task", "model", "seed", "family", "device", "data_hash")
INTERVAL = 5.0  # seconds between two batches of step metrics
PICTURES = 2  # of each size of grid

# A failure is raised as well as logged there, and a request is repeated some times before it fails.
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


class StoreError(ValueError):
    """MLflow does not answer, or refuses."""


class RunFiles:
    """The files of one run of a profile; any of them may be missing."""

    def __init__(self, root: Path, profile: str, name: str) -> None:
        self.root, self.profile, self.name = root, profile, name
        layout = Layout(profile, root)
        self.checkpoint = layout.runs / name  # the finished training, a folder
        self.arrays = layout.arrays  # what it was trained on, a folder a task
        self.examples = layout.predictions / name / "examples.json"
        self.training_log = layout.reports / "training" / f"{name}.csv"
        self.metrics = layout.metrics / f"{name}.json"
        self.all = self.checkpoint / "config.json", self.training_log, self.metrics, self.examples

    @classmethod
    def found(cls, root: Path, profile: str = "*") -> list["RunFiles"]:
        """The runs that left a checkpoint or a metric file, of one profile or of all."""
        checkpoints = root.glob(f"data/{profile}/runs/*/config.json")
        metrics = root.glob(f"reports/{profile}/metrics/*.json")
        names = {(path.parents[2].name, path.parent.name) for path in checkpoints}
        return [cls(root, *each) for each in sorted(names | {(p.parents[1].name, p.stem) for p in metrics})]

    def config(self) -> dict[str, Any]:
        """config.json of the checkpoint; empty without a checkpoint."""
        path = self.checkpoint / "config.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}

    def evaluation(self) -> Evaluation | None:
        """The metric file, if it is there. ValueError naming it if it is malformed."""
        return read_evaluation(self.metrics) if self.metrics.is_file() else None

    def digest(self) -> str:
        """sha256 of all that a run is logged from."""
        parts = [hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b"-" for path in self.all]
        return hashlib.sha256(b"".join(parts)).hexdigest()


def training_digest(files: RunFiles, facts: Mapping[str, Any]) -> str:
    """sha256 of what names one finished training."""
    known = [facts.get(key) for key in ("data_hash", "steps", "samples", "seconds", "final_loss", "device")]
    return hashlib.sha256(json.dumps([files.profile, files.name, *known]).encode()).hexdigest()


@contextmanager
def log_training(files: RunFiles, task: str, settings: str) -> Iterator[Callable[[Record], None]]:
    """Log the records of a training as they come, and its files once it is done; `settings` is their digest.

    A training that is stopped leaves its run FAILED or KILLED. No failure of MLflow stops a training or loses its
    result: there is one warning, and `sync_run` can do it all later.
    """
    live = LiveRun(files, task, settings)
    status = "FAILED"
    try:
        yield live.log
        status = "FINISHED"
    except (KeyboardInterrupt, SystemExit, Interrupted):
        status = "KILLED"
        raise
    finally:
        live.close(status)


class LiveRun:
    """The run of a training in progress: its metrics go in batches, until MLflow fails."""

    def __init__(self, files: RunFiles, task: str, settings: str) -> None:
        self.files, self.sent = files, time.monotonic()
        self.pending: list[Metric] = []
        self.is_on = _succeeds(lambda: self._open(task, settings))

    def _open(self, task: str, settings: str) -> None:
        with open_store(self.files.root) as client:
            experiment = experiment_id(client, self.files.profile, task)
            known = _runs(client, experiment, RUN, settings)
            if not known:
                commit, has_changes = current_commit(self.files.root)
                git = {"mlflow.source.git.commit": commit, "git.dirty": str(has_changes).lower()}
                tags = {RUN: settings} | (git if commit else {})
                known = [client.create_run(experiment, run_name=self.files.name, tags=tags)]
            self.run_id = str(known[0].info.run_id)
            client.update_run(self.run_id, "RUNNING")
            # A resumed training repeats the records that it had.
            self.had = {metric.step for metric in client.get_metric_history(self.run_id, "train/loss")}

    def log(self, record: Record) -> None:
        """Note a record of the training log; what is noted goes to MLflow every few seconds."""
        if self.is_on and record["step"] not in self.had:
            self.pending += _metrics_of(record)
            if time.monotonic() - self.sent > INTERVAL:
                self.is_on = _succeeds(self._send)

    def close(self, status: str) -> None:
        """Send the rest. The files of a finished training are logged even if MLflow failed before, if it is back."""
        if self.is_on:
            self.is_on = _succeeds(lambda: self._send(status))
            if self.is_on and status == "FINISHED":
                sync_or_warn(self.files)
        elif status == "FINISHED":
            with suppress(StoreError):
                sync_run(self.files)

    def _send(self, status: str | None = None) -> None:
        with open_store(self.files.root) as client:
            client.log_batch(self.run_id, metrics=self.pending)
            if status is not None:
                client.set_terminated(self.run_id, status)
        self.pending, self.sent = [], time.monotonic()


def sync_or_warn(files: RunFiles) -> None:
    """Log a run's files, or leave a warning where MLflow fails."""
    _succeeds(lambda: sync_run(files))


def _succeeds(work: Callable[[], object]) -> bool:
    try:
        work()
    except StoreError as error:
        log.warning("MLflow logging disabled; run `serrm track sync` later: %s", error)
        return False
    return True


def sync_run(files: RunFiles) -> tuple[str, str]:
    """Bring a run in MLflow up to its files; its id, and "new", "updated" or "unchanged". Twice adds nothing.

    Raises StoreError if MLflow fails, ValueError if a file is malformed or there is neither checkpoint nor metric file.
    """
    config, evaluation = files.config(), files.evaluation()
    facts = _facts_of_checkpoint(config) if config else evaluation and _facts_of_scores(evaluation)
    if not facts:
        raise ValueError(f"{files.checkpoint}: no checkpoint here, and no scores: `dvc repro` makes them")
    digest = training_digest(files, facts)
    if evaluation and training_digest(files, _facts_of_scores(evaluation)) != digest:
        evaluation = None  # the scores of another training
    with open_store(files.root) as client:
        experiment = experiment_id(client, files.profile, facts["task"])
        known = _runs(client, experiment, RUN, digest)
        if config and not known:
            known = _runs(client, experiment, RUN, TrainCell.model_validate(config["cell"]).digest())
        done = {RUN: digest, SYNCED: files.digest(), CURRENT: "true"}
        run = known[0] if known else _new_run(client, experiment, files, facts)
        if run.data.tags.items() >= done.items():
            return str(run.info.run_id), "unchanged"
        run_id = str(run.info.run_id)
        metrics = _new_metrics(client, run, list(_metrics(files, evaluation, facts)))
        client.log_batch(run_id, metrics=metrics, params=list(_flattened(config.get("cell", {}))))
        _log_inputs_and_model(client, run, files, facts)
        if evaluation:
            client.set_tag(run_id, NOTE, _description(evaluation))
            client.log_artifact(run_id, str(files.metrics))
            _log_pictures(client, run_id, files.examples)
        for other in _runs(client, experiment, CURRENT, "true"):
            if other.info.run_name == files.name:
                client.set_tag(other.info.run_id, CURRENT, "false")
        tags = {key: str(facts[key]) for key in TAGGED} | done
        client.log_batch(run_id, tags=[RunTag(*tag) for tag in tags.items()])
        end = run.info.start_time + int(1000 * facts["seconds"])  # a run's duration is its training's
        client.set_terminated(run_id, "FINISHED", end)
    return run_id, "updated" if known else "new"


def _facts_of_checkpoint(config: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run and its training, as config.json has it."""
    cell, sizes = config["cell"], {key: config[key] for key in SIZES}
    about = {"task": cell["task"], "model": cell["variant"], "seed": cell["seed"]}
    about |= {"family": cell["model"]["family"], "data_hash": config["data_hash"]}
    return {**about, **sizes, **config["training"]}


def _facts_of_scores(evaluation: Evaluation) -> dict[str, Any]:
    """The same, as a metric file has it."""
    about = {"task": evaluation.task, "model": evaluation.model, "seed": evaluation.seed}
    about |= evaluation.model_info.model_dump() | {"data_hash": evaluation.data.hash}
    rate = evaluation.training.puzzles_per_second
    return about | evaluation.training.model_dump() | {"puzzle_steps_per_second": rate}


def _metrics(files: RunFiles, evaluation: Evaluation | None, facts: Mapping[str, Any]) -> Iterator[Metric]:
    """All metrics: the training log by optimiser step, scores by supervision step, the learning curve, and facts."""
    for record in read_training_log(files.training_log) if files.training_log.is_file() else ():
        yield from _metrics_of(record)
    counted = {f"train/{key}": facts.get(key) for key in COUNTED}
    yield from _at(0, counted | {f"model/{key}": facts[key] for key in SIZES})
    if evaluation is None:
        return
    for name, part in evaluation.scored.items():
        for depth, scores in part.steps.items():
            yield from _at(depth, scores, f"test/{name.replace(',', '')}/")  # a metric's name has no comma
    for point in evaluation.learning_curve:
        values = {key: value for key, value in point.items() if not key.endswith(("step", "_lo", "_hi"))}
        yield from _at(int(point["step"]), values, "curve/")


def _metrics_of(record: Record) -> list[Metric]:
    """A record of the training log."""
    values = {key: value for key, value in record.items() if key != "step"}
    return _at(int(record["step"]), values, "train/")


def _at(step: int, values: Mapping[str, int | float | None], prefix: str = "") -> list[Metric]:
    now = get_current_time_millis()
    return [Metric(f"{prefix}{key}", each, now, step) for key, each in values.items() if each is not None]


def _new_metrics(client: MlflowClient, run: Run, metrics: list[Metric]) -> list[Metric]:
    """The metrics that a run does not have at their steps."""
    had = {
        (name, metric.step, metric.value)
        for name in {metric.key for metric in metrics} & run.data.metrics.keys()
        for metric in client.get_metric_history(run.info.run_id, name)
    }
    return [each for each in metrics if (each.key, each.step, each.value) not in had]


def _flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterator[Param]:
    """Settings as parameters, nested keys joined by dots."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield Param(f"{prefix}{key}", str(value))


def _log_inputs_and_model(client: MlflowClient, run: Run, files: RunFiles, facts: Mapping[str, Any]) -> None:
    """Name the arrays and the checkpoint, which are DVC's and stay where they are."""
    run_id, task = run.info.run_id, facts["task"]
    if facts["data_hash"]:
        source = json.dumps({"path": (files.arrays / task).relative_to(files.root).as_posix()})
        data = Dataset(name=task, digest=facts["data_hash"][:36], source_type="dvc", source=source)
        client.log_inputs(run_id, datasets=[DatasetInput(data)])
    if (files.checkpoint / "config.json").is_file() and not (run.outputs and run.outputs.model_outputs):
        place = {"checkpoint": files.checkpoint.relative_to(files.root).as_posix()}
        model = mlflow.create_external_model(
            files.name, run_id, tags=place, experiment_id=run.info.experiment_id
        )
        client.log_outputs(run_id, [LoggedModelOutput(model.model_id, step=0)])


def _log_pictures(client: MlflowClient, run_id: str, examples: Path) -> None:
    """Drawings of the predictions that an evaluation kept: the first of each size of grid."""
    from serrm.drawing.files import read_examples
    from serrm.drawing.svg import scene_svg

    drawn = Counter[int]()
    for number, scene in enumerate(read_examples(examples) if examples.is_file() else ()):
        side = scene.items[0].puzzle.side
        drawn[side] += 1
        if drawn[side] <= PICTURES:
            client.log_text(run_id, scene_svg(scene), f"examples/{number:02d}.svg")


def _description(evaluation: Evaluation) -> str:
    """A run's note: what was trained, and the scores of each set after its last step."""
    training, size = evaluation.training, evaluation.model_info.parameters
    trained = (
        f"{size:,} parameters, {training.steps:,} steps, {duration(training.seconds)} on {training.device}"
    )
    lines = [f"{evaluation.model} on {evaluation.task}, seed {evaluation.seed}: {trained}.", ""]
    for name, part in evaluation.scored.items():
        depth, scores = max(part.steps.items())
        rates = [key for key in scores if f"{key}_lo" in scores]
        words = [f"{key} {percent(scores[key], scores[f'{key}_lo'], scores[f'{key}_hi'])}" for key in rates]
        lines.append(f"- {name}, {part.num_puzzles:,} puzzles, {depth} steps: {', '.join(words)}")
    return "\n".join([*lines, *(f"- {note}" for note in evaluation.notes)])


def _new_run(client: MlflowClient, experiment: str, files: RunFiles, facts: Mapping[str, Any]) -> Run:
    """A run that ended when its files were written."""
    end = max(path.stat().st_mtime for path in files.all if path.is_file())
    return client.create_run(experiment, int(1000 * (end - facts["seconds"])), run_name=files.name)


def _runs(client: MlflowClient, experiment: str, tag: str, value: str) -> list[Run]:
    """The runs of an experiment with a value of a tag, newest first."""
    return list(client.search_runs([experiment], f"tags.`{tag}` = '{value}'"))


@contextmanager
def open_store(root: Path) -> Iterator[MlflowClient]:
    """MLflow's client on the project's store. A failure of MLflow is a StoreError of one line that names the store."""
    uri = tracking_uri(root)
    mlflow.set_tracking_uri(uri)
    try:
        if uri.startswith(SQLITE):
            create_database(Path(uri.removeprefix(SQLITE)))
        yield MlflowClient(uri)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        raise StoreError(f"MLFLOW_TRACKING_URI: {uri}: {str(error).splitlines()[0]}") from error


def create_database(path: Path) -> None:
    """MLflow's database, where there is none: whole or not at all, as a half-made one can never be opened again."""
    with FileLock(f"{path}.lock"):  # several processes that made it at once would break it
        if not path.exists():
            partial = Path(f"{path}.new")
            partial.unlink(missing_ok=True)
            MlflowClient(f"{SQLITE}{partial}").search_experiments(max_results=1)
            partial.replace(path)


def experiment_id(client: MlflowClient, profile: str, task: str) -> str:
    """The experiment of a profile and task, made where missing; artifacts lie beside a database, or on the server."""
    name, uri = f"serrm/{profile}/{task}", mlflow.get_tracking_uri()
    database = Path(uri.removeprefix(SQLITE))
    place = database.with_name("mlruns").as_uri() if uri.startswith(SQLITE) else None
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, place, EXPERIMENT_TAGS))
        except MlflowException:
            found = client.get_experiment_by_name(name)  # which another process has just made
            if found is None:
                raise
    return str(found.experiment_id)
