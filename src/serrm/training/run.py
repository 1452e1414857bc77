"""One training from arrays to a finished checkpoint, interruptible at any moment and resumed exactly.

Unfinished work lives in a scratch folder named after the resolved settings, outside everything DVC manages: the
same command resumes, a changed parameter starts afresh. Success moves the result into place.
"""

import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from serrm.config import Execution, TrainCell
from serrm.data.ahead import ReadAhead
from serrm.data.manifest import data_hash
from serrm.data.tasks import open_stream
from serrm.models.operations import count_work
from serrm.models.recurrence import num_parameters
from serrm.models.registry import build_model
from serrm.progress import Bar
from serrm.training import checkpoint as ckpt
from serrm.training.device import peak_memory, prepare_device, supported_settings
from serrm.training.divergence import check_loss, check_trainer
from serrm.training.estimate import estimate
from serrm.training.fine_tune import load_initial
from serrm.training.interrupt import Interrupted, StopRequests
from serrm.training.launch import Requests, run_in_processes
from serrm.training.loop import Trainer
from serrm.training.processes import ALONE, Processes, joined_by_torchrun, under_torchrun
from serrm.training.progress import Manner, Progress
from serrm.training.tally import Record

log = logging.getLogger(__name__)
SNAPSHOTS = "snapshots"
NUM_KEPT = 2  # checkpoints of an unfinished training: should the newest be damaged, there is the one before


def train(
    cell: TrainCell,
    arrays: Path,
    target: Path,
    scratch: Path,
    execution: Execution,
    on_record: Callable[[Record], None] = lambda record: None,
) -> dict[str, Any]:
    """Train `cell` on `arrays` and leave the checkpoint in `target`; returns its config.json.

    Raises Interrupted after `execution.max_seconds`, SIGTERM or Ctrl-C, with a checkpoint in `scratch`; Diverged (a
    ValueError) if the loss explodes.
    """
    part = partial(_train_part, cell, arrays, target, scratch, execution)
    if execution.processes == 1 or under_torchrun():
        with StopRequests() as requests, joined_by_torchrun(execution.device) as processes:
            return part(processes, on_record, requests)
    Processes(num=execution.processes).own(cell.train.batch_size)
    config: dict[str, Any] = run_in_processes(part, execution.processes, execution.device, on_record)
    return config


def _train_part(
    cell: TrainCell,
    arrays: Path,
    target: Path,
    scratch: Path,
    execution: Execution,
    processes: Processes,
    on_record: Callable[[Record], None],
    requests: Requests,
) -> dict[str, Any]:
    """This process's part of the training; the first one writes."""
    run = TrainingRun(cell, arrays, scratch / cell.digest(), execution, processes)
    if not run.train(on_record, requests):
        raise Interrupted(
            f"stopped at step {run.trainer.step} of {run.trainer.num_steps}; resume with the same command"
        )
    config, state = run.config(), run.state()
    if processes.is_first:
        weights = run.trainer.averaged_weights()
        ckpt.write_checkpoint(target, weights, state, config, snapshots=run.folder / SNAPSHOTS)
        shutil.rmtree(run.folder)
    return config


