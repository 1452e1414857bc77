"""Claims: every one has a check, none holds without results, and each follows its numbers."""

from copy import deepcopy
from dataclasses import replace

import pytest

from serrm.reporting import claim_checks
from serrm.reporting.claim_checks import Part
from serrm.reporting.claim_rules import (
    BY_CONSTRUCTION,
    FAILS,
    HOLDS,
    ONLY_WITH_FAULT,
    PARTLY,
    UNTESTED,
    not_behind,
)
from serrm.reporting.claims import claims_table, judge, overall, tally
from serrm.reporting.results import Score
from serrm.scoring.metrics import wilson
from serrm.scoring.verdicts import UNDECIDED
from tests.reporting.conftest import paper_files, set_rate


@pytest.fixture
def parts(report):
    """The parts of claims on runs, SE-RRM with a number of augmentations where the others have 1,000."""

    def of_files(files, num_augmentations=7):
        whole = report(files)
        for task in ("arc_agi_1", "arc_agi_2"):
            for model, num in (("se_rrm", num_augmentations), ("trm", 1000), ("hrm", 1000)):
                whole.settings[task, model] = {"arrays": {"num_augmentations": num}}
        return judge(whole)

    return of_files


@pytest.fixture
def verdicts(parts):
    """The verdicts on runs by claim."""
    return lambda *files: {key: overall(claim) for key, claim in parts(*files).items()}


def test_the_papers_own_numbers_refute_none_of_its_claims(verdicts, parts):
    """With one run each, GPA decides nothing; 42 puzzles are few; the paper has no model without its code's fault."""
    untested = ("language_model", "language_model_4x4", "permutation", "data_efficient", "larger_grids")
    others = {
        **dict.fromkeys(("margins", "larger_unsolved"), PARTLY),
        **dict.fromkeys(("arc_hrm", "trm_arc_matched", "trm_fails"), UNDECIDED),
        "trm_arc": PARTLY,
        "configurations": UNDECIDED,
        "parameters": BY_CONSTRUCTION,
        **dict.fromkeys(untested, UNTESTED),
    }
    assert {key: verdict for key, verdict in verdicts(paper_files()).items() if verdict != HOLDS} == others
    assert FAILS not in {part.verdict for claim in parts(paper_files()).values() for part in claim}


def test_without_results_no_run_is_tested_and_alone_no_comparison(verdicts, made):
    claims = verdicts({})
    assert {key for key, verdict in claims.items() if verdict != UNTESTED} == {"parameters"}, (
        "needs no run of ours"
    )
    claims = verdicts({key: file for key, file in made.items() if key[1] == "se_rrm"})
    tested = {key for key, verdict in claims.items() if verdict != UNTESTED}
    assert tested == {"more_steps", "parameters", "permutation"}


@pytest.mark.parametrize(
    ("verdicts_of_parts", "expected"),
    [
        ((HOLDS, HOLDS), HOLDS),
        ((HOLDS, FAILS), PARTLY),
        ((UNDECIDED, BY_CONSTRUCTION), UNDECIDED),
        ((ONLY_WITH_FAULT, ONLY_WITH_FAULT), ONLY_WITH_FAULT),
        ((ONLY_WITH_FAULT, HOLDS), PARTLY),
        ((HOLDS, UNDECIDED), PARTLY),
        ((UNTESTED, HOLDS), PARTLY),
        ((FAILS, UNDECIDED, UNTESTED), FAILS),
        ((UNDECIDED, UNTESTED), UNDECIDED),
    ],
)
def test_a_claim_holds_wholly_only_if_all_its_parts_do(verdicts_of_parts, expected):
    assert overall([Part("", verdict, "") for verdict in verdicts_of_parts]) == expected


