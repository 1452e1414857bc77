"""One mirror of a project at a time, started by `serrm track` or by a stage, and ending by itself."""

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from serrm.cli import main
from serrm.core import locks
from serrm.core.locks import is_locked, lock
from serrm.core.project import Layout
from serrm.tracking import background, follow
from serrm.tracking.background import MIRROR_LOCK, OUTPUT, WORK_LOCK, end_work, hold_work, mirror_meanwhile
from tests.conftest import run_settings
from tests.tracking.project import NAME, TinyRun

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")


@pytest.fixture
def tiny(root: Path) -> Iterator[TinyRun]:
    """A run of the active profile, whose only results are its own."""
    shutil.rmtree(Layout("ci", root).runs, ignore_errors=True)
    (root / "params.yaml").write_text("profile: ci\n")
    yield TinyRun(root, "ci", run_settings())
    end_work()
    wait_until(lambda: not is_locked(root / MIRROR_LOCK))


def wait_until(is_true: Callable[[], bool]) -> None:
    for _ in range(1200):
        if is_true():
            return
        time.sleep(0.1)
    raise AssertionError("waited for two minutes")


def test_track_mirrors_the_active_profile_and_others_by_name(
    tiny: TinyRun, client: MlflowClient, capsys: pytest.CaptureFixture[str]
) -> None:
    other = TinyRun(tiny.layout.root, "laptop", tiny.settings)
    for one in (tiny, other):
        one.finish(is_training_elsewhere=True)
    assert main(["track"]) == 0
    run, store = capsys.readouterr().out.splitlines()
    assert run == f"ci {NAME}" and "mlflow.db" in store
    assert len(tiny.stored(client)) == 1 and other.stored(client) == []
    assert main(["track", "--profile", "laptop", "--profile", "ci"]) == 0
    assert len(other.stored(client)) == 1


def test_a_run_that_fails_is_named_and_others_go_on(
    tiny: TinyRun, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.finish(is_training_elsewhere=True)
    damaged = Layout("ci", tiny.layout.root).runs / "a-damaged-s0"
    damaged.mkdir()
    (damaged / "config.json").write_text("{}")
    assert main(["track"]) == 1
    output = capsys.readouterr()
    assert NAME in output.out and "a-damaged-s0" in output.err and output.err.count("\n") == 1
    (damaged / "config.json").unlink()


def test_a_server_that_does_not_answer_is_one_line(
    tiny: TinyRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    for name in (NAME, "sudoku-second-s0"):
        tiny.finish(is_training_elsewhere=True)
        (tiny.layout.runs / NAME).rename(tiny.layout.runs / name)
    assert main(["track"]) == 1
    error = capsys.readouterr().err
    assert "http://127.0.0.1:9" in error and error.count("\n") == 1


def test_a_stage_starts_a_mirror_that_ends_when_nothing_runs(tiny: TinyRun, client: MlflowClient) -> None:
    mirror = mirror_meanwhile(tiny.layout.root)
    assert mirror is not None
    wait_until(lambda: is_locked(tiny.layout.root / MIRROR_LOCK))
    assert mirror_meanwhile(tiny.layout.root) is None, "it runs"
    num_runs = len(tiny.stored(client))
    with tiny.training(1):
        wait_until(lambda: tiny.statuses(client)[:1] == ["RUNNING"])
        tiny.finish()
    tiny.evaluate()
    end_work()
    assert mirror.wait(120) == 0
    assert tiny.statuses(client) == ["FINISHED"] * (num_runs + 1)
    assert "FSR/9x9" in tiny.stored(client)[0].data.metrics
    assert not (tiny.layout.root / OUTPUT).exists()


def test_who_waits_for_another_mirror_is_told(
    tiny: TinyRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(follow, "SECONDS_OF_SILENCE", 0.1)
    other = lock(tiny.layout.root / MIRROR_LOCK)
    assert other is not None
    threading.Timer(2, other.close).start()
    with follow.only_mirror(tiny.layout.root):
        pass
    assert str(MIRROR_LOCK) in caplog.text


def test_a_file_system_without_locks_is_said(
    tiny: TinyRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(locks.NOT_SUPPORTED[0], "Function not implemented")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    assert mirror_meanwhile(tiny.layout.root) is None
    with follow.only_mirror(tiny.layout.root):
        pass
    assert caplog.text.count("no file locks") == 2 and "serrm track" in caplog.text


def test_a_failure_in_the_background_is_told_by_the_next_start(
    tiny: TinyRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tiny.layout.root / OUTPUT).write_text("MLflow: http://host:1: refused\n")
    ended = subprocess.Popen(["true"])
    ended.wait()
    monkeypatch.setattr(background.subprocess, "Popen", lambda *_, **__: ended)
    mirror_meanwhile(tiny.layout.root)
    assert "http://host:1: refused" in caplog.text
    (tiny.layout.root / OUTPUT).unlink()


def test_locks_end_with_their_process(tmp_path: Path) -> None:
    held = hold_work(tmp_path)
    assert lock(tmp_path / WORK_LOCK) is None
    with hold_work(tmp_path):
        held.close()
        assert is_locked(tmp_path / WORK_LOCK), "another shares it"
    assert not is_locked(tmp_path / WORK_LOCK)


def test_after_a_signal_the_mirror_waits_for_no_further_work(tiny: TinyRun) -> None:
    with hold_work(tiny.layout.root):
        mirror = background.start_mirror(tiny.layout.root)
        wait_until(lambda: is_locked(tiny.layout.root / MIRROR_LOCK))
    start = time.monotonic()
    mirror.send_signal(signal.SIGTERM)
    assert mirror.wait(60) == 0 and time.monotonic() - start < follow.PATIENCE
