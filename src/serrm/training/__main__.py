"""`python -m serrm.training DIR`: goes on with what `serrm pack` wrote, on a machine with the core packages alone.

Exit codes: 0 the training is finished, 75 stopped in time and the same command goes on, 1 a failure in one line.
"""

import logging
import sys
from pathlib import Path

import typer

from serrm.training.interrupt import EXIT_RESUMABLE, Interrupted

FOLDER = typer.Argument(..., metavar="DIR", exists=True, file_okay=False, help="What `serrm pack` wrote.")
SECONDS = typer.Option(
    None, min=0, help="Stop so that all is written this long after the start. Default: never."
)
DEVICE = typer.Option("auto", help="auto, cpu, cuda, cuda:1, …")


def go_on(folder: Path = FOLDER, seconds: float | None = SECONDS, device: str = DEVICE) -> None:
    """Go on with a packed training; DIR then holds how far it is, within the sizes it was packed for."""
    from serrm.training.away import train_packed

    done = train_packed(folder, seconds, device)
    logging.getLogger("serrm").info("%s: %s, %s bytes", folder, done.what, f"{done.num_bytes:,}")


def main() -> None:
    """Run the command line; what a user can cause shows no traceback."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(go_on)
    try:
        app()
    except Interrupted as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(EXIT_RESUMABLE)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
