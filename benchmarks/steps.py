"""Time of a supervision step of each model: ours beside PyTorch alone, op by op and compiled, in float32 and bfloat16.

    python -m benchmarks.steps [--threads N] [--only TEXT] [--batch N] [--turns N] [--precision float32]
        > benchmarks/steps.md
    python -m benchmarks.steps --device cuda

With one thread, as runs side by side have, times are CPU seconds, so that other jobs on the machine count for little.
Every case has a process of its own, so that its memory is its own. All forms of its step and products of matrices take
turns, so that a drift hits all.

On a GPU there is a line per form, with Triton kernels and without. Its share of the memory bandwidth is that of the
bytes that a step has to move (`bytes_of`) at the rate of a copy. Batches are those of the profiles, without dropout.
"""

import gc
import math
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import gettempdir
from time import process_time
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
import typer

from serrm.arrays.stream import random_stream
from serrm.config import read_params
from serrm.core import devices as machine
from serrm.inference.predict import supervision_step
from serrm.kernels.accelerate import accelerate
from serrm.kernels.cpu.build import find_compiler
from serrm.kernels.precision import has_fast_bfloat16
from serrm.models.families import ModelSettings
from serrm.models.flops import flops
from serrm.models.halting import RandomHalting
from serrm.models.layers import DTYPES
from serrm.models.recurrence import Network, num_parameters
from serrm.models.settings import ModelSizes
from serrm.training.loop import Trainer

# Batches of the models for Sudoku, by profile: its own where a step then takes less than a few seconds.
BATCHES = {
    "laptop": {"se_rrm": 32, "trm": 32, "hrm": 32},
    "published": {"se_rrm": 32, "trm": 32, "hrm": 32},
    "paper": {"se_rrm": 8, "trm": 8, "hrm": 16},
}
GPU_PROFILES = ("gpu_sudoku", "paper")  # measured on a GPU
NAMES = {"se_rrm": "SE-RRM", "trm": "TRM", "hrm": "HRM"}
PROFILES = {
    name: read_params(Path(__file__).parents[1] / "profiles" / f"{name}.yaml")
    for name in (*BATCHES, "gpu_sudoku")
}
HALTING = RandomHalting(kind="random", probability=0.05)  # of all models
TRAIN = (
    PROFILES["paper"]
    .run_settings("sudoku-trm-s0")
    .train.model_copy(update={"epochs": None, "steps": 10**9, "log_every": 10**9, "halting": HALTING})
)
# Rows, width and columns of the product whose rate is the measure: on a CPU the rows of 8 Sudokus with 4 registers and
# 11 planes and SwiGLU's first weight, on a GPU one large enough to fill it.
PRODUCT = {"cpu": (7480, 256, 1536), "cuda": (8192, 8192, 8192)}
COPIED = {"cpu": 2**26, "cuda": 2**30}  # bytes of the copy whose rate is the measure
WARM_UP = 2  # turns


class Form(NamedTuple):
    """A form of a step: its precision, and what runs its networks, PyTorch op by op without any of the three."""

    precision: str
    allows_native: bool = False
    compiles: bool = False
    allows_triton: bool = False
    is_published: bool = False  # the authors' code (benchmarks/peers.py)

    def __str__(self) -> str:
        code = "published code" if self.is_published else "native" if self.allows_native else "PyTorch"
        return ", ".join(
            [
                code,
                self.precision,
                *(["compiled"] if self.compiles else []),
                *(["Triton"] if self.allows_triton else []),
            ]
        )


class Setup(NamedTuple):
    """Device and repetitions of a measurement, and the precisions that the device is fast in."""

    device: str
    turns: int
    precisions: tuple[str, ...]
    threads: int

    @property
    def ours(self) -> list[Form]:
        """The forms that trainings and evaluations have a choice of: native on CPUs, compiled on GPUs."""
        is_cpu = self.device == "cpu"
        forms = [Form(precision, allows_native=is_cpu, compiles=not is_cpu) for precision in self.precisions]
        if not is_cpu and find_spec("triton") is not None:
            forms += [Form("bfloat16", compiles=True, allows_triton=True)]
        return forms

    @property
    def plain(self) -> list[Form]:
        """PyTorch alone; compiling for a CPU needs a compiler."""
        can_compile = (False, True) if self.device != "cpu" or find_compiler() else (False,)
        return [Form(precision, False, compiles) for precision in self.precisions for compiles in can_compile]


