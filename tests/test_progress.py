"""Off a terminal a line every 15 seconds, on one a bar, and neither where there is nothing to tell."""

import io
import logging
import sys
from typing import Any

import pytest

from serrm import progress
from serrm.progress import Bar, duration, watch


class Clock:
    """Says what time it is told to be."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "serrm.progress"]


def test_a_line_comes_every_fifteen_seconds_and_not_before(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = Clock()
    with Bar("sudoku-se_rrm-s0", 660, unit="step", clock=clock) as bar:
        bar.words = "loss 0.41, 12.3% solved"
        seen = []
        for _ in range(40):
            clock.now += 1
            bar.update(10)
            seen.append(len(lines(caplog)))
    assert seen == [0] * 14 + [1] * 15 + [2] * 11
    assert lines(caplog)[0] == (
        "sudoku-se_rrm-s0: step 150 of 660, loss 0.41, 12.3% solved, 15 s so far, about 51 s to go"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ["work: 10, 20 s so far"]),
        # What was done before says nothing about the pace.
        (
            {"total": 1000, "unit": "step", "done": 900},
            ["work: step 910 of 1,000, 20 s so far, about 3 min to go"],
        ),
        ({"total": 10, "is_quiet": True}, []),
    ],
    ids=["unknown length", "resumed", "quiet"],
)
def test_a_line_tells_what_is_known(
    caplog: pytest.LogCaptureFixture, options: dict[str, Any], told: list[str]
) -> None:
    caplog.set_level(logging.INFO)
    clock = Clock()
    bar = Bar("work", clock=clock, **options)
    clock.now += 20
    bar.update(10)
    assert lines(caplog) == told


def test_on_a_terminal_there_is_a_bar_and_no_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    assert list(watch(range(3), "9x9 puzzles", 3)) == [0, 1, 2]
    assert "9x9 puzzles: 100%" in screen.getvalue() and lines(caplog) == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4.2, "4 s"),
        (89, "89 s"),
        (90, "2 min"),
        (720, "12 min"),
        (9600, "2 h 40 min"),
        (3599, "1 h 0 min"),
        (31 * 86400, "31 days"),
    ],
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(float(seconds)) == words
