"""The command line: quick to start, one line for what went wrong, and an exit code that says whose fault it is."""

import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
import yaml

from serrm import command_line
from serrm.cli import main
from serrm.config import read_params
from serrm.models.settings import ModelSizes
from serrm.published.exchange import published_weights
from serrm.scoring.schema import profile_text
from serrm.tracking import ui_command
from serrm.training.__main__ import app as training_app
from tests.drawn import seeded
from tests.references import SCORED, run_scores
from tests.servers import free_port, serving

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "tests" / "vectors"
IMPORT = ["import-checkpoint", __file__, "--run", "sudoku-trm-s0", "--out"]
HEAVY = {"torch", "numpy", "mlflow", "ortools", "pyarrow", "serrm.core.settings", "serrm.config"}
HEAVY |= {"matplotlib", "pandas", "scipy", "huggingface_hub", "jinja2"}


def assert_one_line(error: str) -> None:
    assert error.startswith("error: ") and error.count("\n") == 1


HELP = """
import shlex
import sys

import typer
from serrm import cli, command_line
from serrm.training.__main__ import app as training_app
from stages.__main__ import app as stages_app


def check(app, program, command, *names):
    assert command_line.run(app, [*names, "--help"]) == 0
    first, example, *_ = command.help.split("\\n\\n")
    start = " ".join([f"Example: {program}", *names])
    assert first.strip() and example.startswith(start), (names, example)
    options = {word for word in shlex.split(example) if word.startswith("--")}
    assert options <= {option for each in command.params for option in each.opts}, example
    for name, each in getattr(command, "commands", {}).items():
        check(app, program, each, *names, name)


for app, program in (
    (cli.app, "serrm"), (stages_app, "python -m stages"), (training_app, "python -m serrm.training")
):
    check(app, program, typer.main.get_command(app))
print(*sys.modules)
"""


def test_help_has_an_example_for_every_command_and_imports_nothing_heavy() -> None:
    run = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert not HEAVY & set(run.stdout.splitlines()[-1].split())


