"""The alphabets of the three subjects."""

import pytest

from serrm.puzzles.alphabet import ARC, MAZE, sudoku_alphabet


@pytest.mark.parametrize("n", [4, 6, 9, 16, 25])
def test_sudoku_has_padding_blank_and_n_digits(n: int) -> None:
    alphabet = sudoku_alphabet(n)
    assert alphabet.num_symbols == n + 2
    assert alphabet.special == (0, 1)
    assert alphabet.usual == tuple(range(2, n + 2))


def test_maze_and_arc_sizes() -> None:
    assert (MAZE.num_symbols, MAZE.special) == (6, (0, 1))
    assert (ARC.num_symbols, ARC.special) == (12, (0, 1))
