"""What an evaluation keeps to be looked at: predictions for the first puzzles of each set, and ARC's submission.

The evaluate stage writes it to a folder of its own; `serrm show`, MLflow's pictures and the report draw from it.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from serrm.inference.predict import Predicted
from serrm.manifest import new_directory
from serrm.puzzles.tasks import alphabet
from serrm.training.processes import Processes

EXAMPLES, SUBMISSION = "examples.json", "submission.json"


@dataclass
class Gallery:
    """At most `num` examples of each set of one task, by the set and their numbers in it."""

    task: str
    num: int
    examples: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    submission: dict[str, Any] | None = None

    def add(self, of: str, side: int, number: int, name: str, found: Predicted, place: int) -> None:
        """Keep the prediction at a place of a batch, of the puzzle with this number, if it is among the set's first.

        A model trained on larger grids may answer with symbols that this one has not: kept as padding, 0.
        """
        examples = self.examples.setdefault(of, {})
        if number not in examples and len(examples) >= self.num:
            return
        batch, predicted = found.batch, found.tokens[place]
        grids = {"question": batch.questions[place].tolist(), "answer": batch.answers[place].tolist()}
        new = {"set": of, "side": side, "name": name, **grids, "predictions": {}}
        example = examples.setdefault(number, new)
        known = alphabet(self.task, side).num_symbols
        example["predictions"][str(found.step)] = np.where(predicted < known, predicted, 0).tolist()
        example["is_right"] = bool(np.array_equal(predicted, batch.answers[place]))

    def share(self, of: str, processes: Processes) -> None:
        """Keep the first examples of a set that any of the processes has seen; all do this together."""
        of_all = processes.collect(self.examples.get(of, {}))
        seen = {number: example for own in of_all for number, example in own.items()}
        self.examples[of] = {number: seen[number] for number in sorted(seen)[: self.num]}

    def write(self, target: Path) -> None:
        """Write examples.json, and submission.json where there is one, to a new folder `target`."""
        with new_directory(target) as folder:
            examples = [example for of_set in self.examples.values() for example in of_set.values()]
            content = {"task": self.task, "examples": examples}
            (folder / EXAMPLES).write_text(json.dumps(content) + "\n", encoding="utf-8")
            if self.submission is not None:
                (folder / SUBMISSION).write_text(json.dumps(self.submission) + "\n", encoding="utf-8")
