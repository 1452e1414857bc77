"""`serrm compare` on a repository: which name stands for which scores, exit codes, and one line for bad names."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

import serrm
from serrm.cli import main
from serrm.comparing.seeds import SOLVED, STUDY
from serrm.core.project import current_commit
from serrm.scoring.schema import Evaluation, profile_text, write_evaluation
from tests.references import RATES, SCORED, run_scores
from tests.repository import git, new_repository

NAME = "sudoku-trm-s0"


def run(fsr: float, profile: str = "made", **changes: object) -> Evaluation:
    rates = RATES | {"fsr": fsr, "fsr_lo": max(0.0, fsr - 0.1), "fsr_hi": min(1.0, fsr + 0.1)}
    return run_scores(profile, "trm", {"9x9": SCORED | {"steps": {"16": rates}}}, **changes)


def leave(*runs: Evaluation, steps: int = 1) -> None:
    """Write scores as `tabulate` does, and params.yaml."""
    folder = Path("reports", runs[0].profile)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(profile_text(runs[0].profile, runs))
    params = {
        "profile": "made",
        "recipes": {"sudoku": {"trm": {"steps": steps}}},
        "runs": {NAME: {"data_set": "sudoku", "model": "trm"}},
    }
    Path("params.yaml").write_text(yaml.safe_dump(params))


def leave_checkpoint(scored: Evaluation, weights: str | None = None) -> None:
    """Write the part of a checkpoint by which its scores are known; `weights` in place of the hash in the scores."""
    folder = Path("data", scored.profile, "runs", scored.name)
    folder.mkdir(parents=True, exist_ok=True)
    digest = weights or scored.training.weights_sha256
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  config.json\n{digest}  model.safetensors\n")


def commit(message: str) -> str:
    git("add", ".")
    git("commit", "-qm", message)
    return git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the scores 0.2 and 0.3 in two commits, 0.3 of another profile, and 0.3 in the workspace."""
    with new_repository(tmp_path_factory) as folder:
        leave(run(0.2))
        commit("first")
        git("tag", "begin")
        leave(run(0.3), steps=2)
        leave(run(0.3, "other"), steps=2)
        commit("second")
    return folder


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[float, float]:
    """FSR on both sides in percent, of the only score that is compared."""
    capsys.readouterr()
    assert main(["compare", *arguments, "--json", "--all"]) == 0
    score = next(line for line in json.loads(capsys.readouterr().out)["scores"] if line["metric"] == "fsr")
    return score["first"]["value"], score["second"]["value"]


@pytest.mark.usefixtures("project")
def test_names_are_commits_tags_branches_profiles_and_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    leave(run(0.5), steps=3)
    experiment = git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "x")
    head = git("rev-parse", "HEAD")
    git("update-ref", f"refs/exps/{head[:2]}/{head[2:]}/wide", experiment)
    assert compared(capsys) == (30, 50)
    assert compared(capsys, "begin") == (20, 50)
    assert compared(capsys, "begin", "main") == (20, 30)
    assert compared(capsys, "HEAD~1", "wide") == (20, 30)
    assert compared(capsys, "workspace", "begin") == (50, 20)
    assert compared(capsys, "made", "other") == (50, 30), "the profile's results in the working tree"
    git("branch", "other", "begin")
    assert compared(capsys, "other", "made") == (30, 50)
    assert compared(capsys, "refs/heads/other", "made") == (20, 50)
    assert compared(capsys, "HEAD", "--profile", "other") == (30, 30)


@pytest.mark.usefixtures("project")
def test_scores_below_data_count_until_they_are_gathered(capsys: pytest.CaptureFixture[str]) -> None:
    leave_checkpoint(run(0.6))
    write_evaluation(Path("data/made/scores", f"{NAME}.json"), run(0.6))
    assert compared(capsys) == (30, 60)
    assert main(["compare"]) == 0
    assert "data/made/scores" in capsys.readouterr().out
    shutil.rmtree("reports/made")
    assert compared(capsys) == (30, 60)