EVALUATE = ["evaluate", "--checkpoint", str(ROOT / "tests"), "--puzzles", __file__]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ["nonsense"]),
        (2, ["evaluate"]),
        (2, [*EVALUATE, "--precision", "int8"]),
        (2, ["conformance", "missing.npz"]),
        (2, [*IMPORT, "new", "--profile", "huge"]),
        (2, ["headline", "--profile", "huge"]),
        (2, ["solve", ".", "--max-steps", "0"]),
        (2, ["ui", "--port", "0"]),
        (1, EVALUATE),
        (1, [*EVALUATE, "--device", "abacus"]),
        (1, ["conformance", __file__]),
        (1, [*IMPORT, "new"]),
        (1, ["export-checkpoint", ".", "new.pt"]),
        (1, ["headline"]),
        (1, ["ui"]),
    ],
)
def test_a_usage_error_and_a_failure_as_outside_any_project_are_one_line(
    code: int,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(ROOT if code == 2 else tmp_path)
    assert main(arguments) == code
    assert_one_line(capsys.readouterr().err)


def test_an_interrupt_is_130_a_lost_file_1_and_an_unexpected_error_is_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = "serrm.published.conformance.check_conformance"
    monkeypatch.setattr(check, Mock(side_effect=KeyboardInterrupt))
    assert main(["conformance", __file__]) == 130
    monkeypatch.setattr(check, Mock(side_effect=FileNotFoundError(2, "No such file", "a.json")))
    assert main(["conformance", __file__]) == 1
    monkeypatch.setattr(check, Mock(side_effect=EOFError("marshal data too short")))
    with pytest.raises(EOFError):
        main(["conformance", __file__])


def test_conformance_has_a_table_per_file_and_continues_after_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(VECTORS / "se_rrm_task_embedding.npz")
    assert main(["conformance", __file__, file]) == 1
    out, err = capsys.readouterr()
    assert_one_line(err)
    assert file in out and "gradient of lm_head.weight" in out and "logits, step 3" in out
    monkeypatch.setattr("serrm.published.conformance.LOSS_TOLERANCE", -1.0)
    assert main(["conformance", file]) == 1


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one evaluated run in profile cpu; the current folder is one of its folders."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    runs = {"sudoku-se_rrm-s0": params["runs"]["sudoku-se_rrm-s0"]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params | {"profile": "cpu", "runs": runs}))
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    reports = tmp_path / "reports" / "cpu"
    (reports / "tables").mkdir(parents=True)
    scores = run_scores("cpu", "se_rrm", {"9x9": SCORED})
    (reports / "metrics.json").write_text(profile_text("cpu", [scores]))
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    for name in ("DVC_ROOT", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def published(project: Path) -> Path:
    """A file as the authors' code saves it, for a small TRM that profile paper of the project has."""
    file = project / "profiles" / "paper.yaml"
    params = yaml.safe_load(file.read_text())
    small = {"model.width": 16, "model.layers": 1, "model.heads": 2}
    params["runs"]["sudoku-small_trm-s0"] = {**params["runs"]["sudoku-trm-s0"], "changes": small}
    file.write_text(yaml.safe_dump(params))
    settings = read_params(file).run_settings("sudoku-small_trm-s0").model
    model = settings.build(ModelSizes(11, num_positions=81), seeded(0))
    with (project / "trm.pt").open("wb") as stream:
        torch.save(published_weights(settings, model), stream)
    return project / "trm.pt"


def test_a_published_file_comes_in_is_scored_and_goes_out(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, again, puzzles = (published.with_name(name) for name in ("imported", "new.pt", "puzzles.txt"))
    puzzles.write_text(
        "." + "23456789456789123789123456214365897365897214897214365531642978642978531978531642"
    )
    imports = ["import-checkpoint", str(published), "--run", "sudoku-small_trm-s0"]
    imports += ["--out", str(target)]
    evaluation = ["evaluate", "--checkpoint", str(target), "--puzzles", str(puzzles)]
    exports = ["export-checkpoint", str(target), str(again)]
    for command in (imports, [*evaluation, "--steps", "1", "--device", "cpu"], exports):
        assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{target}: sudoku-small_trm-s0 with ") and not err
    assert re.search(r"new\.pt: \d+ weights, [\d,]+ numbers\n$", out)
    assert again.read_bytes() == published.read_bytes()
    for command, path in ((imports, target), (exports, again)):
        assert main(command) == 1
        assert_one_line(error := capsys.readouterr().err)
        assert f"{path} exists" in error


def test_headline_shows_scores_and_paths_of_other_results(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["headline"]) == 0
    out, _ = capsys.readouterr()
    assert "profile cpu" in out and "50.00 (40.00–60.00)" in out
    assert str(Path("..", "reports", "cpu", "tables")) in out
    assert main(["headline", "--profile", "gpu"]) == 1
    assert_one_line(error := capsys.readouterr().err)
    assert str(project / "reports" / "gpu") in error


def test_the_ui_refuses_what_it_cannot_serve(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mlflow\.db"):
        ui_command(f"sqlite:///{tmp_path / 'mlflow.db'}", "127.0.0.1", 5000)
    with pytest.raises(ValueError, match="https://example"):
        ui_command("https://example.org", "127.0.0.1", 5000)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=rf"127\.0\.0\.1:{port}: .*--port"):
            ui_command((tmp_path / "folder").as_uri(), "127.0.0.1", port)
    with pytest.raises(ValueError, match="--host"):
        ui_command((tmp_path / "folder").as_uri(), "192.0.2.1", 5000)  # for documentation, on no machine


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # in what MLflow builds on
def test_the_ui_answers_within_seconds(project: Path) -> None:
    from serrm.tracking.store import create_database

    create_database(project / "mlflow.db")
    port = free_port()
    address = f"http://127.0.0.1:{port}/health"
    command = [sys.executable, "-m", "serrm.cli", "ui", "--port", str(port)]
    with serving(command, address, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        pass
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address)


def test_version_and_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert torch.__version__ in capsys.readouterr().out
    for arguments, code, known in (
        (["slove"], 2, "solve"),
        (["solve", "1......2..3.....", "--checkpoint", "sudoko"], 1, "sudoku_extreme"),
    ):
        assert main(arguments) == code
        assert known in capsys.readouterr().err


def test_git_is_asked_before_a_stage_under_dvc(tmp_path: Path) -> None:
    """As in a container, whose user does not own the clone, and where no repository was unpacked."""
    (tmp_path / "params.yaml").touch()
    paths, found = {"DVC_ROOT": str(tmp_path), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, []
    for environment in ({}, {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}):
        done = subprocess.run(
            [sys.executable, "-m", "stages", "download", "maze"],
            cwd=tmp_path, env=os.environ | paths | environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found.append(done.stderr)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    assert "git init" in found[0]
    assert f"safe.directory '{tmp_path}'" in found[1]


def test_a_training_without_any_time_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(training_app, [__file__, ".", "new", "--seconds", "0"]) == 1
    assert_one_line(line := capsys.readouterr().err)
    assert "--seconds: " in line
