"""The page of `serrm demo`: fill in a Sudoku or draw a maze, and see the model's answer settle step by step.

The puzzle is the text in the page's text box. demo.js edits this text when a cell of the grid is clicked or a key is
pressed, and every change of the text redraws the grid.

The page also runs as a Hugging Face Space, with `from serrm.demo import LIMITS, page; page().launch(**LIMITS)` in
`app.py`, and `serrm[demo]` in `requirements.txt`.
"""

import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import quoteattr

import gradio as gr
import numpy as np
import torch
from jaxtyping import Bool, Float32
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from serrm.drawing.puzzles import DrawnPuzzle, Panel, cell_of
from serrm.drawing.svg import grid_svg
from serrm.inference.predict import predict, symbols_of
from serrm.inference.search import Search, certainties_and_probabilities
from serrm.puzzles.look import PAPER, CellLook, Keys
from serrm.puzzles.raw import Tokens
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, grid_task
from serrm.reading.question import Question
from serrm.reading.reader import read_inline
from serrm.solving.model import Model, packaged_name_for
from serrm.solving.solve import FIRST_STEPS, NO_CLUE, SolveOptions, has_no_clue

RECORDS: Final = [task for task in TASKS.values() if isinstance(task, GridTask) and task.checkpoint]
SAMPLES: Final = {name: sample for record in RECORDS for name, sample in record.samples.items()}
HINTS = "Click a square, then type a symbol or press one below it.", "Click squares to draw."
MAX_CHARACTERS: Final = 100_000  # of the text
MAX_BODY: Final = 2**20  # bytes of a request, whose text may have several bytes per character
PAUSE = 0.3  # seconds per step of the first attempt
SURE, UNSURE = (169, 209, 234), (243, 190, 110)


class BodyLimit:
    """Refusal of requests with too long a body, before it is read: reading 60 MB would make the page stand still."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > MAX_BODY:
            response = PlainTextResponse(f"a request may have {MAX_BODY:,} bytes\n", 413)
            await response(scope, receive, send)
        else:
            await self.app(scope, receive, send)


LIMITS: Final[dict[str, Any]] = {
    "app_kwargs": {"middleware": [Middleware(BodyLimit)]}
}  # options of `page().launch`


class Frame(NamedTuple):
    """An intermediate answer: tokens, the largest probability per cell, and True for cells with a guess."""

    caption: str
    tokens: Tokens
    certainty: Float32[np.ndarray, " I"]
    is_guess: Bool[np.ndarray, " I"]


@cache
def load(name: str) -> Model:
    """Load a packaged model, only once."""
    return Model.from_pretrained(name, device="cpu")


def settle(question: Question, budget: int) -> Iterator[Frame]:
    """Yield the answers after all supervision steps of the first attempt, then at the ends of attempts with guesses.

    The last one is verified, or the limits of `serrm solve` with this `budget` of supervision steps are reached.
    ValueError for a puzzle that is quickly found to have no solution, or has no packaged model.
    """
    model = load(packaged_name_for(question))
    task, tokens = grid_task(question.task), question.cells.reshape(-1)
    assert task.verify is not None
    layout = task.layout(question.side)
    if flaw := NO_CLUE if has_no_clue(question) else task.flaw(tokens):
        raise ValueError(": ".join(filter(None, [flaw, layout])))
    layout = layout and f" {layout.capitalize()}."
    num_symbols = task.alphabet(question.side).num_symbols
    limits = SolveOptions(budget=budget).limits(task, num_searches=1)
    puzzle = Search(0, tokens)
    while puzzle.begin(limits):
        is_guess = puzzle.filling != tokens
        inputs = torch.from_numpy(puzzle.filling[None].astype(np.int64))
        for _, output in predict(model.model, inputs, num_symbols, range(1, puzzle.steps_left + 1)):
            answer = symbols_of(output.logits)
            is_verified = bool(task.obeys(tokens[None], answer)[0])
            is_over = puzzle.take_step(answer[0], is_verified, None)
            [certainty], [shares] = certainties_and_probabilities(
                output.logits, num_symbols, model.settings.train.loss
            )
            if puzzle.attempts == 1 or is_over:
                yield Frame(_caption(puzzle, int(is_guess.sum())) + layout, answer[0], certainty, is_guess)
            if is_over:
                break
        puzzle.end(certainty, shares, task)
    if not puzzle.is_verified:
        assert puzzle.answer is not None and puzzle.certainty is not None
        caption = f"Not solved within {puzzle.steps} supervision steps.{layout}"
        yield Frame(caption, puzzle.answer, puzzle.certainty, np.zeros(len(tokens), dtype=bool))


def _caption(puzzle: Search, num_guesses: int) -> str:
    """Caption a frame, such as "Verified: 23 supervision steps, 4 guesses in place."."""
    outcome = "Verified" if puzzle.is_verified else f"Attempt {puzzle.attempts}"
    steps = "1 supervision step" if puzzle.steps == 1 else f"{puzzle.steps} supervision steps"
    if num_guesses == 0:
        return f"{outcome}: {steps}."
    guesses = "1 guess" if num_guesses == 1 else f"{num_guesses} guesses"
    return f"{outcome}: {steps}, {guesses} in place."


def question_of(text: str) -> Question:
    """Read the puzzle of a text. ValueError for another text, a long one, or a puzzle without a packaged model."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"the text has more than {MAX_CHARACTERS:,} characters: enter one puzzle")
    questions = read_inline(text, "the text")
    if len(questions) > 1:
        raise ValueError(f"the text has {len(questions)} puzzles: enter one")
    packaged_name_for(questions[0])
    return questions[0]


