"""Run a command line of `serrm`, the stages or `serrm.training`: log lines and errors on stderr, exit codes."""

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import typer

# The base of Typer's usage errors, which has no public name of its own in every version.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 2 for a wrong call, 1 for other errors of the user, each with one line.

    Any other exception is a bug and is passed on, so Python prints its traceback.
    """
    os.environ["MPLBACKEND"] = "agg"  # commands in a notebook inherit its backend, which may not be installed
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        code: int | None = app(arguments, standalone_mode=False)
    except UsageError as error:
        if message := error.format_message():  # empty if the help was printed instead
            print_error(message)
        return error.exit_code
    except (ValueError, OSError) as error:
        print_error(str(error))
        return 1
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "serrm", "stages"):
            raise
        extra = {"openai": "language-model", "gradio": "demo"}.get(package, "pipeline")
        # In a clone, install the project itself.
        name = "." if (Path(__file__).parents[2] / "pyproject.toml").is_file() else "serrm"
        print_error(f"{package} is not installed: pip install '{name}[{extra}]'")
        return 1
    except (typer.Abort, KeyboardInterrupt) as error:
        # Importing a truncated .pyc file raises EOFError, which Typer takes for Ctrl-C.
        if isinstance(error.__cause__, EOFError):
            raise error.__cause__ from None
        return 130
    return code or 0


def print_error(message: str) -> None:
    """Print a message as one line on stderr."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)
