"""`python -m stages NAME`: run a stage; a failure gives one line and exit code 1, a bad option exit code 2."""

import gc
import logging
import os
import signal
import sys
from pathlib import Path

import typer

# A queued experiment runs in a copy of the commit. It must use the code of this copy, not the installed checkout's.
SOURCE = str(Path(__file__).resolve().parents[1] / "src")
sys.path.insert(0, SOURCE)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))

from serrm import command_line  # noqa: E402
from serrm.core.project import git_fault  # noqa: E402
from stages import (  # noqa: E402
    build_arrays,
    choose_puzzles,
    download,
    evaluate,
    hash_code,
    read_tests,
    tabulate,
    train,
)

app = typer.Typer(
    help="Run one stage of the pipeline as params.yaml says; `dvc repro` runs all that are out of date.\n\n"
    "Example: python -m stages train sudoku-se_rrm-s0",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for stage in (download, choose_puzzles, build_arrays, read_tests, hash_code, train, evaluate, tabulate):
    name = stage.__name__.removeprefix("stages.")
    app.command(name)(getattr(stage, name))


def main() -> None:
    """Run the command line; errors of the user show no traceback."""
    gc.set_threshold(100_000)  # the 400,000 objects that imports make are never freed
    for name in ("huggingface_hub", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # SIGTERM makes an orderly exit; a training in progress has its own handler.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    # Without git DVC fails, but only after the stage, so check first.
    if "DVC_ROOT" in os.environ and (fault := git_fault(Path())):
        command_line.print_error(fault)
        sys.exit(1)
    try:
        sys.exit(command_line.run(app))
    finally:
        gc.freeze()  # freeing the objects before the process ends would take a second


if __name__ == "__main__":
    main()