class Case(NamedTuple):
    """A model, how many puzzles at once, and their form."""

    name: str
    settings: ModelSettings
    batch_size: int
    side: int = 9
    num_symbols: int = 11


class Measured(NamedTuple):
    """Medians of seconds and shares of the GEMM rate by form, GEMM rates by precision, and bytes of memory.

    The memory is the most that the first form needed beyond what the process held before; the bandwidth is that of a
    copy, in bytes read and written per second.
    """

    seconds: dict[Form, float]
    shares: dict[Form, float]
    rates: dict[str, float]
    memory: int
    bandwidth: float


def case_of(profile: str, model: str) -> Case:
    """A profile's model for Sudoku."""
    settings = PROFILES[profile].run_settings(f"sudoku-{model}-s0").model
    return Case(f"{NAMES[model]}, {profile}", settings, BATCHES[profile][model])


def gpu_case_of(profile: str, model: str) -> Case:
    """A profile's model for Sudoku in its batch, without dropout."""
    run = PROFILES[profile].run_settings(f"sudoku-{model}-s0")
    settings = run.model.model_copy(update={"attention_dropout": 0.0})
    return Case(f"{NAMES[model]}, {profile}", settings, run.train.batch_size)


SE_RRM, TRM, HRM = (case_of("paper", model).settings for model in ("se_rrm", "trm", "hrm"))
CASES = tuple(case_of(profile, model) for profile, models in BATCHES.items() for model in models)


def cases_on(device: str) -> list[Case]:
    """What is measured on a device."""
    if device == "cpu":
        return list(CASES)
    return [gpu_case_of(profile, model) for profile in GPU_PROFILES for model in NAMES]


def step_of(case: Case, kind: str, device: torch.device, form: Form) -> Callable[[], object]:
    """A supervision step without gradient, the state going on, or a whole step of the training loop."""
    rng, num_positions = torch.Generator().manual_seed(0), case.side**2
    model = case.settings.build(ModelSizes(case.num_symbols, num_positions=num_positions), rng).to(device)
    accelerate(
        model.train(kind == "training"),
        allows_native=form.allows_native,
        compiles=form.compiles,
        allows_triton=form.allows_triton,
    )
    stream = random_stream(case.side, case.num_symbols)
    if kind == "training":
        changes = {"batch_size": case.batch_size, "precision": form.precision, "compile": form.compiles}
        trainer = Trainer(model, stream, TRAIN.model_copy(update=changes), seed=0)
        return partial(next, trainer.steps())
    tokens = torch.from_numpy(stream.gather(0, case.batch_size).questions).long().to(device)
    state = model.initial_state(case.batch_size, num_positions, case.num_symbols, DTYPES[form.precision])
    task_vectors = model.task_vectors(torch.zeros(case.batch_size, dtype=torch.long, device=device))

    def step() -> None:
        nonlocal state
        state = supervision_step(model, state, tokens, task_vectors, case.batch_size).state

    return step


