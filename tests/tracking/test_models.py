"""A cell's model in MLflow answers with verified solutions: loaded by its registered name, and served."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
import torch

import serrm
from serrm.cli import main
from serrm.solving.model import PACKAGED
from serrm.tracking.runs import cell_run
from serrm.ui import ENVIRONMENT

pytestmark = [
    # MLflow's own models of its database, and its word on data it has not seen an example of.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore::UserWarning:mlflow"),
]
ROOT, NAME = Path(__file__).parents[2], "sudoku-se_rrm-s0"
PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
ANSWER = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"


@pytest.fixture(scope="module")
def project(root: Path) -> Path:
    """A project whose one cell is the packaged checkpoint, logged as a training logs it."""
    shutil.copy(ROOT / "params.yaml", root)
    checkpoint = root / "data" / "runs" / "ci" / NAME
    shutil.copytree(PACKAGED / "sudoku", checkpoint)
    config = json.loads((checkpoint / "config.json").read_text())
    with cell_run(root, "ci", NAME, root / "pointer.json", params={}) as run:
        run.log_training(config, NAME, checkpoint, Path("data/arrays/ci/sudoku"))
    return root


def register(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["track", "register", NAME, "--profile", "ci", *options]) == 0
    return capsys.readouterr().out.strip()


def test_a_registered_model_answers_with_verified_solutions(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = register(capsys)
    assert address == f"models:/{NAME}@ci" == register(capsys), "twice is as good as once"
    assert register(capsys, "--name", "sudoku", "--alias", "best") == "models:/sudoku@best"
    (version,) = mlflow.MlflowClient().search_model_versions(f"name = '{NAME}'")
    model = mlflow.pyfunc.load_model(address)
    answers = model.predict(pd.DataFrame({"puzzle": [PUZZLE, "12"]}), params={"max_steps": 32})
    assert answers["answer"].tolist() == [ANSWER, ""]
    assert answers["status"].tolist() == ["verified", "malformed"]
    assert answers.columns.tolist() == model.metadata.get_output_schema().input_names()
    folder = Path(mlflow.artifacts.download_artifacts(version.source))
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".pt", ".pth", ".pickle")]


def test_logits_are_those_of_the_checkpoint(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logged = Path(mlflow.artifacts.download_artifacts(register(capsys))) / "artifacts" / "checkpoint"
    tokens = torch.from_numpy(serrm.load().solve(PUZZLE)[0].grid.reshape(1, -1) + 1)
    before, after = (serrm.load(folder).predict(tokens, 3)[3] for folder in (PACKAGED / "sudoku", logged))
    assert torch.equal(before, after)


def test_a_runs_duration_is_its_trainings(project: Path) -> None:
    with cell_run(project, "ci", NAME, project / "pointer.json") as run:
        time.sleep(0.01)
    info = mlflow.MlflowClient().get_run(run.run_id).info
    assert (info.status, info.end_time - info.start_time) == ("FINISHED", 686_400)


def test_what_cannot_be_registered_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for profile in ("cpu", "paper"):
        shutil.copytree(PACKAGED / "sudoku", project / "data" / "runs" / profile / NAME)
    (project / "data" / "runs" / "paper" / NAME / "model.safetensors").write_bytes(b"")
    for arguments, said in (
        (["sudoku-hrm-s0", "--profile", "ci"], "no checkpoint here"),
        ([NAME, "--profile", "paper"], "is damaged: model.safetensors"),
        ([NAME, "--profile", "cpu"], "`serrm track sync --profile cpu` makes it"),
        ([NAME, "--profile", "ci", "--name", "a/b"], "'a/b' is no name for a model"),
        ([NAME, "--profile", "ci", "--alias", "v1"], "'v1' is no alias"),
    ):
        assert main(["track", "register", *arguments]) == 1
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1


@pytest.mark.slow
def test_it_is_served(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    options = f"--model-uri {register(capsys)} --port {port} --env-manager local"
    served = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "models", "serve", *options.split()],
        env={**os.environ, **ENVIRONMENT, "MLFLOW_TRACKING_URI": mlflow.get_tracking_uri()},
        start_new_session=True,
    )
    try:
        assert answered(port, served) == [ANSWER]
    finally:
        os.killpg(served.pid, 15)
        served.wait(60)


def answered(port: int, served: "subprocess.Popen[bytes]") -> list[str]:
    """What the server says of the puzzle, as soon as it says anything."""
    body = json.dumps({"inputs": {"puzzle": [PUZZLE]}, "params": {"max_steps": 32}}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"}
    )
    for _ in range(600):  # by count: a paused machine is no failure
        assert served.poll() is None
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                rows: list[dict[str, Any]] = json.load(reply)["predictions"]
            return [row["answer"] for row in rows if row["status"] == "verified"]
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server does not answer")
