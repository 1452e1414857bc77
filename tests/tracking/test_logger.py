"""Through the logger, MLflow gets what a stage would log by itself, and no death of either costs a result."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Client
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from mlflow.entities import Run

from serrm.tracking import runs
from serrm.tracking.client import VARIABLE, log_evaluation, log_training
from serrm.tracking.logger import SECONDS as SECONDS_BETWEEN_LOOKS
from serrm.tracking.runs import open_store
from serrm.training.settings import RunSettings
from tests.conftest import MakeRun
from tests.tracking.test_runs import NAME, RECORDS, MadeRun

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
SECONDS = 60.0  # that anything may take


class Logger:
    """A logger with its socket, and how to wait for it."""

    def __init__(self, folder: Path) -> None:
        self.address = folder / "logger"
        command = [sys.executable, "-m", "serrm.tracking.logger", str(self.address), str(os.getpid())]
        # As in scripts/side_by_side, the stages have as many threads.
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        wait_until(self.address.exists)


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Logger]:
    with TemporaryDirectory() as folder:  # pytest's paths are too long for a socket
        started = Logger(Path(folder))
        monkeypatch.setenv(VARIABLE, str(started.address))
        yield started
        started.process.kill()
        assert started.process.communicate() == (None, "")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was logged in this process, not by the logger."""
    found: list[str] = []

    def noted(name: str) -> Any:
        function = getattr(runs, name)

        def called(*args: Any) -> Any:
            found.append(name)
            return function(*args)

        return called

    for name in ("log_training", "sync_or_warn"):
        monkeypatch.setattr(runs, name, noted(name))
    return found


def of_profile(root: Path, profile: str) -> list[Run]:
    with open_store(root) as client:
        experiment = client.get_experiment_by_name(f"serrm/{profile}/sudoku")
        return list(client.search_runs([experiment.experiment_id])) if experiment else []


def contents(run: Run) -> dict[str, Any]:
    """What is stored of a run, without times and identifiers."""
    tags = {key: value for key, value in run.data.tags.items() if key != runs.RUN_TAG}
    inputs = [data.dataset.digest for data in run.inputs.dataset_inputs]
    return {
        "name": run.info.run_name,
        "status": run.info.status,
        "metrics": run.data.metrics,
        "params": run.data.params,
        "tags": tags,
        "inputs": inputs,
    }


def run_all(made: MadeRun) -> None:
    """What stages train and evaluate do."""
    with log_training(made.layout, NAME, made.settings) as log:
        for record in RECORDS:
            log(record)
        made.train()
    made.evaluate()
    log_evaluation(made.layout, NAME)


def test_the_logger_stores_what_a_stage_stores(
    logger: Logger, here: list[str], root: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all(MadeRun(root, "through", make_run()))
    assert here == []
    monkeypatch.delenv(VARIABLE)
    run_all(MadeRun(root, "without", make_run()))
    assert here == ["log_training", "sync_or_warn"]
    (through,), (without,) = of_profile(root, "through"), of_profile(root, "without")
    assert contents(through) == contents(without) and through.info.status == "FINISHED"
    assert through.data.metrics["train/loss"] == RECORDS[-1]["loss"]


def test_records_appear_while_the_training_goes_on(
    logger: Logger, here: list[str], root: Path, make_run: MakeRun
) -> None:
    made = MadeRun(root, "live", make_run())
    with log_training(made.layout, NAME, made.settings) as log:
        log(RECORDS[0])
        wait_until(lambda: any("train/loss" in run.data.metrics for run in of_profile(root, "live")))
        (run,) = of_profile(root, "live")
        assert run.info.status == "RUNNING"
        made.train()
    assert here == []


def test_several_runs_at_a_time(logger: Logger, here: list[str], root: Path, make_run: MakeRun) -> None:
    made = [MadeRun(root, f"several-{number}", make_run()) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run_all, made))
    found = [of_profile(root, each.layout.profile) for each in made]
    assert [(len(each), each[0].info.status) for each in found] == [(1, "FINISHED")] * 4
    assert here == []


def test_a_training_that_stops_is_failed(
    logger: Logger, here: list[str], root: Path, make_run: MakeRun
) -> None:
    made = MadeRun(root, "stops", make_run())
    with pytest.raises(KeyboardInterrupt), log_training(made.layout, NAME, made.settings) as log:
        log(RECORDS[0])
        raise KeyboardInterrupt
    wait_until(lambda: [run.info.status for run in of_profile(root, "stops")] == ["FAILED"])
    assert here == []


