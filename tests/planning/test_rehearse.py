"""A profile in miniature is still that profile, and what fails in it is said."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from serrm.cli import main
from serrm.config import read_params, read_yaml
from serrm.planning.forecast import stages_of
from serrm.planning.rehearse import miniature
from serrm.training.settings import RunSettings

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))


def shape(settings: RunSettings) -> tuple[Any, ...]:
    """What a miniature has to keep of a run: all but the sizes of its model and its training."""
    widths = {"width", "heads", "head_dim", "symbol_heads", "symbol_head_dim", "swiglu_multiple"}
    model, train = (
        settings.model.model_dump(exclude=widths | {"layers", "h_cycles", "l_cycles"}),
        settings.train,
    )
    return model, train.halting.kind, train.optimizer.kind, train.compile, settings.fidelity


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_miniature_changes_only_sizes(path: Path, tmp_path: Path) -> None:
    params = read_params(path)
    small = miniature(params, device="cpu")
    assert list(small.runs) == list(params.runs) and small.data_sets.keys() == params.data_sets.keys()
    for name in params.runs:
        settings = small.run_settings(name)
        assert shape(settings) == shape(params.run_settings(name))
        assert (settings.train.num_optimiser_steps(1000), settings.model.width, settings.train.init_from) == (
            3,
            16,
            None,
        )
        assert settings.train.precision == small.scoring_settings(name).evaluate.precision == "float32"
    for data_set in params.data_sets:
        kinds = {value.data_sets[data_set].download["source"]["kind"] for value in (params, small)}
        assert len(kinds) == 1
    assert max(stage.flops for stage in stages_of(small, ROOT).values()) < 1e12
    for data_set, section in miniature(params, tmp_path).data_sets.items():
        was_published = params.data_sets[data_set].download["source"]["kind"] == "hub"
        assert (section.files == tmp_path) == was_published


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two runs, one of which fails: its learning rate is far too high."""
    params = read_yaml(ROOT / "profiles" / "ci.yaml")
    for section in ("data_sets", "recipes"):
        params[section] = {"maze": params[section]["maze"]}
    params["runs"] = {name: params["runs"][name] for name in ("maze-hrm-s0", "maze-trm-s0")}
    params["runs"]["maze-trm-s0"]["changes"] = {"train.learning_rate": 1e30}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    for name in ("src", "stages", "profiles", "dvc.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_unknown_run_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", "--only", "none"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "--only none: " in line and "maze-hrm-s0" in line
    assert not (project / "data").exists()


@pytest.mark.slow
def test_a_rehearsal_runs_through_and_takes_what_is_forecast(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rehearse", "--only", "*-hrm-*", "--tflops", "350", "--keep"]) == 0
    out = capsys.readouterr().out
    assert "7 stages, 0 failed or not run, kept in " in out and "at 350 TFLOP/s" in out
    (folder,) = (project / "data" / "rehearsal").iterdir()
    assert (folder / "reports" / "ci" / "report.html").is_file()
    config = json.loads((folder / "data" / "ci" / "runs" / "maze-hrm-s0" / "config.json").read_text())
    forecast = stages_of(read_params(folder / "params.yaml"), ROOT)["train@maze-hrm-s0"].flops
    assert config["training"]["flops"] == forecast


@pytest.mark.slow
def test_a_failed_run_is_one_line_and_stops_no_other(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rehearse", "--tflops", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    results = {tuple(line.split()[:2]): line.split(maxsplit=2)[-1] for line in lines}
    assert "lower train.learning_rate?" in results["maze-trm-s0", "train"]
    assert results["maze-trm-s0", "evaluate"].endswith("not run")
    assert results["maze-hrm-s0", "evaluate"].endswith("ok")
    assert any(line.startswith("9 stages, 3 failed or not run") for line in lines)  # tables need all runs
    assert not list((project / "data" / "rehearsal").iterdir())
