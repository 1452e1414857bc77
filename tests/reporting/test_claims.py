"""Claims: every one has a check, none holds without results, and each follows its numbers."""

from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from serrm.reporting.checks import CHECKS
from serrm.reporting.claims import RULES, TUNED_LESS, check_claims, claims_table, tally
from serrm.reporting.evidence import FAILS, HOLDS, LEVEL, UNTESTED, Evidence
from serrm.reporting.paper import load_paper
from serrm.reporting.writers import to_latex
from serrm.scoring.intervals import wilson


@pytest.fixture
def judged(load):
    """Metric files as claims, by their keys."""
    return lambda files: {claim.key: claim for claim in check_claims(Evidence(*load(files)))}


@pytest.fixture
def verdicts(judged):
    return lambda files: {key: claim.verdict for key, claim in judged(files).items()}


def set_score(files, task, model, metric, rate, of_set=None, steps="16"):
    """Change one score with its interval; n = 500."""
    low, high = wilson(rate * 500, 500)
    for file in files:
        if (file["task"], file["model"]) == (task, model):
            part = file["sets"][of_set or next(iter(file["sets"]))]
            part["steps"][steps] |= {metric: rate, f"{metric}_lo": low, f"{metric}_hi": high}


def test_every_claim_has_a_check():
    checks = {key: claim.check for key, claim in load_paper().claims.items()}
    assert CHECKS.keys() == {key for key, check in checks.items() if check is None}
    assert RULES.keys() == {check.rule for check in checks.values() if check}


def test_the_papers_own_numbers_refute_none_of_its_claims(verdicts, paper_files):
    """The intervals of these two overlap; sizes are chosen, and no table has curves or permuted puzzles."""
    found = verdicts(paper_files)
    others = {"arc_hrm": LEVEL, "trm_arc": LEVEL}
    others |= dict.fromkeys(("parameters", "permutation", "data_efficient"), UNTESTED)
    assert {key: verdict for key, verdict in found.items() if verdict != HOLDS} == others


def test_without_results_nothing_is_tested(judged):
    for claim in judged([]).values():
        assert claim.verdict == UNTESTED and claim.ours.startswith("Not run: ")


def test_without_the_other_models_nothing_is_said_of_them(verdicts, full_files):
    found = verdicts([file for file in full_files if file["model"] == "se_rrm"])
    alone = {key for key, verdict in found.items() if verdict != UNTESTED}
    assert alone == {"larger_grids", "larger_unsolved", "more_steps", "permutation"}


def test_the_full_profile(verdicts, full_files):
    found = verdicts(full_files)
    assert {key for key, verdict in found.items() if verdict == HOLDS} >= {
        *("margins", "larger_grids", "more_steps", "every_depth"),
        *("maze", "augmentations", "permutation"),
    }
    # 37.5% of the larger ones are solved; sizes are chosen.
    assert (found["larger_unsolved"], found["parameters"]) == (FAILS, UNTESTED)
    # ARC-AGI-2 was not run.
    assert (found["arc_trm"], found["arc_hrm"], found["tied_sudoku"]) == (UNTESTED, UNTESTED, UNTESTED)


rates = st.integers(0, 500).map(lambda num: num / 500)


@given(ours=rates, theirs=rates)
@with_settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_margin_holds_exactly_above_eleven_and_seven_points(verdicts, full_files, ours, theirs):
    for metric in ("fsr", "gpa"):
        set_score(full_files, "sudoku", "se_rrm", metric, ours)
        for model in ("trm", "hrm"):
            set_score(full_files, "sudoku", model, metric, theirs)
    assert (verdicts(full_files)["margins"] == HOLDS) == (round(100 * ours, 2) - round(100 * theirs, 2) > 11)


