"""The table and the figure of the field's ideas: what stands in a row, on scores of a small profile."""

from pathlib import Path

import pytest
from scipy.stats import ttest_ind

from serrm.comparing.effects import BASELINE
from serrm.comparing.ideas import Idea, picture, read_ideas, rows, section
from serrm.reporting.results import Report, grouped
from serrm.scoring.schema import ComputePoint
from serrm.scoring.verdicts import AHEAD
from tests.comparing.test_comparison import ROOT
from tests.comparing.test_effects import trm

SOLVED = {"trm": [100, 104, 102], "trm_winner": [150, 160, 155], "trm_mine": [101, 103, 102]}
VOTE = "symmetries, vote"


@pytest.fixture(scope="module")
def report() -> Report:
    votes = [
        ComputePoint(
            num_attempts=n, max_steps=16, num_puzzles=9, mean_steps=16 * n, fsr=r, fsr_lo=0, fsr_hi=1
        )
        for n, r in ((1, 0.5), (4, 0.75))
    ]
    runs = [
        trm(num, seed, variant).model_copy(update={"methods": {VOTE: votes}} if variant == "trm" else {})
        for variant, nums in SOLVED.items()
        for seed, num in enumerate(nums)
    ]
    return Report(
        "ideas", grouped(runs), flops={("sudoku", variant): lambda side: side for variant in SOLVED}
    )


def test_a_row_per_change_and_method_beside_the_plain_model(report: Report) -> None:
    ideas = read_ideas(ROOT)
    plain, winner, mine, vote = rows([report], ideas)
    assert plain.verdict == BASELINE and plain.difference is None and plain.num_seeds == 3
    assert (winner.idea, winner.verdict) == (ideas["winner"], AHEAD) and mine.idea == Idea("mine", "", "")
    assert winner.difference is not None
    seeds = [[100 * num / 200 for num in SOLVED[variant]] for variant in ("trm_winner", "trm")]
    interval = ttest_ind(*seeds, equal_var=False).confidence_interval()
    assert winner.difference.value == pytest.approx(26.5)
    assert winner.difference.low < interval.low and interval.high < winner.difference.high  # puzzles add
    assert vote.difference is not None and vote.difference.value == pytest.approx(25)
    assert (vote.steps, vote.flops, plain.steps, plain.flops) == (64, 64 * 9, 16, 16 * 9)
    runs = [run.model_copy(update={"methods": None}) for runs in report.results.values() for run in runs]
    slow = Report("ideas_slow", grouped(runs), flops=report.flops)
    assert rows([report, slow], ideas) == [plain, winner, mine, vote, winner, mine]
    page, svg = (write([plain, winner, mine, vote]) for write in (section, picture))
    for row in (winner, mine, vote):
        assert row.idea.text in page and row.idea.text in svg
    assert ideas["winner"].claim in page and "https://arxiv.org/abs/2601.19085" in page


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ideas\.csv: no such file"):
        read_ideas(tmp_path)
