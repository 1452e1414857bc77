"""Windows of Maze-Hard's training mazes as smaller mazes, in the form of a mirror: to train on before 30×30.

python benchmarks/maze_crops.py FOLDER/train.csv TARGET [--side 15]; params.yaml: source: {kind: mirror, root: TARGET}
"""

from pathlib import Path

import numpy as np
import typer

from serrm.puzzles import maze, raw


def crop(cells: np.ndarray, side: int, min_steps: int, rng: np.random.Generator) -> raw.Puzzle | None:
    """A window of side × side cells with a new start and goal, labelled as in Maze-Hard.

    None if no goal is `min_steps` or more from the start drawn.
    """
    row, col = rng.integers(0, len(cells) - side + 1, 2)
    is_free = (cells[row : row + side, col : col + side] != maze.WALL).reshape(-1)
    start = rng.choice(np.flatnonzero(is_free))
    free, at_start = maze.pack(is_free, side), maze.pack(np.arange(side**2) == start, side)
    goals = sum(list(maze.waves(at_start, free, side))[min_steps:])
    if not goals:
        return None
    goal = rng.choice(np.flatnonzero(maze.unpack(goals, side)))
    return maze.between(is_free, (int(start), int(goal)), "crop")


def main(
    train: Path, target: Path, side: int = 15, min_steps: int = 20, num: int = 20, held_out: int = 100
) -> None:
    """Write `num` windows of each maze in `train`; of the last `held_out` mazes one each, as test mazes."""
    rng, folder = np.random.default_rng(side), target / maze.FOLDER_HARD
    crops: list[list[raw.Puzzle]] = []
    for puzzle in maze.read_csv(train):
        cells = puzzle.question.reshape(2 * [maze.side_of(puzzle.question)])
        drawn = (crop(cells, side, min_steps, rng) for _ in range(1000 * num))
        found = (each for each in drawn if each is not None)
        crops.append([each for each, _ in zip(found, range(num), strict=False)])
    folder.mkdir(parents=True)
    maze.write_csv(folder / "train.csv", [each for of_maze in crops[:-held_out] for each in of_maze])
    maze.write_csv(folder / "test.csv", [of_maze[0] for of_maze in crops[-held_out:]])


if __name__ == "__main__":
    typer.run(main)
