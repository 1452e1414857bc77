"""The precision `auto` on a CPU: one decision per machine, by the rates of the kernels' own products.

Not every CPU with bfloat16 instructions multiplies faster with them. The rates are measured when the kernels are first
needed and kept beside them, so all trainings and evaluations of a machine have the same precision, whatever else runs.
"""

import json
import logging
from time import perf_counter

import torch

from serrm.files import write_whole
from serrm.kernels.cpu.build import has_avx512_bf16, has_kernels, library_path
from serrm.kernels.cpu.network import NativeSublayer
from serrm.models.layers import SwiGLU

log = logging.getLogger(__name__)
ROWS, WIDTH, INNER = 480, 128, 384  # of the products measured, which stay in a core's cache
REPEATS = 20
DTYPES = (torch.float32, torch.bfloat16)


def faster_precision() -> str:
    """Return "bfloat16" or "float32", whichever the CPU multiplies faster; float32 where bfloat16 has no kernels."""
    if not has_avx512_bf16() or not all(has_kernels(dtype) for dtype in DTYPES):
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
    """FLOP/s of one thread in products of each precision; both are timed in turn, and the best times count."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        swiglu = SwiGLU(WIDTH, INNER, torch.Generator().manual_seed(0))
        best = dict.fromkeys(DTYPES, float("inf"))
        states = {dtype: torch.ones(ROWS, WIDTH, dtype=dtype) for dtype in DTYPES}
        sublayers = {dtype: NativeSublayer(swiglu, dtype) for dtype in DTYPES}
        for _ in range(REPEATS):
            for dtype, sublayer in sublayers.items():
                start = perf_counter()
                sublayer(states[dtype], None)
                best[dtype] = min(best[dtype], perf_counter() - start)
    finally:
        torch.set_num_threads(threads)
    flops = 2 * ROWS * 3 * WIDTH * INNER
    return {str(dtype).removeprefix("torch."): flops / seconds for dtype, seconds in best.items()}
