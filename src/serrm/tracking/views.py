"""The table of runs in MLflow's UI: a view per experiment, kept as a tag, with scores and intervals as columns.

MLflow's front page opens in a mode for language models, and its table of runs shows no score by itself. The form of the
tag is that of MLflow 3.17's "Share" button.
"""

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mlflow.entities import Experiment
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from mlflow.utils.time import get_current_time_millis

from serrm.tracking.runs import EXPERIMENT_TAGS, FIRST_SECTIONS, open_store

VIEW_KEY: Final = "scores"
VIEW_TAG: Final = f"mlflow.sharedViewState.{VIEW_KEY}"
NUM_RUNS: Final = 200  # newest runs whose metrics become columns
SETTINGS: Final = ("train.learning_rate", "train.steps", "seed")


def links(root: Path, address: str) -> Iterator[tuple[str, str]]:
    """Rewrite the views of all experiments with runs; yield their names and the addresses of their tables of runs.

    `address` is that of the UI, such as http://127.0.0.1:5000. StoreError if MLflow fails.
    """
    with open_store(root) as client:
        [(tag, value)] = EXPERIMENT_TAGS.items()
        for experiment in client.search_experiments(filter_string="name LIKE 'serrm/%'", order_by=["name"]):
            if experiment.tags.get(tag) == value and write_view(client, experiment):
                query = f"workflowType=machine_learning&viewStateShareKey={VIEW_KEY}"
                yield experiment.name, f"{address}/#/experiments/{experiment.experiment_id}/runs?{query}"


def write_view(client: MlflowClient, experiment: Experiment) -> bool:
    """Write the view of an experiment; False if it has no runs."""
    runs = client.search_runs([experiment.experiment_id], max_results=NUM_RUNS)
    names = {name for run in runs for name in run.data.metrics}
    scores = sorted(name for name in names if name.partition("/")[0] in FIRST_SECTIONS)
    columns = [f"metrics.`{name}`" for name in scores] + [f"params.`{name}`" for name in SETTINGS]
    if any(MLFLOW_RUN_NOTE in run.data.tags for run in runs):  # a wide column, left of the scores
        columns.append("attributes.`Description`")
    state = {**STATE, "selectedColumns": columns}
    now = get_current_time_millis()
    packed = base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
    view = {"name": "Scores", "createdAt": now, "updatedAt": now, "state": f"deflate;{packed}"}
    client.set_experiment_tag(experiment.experiment_id, VIEW_TAG, json.dumps(view))
    return bool(runs)


# The whole state of a table in MLflow's page, with MLflow's defaults.
STATE: Final[dict[str, Any]] = {
    "searchFilter": "",
    "orderByKey": "attributes.start_time",
    "orderByAsc": False,
    "startTime": "ALL",
    "lifecycleFilter": "Active",
    "datasetsFilter": [],
    "modelVersionFilter": "All Runs",
    "selectedColumns": [],
    "runsExpanded": {},
    "runsPinned": [],
    "runsHidden": [],
    "runsVisibilityMap": {},
    "runsHiddenMode": "FIRST_10_RUNS",
    "viewMaximized": False,
    "runListHidden": False,
    "isAccordionReordered": False,
    "useGroupedValuesInCharts": True,
    "hideEmptyCharts": True,
    "groupBy": None,
    "groupsExpanded": {},
    "autoRefreshEnabled": True,
}
