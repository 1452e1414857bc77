"""A step with and without tile registers (AMX) in turns, each in a process of its own.

python -m benchmarks.tiles [--turns N] [--only NAME]
"""

from statistics import median

import torch
import typer

from benchmarks.steps import CASES, SE_RRM, Case, Form, flops_of, in_own_process, set_up
from serrm.kernels.cpu.build import may_use_tiles

WIDE = SE_RRM.model_copy(
    update={
        "width": 96, "h_cycles": 3, "l_cycles": 2, "states": "two", "heads": 3, "head_dim": 32, "symbol_heads": 1,
        "symbol_head_dim": 32, "swiglu_multiple": 32, "registers": 0, "planes": "usual", "attention_dropout": 0.0,
    }
)  # fmt: skip
OURS = (Case("SE-RRM, D 96, two states (`se_rrm_wide`)", WIDE, 32), *CASES)


def without_tiles() -> None:
    """Let this process believe that its CPU has none."""
    torch.cpu._is_amx_tile_supported = lambda: False


def main(turns: int = 3, only: str = "") -> None:
    """Print a Markdown table of the medians."""
    if not may_use_tiles():
        raise SystemExit("this CPU has no tile registers (AMX), or the system does not grant them")
    setup, form = set_up("cpu", 5), Form("bfloat16", is_native=True)
    print("| model | batch | step | without tiles (ms) | with (ms) | times as fast | TFLOP/s | share |")
    print("|" + "---|" * 8)
    for case in OURS:
        for kind in ("evaluation", "training") if only in case.name else ():
            found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
            for _ in range(turns):
                for has_tiles, runs in found.items():
                    initializer = None if has_tiles else without_tiles
                    measured = in_own_process(case, kind, setup, [form], initializer=initializer)
                    runs.append((measured.seconds[form], measured.shares[form]))
            (before, _), (now, share) = (map(median, zip(*runs, strict=True)) for runs in found.values())
            times = f"{before * 1e3:,.0f} | {now * 1e3:,.0f} | {before / now:.2f}"
            rate = flops_of(case, kind) / now / 1e12
            print(
                f"| {case.name} | {case.batch_size} | {kind} | {times} | {rate:.3f} | {share:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    typer.run(main)
