"""MLflow: step metrics while a training goes on, and everything else from a run's files. The only importer of mlflow.

params.yaml owns the configuration and DVC the weights; MLflow mirrors both, for comparing runs. No result depends on
it: whatever it holds can be logged again from the files (`serrm track sync`).
"""

import os

# Before anything imports mlflow.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
# A server that is gone is asked for half a minute. MLflow's own number is seven, and four minutes.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "4")
