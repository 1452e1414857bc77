"""`serrm sweep`: experiments as a table of effects, and `serrm compare` between two of its points."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from serrm.cli import main
from serrm.scoring.schema import Evaluation
from tests.comparing.test_compare_command import NAME, commit, git, leave, run

# By experiment: the learning rate, the seed, and FSR.
SWEEP = {
    "rate-1": (0.001, 0, 0.2),
    "rate-2": (0.001, 1, 0.4),
    "rate-3": (0.01, 0, 0.6),
    "rate-10": (0.01, 1, 0.7),
    "other": (0.01, 3, 0.9),
}


def write(rate: float, evaluation: Evaluation) -> None:
    leave(evaluation)
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["recipes"]["sudoku"]["trm"]["learning_rate"] = rate
    params["runs"][NAME]["seed"] = evaluation.seed
    Path("params.yaml").write_text(yaml.safe_dump(params))


def run_of(model: str, seed: int, fsr: float) -> Evaluation:
    return run(fsr, name=f"sudoku-{model}-s{seed}", seed=seed).model_copy(update={"variant": model})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    write(0.1, run(0.1))
    head = commit("first")
    for name, (rate, seed, fsr) in SWEEP.items():
        write(rate, run(fsr, seed=seed).model_copy(update={"name": NAME}))
        git("add", ".")
        made = git("commit-tree", git("write-tree"), "-p", "HEAD", "-m", name)
        git("update-ref", f"refs/exps/{head[:2]}/{head[2:]}/{name}", made)
    git("reset", "-q", "--hard", head)


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
    assert "rate-3,rate-10,other" in capsys.readouterr().out.replace(
        "other,rate-3,rate-10", "rate-3,rate-10,other"
    )


@pytest.mark.usefixtures("project")
def test_another_metric_is_compared_if_the_scores_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    by_metric = [rows_of(capsys, "--metric", metric) for metric in ("fsr", "gpa")]
    assert by_metric[0] == rows_of(capsys) != by_metric[1]
    assert main(["sweep", "--metric", "fsrr"]) == 1
    assert main(["sweep", "--set", "7x7"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert "'fsrr'" in first and "fsr" in first and "'7x7'" in second and "9x9" in second


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
def test_two_points_are_compared_with_all_their_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "rate-1,rate-2", "rate-3,rate-10", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (line,) = (line for line in found["scores"] if line["metric"] == "fsr")
    assert (line["num_seeds"], line["first"]["value"], line["second"]["value"]) == (2, 30, 65)
    change = ["recipes.sudoku.trm.learning_rate 0.001 → 0.01"]
    assert found["settings"] == {"sudoku-trm-s0": change, "sudoku-trm-s1": change}
    assert found["only_first"] == found["only_second"] == []


def commit_sweep(params: list[dict[str, Any]], scores: list[list[Evaluation]]) -> None:
    """Experiments try-1, try-2, …, each with its params file and the scores of its runs."""
    git("init", "-q", "-b", "main")
    leave(run(0.1))
    head = commit("first")
    for number, (values, runs) in enumerate(zip(params, scores, strict=True), start=1):
        leave(*runs)
        Path("params.yaml").write_text(yaml.safe_dump(values))
        git("add", ".")
        made = git("commit-tree", git("write-tree"), "-p", "HEAD", "-m", "try")
        git("update-ref", f"refs/exps/{head[:2]}/{head[2:]}/try-{number}", made)
    git("reset", "-q", "--hard", head)


def test_seeds_of_one_profile_are_one_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each seed is a run of its own, and starts from the checkpoint of the same number."""
    monkeypatch.chdir(tmp_path)
    runs = {
        f"sudoku-{model}-s{seed}": {
            "data_set": "sudoku",
            "model": model,
            "seed": seed,
            "init": f"made/runs/sudoku-base-s{seed}",
        }
        for model in ("trm", "hrm")
        for seed in (0, 1)
    }
    params = [
        {
            "profile": "made",
            "recipes": {"sudoku": {"trm": {"steps": steps}, "hrm": {"steps": 1}}},
            "runs": runs,
        }
        for steps in (1, 2)
    ]
    scores = [
        [run_of("trm", seed, fsr + 0.2 * seed) for seed in (0, 1)]
        + [run_of("hrm", seed, 0.1) for seed in (0, 1)]
        for fsr in (0.2, 0.5)
    ]
    commit_sweep(params, scores)
    assert [
        (row["variant"], row["changes"], row["num_seeds"], row["score"]["value"], row["revisions"])
        for row in rows_of(capsys)
        if row["variant"] == "trm" and row["num_seeds"] > 1
    ] == [
        ("trm", {"run.init": "made/runs/sudoku-base"}, 2, 30, "try-1"),
        ("trm", {"run.init": "made/runs/sudoku-base", "train.steps": 2}, 2, 60, "try-2"),
    ]
    assert [row for row in rows_of(capsys) if row["variant"] == "hrm"] == [], "the same in both experiments"


@pytest.mark.usefixtures("project")
def test_the_order_of_seeds_is_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    """The params file of a point is that of its first experiment, which has one of the seeds."""
    assert main(["compare", "rate-1,rate-2", "rate-10,rate-3", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert {change for changes in settings.values() for change in changes} == {
        "recipes.sudoku.trm.learning_rate 0.001 → 0.01"
    }
    assert main(["compare", "rate-1", "other", "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["settings"][NAME]
    assert f"runs.{NAME}.seed 0 → 3" in changes, "another seed under the same name is one"


@pytest.mark.usefixtures("project")
def test_names_that_no_experiment_has_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "none-*"]) == 2
    assert "none-*" in capsys.readouterr().err
