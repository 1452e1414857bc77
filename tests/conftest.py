"""What many tests share: one CPU thread, no hypothesis deadline, and small models, recipes and arrays."""

import os
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch

from serrm.arrays.build import build_grid_arrays
from serrm.arrays.stream import GridExamples, open_arrays
from serrm.core.execution import Execution
from serrm.datasets.sets import set_file, write_set
from serrm.inference.predict import LoadedModel
from serrm.inference.settings import ScoringSettings
from serrm.kernels.accelerate import accelerate
from serrm.models.se_rrm_settings import SeRrmSettings
from serrm.models.settings import ModelSizes
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.tasks import grid_task
from serrm.training.checkpoint import write_checkpoint
from serrm.training.loop import Trainer
from serrm.training.run import train
from serrm.training.settings import CheckpointConfig, RunSettings
from tests.drawn import seeded

torch.set_num_threads(1)
# PyTorch looks for it once per process, at the first product on a GPU.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
# A busy machine is no failure.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

# A shell has jobs in the background ignore Ctrl-C, and what they start; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fixtures that make something with the given changes.
MakePath = Callable[..., Path]
MakeModel = Callable[..., LoadedModel]
MakeTrainer = Callable[..., Trainer]

CLUES = {4: (6, 9), 6: (14, 20), 9: (40, 50), 16: (170, 200), 25: (560, 600)}
MODEL: dict[str, Any] = {
    "family": "se_rrm",
    "width": 32,
    "layers": 2,
    "h_cycles": 2,
    "l_cycles": 2,
    "heads": 2,
    "head_dim": 8,
    "symbol_heads": 2,
    "symbol_head_dim": 8,
    "expansion": 1.0,
    "positions": "rope2d",
    "registers": 0,
    "symbols": "tied",
    "planes": "all",
    "task_types": "none",
    "attention_dropout": 0.0,
}
SHALLOW: dict[str, Any] = {"layers": 1, "h_cycles": 1, "attention_dropout": 0.3}
TRAIN: dict[str, Any] = {
    "batch_size": 4,
    "steps": 6,
    "max_supervision_steps": 4,
    "halting": {"kind": "random", "probability": 0.3},
    "learning_rate": 3e-3,
    "schedule": "constant",
    "warmup_steps": 2,
    "weight_decay": 0.1,
    "betas": (0.9, 0.95),
    "ema": 0.9,
    "precision": "float32",
    "compile": False,
    "snapshots": 2,
    "log_every": 2,
}
TRM: dict[str, Any] = {
    "family": "trm",
    "width": 16,
    "layers": 1,
    "h_cycles": 2,
    "l_cycles": 1,
    "heads": 2,
    "expansion": 1.0,
    "positions": "rope",
    "prefix": 2,
    "attention_dropout": 0.1,
    "mixer": "attention",
}
HRM: dict[str, Any] = {key: value for key, value in TRM.items() if key != "mixer"} | {"family": "hrm"}
TASK_TYPES: dict[str, Any] = {"task_types": {"learning_rate": 0.01, "weight_decay": 0.1}}
Q_LEARNING: dict[str, Any] = {
    "halting": {"kind": "q_learning", "exploration": 0.5, "bootstrap": False},
    **TASK_TYPES,
}
# What turns `run_settings`'s small SE-RRM into a small TRM with Q-learning.
TRM_CHANGES: dict[str, Any] = {"model": TRM, "train": Q_LEARNING}
ARRAYS: dict[str, Any] = {"num_augmentations": 3, "seed": 0}


