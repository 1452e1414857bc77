"""One training from arrays to a finished checkpoint, interruptible at any moment and resumed exactly.

Unfinished work lives in a scratch folder named after the resolved settings, outside everything DVC manages: the
same command resumes, a changed parameter starts afresh. The folder holds the settings too, so that it can be copied to
another machine and back; who started the training removes it once the result is in place.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from serrm.arrays.stream import read_ahead
from serrm.arrays.training_data import training_hash
from serrm.devices import peak_memory, prepare_device, supported
from serrm.files import write_whole
from serrm.kernels.accelerate import accelerate
from serrm.models.flops import flops
from serrm.models.recurrence import num_parameters
from serrm.processes import ALONE, Processes, joined_by_torchrun
from serrm.progress import progress_bar
from serrm.training import checkpoint as ckpt
from serrm.training.begin import build_cell_model, first_weights, open_cell_stream
from serrm.training.divergence import check_loss, check_trainer
from serrm.training.estimate import estimate
from serrm.training.interrupt import Interrupted, StopRequests
from serrm.training.loop import Trainer
from serrm.training.progress import Manner, Progress, Record
from serrm.training.settings import Execution, TrainCell
from serrm.training.snapshots import SNAPSHOTS, snapshot_steps, write_snapshot

log = logging.getLogger(__name__)
SETTINGS = "settings.json"  # the resolved settings, in the scratch folder
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

    Under torchrun all processes call this together, and the first one writes. The last checkpoint stays in `scratch`,
    so that a call after it takes no step. Raises Interrupted, in the first process, after `execution.max_seconds`,
    SIGTERM or Ctrl-C, with a checkpoint in `scratch`; Diverged (a ValueError) if the loss explodes.
    """
    began, folder = time.monotonic(), scratch / cell.digest()
    with StopRequests() as requests, joined_by_torchrun(execution.device) as processes:
        run = TrainingRun(cell, arrays, folder, execution, processes)
        is_done = run.train(on_record, requests, began)
        step, last = run.trainer.step, run.folder / f"step_{run.trainer.step:09d}"
        if processes.is_first and not is_done:
            raise Interrupted(
                f"stopped at step {step} of {run.trainer.num_steps}; resume with the same command"
            )
        if processes.is_first:
            ckpt.write_result(target, last, run.folder / SNAPSHOTS)
        return ckpt.read_config(last)


class TrainingRun:
    """A trainer, its scratch folder and its clock."""

    def __init__(
        self, cell: TrainCell, arrays: Path, folder: Path, execution: Execution, processes: Processes = ALONE
    ) -> None:
        self.cell, self.folder, self.execution, self.processes = cell, folder, execution, processes
        self.device = prepare_device(execution.device, execution.threads, processes)
        self.manner = Manner(str(self.device), processes.num, execution.micro_batch, execution.native)
        self.data_hash = training_hash(arrays)
        stream = read_ahead(open_cell_stream(cell, arrays), cell.train.batch_size)
        self.num_puzzles = stream.num_examples
        of_a_puzzle = flops(cell.model, stream.side**2, stream.num_symbols, cell.train.halting)
        self.operations_of_step = cell.train.batch_size * of_a_puzzle
        model = build_cell_model(cell, stream).to(self.device)
        found = self._newest()
        self.initial_sha256 = first_weights(model, cell.train.init_from, found)
        precision, compiles = supported(cell.train.precision, cell.train.compile, self.device)
        settings = cell.train.model_copy(update={"precision": precision, "compile": compiles})
        accelerate(model, is_native=execution.native, compiles=compiles)
        self.trainer = Trainer(
            model, stream, settings, cell.seed, cell.fidelity, processes, execution.micro_batch
        )
        self.progress = Progress()
        if found is not None:
            self._resume(found)

    def train(self, on_record: Callable[[Record], None], requests: StopRequests, began: float) -> bool:
        """Train until done, a stop request or the end of the time budget; always leaves a checkpoint.

        The budget counts from `began`, on the clock of time.monotonic: estimate and compiling are in it.
        """
        self._log_needs()
        start, before = time.monotonic(), self.progress.seconds
        saved, writing = start, 0.0
        at_steps, budget = snapshot_steps(self.trainer), self.execution.max_seconds
        num_steps, is_quiet = self.trainer.num_steps, not self.processes.is_first
        bar = progress_bar(self.cell.name, num_steps, unit="step", done=self.trainer.step, is_quiet=is_quiet)
        for record in self.progress.records:
            on_record(record)

        def note(record: Record) -> None:
            check_loss(record["loss"], self.trainer.num_symbols, self.trainer.step, ckpt.latest(self.folder))
            self.progress.records.append(record)
            bar.set_postfix_str(self.progress.words(self.cell.train.batch_size), refresh=False)
            on_record(record)

        def should_stop() -> bool:
            nonlocal saved, writing
            now = time.monotonic()
            self.progress.seconds = before + now - start
            bar.update()
            if self.trainer.step in at_steps and self.processes.is_first:
                write_snapshot(self.folder / SNAPSHOTS, self.trainer, self.progress.records[-1]["loss"])
            is_over = budget is not None and now - began + writing >= budget
            is_due, is_over = self.processes.agree(
                now - saved >= self.execution.checkpoint_seconds, is_over or requests.received is not None
            )
            if is_due:
                self._save()
                saved, writing = time.monotonic(), time.monotonic() - now
            return is_over

        with bar:
            is_done = self.trainer.run(note, should_stop)
        self._save()
        return is_done

    def expected(self) -> dict[str, Any]:
        """What a checkpoint must have been made with, so that this training can go on from it."""
        return {"cell": self.cell.model_dump(mode="json"), "data_hash": self.data_hash}

    def config(self) -> dict[str, Any]:
        """config.json: the resolved settings, what they were applied to, and what came out.

        All processes have to ask for it together.
        """
        trainer, last = self.trainer, self.progress.records[-1:]
        return {
            **self.expected(),
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

    def _log_needs(self) -> None:
        """Log what the training will need, or refuse it."""
        if num_steps := self.trainer.num_steps - self.trainer.step:
            needs = estimate(self.trainer)
            log.info("%s %s", self.cell.name, needs.words(num_steps))

    def _save(self) -> None:
        """Write a checkpoint if it would be a good one, and wait for one another until it is written."""
        check_trainer(self.trainer, ckpt.latest(self.folder))
        state, config = self.state(), self.config()
        if self.processes.is_first:
            target = self.folder / f"step_{self.trainer.step:09d}"
            if not target.exists():
                ckpt.write_checkpoint(target, self.trainer.averaged_weights(), state, config)
            ckpt.prune(self.folder, NUM_KEPT)
        self.processes.agree(True)  # an empty message would not be waited for

    def _newest(self) -> Path | None:
        """The checkpoint to go on from, on all processes the first one's."""
        found = None
        if self.processes.is_first:
            (self.folder / SNAPSHOTS).mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / SETTINGS, self.cell.model_dump_json(indent=2) + "\n")
            found = ckpt.latest_sound(self.folder)
        newest: Path | None = self.processes.collect(found)[0]
        return newest

    def _resume(self, found: Path) -> None:
        state = ckpt.read_training_state(found, self.expected(), self.device)
        self.progress = Progress(**state.pop("progress"))
        self.trainer.load_state_dict(state)
        log.info("resuming %s at step %d", self.cell.name, self.trainer.step)
        before = Manner.of(ckpt.read_config(found)["training"])
        if self.processes.is_first and (
            change := before.change_to(self.manner, self.cell.model.attention_dropout)
        ):
            log.warning(change)