@pytest.mark.parametrize(
    ("claim", "part", "model", "task", "metric", "test_set", "rate", "expected"),
    [
        ("margins", 0, "trm", "sudoku", "fsr", "9x9", 0.53, HOLDS),
        ("margins", 0, "trm", "sudoku", "fsr", "9x9", 0.59, UNDECIDED),
        ("margins", 0, "trm", "sudoku", "fsr", "9x9", 0.8, FAILS),
        ("margins", 1, "trm", "sudoku", "fsr", "9x9", 0.5, UNDECIDED),
        ("margins", 1, "trm", "sudoku", "fsr", "9x9", 0.6, FAILS),
        ("maze", 1, "hrm", "maze", "fsr", "10x10", 0.6, HOLDS),
        ("maze", 1, "hrm", "maze", "fsr", "10x10", 0.9, FAILS),
        ("smaller_grids", 1, "hrm", "sudoku", "fsr", "4x4", 0.0, HOLDS),
        ("smaller_grids", 1, "trm", "sudoku", "fsr", "4x4", 0.012, UNDECIDED),
        ("arc_trm", 0, "trm", "arc_agi_1", "pass_at_2", "evaluation", 0.3, HOLDS),
        ("arc_trm", 0, "trm", "arc_agi_1", "pass_at_2", "evaluation", 0.4, FAILS),
        ("augmentations", 0, "se_rrm", "arc_agi_1", "pass_at_2", "evaluation", 0.9, UNTESTED),
        ("every_depth", 4, "trm", "sudoku", "fsr", "9x9", 0.97, FAILS),
    ],
)
def test_a_verdict_follows_its_number(
    parts, made, claim, part, model, task, metric, test_set, rate, expected
):
    """A score that may be chance neither holds nor fails; HRM did not run on ARC-AGI-1. One seed each, n 500."""
    del made["sudoku", "se_rrm", 1]
    set_rate(made["sudoku", "se_rrm", 0], "fsr", 0.63)
    if claim == "maze":
        set_rate(made["maze", "se_rrm", 0], "fsr", 0.8, "10x10")
    set_rate(made[task, model, 0], metric, rate, test_set)
    assert parts(made)[claim][part].verdict == expected


def test_more_steps_are_compared_with_16_alone_and_need_more_than_the_training_had(verdicts, made):
    assert verdicts(made)["more_steps"] == HOLDS
    for seed in (0, 1):
        part = made["sudoku", "se_rrm", seed]["sets"]["9x9"]
        before = dict(part["steps"])
        del part["steps"]["64"]
    assert verdicts(made)["more_steps"] == UNTESTED
    for seed in (0, 1):
        made["sudoku", "se_rrm", seed]["sets"]["9x9"] |= {"headline_steps": 32}
        steps = made["sudoku", "se_rrm", seed]["sets"]["9x9"]["steps"]
        steps |= {"64": before["64"], "32": steps.pop("16")}
    assert verdicts(made)["more_steps"] == UNTESTED, "not with 32"


def test_a_baseline_that_takes_larger_grids_refutes_that_it_cannot(parts, made):
    made["sudoku", "trm", 0]["sets"]["16x16"] = made["sudoku", "se_rrm", 0]["sets"]["16x16"]
    verdicts = [part.verdict for part in parts(made)["larger_grids"]]
    assert verdicts == [UNTESTED, FAILS, UNTESTED, BY_CONSTRUCTION]


def test_what_rounding_may_decide_refutes_no_equivariance(parts, made):
    pairs = made["sudoku", "se_rrm", 0]["equivariance"]
    for num, expected in ((pairs["num_pairs"], HOLDS), (pairs["num_pairs"] - 1, UNDECIDED), (0, FAILS)):
        pairs["num_identical"] = num
        assert parts(made)["permutation"][0].verdict == expected


@pytest.mark.parametrize(
    ("num", "rate", "expected"), [(7, 0.3, HOLDS), (7, 0.0, UNDECIDED), (1000, 0.3, UNTESTED)]
)
def test_fewer_augmentations_are_tested_where_there_are_fewer(verdicts, made, num, rate, expected):
    for task in ("arc_agi_1", "arc_agi_2"):
        for model in ("se_rrm", "trm", "hrm"):
            made[task, model, 0] = deepcopy(made["arc_agi_1", "trm", 0]) | {
                "data_set": task,
                "task": task,
                "variant": model,
            }
            set_rate(made[task, model, 0], "pass_at_2", rate if model == "se_rrm" else 0.002, "evaluation")
    assert verdicts(made, num)["augmentations"] == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.4, 0.5, 0.6), HOLDS),
        ((0.1, 0.2, 0.3), UNDECIDED),  # the same curve
        ((0.1, 0.2, 0.25), UNDECIDED),  # lower, by less than the intervals
        ((0.0, 0.01, 0.1), FAILS),
    ],
)
def test_learning_curves_are_compared_at_the_others_best_score(verdicts, made, scores, expected):
    """TRM and HRM reach 30% at the end of their curves; n = 200, one seed each."""
    del made["sudoku", "se_rrm", 1]
    for (data_set, model, _), file in made.items():
        file["learning_curve"] = file["learning_curve"] if data_set == "sudoku" else []
        rates = scores if model == "se_rrm" else (0.1, 0.2, 0.3)
        for point, rate in zip(file["learning_curve"], rates, strict=False):
            low, high = wilson(rate * 200, 200)
            point["scores"] |= {"fsr": rate, "fsr_lo": low, "fsr_hi": high}
    assert verdicts(made)["data_efficient"] == expected


