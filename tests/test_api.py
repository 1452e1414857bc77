"""The program of docs/api.md trains and scores a model as it stands."""

import re
from pathlib import Path

import pytest
import torch

from serrm.models.build import build_model
from tests.conftest import MakeSettings

PAGE = Path(__file__).parents[1] / "docs" / "api.md"


def test_the_training_of_the_page_learns(capsys: pytest.CaptureFixture[str]) -> None:
    section = PAGE.read_text().partition("\n## Train\n")[2]
    match = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert match is not None
    names: dict[str, object] = {}
    exec(compile(match[1], PAGE.name, "exec"), names)
    first, *_, last, scores = (eval(line) for line in capsys.readouterr().out.splitlines())
    assert (last["step"], last["samples"] > 100) == (100, True)
    assert last["loss"] < 0.7 * first["loss"]
    assert (
        scores["gpa"] > scores["gpa_guess"]
        and 0 <= scores["fsr_lo"] <= scores["fsr"] <= scores["fsr_hi"] <= 1
    )


def test_a_model_without_a_generator_is_refused(make_settings: MakeSettings) -> None:
    with pytest.raises(TypeError, match="generator"):
        build_model(make_settings(), 6)  # type: ignore[call-arg]
    model = build_model(make_settings(), 6, torch.Generator().manual_seed(0))
    assert all(weight.std() > 0 for weight in model.parameters() if weight.numel() > 1)
