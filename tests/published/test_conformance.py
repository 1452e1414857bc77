"""Our models give the published code's numbers, and a file that differs in any number or part is noticed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.published.conformance import check_conformance
from tests.compiling import DEVICES

pytestmark = pytest.mark.numeric

VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("*.npz"))
SMALL = next(path for path in VECTORS if path.stem == "se_rrm_task_embedding")
Content = dict[str, Any]


@pytest.fixture
def content() -> Content:
    """Everything a vector file holds, for a test to change."""
    with np.load(SMALL) as file:
        return dict(file)


def write(folder: Path, content: Content) -> Path:
    np.savez(folder / "changed.npz", **content)
    return folder / "changed.npz"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_published_numbers_are_reproduced(path: Path, device: str) -> None:
    checks = check_conformance(path, device)
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
    content: Content, tmp_path: Path, key: str, change: float, quantity: str
) -> None:
    content[key] = content[key] + change
    checks = check_conformance(write(tmp_path, content))
    assert [check.quantity for check in checks if not check.is_ok] == [quantity]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "mamba"}, "'mamba'"),
        ({"pos_encodings": "sinusoidal"}, r"positions: .*\bsinusoidal\b"),
        ({"L_layers": 3}, r"L_level\.layers\.2\..*: missing"),
    ],
)
def test_a_configuration_that_does_not_fit_is_named(
    content: Content, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    config = np.array(json.dumps({**json.loads(str(content["config"])), **changes}))
    with pytest.raises(ValueError, match=message):
        check_conformance(write(tmp_path, {**content, "config": config}))
