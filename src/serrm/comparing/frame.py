"""The scores of a revision as a table of pandas, for notebooks: `serrm.results()`."""

from pathlib import Path

import pandas as pd

from serrm.comparing.revisions import WORKSPACE, read_revision
from serrm.core.project import find_root
from serrm.reporting.results import in_percent
from serrm.scoring.metrics import metrics_of

COLUMNS = (
    *("profile", "run", "data_set", "variant", "seed"),
    *("set", "num_puzzles", "steps", "metric", "value", "low", "high"),
)


def results(revision: str | None = None) -> pd.DataFrame:
    """Tabulate the scores of all runs of a profile: one row per run, test set, number of supervision steps and metric.

    `revision` is a name as for `serrm compare`: a profile, a commit, branch or tag, or a DVC experiment. By default it
    is the workspace with its active profile. `value` and the ends `low` and `high` of its 95% interval are in percent
    if the metric is a rate. Sets of a size that a model cannot take have no rows.

    Raises:
        ValueError: the working directory is in no project, or there are no such scores.
    """
    scores = read_revision(find_root(Path.cwd()), revision or WORKSPACE)
    rows = [
        (
            *(scores.profile, run.name, run.data_set, run.variant, run.seed),
            *(name, scored_set.num_at(steps), steps, metric, *in_percent(run.task, metric, values)),
        )
        for run in scores.runs.values()
        for name, scored_set in run.scored.items()
        for steps, values in scored_set.steps.items()
        for metric in metrics_of(run.task)
        if metric in values
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS])
