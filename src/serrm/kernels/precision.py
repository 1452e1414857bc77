"""The precision of a run, and a description of its arithmetic.

`precision: auto` is bfloat16 on a GPU that has it. On a CPU it is one decision per machine, by the rates of the
kernels' own products, because not every CPU with bfloat16 instructions multiplies faster with them. They are
measured when `auto` is first resolved there and kept beside the kernels, so all trainings and evaluations have the same
precision, whatever else runs.
"""

import json
import logging
from time import perf_counter

import torch

from serrm.core.files import write_whole
from serrm.kernels.accelerate import NATIVE, implementations, runs_compiled, runs_triton
from serrm.kernels.cpu.build import has_avx512, has_avx512_bf16, has_kernels, library_path, may_use_tiles
from serrm.kernels.cpu.network import NativeSublayer
from serrm.models.layers import DTYPES, SwiGLU
from serrm.models.recurrence import RecurrentModel

log = logging.getLogger(__name__)
ROWS, WIDTH, INNER = 480, 128, 384  # of the products measured, which stay in a core's cache
REPEATS = 20
PRECISIONS = (torch.float32, torch.bfloat16)
# The arithmetic that has the same numbers on every CPU, with any number of threads.
EXACT = f"float32, {NATIVE}"


def has_fast_bfloat16(device: torch.device) -> bool:
    """Return True if the hardware multiplies bfloat16 matrices."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return has_avx512_bf16() or (torch.cpu._is_amx_tile_supported() and has_avx512())


def supported(precision: str, device: torch.device) -> str:
    """Return the given precision, or float32 with a warning if this machine lacks it."""
    if precision == "bfloat16" and not has_fast_bfloat16(device):
        log.warning("%s has no bfloat16 arithmetic: using float32", device)
        return "float32"
    return precision


def resolved_precision(precision: str, device: torch.device) -> str:
    """Return the precision that a setting means on this machine: "auto" is the faster one, the same at every call."""
    if precision != "auto":
        return supported(precision, device)
    if device.type == "cpu":
        return faster_precision()
    return "bfloat16" if has_fast_bfloat16(device) else "float32"


def arithmetic(model: RecurrentModel, precision: str) -> str:
    """Describe the arithmetic of an accelerated model, on which results depend.

    `EXACT` gives the same numbers on every CPU that has these kernels, so it stands alone; any other arithmetic comes
    with the kind of device, its instruction set and, on a CPU, the number of threads. A model with a network that no
    kernel fits runs on "PyTorch", or on "native kernels and PyTorch" if kernels compute a part of it.
    """
    device, kind = model.initial.device, arithmetic_kind(model, precision)
    if device.type != "cpu":
        major, minor = torch.cuda.get_device_capability(device)
        return f"{kind} sm_{major}{minor}"
    if kind == EXACT:
        return EXACT
    tiles = " with AMX" if precision == "bfloat16" and may_use_tiles() else ""
    threads = torch.get_num_threads()
    return (
        f"{kind} {torch.backends.cpu.get_cpu_capability()}{tiles}, "
        f"{threads} {'thread' if threads == 1 else 'threads'}"
    )


def arithmetic_kind(model: RecurrentModel, precision: str) -> str:
    """Describe the arithmetic without its instruction set and threads, which change nothing more than rounding."""
    device, dtype = model.initial.device, DTYPES[precision]
    if device.type != "cpu":
        implementation = "torch.compile" if runs_compiled(model, dtype) else "PyTorch"
        kernels = " and Triton kernels" if runs_triton(model, dtype) else ""
        return f"{precision}, {implementation}{kernels}, {device.type}"
    names = implementations(model, dtype)
    if names == {NATIVE} and precision == "float32":
        return EXACT
    return f"{precision}, {' and '.join(sorted(names, reverse=True))}, cpu"


def faster_precision() -> str:
    """Return "bfloat16" or "float32", whichever the CPU multiplies faster; float32 where bfloat16 has no kernels."""
    if not has_avx512_bf16() or not all(has_kernels(dtype) for dtype in PRECISIONS):
        return "float32"
    path = library_path(torch.bfloat16).with_suffix(".json")
    if not path.is_file():
        measured = measure_rates()
        write_whole(path, json.dumps(measured) + "\n")
        log.info(
            "FLOP/s of one thread: %s", ", ".join(f"{name} {rate:.3g}" for name, rate in measured.items())
        )
    rates: dict[str, float] = json.loads(path.read_text())
    return max(rates, key=rates.__getitem__)


@torch.no_grad()
def measure_rates() -> dict[str, float]:
    """Measure one thread's FLOP/s in products of each precision, from the best times of turns that alternate."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        swiglu = SwiGLU(WIDTH, INNER, torch.Generator().manual_seed(0))
        best = dict.fromkeys(PRECISIONS, float("inf"))
        states = {dtype: torch.ones(ROWS, WIDTH, dtype=dtype) for dtype in PRECISIONS}
        sublayers = {dtype: NativeSublayer(swiglu, dtype) for dtype in PRECISIONS}
        for _ in range(REPEATS):
            for dtype, sublayer in sublayers.items():
                start = perf_counter()
                sublayer(states[dtype], None)
                best[dtype] = min(best[dtype], perf_counter() - start)
    finally:
        torch.set_num_threads(threads)
    flops = 2 * ROWS * 3 * WIDTH * INNER
    return {str(dtype).removeprefix("torch."): flops / seconds for dtype, seconds in best.items()}