def scoring(
    data_set: str = "sudoku", seed: int = 0, fidelity: dict[str, bool] | None = None, **changes: Any
) -> ScoringSettings:
    """Settings of a small evaluation; keywords change its section `evaluate`."""
    small = {"batch_size": 2, "precision": "float32", "compile": False, "curve_puzzles": 3}
    facts = {
        "profile": "made",
        "name": f"{data_set}-tiny-s{seed}",
        "data_set": data_set,
        "variant": "tiny",
        "seed": seed,
    }
    facts |= {"fidelity": fidelity or {}}
    facts |= {"source": "made here", "source_kind": "generated"}
    return ScoringSettings.model_validate({**facts, "evaluate": {"steps": (1, 2, 16), **small, **changes}})


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--no-native`: as on a CPU without AVX512-BF16: native kernels run in float32 alone."""
    parser.addoption("--no-native", action="store_true", help="as on a CPU without AVX512-BF16")
    parser.addoption("--no-tiles", action="store_true", help="as on a CPU without AMX")


def pytest_configure(config: pytest.Config) -> None:
    """Let torch know of no such instructions, before anything asks."""
    if config.getoption("--no-native"):
        torch.cpu._is_avx512_bf16_supported = lambda: False
    if config.getoption("--no-native") or config.getoption("--no-tiles"):
        torch.cpu._is_amx_tile_supported = lambda: False


def run_settings(**changes: Any) -> RunSettings:
    """The run of a small SE-RRM; keywords lay changes over its sections, as `train={"steps": 9}`.

    A `model` that names its family takes the place of the SE-RRM.
    """
    model = {} if "family" in changes.get("model", {}) else MODEL
    sections: dict[str, Any] = {"model": model, "train": TRAIN, "arrays": ARRAYS, "fidelity": {}}
    values = {name: {**section, **changes.pop(name, {})} for name, section in sections.items()}
    if values["model"].get("task_types", "none") != "none":
        values["train"] = {**TASK_TYPES, **values["train"]}
    return RunSettings.model_validate(
        {"data_set": "sudoku", "variant": "tiny", "seed": 0, **values, **changes}
    )


def trainer_on(
    arrays: Path, run: RunSettings, num_task_types: int = 1, *, is_accelerated: bool = False
) -> Trainer:
    """A trainer of a run on the training set of `arrays`, on PyTorch or accelerated."""
    examples = open_arrays(arrays, "train")
    stream = GridExamples(examples, run.arrays.num_augmentations, run.arrays.seed).stream()
    sizes = {"num_positions": stream.side**2, "num_task_types": num_task_types}
    model = run.model.build(ModelSizes(stream.num_symbols, **sizes), seeded(run.seed))
    if is_accelerated:
        accelerate(model)
    return Trainer(model, stream, run.train, run.seed, run.fidelity)


def se_rrm_settings(**changes: Any) -> SeRrmSettings:
    """A small SE-RRM, but for the given parameters."""
    return SeRrmSettings.model_validate({**MODEL, **changes})


@pytest.fixture(scope="session")
def make_arrays(tmp_path_factory: pytest.TempPathFactory) -> MakePath:
    """Arrays of generated puzzles: a training set of one side, test sets of the sides given."""

    @cache
    def make(side: int = 4, num_train: int = 8, tests: tuple[int, ...] = (4,), seed: int = 0) -> Path:
        folder = tmp_path_factory.mktemp("sets")
        for name, n, num in [("train", side, num_train), *((f"{n}x{n}", n, 5) for n in tests)]:
            rng = np.random.default_rng([seed, n, num])
            puzzles = generate_puzzles(n, num, rng, CLUES[n])
            write_set(folder / set_file(name), enumerate(puzzles), n, name, grid_task("sudoku"))
        build_grid_arrays(folder, folder / "arrays", task="sudoku", seed=seed)
        return folder / "arrays"

    return make


@pytest.fixture(scope="session")
def arrays(make_arrays: MakePath) -> Path:
    """Those of eight 4×4 puzzles to train on and five to be tested on."""
    return make_arrays(side=4)


@pytest.fixture(scope="session")
def make_trainer(make_arrays: MakePath) -> MakeTrainer:
    """A trainer on eight 4×4 puzzles, of the run that `run_settings` makes of the same keywords."""

    def make(num_task_types: int = 1, **changes: Any) -> Trainer:
        return trainer_on(make_arrays(side=4), run_settings(**changes), num_task_types)

    return make


@pytest.fixture(scope="session")
def trained(make_arrays: MakePath, tmp_path_factory: pytest.TempPathFactory) -> MakePath:
    """The checkpoint of a run of `run_settings`, trained on 4×4 Sudoku; tests of the same run share it."""
    checkpoints: dict[str, Path] = {}

    def make(**changes: Any) -> Path:
        run = run_settings(**changes)
        if (key := run.model_dump_json()) not in checkpoints:
            folder = tmp_path_factory.mktemp("trained")
            train(run, make_arrays(side=4), folder / "run", folder / "scratch", Execution(device="cpu"))
            checkpoints[key] = folder / "run"
        return checkpoints[key]

    return make


def config_of(run: RunSettings, **facts: Any) -> CheckpointConfig:
    """The config.json of a checkpoint that nobody trained, for 9×9 Sudoku unless the facts say otherwise."""
    usual = {"num_symbols": 11, "side": 9, "parameters": 1, "parameters_with_task_types": 2}
    return CheckpointConfig(run=run, **{**usual, **facts})


@pytest.fixture(scope="session")
def untrained() -> MakeModel:
    """A shallow model of `run_settings` with random weights for 9×9 Sudoku, or as its alphabet and config.json say."""

    def make(num_symbols: int = 11, config: dict[str, Any] | None = None, **changes: Any) -> LoadedModel:
        model = {"layers": 1, "h_cycles": 1, "l_cycles": 1, **changes.pop("model", {})}
        run = run_settings(model=model, **changes)
        built = run.model.build(
            ModelSizes(num_symbols, num_positions=81, num_task_types=3 * (run.arrays.num_augmentations + 1)),
            seeded(0),
        )
        return LoadedModel(built.eval(), config_of(run, num_symbols=num_symbols, **(config or {})))

    return make


@pytest.fixture(scope="session")
def write_untrained(untrained: MakeModel, tmp_path_factory: pytest.TempPathFactory) -> MakePath:
    """The same as a checkpoint."""

    def write(**changes: Any) -> Path:
        loaded, target = untrained(**changes), tmp_path_factory.mktemp("untrained") / "checkpoint"
        write_checkpoint(target, loaded.model.state_dict(), {}, loaded.config)
        return target

    return write
