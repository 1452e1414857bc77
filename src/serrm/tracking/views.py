"""The table of runs in MLflow's UI: a view per experiment, kept as a tag, with scores and intervals as columns.

MLflow's table of runs shows no score by itself, and no address can ask it to. The tag has the form of the "Share"
button of MLflow 3.17; other versions get links without a view.
"""

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import mlflow
from mlflow.entities import Experiment
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from mlflow.utils.time import get_current_time_millis

from serrm.tracking.mirror import CURRENT, SCORE
from serrm.tracking.store import EXPERIMENT_TAGS, open_store
from serrm.tracking.values import ENDS, FIRST_SECTIONS

VERSION: Final = "3.17."
VIEW_KEY: Final = "scores"
VIEW_TAG: Final = f"mlflow.sharedViewState.{VIEW_KEY}"
NUM_RUNS: Final = 200  # newest runs whose metrics become columns
SETTINGS: Final = ("train.learning_rate", "train.steps", "seed")


def links(root: Path, address: str) -> Iterator[tuple[str, str]]:
    """Rewrite the views of all experiments with runs; yield their names and the addresses of their tables of runs.

    `address` is that of the UI, such as http://127.0.0.1:5000. StoreError if MLflow fails.
    """
    query = "workflowType=machine_learning"
    with open_store(root) as client:
        [(tag, value)] = EXPERIMENT_TAGS.items()
        for experiment in client.search_experiments(filter_string="name LIKE 'serrm/%'", order_by=["name"]):
            if experiment.tags.get(tag) != value:
                continue
            if mlflow.__version__.startswith(VERSION):
                write_view(client, experiment)
                query = f"workflowType=machine_learning&viewStateShareKey={VIEW_KEY}"
            yield experiment.name, f"{address}/#/experiments/{experiment.experiment_id}/runs?{query}"


def write_view(client: MlflowClient, experiment: Experiment) -> None:
    """Write the view of an experiment: first the headline with its interval, then the score of every other set."""
    runs = client.search_runs([experiment.experiment_id], max_results=NUM_RUNS)
    headlines = sorted({run.data.tags[SCORE] for run in runs if SCORE in run.data.tags})
    names = {name for run in runs for name in run.data.metrics if name.partition("/")[0] in FIRST_SECTIONS}
    scores = [name + end for name in headlines for end in ENDS.values() if name + end in names]
    scores += sorted(name for name in names - set(scores) if not name.endswith((" from", " to")))
    columns = [f"metrics.`{name}`" for name in scores] + [f"tags.`{CURRENT}`"]
    if any(MLFLOW_RUN_NOTE in run.data.tags for run in runs):  # wide, left of the scores
        columns.append("attributes.`Description`")
    columns += [f"params.`{name}`" for name in SETTINGS]
    state = {**STATE, "selectedColumns": columns}
    now = get_current_time_millis()
    packed = base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
    view = {"name": "Scores", "createdAt": now, "updatedAt": now, "state": f"deflate;{packed}"}
    client.set_experiment_tag(experiment.experiment_id, VIEW_TAG, json.dumps(view))


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
