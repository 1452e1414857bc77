"""What an evaluation keeps to look at: the first puzzles of each set, in a form that can be drawn."""

import json
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.arrays.stream import Examples
from serrm.drawing.files import read_examples
from serrm.inference.gallery import Gallery
from serrm.inference.predict import Predicted

ANSWER = np.array([2, 3, 4, 5, 4, 5, 2, 3, 3, 2, 5, 4, 5, 4, 3, 2], dtype=np.uint8)


def found(question: UInt8[np.ndarray, " I"], step: int, tokens: UInt8[np.ndarray, " I"]) -> Predicted:
    batch = Examples(question[None], ANSWER[None], np.zeros(1, dtype=np.int64))
    return Predicted(0, batch, step, torch.zeros(1, 16, 6), None, tokens[None])


def test_the_first_of_each_set_are_kept_with_their_steps(tmp_path: Path) -> None:
    gallery = Gallery("sudoku", 2)
    question = np.where(np.arange(16) % 2 == 0, ANSWER, 1).astype(np.uint8)
    for number, name in enumerate(("one", "two", "three")):
        for step in (1, 2):
            predicted = ANSWER if step == 2 else question
            gallery.add("4x4", 4, number, name, found(question, step, predicted), 0)
    gallery.write(tmp_path / "cell")
    examples = json.loads((tmp_path / "cell" / "examples.json").read_text())["examples"]
    assert [each["name"] for each in examples] == ["one", "two"]
    assert [each["is_right"] for each in examples] == [True, True]
    assert [list(each["predictions"]) for each in examples] == [["1", "2"], ["1", "2"]]
    assert len(read_examples(tmp_path / "cell" / "examples.json")) == 2


def test_symbols_of_a_larger_alphabet_can_be_drawn(tmp_path: Path) -> None:
    gallery = Gallery("sudoku", 1)
    predicted = ANSWER.copy()
    predicted[3] = 8  # a digit of the 9×9 grids a model was trained on
    gallery.add("4x4", 4, 0, "one", found(ANSWER, 1, predicted), 0)
    gallery.write(tmp_path / "cell")
    (example,) = json.loads((tmp_path / "cell" / "examples.json").read_text())["examples"]
    assert example["predictions"]["1"][3] == 0 and not example["is_right"]
    assert len(read_examples(tmp_path / "cell" / "examples.json")) == 1
