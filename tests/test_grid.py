"""The grid of a profile, and grid.yaml, which DVC reads in its place."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from serrm.cli import main
from serrm.config import grid_of, read_params
from serrm.grid import Grid
from serrm.grid_file import check, grid_text, refresh
from serrm.reporting.paper import load_paper
from tests.conftest import with_grid

ROOT = Path(__file__).parents[1]
names = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
seeds = st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True)
blocks = st.lists(
    st.fixed_dictionaries({"tasks": names, "models": names, "seeds": seeds}), min_size=1, max_size=3
)


@pytest.fixture
def params() -> dict[str, Any]:
    return read_params(ROOT / "params.yaml")


@given(blocks)
def test_a_grid_has_the_cells_of_its_blocks_or_is_refused(data: list[dict[str, list[Any]]]) -> None:
    expected = [
        (t, m, s) for block in data for t in block["tasks"] for m in block["models"] for s in block["seeds"]
    ]
    if len(set(expected)) < len(expected):
        with pytest.raises(ValueError, match="which is there already"):
            Grid.model_validate(data)
    else:
        grid = Grid.model_validate(data)
        assert grid.cells() == expected
        assert grid.tasks() == list(dict.fromkeys(task for task, _, _ in expected))


def test_the_committed_file_is_what_the_committed_parameters_say(params: dict[str, Any]) -> None:
    assert (ROOT / "grid.yaml").read_text() == grid_text(params), "`serrm grid` writes it"


def test_the_file_names_each_cell_as_dvc_names_its_stages(params: dict[str, Any]) -> None:
    for profile in params["profiles"]:
        content = yaml.safe_load(grid_text({**params, "profile": profile}))
        grid = grid_of(params, profile)
        assert content["active"] == {profile: {"profile": profile}}
        assert [each["task"] for each in content["tasks"].values()] == grid.tasks()
        assert [(c["task"], c["model"], c["seed"]) for c in content["cells"].values()] == grid.cells()
        for section in content.values():
            for name, values in section.items():
                assert name == "-".join(str(value) for key, value in values.items() if key != "after")
                assert re.fullmatch(r"[\w-]+", name), "DVC takes no other names"


def test_a_training_waits_for_the_one_that_it_goes_on_from(params: dict[str, Any]) -> None:
    origin = "data/runs/ci/sudoku-se_rrm-s0"
    tuned = {"based_on": "se_rrm", "train": {"init_from": origin}}
    data = with_grid(
        {**params, "profile": "ci", "model": {**params["model"], "tuned": tuned}},
        "ci",
        tasks=["sudoku"],
        models=["se_rrm", "tuned"],
        seeds=[0],
    )
    content = yaml.safe_load(grid_text(data))
    assert [cell["after"] for cell in content["cells"].values()] == ["data/arrays/ci/sudoku", origin]


def cells_of_the_paper(params: dict[str, Any]) -> set[tuple[str, str]]:
    """Task and variant of every score in tables 1 to 3 and A5 to A7, and of every row of ours beside them."""
    found: set[tuple[str, str | None]] = set()
    for table in load_paper().score_tables.values():
        for row in table.rows:
            names = row.cells or (table.columns if row.optional else {})  # a row of ours has no printed cell
            found |= {(table.columns[name].task, row.variant_of(name)) for name in names}
    return {(task, variant) for task, variant in found if variant is not None and variant in params["model"]}


def test_the_paper_profile_runs_what_the_papers_tables_have(params: dict[str, Any]) -> None:
    cells = [(task, model) for task, model, _ in grid_of(params, "paper").cells()]
    assert len(cells) == len(set(cells)) == 40
    assert set(cells) == cells_of_the_paper(params)
    counts = Counter(task for task, _ in cells)
    assert counts == {"sudoku": 14, "maze": 13, "arc_agi_1": 10, "arc_agi_2": 3}


def test_names_are_never_taken_for_something_else(params: dict[str, Any]) -> None:
    odd = {**params, "profile": "no", "profiles": {"no": params["profiles"]["ci"]}}
    odd = with_grid({**odd, "model": {**params["model"], "1e5": {"based_on": "trm"}}}, "no", models=["1e5"])
    (cell, *_) = yaml.safe_load(grid_text(odd))["cells"].values()
    assert (cell["profile"], cell["model"]) == ("no", "1e5")


def test_a_file_out_of_step_is_written_again_and_said(params: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    assert refresh(params, path) and not refresh(params, path)
    check(params, path)
    other = with_grid({**params, "profile": "ci"}, "ci", tasks=["sudoku"], models=["trm", "hrm"], seeds=[0])
    with pytest.raises(
        ValueError, match=r"^grid.yaml now lists the 2 cells of profile ci: run `dvc repro` again$"
    ):
        check(other, path)
    check(other, path)
    assert path.read_text() == grid_text(other)
    assert [each.name for each in tmp_path.iterdir()] == ["grid.yaml"]


def test_the_command_writes_it_from_anywhere_in_the_project(
    params: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({**params, "profile": "ci"}))
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    num_cells = len(grid_of(params, "ci").cells())
    for verb in ("now lists", "lists"):
        assert main(["grid"]) == 0
        assert capsys.readouterr().out == f"grid.yaml {verb} the {num_cells} cells of profile ci\n"
    assert (tmp_path / "grid.yaml").read_text() == grid_text({**params, "profile": "ci"})
