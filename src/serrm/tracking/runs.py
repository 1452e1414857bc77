"""A run in MLflow: step metrics while it trains (`log_training`), everything else from its files (`sync_run`).

The experiment `serrm/<profile>/<data_set>` has the runs on a data set, so that MLflow's charts compare models on the
same puzzles. One tag, `serrm.run`, identifies a run. During training its value is the digest of the settings, so a
resumed training continues its run. After training the value is `training_digest`, which follows from the checkpoint and
also from the scores, so that the run is found after a `dvc pull` and in a clone that has only `metrics.json`. Repeating
a training makes another run.
"""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import mlflow
import pandas as pd
from filelock import FileLock
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from mlflow.utils.time import get_current_time_millis
from sqlalchemy.exc import SQLAlchemyError

from serrm.core.files import json_text
from serrm.core.project import Layout, current_commit
from serrm.core.provenance import read_provenance
from serrm.core.settings import parse
from serrm.reporting.style import style
from serrm.scoring.metrics import metrics_of
from serrm.scoring.schema import METRICS_FILE, Evaluation, read_evaluation, read_profile_scores
from serrm.tracking import SQLITE, tracking_uri
from serrm.tracking.description import description, display_name, machine_params
from serrm.training.identity import weights_sha256
from serrm.training.log import GATHERED, Record, read_training_curve, read_training_log
from serrm.training.settings import RunSettings

log = logging.getLogger(__name__)
RUN_TAG: Final = "serrm.run"
# MLflow shows the kind beside the name; which page opens depends on the address (views.py).
EXPERIMENT_TAGS: Final = {"mlflow.experimentKind": "custom_model_development"}
COUNTS_OF_TRAINING = ("samples", "steps", "flops")
MEASURED_KEYS = ("seconds", "puzzle_steps_per_second", "peak_memory_bytes")  # known where the run was trained
SIZES = ("parameters", "parameters_with_task_types")
# Columns of MLflow's database with addresses of artifacts.
ADDRESSES: Final = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
)
COLOUR: Final = "mlflow.runColor"  # of a run in MLflow's charts
# Sections of the headline score in MLflow's charts, by the main metric of a task. They come first, because the names of
# all other sections come later in the alphabet.
SECTIONS: Final = {"fsr": "FSR", "pass_at_2": "Pass at 2"}
OTHER_SETS: Final = "Score"  # the section of all sets but the main one
FIRST_SECTIONS: Final = (*SECTIONS.values(), OTHER_SETS)
ENDS: Final = {"": "", "_lo": " from", "_hi": " to"}  # of the 95% interval, in the order of the alphabet
TAGGED = ("data_set", "variant", "seed", "family", "arithmetic", "data_hash")

# These loggers only repeat failures that are also raised, and retries that may still succeed.
for logger in ("mlflow", "alembic", "urllib3.connectionpool"):
    logging.getLogger(logger).setLevel(logging.CRITICAL)


class StoreError(ValueError):
    """MLflow does not answer, or refuses a request."""


def runs_with_results(root: Path, profile: str = "*") -> list[tuple[str, str]]:
    """(profile, name) of the runs of one profile, or of all, that have a checkpoint or scores."""
    names = {
        (path.parents[2].name, path.parent.name) for path in root.glob(f"data/{profile}/runs/*/config.json")
    }
    names |= {(path.parents[1].name, path.stem) for path in root.glob(f"data/{profile}/scores/*.json")}
    for path in root.glob(f"reports/{profile}/{METRICS_FILE}"):
        names |= {(path.parent.name, name) for name in read_profile_scores(path).runs}
    return sorted(names)


@contextmanager
def log_training(layout: Layout, name: str, settings: RunSettings) -> Iterator[Callable[[Record], None]]:
    """Log the records of a training as they come, and its files at the end.

    A training that stops early leaves its run FAILED. A failure of MLflow does not stop the training: there is one
    warning, logging ends, and the evaluation or `serrm track sync` logs the files later.
    """
    live = LiveRun(layout, name, settings)
    try:
        yield live.log
    except BaseException:
        live.call(lambda client: client.set_terminated(live.run_id, "FAILED"))
        raise
    live.call(lambda _: sync_run(layout, name, live.run_id))


