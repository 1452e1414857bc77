"""`serrm ask`: a language model's scores on Sudoku, through any server with the OpenAI chat API."""

import json
import os
from pathlib import Path

import typer

SERVER = typer.Option(..., metavar="URL", help="Address of the server, such as http://localhost:8000/v1.")
MODEL = typer.Option(..., metavar="NAME", help="Name of the model on the server.")
PUZZLES = typer.Option(
    ...,
    exists=True,
    help="File with puzzles as CSV, TSV, JSON or plain lines, or a folder of JSON files.",
)
NUM = typer.Option(None, min=1, help="Number of puzzles per size, drawn at random. Default: all.")
EXTRA = typer.Option(
    '{"temperature": 0}',
    metavar="JSON",
    help='Other fields of each request, such as {"max_tokens": 32768, "reasoning_effort": "high"}.',
)
CONCURRENCY = typer.Option(8, min=1, help="Number of simultaneous requests.")
KEY = typer.Option(
    None, "--key-variable", metavar="VARIABLE", help="Environment variable with the API key. Default: no key."
)
TARGET = typer.Option(None, "--json", dir_okay=False, help="Write scores and replies to this file.")


def ask(
    server: str = SERVER,
    model: str = MODEL,
    puzzles: Path = PUZZLES,
    num: int | None = NUM,
    extra: str = EXTRA,
    concurrency: int = CONCURRENCY,
    key_variable: str | None = KEY,
    target: Path | None = TARGET,
) -> None:
    """Score a language model on Sudoku, through a server with the OpenAI chat API.

    Example: serrm ask --server http://localhost:8000/v1 --model qwen3 --puzzles puzzles.csv --num 50

    Exit code 1 if the server gave no response to some of the puzzles.
    """
    from serrm import llm
    from serrm.core.files import write_output
    from serrm.drawing.terminal import console, table, with_interval
    from serrm.scoring.metrics import RATIO

    try:
        request = dict(json.loads(extra))
    except (TypeError, ValueError):
        raise typer.BadParameter(f"{extra!r} is not a JSON object", param_hint="--extra") from None
    key = None if key_variable is None else os.environ.get(key_variable)
    if key_variable is not None and not key:
        raise typer.BadParameter(f"{key_variable} is not set", param_hint="--key-variable")
    sets = llm.ask(llm.Server(server, model, request, concurrency, key), llm.draw_puzzles(puzzles, num))
    if target is not None:
        content = {"server": server, "model": model, "extra": request, "sets": sets}
        write_output(target, json.dumps(content, indent=2) + "\n")
    lines = table("grid", "puzzles", "FSR", "answered", "GPA of answered", "no response")
    for name, entry in sets.items():
        fsr, gpa = with_interval(entry["scores"], "fsr"), with_interval(entry["scores"], llm.GPA, RATIO)
        counts = [str(entry[f"num_{kind}"]) for kind in ("puzzles", "answered", "without_response")]
        lines.add_row(name, counts[0], fsr, counts[1], gpa, counts[2])
    screen = console()
    screen.print(f"{model} at {server}: percent (95% interval)", markup=False, soft_wrap=True)
    screen.print(lines)
    if any(entry["num_without_response"] for entry in sets.values()):
        raise typer.Exit(1)
