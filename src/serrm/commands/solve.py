"""`serrm solve`: a checkpoint answers puzzles from arguments, standard input and files, and says which are right."""

import io
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from serrm.files import new_file
from serrm.progress import watch

if TYPE_CHECKING:
    from serrm.solving.answers import Answer, Trace

log = logging.getLogger(__name__)
Write = Callable[[str], Any]
MAX_PANELS = 12  # of a picture or in the terminal; a GIF has all steps at which something changed
PANELS_A_ROW = 4


class Notation(StrEnum):
    """How answers are written."""

    text = "text"
    csv = "csv"
    json = "json"


class Precision(StrEnum):
    """What all arithmetic is done in."""

    float32 = "float32"
    bfloat16 = "bfloat16"


PUZZLES = typer.Argument(
    None, metavar="[PUZZLE|FILE|-]...", help="Puzzles, files of them, or - for standard input, the default."
)
A_CHECKPOINT = "Folder of a finished training, or a packaged one: sudoku, sudoku_extreme."
CHECKPOINT = typer.Option("sudoku", help=A_CHECKPOINT)
MAX_STEPS = typer.Option(128, min=1, help="Supervision steps at most; a verified answer stops earlier.")
GUESSES = typer.Option(
    0,
    min=0,
    help="Further attempts at a Sudoku, of 4 steps each, with cells filled in that the network is unsure of.",
)
PATIENCE = typer.Option(
    None, min=1, help="Give up after as many steps without a change. Default: never; for ARC 4."
)
BATCH_SIZE = typer.Option(
    None, min=1, help="9×9 Sudoku at once, larger grids fewer. Default: 8, on a GPU 512."
)
DEVICE = typer.Option("auto", help="auto, cpu, cuda, cuda:1, …")
PRECISION = typer.Option(Precision.float32, help="bfloat16 is quicker where the processor has it.")
FORMAT = typer.Option(Notation.text, "--format", help="json is one object a line.")
TARGET = typer.Option(None, "--out", dir_okay=False, help="Write the answers there.")
TRACE = typer.Option(False, "--trace", help="Show in the terminal how each answer settles.")
PICTURE = typer.Option(
    None,
    "--trace-file",
    metavar="FILE",
    dir_okay=False,
    help="Draw how the first answer settles, .png, .svg or .gif.",
)
EXACT = typer.Option(
    False,
    "--exact",
    help="Let an exact solver do what the network leaves unsolved, with its sure cells as hints.",
)


def solve(
    puzzles: list[str] | None = PUZZLES,
    checkpoint: str = CHECKPOINT,
    max_steps: int = MAX_STEPS,
    guesses: int = GUESSES,
    patience: int | None = PATIENCE,
    batch_size: int | None = BATCH_SIZE,
    device: str = DEVICE,
    precision: Precision = PRECISION,
    notation: Notation = FORMAT,
    target: Path | None = TARGET,
    is_traced: bool = TRACE,
    picture: Path | None = PICTURE,
    is_exact: bool = EXACT,
) -> None:
    """Solve Sudoku of any size, mazes or ARC tasks with a checkpoint; answers are checked against the rules.

    Exit code 1 if some puzzle has no verified answer. Of equally likely symbols the first is taken.
    """
    arguments = puzzles or _piped()
    if picture is not None and picture.suffix not in (".png", ".svg", ".gif"):
        raise typer.BadParameter(f"{str(picture)!r} is no .png, .svg or .gif", param_hint="--trace-file")
    from serrm.puzzles.files import read_arguments

    if not (questions := read_arguments(arguments, _standard_input)):
        raise ValueError("no puzzle in the input")
    from serrm.devices import keep_memory
    from serrm.solving import solve as solving
    from serrm.solving.model import folder_of, load

    keep_memory()
    options = solving.SolveOptions(
        max_steps=max_steps,
        guesses=guesses,
        batch_size=batch_size,
        patience=patience,
        precision=precision.value,
        is_exact=is_exact,
        has_trace=is_traced or picture is not None,
    )
    answers = solving.solve(load(folder_of(checkpoint), device=device), questions, options)
    if target is not None:
        answers = watch(answers, "solving", len(questions), unit="puzzle")
    try:
        with _opened(target) as write:
            is_solved = _give(answers, write, notation, is_traced, picture)
    except BrokenPipeError:  # whoever reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        is_solved = False
    if not is_solved:
        raise typer.Exit(1)


def _piped() -> list[str]:
    """Standard input, where no puzzle is given; a usage error if that is a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        raise typer.BadParameter("give a puzzle or a file, or pipe puzzles in", param_hint="PUZZLE")
    return ["-"]


def _standard_input() -> str:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace")
    return sys.stdin.read()


@contextmanager
def _opened(target: Path | None) -> Iterator[Write]:
    """What writes a line to standard output, or to a file that appears when it is whole."""
    if target is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        yield typer.echo
        return
    with (
        new_file(target) as partial,
        partial.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as output,
    ):
        yield lambda line: output.write(f"{line}\n")


def _give(
    answers: Iterable["Answer"], write: Write, notation: Notation, is_traced: bool, picture: Path | None
) -> bool:
    """Write the answers as they come, and say what they are in all; whether all are verified."""
    from serrm.solving.answers import FORMATS, Status, csv_header, summary

    start = time.perf_counter()
    statuses: Counter[Status] = Counter()
    num_steps = 0
    if notation == Notation.csv:
        write(csv_header())
    for answer in answers:
        if answer.trace is not None:
            _show(answer.trace, answer.place, is_traced, picture)
            picture = None  # of the first alone
        write(FORMATS[notation](answer))
        statuses[answer.status] += 1
        num_steps += answer.steps
    log.info(summary(statuses, num_steps, time.perf_counter() - start))
    return statuses.keys() == {Status.VERIFIED}


def _show(trace: "Trace", place: str, is_traced: bool, picture: Path | None) -> None:
    """How an answer came about, in the terminal or as the picture asked for."""
    from serrm.display import console
    from serrm.drawing.panels import Puzzle, settling_panels
    from serrm.drawing.svg import picture_svg, write_picture
    from serrm.drawing.terminal import Drawing

    puzzle = Puzzle(trace.task, trace.side, trace.question)
    panels = settling_panels(puzzle, trace.predictions, MAX_PANELS)
    if is_traced:
        console().print(Drawing([panels], place))
    if picture is None:
        return
    if picture.suffix == ".gif":
        frames = [[[panel]] for panel in settling_panels(puzzle, trace.predictions)]
    else:
        frames = [[panels[start : start + PANELS_A_ROW] for start in range(0, len(panels), PANELS_A_ROW)]]
    write_picture(picture, [picture_svg(rows, place) for rows in frames])
    log.info("%s: how the answer to %s settled", picture, place)