def symbols_to_fill(question: Question) -> str:
    """List the characters of the blank and of all symbols above it."""
    record = grid_task(question.task)
    tokens = np.arange(record.alphabet(question.side).num_symbols, dtype=np.uint8)[record.blank :]
    return record.text.format(tokens)


def keys_of(question: Question) -> Keys:
    """Choose the keys of a puzzle: those of its task's record, or else one per symbol that may be filled in."""
    symbols = symbols_to_fill(question)
    return grid_task(question.task).keys or Keys(
        {symbol: symbol for symbol in symbols[1:]} | {symbols[0]: "clear"}
    )


def board(question: Question, frame: Frame | None = None) -> str:
    """Draw a grid to click on as HTML, with a key per symbol; demo.js handles both.

    In an answer, the colour of filled cells goes from orange (unsure) to blue (sure), and guesses have a marked corner.
    """
    side, task, keys = question.side, grid_task(question.task), keys_of(question)
    tokens = question.cells.reshape(-1)
    panel = DrawnPuzzle(question.task, side, tokens).answer_panel(tokens if frame is None else frame.tokens)
    if frame is not None:
        panel = replace(panel, is_changed=frame.is_guess.reshape(side, side))

    def look_of(panel: Panel, row: int, column: int) -> CellLook:
        cell = cell_of(panel, row, column)
        is_empty = panel.is_given[row, column] or (cell.ground == PAPER and not cell.symbol)
        if frame is None or is_empty:
            return cell
        return cell._replace(ground=blend(float(frame.certainty[row * side + column])))

    data = {
        "side": str(side),
        "text": task.text.format(tokens),
        "blank": symbols_to_fill(question)[0],
        "brush": keys.brush,
        "unique": keys.unique,
    }
    attributes = " ".join(f"data-{name}={quoteattr(value)}" for name, value in data.items())
    picture = grid_svg(
        panel, f"{question.task} {side}×{side}" if frame is None else frame.caption, look_of=look_of
    )
    buttons = (
        f"<button data-symbol={quoteattr(symbol)}>{label}</button>" for symbol, label in keys.labels.items()
    )
    return f'<div class="board" {attributes}>{picture}<i></i></div><div class="keys">{"".join(buttons)}</div>'