class LiveRun:
    """The run of a training in progress; logging ends at the first failure of MLflow."""

    def __init__(self, layout: Layout, name: str, settings: RunSettings) -> None:
        self.layout, self.is_on = layout, True
        self.call(lambda client: self._open(client, name, settings))

    def _open(self, client: MlflowClient, name: str, settings: RunSettings) -> None:
        experiment = experiment_id(client, self.layout.profile, settings.data_set)
        run = _newest(client, experiment, settings.digest())
        if run is None:
            commit, has_changes = current_commit(self.layout.root)
            git = {"mlflow.source.git.commit": commit, "mlflow.source.git.dirty": str(has_changes).lower()}
            tags = {RUN_TAG: settings.digest(), COLOUR: style(settings.model.family)[0]} | (
                git if commit else {}
            )
            if note := description(self.layout.root, name, settings):
                tags[MLFLOW_RUN_NOTE] = note
            run = client.create_run(experiment, run_name=display_name(settings), tags=tags)
            params = [mlflow.entities.Param(*param) for param in machine_params(self.layout.root).items()]
            client.log_batch(run.info.run_id, params=params)
        self.run_id = run.info.run_id
        client.update_run(self.run_id, "RUNNING")
        # A resumed training repeats its earlier records.
        self.logged = {metric.step for metric in client.get_metric_history(self.run_id, "train/loss")}

    def log(self, record: Record) -> None:
        """Log a record of the training log."""
        self.call(
            lambda client: record["step"] in self.logged or client.log_batch(self.run_id, _of_record(record))
        )

    def call(self, action: Callable[[MlflowClient], object]) -> None:
        """Call `action` with MLflow's client, unless MLflow has failed before; a failure is a warning."""
        self.is_on = self.is_on and _run_or_warn(self.layout.root, action)


def sync_or_warn(layout: Layout, name: str) -> None:
    """Log a run's files; a failure of MLflow is a warning."""
    _run_or_warn(layout.root, lambda _: sync_run(layout, name))


def _run_or_warn(root: Path, action: Callable[[MlflowClient], object]) -> bool:
    try:
        with open_store(root) as client:
            action(client)
    except Exception as error:  # of any kind: tracking must never end a training or an evaluation
        reason = error if isinstance(error, StoreError) else repr(error)
        log.warning("MLflow logging disabled; run `serrm track sync` later: %s", reason)
        return False
    return True


def sync_run(layout: Layout, name: str, run_id: str | None = None) -> str:
    """Log everything in a run's files that MLflow does not have, and return the run's id. A repetition adds nothing.

    `run_id` is that of a training that has just ended; without it the run is found by its files.

    StoreError if MLflow fails, ValueError if a file is malformed or there is neither checkpoint nor scores.
    """
    checkpoint = layout.runs / name / "config.json"
    config = json.loads(checkpoint.read_text(encoding="utf-8")) if checkpoint.is_file() else {}
    evaluation = _evaluation(layout, name)
    facts = (
        _facts_of_checkpoint(config, checkpoint)
        if config
        else evaluation and _facts_of_evaluation(evaluation)
    )
    if not facts:
        raise ValueError(f"{checkpoint.parent}: no checkpoint here, and no scores: `dvc repro` makes them")
    digest = training_digest(layout.profile, name, facts)
    if evaluation and training_digest(layout.profile, name, _facts_of_evaluation(evaluation)) != digest:
        evaluation = None  # the scores of another training
    scored = evaluation.training.weights_sha256 if evaluation else None
    weights = weights_sha256(checkpoint.parent) if config else scored
    measured = read_provenance(layout.provenance, weights).get("training", {})
    duration_ms = int(1000 * measured.get("seconds", 0))
    with open_store(layout.root) as client:
        experiment = experiment_id(client, layout.profile, facts["data_set"])
        run = client.get_run(run_id) if run_id else _newest(client, experiment, digest)
        if run is None and config:  # not yet tagged as finished: its tag is the digest of the settings
            run = _newest(client, experiment, facts["settings_digest"])
        if run is None:
            time_written = _time_written(checkpoint if config else layout.metrics)
            run_name = f"{facts['data_set']}-{facts['variant']}-s{facts['seed']}"
            run = client.create_run(experiment, time_written - duration_ms, run_name=run_name)
        run_id = str(run.info.run_id)
        params = pd.json_normalize(config.get("run", {})).to_dict("index").get(0, {})  # keys joined by dots
        if precision := config.get("training", {}).get("precision"):
            params["machine.precision"] = precision  # that ran; train.precision may be auto
        tags = {RUN_TAG: digest, COLOUR: style(facts["family"])[0]} | {
            key: str(facts[key]) for key in TAGGED if facts.get(key) is not None
        }
        client.log_batch(
            run_id,
            _without_known(client, run, list(_metrics(layout, name, evaluation, {**facts, **measured}))),
            [mlflow.entities.Param(str(key), str(value)) for key, value in params.items()],
            [mlflow.entities.RunTag(*tag) for tag in tags.items()],
        )
        # The hash is that of the arrays, which are in DVC's cache.
        source = json.dumps({"path": f"data/{layout.profile}/arrays/{facts['data_set']}"})
        data = mlflow.entities.Dataset(
            facts["data_set"], facts["data_hash"][:36], source_type="dvc", source=source
        )
        client.log_inputs(run_id, datasets=[mlflow.entities.DatasetInput(data)])
        if evaluation:
            content = json_text(evaluation.model_dump(mode="json", exclude_none=True))
            client.log_text(run_id, content, f"{name}.json")
            _log_pictures(client, run_id, layout.predictions / name / "examples.json")
        # A run's duration is that of its training, if that is known.
        client.set_terminated(run_id, "FINISHED", run.info.start_time + duration_ms)
    return run_id


