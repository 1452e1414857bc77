"""MLflow: one experiment a profile, one run a cell of the grid, one more for the report. The only importer of mlflow.

params.yaml owns the configuration and DVC the weights; MLflow mirrors both, for comparing runs. The store is
`mlflow.db` in the repository root unless MLFLOW_TRACKING_URI says otherwise. Everything it holds can be made again
from the pipeline's files (`sync`).
"""

import os

# Before anything imports mlflow.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
