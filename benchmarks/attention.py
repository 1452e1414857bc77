"""Which formulation of attention is fastest for which length, measured; makes src/serrm/models/attention.json.

    OMP_NUM_THREADS=1 python benchmarks/attention.py [--write] [--device cpu] [--batch 8] [--arithmetic float32]

Softmax attention of 4 heads of 64 features, laid out as the products leave them, forward and backward, without and
with dropout, the formulations in turns; the median of several. Prints a Markdown table; --write puts the choices for
this device, those with the least time for both, into the committed table. Every length has as many numbers as --batch
puzzles of 9×9 Sudoku.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from serrm.devices import repeat_arithmetic
from serrm.models.formulations import FORMULATIONS, TABLE

LENGTHS = (4, 9, 11, 16, 32, 64, 81, 85, 97, 256, 400, 900)
HEADS, HEAD_DIM, ROWS = 4, 64, 85 * 11  # rows of a puzzle: positions with registers, times planes
BATCH = {"cpu": 8, "cuda": 272}
DROPOUTS = (0.0, 0.2)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def once(work: Callable[[], None], device: torch.device) -> float:
    """Seconds of one call: of this thread on a CPU, so that a busy machine does not matter."""
    clock = time.thread_time if device.type == "cpu" and torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return clock() - start


def measure(
    length: int, dtype: torch.dtype, device: torch.device, batch: int, dropout: float, num: int
) -> dict[str, float]:
    """Median seconds of each formulation, forward and backward, taken in turns."""
    sequences = max(1, batch * ROWS // length)
    shape = (sequences, length, HEADS, HEAD_DIM)
    made = (torch.randn(shape, device=device).to(dtype).transpose(1, 2) for _ in range(4))
    *inputs, change = (part.requires_grad_() for part in made)

    def work(name: str) -> None:
        mixed: Tensor = FORMULATIONS[name](*inputs, dropout)
        torch.autograd.grad(mixed, inputs, change)

    times: dict[str, list[float]] = {name: [] for name in FORMULATIONS}
    for turn in range(num + 1):
        for name, taken in times.items():
            seconds = once(lambda name=name: work(name), device)
            if turn:
                taken.append(seconds)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--num", type=int, default=7)
    parser.add_argument("--arithmetic", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    batch = options.batch or BATCH[device.type]
    repeat_arithmetic(device)
    torch.manual_seed(0)
    choices: dict[str, dict[str, str]] = {}
    print("| arithmetic | length | dropout | " + " | ".join(f"{name} (ms)" for name in FORMULATIONS) + " |")
    print("|" + "---|" * (3 + len(FORMULATIONS)))
    for dtype_name in options.arithmetic:
        for length in LENGTHS:
            total = dict.fromkeys(FORMULATIONS, 0.0)
            for dropout in DROPOUTS:
                seconds = measure(length, DTYPES[dtype_name], device, batch, dropout, options.num)
                total = {name: total[name] + taken for name, taken in seconds.items()}
                cells = (dtype_name, length, dropout, *(f"{1e3 * taken:.2f}" for taken in seconds.values()))
                print("| " + " | ".join(map(str, cells)) + " |")
            choices.setdefault(dtype_name, {})[str(length)] = min(FORMULATIONS, key=lambda name: total[name])
    if options.write:
        table = json.loads(TABLE.read_text()) if TABLE.is_file() else {}
        table[device.type] = {**table.get(device.type, {}), **choices}
        TABLE.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
