"""`serrm sweep`: experiments as a table of effects, and `serrm compare` between two of its points."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from serrm.cli import main
from serrm.scoring.schema import Evaluation
from tests.comparing.test_compare_command import NAME, commit, leave, run
from tests.repository import git, new_repository

# By experiment: the learning rate, the seed, and FSR.
SWEEP = {
    "rate-1": (0.001, 0, 0.2),
    "rate-2": (0.001, 1, 0.4),
    "rate-3": (0.01, 0, 0.6),
    "rate-10": (0.01, 1, 0.7),
    "other": (0.01, 3, 0.9),
}

BASE = "made/runs/sudoku-base-s"


def write(rate: float, evaluation: Evaluation) -> None:
    leave(evaluation)
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["recipes"]["sudoku"]["trm"]["learning_rate"] = rate
    params["runs"][NAME]["seed"] = evaluation.seed
    Path("params.yaml").write_text(yaml.safe_dump(params))


def add_experiment(head: str, name: str) -> None:
    """An experiment with the files as they are."""
    git("add", ".")
    experiment = git("commit-tree", git("write-tree"), "-p", "HEAD", "-m", name)
    git("update-ref", f"refs/exps/{head[:2]}/{head[2:]}/{name}", experiment)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with new_repository(tmp_path_factory) as folder:
        write(0.1, run(0.1))
        head = commit("first")
        for name, (rate, seed, fsr) in SWEEP.items():
            write(rate, run(fsr, seed=seed).model_copy(update={"name": NAME}))
            add_experiment(head, name)
        git("reset", "-q", "--hard", head)
    return folder


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["sweep", *arguments, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


@pytest.mark.usefixtures("project")
def test_a_point_is_a_row_with_its_difference_from_the_commit(capsys: pytest.CaptureFixture[str]) -> None:
    commit_scores, low, high = rows_of(capsys, "rate-*")
    assert (commit_scores["revisions"], commit_scores["score"]["value"]) == ("HEAD", 10)
    assert commit_scores["changes"] == {"train.learning_rate": 0.1} and commit_scores["difference"] is None
    assert (low["changes"], low["num_seeds"], low["revisions"]) == (
        {"train.learning_rate": 0.001},
        2,
        "rate-1,rate-2",
    )
    assert (low["score"]["value"], low["score"]["sd"]) == (30, 14.14)
    assert high["revisions"] == "rate-3,rate-10", "in the order of the queue"
    assert main(["compare", "HEAD", "rate-3,rate-10", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)["scores"]
    (line,) = (line for line in compared if line["metric"] == "fsr")
    assert (high["difference"], high["verdict"]) == (line["difference"], line["verdict"])
    assert main(["sweep"]) == 0
    assert "rate-1,rate-2" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_another_metric_is_compared_if_the_scores_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    tables = [rows_of(capsys, "--metric", metric) for metric in ("fsr", "gpa")]
    assert tables[0] == rows_of(capsys) != tables[1]
    assert main(["sweep", "--metric", "fsrr"]) == main(["sweep", "--set", "7x7"]) == 1
    assert main(["sweep", "none-*"]) == 2
    metric, test_set, pattern = capsys.readouterr().err.splitlines()
    assert "'fsrr'" in metric and "'7x7'" in test_set and "9x9" in test_set and "none-*" in pattern


@pytest.mark.usefixtures("project")
def test_after_a_commit_the_base_is_named_and_taken(capsys: pytest.CaptureFixture[str]) -> None:
    base = git("rev-parse", "--short=7", "HEAD")
    write(0.2, run(0.15))
    commit("second")
    assert main(["sweep", "rate-*"]) == 2
    assert f"--rev {base}" in capsys.readouterr().err
    assert [row["revisions"] for row in rows_of(capsys, "rate-*", "--rev", base)] == [
        base,
        "rate-1,rate-2",
        "rate-3,rate-10",
    ]


@pytest.mark.usefixtures("project")
def test_two_points_are_compared_with_all_their_seeds_in_any_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The params file of a point is that of its first experiment, which has one of the seeds."""
    change = ["recipes.sudoku.trm.learning_rate 0.001 → 0.01"]
    for second in ("rate-3,rate-10", "rate-10,rate-3"):
        assert main(["compare", "rate-1,rate-2", second, "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        (line,) = (line for line in data["scores"] if line["metric"] == "fsr")
        assert (line["num_seeds"], line["first"]["value"], line["second"]["value"]) == (2, 30, 65)
        assert data["settings"] == {"sudoku-trm-s0": change, "sudoku-trm-s1": change}
        assert data["only_first"] == data["only_second"] == []
    assert main(["compare", "rate-1,rate-3"]) == 2
    assert "learning_rate 0.001 → 0.01" in capsys.readouterr().err, "no seeds of one point"
    assert main(["compare", "rate-1", "other", "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["settings"][NAME]
    assert f"runs.{NAME}.seed 0 → 3" in changes, "another seed under the same name is a change"


@pytest.mark.usefixtures("project")
def test_seeds_of_one_profile_are_one_point(capsys: pytest.CaptureFixture[str]) -> None:
    """Each seed is a run of its own, and starts from the checkpoint of the same number."""
    runs = {
        f"sudoku-trm-s{seed}": {"data_set": "sudoku", "model": "trm", "seed": seed, "init": f"{BASE}{seed}"}
        for seed in (0, 1)
    }
    for steps, fsr in ((1, 0.2), (2, 0.5)):
        leave(*(run(fsr + 0.2 * seed, name=f"sudoku-trm-s{seed}", seed=seed) for seed in (0, 1)))
        recipes = {"sudoku": {"trm": {"steps": steps, "learning_rate": 0.1}}}
        params = {"profile": "made", "recipes": recipes, "runs": runs}
        Path("params.yaml").write_text(yaml.safe_dump(params))
        add_experiment(git("rev-parse", "HEAD"), f"try-{steps}")
    init = {"run.init": BASE.removesuffix("-s")}
    points = [
        (row["changes"], row["num_seeds"], row["score"]["value"], row["revisions"])
        for row in rows_of(capsys, "try-*")
        if row["num_seeds"] > 1
    ]
    assert points == [(init, 2, 30, "try-1"), (init | {"train.steps": 2}, 2, 60, "try-2")]


@pytest.mark.usefixtures("project")
def test_what_the_queue_has_left_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep"]) == 0 and capsys.readouterr().err == ""
    Path(".dvc").mkdir()
    Path(".dvc", "config").touch()
    Path("dvc.yaml").write_text("stages: {train: {cmd: exit 0}}")
    commit("A pipeline")
    queue = [sys.executable, "-m", "dvc", "exp", "run", "-q", "--queue", "-S", "profile=other"]
    subprocess.run(queue, check=True)
    assert main(["sweep", "rate-*", "--rev", "HEAD~1"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "1 queued" in line and "dvc queue status" in line
