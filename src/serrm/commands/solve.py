"""`serrm solve`: solve puzzles and check the answers."""

import io
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from serrm.core.progress import progress_bar

if TYPE_CHECKING:
    from serrm.solving.solve import Answer, Status

log = logging.getLogger(__name__)
THIN_ABOVE = 12  # steps in a picture or in the terminal; a GIF has all steps at which the prediction changed
PANELS_PER_ROW = 4
OutputFormat = StrEnum("OutputFormat", ["text", "csv", "json"])
Precision = StrEnum("Precision", ["auto", "float32", "bfloat16"])

CHECKPOINT_HELP = "Folder of a finished run, or a packaged checkpoint: sudoku, sudoku_extreme, maze."
DEVICE = typer.Option("auto", help="auto, cpu, cuda, cuda:1, …")


def solve(
    puzzles: list[str] | None = typer.Argument(
        None,
        metavar="[PUZZLE|FILE|-]...",
        help="Puzzles, files of puzzles, or - for standard input (default).",
    ),
    checkpoint: str | None = typer.Option(
        None,
        help=f"{CHECKPOINT_HELP} Default: sudoku_extreme for 9×9 Sudoku, sudoku for other sizes, maze for mazes.",
    ),
    budget: int = typer.Option(4096, min=1, help="Limit on supervision steps per puzzle, over all attempts."),
    seconds: float | None = typer.Option(
        None,
        min=0.001,
        help="Time limit per puzzle; a batch's time is divided among its puzzles. Default: none.",
    ),
    max_steps: int | None = typer.Option(
        None,
        min=1,
        help="Supervision steps of the first attempt. Default: 16 on Sudoku (guesses follow), else 128.",
    ),
    batch_size: int | None = typer.Option(
        None,
        min=1,
        help="Batch size for 9×9 puzzles; larger grids get smaller batches. Default: fitted to memory.",
    ),
    device: str = DEVICE,
    precision: Precision = typer.Option(
        Precision.auto, help="auto takes the faster of the two on this machine."
    ),
    output_format: OutputFormat = typer.Option(
        OutputFormat.text, "--format", help="json writes one object per line."
    ),
    target: Path | None = typer.Option(None, "--out", dir_okay=False, help="Write the answers to this file."),
    is_ordered: bool = typer.Option(
        False, "--ordered", help="Write the answers in the order of the puzzles, not as they are found."
    ),
    is_traced: bool = typer.Option(False, "--trace", help="Show the steps to each answer in the terminal."),
    picture: Path | None = typer.Option(
        None,
        "--trace-file",
        metavar="FILE",
        dir_okay=False,
        help="Draw the steps to the first answer to this .png, .svg or .gif.",
    ),
    is_exact: bool = typer.Option(
        False,
        "--exact",
        help="Pass unsolved puzzles to an exact solver, which begins with the network's confident digits.",
    ),
) -> None:
    """Solve Sudoku of any size, mazes or ARC puzzles; Sudoku and maze answers are checked against the rules.

    Example: serrm solve puzzles.csv --out answers.csv --format csv

    One puzzle on a terminal is drawn; otherwise each answer is a line.
    After a Sudoku answer that breaks the rules, attempts with guesses follow.
    Exit code 1 if a puzzle has no verified answer (always on ARC, where no rule can verify one).
    """
    arguments = puzzles or _piped()
    if picture is not None and picture.suffix not in (".png", ".svg", ".gif"):
        raise typer.BadParameter(
            f"{str(picture)!r} is not a .png, .svg or .gif file", param_hint="--trace-file"
        )
    from serrm.reading.reader import read_arguments

    if not (questions := read_arguments(arguments, _standard_input)):
        raise ValueError("no puzzle in the input")
    from serrm.core.devices import keep_memory
    from serrm.solving.model import existing_folder_of, load
    from serrm.solving.solve import SolveOptions, Status, in_order, summary

    # One puzzle on a terminal is drawn; everything else is lines for programs to read.
    is_drawn = (
        len(questions) == 1 and output_format == OutputFormat.text and target is None and sys.stdout.isatty()
    )
    keep_memory()
    has_trace = is_traced or picture is not None
    options = SolveOptions(
        budget=budget,
        seconds=seconds,
        max_steps=max_steps,
        precision=precision.value,
        batch_size=batch_size,
        is_exact=is_exact,
        has_trace=has_trace,
    )
    model = load(None if checkpoint is None else existing_folder_of(checkpoint), device=device)
    pairs = model.answers(questions, options)
    answers = in_order(pairs) if is_ordered else (answer for _, answer in pairs)
    start = time.perf_counter()
    try:
        with _opened(target) as write:
            num_steps, statuses, is_interrupted = _write_answers(
                answers, questions, write, output_format, is_drawn, is_traced, picture
            )
    except BrokenPipeError:  # the reader of standard output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    if not is_drawn:
        log.info(summary(statuses, num_steps, time.perf_counter() - start))
    if is_interrupted:
        where = "" if target is None else f" are in {target}"
        log.info("interrupted: %d of %d answers%s", statuses.total(), len(questions), where)
        raise typer.Exit(130)
    if statuses.keys() != {Status.VERIFIED}:
        raise typer.Exit(1)


