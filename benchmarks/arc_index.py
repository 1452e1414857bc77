"""Cost of ARC with 1,000 variants a puzzle: building the arrays and their index, and gathering training batches.

    OMP_NUM_THREADS=1 python benchmarks/arc_index.py [--puzzles data/paper/augmented/arc_agi_1]

Without a folder of the augment stage it makes up 960 puzzles with random grids of all sizes up to 30 × 30, as many as
ARC-AGI-1 and ConceptARC have. Prints a Markdown table; CPU seconds say what the work costs on a busy machine too.
"""

import argparse
import json
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from serrm.arrays.arc import INDEX, open_arc_evaluation, open_arc_examples
from serrm.arrays.build import build_arc_arrays
from serrm.core.files import file_names
from serrm.datasets.arc import AUDIT, PAIRS, schema

NUM_PUZZLES, NUM_EVALUATED, NUM_DEMONSTRATIONS, SIDE = 960, 400, 3, 30
NUM_VARIANTS, BATCH_SIZE, NUM_BATCHES = 1000, 272, 100


def make_up_puzzles(folder: Path) -> None:
    """Random pairs of the published number of puzzles, in the form of the augment stage."""
    rng = np.random.default_rng(0)
    rows = []
    for puzzle in range(NUM_PUZZLES):
        is_evaluated = puzzle < NUM_EVALUATED
        for number in range(NUM_DEMONSTRATIONS + 1):
            is_test = number == NUM_DEMONSTRATIONS
            row: dict[str, Any] = {
                "puzzle": f"{puzzle:08x}",
                "collection": "evaluation" if is_evaluated else "training",
                "role": "test" if is_test else "demonstration",
                "number": 0 if is_test else number,
                "is_trained": not (is_test and is_evaluated),
            }
            for part in ("question", "answer"):
                grid = rng.integers(0, 10, rng.integers(1, SIDE + 1, 2), dtype=np.uint8)
                row |= {f"{part}_rows": grid.shape[0], f"{part}_cols": grid.shape[1], part: grid.tobytes()}
            rows.append(row)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), folder / PAIRS)
    (folder / AUDIT).write_text(json.dumps({"canvas": SIDE}))


def measure_build(puzzles: Path, target: Path) -> dict[str, float]:
    """Time and peak memory of the build in this process, which must have done nothing else."""
    wall, cpu = time.perf_counter(), time.process_time()
    build_arc_arrays(puzzles, target, task="arc_agi_1", num_variants=NUM_VARIANTS, seed=0)
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }


def milliseconds(work: Callable[[int], object]) -> tuple[float, float, float]:
    """Median of wall time, and median and maximum of CPU time, of the calls work(0), work(1), …"""
    walls, cpus = [], []
    for number in range(NUM_BATCHES):
        wall, cpu = time.perf_counter(), time.process_time()
        work(number)
        walls.append(1000 * (time.perf_counter() - wall))
        cpus.append(1000 * (time.process_time() - cpu))
    return statistics.median(walls), statistics.median(cpus), max(cpus)


def measure_gathering(arrays: Path) -> list[tuple[str, str, str]]:
    """Rows of the table: a batch of HRM's and TRM's training, of SE-RRM's, and of an evaluation with its way back."""
    lines = []
    for name, num in (("HRM, TRM: 1,000 variants", NUM_VARIANTS), ("SE-RRM: 8 variants", 8)):
        stream = open_arc_examples(arrays, num, seed=0)
        cost = milliseconds(lambda n, stream=stream: stream.gather(n * BATCH_SIZE, BATCH_SIZE))  # type: ignore[misc]
        lines.append((f"gather {BATCH_SIZE} training examples ({name})", as_text(cost), "20 ms"))
    asked = open_arc_evaluation(arrays, NUM_VARIANTS)
    last = asked.num_examples - BATCH_SIZE
    answers = [asked.gather(n * BATCH_SIZE % last, BATCH_SIZE).answers for n in range(NUM_BATCHES)]
    undone = milliseconds(lambda n: asked.undo(n * BATCH_SIZE % last, answers[n]))
    return [*lines, (f"decode and undo {BATCH_SIZE} predictions", as_text(undone), "")]


def as_text(cost: tuple[float, float, float]) -> str:
    """Measurements of `milliseconds`."""
    wall, cpu, most = cost
    return f"{cpu:.1f} ms CPU (most {most:.1f}), {wall:.1f} ms wall"


def main(puzzles: Path | None) -> None:
    """Measure in a folder that is gone afterwards, and print the table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = puzzles or Path(temporary) / "puzzles"
        if puzzles is None:
            folder.mkdir()
            make_up_puzzles(folder)
        arrays = Path(temporary) / "arrays"
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            build = pool.apply(measure_build, (folder, arrays))
        num_bytes = sum((arrays / name).stat().st_size for name in file_names(arrays))
        stream = open_arc_examples(arrays, NUM_VARIANTS, seed=0)
        num_puzzles, index = len(stream.arrays.puzzle_names), (arrays / INDEX).stat().st_size
        rows = [
            ("what is measured", "measured", "limit"),
            ("---", "---", "---"),
            ("puzzles, pairs trained on, task types", counts(num_puzzles, len(stream.arrays)), ""),
            ("build arrays and index", f"{build['cpu']:.1f} s CPU, {build['wall']:.1f} s wall", "60 s"),
            ("peak memory of the build", f"{build['megabytes']:.0f} MB", "2,000 MB"),
            ("on disk (of that the index)", f"{num_bytes / 1e6:.1f} MB ({index / 1e6:.1f} MB)", "200 MB"),
            *measure_gathering(arrays),
        ]
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))


def counts(num_puzzles: int, num_pairs: int) -> str:
    """Sizes of the training set."""
    return f"{num_puzzles:,}, {num_pairs:,}, {num_puzzles * NUM_VARIANTS:,}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--puzzles", type=Path, help="a folder with pairs.parquet; default: made up")
    main(parser.parse_args().puzzles)