def test_a_stage_that_is_killed_leaves_a_failed_run(logger: Logger, root: Path, make_run: MakeRun) -> None:
    made = MadeRun(root, "killed", make_run())
    child = os.fork()
    if child == 0:
        with log_training(made.layout, NAME, made.settings) as log:
            log(RECORDS[0])
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    wait_until(lambda: [run.info.status for run in of_profile(root, "killed")] == ["FAILED"])


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_without_its_logger_a_stage_logs_by_itself(
    when: str, logger: Logger, here: list[str], root: Path, make_run: MakeRun
) -> None:
    def kill() -> None:
        logger.process.kill()
        logger.process.wait()

    made = MadeRun(root, f"lost-{when}", make_run())
    if when == "before":
        kill()
    with log_training(made.layout, NAME, made.settings) as log:
        log(RECORDS[0])
        if when == "meanwhile":
            kill()
        for record in RECORDS[1:]:
            log(record)
        made.train()
    assert here == (["log_training"] if when == "before" else ["sync_or_warn"])
    (run,) = of_profile(root, made.layout.profile)
    with open_store(root) as client:
        history = client.get_metric_history(run.info.run_id, "train/loss")
    assert sorted((point.step, point.value) for point in history) == [
        (record["step"], record["loss"]) for record in RECORDS
    ]
    assert run.info.status == "FINISHED"


def test_settings_that_cannot_be_sent_are_logged_here(
    logger: Logger, here: list[str], root: Path, make_run: MakeRun
) -> None:
    class Own(RunSettings):
        """A class that another process cannot import."""

    made = MadeRun(root, "unsendable", make_run())
    with log_training(made.layout, NAME, Own.model_construct(**dict(made.settings))):
        made.train()
    assert here == ["log_training"]
    assert [run.info.status for run in of_profile(root, "unsendable")] == ["FINISHED"]


def test_a_logger_that_can_accept_no_more_refuses(here: list[str], root: Path, make_run: MakeRun) -> None:
    """Here because it may open too few files."""
    program = (
        "import os, resource, sys; from threading import Thread; from serrm.tracking import logger; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)); logger.serve(sys.argv[1], os.getppid())"
    )
    made = MadeRun(root, "refused", make_run())
    made.train()
    made.evaluate()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        address = Path(folder) / "logger"
        patch.setenv(VARIABLE, str(address))
        process = subprocess.Popen([sys.executable, "-c", program, str(address)], stderr=subprocess.DEVNULL)
        wait_until(address.exists)
        connections = []
        while address.exists():  # until it has closed the socket
            with suppress(OSError):
                connections.append(Client(str(address), "AF_UNIX"))
            time.sleep(0.02)
        log_evaluation(made.layout, NAME)
        process.kill()
        process.wait()
    assert here == ["sync_or_warn"]


def test_the_logger_outlives_signals_and_its_parent_while_a_training_goes_on(
    here: list[str], root: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import os, subprocess, sys; print(subprocess.Popen([sys.executable, '-m', 'serrm.tracking.logger', "
        "sys.argv[1], str(os.getpid())], stdout=subprocess.DEVNULL).pid, flush=True); sys.stdin.read()"
    )
    made = MadeRun(root, "outlives", make_run())
    with TemporaryDirectory() as folder:
        address = Path(folder) / "logger"
        monkeypatch.setenv(VARIABLE, str(address))
        command = [sys.executable, "-c", program, str(address)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdin and parent.stdout
            number = int(parent.stdout.readline())
            wait_until(address.exists)
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(number, each)
            with log_training(made.layout, NAME, made.settings) as log:
                parent.stdin.close()
                parent.wait()
                time.sleep(3 * SECONDS_BETWEEN_LOOKS)
                log(RECORDS[0])
                made.train()
        wait_until(lambda: not address.exists())
    assert here == []
    (run,) = of_profile(root, "outlives")
    assert run.info.status == "FINISHED" and "train/loss" in run.data.metrics


def test_a_stage_with_a_logger_does_not_import_mlflow(logger: Logger, root: Path, make_run: MakeRun) -> None:
    made = MadeRun(root, "light", make_run())
    made.train()
    made.evaluate()
    program = (
        "import sys; from pathlib import Path; from serrm.core.project import Layout; "
        "from serrm.tracking.client import log_evaluation; "
        "log_evaluation(Layout('light', Path(sys.argv[1])), sys.argv[2]); print('mlflow' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(root), NAME]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"
    assert [run.info.status for run in of_profile(root, "light")] == ["FINISHED"]
