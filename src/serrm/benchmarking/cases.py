"""What is measured: each model at the paper's size and at a small one, on 9×9 Sudoku."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from serrm.arrays.stream import Examples, Stream
from serrm.kernels.accelerate import accelerate
from serrm.models.formulations import DTYPES
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.models.settings import HrmSettings, ModelSettings, RandomHalting, SeRrmSettings, TrmSettings
from serrm.training.loop import Trainer
from serrm.training.settings import TaskTypeSettings, TrainSettings

SE_RRM = SeRrmSettings(
    family="se_rrm", width=256, layers=2, h_cycles=3, l_cycles=6, heads=4, head_dim=64, symbol_heads=2,
    symbol_head_dim=64, expansion=4.0, positions="rope2d", registers=4, symbols="tied", planes="all",
    task_types="none", attention_dropout=0.0,
)  # fmt: skip
TRM = TrmSettings(
    family="trm", width=512, layers=2, h_cycles=3, l_cycles=6, heads=8, expansion=4.0, positions="rope", prefix=16,
    mixer="attention", attention_dropout=0.0,
)  # fmt: skip
HRM = HrmSettings(
    family="hrm", width=512, layers=4, h_cycles=2, l_cycles=2, heads=8, expansion=4.0, positions="rope", prefix=1,
    attention_dropout=0.0,
)  # fmt: skip
SMALL_SE_RRM = SE_RRM.model_copy(
    update={
        "width": 64, "layers": 1, "h_cycles": 2, "l_cycles": 4, "heads": 2, "head_dim": 32, "symbol_heads": 2,
        "symbol_head_dim": 32, "registers": 0,
    }
)  # fmt: skip

HALTING = RandomHalting(kind="random", probability=0.05)


@dataclass(frozen=True)
class Case:
    """A model, how many puzzles at once, and their form."""

    name: str
    settings: ModelSettings
    batch_size: int
    side: int = 9
    num_symbols: int = 11


CASES = (
    Case("SE-RRM, paper", SE_RRM, 8),
    Case("SE-RRM, paper, dropout 0.2", SE_RRM.model_copy(update={"attention_dropout": 0.2}), 8),
    Case("SE-RRM, small", SMALL_SE_RRM, 32),
    Case("TRM, paper", TRM, 32),
    Case("TRM, small", TRM.model_copy(update={"width": 128, "heads": 4}), 64),
    Case("HRM, paper", HRM, 32),
    Case("HRM, small", HRM.model_copy(update={"width": 128, "heads": 4, "layers": 2}), 64),
)


def random_stream(side: int, num_symbols: int) -> Stream:
    """Endless random tokens, the same at every call: they cost what puzzles cost."""

    def gather(start: int, num: int) -> Examples:
        rng = np.random.default_rng(start)
        tokens = rng.integers(1, num_symbols, (2, num, side**2), dtype=np.uint8)
        return Examples(tokens[0], tokens[1], np.zeros(num, dtype=np.int64))

    return Stream(side, num_symbols, 1000, gather)


def build(case: Case, device: torch.device) -> RecurrentModel:
    """The case's model with random weights."""
    rng = torch.Generator().manual_seed(0)
    return build_model(case.settings, case.num_symbols, rng, num_positions=case.side**2).to(device)


def training_step(
    case: Case, device: torch.device, precision: str, *, is_plain: bool
) -> Callable[[], object]:
    """A whole step of the training loop: refill, forward, loss, backward, optimiser, average."""
    settings = TrainSettings(
        batch_size=case.batch_size, steps=10**9, max_supervision_steps=16, learning_rate=1e-4, warmup_steps=2000,
        halting=HALTING, schedule="constant", weight_decay=1.0,
        task_types=TaskTypeSettings(learning_rate=1e-2, weight_decay=0.1), betas=(0.9, 0.95), ema=0.999,
        precision="float32" if precision == "float32" else "bfloat16", compile=not is_plain, snapshots=0,
        log_every=10**9,
    )  # fmt: skip
    model = build(case, device)
    accelerate(model, is_native=not is_plain, compiles=not is_plain)
    trainer = Trainer(model, random_stream(case.side, case.num_symbols), settings, seed=0)
    return partial(trainer.run, lambda record: None, lambda: True)


def evaluation_step(
    case: Case, device: torch.device, precision: str, *, is_plain: bool
) -> Callable[[], object]:
    """A supervision step without gradient, the state going on from step to step."""
    model = build(case, device).eval()
    accelerate(model, is_native=not is_plain, compiles=not is_plain)
    examples = random_stream(case.side, case.num_symbols).gather(0, case.batch_size)
    tokens = torch.from_numpy(examples.questions).long().to(device)
    state = model.initial_state(case.batch_size, case.side**2, case.num_symbols, DTYPES[precision])
    task_vectors = model.task_vectors(torch.zeros(case.batch_size, dtype=torch.long, device=device))

    @torch.no_grad()
    def step() -> None:
        nonlocal state
        state = model(state, tokens, task_vectors).state

    return step


STEPS = {"evaluation": evaluation_step, "training": training_step}
