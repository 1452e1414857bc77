"""MLflow: step metrics during training, and everything else from a run's files. The only importer of mlflow.

params.yaml owns the configuration and DVC the weights; MLflow mirrors the configuration and the scores, for comparing
runs. No result depends on it: everything can be logged again from the files (`serrm track sync`).
"""

import os

# Before anything imports mlflow.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
# Requests to a server that is gone are repeated for half a minute; MLflow's default of seven takes four minutes.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "4")
