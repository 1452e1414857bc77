"""Generated mazes: a tree of passages, one path of the wanted length, none an image of another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles import maze as data
from serrm.puzzles.maze import (
    canonical,
    has_unique_shortest_path,
    is_shortest_path,
    iterate_mazes,
    num_steps,
    pack,
    tree_cells,
    unpack,
    waves,
)
from tests.references import generate_mazes


@given(st.integers(3, 12), st.data(), st.integers(0, 2**32))
def test_the_label_is_the_only_path_and_long_enough(side: int, data: st.DataObject, seed: int) -> None:
    min_path = data.draw(st.integers(2, side // 2 * 2 + 1))
    for puzzle in generate_mazes(side, 3, np.random.default_rng(seed), min_path):
        assert has_unique_shortest_path(puzzle.question)
        assert is_shortest_path(puzzle.question, puzzle.answer)
        assert (puzzle.side, puzzle.rating) == (side, num_steps(puzzle.answer))
        assert num_steps(puzzle.answer) + 1 >= min_path


def test_no_maze_is_an_image_of_another() -> None:
    # There are few mazes of 5×5, so that repeats occur and are passed over.
    mazes = generate_mazes(5, 300, np.random.default_rng(0), 4)
    assert len({canonical(maze.question, 5) for maze in mazes}) == 300


def test_start_and_goal_are_drawn_evenly_from_all_pairs_far_enough_apart() -> None:
    # Of a passage of five cells the pairs with 3 steps and more are (0, 3), (0, 4), (1, 4) and back.
    is_free = np.arange(25) < 5
    rng = np.random.default_rng(0)
    drawn = [data._draw_ends(is_free, 5, rng, 3) for _ in range(600)]
    counts = {pair: drawn.count(pair) for pair in {*drawn}}
    assert counts.keys() == {(0, 3), (0, 4), (1, 4), (3, 0), (4, 0), (4, 1)}
    # 100 draws each: standard deviation 9.1.
    assert max(abs(num - 100) for num in counts.values()) < 5 * 9.1


@given(st.integers(2, 15), st.integers(0, 2**32))
def test_walls_leave_all_rooms_in_one_tree(side: int, seed: int) -> None:
    is_free = tree_cells(side, np.random.default_rng(seed))
    board = pack(is_free, side)
    assert np.array_equal(unpack(sum(waves(board & -board, board, side)), side), is_free)
    grid = is_free.reshape(side, side)
    assert grid[::2, ::2].all() and not grid[1::2, 1::2].any()
    num_links = (grid[1:] & grid[:-1]).sum() + (grid[:, 1:] & grid[:, :-1]).sum()
    assert num_links == grid.sum() - 1


def test_giving_up_is_an_error_and_not_an_endless_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "MAX_ATTEMPTS", 50)
    with pytest.raises(ValueError, match="5x5 maze with 18 cells"):
        next(iterate_mazes(5, np.random.default_rng(0), 18))
    with pytest.raises(ValueError, match="different mazes of 3x3"):
        generate_mazes(3, 100, np.random.default_rng(0), 2)