@pytest.mark.parametrize(("theirs", "expected"), [(0.6, HOLDS), (0.79, LEVEL), (0.9, FAILS)])
def test_a_lead_that_may_be_chance_neither_holds_nor_fails(verdicts, full_files, theirs, expected):
    set_score(full_files, "maze", "hrm", "fsr", theirs)
    set_score(full_files, "maze", "se_rrm", "fsr", 0.80)
    assert verdicts(full_files)["maze"] == expected


@pytest.mark.parametrize(
    ("theirs", "verdict", "words"), [(0.2, LEVEL, "not separated"), (0.9, FAILS, "behind one")]
)
def test_depths_at_which_a_model_is_not_ahead_are_named(judged, full_files, theirs, verdict, words):
    set_score(full_files, "sudoku", "trm", "fsr", theirs, steps="1")
    claim = judged(full_files)["every_depth"]
    assert (claim.verdict, claim.ours) == (verdict, f"Ahead of both at 16, 64 steps; {words} at 1.")


def test_a_claim_that_holds_over_baselines_tuned_less_says_so(load, full_files):
    """Not where their settings are the paper's, though their evaluations say where they depart from it."""
    results, settings = load(full_files)
    assert all(run.deviations for runs in results.values() for run in runs)
    other = {key: cell | {"train": {**cell["train"], "steps": 1}} for key, cell in settings.here.items()}
    for paper, is_said in ((settings.here, False), (other, True)):
        evidence = Evidence(results, replace(settings, at_paper_scale=paper))
        judged = {claim.key: claim.ours for claim in check_claims(evidence)}
        assert judged["margins"].endswith(TUNED_LESS) == is_said
        assert TUNED_LESS not in judged["more_steps"]


def test_what_the_paper_did_not_run_is_shown_and_not_judged(judged, paper_files):
    trm = next(file for file in paper_files if (file["task"], file["model"]) == ("sudoku", "trm"))
    claim = judged([*paper_files, trm | {"model": "trm_rope2d_random_halting"}])["trm_fails"]
    assert claim.verdict == HOLDS
    assert claim.ours.endswith("Beside it, not of the paper: trm_rope2d_random_halting 71.94 (71.80–72.08).")


def test_fewer_augmentations_are_tested_where_there_are_fewer(load, full_files):
    results, settings = load(full_files)
    for cell in settings.here.values():
        cell["arrays"]["num_augmentations"] = 0
    (claim,) = (each for each in check_claims(Evidence(results, settings)) if each.key == "augmentations")
    assert claim.verdict == UNTESTED and "was not given fewer" in claim.ours


def test_more_steps_need_more_than_the_training_had(verdicts, full_files):
    for file in full_files:
        if file["task"] == "sudoku":
            del file["sets"]["9x9"]["steps"]["64"]
    assert verdicts(full_files)["more_steps"] == UNTESTED


def test_a_baseline_that_takes_larger_grids_refutes_that_it_cannot(verdicts, full_files):
    se_rrm, trm = full_files[:2]
    trm["sets"]["16x16"] = se_rrm["sets"]["16x16"]
    assert verdicts(full_files)["larger_grids"] == FAILS


@pytest.mark.parametrize(("rate", "expected"), [(0.0, HOLDS), (0.002, LEVEL), (0.1, FAILS)])
def test_a_score_that_may_be_zero_does_not_refute_one_that_drops_to_it(verdicts, full_files, rate, expected):
    for file in full_files:
        if file["task"] == "sudoku":
            file["sets"]["4x4"] = deepcopy(file["sets"]["9x9"])
            set_score([file], "sudoku", file["model"], "fsr", 0.9, "4x4")
    for model in ("trm", "hrm"):
        set_score(full_files, "sudoku", model, "fsr", rate, "4x4")
    assert verdicts(full_files)["smaller_grids"] == expected


def test_what_rounding_may_decide_refutes_no_equivariance(verdicts, full_files):
    pairs = full_files[0]["equivariance"]
    for num, expected in ((pairs["num_pairs"], HOLDS), (pairs["num_pairs"] - 1, LEVEL), (0, FAILS)):
        pairs["num_identical"] = num
        assert verdicts(full_files)["permutation"] == expected


