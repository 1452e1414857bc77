"""Compiled evaluation: one variant per network and size of grid, and the answers of the plain form."""

from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from serrm.core.execution import Execution
from serrm.inference.evaluate import evaluate
from serrm.inference.predict import predict
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import ScoringSettings
from serrm.kernels import accelerate as accelerate_module
from serrm.kernels.accelerate import accelerate, has_dropout
from serrm.models.build import build_model
from serrm.models.families import ModelSettings
from serrm.models.recurrence import RecurrentModel
from serrm.puzzles.tasks import TASKS
from serrm.scoring.schema import ScoredSet
from serrm.training.checkpoint import read_weights
from serrm.training.losses import Stablemax
from serrm.training.run import train
from serrm.training.settings import RunSettings
from tests.compiling import DEVICES, GPUS, apart, num_variants, traced_only
from tests.conftest import HRM, MODEL, Q_LEARNING, TRM, MakePath, MakeRun, scoring
from tests.drawn import draw_tokens, seeded

TINY = {"width": 16, "layers": 1, "h_cycles": 2, "l_cycles": 2, "attention_dropout": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "se_rrm": {**MODEL, **TINY, "symbol_heads": 1, "registers": 2},
    "trm": {**TRM, **TINY},
    "hrm": {**HRM, **TINY, "prefix": 1},  # else it would share TRM's variants
}
SUDOKU_SIDES = (4, 9, 16, 25)
MAZE, ARC = (6, 6), (30, 12)  # side, symbols
CASES = [
    ("se_rrm", [(side, side + 2) for side in SUDOKU_SIDES]),
    ("se_rrm", [ARC]),
    ("trm", [(9, 11), MAZE]),
    ("hrm", [(9, 11)]),
]
STEPS = (1, 3)


def make_model(family: str, num_symbols: int, side: int, device: str) -> RecurrentModel:
    settings: ModelSettings = TypeAdapter(ModelSettings).validate_python(MODELS[family])
    return build_model(settings, num_symbols, seeded(0), num_positions=side**2).to(device).eval()


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


def variants_of_evaluation(
    checkpoint: Path, arrays: Path, settings: ScoringSettings, device: str
) -> tuple[int, list[str]]:
    """(variants, names of the sets that were scored) of two evaluations of a checkpoint and its snapshots."""
    with traced_only():
        for _ in range(2):
            found, _ = evaluate(checkpoint, arrays, settings, Execution(device=device))
    assert len(found.learning_curve) == 2 and found.first_verified and found.attempts
    return num_variants(), [name for name, part in found.sets.items() if isinstance(part, ScoredSet)]


def variants_of_batches(device: str) -> dict[str, int]:
    """By family, the variants of whole and smaller batches and a search, in two sizes, with two models' weights."""
    found, before = {}, 0
    with traced_only():
        for family in MODELS:
            model, other = (make_model(family, 6, 4, device) for _ in range(2))
            other.initial += 1
            for each in (model, other):
                accelerate(each, compiles=True)
                for side in (4, 3):
                    answered(each, 5, side, 6, 2)
                    puzzles = map(Search, range(5), draw_tokens(side, 5, side, 6).byte().numpy())
                    assert (
                        len(list(search(each, puzzles, 6, TASKS["arc_agi_1"], Limits(3), 2, Stablemax())))
                        == 5
                    )
            model.load_state_dict(other.state_dict())
            answered(model, 5, 4, 6, 2)
            found[family], before = num_variants() - before, num_variants()
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_batches_and_searches_share_one_variant_per_size(device: str) -> None:
    assert apart(variants_of_batches, device) == dict.fromkeys(MODELS, 2)


