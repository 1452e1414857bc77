"""A run's model in MLflow answers with verified solutions: loaded by its registered name, and served."""

import json
import os
import shutil
import sys
import urllib.request
from pathlib import Path

import mlflow
import pandas as pd
import pytest
import torch

import serrm
from serrm.cli import main
from serrm.solving.model import PACKAGED
from tests.servers import free_port, serving

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
    """A project whose one finished run is the packaged checkpoint."""
    shutil.copy(ROOT / "params.yaml", root)
    shutil.copytree(ROOT / "profiles", root / "profiles")
    shutil.copytree(PACKAGED / "sudoku", root / "data" / "ci" / "runs" / NAME)
    return root


def register(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["track", "register", NAME, "--profile", "ci", *options]) == 0
    return capsys.readouterr().out.strip()


def test_a_registered_model_answers_with_verified_solutions(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = register(capsys)
    assert address == f"models:/{NAME}/1" and register(capsys, "--name", "best") == "models:/best/1"
    model = mlflow.pyfunc.load_model(address)
    contradiction = "11" + PUZZLE[2:]
    answers = model.predict(pd.DataFrame({"puzzle": [PUZZLE, contradiction]}), params={"budget": 32})
    assert answers["answer"].tolist() == [ANSWER, ""]
    assert answers["status"].tolist() == ["verified", "contradictory"]
    folder = Path(mlflow.artifacts.download_artifacts(address))
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".pt", ".pth", ".pickle")]
    tokens = torch.from_numpy(serrm.load().solve(PUZZLE)[0].grid.reshape(1, -1) + 1)
    places = PACKAGED / "sudoku", folder / "artifacts" / "checkpoint"
    before, after = (serrm.load(place).predict(tokens, 3)[3] for place in places)
    assert torch.equal(before, after)


def test_a_run_that_cannot_be_registered_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(PACKAGED / "sudoku", project / "data" / "paper" / "runs" / NAME)
    (project / "data" / "paper" / "runs" / NAME / "model.safetensors").write_bytes(b"")
    for arguments, message in (
        (["register", "sudoku-hrm-s0", "--profile", "ci"], "no checkpoint here"),
        (["register", NAME, "--profile", "paper"], "is damaged: model.safetensors"),
        (["register", NAME, "--profile", "ci", "--name", "a/b"], "a/b"),
        (["serve", "nothing"], "nothing"),
    ):
        assert main(["track", *arguments]) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


@pytest.mark.slow
def test_serving_does_not_depend_on_path(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    register(capsys)
    port = free_port()
    command = [sys.executable, "-m", "serrm.cli", "track", "serve", NAME, "--port", str(port)]
    body = json.dumps({"inputs": {"puzzle": [PUZZLE]}, "params": {"budget": 32}}).encode()
    address, header = f"http://127.0.0.1:{port}/invocations", {"Content-Type": "application/json"}
    request = urllib.request.Request(address, body, header)
    with serving(command, request, env={**os.environ, "PATH": os.defpath}) as answer:
        (row,) = json.loads(answer)["predictions"]
    assert (row["answer"], row["status"]) == (ANSWER, "verified")
