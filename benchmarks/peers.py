"""Time of a training step of the authors' published code beside ours, for the three models at the paper's size.

    git clone https://github.com/ml-jku/SE-RRM CHECKOUT
    python -m benchmarks.peers CHECKOUT [--threads 1,2] [--turns N] [--only TEXT] > benchmarks/peers.md
    python -m benchmarks.peers CHECKOUT --device cuda [--batch N] [--turns N] [--only TEXT]

A step is forward, loss, backward, optimiser, EMA where the recipe has one, and refilling halted slots, on a batch of
random puzzles. The models, their losses, EMA and task-type optimiser are imported from CHECKOUT. Adam-atan2, which a
package has for GPUs alone, is replaced by PyTorch's fused AdamW. Every model has a process of its own, in which all
forms of the step take turns. Times are the least of all turns, with one thread CPU seconds of the process, with more
threads wall seconds, which other jobs on the machine disturb.

On a GPU the batch is the paper's, nothing is dropped, all forms are bfloat16, and the table is that of
`benchmarks.steps`: medians, and the times by which a form is faster than ours without Triton kernels.
"""

import gc
import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from types import ModuleType
from typing import Any, NamedTuple

import torch
import typer
import yaml

from benchmarks import steps
from benchmarks.steps import (
    GPU_COLUMNS,
    NAMES,
    PROFILES,
    Case,
    Form,
    Setup,
    cpu_seconds_of,
    rows_by_form,
    set_up,
)
from serrm.arrays.stream import random_stream
from serrm.core import devices
from serrm.kernels.accelerate import accelerate
from serrm.models.settings import ModelSizes
from serrm.training.loop import Trainer
from serrm.training.settings import RunSettings

SIDE, NUM_SYMBOLS, NUM_SLOTS = 9, 11, 8
CPU = torch.device("cpu")
WARM_UP = 1  # turns


class Peer(NamedTuple):
    """A model of the published code: its file of settings, and what its command for Sudoku changes."""

    settings: str
    changes: dict[str, Any]


PEERS = {
    "se_rrm": Peer(
        "trm_equi", {"L_cycles": 6, "dropout": 0.2, "add_tokens": 4, "halt_exploration_prob": 0.05}
    ),
    "trm": Peer("trm", {"puzzle_emb_ndim": 512}),
    "hrm": Peer("hrm", {"puzzle_emb_ndim": 512}),
}


def published_forms(precision: str) -> list[Form]:
    """The published code as it is, and compiled."""
    return [Form(precision, compiles=compiles, is_published=True) for compiles in (False, True)]


FORMS = [
    form
    for precision in ("float32", "bfloat16")
    for form in (Form(precision, allows_native=True), *published_forms(precision))
]


def run_of(model: str) -> RunSettings:
    """The paper's run of a model on Sudoku."""
    return PROFILES["paper"].run_settings(f"sudoku-{model}-s0")


def our_step(model: str, precision: str) -> Callable[[], object]:
    """A step of our training loop."""
    run, rng = run_of(model), torch.Generator().manual_seed(0)
    network = run.model.build(ModelSizes(NUM_SYMBOLS, num_positions=SIDE**2), rng)
    accelerate(network)
    changes = {
        "batch_size": NUM_SLOTS,
        "precision": precision,
        "compile": False,
        "epochs": None,
        "steps": 10**9,
        "log_every": 10**9,
    }
    trainer = Trainer(network, random_stream(SIDE, NUM_SYMBOLS), run.train.model_copy(update=changes), seed=0)
    return partial(next, trainer.steps())


def imported(name: str) -> Any:
    """A module of the published code, which is in the first folder of the path."""
    if is_missing := find_spec("einops") is None:
        sys.modules["einops"] = ModuleType("einops")  # imported there, but not used
    try:
        return importlib.import_module(name)
    finally:
        if is_missing:
            del sys.modules["einops"]


def with_rows_together(module: ModuleType) -> None:
    """Lay out a module's attention results so that its `view` takes them, which with dropout on a CPU it does not."""
    functional = ModuleType("functional")
    vars(functional).update(vars(torch.nn.functional))

    def attention(*args: Any, **settings: Any) -> torch.Tensor:
        mixed = torch.nn.functional.scaled_dot_product_attention(*args, **settings)
        return mixed.transpose(1, 2).contiguous().transpose(1, 2)

    vars(functional)["scaled_dot_product_attention"] = attention
    vars(module)["F"] = functional


