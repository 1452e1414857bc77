"""`serrm ask`: a language model's row of table 1, from any server that speaks the OpenAI chat API."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from serrm.extra import need
from serrm.files import write_json
from serrm.project import find_root, open_project, project_params

if TYPE_CHECKING:
    from serrm.asking.settings import LanguageModelSettings

SECTION = "language_model"

SERVER = typer.Option(None, metavar="URL", help="Such as http://localhost:8000/v1.")
MODEL = typer.Option(None, metavar="NAME", help="As the server calls it.")
PUZZLES = typer.Option(
    [], exists=True, help="CSV, TSV, JSON (or a folder of it), or plain lines; may be given more than once."
)
NUM = typer.Option(
    None,
    min=1,
    help="Puzzles of each size, drawn at random. Default: as the paper 288 of 4×4, 60 of 9×9; else all.",
)
CACHE = typer.Option(
    None, dir_okay=False, help="Replies; what it holds is not asked again. Default: by the name of the row."
)
TARGET = typer.Option(None, "--json", dir_okay=False, help="Write the scores there.")
TEMPERATURE = typer.Option(None, min=0.0, help="Default: 0.")
MAX_TOKENS = typer.Option(None, min=1, help="Of a reply, thoughts included. Default: the server's.")
EXTRA = typer.Option(None, metavar="JSON", help='More of the request, such as {"reasoning_effort": "high"}.')
TIMEOUT = typer.Option(None, help="Seconds to wait for a reply. Default: 600.")
CONCURRENCY = typer.Option(None, min=1, help="Requests at once. Default: 8.")
KEY = typer.Option(
    None,
    "--key-variable",
    metavar="VARIABLE",
    help="Environment variable with the API key. Default: no key.",
)
REPORT = typer.Option(
    None,
    metavar="PROFILE",
    help="Write the metric file of the row; asks that profile's test sets by default.",
)
ROW = typer.Option(None, "--name", help="Name of the row. Default: the model's, as gpt_oss_20b.")


def ask(
    server: str | None = SERVER,
    model: str | None = MODEL,
    puzzles: list[Path] = PUZZLES,
    num: int | None = NUM,
    cache: Path | None = CACHE,
    target: Path | None = TARGET,
    temperature: float | None = TEMPERATURE,
    max_tokens: int | None = MAX_TOKENS,
    extra: str | None = EXTRA,
    timeout: float | None = TIMEOUT,
    concurrency: int | None = CONCURRENCY,
    key: str | None = KEY,
    report: str | None = REPORT,
    row: str | None = ROW,
) -> None:
    """Score a language model on Sudoku puzzles, through a server that speaks the OpenAI chat API.

    What is not given is taken from the section language_model of params.yaml, where there is one. A run that was
    stopped goes on where it stopped. Exit code 1 if the server gave no response to some of the puzzles.
    """
    need("openai")
    options = {"address": server, "model": model, "num_puzzles": num, "temperature": temperature}
    limits = {"max_tokens": max_tokens, "timeout": timeout, "concurrency": concurrency}
    more = {"extra": None if extra is None else _decode(extra), "key_variable": key}
    settings = _settings({**options, **limits, **more})
    row = row_name(row or settings.model)
    metrics = None if report is None else _metric_file(report, row)
    sets = _score(puzzles, report, settings, cache or _cache_file(row))
    _show(settings, sets)
    if target is not None:
        write_json(target, {SECTION: settings.model_dump(mode="json"), "sets": sets})
    if report is not None and metrics is not None:
        from serrm.asking.evaluate import language_model_metrics

        write_json(metrics, language_model_metrics(row, report, settings, sets))
        typer.echo(f"{metrics}: the row {row} of table 1, which the next tabulate shows")
    if any(entry["num_error"] + entry["num_timeout"] for entry in sets.values()):
        raise typer.Exit(1)


def row_name(text: str) -> str:
    """A model's name as that of a row and its files: openai/gpt-oss-20b gives gpt_oss_20b."""
    name = re.sub(r"[^a-z0-9]+", "_", text.rpartition("/")[2].lower()).strip("_")
    if not name:
        raise typer.BadParameter(f"{text!r} gives no name for files", param_hint="--name")
    return name


