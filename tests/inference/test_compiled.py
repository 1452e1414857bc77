"""Compiled evaluation: one variant per network and size of grid, and the answers of the plain form."""

from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor

from serrm.core.execution import Execution
from serrm.inference.predict import predict
from serrm.inference.search import Limits, Search, search
from serrm.kernels import accelerate as accelerate_module
from serrm.kernels.accelerate import accelerate
from serrm.models.families import ModelSettings
from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import ModelSizes
from serrm.puzzles.tasks import TASKS
from serrm.training.checkpoint import read_weights
from serrm.training.losses import Stablemax
from serrm.training.run import train
from serrm.training.settings import RunSettings
from tests.compiling import DEVICES, GPUS, apart, num_variants, traced_only
from tests.conftest import HRM, MODEL, Q_LEARNING, TRM, run_settings
from tests.drawn import draw_tokens, seeded

TINY = {"width": 16, "layers": 1, "h_cycles": 2, "l_cycles": 2, "attention_dropout": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "se_rrm": {**MODEL, **TINY, "symbol_heads": 1, "registers": 2},
    "trm": {**TRM, **TINY},
    "hrm": {**HRM, **TINY, "prefix": 1},  # else it would share TRM's variants
}
MAZE, ARC = (6, 6), (30, 12)  # side, symbols
CASES = [
    ("se_rrm", [(side, side + 2) for side in (4, 9, 16, 25)]),
    ("se_rrm", [ARC]),
    ("trm", [(9, 11), MAZE]),
    ("hrm", [(9, 11)]),
]
STEPS = (1, 3)


def make_model(family: str, num_symbols: int, side: int, device: str) -> RecurrentModel:
    settings: ModelSettings = TypeAdapter(ModelSettings).validate_python(MODELS[family])
    return settings.build(ModelSizes(num_symbols, num_positions=side**2), seeded(0)).to(device).eval()


def answered(model: RecurrentModel, num: int, side: int, num_symbols: int, rows: int) -> list[Tensor]:
    """Logits of `num` puzzles after each of STEPS, in batches of `rows`."""
    tokens = draw_tokens(side, num, side, num_symbols).to(model.initial.device)
    vectors = model.task_vectors(torch.zeros(num, dtype=torch.long, device=tokens.device))
    found: list[list[Tensor]] = [[] for _ in STEPS]
    for start in range(0, num, rows):
        part = slice(start, start + rows)
        own = None if vectors is None else vectors[part]
        steps = predict(model, tokens[part], num_symbols, STEPS, task_vectors=own, batch_rows=rows)
        for place, (_, output) in enumerate(steps):
            found[place].append(output.logits.cpu())
    return [torch.cat(parts) for parts in found]


def both_forms(
    family: str, sizes: list[tuple[int, int]], device: str
) -> tuple[int, list[tuple[Tensor, Tensor]]]:
    """(variants, (plain, compiled) logits of three puzzles by twos, for each size and depth)."""
    most = max(num_symbols for _, num_symbols in sizes)
    model = make_model(family, most, sizes[0][0], device)
    plain = [answered(model, 3, *size, 2) for size in sizes]
    accelerate(model, compiles=True)
    compiled = [answered(model, 3, *size, 2) for size in sizes]
    pairs = [pair for two in zip(plain, compiled, strict=True) for pair in zip(*two, strict=True)]
    return num_variants(), pairs


@pytest.mark.slow
@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize(("family", "sizes"), CASES)
def test_compiled_and_plain_answers_agree(family: str, sizes: list[tuple[int, int]], device: str) -> None:
    num_graphs, pairs = apart(both_forms, family, sizes, device)
    assert num_graphs == len(sizes)
    for plain, compiled in pairs:
        torch.testing.assert_close(compiled, plain, rtol=1e-3, atol=1e-3)
        best, second = plain.topk(2, dim=-1).values.unbind(-1)
        is_clear = best - second > 1e-2
        assert torch.equal(compiled.argmax(-1)[is_clear], plain.argmax(-1)[is_clear])


def variants_of_batches(device: str) -> dict[str, int]:
    """By family, the variants of whole and smaller batches and a search, in two sizes, with two models' weights."""
    found, before = {}, 0
    with traced_only():
        for family in ("se_rrm", "trm"):
            model, other = (make_model(family, 6, 4, device) for _ in range(2))
            other.initial += 1
            for each in (model, other):
                accelerate(each, compiles=True)
                for side in (4, 3):
                    answered(each, 5, side, 6, 2)
                    puzzles = map(Search, range(5), draw_tokens(side, 5, side, 6).byte().numpy())
                    list(search(each, puzzles, 6, TASKS["arc_agi_1"], Limits(3), 2, Stablemax()))
            model.load_state_dict(other.state_dict())
            answered(model, 5, 4, 6, 2)
            found[family], before = num_variants() - before, num_variants()
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_batches_and_searches_share_one_variant_per_size(device: str) -> None:
    assert apart(variants_of_batches, device) == {"se_rrm": 2, "trm": 2}


def compiled_training(family: str) -> RunSettings:
    """A compiled training; HRM's has a second forward pass between the first and the backward pass."""
    recipe = {"steps": 12, "compile": True, **({} if family == "se_rrm" else Q_LEARNING)}
    if family == "hrm":
        recipe["halting"] = {**recipe["halting"], "bootstrap": True}
    return run_settings(model=MODELS[family], train=recipe)


def weights_after_training(settings: RunSettings, arrays: Path, folder: Path, has_graphs: bool) -> Any:
    """The weights, and the numbers of compiled graphs and of those without CUDA graphs."""
    from torch._dynamo.utils import counters

    if not has_graphs:
        accelerate_module.has_dropout = lambda network: True
    train(settings, arrays, folder / "run", folder / "scratch", Execution(device="cuda"))
    return read_weights(folder / "run"), num_variants(), counters["inductor"]["cudagraph_skips"]


@pytest.mark.slow
@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize("family", MODELS)
def test_a_training_compiles_two_variants_and_cuda_graphs_change_no_bit(
    family: str, device: str, arrays: Path, tmp_path: Path
) -> None:
    """A variant without gradient and one with."""
    settings = compiled_training(family)
    (with_graphs, *numbers), (without, *_) = (
        apart(weights_after_training, settings, arrays, tmp_path / str(has), has) for has in (True, False)
    )
    assert numbers == [2, 0]
    assert all(torch.equal(weights, without[name]) for name, weights in with_graphs.items())
