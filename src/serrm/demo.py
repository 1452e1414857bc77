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

import serrm
from serrm.drawing.panels import PAPER, Cell, Panel, Puzzle, cell_of
from serrm.drawing.svg import grid_svg
from serrm.inference import predict
from serrm.inference.search import GUESS_STEPS, Limits, Search, search
from serrm.puzzles import maze, maze_data
from serrm.puzzles.files import Question, questions_of
from serrm.puzzles.tasks import grid_task
from serrm.solving.model import checkpoint_for

STEPS = 16  # supervision steps of the first attempt
EXAMPLES = [  # a hard Sudoku, an easy one, and one of 4×4
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
    "1......2..3.....",
]
MAZE_SIDE, PIXELS = 8, 40  # cells along a new maze, pixels along a cell
SURE, UNSURE = (169, 209, 234), (243, 190, 110)
COLOURS = (
    (0, 0, 0),
    (58, 58, 58),
    (255, 255, 255),
    (0, 158, 115),
    (204, 121, 167),
    (0, 114, 178),
)  # of maze tokens
SIZE = 480  # pixels along an answer

Tokens = UInt8[np.ndarray, " I"]


class Frame(NamedTuple):
    """An answer on its way: tokens, the largest probability of each cell, and which cells hold a guess."""

    caption: str
    tokens: Tokens
    certainty: Float32[np.ndarray, " I"]
    is_guess: Bool[np.ndarray, " I"]


@cache
def load(name: str) -> serrm.Model:
    """A packaged model, read once."""
    return serrm.load(name, device="cpu")


def settle(question: Question, budget: int) -> Iterator[Frame]:
    """The answer after each supervision step of the first attempt, then after each attempt with guesses.

    Ends with a verified answer, or when `budget` supervision steps are over. ValueError for a puzzle that no packaged
    model takes.
    """
    model, task = load(checkpoint_for(question.task, question.side)), grid_task(question.task)
    assert task.verify is not None
    tokens = question.cells.reshape(-1) + np.uint8(task.offset)
    num_symbols, certainty = task.alphabet(question.side).num_symbols, np.ones(len(tokens), dtype=np.float32)
    shown = torch.from_numpy(tokens[None].astype(np.int64))
    for step, output in predict.predict(model.model, shown, num_symbols, range(1, STEPS + 1)):
        answer = predict.symbols_of(output.logits)
        certainty = output.logits.float().softmax(-1).amax(-1)[0].numpy()
        if task.verify(tokens[None], answer)[0]:
            yield Frame(f"Verified after {step} supervision steps.", answer[0], certainty, tokens != tokens)
            return
        yield Frame(f"Supervision step {step}.", answer[0], certainty, tokens != tokens)
    if task.guessed is None:
        yield Frame(f"Not solved in {STEPS} supervision steps.", answer[0], certainty, tokens != tokens)
        return
    puzzle = Search(0, tokens)
    for guesses in range((budget - STEPS) // GUESS_STEPS):
        next(search(model.model, [puzzle], num_symbols, task, Limits(STEPS, guesses), 1))
        is_guess = puzzle.asked != tokens
        if puzzle.is_verified:
            caption = f"Verified after {puzzle.steps} supervision steps, {is_guess.sum()} guesses in place."
            yield Frame(caption, puzzle.predictions[-1], certainty, is_guess)
            return
        yield Frame(
            f"Attempt {puzzle.attempts}: {is_guess.sum()} guesses.",
            puzzle.predictions[-1],
            certainty,
            is_guess,
        )
    yield Frame(f"Not solved within {budget} supervision steps.", answer[0], certainty, tokens != tokens)


def picture(question: Question, frame: Frame) -> str:
    """An answer as SVG: filled cells go from orange (unsure) to blue (sure), guesses have a corner."""
    side, shape = question.side, question.cells.shape
    tokens = question.cells.reshape(-1) + np.uint8(grid_task(question.task).offset)
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


def play(text: str, budget: float) -> Iterator[tuple[str, str]]:
    """The grid and the line under it for every frame; a puzzle that is none gives a sentence."""
    try:
        questions = list(questions_of(text.strip("\n"), "puzzle"))
        for frame in settle(questions[0], int(budget)):
            yield picture(questions[0], frame), frame.caption
    except ValueError as error:
        yield "", f"{error}."


def new_maze(side: float, seed: int) -> tuple[str, int]:
    """A random maze as lines of text, and the next seed."""
    puzzle = next(maze_data.iterate_mazes(int(side), np.random.default_rng(seed), int(side)))
    text = maze.format_maze(puzzle.question)
    return "\n".join(text[row : row + int(side)] for row in range(0, len(text), int(side))), seed + 1


def as_image(text: str) -> UInt8[np.ndarray, "R C 3"]:
    """A maze to click on."""
    tokens = maze.parse_maze(text.replace("\n", ""))
    side = text.index("\n")
    return np.array(COLOURS, dtype=np.uint8)[tokens.reshape(side, side)].repeat(PIXELS, 0).repeat(PIXELS, 1)


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
    with gr.Blocks(title="serrm") as blocks:
        gr.Markdown(
            "# serrm\nA small network applied to its own answer again and again. Cells turn from orange to blue as it "
            "becomes sure. Where an answer breaks the rules it fills in a guess (framed) and tries again."
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
            first, seed = new_maze(MAZE_SIDE, 0)
            drawn, seeds = gr.State(first), gr.State(seed)
            with gr.Column():
                picture = gr.Image(
                    as_image(first), label="Click to draw", interactive=False, elem_id="drawing"
                )
                brush = gr.Radio(
                    [("walls", "walls"), ("start", "S"), ("goal", "G")], value="walls", label="Draw"
                )
                side = gr.Slider(5, 16, MAZE_SIDE, step=1, label="Side of a new maze")
                fresh = gr.Button("New maze")
                find = gr.Button("Find the path", variant="primary", elem_id="find")
            with gr.Column():
                maze_caption, path = gr.Markdown(elem_id="maze-caption"), gr.HTML()
        picture.select(paint, [drawn, brush], drawn).then(as_image, drawn, picture)
        fresh.click(new_maze, [side, seeds], [drawn, seeds]).then(as_image, drawn, picture)
        find.click(play, [drawn, budget], [path, maze_caption])
    return blocks