def test_fewer_augmentations_bear_nothing_out_where_only_others_solve(verdicts, full_files):
    set_score(full_files, "arc_agi_1", "se_rrm", "pass_at_2", 0.0)
    set_score(full_files, "arc_agi_1", "trm", "pass_at_2", 0.002)
    assert verdicts(full_files)["augmentations"] == LEVEL


def test_where_nothing_is_solved_nothing_is_compared(verdicts, full_files):
    for task in ("arc_agi_1", "arc_agi_2"):
        for model in ("hrm", "trm", "se_rrm"):
            set_score(full_files, task, model, "pass_at_2", 0.0)
    found = verdicts(full_files)
    assert [found[key] for key in ("arc_hrm", "arc_trm", "augmentations")] == [UNTESTED] * 3


def set_curve(file, metric, *scores):
    """Scores of the three points of a learning curve with their intervals; n = 200."""
    for point, score in zip(file["learning_curve"], scores, strict=True):
        low, high = wilson(score * 200, 200)
        point |= {metric: score, f"{metric}_lo": low, f"{metric}_hi": high}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.4, 0.5, 0.6), HOLDS),
        ((0.1, 0.4, 0.6), HOLDS),  # after the second point, where the others are not yet
        ((0.1, 0.25, 0.6), LEVEL),  # sooner, by less than the intervals
        ((0.1, 0.2, 0.3), LEVEL),  # at the same point
        ((0.1, 0.2, 0.25), LEVEL),  # never, by less than the intervals
        ((0.0, 0.01, 0.1), FAILS),
    ],
)
def test_samples_are_counted_to_the_others_best_score(verdicts, full_files, scores, expected):
    """TRM and HRM reach 30% at the end of their curves, and 20% before."""
    for file in full_files:
        for metric in ("fsr", "pass_at_2"):
            set_curve(file, metric, *(scores if file["model"] == "se_rrm" else (0.1, 0.2, 0.3)))
    assert verdicts(full_files)["data_efficient"] == expected


def test_a_curve_that_never_rises_is_no_target(judged, full_files):
    files = [file for file in full_files if file["task"] == "sudoku"]
    for file in files:
        factor = {"se_rrm": 3, "trm": 1, "hrm": 0}[file["model"]]
        set_curve(file, "fsr", *(factor * point["fsr"] for point in file["learning_curve"]))
    claim = judged(files)["data_efficient"]
    assert claim.verdict == HOLDS
    assert "TRM 28,800 samples" in claim.ours and "of HRM 0.0%, not compared" in claim.ours


def test_where_no_other_model_solves_anything_accuracy_decides(judged, full_files):
    files = [file for file in full_files if file["task"] == "sudoku"]
    for file in files:
        set_curve(file, "gpa", *((0.9,) * 3 if file["model"] == "se_rrm" else (0.0, 0.1, 0.2)))
        if file["model"] != "se_rrm":
            set_curve(file, "fsr", 0.0, 0.0, 0.0)
    claim = judged(files)["data_efficient"]
    assert claim.verdict == HOLDS
    assert "Sudoku: no other model solves any, so by grid-point accuracy" in claim.ours
    assert "20.0% after SE-RRM 9,600 samples, TRM 28,800 samples" in claim.ours


def test_the_table_counts_and_shows_every_claim(judged, full_files, check_latex):
    claims = [*judged(full_files).values()]
    table, counts = claims_table(claims), tally(claims)
    assert sum(counts.values()) == len(claims) == len(table.rows)
    held, level, failed, untested = (counts[verdict] for verdict in (HOLDS, LEVEL, FAILS, UNTESTED))
    words = f"{held} hold, {level} are not separated, {failed} do not hold, and {untested} are not tested"
    assert words in table.caption
    check_latex(to_latex(table), 5)
