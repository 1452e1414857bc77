"""Published checkpoints in and out: nothing is lost either way, and what does not fit is refused by name."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from serrm.core.files import hash_file
from serrm.inference.predict import load_model
from serrm.models.recurrence import num_parameters
from serrm.models.settings import ModelSizes
from serrm.published.conformance import build_published, read_vectors, settings_of
from serrm.published.exchange import (
    export_checkpoint,
    import_checkpoint,
    published_model,
    published_weights,
    read_state_dict,
)
from serrm.training.checkpoint import read_config, read_weights, write_checkpoint
from serrm.training.settings import Imported, RunSettings
from tests.conftest import HRM, TASK_TYPES, TRM, config_of, run_settings
from tests.drawn import CPU, seeded

PREFIX = "_orig_mod.model.inner."
TABLE = PREFIX + "puzzle_emb.weights"
VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("*.npz"))
SMALL = {"width": 16, "layers": 1, "h_cycles": 1, "l_cycles": 1}
MODELS: dict[str, dict[str, Any]] = {
    "se_rrm": SMALL,
    "se_rrm_deep": {**SMALL, "layers": 3, "positions": "rope"},
    "se_rrm_registers": {**SMALL, "registers": 4},
    "se_rrm_untied": {**SMALL, "symbols": "untied"},
    "se_rrm_untied_registers": {**SMALL, "symbols": "untied", "registers": 2},
    "se_rrm_task_types": {**SMALL, "registers": 1, "task_types": "factored"},
    "trm": {**TRM, "prefix": 3},
    "trm_mlp": {**TRM, "mixer": "mlp"},
    "trm_deep": {**TRM, "layers": 2, "positions": "rope2d_shifted"},
    "hrm": {**HRM, "layers": 2},
}


def make(name: str) -> RunSettings:
    """The run of one of the models above."""
    return run_settings(model=MODELS[name], variant=name, train=TASK_TYPES)


def write_random(folder: Path, run: RunSettings) -> Path:
    """A checkpoint with different numbers everywhere, the parts that begin as zeros included."""
    built, generator = run.model.build(ModelSizes(11, num_positions=81), None), seeded(0)
    state = {
        name: torch.randn(value.shape, generator=generator) for name, value in built.state_dict().items()
    }
    write_checkpoint(folder, state, {}, config_of(run))
    return folder


def exported(name: str, folder: Path) -> Path:
    """A published file of random weights of one of the models above."""
    export_checkpoint(write_random(folder / f"{name}_before", make(name)), folder / f"{name}.pt")
    return folder / f"{name}.pt"


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    """Equal bit for bit."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value.dtype == other[name].dtype == torch.float32
        assert torch.equal(value, other[name]), name


@pytest.mark.parametrize("name", MODELS)
def test_what_is_exported_and_imported_is_unchanged(tmp_path: Path, name: str) -> None:
    run, before, file = make(name), write_random(tmp_path / "before", make(name)), tmp_path / "a" / "file.pt"
    shapes = export_checkpoint(before, file)
    saved = torch.load(file, weights_only=True)
    assert {key: value.shape for key, value in saved.items()} == shapes
    assert all(key.startswith(PREFIX) for key in saved)
    config = import_checkpoint(file, run, tmp_path / "after")
    assert_same(read_weights(before), read_weights(tmp_path / "after"))
    export_checkpoint(tmp_path / "after", tmp_path / "again.pt")
    assert (tmp_path / "again.pt").read_bytes() == file.read_bytes()
    loaded = load_model(tmp_path / "after", CPU)
    assert loaded.settings == run
    assert loaded.config == read_config(tmp_path / "after") == config
    assert config.parameters == num_parameters(loaded.model)
    assert config.parameters_with_task_types == num_parameters(loaded.model, with_task_types=True)
    assert config.imported == Imported(file="file.pt", sha256=hash_file(file))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_the_authors_own_weights_keep_keys_shapes_and_numbers(path: Path) -> None:
    vectors = read_vectors(path)
    model_settings, model = settings_of(vectors.config), build_published(vectors)
    weights = published_weights(model_settings, model)
    assert_same({f"_orig_mod.model.{key}": value for key, value in vectors.below("weight/").items()}, weights)
    num_symbols, num_positions = vectors.config["vocab_size"], vectors.tokens.shape[1]
    again = published_model(model_settings, weights, num_symbols, num_positions)
    assert_same(model.state_dict(), again.state_dict())


