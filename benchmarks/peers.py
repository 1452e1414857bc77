"""Time of a training step of the authors' published code beside ours, for the three models at the paper's size.

    git clone https://github.com/ml-jku/SE-RRM CHECKOUT
    python -m benchmarks.peers CHECKOUT [--threads 1,2] [--turns N] [--only TEXT] > benchmarks/peers.md

A step is forward, loss, backward, optimiser, EMA where the recipe has one, and refilling halted slots, on a batch of
random puzzles. The models, their losses, EMA and task-type optimiser are imported from CHECKOUT. Adam-atan2, which a
package has for GPUs alone, is replaced by PyTorch's fused AdamW. Every model has a process of its own, in which all
forms of the step take turns. Times are the least of all turns, with one thread CPU seconds of the process, with more
threads wall seconds, which other jobs on the machine disturb.
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

from benchmarks.steps import NAMES, PROFILES, cpu_seconds_of
from serrm.arrays.stream import random_stream
from serrm.core import devices
from serrm.kernels.accelerate import accelerate
from serrm.models.build import build_model
from serrm.training.loop import Trainer
from serrm.training.settings import RunSettings

SIDE, NUM_SYMBOLS, NUM_SLOTS = 9, 11, 8
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


class Form(NamedTuple):
    """One way to compute a step: whose code, the precision, and whether torch.compile runs it."""

    is_ours: bool
    precision: str
    compiles: bool = False


FORMS = [
    Form(is_ours, precision, compiles)
    for precision in ("float32", "bfloat16")
    for is_ours, compiles in ((True, False), (False, False), (False, True))
]


def run_of(model: str) -> RunSettings:
    """The paper's run of a model on Sudoku."""
    return PROFILES["paper"].run_settings(f"sudoku-{model}-s0")


def our_step(model: str, precision: str) -> Callable[[], object]:
    """A step of our training loop."""
    run, rng = run_of(model), torch.Generator().manual_seed(0)
    network = build_model(run.model, NUM_SYMBOLS, rng, num_positions=SIDE**2)
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


def published_step(checkout: Path, model: str, form: Form) -> Callable[[], object]:
    """A step of the published training loop; its weights are drawn from PyTorch's generator."""
    peer, train = PEERS[model], run_of(model).train
    with (checkout / "config" / "arch" / f"{peer.settings}.yaml").open() as file:
        settings = {**yaml.safe_load(file), **peer.changes, "forward_dtype": form.precision}
    module, kind = settings.pop("name").split("@")
    loss = settings.pop("loss")
    sizes = {
        "batch_size": NUM_SLOTS,
        "seq_len": SIDE**2,
        "vocab_size": NUM_SYMBOLS,
        "num_puzzle_identifiers": 1,
    }
    source = imported(f"models.{module}")
    if settings.get("dropout"):
        with_rows_together(source)
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
    examples = random_stream(SIDE, NUM_SYMBOLS).gather(0, NUM_SLOTS)
    batch = {
        "inputs": torch.from_numpy(examples.questions).int().flatten(1),
        "labels": torch.from_numpy(examples.answers).int().flatten(1),
        "puzzle_identifiers": torch.zeros(NUM_SLOTS, dtype=torch.int32),
    }
    carry = network.initial_carry(batch)
    forward = torch.compile(network) if form.compiles else network

    def step() -> None:
        nonlocal carry
        carry, total, *_ = forward(carry=carry, batch=batch, return_keys=[])
        (total / NUM_SLOTS).backward()
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
        steps = {
            form: our_step(model, form.precision) if form.is_ours else published_step(checkout, model, form)
            for form in FORMS
        }
        times: dict[Form, list[float]] = {form: [] for form in FORMS}
        for _ in range(WARM_UP + turns):
            for form, step in steps.items():
                times[form].append(cpu_seconds_of(step) if num == 1 else devices.seconds_of(step, device))
        seconds |= {(num, form): min(taken[WARM_UP:]) for form, taken in times.items()}
        del steps
        gc.collect()
    return seconds


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


def main(checkout: Path, threads: str = "1,2", turns: int = 5, only: str = "") -> None:
    """Print a Markdown table."""
    if not (checkout / "models" / "losses.py").is_file():
        raise typer.BadParameter(f"{checkout} is no checkout of https://github.com/ml-jku/SE-RRM")
    capability = torch.backends.cpu.get_cpu_capability()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(gettempdir()) / f"serrm-inductor-{capability}"))
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
