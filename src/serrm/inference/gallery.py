"""What an evaluation keeps to be looked at: predictions for the first puzzles of each set, and ARC's submission.

The evaluate stage writes it to a folder of its own; `serrm show`, MLflow's pictures and the report draw from it.
"""

import json
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from serrm.manifest import new_directory
from serrm.puzzles.alphabet import alphabet
from serrm.training.processes import Processes

EXAMPLES, SUBMISSION = "examples.json", "submission.json"
Tokens = UInt8[np.ndarray, " I"]


@dataclass
class Gallery:
    """At most `num` examples of each set of one task, by (set, name of the puzzle)."""

    task: str
    num: int
    examples: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    submission: dict[str, Any] | None = None
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)  # places of the puzzles in their sets

    def add(
        self,
        of: str,
        side: int,
        name: str,
        question: Tokens,
        answer: Tokens,
        step: int,
        predicted: Tokens,
        number: int = 0,
    ) -> None:
        """Keep the prediction after `step` supervision steps, if the puzzle is among the set's first.

        `number` is its place in the set.

        A model trained on larger grids may answer with symbols that this one has not: kept as padding, 0.
        """
        known = alphabet(self.task, side).num_symbols
        key = (of, name)
        if key not in self.examples:
            if sum(known == of for known, _ in self.examples) >= self.num:
                return
            self.numbers[key] = number
            self.examples[key] = {
                "set": of,
                "side": side,
                "name": name,
                "question": question.tolist(),
                "answer": answer.tolist(),
                "predictions": {},
            }
        example = self.examples[key]
        example["predictions"][str(step)] = np.where(predicted < known, predicted, 0).tolist()
        example["is_right"] = bool(np.array_equal(predicted, answer))

    def share(self, of: str, processes: Processes) -> None:
        """Keep the first examples of a set that any of the processes has seen; all do this together."""
        own = [(self.numbers[key], key, each) for key, each in self.examples.items() if key[0] == of]
        of_all = chain.from_iterable(processes.collect(own))
        seen = sorted(of_all, key=lambda entry: entry[:2])[: self.num]
        for _, key, _ in own:
            del self.examples[key]
        self.examples |= {key: example for _, key, example in seen}
        self.numbers |= {key: number for number, key, _ in seen}

    def write(self, target: Path) -> None:
        """Write examples.json, and submission.json where there is one, to a new folder `target`."""
        with new_directory(target) as folder:
            content = {"task": self.task, "examples": list(self.examples.values())}
            (folder / EXAMPLES).write_text(json.dumps(content) + "\n", encoding="utf-8")
            if self.submission is not None:
                (folder / SUBMISSION).write_text(json.dumps(self.submission) + "\n", encoding="utf-8")