def measure(
    case: Case,
    kind: str,
    setup: Setup,
    forms: Sequence[Form],
    make_step: Callable[[Case, str, torch.device, Form], Callable[[], object]] = step_of,
) -> Measured:
    """Time the forms of a step in turns, each between two products of matrices in its precision."""
    device = torch.device(setup.device)
    torch.set_num_threads(setup.threads)
    counts_cpu = device.type == "cpu" and setup.threads == 1
    machine.keep_memory()
    machine.make_repeatable(device)  # as trainings and evaluations do
    rows, width, columns = PRODUCT[device.type]
    factors = [torch.randn(size, width).to(device) for size in (rows, columns)]
    products = {
        precision: partial(F.linear, *(factor.to(DTYPES[precision]) for factor in factors))
        for precision in {form.precision for form in forms}
    }
    source = torch.ones(COPIED[device.type] // 4, device=device)
    copy = partial(torch.empty_like(source).copy_, source)
    copies: list[float] = []
    before = machine.peak_memory(device)
    steps = {forms[0]: make_step(case, kind, device, forms[0])}
    for _ in range(WARM_UP):
        steps[forms[0]]()
    gc.collect()
    memory = machine.peak_memory(device) - before
    steps |= {form: make_step(case, kind, device, form) for form in forms[1:]}
    seconds: dict[Form, list[float]] = {form: [] for form in forms}
    rates: dict[Form, list[float]] = {form: [] for form in forms}
    for _ in range(WARM_UP + setup.turns):
        copies.append(machine.seconds_of(copy, device))
        for form, step in steps.items():
            product = products[form.precision]
            first, taken, last = (
                cpu_seconds_of(each) if counts_cpu else machine.seconds_of(each, device)
                for each in (product, step, product)
            )
            seconds[form].append(taken)
            rates[form].append(4 * rows * width * columns / (first + last))
    work = flops_of(case, kind)
    return Measured(
        {form: median(found[WARM_UP:]) for form, found in seconds.items()},
        {
            form: median(work / taken / rate for taken, rate in zip(found, rates[form], strict=True))
            for form, found in seconds.items()
        },
        {form.precision: median(found[WARM_UP:]) for form, found in rates.items()},
        memory,
        2 * COPIED[device.type] / median(copies[WARM_UP:]),
    )


def cpu_seconds_of(function: Callable[[], object]) -> float:
    """CPU seconds of this process in one call."""
    start = process_time()
    function()
    return process_time() - start


def flops_of(case: Case, kind: str) -> int:
    """The FLOPs of a step on all its puzzles."""
    halting = HALTING if kind == "training" else None
    flops_per_puzzle = flops(case.settings, ModelSizes(case.num_symbols, case.side**2), halting)
    return case.batch_size * flops_per_puzzle


def bytes_of(case: Case, kind: str, precision: str) -> int:
    """The bytes that a step has to move if each sublayer is one kernel: an estimate.

    An application of the network reads the state and the injection and writes their sum; a sublayer reads and writes
    the state, and its backward pass reads x, y and dy and writes dx. Weights are read once per application, and twice
    more with a gradient, which is written too; the optimiser and the EMA read and write nine numbers per weight.
    """
    size, num_positions = DTYPES[precision].itemsize, case.side**2
    model = case.settings.build(ModelSizes(case.num_symbols, num_positions=num_positions), None)
    shape = model.embedding.state_shape(case.batch_size, num_positions, case.num_symbols)
    state = math.prod(shape) * size
    total, updates = 0, model.schedule.updates
    for number, update in enumerate(updates):
        network = model.networks[update.network]
        assert isinstance(network, Network)
        num_sublayers = sum(len(list(layer.children())) for layer in network.layers)
        weights = sum(p.numel() for p in network.parameters()) * size
        total += (3 + 2 * num_sublayers) * state + weights
        if kind == "training" and number >= len(updates) - model.schedule.num_with_gradient:
            total += 4 * num_sublayers * state + 2 * weights
    return total + (9 * 4 * num_parameters(model) if kind == "training" else 0)


def in_own_process(*arguments: Any, initializer: Callable[[], None] | None = None) -> Measured:
    """`measure` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=initializer) as pool:
        return pool.submit(measure, *arguments).result()


def set_up(device: str, turns: int, threads: int = 0, precision: str = "") -> Setup:
    """The machine as it is asked for; prints what stands above a table. `precision` restricts the forms to one."""
    place = machine.choose_device(device)
    fast = ("bfloat16", "float32") if has_fast_bfloat16(place) else ("float32",)
    if precision and precision not in fast:
        raise typer.BadParameter(
            f"--precision {precision}: not one of {', '.join(fast)}, which are fast here"
        )
    precisions = (precision,) if precision else fast
    where = (
        torch.cuda.get_device_name(place) if place.type == "cuda" else torch.backends.cpu.get_cpu_capability()
    )
    threads = threads or torch.get_num_threads()
    number = f"{threads} thread{'s' if threads > 1 else ''}"
    print(f"{where}, {number}, {' and '.join(precisions)}, torch {torch.__version__}; {turns} turns.\n")
    return Setup(str(place), turns, precisions, threads)


def row_of(case: Case, kind: str, setup: Setup, found: Measured) -> str:
    """A line of the table: ours in its faster precision, and PyTorch alone in each, op by op and compiled."""
    ours = min(setup.ours, key=lambda form: found.seconds[form])
    taken = found.seconds[ours]
    fastest = min(found.seconds[form] for form in setup.plain)
    rate = flops_of(case, kind) / taken / 1e9
    plain = [
        ", ".join(f"{found.seconds[form] * 1e3:,.0f}" for form in setup.plain if form.precision == precision)
        for precision in ("float32", "bfloat16")
    ]
    has_float32 = Form("float32") in found.seconds
    over_float32 = f"{found.seconds[Form('float32')] / taken:.2f}" if has_float32 else "–"
    cells = [
        f"{case.name}, {case.batch_size}", kind, f"{taken * 1e3:,.0f} ({ours.precision})", f"{rate:,.0f}",
        f"{found.shares[ours]:.0%}", *(cell or "–" for cell in plain), f"{over_float32}, {fastest / taken:.2f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def rows_by_form(case: Case, kind: str, setup: Setup, measured: Measured) -> list[str]:
    """A line of the GPU's table for each form, with the time of the first form over its time."""
    rows = []
    first = next(iter(measured.seconds.values()))
    for form, seconds in measured.seconds.items():
        moved = bytes_of(case, kind, form.precision)
        cells = [
            f"{case.name}, {case.batch_size}", kind, str(form), f"{seconds * 1e3:,.1f}",
            f"{flops_of(case, kind) / seconds / 1e12:,.3g}", f"{measured.shares[form]:.1%}",
            f"{moved / 1e9:,.3g}, {moved / seconds / measured.bandwidth:.1%}", f"{first / seconds:.2f}",
        ]  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    return rows


GPU_COLUMNS = (
    "model, batch", "step", "form", "ms", "TFLOP/s", "share of GEMM rate", "GB, share of bandwidth", "× first"
)  # fmt: skip
COLUMNS = (
    "model, batch", "step", "ours (ms)", "GFLOP/s", "share of GEMM rate", "PyTorch float32, compiled (ms)",
    "bfloat16, compiled (ms)", "× float32, × fastest",
)  # fmt: skip


def main(
    device: str = "auto",
    turns: int = 5,
    only: str = "",
    batch: int = 0,
    threads: int = 0,
    precision: str = "",
) -> None:
    """Print a Markdown table of the medians; `batch` puzzles at once in every case where it is given."""
    setup = set_up(device, turns, threads, precision)
    # PyTorch's cache of compiled code takes code for AVX2 for that of AVX-512, which then writes past its buffers.
    kept = Path(gettempdir()) / f"serrm-inductor-{torch.backends.cpu.get_cpu_capability()}"
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(kept))
    forms = list(dict.fromkeys([*setup.ours, *setup.plain]))
    is_cpu = setup.device == "cpu"
    columns = COLUMNS if is_cpu else GPU_COLUMNS
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    rates: dict[str, list[float]] = {precision: [] for precision in setup.precisions}
    bandwidths = []
    for case in cases_on(setup.device):
        case = case._replace(batch_size=batch or case.batch_size)
        for kind in ("training", "evaluation") if only in case.name else ():
            found = in_own_process(case, kind, setup, forms)
            for precision, rate in found.rates.items():
                rates[precision].append(rate)
            bandwidths.append(found.bandwidth)
            rows = [row_of(case, kind, setup, found)] if is_cpu else rows_by_form(case, kind, setup, found)
            print("\n".join(rows), flush=True)
    words = (
        f"{median(rates[precision]) / 1e9:,.0f} GFLOP/s in {precision}" for precision in setup.precisions
    )
    copies = "" if is_cpu else f" Copies: {median(bandwidths) / 1e9:,.0f} GB/s."
    print(f"\nGEMM rate: {', '.join(words)}.{copies}")


if __name__ == "__main__":
    typer.run(main)
