"""`serrm show`: draw a puzzle or a run's predictions."""

from pathlib import Path

import typer

SUFFIXES = (".png", ".svg")


def show(
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        exists=True,
        help="File of Sudoku, mazes or ARC puzzles, or the predictions folder of a run.",
    ),
    number: int | None = typer.Option(
        None, min=1, help="Number of the puzzle in the file. Default: the first one, or a run's first 9×9."
    ),
    name: str | None = typer.Option(
        None, "--puzzle", metavar="NAME", help="Name of the ARC puzzle in the file."
    ),
    has_answer: bool = typer.Option(
        False, "--answer", help="Show the answer; a Sudoku or maze without one in the file is solved."
    ),
    has_trace: bool = typer.Option(False, "--trace", help="Show a run's predictions after fewer steps, too."),
    target: Path | None = typer.Option(
        None,
        "--out",
        metavar="PICTURE",
        dir_okay=False,
        help="Draw to this .png or .svg instead of the terminal.",
    ),
) -> None:
    """Draw a Sudoku, a maze or an ARC puzzle with its answer, or the predictions of a run.

    Example: serrm show puzzles.csv --number 3 --answer
    """
    if target is not None and target.suffix not in SUFFIXES:
        raise typer.BadParameter(f"{str(target)!r} is neither .png nor .svg", param_hint="--out")
    if name is not None and number is not None:
        raise typer.BadParameter("give --puzzle or --number, not both", param_hint="--puzzle")
    from serrm.drawing.scenes import read_scene

    scene = read_scene(file, number, name, has_answer)
    is_example = any(puzzle.predictions for puzzle in scene.puzzles)
    if has_trace and not is_example:
        raise ValueError(f"{file}: no predictions; --trace needs the predictions folder of a run")
    rows = scene.rows(has_answer=has_answer or is_example, has_trace=has_trace)
    if target is None:
        from serrm.drawing.terminal import console, print_panels

        print_panels(console(), rows, scene.title)
        return
    from serrm.drawing.svg import picture_svg, write_picture

    write_picture(target, [picture_svg(rows, scene.title)])
    typer.echo(f"{target}: {scene.title}")
