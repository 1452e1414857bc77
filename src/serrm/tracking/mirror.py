"""The runs of a project in MLflow, from their files: trainings while they train, and results.

The experiment `serrm/<profile>/<data_set>` has the runs on a data set, so that MLflow's charts compare models on the
same puzzles. Every training is one MLflow run with the identifier of the training's folder as a tag, so that no other
training joins it. A checkpoint that was trained elsewhere, and restored by DVC, joins a run with the same weights, or
gets one of its own.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from mlflow.entities import Dataset, DatasetInput, Metric, Param, Run, RunTag, ViewType
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_RUN_NOTE
from mlflow.utils.time import get_current_time_millis

from serrm.core.differences import changes
from serrm.core.files import json_text
from serrm.core.locks import NoLocks
from serrm.core.project import Layout
from serrm.drawing.examples import example_scene, read_examples
from serrm.drawing.svg import picture_svg
from serrm.reporting.style import style
from serrm.scoring.predictions import PREDICTIONS
from serrm.tracking.results import CONFIG, Result, has_ended, read_result, result_files
from serrm.tracking.store import StoreError, experiment_id, open_store
from serrm.tracking.values import Value, log_values, params_of
from serrm.training.identity import weights_sha256
from serrm.training.log import LOG, read_training_log
from serrm.training.scratch import Training, is_training, trainings_of
from serrm.training.settings import RunSettings

COLOUR: Final = "mlflow.runColor"  # of a run in MLflow's charts
ID: Final = "training_id"  # among the facts about a training
# Tags: what a run is found by, the state of the files that were logged, and whether its results are in place.
TRAINING, WEIGHTS, FILES = "serrm.training", "serrm.weights", "serrm.files"
NAME, PLACE, IDENTITY = "serrm.run", "serrm.place", "serrm.identity"
CURRENT: Final = "serrm.current"


class Mirror:
    """A project's files in MLflow; remembers what it has logged, so that unchanged files cost no request."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.states: dict[Path, tuple[object, ...]] = {}  # of the files of a run when they were logged
        self.last_steps: dict[str, int] = {}  # the last optimiser step logged, by MLflow's run
        self.place = f"{platform.node()}:{root.resolve()}"

    def update(self, profiles: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """Log what MLflow does not have of these profiles; yields each run with news, and why it failed if it did."""
        try:
            for profile in profiles:
                yield from self._update(Layout(profile, self.root))
        except StoreError as error:
            yield "MLflow", str(error)

    def _update(self, layout: Layout) -> Iterator[tuple[str, str | None]]:
        names = sorted(path.parent.name for path in layout.runs.glob(f"[!.]*/{CONFIG}"))
        for training in trainings_of(layout.scratch, layout.profile, self.root):
            run = training.identity.run
            if run not in names or not has_ended(training, weights_sha256(layout.runs / run)):
                state = (*states_of([training.folder / LOG]), is_running(training))
                log_it = partial(self.log_training, layout, training)
                yield from self._if_changed(training.folder, state, f"{layout.profile} {run}", log_it)
        for name in names:
            state = states_of(result_files(layout, name))
            log_it = partial(self.log_result, layout, name)
            yield from self._if_changed(layout.runs / name, state, f"{layout.profile} {name}", log_it)

    def _if_changed(
        self, folder: Path, state: tuple[object, ...], label: str, log_it: Callable[[], object]
    ) -> Iterator[tuple[str, str | None]]:
        """Log a run if its files have changed, and yield it."""
        if self.states.get(folder) == state:
            return
        try:
            log_it()
        except StoreError as error:
            with open_store(self.root) as client:
                client.search_experiments(max_results=1)  # fails if MLflow is gone, and no other run is tried
            yield label, str(error)
        except (ValueError, FileNotFoundError) as error:  # a file may just have been removed
            yield label, str(error)
        else:
            self.states[folder] = state
            yield label, None

    def log_training(self, layout: Layout, training: Training) -> None:
        """Log a training so far.

        It is RUNNING while a process trains, else KILLED, until it goes on.
        """
        settings, facts = training.settings, training.facts
        with open_store(self.root) as client:
            experiment = experiment_id(client, self.root, layout.profile, settings.data_set)
            run = find(client, experiment, training.identity.run, TRAINING, facts[ID])
            if run is None:
                start = int(1000 * datetime.fromisoformat(facts["date"]).timestamp())
                run = self._create(client, experiment, training.identity.run, settings, facts, start)
            if run.info.lifecycle_stage == "deleted":
                return
            run_id = str(run.info.run_id)
            if run_id not in self.last_steps:
                steps = [metric.step for metric in client.get_metric_history(run_id, "train/loss")]
                self.last_steps[run_id] = max(steps, default=-1)
            log = training.folder / LOG
            # A resumed training repeats the steps after its last checkpoint.
            records = [
                record
                for record in (read_training_log(log) if log.is_file() else [])
                if record["step"] > self.last_steps[run_id]
            ]
            client.log_batch(run_id, as_metrics(log_values(records)))
            self.last_steps[run_id] = max(
                [self.last_steps[run_id], *(int(record["step"]) for record in records)]
            )
            if is_running(training):
                client.update_run(run_id, "RUNNING")
            else:
                client.set_terminated(run_id, "KILLED")

    def log_result(self, layout: Layout, name: str) -> None:
        """Log everything in a finished run's files that MLflow does not have.

        StoreError if MLflow fails, ValueError if a file is malformed or there is no checkpoint.
        """
        result = read_result(layout, name)
        facts, settings = result.facts, result.config.run
        with open_store(self.root) as client:
            experiment = experiment_id(client, self.root, layout.profile, settings.data_set)
            tag, value = (TRAINING, facts[ID]) if ID in facts else (WEIGHTS, result.weights)
            run = find(client, experiment, name, tag, value)
            if run is None:
                end = int(1000 * (layout.runs / name / CONFIG).stat().st_mtime)
                run = self._create(client, experiment, name, settings, facts, end - result.duration)
            if run.info.lifecycle_stage == "deleted":
                return
            run_id = str(run.info.run_id)
            state = hashlib.sha256(json.dumps([result.values(), result.params()]).encode()).hexdigest()
            if run.data.tags.get(FILES) != state:
                log_content(client, run, layout, name, result)
                client.set_terminated(run_id, "FINISHED", run.info.start_time + result.duration)
                client.set_tag(run_id, FILES, state)  # last: what is interrupted is logged again
            if run.data.tags.get(PLACE) == self.place:
                self._mark_current(client, experiment, name, run, settings)

    def _create(
        self,
        client: MlflowClient,
        experiment: str,
        name: str,
        settings: RunSettings,
        facts: Mapping[str, Any],
        start: int,
    ) -> Run:
        """Create the run of a training with the facts about it, which are empty for results from elsewhere."""
        tags = {NAME: name, PLACE: self.place, COLOUR: style(settings.model.family)[0]}
        tags |= {TRAINING: facts.get(ID, ""), IDENTITY: facts.get("identity", "")}
        if commit := facts.get("commit"):
            tags[MLFLOW_GIT_COMMIT] = commit
            tags["mlflow.source.git.dirty"] = str(facts["has_changes"]).lower()
        tags = {key: value for key, value in tags.items() if value}
        dvc_experiment = facts.get("experiment")
        label = f"{name} ({dvc_experiment})" if dvc_experiment else name
        run = client.create_run(experiment, start, tags, label)
        client.log_batch(run.info.run_id, params=[Param(*param) for param in params_of(settings).items()])
        return run

    def _mark_current(
        self, client: MlflowClient, experiment: str, name: str, run: Run, settings: RunSettings
    ) -> None:
        """Mark the run of the results in place; one that it replaces here says in which settings it differs."""
        for other in client.search_runs(
            [experiment], f"tags.`{NAME}` = '{name}' and tags.`{CURRENT}` = 'yes'"
        ):
            if other.info.run_id != run.info.run_id and other.data.tags.get(PLACE) == self.place:
                settings_before = {
                    key: value for key, value in other.data.params.items() if not key.startswith("machine.")
                }
                edits = map(str, changes(settings_before, params_of(settings)))
                note = ["replaced by another training", *edits]
                client.set_tag(other.info.run_id, CURRENT, "no")
                client.set_tag(other.info.run_id, MLFLOW_RUN_NOTE, "  \n".join(note))
        if run.data.tags.get(CURRENT) != "yes":
            client.set_tag(run.info.run_id, CURRENT, "yes")


def find(client: MlflowClient, experiment: str, name: str, tag: str, value: str) -> Run | None:
    """Find the newest run of this name and value of a tag, even if it was deleted in MLflow.

    A run that was renamed keeps its weights, but MLflow lets nobody change a parameter of a run.
    """
    condition = f"tags.`{NAME}` = '{name}' and tags.`{tag}` = '{value}'"
    runs = client.search_runs([experiment], condition, ViewType.ALL, max_results=1)
    return runs[0] if runs else None


def log_content(client: MlflowClient, run: Run, layout: Layout, name: str, result: Result) -> None:
    """Log the metrics, parameters, tags, data set and artifacts of a finished run."""
    run_id, settings, evaluation = run.info.run_id, result.config.run, result.evaluation
    data_hash = str(result.config.data_hash)
    tags = {"data_set": settings.data_set, "variant": settings.variant, "seed": str(settings.seed)}
    tags |= {"family": settings.model.family, "data_hash": data_hash, WEIGHTS: result.weights}
    if result.config.training:
        tags["arithmetic"] = str(result.config.training.arithmetic)
    if other_code := result.facts.get("other_code"):  # machine.yaml let a training of other code go on
        tags["serrm.other_code"] = json.dumps(other_code)
    known = {
        (key, metric.step, f"{metric.value:.6g}")  # as in committed curves
        for key in run.data.metrics
        for metric in client.get_metric_history(run_id, key)
    }
    values = [value for value in result.values() if (*value[:2], f"{value.value:.6g}") not in known]
    params = [Param(*param) for param in result.params().items()]
    client.log_batch(run_id, as_metrics(values), params, [RunTag(*tag) for tag in tags.items()])
    # The hash is that of the arrays, which are in DVC's cache.
    source = json.dumps({"path": f"data/{layout.profile}/arrays/{settings.data_set}"})
    data = Dataset(settings.data_set, data_hash[:36], source_type="dvc", source=source)
    client.log_inputs(run_id, datasets=[DatasetInput(data)])
    if evaluation:
        content = json_text(evaluation.model_dump(mode="json", exclude_none=True))
        client.log_text(run_id, content, f"{name}.json")
        path = layout.predictions / name / PREDICTIONS
        examples = read_examples(path, num_per_set=1) if path.is_file() else []
        for side, example in {example.puzzle.side: example for example in examples}.items():
            scene = example_scene(path, example)
            picture = picture_svg(scene.rows(has_answer=True), scene.title)
            client.log_text(run_id, picture, f"examples/{side}x{side}.svg")


def as_metrics(values: Iterable[Value]) -> list[Metric]:
    """Convert values to the form of MLflow, at this moment."""
    now = get_current_time_millis()
    return [Metric(name, value, now, step) for name, step, value in values]


def is_running(training: Training) -> bool:
    """True if a process trains in the folder; also if the file system cannot tell."""
    try:
        return is_training(training.folder)
    except NoLocks:
        return True


def states_of(paths: Iterable[Path]) -> tuple[object, ...]:
    """Look up the time and size of files, None for one that is missing."""
    stats = [path.stat() if path.is_file() else None for path in paths]
    return tuple(stat and (stat.st_mtime_ns, stat.st_size) for stat in stats)
