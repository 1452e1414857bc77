"""`serrm sweep`: DVC experiments as one table, and `serrm compare` between two of its points."""

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


@pytest.mark.usefixtures("project")
def test_a_point_is_a_row_with_mean_and_deviation_over_its_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "rate-*", "--json"]) == 0
    low, high = json.loads(capsys.readouterr().out)
    assert low == {
        "run": "sudoku-trm",
        "learning_rate": "0.001",
        "seeds": "2",
        "9×9": "30.00 ± 14.14",
        "experiments": "rate-1,rate-2",
    }
    assert (high["9×9"], high["experiments"]) == ("65.00 ± 7.07", "rate-3,rate-10"), (
        "in the order of the queue"
    )
    assert main(["sweep"]) == 0
    assert "rate-3,rate-10,other" in capsys.readouterr().out.replace(
        "other,rate-3,rate-10", "rate-3,rate-10,other"
    )


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
    assert main(["sweep", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["run"], row["steps"], row["seeds"], row["9×9"], row["experiments"]) for row in rows] == [
        ("sudoku-trm", "1", "2", "30.00 ± 14.14", "try-1"),
        ("sudoku-trm", "2", "2", "60.00 ± 14.14", "try-2"),
    ], "HRM is the same in both experiments"


def test_checkpoints_that_one_seed_starts_from_are_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    params = [
        {
            "profile": "made",
            "runs": {
                NAME: {"data_set": "sudoku", "model": "trm", "seed": 0, "init": f"made/runs/base-s{number}"}
            },
        }
        for number in (1, 2)
    ]
    commit_sweep(params, [[run(0.2)], [run(0.3)]])
    assert main(["sweep", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["init"] for row in rows] == ["made/runs/base-s1", "made/runs/base-s2"]


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
