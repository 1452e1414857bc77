"""The program of docs/api.md trains and scores a model as it stands."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import serrm
from tests.compiling import apart

PAGE = Path(__file__).parents[1] / "docs" / "api.md"


def names_of_program(section: str) -> dict[str, Any]:
    """Run the first program of a section of the page; returns its variables."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2]
    match = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert match is not None
    names: dict[str, Any] = {}
    exec(compile(match[1], PAGE.name, "exec"), names)
    return names


def test_the_training_of_the_page_learns(capsys: pytest.CaptureFixture[str]) -> None:
    names_of_program("Train")
    first, *_, last, scores = (eval(line) for line in capsys.readouterr().out.splitlines())
    assert (last["step"], last["samples"] > 100) == (100, True)
    assert last["loss"] < 0.7 * first["loss"]
    assert (
        scores["gpa"] > scores["gpa_guess"]
        and 0 <= scores["fsr_lo"] <= scores["fsr"] <= scores["fsr_hi"] <= 1
    )


@torch.no_grad()
def exported_and_predicted(*, to_onnx: bool) -> list[Tensor]:
    """Logits of three puzzles by the program of the page, exported with two, and by a model, the first use of both."""
    program, model = names_of_program("Copy and export")["program"], serrm.load("sudoku", device="cpu")
    tokens = torch.randint(1, 11, (3, 81), generator=torch.Generator().manual_seed(0))
    predicted = model.predict(tokens, steps=1)[1]
    inputs = (tokens, model.model.initial_state(3, 81, 11))
    if not to_onnx:
        return [program.module()(*inputs)[0], predicted]
    onnx = torch.onnx.export(program, verbose=False)
    assert onnx is not None
    return [onnx.call_reference(*inputs)[0], predicted]


@pytest.mark.parametrize("to_onnx", [False, True], ids=["export", "onnx"])
def test_the_exported_program_of_the_page_takes_any_number_of_puzzles(to_onnx: bool) -> None:
    if to_onnx:
        pytest.importorskip("onnxscript", reason="needs onnx and onnxscript, which no extra installs")
    found, expected = apart(partial(exported_and_predicted, to_onnx=to_onnx))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)
