"""A cell's model in MLflow answers with verified solutions: loaded by its registered name, and served."""

import json
import shutil
import time
from pathlib import Path

import mlflow
import pandas as pd
import pytest
import torch

import serrm
from serrm.cli import main
from serrm.solving.model import PACKAGED
from serrm.tracking.runs import cell_run

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
