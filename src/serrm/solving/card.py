"""The model card of a checkpoint, made from the facts of its config.json."""

from collections.abc import Iterator, Mapping
from typing import Any

from serrm.training.settings import TrainCell

CARD = "README.md"


def model_card(cell: TrainCell, config: Mapping[str, Any], name: str) -> str:
    """Markdown with the header that the Hub reads."""
    rows = "\n".join(f"| {what} | {said} |" for what, said in _facts(cell, config))
    return f"""---
library_name: serrm
tags: [serrm, {cell.model.family}, {cell.task}, recurrent-reasoning]
---
# {name}

A recurrent reasoning model that solves puzzles by applying one small network to its own answer, again and again.

| | |
|---|---|
{rows}

```python
import serrm

model = serrm.load("{name}")
[answer] = model.solve(puzzle)
print(answer.answer, answer.status)  # verified: it obeys the rules and keeps what was given
```

All settings are in `config.json`. `serrm evaluate` scores the model on your puzzles.
"""


def _facts(cell: TrainCell, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    training = config.get("training", {})
    yield "task", f"{cell.task}, grids of side {config['side']}, {config['num_symbols']} symbols"
    yield "model", f"{cell.variant}, of the family {cell.model.family}, width {cell.model.width}"
    if "parameters" in config:
        total = config.get("parameters_with_task_types", config["parameters"])
        yield "parameters", f"{total:,}, task types included"
    if training:
        yield "trained on", f"{training['train_puzzles']:,} puzzles, data {config['data_hash'][:12]}"
        yield "training", f"{training['steps']:,} steps of {cell.train.batch_size}, seed {cell.seed}"
        yield "took", f"{training['seconds']:,} s on {training['device']}"
        yield "final loss", str(training["final_loss"])
    if "packages" in config:
        yield "made with", ", ".join(f"{name} {version}" for name, version in config["packages"].items())
    if "imported" in config:
        yield "weights from", config["imported"]["file"]
