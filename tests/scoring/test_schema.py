"""Scores keep every number on their way through files, and a file with a wrong key is refused by name."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.scoring import schema
from tests.references import run_scores

RATES = {"fsr": 0.6, "fsr_lo": 0.1 + 0.2, "fsr_hi": 0.9}
SET = {"status": "scored", "side": 9, "num_puzzles": 5, "steps": {"16": RATES}, "headline_steps": 16}
REFUSED = {"status": "cannot_extrapolate", "side": 25, "reason": "too large"}
RUN = run_scores("made", "trm", {"9x9": {**SET, "solved": "a8"}, "25x25": REFUSED})


def test_a_run_comes_back_from_its_file_and_from_its_profiles(tmp_path: Path) -> None:
    schema.write_evaluation(tmp_path / "run.json", RUN)
    assert schema.read_evaluation(tmp_path / "run.json") == RUN
    text = schema.profile_text("made", [RUN])
    assert schema.parse_profile_scores(text.encode(), "old").runs == {"sudoku-trm-s0": RUN}
    (tmp_path / "metrics.json").write_text(text)
    (run,) = schema.read_profile_scores(tmp_path / "metrics.json").runs.values()
    assert run.scored["9x9"].steps[16] == RATES


def test_outcomes_are_the_puzzles_solved_or_their_credits() -> None:
    part = RUN.scored["9x9"]
    assert part.outcomes.tolist() == [1, 0, 1, 0, 1]
    assert part.model_copy(update={"solved": None}).outcomes is None
    votes = part.model_copy(update={"credits": (0.5, 1.0)}).outcomes
    assert votes.tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"seconds": 1.5}, "seconds"),
        ({"trained_set": "9x9"}, "trained_set"),
        ({"name": "sudoku-trm-s1"}, "sudoku-trm-s0"),
        ({"sets": {"9x9": {**SET, "side": None}}}, "side"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(change: dict[str, Any], where: str) -> None:
    content = json.dumps({"profile": "made", "runs": {RUN.name: RUN.model_dump(mode="json") | change}})
    with pytest.raises(ValueError, match=rf"^HEAD: .*{where}"):
        schema.parse_profile_scores(content.encode(), "HEAD")


@given(st.lists(st.booleans(), max_size=40))
def test_bits_come_back(bits: list[bool]) -> None:
    assert schema.unpack(schema.pack(np.array(bits, dtype=bool)), len(bits)).tolist() == bits


def test_a_missing_byte_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\b9\b"):
        schema.unpack("ff", 9)
