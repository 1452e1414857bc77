"""Measurements are of the case asked for, medians of turns, and come into a document between its markers alone."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from serrm.benchmarking.cases import SMALL_SE_RRM, Case
from serrm.benchmarking.report import scaling_table, throughput_table
from serrm.benchmarking.run import Measured, Setup, measure
from serrm.benchmarking.scaling import fit
from serrm.benchmarking.timing import Stopwatch, Timing
from serrm.cli import app
from serrm.commands.bench import replace_between

TINY = SMALL_SE_RRM.model_copy(update={"width": 16, "h_cycles": 1, "l_cycles": 1})
CASE = Case("tiny", TINY, batch_size=2, side=4, num_symbols=6)


def taking(side: int, num_symbols: int, seconds: float) -> Measured:
    case = Case("made up", TINY, 4, side, num_symbols)
    return Measured(case, "evaluation", 10**9, Timing(4 * seconds, 1e12, 0.5), None, 4 * 2**20)


@pytest.mark.parametrize("kind", ["evaluation", "training"])
def test_a_case_is_measured_beside_its_plain_form(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # It would take longer than all tests.
    monkeypatch.setattr("serrm.kernels.accelerate._compiled", lambda apply: apply)
    before = torch.get_num_threads()
    row = measure(CASE, kind, Setup("cpu", "float32", before, turns=2))
    assert row.case == CASE and row.kind == kind and row.memory >= 0
    assert row.plain is not None and row.engine.seconds > 0 and 0 < row.engine.share < 1
    assert row.gain == pytest.approx(row.engine.share / row.plain.share)
    assert row.throughput == pytest.approx(2 / row.engine.seconds)
    assert row.rate == pytest.approx(row.throughput * row.operations)
    assert "| tiny | 2 |" in throughput_table([row])


def test_works_take_turns_and_the_median_counts() -> None:
    watch = Stopwatch(torch.device("cpu"), torch.float32)
    seconds, calls = iter([3.0, 10.0, 1.0, 20.0, 2.0, 30.0]), []

    def timed(work: object) -> float:
        calls.append(work())
        return next(seconds)

    watch.seconds = timed
    watch.matrix_rate = lambda: 4.0
    works = {"a": lambda: "a", "b": lambda: "b"}
    timings = watch.compare(works, operations=8.0, turns=3, warm_up=0)
    assert calls == ["a", "b"] * 3
    assert timings == {"a": Timing(2.0, 4.0, 1.0), "b": Timing(20.0, 4.0, 0.1)}


def test_the_fit_finds_the_law_a_time_follows() -> None:
    sizes = [(4, 11), (6, 11), (9, 11), (12, 11), (9, 4), (9, 32)]
    law = lambda i, k: 1e-6 * i * k * (1 + 0.01 * i + 0.05 * k)  # noqa: E731
    measured = [taking(side, k, law(side**2, k)) for side, k in sizes]
    found = fit(measured)
    assert found.worst < 1e-6
    assert found.of_positions / found.of_weights == pytest.approx(0.01)
    assert found.of_symbols / found.of_weights == pytest.approx(0.05)
    assert "IK·(1 + 0.01·I + 0.05·K)" in scaling_table(measured, found)


def test_a_table_replaces_the_one_before_it_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("before\n<!-- throughput -->\nold\n<!-- end of throughput -->\nafter\n")
    for text in ("| new |", "| newer |"):
        replace_between(path, "throughput", text)
        expected = f"before\n<!-- throughput -->\n{text}\n<!-- end of throughput -->\nafter\n"
        assert path.read_text() == expected
    with pytest.raises(ValueError, match="scaling"):
        replace_between(path, "scaling", "| new |")
    assert [each.name for each in tmp_path.iterdir()] == ["README.md"]


def test_the_batch_is_that_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Case] = []

    def measure_all(cases: list[Case], *_: object, **__: object) -> list[Measured]:
        asked.extend(cases)
        return [replace(taking(4, 6, 1.0), case=case) for case in cases]

    monkeypatch.setattr("serrm.benchmarking.run.measure_all", measure_all)
    found = CliRunner().invoke(app, ["bench", "--device", "cpu", "--only", "SE-RRM, small", "--batch", "272"])
    assert [(case.name, case.batch_size) for case in asked] == [("SE-RRM, small", 272)]
    assert "| SE-RRM, small | 272 |" in found.output and "TFLOP/s" in found.stderr
