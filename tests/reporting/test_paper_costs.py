"""The committed counts of the paper's runs are what is counted now, and only used for the settings they follow from."""

from pathlib import Path

import pytest

from serrm.config import Params, read_params
from serrm.reporting import paper_costs
from serrm.reporting.paper_costs import count, read_counted

PAPER = Path(__file__).parents[2] / "profiles" / "paper.yaml"


@pytest.fixture
def paper() -> Params:
    return read_params(PAPER)


def test_the_committed_counts_are_those_of_the_code(paper: Params) -> None:
    """`make docs` writes them."""
    assert read_counted() == {
        name: count(paper.run_settings(name), paper.counts(run.data_set).side)
        for name, run in paper.runs.items()
    }


def test_edited_settings_are_counted_anew(paper: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def noted(run: paper_costs.RunSettings, side: int) -> paper_costs.CountedRun:
        counted.append(run.name)
        return count(run, side)

    monkeypatch.setattr(paper_costs, "count", noted)
    before = paper_costs.paper_costs(paper)("sudoku", "se_rrm")
    assert before and before.parameters == 1_970_176 and counted == []
    values = paper.model_dump(mode="json")
    values["models"]["se_rrm"]["layers"] *= 2
    after = paper_costs.paper_costs(Params.model_validate(values))("sudoku", "se_rrm")
    assert counted == ["sudoku-se_rrm-s0"]
    assert after and after.parameters > before.parameters and after.flops > before.flops
    assert paper_costs.paper_costs(paper)("sudoku", "unknown") is None