@pytest.mark.slow
@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize(("family", "sides"), [("hrm", (4, 9)), ("trm", (4, 9)), ("se_rrm", SUDOKU_SIDES)])
def test_an_evaluation_compiles_one_variant_per_size(
    family: str, sides: tuple[int, ...], device: str, make_run: MakeRun, make_arrays: MakePath, tmp_path: Path
) -> None:
    # Five puzzles by twos leave one over, the studies' batches shrink, and larger grids come in smaller batches.
    arrays = make_arrays(side=4, tests=sides)
    train_part = {} if family == "se_rrm" else Q_LEARNING
    trained = make_run(model=MODELS[family], train=train_part)
    train(trained, arrays, tmp_path / "run", tmp_path / "scratch", Execution(device="cpu"))
    test_time_compute = {"num_puzzles": 5, "max_steps": [1, 3], "attempt_steps": 2, "attempts": [1, 2]}
    studies = {"test_time_compute": test_time_compute, "equivariance_pairs": 3}
    settings = scoring(steps=(1, 2), compile=True, **studies)
    num_graphs, sizes = apart(variants_of_evaluation, tmp_path / "run", arrays, settings, device)
    known = sides if family == "se_rrm" else (4,)  # the others have no weights for larger alphabets
    assert sizes == [f"{side}x{side}" for side in known]
    assert num_graphs == len(sizes)


def compiled_training(make_run: MakeRun, family: str, dropout: float, **train_part: Any) -> RunSettings:
    """A compiled training; HRM's has a second forward pass between the first and the backward pass."""
    if family != "se_rrm":
        train_part |= Q_LEARNING
    if family == "hrm":
        train_part["halting"] = {**train_part["halting"], "bootstrap": True}
    model = {**MODELS[family], "attention_dropout": dropout}
    return make_run(model=model, train={**train_part, "compile": True})


def variants_of_training(
    settings: RunSettings, arrays: Path, folder: Path, device: str, micro_batch: int | None
) -> int:
    execution = Execution(device=device, micro_batch=micro_batch)
    with traced_only():
        train(settings, arrays, folder / "run", folder / "scratch", execution)
    return num_variants()


@pytest.mark.slow
@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize("family", MODELS)
def test_a_training_compiles_one_variant_without_gradient_and_one_with(
    family: str, device: str, make_run: MakeRun, make_arrays: MakePath, tmp_path: Path
) -> None:
    settings = compiled_training(make_run, family, 0.1)
    asked = (settings, make_arrays(side=4), tmp_path, device, 2 if family == "trm" else None)
    assert apart(variants_of_training, *asked) == 2


def weights_after_training(settings: RunSettings, arrays: Path, folder: Path, has_graphs: bool) -> Any:
    """The weights, and the number of compiled graphs without CUDA graphs."""
    from torch._dynamo.utils import counters

    if not has_graphs:
        accelerate_module.has_dropout = lambda network: True
    train(settings, arrays, folder / "run", folder / "scratch", Execution(device="cuda"))
    return read_weights(folder / "run"), counters["inductor"]["cudagraph_skips"]


@pytest.mark.slow
@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize("family", MODELS)
def test_cuda_graphs_change_no_bit(
    family: str, device: str, make_run: MakeRun, make_arrays: MakePath, tmp_path: Path
) -> None:
    settings = compiled_training(make_run, family, 0.0, steps=12)
    (with_graphs, num_skipped), (without, _) = (
        apart(weights_after_training, settings, make_arrays(side=4), tmp_path / str(has), has)
        for has in (True, False)
    )
    assert num_skipped == 0
    assert all(torch.equal(weights, without[name]) for name, weights in with_graphs.items())


@pytest.mark.parametrize(
    ("dropout", "is_training", "allows_graphs", "has_graphs"),
    [
        (0.0, True, True, True),
        (0.1, True, True, False),
        (0.1, False, True, True),
        (0.0, True, False, False),
    ],
)
@pytest.mark.parametrize("family", MODELS)
def test_networks_with_dropout_train_without_cuda_graphs(
    family: str,
    dropout: float,
    is_training: bool,
    allows_graphs: bool,
    has_graphs: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []

    def compiled(apply: Any, *, options: dict[str, Any], **_: Any) -> Any:
        found.append(options["triton.cudagraphs"])
        return apply

    monkeypatch.setattr(torch, "compile", compiled)
    settings = {**MODELS[family], "attention_dropout": dropout}
    model = build_model(TypeAdapter(ModelSettings).validate_python(settings), 6, seeded(0), num_positions=16)
    accelerate(model.train(is_training), compiles=True, allows_graphs=allows_graphs)
    for network in model.networks.values():
        network.forward._plain()  # compiled at its first use
    assert set(found) == {has_graphs}


def test_dropout_of_any_form_is_found() -> None:
    within = nn.Module()
    within.dropout = nn.Dropout(0.1)
    assert has_dropout(within) and has_dropout(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)))
    assert not has_dropout(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0)))
