"""Predictions kept for pictures: the first puzzles of each set, and ARC-AGI's submission."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from serrm.core.files import new_directory
from serrm.core.processes import Processes
from serrm.inference import predict
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS

EXAMPLES, SUBMISSION = "examples.json", "submission.json"


@dataclass
class Gallery:
    """Predictions for pictures of the first `num` puzzles of each set, and ARC's submission.

    `serrm show`, MLflow's pictures and the report draw from the files it writes.
    """

    task: str
    num: int
    examples: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    submission: dict[str, Any] | None = None

    def add(
        self, of: str, side: int, found: predict.Predicted, name: Callable[[int], str], votes: int = 1
    ) -> None:
        """Keep a batch's predictions for the first puzzles of a set, the first of each puzzle's `votes`.

        A model trained on larger grids may answer with symbols outside this size's alphabet; they become padding, 0.
        """
        record, examples = TASKS[self.task], self.examples.setdefault(of, {})
        known = record.alphabet(side).num_symbols
        for row, predicted in enumerate(found.tokens):
            number, vote = divmod(found.start + row, votes)
            if vote or number >= self.num:
                continue
            question, answer = found.batch.questions[row], found.batch.answers[row]
            grids = {"question": question.tolist(), "answer": answer.tolist(), "predictions": {}}
            example = examples.setdefault(number, {"set": of, "side": side, "name": name(number), **grids})
            example["predictions"][str(found.step)] = np.where(predicted < known, predicted, 0).tolist()
            if isinstance(record, GridTask):
                (is_right,) = record.are_right(question[None], predicted[None], answer[None])
            else:
                is_right = np.array_equal(predicted, answer)
            example["is_right"] = bool(is_right)

    def share(self, processes: Processes) -> None:
        """Collect what the processes have kept; all call this together."""
        seen: dict[str, dict[int, dict[str, Any]]] = {}
        for own in processes.collect(self.examples):
            for of, examples in own.items():
                seen.setdefault(of, {}).update(examples)
        self.examples = {of: dict(sorted(examples.items())) for of, examples in seen.items()}

    def write(self, target: Path) -> None:
        """Write examples.json, and submission.json where there is one, to a new folder `target`."""
        with new_directory(target) as folder:
            examples = [example for of_set in self.examples.values() for example in of_set.values()]
            content = {"task": self.task, "examples": examples}
            (folder / EXAMPLES).write_text(json.dumps(content) + "\n", encoding="utf-8")
            if self.submission is not None:
                (folder / SUBMISSION).write_text(json.dumps(self.submission) + "\n", encoding="utf-8")
