"""Claims: every one has a check, none holds without results, and each follows its numbers."""

from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from serrm.reporting.claims import CHECKS, FAILS, HOLDS, LEVEL, UNTESTED, claims_table, tally
from serrm.reporting.paper import load_paper
from serrm.scoring.metrics import wilson
from tests.reporting.conftest import paper_files, set_rate


@pytest.fixture
def claims(report):
    """Metric files as claims: by key, our numbers and the verdict."""

    def judge(files):
        frame = claims_table(report(files)).frame
        return dict(zip(load_paper().claims, zip(frame["Ours"], frame["Verdict"], strict=True), strict=True))

    return judge


@pytest.fixture
def verdicts(claims):
    return lambda files: {key: verdict for key, (_, verdict) in claims(files).items()}


NEVER = {"language_model", "language_model_4x4", "parameters"}  # no run of ours tells
OPEN = {"permutation", "data_efficient"}  # no table of the paper has them


def test_every_claim_has_a_check():
    assert CHECKS.keys() == load_paper().claims.keys()


def test_the_papers_own_numbers_refute_none_of_its_claims(verdicts, settings):
    """The intervals of these two overlap."""
    for task in ("arc_agi_1", "arc_agi_2"):
        for model, num in (("se_rrm", 7), ("trm", 1000), ("hrm", 1000)):
            settings.here[task, model] = {"arrays": {"num_augmentations": num}}
    others = {"arc_hrm": LEVEL, "trm_arc": LEVEL} | dict.fromkeys(NEVER | OPEN, UNTESTED)
    assert {key: verdict for key, verdict in verdicts(paper_files()).items() if verdict != HOLDS} == others


def test_without_results_nothing_is_tested_and_alone_no_comparison(verdicts, made):
    assert set(verdicts({}).values()) == {UNTESTED}
    found = verdicts({key: file for key, file in made.items() if key[1] == "se_rrm"})
    tested = {key for key, verdict in found.items() if verdict != UNTESTED}
    assert tested == {"larger_grids", "larger_unsolved", "more_steps", "permutation"}


def test_the_made_profile(claims, report, made):
    found = {key: verdict for key, (_, verdict) in claims(made).items()}
    holds = {"margins", "larger_grids", "more_steps", "every_depth", "maze", "permutation", "data_efficient"}
    assert {key for key, verdict in found.items() if verdict == HOLDS} == holds
    # A third of the 16×16 puzzles is solved; ARC-AGI-2 was not run.
    assert (found["larger_unsolved"], found["arc_trm"], found["tied_sudoku"]) == (FAILS, FAILS, UNTESTED)
    table = claims_table(report(made))
    assert sum(tally(table.frame).values()) == len(table.frame) == 22
    assert "holds here 7" in table.caption


rates = st.integers(0, 500).map(lambda num: num / 500)


@given(ours=rates, theirs=rates)
@with_settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_margin_holds_exactly_above_eleven_and_seven_points(verdicts, made, ours, theirs):
    del made["sudoku", "se_rrm", 1]
    for metric in ("fsr", "gpa"):
        set_rate(made["sudoku", "se_rrm", 0], metric, ours)
        for model in ("trm", "hrm"):
            set_rate(made["sudoku", model, 0], metric, theirs)
    assert (verdicts(made)["margins"] == HOLDS) == (round(100 * ours, 2) - round(100 * theirs, 2) > 11)
    made["sudoku", "se_rrm", 1] = deepcopy(made["sudoku", "se_rrm", 0]) | {"seed": 1}


@pytest.mark.parametrize(
    ("claim", "model", "task", "metric", "of_set", "rate", "expected"),
    [
        ("maze", "hrm", "maze", "fsr", "10x10", 0.6, HOLDS),
        ("maze", "hrm", "maze", "fsr", "10x10", 0.79, LEVEL),
        ("maze", "hrm", "maze", "fsr", "10x10", 0.9, FAILS),
        ("smaller_grids", "trm", "sudoku", "fsr", "4x4", 0.002, LEVEL),
        ("smaller_grids", "trm", "sudoku", "fsr", "4x4", 0.1, FAILS),
        ("arc_trm", "trm", "arc_agi_1", "pass_at_2", "evaluation", 0.3, UNTESTED),
        ("augmentations", "se_rrm", "arc_agi_1", "pass_at_2", "evaluation", 0.9, UNTESTED),
    ],
)
def test_a_verdict_follows_its_number(verdicts, made, claim, model, task, metric, of_set, rate, expected):
    """A score that may be chance neither holds nor fails; ARC-AGI-2 was not run."""
    if claim == "maze":
        set_rate(made["maze", "se_rrm", 0], "fsr", 0.8, "10x10")
    set_rate(made[task, model, 0], metric, rate, of_set)
    assert verdicts(made)[claim] == expected