STATES = ["trained again", "training stopped", "never scored", "edited", "new test set"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("state", STATES)
def test_scores_that_are_not_of_the_checkpoint_in_place_are_never_the_same(
    state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stopped in evaluation or `dvc repro train@RUN`; stopped in training; a new run; settings that were not run."""
    leave_checkpoint(run(0.3))
    write_evaluation(Path("data/made/scores", f"{NAME}.json"), run(0.3))
    params = yaml.safe_load(Path("params.yaml").read_text())
    values = {"recipes.sudoku.trm": {"steps": 2}, f"runs.{NAME}": params["runs"][NAME]}
    stages = {f"train@{NAME}": {"params": {"params.yaml": values}}}
    Path("dvc.lock").write_text(yaml.safe_dump({"stages": stages}))
    assert main(["compare", "--exit-code"]) == 0
    if state == "trained again":
        leave_checkpoint(run(0.3), weights="f" * 64)
    elif state == "training stopped":
        shutil.rmtree("data/made/runs")
    elif state == "never scored":
        params["runs"]["sudoku-trm-s1"] = params["runs"][NAME]
    elif state == "edited":
        params["recipes"]["sudoku"]["trm"]["steps"] = 5
    else:
        params["tests"] = {"mine": {"data_set": "sudoku"}}
    Path("params.yaml").write_text(yaml.safe_dump(params))
    capsys.readouterr()
    assert main(["compare", "--exit-code"]) == 1
    output = capsys.readouterr().out
    assert "last digit" not in output and "dvc repro" in output
    assert ("sudoku-trm-s1" if state == "never scored" else NAME) in output
    shutil.rmtree("data/made", ignore_errors=True)
    if state in ("trained again", "training stopped"):
        assert main(["compare", "--exit-code"]) == 0, "a fresh clone has no checkpoints"


@pytest.mark.usefixtures("project")
def test_scores_without_a_hash_are_not_taken_for_those_of_a_checkpoint(
    capsys: pytest.CaptureFixture[str],
) -> None:
    old = run(0.3, "other")
    leave(old.model_copy(update={"training": old.training.model_copy(update={"weights_sha256": None})}))
    commit("of an earlier version")
    assert main(["compare", "--profile", "other", "--exit-code"]) == 0, "a fresh clone has no checkpoints"
    leave_checkpoint(old)
    assert main(["compare", "--profile", "other", "--exit-code"]) == 1
    output = capsys.readouterr().out
    assert "earlier version" in output and "`serrm use other && dvc repro`" in output


@pytest.mark.usefixtures("project")
def test_exit_codes_are_those_of_git_diff(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--exit-code"]) == 0
    assert capsys.readouterr().out == "the same as HEAD to the last digit (2 scores)\n"
    curve = [{"step": 1, "samples": 4, "loss": 0.5, "scores": {"fsr": 0.1}}]
    for runs in (
        [run(0.31)],
        [run(0.3, learning_curve=curve)],
        [run(0.3), run(0.3, name="sudoku-trm-s1", seed=1)],
    ):
        leave(*runs, steps=2)
        assert main(["compare", "--exit-code"]) == 1
        assert main(["compare"]) == 0
        assert "last digit" not in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_the_table_has_settings_verdicts_and_the_spread_over_seeds_of_the_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    studied = ("made", 0, 55), ("made", 1, 60), ("", 2, 90)
    rows = [f"{profile},sudoku,trm,{seed},{solved}" for profile, seed, solved in studied]
    Path(STUDY).parent.mkdir(parents=True)
    Path(STUDY).write_text("\n".join([f'profile,data_set,model,seed,"{SOLVED}"', *rows, ""]))
    leave(run(0.9), steps=7)
    assert main(["compare"]) == 0
    output = capsys.readouterr().out
    for words in ("recipes.sudoku.trm.steps 2 → 7", "ahead", "+60.00", f"5.00 points ({STUDY})"):
        assert words in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["begim"], "'begim'"),
        (["HEAD", "xyz"], "'xyz'"),
        (["HEAD", "--profile", "new"], "reports/new/metrics.json"),
    ],
)
@pytest.mark.usefixtures("project")
def test_an_unknown_name_is_a_usage_error_of_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and words in error


def spoil(name: str) -> None:
    """Damage an object of the repository, as a disk may."""
    digest = git("rev-parse", name)
    file = Path(".git", "objects", digest[:2], digest[2:])
    file.chmod(0o600)
    file.write_bytes(b"damaged")


@pytest.mark.parametrize("name", ["begin^{commit}", "begin^{tree}", "begin:reports/made/metrics.json"])
@pytest.mark.usefixtures("project")
def test_what_git_cannot_read_is_not_called_missing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(name)
    for revision in ("begin", "HEAD~1"):
        assert main(["compare", revision]) == 1
        error = capsys.readouterr().err
        assert "corrupt" in error and error.count("\n") == 1
    Path("reports/made/metrics.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    assert main(["compare", "HEAD"]) == 1
    assert "git lfs pull" in capsys.readouterr().err
    git("checkout", ".")


def test_what_git_cannot_compare_with_the_commit_is_recorded_with_changes(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Path("src").mkdir()
    Path("src", "x.py").touch()
    head = commit("code")
    assert current_commit(project) == (head, False)
    spoil("HEAD^{tree}")
    assert current_commit(project) == (head, True)
    assert "corrupt" in caplog.text


def test_a_summary_is_one_line_and_a_failure_only_with_an_exit_code(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def summary(code: int, *arguments: str) -> str:
        assert main(["compare", *arguments, "--summary"]) == 0
        (line,) = capsys.readouterr().out.splitlines()
        assert main(["compare", *arguments, "--summary", "--exit-code"]) == code
        capsys.readouterr()
        return line

    assert "last digit" in summary(0)
    assert summary(2, "nowhere").startswith("compare: ")
    leave(run(0.9), steps=2)
    assert "1 of 2" in summary(1)
    Path("reports/made/metrics.json").write_text("{")
    assert "reports/made/metrics.json" in summary(1)
    shutil.rmtree(project / "reports")
    assert summary(2).startswith("compare: ")
    leave(run(0.9), steps=2)
    shutil.rmtree(project / ".git")
    assert summary(2).startswith("compare: ")


@pytest.mark.usefixtures("project")
def test_results_is_a_table_of_every_score() -> None:
    leave(run(0.5), steps=2)
    table = serrm.results()
    row = table[table.metric == "fsr"].iloc[0]
    assert (row.run, row.seed, row.set, row.steps) == (NAME, 0, "9x9", 16)
    assert (row.value, row.low, row.high) == pytest.approx((50, 40, 60))
    assert serrm.results("HEAD").value[0] == pytest.approx(30)
    assert set(serrm.results("other").profile) == {"other"}
    with pytest.raises(ValueError, match="nothing"):
        serrm.results("nothing")
