"""Our models give the published code's numbers, and a file that differs in any number or part is noticed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from serrm.published.conformance import check_conformance
from tests.compiling import DEVICES

pytestmark = pytest.mark.numeric

VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("*.npz"))
SMALL = next(path for path in VECTORS if path.stem == "se_rrm_task_embedding")
Content = dict[str, Any]
Writer = Callable[[Content], Path]


@pytest.fixture
def content() -> Content:
    """Everything a vector file holds, for a test to change."""
    with np.load(SMALL) as file:
        return dict(file)


@pytest.fixture
def written(tmp_path: Path) -> Writer:
    def write(content: Content) -> Path:
        path = tmp_path / "changed.npz"
        np.savez(path, **content)
        return path

    return write


def off(path: Path) -> list[str]:
    return [check.quantity for check in check_conformance(path) if not check.is_ok]


def with_config(content: Content, **changes: Any) -> Content:
    config = {**json.loads(str(content["config"])), **changes}
    return {**content, "config": np.array(json.dumps({k: v for k, v in config.items() if v is not None}))}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_published_numbers_are_reproduced(path: Path, device: str) -> None:
    checks = check_conformance(path, torch.device(device))
    with np.load(path) as file:
        num_gradients = sum(key.startswith("grad/") for key in file)
        has_q_halting = any(key.startswith("grad/inner.q_head.") for key in file)
    assert len(checks) == 3 * 3 + 1 + has_q_halting + num_gradients
    assert [check for check in checks if not check.is_ok] == []


@pytest.mark.parametrize(
    ("key", "change", "quantity"),
    [
        ("eval/step1/logits", 3e-4, "logits, step 1"),
        ("eval/step2/logits", np.nan, "logits, step 2"),
        ("eval/step2/q_halt_logits", 3e-4, "confidence, step 2"),
        ("eval/step3/lm_loss_sum", 1e-3, "loss, step 3 (relative)"),
        ("train/step1/lm_loss_sum", 1e-3, "training loss (relative)"),
        ("grad/inner.puzzle_emb.local_weights", 1e-3, "gradient of puzzle_emb.local_weights (relative)"),
    ],
)
def test_a_changed_number_is_off_and_no_other(
    content: Content, written: Writer, key: str, change: float, quantity: str
) -> None:
    content[key] = content[key] + change
    assert off(written(content)) == [quantity]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("labels", np.full((3, 16), 0), "labels: 0 is not in 1..5"),
        ("inputs", np.full((3, 16), 6), "inputs: 6 is not in 0..5"),
        ("inputs", np.ones(16, int), "inputs: expected the shape (B, I), got (16,)"),
        ("inputs", np.array("x"), "inputs: expected numbers, got the type <U1"),
        ("puzzle_identifiers", np.array([0, 1, 5]), "puzzle_identifiers: 5 is not in 0..4"),
        ("eval/step2/logits", np.zeros((3, 16, 5)), "eval/step2/logits: expected the shape (3, 16, 6)"),
        ("grad/inner.lm_head.weight", np.zeros((2, 32)), "grad/inner.lm_head.weight: expected the shape"),
        ("grad/inner.new", np.zeros(2), "grad/inner.new: no such weight"),
        ("weight/inner.new", np.zeros(2), "new"),
        ("weight/inner.Z_init", np.zeros(3), "Z_init: expected the shape (32,), got (3,)"),
    ],
)
def test_a_wrong_part_is_named(
    content: Content, written: Writer, key: str, value: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        check_conformance(written({**content, key: value}))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "mamba"}, "models of the family 'mamba' are not built here"),
        ({"hidden_size": None}, "config: KeyError: 'hidden_size'"),
        ({"hidden_size": 1e300}, "config: hidden_size is 1e\\+300, which is out of range"),
        ({"vocab_size": "6"}, "config: vocab_size is '6', not a whole number"),
        ({"pos_encodings": "learned"}, "config.positions: .* \\(got 'learned'\\)"),
        ({"L_layers": 3}, r"L_level\.layers\.2\..*: missing"),
        ({"puzzle_emb_ndim": 0}, "puzzle_emb_ndim and the weights disagree"),
        ({"seq_len": 25}, None),
    ],
)
def test_a_wrong_configuration_is_named(
    content: Content, written: Writer, changes: dict[str, Any], message: str | None
) -> None:
    path = written(with_config(content, **changes))
    if message is None:  # what our models do not need is not looked at
        assert off(path) == []
    else:
        with pytest.raises(ValueError, match=message):
            check_conformance(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"question,answer\n", bytes(100)])
def test_a_foreign_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "foreign.npz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"foreign\.npz: no vector file"):
        check_conformance(path)


@given(part=st.floats(0, 0.999))
def test_a_cut_file_is_refused(tmp_path_factory: pytest.TempPathFactory, part: float) -> None:
    path = tmp_path_factory.mktemp("cut") / "cut.npz"
    data = SMALL.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(ValueError, match="no vector file"):
        check_conformance(path)
