"""The Python API: a model that answers puzzles, loaded from its folder, the package or the Hub.

`import serrm` offers `serrm.load` and `serrm.Model`. `serrm solve`, MLflow's models and the Hub use a `Model`, too: a
`LoadedModel`, as the stages evaluate it, with methods for users.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, overload

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from serrm.core.devices import choose_device
from serrm.core.files import write_whole
from serrm.inference.predict import LoadedModel, load_model, predict
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.reading.question import Question
from serrm.reading.reader import questions_of, read_argument
from serrm.solving.solve import Answer, SolveOptions, in_order, solve
from serrm.training.checkpoint import CONFIG, write_checkpoint
from serrm.training.identity import MODEL, SUMS
from serrm.training.settings import RunSettings

CARD = "README.md"
PACKAGED = Path(str(files("serrm") / "checkpoints"))
SHIPPED = frozenset({MODEL, CONFIG, SUMS, CARD})  # what `save_pretrained` writes


class Solver:
    """Answers to puzzles, of one model or of several."""

    def model_for(self, question: Question) -> LoadedModel:
        """Choose the model that answers a puzzle. ValueError if there is none."""
        raise NotImplementedError

    def solve(self, puzzles: Any, **options: Any) -> list[Answer]:
        """Answer every puzzle, in order.

        An answer whose `status` is verified obeys the rules and keeps what was given; a path through a maze may still
        be longer than the shortest one.

        Args:
            puzzles: one or a sequence of them: a Sudoku as text (`.` or `0` for a blank) or as an array `n n` of
                0…n; Sudoku as an array `B n n`; a maze as text of `# SG`; an ARC puzzle as decoded JSON, whose test
                inputs are all answered; a file of puzzles as a `Path` or, if it is not in a sequence, as text that
                names an existing file.
            options: fields of `SolveOptions`, such as `budget`, `is_exact`, `has_trace`.

        Raises:
            ValueError: an input is not a puzzle, or the device has too little memory for the batch.
        """
        questions = read_argument(puzzles) if isinstance(puzzles, str) else list(questions_of(puzzles))
        return list(in_order(self.answers(questions, SolveOptions(**options))))

    def answers(self, questions: Sequence[Question], options: SolveOptions) -> Iterator[tuple[int, Answer]]:
        """Yield (number of the question, its answer) in the order of completion."""
        return solve(questions, self.model_for, options)


@dataclass(frozen=True)
class Model(LoadedModel, Solver):
    """A checkpoint in use: `model` is the network, `settings` its settings, `config` its config.json."""

    def model_for(self, question: Question) -> "Model":
        """Answer every puzzle by this model."""
        return self

    def predict(
        self,
        tokens: Integer[Tensor, "B I"],
        steps: int | Sequence[int] = 16,
        task_types: Integer[Tensor, " B"] | None = None,
    ) -> dict[int, Float[Tensor, "B I K"]]:
        """Compute logits after each requested number of supervision steps, all in one pass.

        Args:
            tokens: grids of I cells, row by row, in the task's alphabet (Sudoku: 1 blank, 2…n+1 digits).
            steps: one or several.
            task_types: rows of the task-type table, one per variant of an ARC puzzle; by default 0.

        Raises:
            ValueError: a token that the task does not have, no step, or a size that the model cannot take.
        """
        depths, device = {steps} if isinstance(steps, int) else set(steps), self.model.initial.device
        side = math.isqrt(tokens.shape[1])
        if side**2 != tokens.shape[1]:
            raise ValueError(f"grids are square, so they have side² cells, not {tokens.shape[1]}")
        num_symbols = alphabet(self.settings.task, side).num_symbols
        if not depths or min(depths) < 1:
            raise ValueError(f"steps must be at least 1, got {steps}")
        if wrong := [token for token in tokens.unique().tolist() if not 0 <= token < num_symbols]:
            raise ValueError(f"token {wrong[0]} is out of range: this task and size has {num_symbols} tokens")
        types = torch.zeros(len(tokens), dtype=torch.long) if task_types is None else task_types
        vectors = self.model.task_vectors(types.to(device).long())
        questions = tokens.to(device).long()
        outputs = predict(self.model, questions, num_symbols, sorted(depths), task_vectors=vectors)
        return {step: output.logits for step, output in outputs}

    def save_pretrained(self, folder: str | Path, name: str = "") -> None:
        """Write weights, settings, checksums and a model card; `name` heads the card.

        The checkpoint appears as a whole folder, to which the card is then added.

        Raises ValueError rather than replace a folder that holds anything else.
        """
        target = Path(folder)
        if target.exists() and (other := sorted({path.name for path in target.iterdir()} - SHIPPED)):
            raise ValueError(
                f"{target}: contains {other[0]}, which is not part of a saved model; choose a new folder"
            )
        write_checkpoint(target, self.model.state_dict(), None, self.config)
        write_whole(target / CARD, model_card(self.settings, name or target.name))

    def push_to_hub(self, repo_id: str, *, private: bool | None = None, token: str | None = None) -> str:
        """Save to a repository of the Hub, which is created if needed; returns the address of the commit."""
        from huggingface_hub import HfApi

        api = HfApi(token=token)
        api.create_repo(repo_id, private=private, exist_ok=True)
        with TemporaryDirectory() as temporary:
            folder = Path(temporary) / "model"
            self.save_pretrained(folder, repo_id)
            return str(api.upload_folder(repo_id=repo_id, folder_path=folder, commit_message="Add model"))

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, device: str = "auto", accelerate: bool = True, **options: Any
    ) -> "Model":
        """Load the packaged model of that name, else the one in a folder, else `owner/name` from the Hub.

        A `Path` is always a folder. With `accelerate=False` no kernel replaces a part of the network, as torch.export
        needs it. `options` are those of huggingface_hub's downloads, such as `revision`, `token`.

        Raises ValueError if the name is none of these or the checkpoint is damaged.
        """
        folder = folder_of(name) if isinstance(name, str) else name
        if isinstance(name, str) and not folder.is_dir():
            folder = _from_hub(name, options)
        loaded = load_model(folder, choose_device(device), is_accelerated=accelerate)
        return cls(loaded.model, loaded.config)


class Router(Solver):
    """The packaged checkpoints, which answer puzzles of their task and size; each is loaded at its first use."""

    def __init__(self, device: str = "auto") -> None:
        self.device = device
        self.models: dict[str, Model] = {}  # those loaded so far

    def __repr__(self) -> str:
        """Name the checkpoints."""
        return f"Router({', '.join(packaged_names())})"

    def model_for(self, question: Question) -> Model:
        """Choose the packaged model for a puzzle. ValueError if there is none."""
        name = packaged_name_for(question)
        if name not in self.models:
            self.models[name] = Model.from_pretrained(PACKAGED / name, device=self.device)
        return self.models[name]


@overload
def load(name: None = None, *, device: str = "auto") -> Router: ...


@overload
def load(name: str | Path, *, device: str = "auto", **options: Any) -> Model: ...


@overload
def load(name: str | Path | None, *, device: str = "auto", **options: Any) -> Model | Router: ...


def load(name: str | Path | None = None, *, device: str = "auto", **options: Any) -> Model | Router:
    """Load a model (`Model.from_pretrained`), or without a name a router of the packaged models."""
    return Router(device) if name is None else Model.from_pretrained(name, device=device, **options)


def packaged_name_for(question: Question) -> str:
    """Name the packaged checkpoint for a puzzle of this task and size. ValueError if there is none."""
    record = TASKS.get(question.task)
    if isinstance(record, GridTask) and record.checkpoint is not None:
        return record.checkpoint(question.side)
    raise ValueError(
        f"{question.place}: there is no packaged checkpoint for task {question.task}; give a checkpoint"
    )


def packaged_names() -> list[str]:
    """List the checkpoints that came with the package."""
    return sorted(path.parent.name for path in PACKAGED.glob(f"*/{CONFIG}"))


def folder_of(name: str) -> Path:
    """Find the packaged checkpoint of that name, else the folder."""
    return PACKAGED / name if name in packaged_names() else Path(name)


def existing_folder_of(name: str) -> Path:
    """Find the packaged checkpoint of that name, else the folder. ValueError if there is neither."""
    folder = folder_of(name)
    if not folder.is_dir():
        known = ", ".join(packaged_names()) or "none"
        raise ValueError(f"no checkpoint {name!r}: not a folder, and not a packaged checkpoint ({known})")
    return folder


def _from_hub(name: str, options: dict[str, Any]) -> Path:
    if name.count("/") != 1 or name[0] in "./":
        known = ", ".join(packaged_names()) or "there are none"
        raise ValueError(
            f"{name!r} is neither a folder, nor a packaged checkpoint ({known}), nor a Hub name (owner/name)"
        )
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(name, allow_patterns=[MODEL, CONFIG, SUMS], **options))


def model_card(run: RunSettings, name: str) -> str:
    """Write the card in Markdown with the header that the Hub reads."""
    return f"""---
library_name: serrm
tags: [serrm, {run.model.family}, {run.task}, recurrent-reasoning]
---
# {name}

A recurrent reasoning model that solves puzzles by applying one small network to its own answer, again and again.

```python
import serrm

model = serrm.load("{name}")
[answer] = model.solve(puzzle)
print(answer.answer, answer.status)  # verified: obeys the rules and keeps the clues
```

Settings, training and data are in `config.json`. `serrm evaluate` scores the model on your puzzles.
"""
