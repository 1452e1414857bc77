"""`serrm show`: a puzzle, its answer and predictions as a picture, in a file or in the terminal."""

from pathlib import Path

import typer

SUFFIXES = (".png", ".svg")

FILE = typer.Argument(
    ...,
    metavar="FILE",
    exists=True,
    help="Sudokus, mazes or ARC puzzles as published, or the examples of an evaluation.",
)
NUMBER = typer.Option(None, min=1, help="Which puzzle of the file; the first unless given.")
TASK = typer.Option(None, "--task", metavar="NAME", help="Which ARC puzzle of the file, by its name.")
ANSWER = typer.Option(False, "--answer", help="Show the answer; that of a Sudoku is computed if need be.")
TRACE = typer.Option(False, "--trace", help="Show the predictions of an example after every number of steps.")
TARGET = typer.Option(
    None, "--out", metavar="PICTURE", dir_okay=False, help="Draw there, a .png or .svg, not in the terminal."
)


def show(
    file: Path = FILE,
    number: int | None = NUMBER,
    name: str | None = TASK,
    has_answer: bool = ANSWER,
    has_trace: bool = TRACE,
    target: Path | None = TARGET,
) -> None:
    """Draw a Sudoku, a maze or an ARC puzzle, its answer, and of an evaluation's examples the predictions."""
    if target is not None and target.suffix not in SUFFIXES:
        raise typer.BadParameter(f"{str(target)!r} is neither .png nor .svg", param_hint="--out")
    if name is not None and number is not None:
        raise typer.BadParameter("give a name or a --number, not both", param_hint="--task")
    from serrm.drawing.panels import read_scene

    scene = read_scene(file, number or 1, name, has_answer)
    is_example = any(puzzle.predictions for puzzle in scene.puzzles)
    if has_trace and not is_example:
        raise ValueError(f"{file}: has no predictions after several numbers of steps")
    rows = scene.rows(has_answer=has_answer or is_example, has_trace=has_trace)
    if target is None:
        from serrm.drawing.terminal import console, print_panels

        print_panels(console(), rows, scene.title)
        return
    from serrm.drawing.svg import picture_svg, write_picture

    write_picture(target, [picture_svg(rows, scene.title)])
    typer.echo(f"{target}: {scene.title}")
