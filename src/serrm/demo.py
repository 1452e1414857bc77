"""A page to try the models on (`serrm demo`): enter a Sudoku or draw a maze, and see the answer settle step by step.

The page runs as a Hugging Face Space: `app.py` holds `from serrm.demo import page; page().launch()`, and
`requirements.txt` names `serrm[demo]`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import gradio as gr
import numpy as np
import torch
from jaxtyping import Bool, Float32, UInt8

from serrm.drawing.panels import Panel, Puzzle, cell_of, grid_svg
from serrm.inference.predict import predict, symbols_of
from serrm.inference.search import Limits, Search, how_sure
from serrm.inference.settings import GUESS_STEPS
from serrm.puzzles.files import Question, questions_of
from serrm.puzzles.look import PAPER, Cell
from serrm.puzzles.maze import data as maze_data
from serrm.puzzles.maze import text as maze_text
from serrm.puzzles.tasks import grid_task
from serrm.solving.model import Model, packaged_for
from serrm.solving.solve import FIRST_STEPS

EXAMPLES = [  # a hard Sudoku, an easy one, and one of 4×4
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
    "1......2..3.....",
]
SIDE, PIXELS = 8, 40  # cells along a maze, as the packaged model was trained on; pixels along a cell
SURE, UNSURE = (169, 209, 234), (243, 190, 110)
SIZE = 480  # pixels along an answer

Tokens = UInt8[np.ndarray, " I"]


class Frame(NamedTuple):
    """An answer on its way: tokens, the largest probability of each cell, and which cells hold a guess."""

    caption: str
    tokens: Tokens
    certainty: Float32[np.ndarray, " I"]
    is_guess: Bool[np.ndarray, " I"]


@cache
def load(name: str) -> Model:
    """A packaged model, read once."""
    return Model.from_pretrained(name, device="cpu")


def settle(question: Question, budget: int) -> Iterator[Frame]:
    """The answer after each supervision step of the first attempt, then at the end of each attempt with guesses.

    Ends with a verified answer, or when `budget` supervision steps are over. ValueError for a puzzle without a solution
    or without a packaged model.
    """
    model, task, cells = load(packaged_for(question)), grid_task(question.task), question.cells.reshape(-1)
    assert task.verify is not None
    if flaw := task.flaw(cells):
        raise ValueError(flaw)
    tokens, num_symbols = task.tokens(cells), task.alphabet(question.side).num_symbols
    limits = Limits(FIRST_STEPS, (budget - FIRST_STEPS) // GUESS_STEPS if task.allows else 0)
    puzzle = Search(0, tokens)
    while puzzle.begin(limits):
        asked, is_guess = torch.from_numpy(puzzle.asked[None].astype(np.int64)), puzzle.asked != tokens
        for _, output in predict(model.model, asked, num_symbols, range(1, puzzle.steps_left + 1)):
            answer = symbols_of(output.logits)
            is_verified = bool(task.verify(tokens[None], answer)[0])
            is_over = puzzle.is_over(answer[0], is_verified, None)
            [certainty], [shares] = how_sure(output.logits, num_symbols)
            if puzzle.attempts == 1 or is_over:
                yield Frame(_caption(puzzle, int(is_guess.sum())), answer[0], certainty, is_guess)
            if is_over:
                break
        puzzle.end(certainty, shares, task)
    if not puzzle.is_verified:
        assert puzzle.answer is not None and puzzle.certainty is not None
        caption = f"Not solved within {puzzle.steps} supervision steps."
        yield Frame(caption, puzzle.answer, puzzle.certainty, np.zeros(len(tokens), dtype=bool))


def _caption(puzzle: Search, num_guesses: int) -> str:
    """Such as "Verified: 23 supervision steps, 4 guesses in place."."""
    guesses = f", {num_guesses} guess{'es' * (num_guesses > 1)} in place" if num_guesses else ""
    outcome = "Verified" if puzzle.is_verified else f"Attempt {puzzle.attempts}"
    return f"{outcome}: {puzzle.steps} supervision step{'s' * (puzzle.steps > 1)}{guesses}."


def picture(question: Question, frame: Frame) -> str:
    """An answer as SVG: filled cells go from orange (unsure) to blue (sure), guesses have a corner."""
    side, shape = question.side, question.cells.shape
    tokens = grid_task(question.task).tokens(question.cells.reshape(-1))
    panel = Puzzle(question.task, side, tokens).answer_panel(frame.tokens)

    def draw(panel: Panel, row: int, column: int) -> Cell:
        cell = cell_of(panel, row, column)
        is_empty = panel.is_given[row, column] or (cell.ground == PAPER and not cell.symbol)
        return cell if is_empty else cell._replace(ground=blend(float(frame.certainty[row * side + column])))

    return grid_svg(
        replace(panel, is_changed=frame.is_guess.reshape(shape)), frame.caption, size=SIZE, draw=draw
    )


def blend(certainty: float) -> str:
    """The colour of a cell: orange at half of the probability or less, blue at all of it."""
    share = min(max(2 * certainty - 1, 0.0), 1.0)
    parts = (round(share * sure + (1 - share) * unsure) for sure, unsure in zip(SURE, UNSURE, strict=True))
    return "#" + "".join(f"{part:02X}" for part in parts)


def play(text: str, budget: int | float) -> Iterator[tuple[str, str]]:
    """The grid and the line under it for every frame; a puzzle that is none gives a sentence."""
    try:
        question = next(questions_of(text.strip("\n")))
        for frame in settle(question, int(budget)):
            yield picture(question, frame), frame.caption
    except ValueError as error:
        yield "", f"{str(error)[:1].upper()}{str(error)[1:]}."


def new_maze(seed: int) -> tuple[str, int]:
    """A random maze as lines of text, and the next seed."""
    text = maze_text.format_maze(
        next(maze_data.iterate_mazes(SIDE, np.random.default_rng(seed), SIDE)).question
    )
    return "\n".join(text[start : start + SIDE] for start in range(0, SIDE**2, SIDE)), seed + 1


def as_image(text: str) -> UInt8[np.ndarray, "R C 3"]:
    """A maze to click on."""
    panel = Puzzle("maze", SIDE, maze_text.parse_maze(text.replace("\n", ""))).question_panel()
    colours = [[*bytes.fromhex(cell_of(panel, *place).ground[1:])] for place in np.ndindex(SIDE, SIDE)]
    cells = np.array(colours, dtype=np.uint8).reshape(SIDE, SIDE, 3)
    return np.kron(cells, np.ones((PIXELS, PIXELS, 1), dtype=np.uint8))


def paint(text: str, brush: str, clicked: gr.SelectData) -> str:
    """The maze after a click: a wall put or taken away, or the start or goal moved there."""
    rows = [list(row) for row in text.split("\n")]
    column, row = (int(place) // PIXELS for place in clicked.index)
    if brush != "walls":
        rows = [[" " if cell == brush else cell for cell in each] for each in rows]
        rows[row][column] = brush
    elif rows[row][column] in "# ":
        rows[row][column] = " " if rows[row][column] == "#" else "#"
    return "\n".join(map("".join, rows))


def page() -> gr.Blocks:
    """The page; `page().launch()` serves it."""
    blocks: gr.Blocks = gr.Blocks(title="serrm", analytics_enabled=False)
    with blocks:
        gr.Markdown(
            "# serrm\nA small network applied to its own answer again and again. Cells turn from orange to blue as it "
            "becomes sure. Where an answer breaks the rules it fills in a guess (marked in a corner) and tries again."
        )
        budget = gr.Slider(64, 4096, 1024, step=64, label="supervision steps at most", render=False)
        with gr.Tab("Sudoku"), gr.Row():
            with gr.Column():
                text = gr.Textbox(
                    EXAMPLES[0], label="Sudoku of any size; . or 0 for a blank", lines=9, elem_id="sudoku"
                )
                gr.Examples(EXAMPLES, text)
                budget.render()
                button = gr.Button("Solve", variant="primary", elem_id="solve")
            with gr.Column():
                caption, answer = gr.Markdown(elem_id="caption"), gr.HTML()
        button.click(play, [text, budget], [answer, caption])
        with gr.Tab("Maze"), gr.Row():
            first, seed = new_maze(0)
            drawn, seeds = gr.State(first), gr.State(seed)
            with gr.Column():
                image = gr.Image(as_image(first), label="Click to draw", interactive=False, elem_id="drawing")
                brush = gr.Radio(
                    [("walls", "walls"), ("start", "S"), ("goal", "G")], value="walls", label="Draw"
                )
                fresh = gr.Button("New maze")
                find = gr.Button("Find the path", variant="primary", elem_id="find")
            with gr.Column():
                maze_caption, path = gr.Markdown(elem_id="maze-caption"), gr.HTML()
        image.select(paint, [drawn, brush], drawn).then(as_image, drawn, image)
        fresh.click(new_maze, seeds, [drawn, seeds]).then(as_image, drawn, image)
        find.click(play, [drawn, budget], [path, maze_caption])
    return blocks
