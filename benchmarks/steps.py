"""Puzzle-steps a second of each model in evaluation and training, and the share of the machine's matrix rate.

    python -m benchmarks.steps [--only TEXT] [--batch N] > benchmarks/steps.md

Every case has a process of its own, so that its memory is its own. The step, the same in plain PyTorch and a product of
matrices take turns, so that a drift hits all.
"""

import gc
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
import typer

from serrm import devices as machine
from serrm.arrays.stream import random_stream
from serrm.config import read_params
from serrm.kernels.accelerate import accelerate
from serrm.models.families import ModelSettings
from serrm.models.layers import DTYPES
from serrm.models.registry import build_model, flops
from serrm.models.settings import RandomHalting
from serrm.training.loop import Trainer

# The paper's models for Sudoku; the small ones are changes of them.
PAPER = read_params(Path(__file__).parents[1] / "profiles" / "paper.yaml")
WITH_DROPOUT, TRM, HRM = (
    PAPER.train_settings(f"sudoku-{name}-s0").model for name in ("se_rrm", "trm", "hrm")
)
SE_RRM = WITH_DROPOUT.model_copy(update={"attention_dropout": 0.0})
SMALL_SE_RRM = SE_RRM.model_copy(
    update={
        "width": 64, "layers": 1, "h_cycles": 2, "l_cycles": 4, "heads": 2, "head_dim": 32, "symbol_head_dim": 32,
        "registers": 0,
    }
)  # fmt: skip
HALTING = RandomHalting(kind="random", probability=0.05)  # of all models
TRAIN = PAPER.train_settings("sudoku-trm-s0").train.model_copy(
    update={"epochs": None, "steps": 10**9, "log_every": 10**9, "halting": HALTING}
)
# Rows, width and columns of the product whose rate is the measure: on a CPU the rows of 8 Sudokus with 4 registers and
# 11 planes and SwiGLU's first weight, on a GPU one large enough to fill it.
PRODUCT = {"cpu": (7480, 256, 1536), "cuda": (8192, 8192, 8192)}
WARM_UP = 2  # turns


class Setup(NamedTuple):
    """Device, precision and repetitions of a measurement."""

    device: str
    precision: str
    turns: int


class Case(NamedTuple):
    """A model, how many puzzles at once, and their form."""

    name: str
    settings: ModelSettings
    batch_size: int
    side: int = 9
    num_symbols: int = 11


CASES = (
    Case("SE-RRM, paper", SE_RRM, 8),
    Case("SE-RRM, paper, dropout 0.2", WITH_DROPOUT, 8),
    Case("SE-RRM, small", SMALL_SE_RRM, 32),
    Case("TRM, paper", TRM, 32),
    Case("TRM, small", TRM.model_copy(update={"width": 128, "heads": 4}), 64),
    Case("HRM, paper", HRM, 32),
    Case("HRM, small", HRM.model_copy(update={"width": 128, "heads": 4, "layers": 2}), 64),
)


def step_of(
    case: Case, kind: str, device: torch.device, precision: str, is_plain: bool
) -> Callable[[], object]:
    """A supervision step without gradient, the state going on, or a whole step of the training loop."""
    rng, num_positions = torch.Generator().manual_seed(0), case.side**2
    model = build_model(case.settings, case.num_symbols, rng, num_positions=num_positions).to(device)
    accelerate(model.train(kind == "training"), is_native=not is_plain, compiles=not is_plain)
    stream = random_stream(case.side, case.num_symbols)
    if kind == "training":
        changes = {"batch_size": case.batch_size, "precision": precision, "compile": not is_plain}
        trainer = Trainer(model, stream, TRAIN.model_copy(update=changes), seed=0)
        return partial(next, trainer.steps())
    tokens = torch.from_numpy(stream.gather(0, case.batch_size).questions).long().to(device)
    state = model.initial_state(case.batch_size, num_positions, case.num_symbols, DTYPES[precision])
    task_vectors = model.task_vectors(torch.zeros(case.batch_size, dtype=torch.long, device=device))

    @torch.no_grad()
    def step() -> None:
        nonlocal state
        state = model(state, tokens, task_vectors).state

    return step


def measure(case: Case, kind: str, setup: Setup, has_plain: bool = True) -> tuple[float, float, float, int]:
    """Medians of the seconds of a step, of the share of the matrix rate, of that of plain PyTorch; bytes of memory.

    The memory is the most that this process needed beyond what it held before.
    """
    device = torch.device(setup.device)
    machine.keep_memory()
    machine.repeat_arithmetic(device)  # as trainings and evaluations do
    rows, width, columns = PRODUCT[device.type]
    left, right = (torch.randn(size, width).to(device, DTYPES[setup.precision]) for size in (rows, columns))
    before = machine.peak_memory(device)
    works = [step_of(case, kind, device, setup.precision, is_plain=False)]
    for _ in range(WARM_UP):
        works[0]()
    gc.collect()
    memory = machine.peak_memory(device) - before
    works += [step_of(case, kind, device, setup.precision, is_plain=True)] * has_plain
    found: list[list[tuple[float, float]]] = [[] for _ in works]
    for _ in range(WARM_UP + setup.turns):
        for work, pairs in zip(works, found, strict=True):
            turn = (partial(F.linear, left, right), work, partial(F.linear, left, right))
            first, taken, last = (machine.seconds_of(each, device) for each in turn)
            rate = 2 * rows * width * columns / ((first + last) / 2)
            pairs.append((taken, flops_of(case, kind) / taken / rate))
    medians = [[median(column) for column in zip(*pairs[WARM_UP:], strict=True)] for pairs in found]
    return *medians[0], medians[-1][1], memory


def flops_of(case: Case, kind: str) -> int:
    """The FLOPs of a step on all its puzzles."""
    halting = HALTING if kind == "training" else None
    return case.batch_size * flops(case.settings, case.side**2, case.num_symbols, halting)


def in_own_process(*arguments: Any, initializer: Callable[[], None] | None = None) -> Any:
    """`measure` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=initializer) as pool:
        return pool.submit(measure, *arguments).result()


def set_up(device: str, turns: int) -> Setup:
    """The machine as it is asked for; prints what stands above a table."""
    place = machine.choose_device(device)
    precision, _ = machine.supported("bfloat16", True, place)
    where = torch.cuda.get_device_name(place) if place.type == "cuda" else "CPU"
    print(
        f"{where}, {torch.get_num_threads()} threads, {precision}, torch {torch.__version__}; {turns} turns.\n"
    )
    return Setup(str(place), precision, turns)


def main(device: str = "auto", turns: int = 5, only: str = "", batch: int = 0) -> None:
    """Print a Markdown table of the medians; `batch` puzzles at once in every case where it is given."""
    setup = set_up(device, turns)
    print("| model | batch | step | puzzle-steps/s | TFLOP/s | share | × plain PyTorch | memory (MB) |")
    print("|" + "---|" * 8)
    for case in CASES:
        case = case._replace(batch_size=batch or case.batch_size)
        for kind in ("evaluation", "training") if only in case.name else ():
            seconds, share, plain, memory = in_own_process(case, kind, setup)
            speed = f"{case.batch_size / seconds:.1f} | {flops_of(case, kind) / seconds / 1e12:.3f}"
            shares = f"{share:.1%} | {share / plain:.2f} | {memory / 2**20:,.0f}"
            print(f"| {case.name} | {case.batch_size} | {kind} | {speed} | {shares} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
