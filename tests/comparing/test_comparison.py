"""Comparisons of revisions: what counts as a difference, with which verdict, and what a line needs to be read."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.comparing.comparison import Comparison, Line, as_json, compared, summary
from serrm.comparing.effects import SAME, UNKNOWN
from serrm.comparing.revisions import Revision, used_values
from serrm.comparing.seeds import SOLVED, STUDY
from serrm.scoring.metrics import wilson
from serrm.scoring.schema import METRICS_FILE, Evaluation, pack, read_profile_scores
from serrm.scoring.verdicts import AHEAD, BEHIND, LEVEL, UNDECIDED
from tests.references import run_scores

NUM = 200
ROOT = Path(__file__).parents[2]
REFUSED = {"status": "cannot_extrapolate", "side": 16, "reason": "too large"}


def scored(num_solved: int, **changes: Any) -> dict[str, Any]:
    """A set of 200 puzzles, of which the first ones are solved after 16 steps, and half after 8."""
    steps = {}
    for number, solved in ((8, NUM // 2), (16, num_solved)):
        low, high = wilson(solved, NUM)
        steps[number] = {"fsr": solved / NUM, "fsr_lo": low, "fsr_hi": high}
    solved = pack(np.arange(NUM) < num_solved)
    facts = {"status": "scored", "side": 9, "num_puzzles": NUM, "headline_steps": 16, "steps": steps}
    return facts | {"puzzles_digest": "a", "solved": solved} | changes


def run_on(sets: dict[str, Any], seed: int = 0, model: str = "trm") -> Evaluation:
    return run_scores("made", model, sets, seed=seed, name=f"sudoku-{model}-s{seed}")


def run(num_solved: int, seed: int = 0, model: str = "trm", **changes: Any) -> Evaluation:
    return run_on({"9x9": scored(num_solved, **changes)}, seed, model)


def rated(rates: dict[str, float], steps: int = 16) -> dict[str, Any]:
    """A set of which half is solved, with further rates after a number of steps."""
    part = scored(NUM // 2)
    part["steps"][steps] |= rates
    return part


def revision(name: str, *runs: Evaluation, **settings: Any) -> Revision:
    values = {run.name: used_values(settings, run.name) for run in runs}
    return Revision(name, "made", {run.name: run for run in runs}, values)


def comparison_of(first: Evaluation, second: Evaluation) -> Comparison:
    return compared(revision("old", first), revision("new", second))


@pytest.mark.parametrize(
    ("first", "second", "verdict", "are_pairs"),
    [
        (run(100), run(120), AHEAD, True),
        (run(120), run(100), BEHIND, True),
        (run(100), run(101), LEVEL, True),
        (run(3), run(4), UNDECIDED, True),  # the interval is wider than the higher score
        (run(100), run(100), SAME, True),
        (run(100), run(100, solved=pack(np.arange(NUM) >= 100)), UNDECIDED, True),  # other puzzles are solved
        (run(100), run(110), AHEAD, True),
        (run(100), run(110, puzzles_digest="b"), UNDECIDED, False),
        (run(100, solved=None, puzzles_digest=None), run(110), UNDECIDED, False),
    ],
)
def test_a_verdict_is_on_the_change_by_pairs_where_the_puzzles_are_the_same(
    first: Evaluation, second: Evaluation, verdict: str, are_pairs: bool
) -> None:
    result = comparison_of(first, second)
    [line] = result.lines
    assert (line.verdict, line.are_pairs, result.is_same) == (verdict, are_pairs, verdict == SAME)
    rates = [side.scored["9x9"].steps[16]["fsr"] for side in (first, second)]
    assert line.difference and line.difference.value == pytest.approx(100 * (rates[1] - rates[0]))


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ({"gpa": 0.5, "gpa_lo": 0.49, "gpa_hi": 0.51}, {"gpa": 0.9, "gpa_lo": 0.89, "gpa_hi": 0.91}, UNKNOWN),
        ({"gpa": 0.5}, {"gpa": 0.9}, UNKNOWN),
        ({"gpa": 0.5}, {"gpa": 0.5}, SAME),
    ],
)
def test_rates_of_cells_and_those_without_an_interval_get_no_verdict(
    first: dict[str, float], second: dict[str, float], verdict: str
) -> None:
    result = comparison_of(*(run_on({"9x9": rated(rates)}) for rates in (first, second)))
    assert [line.verdict for line in result.lines] == [SAME, verdict]
    assert result.is_same == (verdict == SAME)
    json.dumps(as_json(result, has_all=True), allow_nan=False)


def test_other_numbers_of_a_run_are_a_difference() -> None:
    second = run_on({"9x9": rated({"fsr": 0.4, "fsr_lo": 0.3, "fsr_hi": 0.5}, steps=8)})
    result = comparison_of(run(100), second)
    assert (result.changed, result.others, result.is_same) == ([], ("sudoku-trm-s0",), False)
    everything = compared(result.first, result.second, has_all=True)
    assert [(line.steps, line.verdict) for line in everything.changed] == [(8, UNDECIDED)]


def test_seeds_share_a_line_whose_interval_their_spread_widens() -> None:
    def of_seeds(*nums: tuple[int, ...]) -> Line:
        sides = [[run(num, seed) for seed, num in enumerate(side)] for side in nums]
        [line] = compared(revision("old", *sides[0]), revision("new", *sides[1])).lines
        return line

    one, several = of_seeds((100,), (124,)), of_seeds((100, 130, 160), (124, 154, 184))
    assert (several.num_seeds, several.verdict, one.verdict) == (3, UNDECIDED, AHEAD)
    assert several.first and several.first.sd
    assert several.difference and several.difference.value == pytest.approx(12)
    extreme = of_seeds((0, 200), (200, 0)).difference
    assert extreme and (extreme.low, extreme.high) == (-100, 100), "percentages"


def test_what_only_one_side_has_is_named_and_does_not_count_as_a_score_that_differs() -> None:
    """A run, a set and a metric, and without scores a run and a refused set."""
    longer = rated({"gpa": 0.75, "gpa_lo": 0.7, "gpa_hi": 0.8})
    first = run_on({"9x9": scored(100), "old": scored(20), "16x16": scored(9)})
    second = run_on({"9x9": longer, "new": scored(30), "16x16": REFUSED})
    more = run(50, model="hrm"), run_on({"16x16": REFUSED}, model="mlp")
    result = compared(revision("old", first), revision("new", second, *more))
    values = {
        (line.key[1], line.set, line.metric): [side and side.value for side in (line.first, line.second)]
        for line in result.lines
        if line.difference is None
    }
    assert values == {
        ("trm", "9x9", "gpa"): [None, 75],
        ("trm", "new", "fsr"): [None, 15],
        ("trm", "old", "fsr"): [10, None],
        ("trm", "16x16", "fsr"): [4.5, None],
        ("hrm", "9x9", "fsr"): [None, 25],
    }
    only_new = "sudoku-trm-s0 new", "sudoku-hrm-s0", "sudoku-mlp-s0"
    assert result.only == (("sudoku-trm-s0 old", "sudoku-trm-s0 16x16"), only_new) and not result.is_same
    assert summary(result) == "1 score the same as in old; 2 scores only in old; 3 scores only in new"
    assert not comparison_of(first, run_on({**first.model_dump()["sets"], "25x25": REFUSED})).is_same


def test_a_score_that_only_some_seeds_have_gets_no_line() -> None:
    rates = {"gpa": 0.5, "gpa_lo": 0.5, "gpa_hi": 0.5}
    new = run_on({"9x9": rated(rates)}), run(100, seed=1)
    result = compared(revision("old", run_on({"9x9": rated(rates)})), revision("new", *new))
    assert [line.metric for line in result.lines] == ["fsr"]


def test_settings_that_a_run_uses_are_named_with_both_values() -> None:
    runs = {"sudoku-trm-s0": {"data_set": "sudoku", "model": "trm"}}
    sides = [
        revision(
            name,
            run(100),
            runs=runs,
            recipes={"sudoku": {"trm": {"steps": steps}, "hrm": {"steps": steps}}},
            tests={"mine": {"data_set": "sudoku", "file": file}, "other": {"data_set": "maze", "file": file}},
        )
        for name, steps, file in (("old", 656, "a.csv"), ("new", 700, "b.csv"))
    ]
    changes = ["recipes.sudoku.trm.steps 656 → 700", "tests.mine.file a.csv → b.csv"]
    assert compared(*sides).setting_changes == {"sudoku-trm-s0": changes}


def test_the_summary_counts_and_the_data_hold_every_number() -> None:
    sides = ((name, (run(num), run(50, model="hrm"))) for name, num in (("old", 100), ("new", 120)))
    result = compared(*(revision(name, *runs) for name, runs in sides))
    assert "1 of 2 scores differ from old (1 ahead)" in summary(result)
    [score] = as_json(result)["scores"]
    assert (score["run"], score["verdict"]) == ("sudoku-trm-s0", AHEAD)
    assert score["difference"]["value"] == pytest.approx(10)
    assert len(as_json(result, has_all=True)["scores"]) == 2


@pytest.mark.parametrize(("steps", "common"), [(8, [(8, "FSR, 8 steps")]), (32, [])])
def test_different_headline_steps_are_compared_at_common_steps_and_named(
    steps: int, common: list[tuple[int, str]]
) -> None:
    rates = {32: {"fsr": 0.5, "fsr_lo": 0.4, "fsr_hi": 0.6}}
    changes = {} if common else {"steps": rates, "solved": None}
    result = comparison_of(run(100), run(100, headline_steps=steps, **changes))
    assert [(line.steps, line.metric_name) for line in result.lines] == common and not result.is_same


def test_the_study_of_seeds_has_the_settings_of_the_default() -> None:
    """Seed 0 of every model has the score that is committed."""
    scores = read_profile_scores(ROOT / "reports" / "laptop" / METRICS_FILE).runs
    with (ROOT / STUDY).open() as file:
        rows = [row for row in csv.DictReader(file) if row["profile"] == "laptop"]
    assert Counter(row["data_set"] for row in rows) == {"sudoku": 3 * 5, "maze": 3 * 3}
    for row in rows:
        if row["seed"] == "0":
            evaluation = scores[f"{row['data_set']}-{row['model']}-s0"]
            rates = evaluation.scored[evaluation.main_set].steps[16]
            assert float(row[SOLVED]) == pytest.approx(100 * rates["fsr"], abs=0.005)