def _write_answers(
    answers: "Iterable[Answer]",
    questions: Sequence[Any],
    write: Callable[[str], Any],
    output_format: OutputFormat,
    is_drawn: bool,
    is_traced: bool,
    picture: Path | None,
) -> "tuple[int, Counter[Status], bool]":
    """Write or draw the answers as they arrive, beside a progress bar.

    The result is the number of steps, the number of answers by status, and whether Ctrl-C ended the solving. The steps
    of the first answer alone are drawn to `picture`.
    """
    from serrm.solving.solve import FORMATS, Status, csv_header

    num_steps, statuses = 0, Counter[Status]()
    with progress_bar("solving", len(questions), unit="puzzle", leave=not is_drawn) as bar:
        if output_format == OutputFormat.csv:
            write(csv_header())
        try:
            for answer in answers:
                statuses[answer.status] += 1
                num_steps += answer.steps
                counts = {status.value: num for status, num in statuses.items()}
                bar.set_postfix({**counts, "open": len(questions) - statuses.total()}, refresh=False)
                bar.update()
                with bar.external_write_mode():
                    if answer.trace is not None:
                        _draw_steps(answer, len(questions) > 1, is_traced, picture)
                        picture = None
                    if is_drawn:
                        _draw_answer(questions[0], answer)
                    else:
                        write(FORMATS[output_format.value](answer))
        except KeyboardInterrupt:  # the answers so far stay
            if not statuses.total():
                raise
            return num_steps, statuses, True
    return num_steps, statuses, False


def _piped() -> list[str]:
    """Return the argument for standard input; a usage error if that is a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        raise typer.BadParameter("give a puzzle or a file, or pipe puzzles in", param_hint="PUZZLE")
    return ["-"]


def _standard_input() -> bytes:
    return sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()


@contextmanager
def _opened(target: Path | None) -> Iterator[Callable[[str], Any]]:
    """Yield a function that writes a line to standard output, or to a file that appears when the block ends."""
    if target is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        yield typer.echo
        return
    from serrm.core.files import new_output

    with (
        new_output(target) as partial,
        partial.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as output,
    ):
        yield lambda line: output.write(f"{line}\n")


def _draw_answer(question: Any, answer: Any) -> None:
    """Draw an answer in the terminal, above one line with its status."""
    from serrm.drawing.scenes import puzzle_of, written_in
    from serrm.drawing.terminal import console, print_grid
    from serrm.solving.solve import status_line

    if answer.cells is not None:
        puzzle = puzzle_of(replace(question, answer=answer.cells))
        assert puzzle.answer is not None
        print_grid(console(), written_in(puzzle.answer_panel(puzzle.answer), answer.signs))
    typer.echo(status_line(answer))


def _draw_steps(answer: Any, is_of_many: bool, is_traced: bool, picture: Path | None) -> None:
    """Draw the steps to an answer in the terminal, in a picture, or both."""
    from serrm.drawing.puzzles import DrawnPuzzle, settling_panels
    from serrm.drawing.scenes import written_in
    from serrm.drawing.svg import picture_svg, write_picture
    from serrm.drawing.terminal import console, print_panels
    from serrm.puzzles.tasks import TASKS

    trace = answer.trace
    title = f"{TASKS[trace.task].name} {trace.side}×{trace.side}"
    title = f"{title}, {answer.place}" if is_of_many else title
    predictions = dict(enumerate(trace.predictions, start=1))
    puzzle = DrawnPuzzle(trace.task, trace.side, trace.question, predictions=predictions)
    panels = [written_in(panel, answer.signs) for panel in settling_panels(puzzle, THIN_ABOVE)]
    if is_traced:
        print_panels(console(), [panels], title)
    if picture is None:
        return
    if picture.suffix == ".gif":
        frames = [[[written_in(panel, answer.signs)]] for panel in settling_panels(puzzle)]
    else:
        frames = [[panels[start : start + PANELS_PER_ROW] for start in range(0, len(panels), PANELS_PER_ROW)]]
    write_picture(picture, [picture_svg(rows, title) for rows in frames])
    log.info("%s: steps to the answer of %s", picture, answer.place)