def test_a_run_that_continues_another_says_nothing_about_samples(report, made):
    """SE-RRM of Sudoku starts from weights that a run before it has trained."""

    def tasks_of(whole):
        return {part.statement.partition(":")[0] for part in judge(whole)["data_efficient"]}

    whole = report(made)
    assert "Sudoku" in tasks_of(whole)
    continued = replace(whole, init={"sudoku-se_rrm-s1": "other/runs/sudoku-se_rrm-s1"})
    assert tasks_of(continued) == tasks_of(whole) - {"Sudoku"}


def test_models_that_solve_next_to_nothing_are_not_comparable(parts, made):
    """One puzzle of 500 each: the interval is narrower than the margin, but says nothing."""
    for model in ("trm", "se_rrm"):
        set_rate(made["arc_agi_1", model, 0], "pass_at_2", 0.002, "evaluation")
    assert parts(made)["arc_trm"][0].verdict == UNDECIDED


def test_what_holds_with_the_fault_alone_is_called_so(parts, made):
    """A model solves nearly none with and without the fault; solves 5% with it; 80% without it; was not run without."""
    plain = "trm_rope2d_random_halting", "trm_matched"
    for name in [*plain, *(f"{model}_published" for model in plain)]:
        made["sudoku", name, 0] = deepcopy(made["sudoku", "trm", 0]) | {"variant": name}
        set_rate(made["sudoku", name, 0], "fsr", 0.001, num=1000)

    def verdicts():
        return [part.verdict for part in parts(made)["trm_fails"]]

    assert verdicts() == [HOLDS, HOLDS]
    set_rate(made["sudoku", "trm_matched_published", 0], "fsr", 0.05, num=1000)
    assert verdicts() == [HOLDS, FAILS]
    set_rate(made["sudoku", "trm_matched_published", 0], "fsr", 0.0, num=1000)
    set_rate(made["sudoku", "trm_matched", 0], "fsr", 0.8)
    del made["sudoku", "trm_rope2d_random_halting", 0]
    assert verdicts() == [UNDECIDED, ONLY_WITH_FAULT]


def test_puzzles_easier_than_the_papers_do_not_test_that_none_is_solved(parts, made):
    """The paper's 16×16 puzzles have about 164 blanks; 2 or 200 of them, of which none is solved."""
    scored = made["sudoku", "se_rrm", 0]["sets"]["16x16"]
    del made["sudoku", "se_rrm", 1]
    for num, blanks, expected in ((200, 160, HOLDS), (2, 160, UNDECIDED), (200, 100, UNTESTED)):
        set_rate(made["sudoku", "se_rrm", 0], "fsr", 0.0, "16x16", num=num)
        scored |= {"num_puzzles": num, "num_blank": num * blanks}
        for key in ("solved", "solved_after_most", "puzzles_digest"):
            scored.pop(key, None)
        assert parts(made)["larger_unsolved"][0].verdict == expected


def test_more_than_chance_is_more_than_legal_guesses(made, report, monkeypatch):
    """Three seeds of SE-RRM fill 40 to 50% of the blanks right; legal guesses 30, 45 or 60%."""
    for seed, rate in ((0, 0.4), (1, 0.45), (2, 0.5)):
        made["sudoku", "se_rrm", seed] = deepcopy(made["sudoku", "se_rrm", 0]) | {
            "seed": seed,
            "name": f"sudoku-se_rrm-s{seed}",
        }
        set_rate(made["sudoku", "se_rrm", seed], "gpa", rate, "16x16")
    for gpa, expected in ((30.0, HOLDS), (45.0, UNDECIDED), (60.0, FAILS)):
        guesses = {("made", "sudoku", "16x16"): gpa}
        monkeypatch.setattr(claim_checks, "legal_guesses", lambda guesses=guesses: guesses)
        assert judge(report(made))["larger_grids"][0].verdict == expected
    for seed in (1, 2):
        del made["sudoku", "se_rrm", seed]
    assert judge(report(made))["larger_grids"][0].verdict == UNDECIDED, "one seed"


def test_a_verdict_by_one_seed_says_so(made, report):
    table = claims_table(report(made)).frame
    decided = table[table["Verdict on the part"].str.contains("one seed")]
    assert len(decided) and "by one seed" in tally(judge(report(made)))
    assert not any(verdict.startswith((UNDECIDED, UNTESTED)) for verdict in decided["Verdict on the part"])
    assert all(table["Rule"][table["Part"] != ""])
    p_values = [text.split("; ") for text in table["p; Holm"] if text]
    assert p_values and all(float(p.strip("<")) <= float(holm.strip("<")) for p, holm in p_values)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [((0.90, 0.93), FAILS), ((0.929, 0.93), HOLDS), ((0.93, 0.90), HOLDS), ((0.70, 0.93), FAILS)],
)
def test_significantly_behind_is_not_not_behind_by_however_little(rates, expected):
    num = 100_000
    first, other = (Score(100 * rate, *(100 * end for end in wilson(rate * num, num)), num) for rate in rates)
    assert not_behind(0.0, first, other)[0] == expected


