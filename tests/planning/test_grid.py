"""`serrm runs --grid` adds runs to params.yaml, and changes nothing else in it."""

import shutil
from pathlib import Path

import pytest
from dvc.utils.hydra import apply_overrides

from serrm.cli import main
from serrm.config import read_params
from serrm.planning.grid import Grid, with_runs

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
HALTING = {"kind": "random", "probability": 0.4}
GRID = ["runs", "--grid", "--data-set", "sudoku", "--model", "trm"]
CHANGES = ["--change", "wide:model.width=96", "--change", "slow:train.learning_rate=1e-3"]


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(ROOT / "profiles" / "laptop.yaml", tmp_path / "params.yaml"))


def test_a_grid_is_a_baseline_and_named_changes_with_every_seed(
    params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = read_params(params).runs
    assert main([*GRID, "--seeds", "0,1,2", *CHANGES, "--change", "slow:train.steps=9"]) == 0
    grid = read_params(params)
    variants = {"trm": {}, "trm_wide": {"model.width": 96}}
    variants |= {"trm_slow": {"train.learning_rate": 0.001, "train.steps": 9}}
    names = [f"sudoku-{variant}-s{seed}" for variant in variants for seed in range(3)]
    assert [*grid.runs] == [*before, *(name for name in names if name not in before)]
    assert capsys.readouterr().out.split()[:8] == [name for name in names if name not in before]
    for name in names:
        run = grid.runs[name]
        assert (run.changes, run.init, str(run.seed)) == (variants[grid.variant(name)], "random", name[-1])
    assert grid.run_settings("sudoku-trm_wide-s1").model.width == 96
    text = params.read_text()
    assert main([*GRID, "--seeds", "0,1,2", *CHANGES[:2]]) == 0
    assert params.read_text() == text, "runs that are there stay"


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_lines_and_comments_of_a_profile_stay_and_the_form_is_that_of_dvc(path: Path, tmp_path: Path) -> None:
    before, params = path.read_text(), read_params(path)
    run = next(iter(params.runs.values()))
    grid = Grid(run.data_set, run.model, (97, 98), {"new": {"train.halting": HALTING, "model.layers": 1}})
    # Some profiles have plain runs with changes, of which the baseline would be no further seed.
    runs = {name: entry for name, entry in grid.runs().items() if "changes" in entry}
    old, new = before.splitlines(), with_runs(before, runs, path.name).splitlines()
    start = next(i for i, (a, b) in enumerate(zip([*old, ""], new, strict=False)) if a != b)
    assert [*new[:start], *new[start + len(new) - len(old) :]] == old
    file = tmp_path / "params.yaml"
    file.write_text("\n".join(new))
    apply_overrides(str(file), [f"runs.{run.data_set}-{run.model}_new-s98.seed=777"])
    changed = [line for line in zip(new, file.read_text().splitlines(), strict=True) if line[0] != line[1]]
    assert [line.strip() for _, line in changed] == ["seed: 777"]


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["--change", "wide:model.widht=96"], 1, "sudoku-trm_wide-s0.changes.model.widht"),
        (["--change", "wide:model.width=big"], 1, "sudoku-trm_wide-s0.changes.model.width"),
        (["--model", "gru"], 1, "'gru'"),
        (["--data-set", "sodoku"], 1, "'sodoku'"),
        (["--change", "wide=96"], 2, "'wide=96'"),
        (["--change", "wide:model.width=[1"], 2, "'[1'"),
        ([*CHANGES, "--change", "wide:model.width=48"], 2, "model.width"),
        (["--seeds", "0-2"], 2, "'0-2'"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    params: Path, arguments: list[str], code: int, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = params.read_bytes()
    assert main([*GRID, "--seeds", "0,1", "--change", "good:model.width=32", *arguments]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert named in line
    assert params.read_bytes() == before


def test_another_run_of_the_same_name_leaves_the_file(
    params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*GRID, *CHANGES]) == 0
    before = params.read_bytes()
    assert main([*GRID, "--change", "wide:model.width=128"]) == 1
    assert "runs.sudoku-trm_wide-s0: " in capsys.readouterr().err and params.read_bytes() == before
