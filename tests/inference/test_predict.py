"""Predictions at several depths come from one pass, in which the state goes on."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor

from serrm.inference.predict import load_model, predict
from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import ModelSizes
from serrm.training import checkpoint as ckpt
from tests.conftest import SHALLOW, MakePath, se_rrm_settings
from tests.drawn import CPU, seeded


@pytest.fixture(scope="module")
def model() -> RecurrentModel:
    settings = se_rrm_settings(attention_dropout=0.3)
    return settings.build(ModelSizes(6), seeded(0)).eval()


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(1, 6, (3, 16), generator=seeded(1))


def test_each_depth_is_what_that_many_steps_give(model: RecurrentModel, tokens: Tensor) -> None:
    found = dict(predict(model, tokens, 6, (1, 2, 5)))
    assert list(found) == [1, 2, 5]
    for depth, output in found.items():
        state = model.initial_state(3, 16, 6)
        for _ in range(depth):
            state, logits, *_ = model(state, tokens)
        assert torch.equal(output.logits, logits)


@pytest.fixture(scope="module")
def checkpoint(trained: MakePath) -> Path:
    return trained(model=SHALLOW)


def test_a_checkpoint_is_loaded_with_its_ema_weights(checkpoint: Path, tokens: Tensor) -> None:
    loaded = load_model(checkpoint, CPU)
    assert loaded.settings.variant == "tiny" and loaded.config.side == 4
    weights = loaded.model.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in ckpt.read_weights(checkpoint).items())
    raw = torch.load(checkpoint / ckpt.STATE, weights_only=True)["weights"]
    assert not torch.equal(weights["readout.weight"], raw["readout.weight"])
    assert not loaded.model.training


def test_weights_of_another_model_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    config = ckpt.read_config(checkpoint)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        load_model(tmp_path, CPU)
    model = config.run.model.model_copy(update={"width": 64})
    config = config.model_copy(update={"run": config.run.model_copy(update={"model": model})})
    ckpt.write_checkpoint(tmp_path / "other", ckpt.read_weights(checkpoint), None, config)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / "other"))):
        load_model(tmp_path / "other", CPU)


@pytest.mark.parametrize("key", ["side", "extra"])
def test_a_config_of_another_schema_is_refused_by_its_key(checkpoint: Path, tmp_path: Path, key: str) -> None:
    damaged = tmp_path / "other"
    shutil.copytree(checkpoint, damaged)
    values = json.loads((damaged / ckpt.CONFIG).read_text())
    values = {name: value for name, value in values.items() if name != key} | (
        {key: 1} if key == "extra" else {}
    )
    (damaged / ckpt.CONFIG).write_text(json.dumps(values))
    ckpt.write_sums(damaged)
    with pytest.raises(ValueError, match=rf"other: config\.json\.{key}: ") as refused:
        load_model(damaged, CPU)
    assert "\n" not in str(refused.value)


def test_a_checkpoint_without_the_digest_of_its_settings_is_read(checkpoint: Path, tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    shutil.copytree(checkpoint, earlier)
    values = json.loads((earlier / ckpt.CONFIG).read_text())
    del values["settings_digest"]
    (earlier / ckpt.CONFIG).write_text(json.dumps(values))
    assert ckpt.read_config(earlier) == ckpt.read_config(checkpoint)
