"""`serrm bench`: how fast each model trains and predicts here, beside the machine's own matrix products."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from serrm.benchmarking.run import Setup

KINDS = ("evaluation", "training")
DEVICE = typer.Option("auto", help="auto, cpu, cuda, cuda:1, …")
THREADS = typer.Option(None, min=1, help="CPU threads. Default: all cores.")
TURNS = typer.Option(5, min=1, help="Measurements of each case; the median counts.")
ONLY = typer.Option("", metavar="TEXT", help="Only cases whose name holds this, such as 'SE-RRM, small'.")
BATCH = typer.Option(None, min=1, help="Puzzles at once in every case, such as 272. Default: a CPU's worth.")
SCALING = typer.Option(False, "--scaling", help="Time and memory against positions and symbols instead.")
TARGET = typer.Option(
    None, "--write", metavar="FILE", exists=True, dir_okay=False, help="Put the table between FILE's markers."
)


def bench(
    device: str = DEVICE,
    threads: int | None = THREADS,
    turns: int = TURNS,
    only: str = ONLY,
    batch: int | None = BATCH,
    is_scaling: bool = SCALING,
    target: Path | None = TARGET,
) -> None:
    """Measure puzzle-steps a second, the share of the matrix rate reached, and memory, as a Markdown table."""
    import torch

    from serrm.benchmarking.cases import CASES
    from serrm.benchmarking.report import scaling_table, throughput_table
    from serrm.benchmarking.run import Setup, measure_all
    from serrm.benchmarking.scaling import fit, scaling_cases
    from serrm.training.device import choose_device, supported

    place = choose_device(device)
    precision, _ = supported("bfloat16", True, place)
    setup = Setup(str(place), precision, threads or torch.get_num_threads(), turns)
    cases = [case for case in (scaling_cases() if is_scaling else CASES) if only in case.name]
    if not cases:
        raise ValueError(f"no case is named like {only!r}")
    if batch is not None:
        cases = [replace(case, batch_size=batch) for case in cases]
    kinds = KINDS[:1] if is_scaling else KINDS
    measured = []
    for row in measure_all(cases, kinds, setup, has_plain=not is_scaling):
        measured.append(row)
        line = (
            f"{row.case.name}, {row.kind}: {row.throughput:.1f} puzzle-steps/s, {row.rate / 1e12:.3f} TFLOP/s"
        )
        typer.echo(line, err=True)
    table = scaling_table(measured, fit(measured)) if is_scaling else throughput_table(measured)
    text = f"{_conditions(setup)}\n\n{table}"
    typer.echo(text)
    if target is not None:
        replace_between(target, "scaling" if is_scaling else "throughput", text)


def replace_between(path: Path, name: str, text: str) -> None:
    """Put `text` between the markers of `name` in a Markdown file. ValueError if it has none."""
    from serrm.files import between_markers, write_whole

    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    write_whole(path, between_markers(path.read_text(encoding="utf-8"), begin, end, text))


def _conditions(setup: "Setup") -> str:
    import platform

    import torch

    where = (
        torch.cuda.get_device_name(setup.device) if setup.device.startswith("cuda") else platform.processor()
    )
    return (
        f"{where or platform.machine()}, {setup.threads} threads, {setup.precision}, torch {torch.__version__}; "
        f"medians of {setup.turns} turns."
    )
