"""The table of effects of a profile: a baseline, a row per change, and what counts as a change."""

from typing import Any

import pytest

from serrm.comparing.comparison import compared
from serrm.comparing.effects import BASELINE, NO_SCORE, as_rows, composed, effects_of_profile
from serrm.comparing.revisions import Revision, used_values
from serrm.config import read_params
from serrm.core.differences import flat
from serrm.models.settings import SHIFTED
from serrm.scoring.schema import Evaluation
from serrm.scoring.verdicts import AHEAD, BEHIND
from tests.comparing.test_comparison import ROOT, run

PARAMS: dict[str, Any] = {
    "models": {
        "trm": {"width": 8, "train": {"ema": 0.9, "halting": {"kind": "q_learning", "exploration": 0.1}}}
    },
    "data_sets": {"sudoku": {"arrays": {"num_augmentations": 1}}},
    "recipes": {"sudoku": {"trm": {"steps": 9, "model": {"positions": "rope"}}}},
}
CHANGES: dict[str, dict[str, Any]] = {
    "trm": {},
    "trm_wide": {"model.width": 16},
    "trm_random": {"train.halting": {"kind": "random", "probability": 0.2}},
}


def trm(num_solved: int, seed: int, variant: str, **changes: Any) -> Evaluation:
    scores = run(num_solved, seed, variant, **changes)
    return scores.model_copy(update={"model_info": scores.model_info.model_copy(update={"family": "trm"})})


def profile(**solved: list[int]) -> Revision:
    """A profile with seeds of variants of TRM, by their numbers of solved puzzles."""
    runs: dict[str, Evaluation] = {}
    sections = dict[str, Any]()
    for variant, nums in solved.items():
        for seed, num in enumerate(nums):
            name = f"sudoku-{variant}-s{seed}"
            runs[name] = trm(num, seed, variant)
            sections[name] = {"data_set": "sudoku", "model": "trm", "seed": seed, "changes": CHANGES[variant]}
    settings = {name: used_values(PARAMS | {"runs": sections}, name) for name in runs}
    return Revision("made", "made", runs, settings)


def test_each_change_has_its_difference_from_the_plain_model() -> None:
    revision = profile(trm_wide=[150, 160, 155], trm=[100, 104, 102], trm_random=[100, 104, 102])
    rows = effects_of_profile(revision)
    assert [(row.group.key[1], row.verdict) for row in rows] == [
        ("trm", BASELINE),
        ("trm_wide", AHEAD),
        ("trm_random", "the same"),
    ]
    wide = rows[1]
    assert wide.difference and wide.difference.value == pytest.approx(26.5) and wide.score and wide.score.sd
    assert wide.changes == {"model.width": 16}
    assert [row["change"] for row in as_rows(rows)][2] == "train.halting.kind random, probability 0.2"
    sides = [profile(trm=[100, 104, 102]), profile(trm=[150, 160, 155])]
    [line] = compared(*sides).lines
    assert (line.difference, line.verdict) == (wide.difference, wide.verdict), "as serrm compare has it"


def test_any_variant_can_be_the_baseline() -> None:
    revision = profile(trm=[100, 104, 102], trm_wide=[150, 160, 155])
    [wide, plain] = effects_of_profile(revision, baseline="trm_wide")
    assert (wide.verdict, wide.group.key[1], plain.verdict) == (BASELINE, "trm_wide", BEHIND)
    assert plain.difference and plain.difference.value == pytest.approx(-26.5)
    assert effects_of_profile(profile(trm=[100]), baseline="trm") == [], "there is no other variant"
    with pytest.raises(ValueError, match="baseline 'wide': profile made has trm, trm_wide"):
        effects_of_profile(revision, baseline="wide")


def test_a_missing_score_is_a_row() -> None:
    revision = profile(trm=[100], trm_wide=[150])
    revision.runs["sudoku-trm_wide-s0"] = trm(
        0, 0, "trm_wide", steps={4: {"fsr": 0.5}}, headline_steps=4, solved=None
    )
    rows = effects_of_profile(revision)
    assert [(row.group.key[1], row.verdict) for row in rows] == [("trm", BASELINE), ("trm_wide", NO_SCORE)]


@pytest.mark.parametrize("name", ["laptop", "claims_maze", "published", "paper"])
def test_settings_are_composed_as_for_a_training(name: str) -> None:
    """The levels of a params file, of which later ones win."""
    params = read_params(ROOT / "profiles" / f"{name}.yaml")
    values = params.model_dump(mode="json")
    for run_name in params.runs:
        composed_values = composed(used_values(values, run_name))
        settings = flat(params.run_settings(run_name).model_dump(mode="json"))
        sections = ("model.", "train.")
        for key in [key for key in composed_values if key.startswith(sections) and key in settings]:
            assert settings[key] == SHIFTED or composed_values[key] == settings[key], (run_name, key)