def _settings(options: Mapping[str, Any]) -> "LanguageModelSettings":
    """The section of params.yaml, with the options that were given laid over it."""
    from serrm.asking.settings import LanguageModelSettings
    from serrm.config import parse

    root = _root()
    section = None if root is None else project_params(root).get(SECTION)
    given = (section or {}) | {name: value for name, value in options.items() if value is not None}
    for option, field in (("--server", "address"), ("--model", "model")):
        if field not in given:
            raise typer.BadParameter(f"give it, or {SECTION}.{field} in params.yaml", param_hint=option)
    try:
        return parse(LanguageModelSettings, given, SECTION)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _decode(extra: str) -> object:
    try:
        return json.loads(extra)
    except ValueError:
        raise typer.BadParameter(f"{extra!r} is not JSON", param_hint="--extra") from None


def _root() -> Path | None:
    """The project's folder, or None outside of one, where this command works as well."""
    try:
        return find_root(Path.cwd())
    except ValueError:
        return None


def _metric_file(profile: str, row: str) -> Path:
    """Where the row's metric file belongs; no model of the pipeline may lose its own to it."""
    root, params, _ = open_project(profile)
    if row in params["model"]:
        raise typer.BadParameter(f"{row!r} is a model of params.yaml", param_hint="--name")
    return root / "reports" / profile / "metrics" / f"sudoku-{row}-s0.json"


def _cache_file(row: str) -> Path:
    """Where replies are kept: with the project's data, outside of a project in the current folder."""
    root, name = _root(), f"{row}.replies.jsonl"
    return Path(name) if root is None else root / "data" / "replies" / name


def _score(
    files: list[Path], profile: str | None, settings: "LanguageModelSettings", cache: Path
) -> dict[str, Any]:
    from serrm.asking.evaluate import evaluate_language_model
    from serrm.asking.questions import draw_sets, puzzles_of_arrays, puzzles_of_files

    if files:
        puzzles = puzzles_of_files(files)
    elif profile is not None:
        puzzles = puzzles_of_arrays(find_root(Path.cwd()) / "data" / "arrays" / profile / "sudoku")
    else:
        raise typer.BadParameter("give a file, or a profile with --report", param_hint="--puzzles")
    return evaluate_language_model(draw_sets(puzzles, settings), settings, cache)


def _show(settings: "LanguageModelSettings", sets: Mapping[str, Mapping[str, Any]]) -> None:
    """One line a size of grid, scores and what became of the puzzles; then what the table does not say."""
    from serrm.display import console, percent, table

    lines = table("grid", "puzzles", "FSR", "GPA of answered", "answered", "malformed", "refused")
    for name, entry in sets.items():
        rates = [percent(entry["scores"], metric) for metric in ("fsr", "gpa_answered")]
        counts = [str(entry[f"num_{kind}"]) for kind in ("answered", "malformed", "refused")]
        lines.add_row(name, str(entry["num_puzzles"]), *rates, *counts)
    screen = console()
    heading = f"{settings.model} at {settings.address}: percent (95% interval)"
    screen.print(heading, markup=False, soft_wrap=True)
    screen.print(lines)
    for remark in remarks_on(sets):
        screen.print(remark, markup=False, soft_wrap=True)


def remarks_on(sets: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What the table does not say: where the paper would give no GPA, and which puzzles are not in it."""
    for name, entry in sets.items():
        if unanswered := entry["num_malformed"] + entry["num_refused"]:
            num = f"{unanswered} of {entry['num_puzzles']}"
            yield f"{name}: without a grid, counted as unsolved: {num}; over all puzzles there is no GPA"
        errors, timeouts = entry["num_error"], entry["num_timeout"]
        if errors + timeouts:
            yield f"{name}: no response, left out: {errors} errors, {timeouts} timeouts; the next run asks again"
