"""A prompt says the rules of its size and holds the puzzle, so that both can be read out of it."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.asking.prompts import sudoku_prompt


@settings(max_examples=30)
@given(st.sampled_from([4, 6, 9, 16, 25]), st.integers(0, 2**32 - 1))
def test_the_puzzle_stands_in_its_prompt(side: int, seed: int) -> None:
    question = np.random.default_rng(seed).integers(0, side + 1, side * side).astype(np.uint8)
    (block,) = re.findall(r"```\n(.*?)\n```", sudoku_prompt(question), re.DOTALL)
    cells = [0 if cell == "." else int(cell) for cell in block.split()]
    assert cells == question.tolist()
    assert len(block.splitlines()) == side


@pytest.mark.parametrize(("side", "boxes"), [(6, "2 rows by 3"), (16, "4 rows by 4")])
def test_a_prompt_says_the_rules_of_its_size(side: int, boxes: str) -> None:
    prompt = sudoku_prompt(np.zeros(side * side, np.uint8))
    for rule in (
        f"{side}×{side} Sudoku",
        f"from 1 to {side} ",
        f"({boxes} columns)",
        f"{side} lines of {side}",
    ):
        assert rule in prompt