def blend(certainty: float) -> str:
    """Colour a cell by its largest probability: orange at 1/2 or less, blue at 1."""
    share = min(max(2 * certainty - 1, 0.0), 1.0)
    channels = (round(share * sure + (1 - share) * unsure) for sure, unsure in zip(SURE, UNSURE, strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in channels)


def show(text: str) -> tuple[Any, str, gr.Slider]:
    """Draw the grid of a text and a hint, without a slider. An invalid puzzle keeps the grid and shows the reason."""
    try:
        question = question_of(text)
        return board(question), HINTS[bool(keys_of(question).brush)], gr.Slider(visible=False)
    except ValueError as error:
        return gr.skip(), sentence(error), gr.Slider(visible=False)


def sentence(error: ValueError) -> str:
    """Write an error as a sentence."""
    return f"{str(error)[:1].upper()}{str(error)[1:]}."


def play(text: str, budget: int | float) -> Iterator[tuple[Any, str, Sequence[Frame], gr.Slider]]:
    """Yield the grid, the caption beside it, all frames so far and a slider over them, slowly enough to follow."""
    frames: list[Frame] = []
    try:
        question = question_of(text)
        for frame in settle(question, int(budget)):
            time.sleep(PAUSE if 0 < len(frames) < FIRST_STEPS else 0)
            frames.append(frame)
            num = len(frames)
            slider = gr.Slider(1, max(num, 2), num, visible=num > 1)
            yield board(question, frame), frame.caption, frames, slider
    except ValueError as error:
        yield gr.skip(), sentence(error), frames, gr.Slider(visible=False)


def rewind(text: str, frames: Sequence[Frame], number: int) -> tuple[str, str]:
    """Draw the grid of an earlier frame, whose `number` counts from 1, and its caption."""
    return board(question_of(text), frames[number - 1]), frames[number - 1].caption


def sample(name: str) -> str:
    """Return a sample puzzle as text; if the task generates it, another one at every call."""
    source = SAMPLES[name]
    return source if isinstance(source, str) else source(secrets.randbits(32))


def page() -> gr.Blocks:
    """Build the page; `page().launch()` serves it."""
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs a line per request
    blocks: gr.Blocks = gr.Blocks(title="serrm", analytics_enabled=False)
    script, style = (files("serrm").joinpath(f"demo.{suffix}").read_text("utf-8") for suffix in ("js", "css"))
    with blocks:
        gr.Markdown(
            "# A network that reasons by recurrence\nA small network is applied to its own answer again and again. "
            "Squares turn from orange to blue as it becomes sure. Where an answer breaks the rules, the network fills "
            "in a guess (marked by a corner) and tries again."
        )
        frames = gr.State([])
        first = sample(next(iter(SAMPLES)))
        first_grid, hint, _ = show(first)
        with gr.Row():
            choices = {name: gr.Button(name, size="sm", min_width=90) for name in SAMPLES}
        with gr.Row():
            with gr.Column(scale=3, min_width=300):
                grid = gr.HTML(first_grid, js_on_load=script, css_template=style, elem_id="grid")
            with gr.Column(scale=2, min_width=300):
                button = gr.Button("Solve", variant="primary", elem_id="solve")
                caption = gr.Markdown(hint, elem_id="caption")
                slider = gr.Slider(1, 2, 1, step=1, label="Replay", visible=False, elem_id="replay")
                text = gr.Textbox(
                    first,
                    label=f"The puzzle as text ({', '.join(record.name for record in RECORDS)})",
                    lines=4,
                    elem_id="puzzle",
                )
                budget = gr.Slider(64, 4096, 1024, step=64, label="Limit on supervision steps")
        solving = button.click(
            play, [text, budget], [grid, caption, frames, slider], show_progress="hidden", concurrency_limit=2
        )
        text.change(
            show, text, [grid, caption, slider], show_progress="hidden", trigger_mode="always_last",
            cancels=solving,
        )  # fmt: skip
        slider.input(rewind, [text, frames, slider], [grid, caption], show_progress="hidden")
        for name, choice in choices.items():
            choice.click(partial(sample, name), None, text, show_progress="hidden")
    return blocks
