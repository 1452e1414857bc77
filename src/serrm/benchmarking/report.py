"""The measurements as Markdown tables."""

from collections.abc import Iterator, Sequence

from serrm.benchmarking.run import Measured
from serrm.benchmarking.scaling import Fit


def throughput_table(measured: Sequence[Measured]) -> str:
    """A row a case and kind."""
    heading = (
        "| model | batch | step | GFLOP a puzzle | puzzle-steps/s | TFLOP/s | matrix rate (TFLOP/s) | share "
        "| × plain PyTorch | memory (MB) |"
    )
    return "\n".join([heading, "|" + "---|" * 10, *map(_throughput_row, measured)])


def scaling_table(measured: Sequence[Measured], fitted: Fit) -> str:
    """A row a size, with the share of the two attentions as fitted."""
    return "\n".join([*_scaling_rows(measured), "", _fit_line(fitted)])


def _throughput_row(row: Measured) -> str:
    gain = "–" if row.gain is None else f"{row.gain:.2f}"
    cells = (
        row.case.name, row.case.batch_size, row.kind, f"{row.operations / 1e9:.2f}", f"{row.throughput:.1f}",
        f"{row.rate / 1e12:.3f}", f"{row.engine.rate / 1e12:.3f}", f"{row.engine.share:.1%}",
        gain, f"{row.memory / 2**20:,.0f}",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def _scaling_rows(measured: Sequence[Measured]) -> Iterator[str]:
    yield "| I | K | batch | step | ms a puzzle-step | GFLOP a puzzle | TFLOP/s | share | memory (MB a puzzle) |"
    yield "|" + "---|" * 9
    for row in measured:
        memory = row.memory / row.case.batch_size / 2**20
        cells = (
            row.case.side**2, row.case.num_symbols, row.case.batch_size, row.kind, f"{1e3 / row.throughput:.2f}",
            f"{row.operations / 1e9:.2f}", f"{row.rate / 1e12:.3f}", f"{row.engine.share:.1%}", f"{memory:.1f}",
        )  # fmt: skip
        yield "| " + " | ".join(map(str, cells)) + " |"


def _fit_line(fitted: Fit) -> str:
    of_positions, of_symbols = (
        part / fitted.of_weights if fitted.of_weights else float("inf")
        for part in (fitted.of_positions, fitted.of_symbols)
    )
    law = f"time ∝ IK·(1 + {of_positions:.2g}·I + {of_symbols:.2g}·K)"
    return f"Fitted: {law}, to within {fitted.worst:.0%} at every size."
