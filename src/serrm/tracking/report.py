"""A profile's report in MLflow: a run with its tables, figures and page, and the experiment's description."""

import hashlib
from pathlib import Path
from typing import Final

from mlflow.entities import RunStatus
from mlflow.tracking import MlflowClient

from serrm.reporting.results import read_evaluation
from serrm.tracking.store import connect, experiment_id, new_run, one_line_failures, tagged_runs
from serrm.tracking.words import overview

# What of a report is stored, as (files, the folder of the artifacts).
ARTIFACTS: Final = (("figures/*.svg", "figures"), ("tables/*.md", "tables"), ("report.html", None))
KIND, FILES, NOTE = "kind", "files", "mlflow.note.content"


def mirror_report(root: Path, profile: str) -> str:
    """`log_report` to the project's store. ValueError if that does not answer."""
    client = connect(root)
    with one_line_failures():
        return log_report(client, root, profile)


def log_report(client: MlflowClient, root: Path, profile: str) -> str:
    """Store the report of a profile in the run `report` of its experiment; says new, updated or unchanged."""
    reports = root / "reports" / profile
    found = tagged_runs(client, profile, KIND, "report")
    digest = _digest(reports)
    if found and found[0].data.tags.get(FILES) == digest:
        return "unchanged"
    tags = {KIND: "report", "dvc.stage": f"tabulate@{profile}"}
    run_id = found[0].info.run_id if found else new_run(client, root, profile, "report", tags, {})
    for pattern, folder in ARTIFACTS:
        for path in sorted(reports.glob(pattern)):
            client.log_artifact(run_id, str(path), folder)
    note = overview(profile, [read_evaluation(path) for path in sorted((reports / "metrics").glob("*.json"))])
    client.set_tag(run_id, NOTE, note)
    client.set_experiment_tag(experiment_id(client, root, profile), NOTE, note)
    client.set_tag(run_id, FILES, digest)
    client.set_terminated(run_id, RunStatus.to_string(RunStatus.FINISHED))
    return "updated" if found else "new"


def _digest(reports: Path) -> str:
    total = hashlib.sha256()
    for pattern in ("metrics/*.json", *(pattern for pattern, _ in ARTIFACTS)):
        for path in sorted(reports.glob(pattern)):
            total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