def test_models_are_compared_only_on_the_same_data_set(parts, made):
    """TRM and SE-RRM both ran on the second maze, and SE-RRM alone on the first."""
    for model in ("trm", "se_rrm"):
        second = deepcopy(made["maze", model, 0]) | {"data_set": "second", "task": "maze"}
        made["second", model, 0] = second
        set_rate(second, "fsr", {"trm": 0.9, "se_rrm": 0.5}[model], test_set=second["set_of_trained_size"])
    for model in ("trm", "hrm"):
        del made["maze", model, 0]
    ahead_of_trm, ahead_of_hrm = parts(made)["maze"]
    assert ahead_of_trm.statement == "Maze: ahead of TRM"
    assert ahead_of_trm.verdict == FAILS
    assert "SE-RRM 50.00" in ahead_of_trm.evidence
    assert ahead_of_hrm.verdict == UNTESTED


def test_variants_that_were_tuned_equally_are_compared_too(parts, made):
    """Only where all of them ran: a lead over the plain recipes may be one of tuning."""
    tuned_variants = claim_checks.TWINS[claim_checks.TUNED]
    for model, variant in tuned_variants.items():
        made["maze", variant, 0] = deepcopy(made["maze", model, 0]) | {"variant": variant}
        set_rate(made["maze", variant, 0], "fsr", 0.9, test_set="10x10")
    set_rate(made["maze", "trm", 0], "fsr", 0.1, test_set="10x10")
    plain, tuned, *_ = parts(made)["maze"]
    assert (plain.statement, tuned.statement) == ("Maze: ahead of TRM", "Maze: ahead of TRM, tuned equally")
    assert (plain.verdict, tuned.verdict) == (HOLDS, UNDECIDED)
    del made["maze", tuned_variants["trm"], 0]
    statements = [part.statement for part in parts(made)["maze"]]
    assert statements == ["Maze: ahead of TRM", "Maze: ahead of HRM", "Maze: ahead of HRM, tuned equally"]


def test_models_without_symmetric_copies_are_compared_too(parts, made):
    """With few puzzles equivariance may pay only where no copies teach the same."""
    for variant, rate in (("se_rrm_untied", 0.5), ("se_rrm_plain", 0.9), ("se_rrm_untied_plain", 0.1)):
        made["sudoku", variant, 0] = deepcopy(made["sudoku", "se_rrm", 0]) | {"variant": variant}
        set_rate(made["sudoku", variant, 0], "fsr", rate)
    set_rate(made["sudoku", "se_rrm", 0], "fsr", 0.5)
    with_copies, without = parts(made)["tied_sudoku"]
    assert without.statement == "Sudoku: ahead with symbol equivariance, no symmetric copies"
    assert (with_copies.verdict, without.verdict) == (UNDECIDED, HOLDS)


def test_a_further_data_set_adds_parts_to_checks_of_all_data_sets(parts, made):
    """More steps and equivariance change nothing on the first, and help on the harder one."""
    first = made["sudoku", "se_rrm", 0]
    del made["sudoku", "se_rrm", 1]
    set_rate(first, "fsr", first["sets"]["9x9"]["steps"]["16"]["fsr"], steps="64")
    harder = made["harder", "se_rrm", 0] = deepcopy(first) | {"data_set": "harder"}
    set_rate(harder, "fsr", 0.5)
    set_rate(harder, "fsr", 0.7, steps="64")
    made["sudoku", "se_rrm_untied", 0] = deepcopy(first) | {"variant": "se_rrm_untied"}
    assert len(parts(made)["tied_sudoku"]) == 1, "the untied variant did not run there"
    made["harder", "se_rrm_untied", 0] = deepcopy(harder) | {"variant": "se_rrm_untied"}
    set_rate(made["harder", "se_rrm_untied", 0], "fsr", 0.3)
    claims = parts(made)
    assert "after 16 steps 50.00" in claims["more_steps"][1].evidence
    for key in ("more_steps", "tied_sudoku"):
        assert [part.verdict for part in claims[key]] == [UNDECIDED, HOLDS]
        assert claims[key][1].statement.startswith("harder")
    assert len(claims["margins"]) == 5, "other checks read the first alone"