def published_step(
    checkout: Path,
    model: str,
    form: Form,
    num_slots: int = NUM_SLOTS,
    device: torch.device = CPU,
    *,
    drops: bool = True,
) -> Callable[[], object]:
    """A step of the published training loop; its weights are drawn from PyTorch's generator."""
    peer, train = PEERS[model], run_of(model).train
    with (checkout / "config" / "arch" / f"{peer.settings}.yaml").open() as file:
        settings = {**yaml.safe_load(file), **peer.changes, "forward_dtype": form.precision}
    if not drops and "dropout" in settings:
        settings["dropout"] = 0.0
    module, kind = settings.pop("name").split("@")
    loss = settings.pop("loss")
    sizes = {
        "batch_size": num_slots,
        "seq_len": SIDE**2,
        "vocab_size": NUM_SYMBOLS,
        "num_puzzle_identifiers": 1,
    }
    source = imported(f"models.{module}")
    if settings.get("dropout"):
        with_rows_together(source)
    with device:
        inner = getattr(source, kind)({**settings, **sizes, "causal": False})
        network = imported("models.losses").ACTLossHead(inner, loss["loss_type"]).train()
    optimizers: list[Any] = [
        torch.optim.AdamW(
            network.parameters(), lr=1e-4, betas=train.betas, weight_decay=train.weight_decay, fused=True
        )
    ]
    if settings["puzzle_emb_ndim"]:
        task_types = imported("models.sparse_embedding").CastedSparseEmbeddingSignSGD_Distributed
        buffers = inner.puzzle_emb.buffers()
        optimizers.append(task_types(buffers, lr=1e-2, weight_decay=0.1, world_size=1))
    ema = imported("models.ema").EMAHelper(train.ema) if train.ema else None
    if ema:
        ema.register(network)
    examples = random_stream(SIDE, NUM_SYMBOLS).gather(0, num_slots)
    on_host = {
        "inputs": torch.from_numpy(examples.questions).int().flatten(1),
        "labels": torch.from_numpy(examples.answers).int().flatten(1),
        "puzzle_identifiers": torch.zeros(num_slots, dtype=torch.int32),
    }
    batch = {name: tensor.to(device) for name, tensor in on_host.items()}
    with device:
        carry = network.initial_carry(batch)
    forward = torch.compile(network) if form.compiles else network

    def step() -> None:
        nonlocal carry
        carry, total, *_ = forward(carry=carry, batch=batch, return_keys=[])
        (total / num_slots).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        if ema:
            ema.update(network)

    return step


def measure(checkout: Path, model: str, threads: list[int], turns: int) -> dict[tuple[int, Form], float]:
    """Least seconds by the number of threads and the form; all forms take turns."""
    sys.path.insert(0, str(checkout))
    devices.keep_memory()
    device, seconds = torch.device("cpu"), {}
    for num in threads:
        torch.set_num_threads(
            num
        )  # compiled code is for a number of threads, so every number has its own steps
        torch._dynamo.reset()
        by_form = {
            form: published_step(checkout, model, form)
            if form.is_published
            else our_step(model, form.precision)
            for form in FORMS
        }
        times: dict[Form, list[float]] = {form: [] for form in FORMS}
        for _ in range(WARM_UP + turns):
            for form, step in by_form.items():
                times[form].append(cpu_seconds_of(step) if num == 1 else devices.seconds_of(step, device))
        seconds |= {(num, form): min(taken[WARM_UP:]) for form, taken in times.items()}
        del by_form
        gc.collect()
    return seconds


def step_on_gpu(
    checkout: Path, model: str, case: Case, kind: str, device: torch.device, form: Form
) -> Callable[[], object]:
    """A training step of either code, for `benchmarks.steps.measure`."""
    if not form.is_published:
        return steps.step_of(case, kind, device, form)
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    return published_step(checkout, model, form, case.batch_size, device, drops=False)


def rows_on_gpu(checkout: Path, model: str, setup: Setup, case: Case) -> list[str]:
    """The lines of a model: ours without and with Triton kernels, the published code as it is and compiled."""
    forms = [*setup.ours, *published_forms(setup.precisions[0])]
    make_step = partial(step_on_gpu, checkout, model)
    return rows_by_form(
        case, "training", setup, steps.in_own_process(case, "training", setup, forms, make_step)
    )


def in_own_process(*arguments: Any) -> dict[tuple[int, Form], float]:
    """`measure` in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def rows_of(model: str, seconds: dict[tuple[int, Form], float]) -> list[str]:
    """The lines of a model, one per number of threads and precision."""
    rows = []
    for num in dict.fromkeys(num for num, _ in seconds):
        for precision in ("float32", "bfloat16"):
            ours, eager, compiled = (seconds[num, form] for form in FORMS if form.precision == precision)
            cells = [
                NAMES[model],
                str(num),
                precision,
                *(f"{1e3 * taken:,.0f}" for taken in (ours, eager, compiled)),
            ]
            rows.append(f"| {' | '.join(cells)} | {min(eager, compiled) / ours:.2f} |")
    return rows


def processor() -> str:
    """Name of the CPU, and its instruction sets that matter here."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    values = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = values.get("flags", "").split()
    sets = [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if name in flags]
    return f"{values.get('model name', 'unknown CPU')} ({', '.join(sets)})"


COLUMNS = (
    "model", "threads", "precision", "ours (ms)", "published code (ms)", "with torch.compile (ms)", "fastest ÷ ours"
)  # fmt: skip


def main(
    checkout: Path,
    threads: str = "1,2",
    turns: int = 5,
    only: str = "",
    device: str = "cpu",
    batch: int = 0,
) -> None:
    """Print a Markdown table; `batch` slots on a GPU, in place of the paper's number."""
    if not (checkout / "models" / "losses.py").is_file():
        raise typer.BadParameter(f"{checkout} is no checkout of https://github.com/ml-jku/SE-RRM")
    capability = torch.backends.cpu.get_cpu_capability()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(gettempdir()) / f"serrm-inductor-{capability}"))
    if device != "cpu":
        setup = set_up(device, turns, precision="bfloat16")
        print(f"| {' | '.join(GPU_COLUMNS)} |\n|{'---|' * len(GPU_COLUMNS)}")
        for model in PEERS:
            case = steps.gpu_case_of("paper", model)
            case = case._replace(batch_size=batch or case.batch_size)
            if only in model:
                print("\n".join(rows_on_gpu(checkout.resolve(), model, setup, case)), flush=True)
        return
    print(f"{processor()}, {capability}, torch {torch.__version__}; batch {NUM_SLOTS}, {turns} turns.\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for model in PEERS:
        if only in model:
            seconds = in_own_process(
                checkout.resolve(), model, [int(num) for num in threads.split(",")], turns
            )
            print("\n".join(rows_of(model, seconds)), flush=True)


if __name__ == "__main__":
    typer.run(main)