@pytest.mark.parametrize("prefix", ["", "model.inner."])
def test_wrappers_of_the_keys_and_parameters_for_tensors_do_not_matter(tmp_path: Path, prefix: str) -> None:
    file = exported("hrm", tmp_path)
    weights = {
        prefix + name.removeprefix(PREFIX): torch.nn.Parameter(value)
        for name, value in torch.load(file, weights_only=True).items()
    }
    torch.save(weights, file)
    config = import_checkpoint(file, make("hrm"), tmp_path / "after")
    assert_same(read_weights(tmp_path / "hrm_before"), read_weights(tmp_path / "after"))
    assert config.parameters == num_parameters(load_model(tmp_path / "after", CPU).model)


@pytest.mark.parametrize("name", ["se_rrm_task_types", "hrm"])
def test_without_task_embeddings_there_is_one_task_type_of_zeros(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = exported(name, tmp_path)
    weights = torch.load(file, weights_only=True)
    del weights[TABLE]
    torch.save(weights, file)
    import_checkpoint(file, make(name), tmp_path / "after")
    assert len(caplog.records) == 1, "a warning"
    before, after = read_weights(tmp_path / f"{name}_before"), read_weights(tmp_path / "after")
    table = before.pop("task_types")
    assert torch.equal(after.pop("task_types"), torch.zeros_like(table))
    assert_same(before, after)


DOWN = "L_level.layers.0.mlp.down_proj.weight"
UNPUBLISHED = ["planes: usual", "positions: none", "task_types: full", "states: two"]


@pytest.mark.parametrize("refused", UNPUBLISHED)
def test_a_setting_without_published_form_is_refused_by_name(tmp_path: Path, refused: str) -> None:
    setting, value = refused.split(": ")
    run = run_settings(model={**SMALL, setting: value}, train=TASK_TYPES)
    with pytest.raises(ValueError, match=refused):
        export_checkpoint(write_random(tmp_path / "before", run), tmp_path / "file.pt")
    with pytest.raises(ValueError, match=rf"se_rrm\.pt: {refused}"):
        import_checkpoint(exported("se_rrm", tmp_path), run, tmp_path / "after")
    assert not (tmp_path / "file.pt").exists() and not (tmp_path / "after").exists()


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("pos_embedding", torch.zeros(1), "pos_embedding"),
        (DOWN, None, rf"{re.escape(DOWN)}: missing"),
        ("puzzle_emb.weights", torch.zeros(0, 16), r"\(1, 16\).*\(0, 16\)"),
        ("q_head.bias", torch.zeros(2, dtype=torch.int64), "q_head.bias|state dict"),
        ("q_head.bias", torch.full((2,), math.inf), "q_head.bias"),
    ],
)
def test_a_key_that_does_not_fit_is_refused_by_name(
    tmp_path: Path, key: str, value: Tensor | None, named: str
) -> None:
    file = exported("trm", tmp_path)
    weights = torch.load(file, weights_only=True) | {PREFIX + key: value}
    torch.save({name: weight for name, weight in weights.items() if weight is not None}, file)
    with pytest.raises(ValueError, match=named) as caught:
        import_checkpoint(file, make("trm"), tmp_path / "after")
    assert str(caught.value).startswith(f"{file}: ") and "\n" not in str(caught.value)
    assert not (tmp_path / "after").exists()


@pytest.mark.parametrize(("task", "num_symbols"), [("maze", 6), ("arc_agi_1", 12)])
@pytest.mark.parametrize("name", ["trm_mlp", "se_rrm_untied"])
def test_a_file_of_any_task_comes_in_with_the_task_s_alphabet_and_grid(
    tmp_path: Path, name: str, task: str, num_symbols: int
) -> None:
    run = make(name).model_copy(update={"data_set": task, "task": task})
    model = run.model.build(ModelSizes(num_symbols, num_positions=900), seeded(0))
    torch.save(published_weights(run.model, model), tmp_path / "file.pt")
    config = import_checkpoint(tmp_path / "file.pt", run, tmp_path / "after")
    assert (config.num_symbols, config.side) == (num_symbols, 30)
    assert_same(dict(model.state_dict()), read_weights(tmp_path / "after"))


class Harmful:
    """Unpickled carelessly, it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("content", [b"PK\x03\x04", {"model": {"a": 1}}, {"epoch": 3}, [1], Harmful])
def test_what_is_no_state_dict_is_refused_and_never_run(content: object, tmp_path: Path) -> None:
    file, trace = tmp_path / "file.pt", tmp_path / "trace"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        torch.save({"a": Harmful(trace)} if content is Harmful else content, file)
    with pytest.raises(ValueError, match="state dict"):
        read_state_dict(file)
    assert not trace.exists()
