"""Off a terminal a line every 15 seconds, on one a bar, and neither where there is nothing to show."""

import logging

import pytest

from serrm.core.progress import progress_bar


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "serrm.core.progress"]


def test_a_line_comes_every_fifteen_seconds_and_not_before(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    now = 100.0
    with progress_bar("sudoku-se_rrm-s0", 660, unit="step") as bar:
        monkeypatch.setattr(bar, "_time", lambda: now)
        bar.start_t = bar.last_print_t = now
        bar.set_postfix_str("loss 0.41", refresh=False)
        seen = []
        for _ in range(40):
            now += 1
            bar.update(10)
            seen.append(len(lines(caplog)))
    assert seen == [0] * 14 + [1] * 15 + [2] * 11
    assert lines(caplog)[0] == "sudoku-se_rrm-s0: 150/660 step [00:15<00:51, loss 0.41]"