class TrainingRun:
    """A trainer, its scratch folder and its clock."""

    def __init__(
        self, cell: TrainCell, arrays: Path, folder: Path, execution: Execution, processes: Processes = ALONE
    ) -> None:
        self.cell, self.folder, self.execution, self.processes = cell, folder, execution, processes
        self.device = prepare_device(execution, processes)
        self.manner = Manner(str(self.device), processes.num, execution.micro_batch, execution.native)
        self.data_hash = data_hash(arrays)
        used, is_twice = cell.arrays, cell.fidelity.identity_twice
        examples = open_stream(arrays, used.num_augmentations, used.seed, has_identity_twice=is_twice)
        stream = ReadAhead(examples, cell.train.batch_size)
        self.num_puzzles = stream.num_examples
        work = count_work(cell.model, stream.side**2, stream.num_symbols)
        self.operations_of_step = cell.train.batch_size * work.training(cell.train.halting)
        generator = torch.Generator().manual_seed(cell.seed)
        model = build_model(
            cell.model,
            stream.num_symbols,
            generator,
            num_positions=stream.side**2,
            num_task_types=stream.num_task_types,
        ).to(self.device)
        model.is_native, model.recomputes = execution.native, execution.recompute
        origin = cell.train.init_from
        self.initial_sha256 = None if origin is None else load_initial(model, Path(origin))
        settings = supported_settings(cell.train, self.device)
        self.trainer = Trainer(
            model, stream, settings, cell.seed, cell.fidelity, processes, execution.micro_batch
        )
        self.progress = Progress()
        self._resume()

    def train(self, on_record: Callable[[Record], None], requests: Requests) -> bool:
        """Train until done, a stop request or the end of the time budget; always leaves a checkpoint."""
        self._tell_needs()
        start, before = time.monotonic(), self.progress.seconds
        saved = start
        snapshot_steps = self._snapshot_steps()
        num_steps, is_quiet = self.trainer.num_steps, not self.processes.is_first
        bar = Bar(self.cell.name, num_steps, unit="step", done=self.trainer.step, is_quiet=is_quiet)
        for record in self.progress.records:
            on_record(record)

        def note(record: Record) -> None:
            check_loss(record["loss"], self.trainer.num_symbols, self.trainer.step, ckpt.latest(self.folder))
            self.progress.records.append(record)
            bar.words = self.progress.words(self.cell.train.batch_size)
            on_record(record)

        def should_stop() -> bool:
            nonlocal saved
            now = time.monotonic()
            self.progress.seconds = before + now - start
            bar.update()
            if self.trainer.step in snapshot_steps:
                self._write_snapshot()
            is_over = self.execution.max_seconds is not None and now - start >= self.execution.max_seconds
            is_due, is_over = self.processes.agree(
                now - saved >= self.execution.checkpoint_seconds, is_over or requests.received is not None
            )
            if is_due:
                self._save()
                saved = time.monotonic()
            return is_over

        with bar:
            is_done = self.trainer.run(note, should_stop)
        self._save()
        return is_done

    def config(self) -> dict[str, Any]:
        """config.json: the resolved settings, what they were applied to, and what came out.

        All processes have to ask for it together.
        """
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
                "operations": trainer.step * self.operations_of_step,
                "final_loss": last[0]["loss"] if last else None,
                **asdict(self.manner),
                "peak_memory_bytes": sum(self.processes.collect(peak_memory(self.device))),
            },
        }

    def state(self) -> dict[str, Any]:
        """The trainer's state with the progress so far. All processes have to ask for it together."""
        return {**self.trainer.state_dict(), "progress": asdict(self.progress)}

    def _tell_needs(self) -> None:
        """Log what the training will need, or refuse it."""
        if num_steps := self.trainer.num_steps - self.trainer.step:
            log.info("%s %s", self.cell.name, estimate(self.trainer).words(num_steps))

    def _save(self) -> None:
        """Write a checkpoint if it would be a good one, and wait for one another until it is written."""
        check_trainer(self.trainer, ckpt.latest(self.folder))
        state, config = self.state(), self.config()
        if self.processes.is_first:
            target = self.folder / f"step_{self.trainer.step:09d}"
            if not target.exists():
                ckpt.write_checkpoint(target, self.trainer.averaged_weights(), state, config)
            ckpt.prune(self.folder, NUM_KEPT)
        self.processes.agree()

    def _resume(self) -> None:
        found = None
        if self.processes.is_first:
            (self.folder / SNAPSHOTS).mkdir(parents=True, exist_ok=True)
            found = ckpt.latest_sound(self.folder)
        found = self.processes.collect(found)[0]
        if found is None:
            return
        expected = {"cell": self.cell.model_dump(mode="json"), "data_hash": self.data_hash}
        state = ckpt.read_training_state(found, expected, self.device)
        self.progress = Progress(**state.pop("progress"))
        self.trainer.load_state_dict(state)
        log.info("resuming %s at step %d", self.cell.name, self.trainer.step)
        before = Manner.of(ckpt.read_config(found)["training"])
        if self.processes.is_first and (
            change := before.change_to(self.manner, self.cell.model.attention_dropout)
        ):
            log.warning(change)

    def _snapshot_steps(self) -> set[int]:
        """Evenly spaced steps at which the training log has a record, the last one among them."""
        last, every, num = self.trainer.num_steps, self.cell.train.log_every, self.cell.train.snapshots
        return {min(last, -(-last * part // (num * every)) * every) for part in range(1, num + 1)}

    def _write_snapshot(self) -> None:
        if not self.processes.is_first:
            return
        step, samples = self.trainer.step, self.trainer.slots.position
        target = self.folder / SNAPSHOTS / f"step_{step:09d}.safetensors"
        temporary = target.with_suffix(".part")
        weights = {name: value.contiguous() for name, value in self.trainer.averaged_weights().items()}
        facts = {"step": step, "samples": samples, "loss": self.progress.records[-1]["loss"]}
        save_file(weights, temporary, metadata={key: str(value) for key, value in facts.items()})
        temporary.rename(target)
