"""One training from arrays to a finished checkpoint, interruptible at any moment and resumed exactly.

Unfinished work lives in a scratch folder named after the resolved settings, outside everything DVC manages: the
same command resumes, a changed parameter starts afresh. Success moves the result into place.
"""

import logging
import resource
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tqdm import tqdm

from serrm.config import Execution, TrainCell
from serrm.data.manifest import data_hash
from serrm.data.tasks import open_stream
from serrm.models.recurrence import num_parameters
from serrm.models.registry import build_model
from serrm.training import checkpoint as ckpt
from serrm.training.device import prepare_device, supported_settings
from serrm.training.fine_tune import load_initial
from serrm.training.interrupt import Interrupted, StopRequests
from serrm.training.loop import Record, Trainer

log = logging.getLogger(__name__)
SNAPSHOTS = "snapshots"


@dataclass
class Progress:
    """What has been measured so far; part of every checkpoint."""

    records: list[Record] = field(default_factory=list)
    seconds: float = 0.0


def train(
    cell: TrainCell,
    arrays: Path,
    target: Path,
    scratch: Path,
    execution: Execution,
    on_record: Callable[[Record], None] = lambda record: None,
) -> dict[str, Any]:
    """Train `cell` on `arrays` and leave the checkpoint in `target`; returns its config.json.

    Raises Interrupted after `execution.max_seconds`, SIGTERM or Ctrl-C, with a checkpoint in `scratch`.
    """
    run = TrainingRun(cell, arrays, scratch / cell.digest(), execution)
    with StopRequests() as requests:
        is_done = run.train(on_record, requests)
    if not is_done:
        raise Interrupted(
            f"stopped at step {run.trainer.step} of {run.trainer.num_steps}; resume with the same command"
        )
    config = run.config()
    ckpt.write_checkpoint(
        target, run.trainer.averaged_weights(), run.state(), config, snapshots=run.folder / SNAPSHOTS
    )
    shutil.rmtree(run.folder)
    return config


class TrainingRun:
    """A trainer, its scratch folder and its clock."""

    def __init__(self, cell: TrainCell, arrays: Path, folder: Path, execution: Execution) -> None:
        self.cell, self.folder, self.execution = cell, folder, execution
        self.device = prepare_device(execution)
        self.data_hash = data_hash(arrays)
        stream = open_stream(
            arrays,
            cell.arrays.num_augmentations,
            cell.arrays.seed,
            has_identity_twice=cell.fidelity.identity_twice,
        )
        self.num_puzzles = stream.num_examples
        generator = torch.Generator().manual_seed(cell.seed)
        model = build_model(
            cell.model,
            stream.num_symbols,
            generator,
            num_positions=stream.side**2,
            num_task_types=stream.num_task_types,
        ).to(self.device)
        model.recomputes = execution.recompute
        origin = cell.train.init_from
        self.initial_sha256 = None if origin is None else load_initial(model, Path(origin))
        self.trainer = Trainer(
            model, stream, supported_settings(cell.train, self.device), cell.seed, cell.fidelity
        )
        self.progress = Progress()
        self._resume()

    def train(self, on_record: Callable[[Record], None], requests: StopRequests) -> bool:
        """Train until done, a stop request or the end of the time budget; always leaves a checkpoint."""
        start, before = time.monotonic(), self.progress.seconds
        saved = start
        snapshot_steps = self._snapshot_steps()
        bar = tqdm(total=self.trainer.num_steps, initial=self.trainer.step, unit="step", disable=None)
        for record in self.progress.records:
            on_record(record)

        def note(record: Record) -> None:
            self.progress.records.append(record)
            bar.set_postfix(loss=record["loss"], solved=record["train_fsr"], refresh=False)
            on_record(record)

        def should_stop() -> bool:
            nonlocal saved
            now = time.monotonic()
            self.progress.seconds = before + now - start
            bar.update()
            if self.trainer.step in snapshot_steps:
                self._write_snapshot()
            if now - saved >= self.execution.checkpoint_seconds:
                self._save()
                saved = time.monotonic()
            is_over = self.execution.max_seconds is not None and now - start >= self.execution.max_seconds
            return is_over or requests.received is not None

        with bar:
            is_done = self.trainer.run(note, should_stop)
        self._save()
        return is_done

    def config(self) -> dict[str, Any]:
        """config.json: the resolved settings, what they were applied to, and what came out."""
        trainer, last = self.trainer, self.progress.records[-1:]
        return {
            "cell": self.cell.model_dump(mode="json"),
            "data_hash": self.data_hash,
            "code_hash": ckpt.code_hash(),
            "initial_sha256": self.initial_sha256,
            "packages": ckpt.package_versions(),
            "num_symbols": trainer.num_symbols,
            "side": trainer.stream.side,
            "puzzles": list(trainer.stream.puzzle_names),
            "parameters": num_parameters(trainer.model),
            "parameters_with_task_types": num_parameters(trainer.model, has_task_types=True),
            "training": {
                "steps": trainer.step,
                "samples": trainer.slots.position,
                "train_puzzles": self.num_puzzles,
                "seconds": round(self.progress.seconds, 1),
                "puzzle_steps_per_second": round(
                    trainer.step * self.cell.train.batch_size / max(self.progress.seconds, 1e-9), 1
                ),
                "final_loss": last[0]["loss"] if last else None,
                "device": str(self.device),
                "peak_memory_bytes": peak_memory(self.device),
            },
        }

    def state(self) -> dict[str, Any]:
        """The trainer's state with the progress so far."""
        return {**self.trainer.state_dict(), "progress": asdict(self.progress)}

    def _save(self) -> None:
        target = self.folder / f"step_{self.trainer.step:09d}"
        if not target.exists():
            ckpt.write_checkpoint(target, self.trainer.averaged_weights(), self.state(), self.config())
        ckpt.prune(self.folder, keep=target)

    def _resume(self) -> None:
        (self.folder / SNAPSHOTS).mkdir(parents=True, exist_ok=True)
        found = ckpt.latest(self.folder)
        if found is None:
            return
        expected = {"cell": self.cell.model_dump(mode="json"), "data_hash": self.data_hash}
        state = ckpt.read_training_state(found, expected, self.device)
        self.progress = Progress(**state.pop("progress"))
        self.trainer.load_state_dict(state)
        log.info("resuming %s at step %d", self.cell.name, self.trainer.step)
        before = ckpt.read_config(found)["training"]["device"]
        if before != str(self.device):
            log.warning(
                "begun on %s, resuming on %s: the numbers will differ in rounding", before, self.device
            )

    def _snapshot_steps(self) -> set[int]:
        """Evenly spaced steps at which the training log has a record, the last one among them."""
        last, every, num = self.trainer.num_steps, self.cell.train.log_every, self.cell.train.snapshots
        return {min(last, -(-last * part // (num * every)) * every) for part in range(1, num + 1)}

    def _write_snapshot(self) -> None:
        step, samples = self.trainer.step, self.trainer.slots.position
        target = self.folder / SNAPSHOTS / f"step_{step:09d}.safetensors"
        temporary = target.with_suffix(".part")
        weights = {name: value.contiguous() for name, value in self.trainer.averaged_weights().items()}
        facts = {"step": step, "samples": samples, "loss": self.progress.records[-1]["loss"]}
        save_file(weights, temporary, metadata={key: str(value) for key, value in facts.items()})
        temporary.rename(target)


def peak_memory(device: torch.device) -> int:
    """Most memory used so far: of the GPU, or resident in this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
