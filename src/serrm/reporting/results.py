"""What evaluation found: the metric files of a profile's cells, read back for tables and figures.

A cell is (task, model variant, seed) and its file is `<task>-<variant>-s<seed>.json`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

# All seeds of a (task, variant), in the order of the profile's cells.
Results = dict[tuple[str, str], "list[Evaluation]"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class ModelInfo(_Part):
    """The model's family and size, without and with its task-type embeddings."""

    family: str
    parameters: int
    parameters_with_task_types: int


class Training(_Part):
    """How long the model was trained."""

    steps: int
    samples: int
    seconds: float


class TrainingData(_Part):
    """What it was trained on."""

    source: str
    train_puzzles: int


class ScoredSet(_Part):
    """Scores of a set by number of supervision steps: fractions `<metric>`, `<metric>_lo`, `<metric>_hi`."""

    status: Literal["scored"]
    num_puzzles: int
    steps: dict[int, dict[str, float]]


class RefusedSet(_Part):
    """A set whose size the model cannot take."""

    status: Literal["cannot_extrapolate"]
    reason: str


class Evaluation(_Part):
    """One metric file; keys that no table needs are left unread."""

    profile: str
    task: str
    model: str
    seed: int
    model_info: ModelInfo
    training: Training
    data: TrainingData
    deviations: tuple[str, ...]
    sets: dict[str, Annotated[ScoredSet | RefusedSet, Field(discriminator="status")]]
    learning_curve: tuple[dict[str, float], ...]


def load_results(cells: Sequence[tuple[str, str, int]], folder: Path) -> Results:
    """Read the metric file of each (task, variant, seed).

    Raises:
        ValueError: a file is missing, malformed, or of another cell than its name says.
    """
    results: Results = {}
    for task, variant, seed in cells:
        path = folder / f"{task}-{variant}-s{seed}.json"
        evaluation = _read(path)
        if (evaluation.task, evaluation.model, evaluation.seed) != (task, variant, seed):
            raise ValueError(f"{path}: holds {evaluation.task}, {evaluation.model}, seed {evaluation.seed}")
        results.setdefault((task, variant), []).append(evaluation)
    return results


def _read(path: Path) -> Evaluation:
    if not path.is_file():
        raise ValueError(f"{path}: no such metric file; has this cell been evaluated?")
    try:
        return Evaluation.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{path}: {where or 'file'}: {first['msg']}") from error
