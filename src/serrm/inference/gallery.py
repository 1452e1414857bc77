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
from serrm.puzzles.arc.grids import decode
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS

EXAMPLES, SUBMISSION = "examples.json", "submission.json"


@dataclass
class Gallery:
    """Predictions for the first `num` puzzles of each set, and whether those after the most steps are right.

    On ARC-AGI also the submission.

    `serrm show`, MLflow's pictures and the report draw from the files it writes.
    """

    task: str  # a key of TASKS
    num: int
    examples: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    submission: dict[str, Any] | None = None

    def add(
        self,
        set_name: str,
        side: int,
        predicted: predict.Predicted,
        name: Callable[[int], str],
        num_votes: int = 1,
    ) -> None:
        """Keep the predictions of a batch for the first puzzles of a set; of a puzzle's votes only the first.

        A model trained on larger grids may answer with symbols outside this size's alphabet; they become padding, 0.
        """
        record, examples = TASKS[self.task], self.examples.setdefault(set_name, {})
        num_symbols = record.alphabet(side).num_symbols
        for row, prediction in enumerate(predicted.predictions):
            number, vote = divmod(predicted.start + row, num_votes)
            if vote or number >= self.num:
                continue
            question, answer = predicted.batch.questions[row], predicted.batch.answers[row]
            grids = {"question": question.tolist(), "answer": answer.tolist(), "predictions": {}}
            example = examples.setdefault(
                number, {"set": set_name, "side": side, "name": name(number), **grids}
            )
            example["predictions"][str(predicted.step)] = np.where(
                prediction < num_symbols, prediction, 0
            ).tolist()
            if isinstance(record, GridTask):
                (is_right,) = record.are_right(question[None], prediction[None], answer[None])
            else:
                # Padding is neither labelled nor drawn, so only the decoded grids are compared.
                is_right = np.array_equal(decode(prediction, side), decode(answer, side))
            # Of a batch, the predictions after the most steps come last.
            example["is_right"] = bool(is_right)

    def share(self, processes: Processes) -> None:
        """Collect what the processes have kept; all call this together."""
        merged: dict[str, dict[int, dict[str, Any]]] = {}
        for of_process in processes.collect(self.examples):
            for set_name, examples in of_process.items():
                merged.setdefault(set_name, {}).update(examples)
        self.examples = {name: dict(sorted(examples.items())) for name, examples in merged.items()}

    def write(self, target: Path) -> None:
        """Write examples.json, and submission.json where there is one, to a new folder `target`."""
        with new_directory(target) as folder:
            examples = [example for of_set in self.examples.values() for example in of_set.values()]
            content = {"task": self.task, "examples": examples}
            (folder / EXAMPLES).write_text(json.dumps(content) + "\n", encoding="utf-8")
            if self.submission is not None:
                (folder / SUBMISSION).write_text(json.dumps(self.submission) + "\n", encoding="utf-8")
