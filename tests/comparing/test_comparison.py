"""Comparisons of revisions: what counts as a difference, with which verdict, and what a line needs to be read."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.comparing.comparison import ONLY_FIRST, ONLY_SECOND, Comparison, as_json, compared, summary
from serrm.comparing.effects import SAME, UNKNOWN
from serrm.comparing.revisions import Revision, used_values
from serrm.comparing.seeds import SOLVED, STUDY
from serrm.scoring.metrics import wilson
from serrm.scoring.schema import METRICS_FILE, Evaluation, pack, read_profile_scores
from serrm.scoring.verdicts import AHEAD, BEHIND, LEVEL, UNDECIDED
from tests.references import run_scores

NUM = 200
ROOT = Path(__file__).parents[2]


def scored(num_solved: int, **changes: Any) -> dict[str, Any]:
    """A set of 200 puzzles, of which the first ones are solved after 16 steps, and half after 8."""
    steps = {}
    for number, solved in ((8, NUM // 2), (16, num_solved)):
        low, high = wilson(solved, NUM)
        steps[number] = {"fsr": solved / NUM, "fsr_lo": low, "fsr_hi": high}
    solved = pack(np.arange(NUM) < num_solved)
    facts = {"status": "scored", "side": 9, "num_puzzles": NUM, "headline_steps": 16, "steps": steps}
    return facts | {"puzzles_digest": "a", "solved": solved} | changes


def run(num_solved: int, seed: int = 0, model: str = "trm", **changes: Any) -> Evaluation:
    name = f"sudoku-{model}-s{seed}"
    return run_scores("made", model, {"9x9": scored(num_solved, **changes)}, seed=seed, name=name)


def revision(name: str, *runs: Evaluation, **settings: Any) -> Revision:
    values = {run.name: used_values(settings, run.name) for run in runs}
    return Revision(name, "made", {run.name: run for run in runs}, values)


def comparison_of(first: Evaluation, second: Evaluation) -> Comparison:
    return compared(revision("old", first), revision("new", second))


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [(100, 120, AHEAD), (120, 100, BEHIND), (100, 101, LEVEL), (100, 100, SAME)],
)
def test_a_verdict_is_on_the_change_from_the_first_to_the_second(first: int, second: int, word: str) -> None:
    result = comparison_of(run(first), run(second))
    [line] = result.lines
    assert (line.verdict, line.difference.value) == (word, pytest.approx((second - first) / 2))
    assert result.is_same == (word == SAME)


def test_only_outcomes_of_the_same_puzzles_are_pairs() -> None:
    pairs, others = comparison_of(run(100), run(110)), comparison_of(run(100), run(110, puzzles_digest="b"))
    unknown = comparison_of(run(100, solved=None, puzzles_digest=None), run(110))
    assert [comparison.lines[0].are_pairs for comparison in (pairs, others, unknown)] == [True, False, False]
    assert [comparison.lines[0].verdict for comparison in (pairs, others, unknown)] == [
        AHEAD,
        UNDECIDED,
        UNDECIDED,
    ]


def test_metrics_per_cell_give_no_verdict() -> None:
    sides = []
    for rate in (0.5, 0.9):
        part = scored(100)
        part["steps"][16] |= {"gpa": rate, "gpa_lo": rate - 0.01, "gpa_hi": rate + 0.01}
        sides.append(run_scores("made", "trm", {"9x9": part}))
    assert [line.verdict for line in comparison_of(*sides).lines] == [SAME, UNKNOWN]


def test_other_outcomes_are_a_difference() -> None:
    shifted = run(100, solved=pack(np.arange(NUM) >= 100))
    assert [line.verdict for line in comparison_of(run(100), shifted).lines] == [UNDECIDED]


def test_other_numbers_of_a_run_are_a_difference() -> None:
    changed = scored(100)
    changed["steps"][8] |= {"fsr": 0.4, "fsr_lo": 0.3, "fsr_hi": 0.5}
    second = run(100).model_copy(update={"sets": run_scores("made", "trm", {"9x9": changed}).sets})
    result = comparison_of(run(100), second)
    assert (result.changed, result.others, result.is_same) == ([], ("sudoku-trm-s0",), False)
    everything = compared(result.first, result.second, has_all=True)
    assert [(line.steps, line.verdict) for line in everything.changed] == [(8, UNDECIDED)]


def test_seeds_share_a_line_whose_interval_their_spread_widens() -> None:
    one = compared(revision("old", run(100)), revision("new", run(124)))
    seeds = (
        [run(100 + 30 * seed, seed) for seed in range(3)],
        [run(124 + 30 * seed, seed) for seed in range(3)],
    )
    several = compared(revision("old", *seeds[0]), revision("new", *seeds[1]))
    [line] = several.lines
    assert (line.num_seeds, line.verdict, one.lines[0].verdict) == (3, UNDECIDED, AHEAD)
    assert line.first.sd and line.difference.value == pytest.approx(12)


def test_runs_and_sets_of_one_side_are_named() -> None:
    refused = {"status": "cannot_extrapolate", "side": 16, "reason": "too large"}
    first = run_scores("made", "trm", {"9x9": scored(100), "16x16": scored(9)})
    second = run_scores("made", "trm", {"9x9": scored(100), "16x16": refused})
    result = compared(revision("old", first, run(5, model="hrm")), revision("new", second, run(5, seed=1)))
    assert result.only == (("sudoku-trm-s0 16x16", "sudoku-hrm-s0"), ("sudoku-trm-s1",))
    assert not result.is_same


def test_a_score_of_one_side_has_a_line_without_a_difference() -> None:
    """A run, a set and a metric that only one side has; neither counts as a score that differs."""
    both, longer = scored(100), scored(100)
    longer["steps"][16] |= {"gpa": 0.75, "gpa_lo": 0.7, "gpa_hi": 0.8}
    first = run_scores("made", "trm", {"9x9": both, "old": scored(20)})
    second = run_scores("made", "trm", {"9x9": longer, "new": scored(30)})
    result = compared(revision("old", first), revision("new", second, run(50, model="hrm")))
    values = {
        (line.key[1], line.set, line.metric): (
            line.first and line.first.value,
            line.second and line.second.value,
        )
        for line in result.lines
        if line.difference is None
    }
    assert values == {
        ("trm", "9x9", "gpa"): (None, 75),
        ("trm", "new", "fsr"): (None, 15),
        ("trm", "old", "fsr"): (10, None),
        ("hrm", "9x9", "fsr"): (None, 25),
    }
    assert summary(result) == "1 score the same as in old; 1 score only in old; 3 scores only in new"
    sides = {score["verdict"]: (score["first"], score["second"]) for score in as_json(result)["scores"]}
    assert sides[ONLY_FIRST][1] is None and sides[ONLY_SECOND][0] is None


def test_equal_scores_without_intervals_are_the_same() -> None:
    part = scored(100)
    part["steps"][16] |= {"gpa": 0.5}
    sides = [run_scores("made", "trm", {"9x9": part}) for _ in range(2)]
    assert comparison_of(*sides).is_same


def test_a_score_that_only_some_seeds_have_gets_no_line() -> None:
    def seed(number: int, rate: float | None) -> Evaluation:
        part = scored(100)
        if rate is not None:
            part["steps"][16] |= {"gpa": rate, "gpa_lo": rate, "gpa_hi": rate}
        return run_scores("made", "trm", {"9x9": part}, seed=number, name=f"sudoku-trm-s{number}")

    result = compared(revision("old", seed(0, 0.5)), revision("new", seed(0, 0.9), seed(1, None)))
    assert [line.metric for line in result.lines] == ["fsr"]


def test_a_refused_set_of_one_side_is_a_difference() -> None:
    refused = {"status": "cannot_extrapolate", "side": 16, "reason": "too large"}
    sides = [
        run_scores("made", "trm", {"9x9": scored(100)} | sets)
        for sets in ({"16x16": refused}, {}, {"16x16": refused | {"side": 25}})
    ]
    assert not comparison_of(sides[0], sides[1]).is_same and not comparison_of(sides[0], sides[2]).is_same
    assert comparison_of(sides[0], sides[0]).is_same


def test_a_new_run_without_scores_is_in_the_summary() -> None:
    refused = {"status": "cannot_extrapolate", "side": 16, "reason": "too large"}
    new = run_scores("made", "hrm", {"16x16": refused})
    text = summary(compared(revision("old", run(100)), revision("new", run(100), new)))
    assert text == "1 score the same as in old; 1 run or set only in new"


def test_settings_that_a_run_uses_are_named_with_both_values() -> None:
    runs = {"sudoku-trm-s0": {"data_set": "sudoku", "model": "trm"}}
    recipes = [{"sudoku": {"trm": {"steps": steps}, "hrm": {"steps": steps}}} for steps in (656, 700)]
    sides = [
        revision(name, run(100), runs=runs, models={"trm": {"width": 64}}, recipes=recipe)
        for name, recipe in zip(("old", "new"), recipes, strict=True)
    ]
    assert compared(*sides).setting_changes == {"sudoku-trm-s0": ["recipes.sudoku.trm.steps 656 → 700"]}


def test_a_score_without_an_interval_gets_no_verdict_and_null_in_json() -> None:
    bare = [run(solved, steps={16: {"fsr": solved / NUM}}) for solved in (100, 120)]
    values = as_json(comparison_of(*bare))
    assert values["scores"][0]["verdict"] == UNKNOWN
    assert values["scores"][0]["difference"]["low"] is None
    json.dumps(values, allow_nan=False)


def test_a_changed_test_set_of_a_users_file_is_a_change() -> None:
    runs = {"sudoku-trm-s0": {"data_set": "sudoku", "model": "trm"}}
    sides = [
        revision(
            name,
            run(100),
            runs=runs,
            tests={"mine": {"data_set": "sudoku", "file": file}, "other": {"data_set": "maze", "file": file}},
        )
        for name, file in (("old", "a.csv"), ("new", "b.csv"))
    ]
    assert compared(*sides).setting_changes == {"sudoku-trm-s0": ["tests.mine.file a.csv → b.csv"]}


def test_the_summary_counts_and_the_data_hold_every_number() -> None:
    result = compared(
        revision("old", run(100), run(50, model="hrm")), revision("new", run(120), run(50, model="hrm"))
    )
    assert "1 of 2 scores differ from old (1 ahead)" in summary(result)
    assert "to the last digit" in summary(comparison_of(run(3), run(3)))
    data = as_json(result)
    [score] = data["scores"]
    assert (score["run"], score["verdict"], data["is_same"]) == ("sudoku-trm-s0", AHEAD, False)
    assert score["difference"]["value"] == pytest.approx(10)
    assert len(as_json(result, has_all=True)["scores"]) == 2


def test_different_headline_steps_are_compared_at_common_steps_and_named() -> None:
    result = comparison_of(run(100), run(100, headline_steps=8))
    assert [(line.steps, line.metric_name) for line in result.lines] == [(8, "FSR, 8 steps")]
    steps = {32: {"fsr": 0.5, "fsr_lo": 0.4, "fsr_hi": 0.6}}
    apart = comparison_of(run(100), run(100, headline_steps=32, steps=steps, solved=None))
    assert not apart.lines and not apart.is_same


def test_the_study_of_seeds_has_the_settings_of_the_default() -> None:
    """Seed 0 of every model has the score that is committed."""
    scores = read_profile_scores(ROOT / "reports" / "laptop" / METRICS_FILE).runs
    with (ROOT / STUDY).open() as file:
        rows = [row for row in csv.DictReader(file) if row["profile"] == "laptop"]
    assert len(rows) == 18
    for row in rows:
        if row["seed"] == "0":
            evaluation = scores[f"{row['data_set']}-{row['model']}-s0"]
            rates = evaluation.scored[evaluation.main_set].steps[16]
            assert float(row[SOLVED]) == pytest.approx(100 * rates["fsr"], abs=0.005)


def test_intervals_of_percentages_stay_within_a_hundred() -> None:
    sides = [[run(num, seed) for seed, num in enumerate(nums)] for nums in ((0, 200), (200, 0))]
    [line] = compared(revision("old", *sides[0]), revision("new", *sides[1])).lines
    assert (line.difference.low, line.difference.high) == (-100, 100)