def _evaluation(layout: Layout, name: str) -> Evaluation | None:
    """The scores of a run from data/, or else from the committed file; None if there are none."""
    if (scores := layout.scores / f"{name}.json").is_file():
        return read_evaluation(scores)
    return read_profile_scores(layout.metrics).runs.get(name) if layout.metrics.is_file() else None


def _time_written(path: Path) -> int:
    """The time at which a file was written, in milliseconds; now if there is no file."""
    return int(1000 * path.stat().st_mtime) if path.is_file() else get_current_time_millis()


def training_digest(profile: str, name: str, facts: Mapping[str, Any]) -> str:
    """sha256 of what identifies a finished run: its settings, data and results."""
    keys = ("settings_digest", "data_hash", "steps", "samples", "flops", "final_loss")
    known = [facts.get(key) for key in keys]
    return hashlib.sha256(json.dumps([profile, name, *known]).encode()).hexdigest()


def _facts_of_checkpoint(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Facts about a run and its training, from config.json. ValueError naming a setting that is missing or wrong."""
    run = parse(RunSettings, config["run"], f"{path}: run")
    about = {"data_set": run.data_set, "variant": run.variant, "seed": run.seed, "family": run.model.family}
    return {**config, **config["training"], **about, "settings_digest": run.digest()}


def _facts_of_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """The same facts from the scores."""
    about = {"data_set": evaluation.data_set, "variant": evaluation.variant, "seed": evaluation.seed}
    about["data_hash"] = evaluation.data.hash
    training = evaluation.training.model_dump()
    return {**about, **evaluation.model_info.model_dump(), **training}


def _metrics(
    layout: Layout, name: str, evaluation: Evaluation | None, facts: Mapping[str, Any]
) -> Iterator[mlflow.entities.Metric]:
    """All metrics: the training log by optimiser step, scores by supervision step, the learning curve, and facts."""
    for record in _records(layout, name):
        yield from _of_record(record)
    yield from _metrics_at(
        0, "train/", {key: facts.get(key) for key in (*COUNTS_OF_TRAINING, *MEASURED_KEYS)}
    )
    yield from _metrics_at(0, "size/", {key: facts[key] for key in SIZES})
    if evaluation is None:
        return
    task, main = evaluation.task, evaluation.main_metric
    for of_set, part in evaluation.scored.items():
        set_name = of_set.replace(",", "")  # a metric's name has no comma
        headline = _in_percent(task, part.steps[part.headline_steps])
        section = SECTIONS[main] if of_set == evaluation.main_set and main in SECTIONS else OTHER_SETS
        bars = {
            set_name + suffix: round(headline[main + end], 2)
            for end, suffix in ENDS.items()
            if main + end in headline
        }
        yield from _metrics_at(0, f"{section}/", bars)  # MLflow draws a metric that has only step 0 as a bar
        for num_steps, scores in part.steps.items():
            yield from _metrics_at(num_steps, f"test/{set_name}/", _in_percent(task, scores))
    for point in evaluation.learning_curve:
        values = _in_percent(task, point.scores)
        curve = {key: value for key, value in values.items() if not key.endswith(("_lo", "_hi"))}
        yield from _metrics_at(
            point.step, "snapshots/", {"samples": point.samples, "loss": point.loss, **curve}
        )


def _in_percent(task: str, scores: Mapping[str, float]) -> dict[str, float]:
    """Scores with their intervals, rates in percent; without constants, such as the accuracy of guessing."""
    metrics = metrics_of(task)

    def factor(key: str) -> int:
        metric = metrics.get(key.removesuffix("_lo").removesuffix("_hi"))
        return metric.statistic.factor if metric else 1

    return {key: factor(key) * value for key, value in scores.items() if not key.endswith("_guess")}


def _records(layout: Layout, name: str) -> Sequence[Record]:
    """The training log of a run from data/, or else from the committed curves; empty if there is neither."""
    log, curves = layout.logs / f"{name}.csv", layout.reports / "curves" / GATHERED
    if log.is_file():
        return read_training_log(log)
    return read_training_curve(curves, name) if curves.is_file() else ()


def _of_record(record: Record) -> list[mlflow.entities.Metric]:
    rates = {f"train_{name}" for name in ("fsr", "gpa")}
    values = {key: 100 * record[key] if key in rates else record[key] for key in record if key != "step"}
    return _metrics_at(int(record["step"]), "train/", values)


def _metrics_at(
    step: int, prefix: str, values: Mapping[str, int | float | None]
) -> list[mlflow.entities.Metric]:
    now = get_current_time_millis()
    known = {key: value for key, value in values.items() if value is not None}
    return [mlflow.entities.Metric(f"{prefix}{key}", value, now, step) for key, value in known.items()]


def _without_known(
    client: MlflowClient, run: mlflow.entities.Run, metrics: list[mlflow.entities.Metric]
) -> list[mlflow.entities.Metric]:
    """The metrics that a run does not have yet, compared by name, step and six digits, as in committed curves."""
    known = {
        (name, metric.step, f"{metric.value:.6g}")
        for name in run.data.metrics
        for metric in client.get_metric_history(run.info.run_id, name)
    }
    return [metric for metric in metrics if (metric.key, metric.step, f"{metric.value:.6g}") not in known]


def _log_pictures(client: MlflowClient, run_id: str, examples: Path) -> None:
    """Draw one of an evaluation's example predictions per size of grid."""
    from serrm.drawing.puzzles import read_examples
    from serrm.drawing.svg import picture_svg

    scenes = read_examples(examples) if examples.is_file() else ()
    for side, scene in {scene.puzzles[0].side: scene for scene in scenes}.items():
        picture = picture_svg(scene.rows(has_answer=True), scene.title)
        client.log_text(run_id, picture, f"examples/{side}x{side}.svg")


def _newest(client: MlflowClient, experiment: str, value: str) -> mlflow.entities.Run | None:
    """The newest run of an experiment with this value of the tag `serrm.run`."""
    runs = client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{value}'", max_results=1)
    return runs[0] if runs else None


@contextmanager
def open_store(root: Path) -> Iterator[MlflowClient]:
    """MLflow's client for the project's store. A failure of MLflow is a StoreError of one line with the store."""
    uri = tracking_uri(root)
    mlflow.set_tracking_uri(uri)
    try:
        if uri.startswith(SQLITE):
            database = Path(uri.removeprefix(SQLITE))
            create_database(database)
            follow_the_database(database)
        yield MlflowClient(uri)
    except (MlflowException, SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StoreError(f"MLFLOW_TRACKING_URI: {uri}: {str(error).splitlines()[0]}") from error


def create_database(path: Path) -> None:
    """Create MLflow's database if there is none, whole or not at all: an incomplete one can never be opened."""
    with FileLock(f"{path}.lock"):  # processes that create it at the same time would break it
        if not path.exists():
            partial = Path(f"{path}.new")
            partial.unlink(missing_ok=True)
            MlflowClient(f"{SQLITE}{partial}").search_experiments(max_results=1)
            partial.replace(path)


def follow_the_database(path: Path) -> None:
    """Update the addresses of artifacts, which MLflow keeps absolute, after a database was moved or copied.

    The artifacts are in the folder mlruns beside the database. Without that folder the addresses stay as they are.
    """
    folder = path.with_name("mlruns")
    with closing(sqlite3.connect(path)) as database, database:
        rows = database.execute("SELECT artifact_location FROM experiments WHERE name LIKE 'serrm/%'")
        locations = {location for (location,) in rows}
        for old in locations - {folder.as_uri()} if folder.is_dir() else ():
            for table, column in ADDRESSES:
                database.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE {column} = ? OR {column} LIKE ?",
                    (folder.as_uri(), len(old) + 1, old, f"{old}/%"),
                )


def experiment_id(client: MlflowClient, profile: str, data_set: str) -> str:
    """The experiment of a profile and data set, created if missing; its artifacts are beside the database or served."""
    name, uri = f"serrm/{profile}/{data_set}", mlflow.get_tracking_uri()
    database = Path(uri.removeprefix(SQLITE))
    folder = database.with_name("mlruns").as_uri() if uri.startswith(SQLITE) else None
    if experiment := client.get_experiment_by_name(name):
        return str(experiment.experiment_id)
    try:
        return str(client.create_experiment(name, folder, EXPERIMENT_TAGS))
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":  # by another process, just now
            raise
    return experiment_id(client, profile, data_set)