@pytest.mark.parametrize(("theirs", "verdict"), [(0.16, LEVEL), (0.97, FAILS)])
def test_every_number_of_steps_that_both_sides_have_counts(claims, made, theirs, verdict):
    assert (
        claims(made)["every_depth"][0]
        == "SE-RRM is ahead of both after 1, 16, 64: 3 of the paper's 8 numbers of steps."
    )
    set_rate(made["sudoku", "trm", 0], "fsr", theirs, steps="64" if verdict == FAILS else "1")
    assert claims(made)["every_depth"][1] == verdict


def test_more_steps_need_more_than_the_training_had(verdicts, made):
    for (task, *_), file in made.items():
        if task == "sudoku":
            file["sets"]["9x9"]["steps"].pop("64", None)
    assert verdicts(made)["more_steps"] == UNTESTED


def test_a_baseline_that_takes_larger_grids_refutes_that_it_cannot(verdicts, made):
    made["sudoku", "trm", 0]["sets"]["16x16"] = made["sudoku", "se_rrm", 0]["sets"]["16x16"]
    assert verdicts(made)["larger_grids"] == FAILS


def test_what_rounding_may_decide_refutes_no_equivariance(verdicts, made):
    pairs = made["sudoku", "se_rrm", 0]["equivariance"]
    for num, expected in ((pairs["num_pairs"], HOLDS), (pairs["num_pairs"] - 1, LEVEL), (0, FAILS)):
        pairs["num_identical"] = num
        assert verdicts(made)["permutation"] == expected


@pytest.mark.parametrize(
    ("fewer", "rate", "expected"), [(7, 0.3, HOLDS), (7, 0.0, LEVEL), (1000, 0.3, UNTESTED)]
)
def test_fewer_augmentations_are_tested_where_there_are_fewer(
    verdicts, made, settings, fewer, rate, expected
):
    for task in ("arc_agi_1", "arc_agi_2"):
        for model, num in (("se_rrm", fewer), ("trm", 1000), ("hrm", 1000)):
            made[task, model, 0] = deepcopy(made["arc_agi_1", "trm", 0]) | {"task": task, "model": model}
            set_rate(made[task, model, 0], "pass_at_2", rate if model == "se_rrm" else 0.002, "evaluation")
            settings.here[task, model] = {"arrays": {"num_augmentations": num}}
    assert verdicts(made)["augmentations"] == expected
    for file in made.values():
        if "evaluation" in file["sets"]:
            set_rate(file, "pass_at_2", 0.0, "evaluation")
    found = verdicts(made)
    assert [found[key] for key in ("arc_hrm", "arc_trm", "augmentations")] == [UNTESTED] * 3


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.4, 0.5, 0.6), HOLDS),
        ((0.1, 0.4, 0.6), HOLDS),
        ((0.1, 0.2, 0.3), LEVEL),  # the same curve
        ((0.1, 0.2, 0.25), LEVEL),  # lower, by less than the intervals
        ((0.0, 0.01, 0.1), FAILS),
    ],
)
def test_learning_curves_are_compared_at_the_others_best_score(verdicts, made, scores, expected):
    """TRM and HRM reach 30% at the end of their curves; n = 200."""
    for (task, model, _), file in made.items():
        file["learning_curve"] = file["learning_curve"] if task == "sudoku" else []
        for point, rate in zip(
            file["learning_curve"], scores if model == "se_rrm" else (0.1, 0.2, 0.3), strict=False
        ):
            low, high = wilson(rate * 200, 200)
            point |= {"fsr": rate, "fsr_lo": low, "fsr_hi": high}
    assert verdicts(made)["data_efficient"] == expected
