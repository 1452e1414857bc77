"""Mazes as text and tokens: there and back, and what is no maze is refused with the offending part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.maze.grid import (
    CHARACTERS,
    check_questions,
    format_maze,
    parse_maze,
    side_of,
)
from serrm.puzzles.tasks import TASKS

texts = st.integers(1, 7).flatmap(lambda side: st.text(CHARACTERS, min_size=side**2, max_size=side**2))


@given(texts)
def test_text_becomes_tokens_and_text_again(text: str) -> None:
    tokens = parse_maze(text)
    assert format_maze(tokens) == text
    assert [CHARACTERS[token - 1] for token in tokens] == list(text)
    assert side_of(tokens) ** 2 == len(text)


def test_the_tokens_are_those_of_the_alphabet() -> None:
    # The tokens 0…5 of the task: padding, then the characters in their order.
    assert parse_maze("# SG o#o ").tolist() == [1, 2, 3, 4, 2, 5, 1, 5, 2]
    assert TASKS["maze"].alphabet(3).num_symbols == len(CHARACTERS) + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# S.", r"'\.' at position 4 is none of '# SGo'"),
        ("##\n#", r"'\\n' at position 3"),
        ("€ ##", "'€' at position 1"),
        ("#####", "5 characters make no square maze: '#####'"),
        ("", "0 characters make no square maze"),
    ],
)
def test_what_is_no_maze_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_maze(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SS G", "maze 1 .* 2 starts, 1 goals"),
        ("S   ", "maze 1 .* 1 starts, 0 goals"),
        ("S oG", r"maze 1 .* tokens \[2 3 4 5\]"),
    ],
)
def test_a_question_has_one_start_and_one_goal_and_no_path(text: str, message: str) -> None:
    questions = np.stack([parse_maze("S# G"), parse_maze(text)])
    check_questions(questions[:1])
    with pytest.raises(ValueError, match=message):
        check_questions(questions)
