"""A step with and without tile registers (AMX) in turns, each in a process of its own.

python benchmarks/tiles.py [--turns N] [--only NAME]
"""

import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor

import torch
import typer

from serrm.benchmarking.cases import CASES, SE_RRM, Case
from serrm.benchmarking.run import Measured, Setup, measure
from serrm.kernels.cpu.build import may_use_tiles

WIDE = SE_RRM.model_copy(
    update={
        "width": 96, "h_cycles": 3, "l_cycles": 2, "states": "two", "heads": 3, "head_dim": 32, "symbol_heads": 1,
        "symbol_head_dim": 32, "swiglu_multiple": 32, "registers": 0, "planes": "usual",
    }
)  # fmt: skip
OURS = (Case("SE-RRM, D 96, two states (`se_rrm_wide`)", WIDE, 32), *CASES)


def without_tiles() -> None:
    """Let this process believe that its CPU has none."""
    torch.cpu._is_amx_tile_supported = lambda: False


def measured(case: Case, kind: str, has_tiles: bool, setup: Setup) -> Measured:
    """A case in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=None if has_tiles else without_tiles) as pool:
        return pool.submit(measure, case, kind, setup, has_plain=False).result()


def main(turns: int = 3, only: str = "") -> None:
    """Print a Markdown table of the medians."""
    if not may_use_tiles():
        raise SystemExit("this CPU has no tile registers (AMX), or the system does not grant them")
    setup = Setup("cpu", "bfloat16", torch.get_num_threads(), turns=5)
    print(f"{setup.threads} threads, bfloat16, torch {torch.__version__}; medians of {turns} turns.\n")
    print(
        "| model | batch | step | without tiles (ms) | with (ms) | times as fast | TFLOP/s | of the matrix rate |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for case in OURS:
        for kind in ("evaluation", "training") if only in case.name else ():
            found: dict[bool, list[Measured]] = {False: [], True: []}
            for _ in range(turns):
                for has_tiles, runs in found.items():
                    runs.append(measured(case, kind, has_tiles, setup))
            before, now = (statistics.median(run.engine.seconds for run in runs) for runs in found.values())
            rate = statistics.median(run.rate for run in found[True]) / 1e12
            share = statistics.median(run.engine.share for run in found[True])
            times = f"{before * 1e3:,.0f} | {now * 1e3:,.0f} | {before / now:.2f}"
            print(
                f"| {case.name} | {case.batch_size} | {kind} | {times} | {rate:.3f} | {share:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    typer.run(main)
