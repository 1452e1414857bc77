"""Claims: every one has a check, none holds without results, and each follows its numbers."""

from copy import deepcopy

import pytest

from serrm.reporting.claims import FAILS, HOLDS, LEVEL, UNTESTED, claims_table, tally
from serrm.reporting.paper import load_paper
from serrm.scoring import wilson
from tests.reporting.conftest import paper_files, set_rate


@pytest.fixture
def verdicts(report):
    """The verdicts on metric files by claim, SE-RRM with a number of augmentations where the others have 1,000."""

    def judge(files, num_augmentations=7):
        whole = report(files)
        for task in ("arc_agi_1", "arc_agi_2"):
            for model, num in (("se_rrm", num_augmentations), ("trm", 1000), ("hrm", 1000)):
                whole.settings[task, model] = {"arrays": {"num_augmentations": num}}
        return dict(zip(load_paper().claims, claims_table(whole).frame["Verdict"], strict=True))

    return judge


def test_the_papers_own_numbers_refute_none_of_its_claims(verdicts):
    """The intervals of three overlap; no table of the paper has five."""
    untested = ("language_model", "language_model_4x4", "parameters", "permutation", "data_efficient")
    others = {"arc_hrm": LEVEL, "trm_arc": LEVEL, "maze": LEVEL} | dict.fromkeys(untested, UNTESTED)
    assert {key: verdict for key, verdict in verdicts(paper_files()).items() if verdict != HOLDS} == others


def test_without_results_nothing_is_tested_and_alone_no_comparison(verdicts, made):
    assert set(verdicts({}).values()) == {UNTESTED}
    found = verdicts({key: file for key, file in made.items() if key[1] == "se_rrm"})
    tested = {key for key, verdict in found.items() if verdict != UNTESTED}
    assert tested == {"larger_grids", "larger_unsolved", "more_steps", "permutation"}


def test_the_made_profile(verdicts, report, made):
    found = verdicts(made)
    holds = {"margins", "larger_grids", "more_steps", "maze", "permutation", "data_efficient"}
    assert {key for key, verdict in found.items() if verdict == HOLDS} == holds
    # A third of the 16×16 puzzles is solved; not all depths were scored, and ARC-AGI-2 was not run.
    assert (found["larger_unsolved"], found["arc_trm"], found["tied_sudoku"]) == (FAILS, FAILS, UNTESTED)
    table = claims_table(report(made))
    assert len(table.frame) == 22 and "holds here: 6" in tally(table.frame) in table.caption


@pytest.mark.parametrize(
    ("claim", "model", "task", "metric", "of_set", "rate", "expected"),
    [
        ("margins", "trm", "sudoku", "fsr", "9x9", 0.53, LEVEL),
        ("margins", "trm", "sudoku", "fsr", "9x9", 0.8, FAILS),
        ("margins", "trm", "sudoku", "gpa", "9x9", 0.9, FAILS),
        ("maze", "hrm", "maze", "fsr", "10x10", 0.6, HOLDS),
        ("maze", "hrm", "maze", "fsr", "10x10", 0.79, LEVEL),
        ("maze", "hrm", "maze", "fsr", "10x10", 0.9, FAILS),
        ("smaller_grids", "hrm", "sudoku", "fsr", "4x4", 0.0, HOLDS),
        ("smaller_grids", "trm", "sudoku", "fsr", "4x4", 0.1, FAILS),
        ("arc_trm", "trm", "arc_agi_1", "pass_at_2", "evaluation", 0.3, UNTESTED),
        ("augmentations", "se_rrm", "arc_agi_1", "pass_at_2", "evaluation", 0.9, UNTESTED),
        ("every_depth", "trm", "sudoku", "fsr", "9x9", 0.97, FAILS),
    ],
)
def test_a_verdict_follows_its_number(verdicts, made, claim, model, task, metric, of_set, rate, expected):
    """A score that may be chance neither holds nor fails; ARC-AGI-2 was not run."""
    if claim == "maze":
        set_rate(made["maze", "se_rrm", 0], "fsr", 0.8, "10x10")
    set_rate(made[task, model, 0], metric, rate, of_set)
    assert verdicts(made)[claim] == expected


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
    ("num", "rate", "expected"), [(7, 0.3, HOLDS), (7, 0.0, LEVEL), (1000, 0.3, UNTESTED)]
)
def test_fewer_augmentations_are_tested_where_there_are_fewer(verdicts, made, num, rate, expected):
    for task in ("arc_agi_1", "arc_agi_2"):
        for model in ("se_rrm", "trm", "hrm"):
            made[task, model, 0] = deepcopy(made["arc_agi_1", "trm", 0]) | {"task": task, "model": model}
            set_rate(made[task, model, 0], "pass_at_2", rate if model == "se_rrm" else 0.002, "evaluation")
    assert verdicts(made, num)["augmentations"] == expected
    for file in made.values():
        if "evaluation" in file["sets"]:
            set_rate(file, "pass_at_2", 0.0, "evaluation")
    found = verdicts(made, num)
    assert [found[key] for key in ("arc_hrm", "arc_trm", "augmentations")] == [UNTESTED] * 3


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.4, 0.5, 0.6), HOLDS),
        ((0.1, 0.2, 0.3), LEVEL),  # the same curve
        ((0.1, 0.2, 0.25), LEVEL),  # lower, by less than the intervals
        ((0.0, 0.01, 0.1), FAILS),
    ],
)
def test_learning_curves_are_compared_at_the_others_best_score(verdicts, made, scores, expected):
    """TRM and HRM reach 30% at the end of their curves; n = 200."""
    for (task, model, _), file in made.items():
        file["learning_curve"] = file["learning_curve"] if task == "sudoku" else []
        rates = scores if model == "se_rrm" else (0.1, 0.2, 0.3)
        for point, rate in zip(file["learning_curve"], rates, strict=False):
            low, high = wilson(rate * 200, 200)
            point |= {"fsr": rate, "fsr_lo": low, "fsr_hi": high}
    assert verdicts(made)["data_efficient"] == expected
