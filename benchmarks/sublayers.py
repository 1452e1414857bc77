"""Native kernels sublayer by sublayer at the default's and the paper's width: time, and share of the GEMM rate.

Below the table, the share of a training step that passes in the kernels, by torch.profiler.

    python -m benchmarks.sublayers [--precision float32] > benchmarks/sublayers.md

One thread, CPU seconds of the process, the least of several turns: other jobs on the machine count for little.
"""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

import torch
import torch.nn.functional as F
import typer
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.steps import PRODUCT, Case, Form, step_of
from serrm.config import read_params
from serrm.core import devices
from serrm.kernels.cpu.network import NativeSublayer
from serrm.models.layers import DTYPES, Attention, Rotation
from serrm.models.settings import ModelSizes

BATCHES = {"laptop": {"se_rrm": 32, "trm": 32}, "paper": {"se_rrm": 8, "trm": 32}}
KERNELS = ("_Differentiable", "_DifferentiableBackward")  # of sublayers in serrm.kernels.cpu.network
COLUMNS = (
    "model", "sublayer", "MFLOP", "exponentials (M)", "forward (ms)", "share", "with backward (ms)", "share"
)  # fmt: skip


def least_seconds(function: Callable[[], object], turns: int) -> float:
    """CPU seconds of the fastest call, after one that is not timed."""
    seconds = []
    for _ in range(turns + 1):
        start = process_time()
        function()
        seconds.append(process_time() - start)
    return min(seconds[1:])


def measure(layer: nn.Module, x: Tensor, rotation: Rotation | None, rate: float, turns: int) -> str:
    """The numbers of a row; a backward pass counts as two products of each forward one."""
    # On device meta attention is products and a softmax, all of which are counted.
    tables = [] if rotation is None else [tuple(table.to("meta") for table in rotation)]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        copy.deepcopy(layer).to("meta")(x.float().to("meta"), *tables)
    flops, rows = counter.get_total_flops(), x.shape[:-1].numel()
    if isinstance(layer, Attention):
        exponentials = rows * x.shape[layer.axis + x.ndim] * layer.num_heads
    else:
        exponentials = rows * layer.down.shape[1]
    native, gradient = NativeSublayer(layer, x.dtype), torch.ones_like(x)

    @torch.no_grad()
    def forward() -> None:
        native(x, rotation)

    def with_backward() -> None:
        torch.autograd.grad(native(x, rotation), [x, *native.weights], gradient)

    cells = [f"{flops / 1e6:,.0f}", f"{exponentials / 1e6:.1f}"]
    for work, times in ((forward, 1), (with_backward, 3)):
        seconds = least_seconds(work, turns)
        cells += [f"{1e3 * seconds:.2f}", f"{times * flops / seconds / rate:.0%}"]
    return " | ".join(cells)


def share_of_kernels(case: Case, precision: str, num_steps: int = 3) -> float:
    """The share of the CPU time of training steps that passes in native kernels."""
    step = step_of(case, "training", torch.device("cpu"), Form(precision, allows_native=True))
    step()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(num_steps):
            step()
    times = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
    return float(sum(times[name] for name in KERNELS) / sum(times.values()))


def main(turns: int = 20, precision: str = "bfloat16") -> None:
    """Print a Markdown table."""
    torch.set_num_threads(1)
    devices.keep_memory()
    rows, width, columns = PRODUCT["cpu"]
    dtype = DTYPES[precision]
    left, right = (torch.randn(size, width).to(dtype) for size in (rows, columns))
    rate = 2 * rows * width * columns / least_seconds(partial(F.linear, left, right), turns)
    print(
        f"CPU, 1 thread, {precision}, torch {torch.__version__}; a large product: {rate / 1e9:,.0f} GFLOP/s.\n"
    )
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    shares = []
    for source, batches in BATCHES.items():
        params = read_params(Path(__file__).parents[1] / "profiles" / f"{source}.yaml")
        for name, batch in batches.items():
            settings = params.run_settings(f"sudoku-{name}-s0").model
            model = settings.build(ModelSizes(11, num_positions=81), torch.Generator().manual_seed(0)).eval()
            tokens, types = torch.ones(batch, 81, dtype=torch.long), torch.zeros(batch, dtype=torch.long)
            (state, *_) = model.initial_state(batch, 81, 11, dtype)
            _, rotation = model.embedding(state, tokens, model.task_vectors(types))
            x = torch.randn(state.shape).to(dtype).requires_grad_()
            first = model.networks["block"].layers[0]
            for number, residual in enumerate(first.children()):
                layer = getattr(residual, "sublayer", residual)
                over = ["positions", "symbols"][number] if isinstance(layer, Attention) else ""
                kind = f"attention over {over}" if over else "SwiGLU"
                numbers = measure(layer, x, None if number else rotation, rate, turns)
                print(f"| {name}, {source}, width {settings.width} | {kind} | {numbers} |", flush=True)
            share = share_of_kernels(Case(name, settings, batch), precision)
            shares.append(f"{name}, {source}: {share:.0%}")
    print(f"\nIn native kernels, of a training step: {'; '.join(shares)}.")


if __name__ == "__main__":
    typer.run(main)
