"""MLflow made again from the files: after a fresh clone, for a lost database, on a new server.

A run is found by the training that its files tell of, so that doing it twice adds nothing. DVC's pointers to runs are
left alone: they are outputs of trainings, and a changed one would train its cell again.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.entities import RunStatus
from mlflow.tracking import MlflowClient

from serrm.reporting.results import Evaluation
from serrm.reporting.training_log import read_training_log
from serrm.tracking.files import CellFiles, cells_with_files, training_of_evaluation
from serrm.tracking.report import log_report
from serrm.tracking.runs import CellRun, find_run
from serrm.tracking.store import TRAINING, connect, git, log_params, new_run, one_line_failures
from serrm.tracking.words import cell_tags

FILES = "files"  # the tag with the digest of what a run was last told
# What a result's cell resolved to, if that can be told without its checkpoint.
Settings = Callable[[Evaluation], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Synced:
    """What became of one run: new, updated or unchanged, and which of its files are not there."""

    name: str
    outcome: str
    missing: tuple[str, ...] = ()


def sync(root: Path, profile: str, settings: Settings) -> Iterator[Synced]:
    """Bring the store up to what the files of a profile say, cell by cell, and its report.

    Raises ValueError if the store does not answer or a file is malformed.
    """
    client = connect(root)
    with one_line_failures():
        for name in cells_with_files(root, profile):
            yield sync_cell(client, CellFiles(root, profile, name), settings)
        yield Synced("report", log_report(client, root, profile))


def sync_cell(client: MlflowClient, files: CellFiles, settings: Settings) -> Synced:
    """Bring the run of one cell up to what its files say."""
    config, evaluation = files.config(), files.evaluation()
    missing = tuple(files.missing())
    scored = training_of_evaluation(evaluation) if evaluation is not None else None
    training = files.training() or scored
    assert training is not None, "a cell has a checkpoint or metrics"
    if scored not in (None, training):
        evaluation, missing = None, (*missing, "metrics of this training (the file is of another one)")
    run_id, digest = find_run(client, files.profile, files.pointer, training), files.digest()
    outcome = "new" if run_id is None else "updated"
    if run_id is None:
        run_id = _new_run(client, files, training, _seconds(config, evaluation))
    elif client.get_run(run_id).data.tags.get(FILES) == digest:
        return Synced(files.name, "unchanged", missing)
    run = CellRun.open(client, files.profile, run_id)
    params = config["cell"] if config else evaluation and settings(evaluation)
    if params is None and evaluation is not None:
        missing = (*missing, "settings (those of params.yaml are not this result's)")
    log_params(client, client.get_run(run_id), params or {})
    _log_files(run, files, config, evaluation)
    run.flush()
    run.tag({TRAINING: training, FILES: digest})
    client.set_terminated(run_id, RunStatus.to_string(RunStatus.FINISHED), run.end)
    return Synced(files.name, outcome, missing)


def _log_files(
    run: CellRun, files: CellFiles, config: dict[str, Any] | None, evaluation: Evaluation | None
) -> None:
    if files.training_log.is_file():
        for record in read_training_log(files.training_log):
            run.log_record(record)
    if config is not None:
        cell = config["cell"]
        run.tag(cell_tags(cell["task"], cell["variant"], cell["seed"], cell["model"]["family"]))
        arrays = (files.arrays / cell["task"]).relative_to(files.root)
        run.log_training(config, files.name, files.checkpoint, arrays)
    elif evaluation is not None:
        run.log_training_of(evaluation)
    if evaluation is not None:
        run.log_scores(json.loads(files.metrics.read_text(encoding="utf-8")))
        run.describe(evaluation)
        if files.examples.is_file():
            run.log_pictures(files.examples.parent)


def _seconds(config: dict[str, Any] | None, evaluation: Evaluation | None) -> float:
    if config is not None:
        return float(config["training"]["seconds"])
    return evaluation.training.seconds if evaluation is not None else 0.0


def _new_run(client: MlflowClient, files: CellFiles, training: str, seconds: float) -> str:
    """A finished run that ended when its files were written, of the commit that brought its results."""
    newest = files.metrics if files.metrics.is_file() else files.checkpoint / "config.json"
    end = int(1000 * newest.stat().st_mtime)
    tags = {"dvc.stage": f"train@{files.profile}-{files.name}", TRAINING: training, "from_files": "true"}
    commit = git(files.root, "log", "-1", "--format=%H", "--", str(files.metrics))
    if commit:
        tags["mlflow.source.git.commit"] = commit
    run_id = new_run(client, files.root, files.profile, files.name, tags, {}, start=end - int(1000 * seconds))
    client.set_terminated(run_id, RunStatus.to_string(RunStatus.FINISHED), end)
    return run_id
