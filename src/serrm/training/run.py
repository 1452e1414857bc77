"""A training run from arrays to its checkpoint, interruptible at any moment and resumed bit for bit.

An unfinished run is in a scratch folder named after its identity (`serrm.training.identity`), outside everything DVC
manages. The same command resumes it; with other settings, data, code or arithmetic another run starts, in a folder of
its own. The folder holds the settings too, so that it can be copied to another machine and back. The stage `train`
removes it once the result is in place; `python -m serrm.training` leaves it.
"""

import logging
import math
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import torch

from serrm.arrays import check_task, open_stream, training_hash
from serrm.arrays.stream import Stream, read_ahead
from serrm.core import devices
from serrm.core.execution import Execution
from serrm.core.files import hash_file, parse_file, read_json, write_json, write_whole
from serrm.core.processes import ALONE, Processes, joined_by_torchrun
from serrm.core.progress import progress_bar
from serrm.core.provenance import package_hash
from serrm.kernels.accelerate import accelerate
from serrm.kernels.precision import EXACT, arithmetic, arithmetic_kind, resolved_precision
from serrm.models.recurrence import RecurrentModel, num_parameters
from serrm.models.settings import ModelSizes
from serrm.training import checkpoint as ckpt
from serrm.training.flops import training_flops
from serrm.training.identity import (
    IDENTITY,
    LOCK,
    MODEL,
    Identity,
    PipelineRun,
    Unfinished,
    lock_folder,
    unfinished_trainings,
)
from serrm.training.log import Record, TrainingLog
from serrm.training.loop import Trainer
from serrm.training.scratch import SETTINGS, write_facts
from serrm.training.settings import CheckpointConfig, RunSettings, TrainingFacts
from serrm.training.slots import has_slots
from serrm.training.trial import warm_up

log = logging.getLogger(__name__)
MEASURED_FILE = "measured.json"  # the seconds, memory and device of the run so far, there too
NUM_KEPT = 2  # checkpoints kept of an unfinished run, in case the newest is damaged
# The facts of a training on which rounding and the masks of dropout depend.
HARDWARE = ("device", "processes", "micro_batch", "native")
EXPLODED = 10.0  # times log K, the loss of guessing; no run recovers from there
EXIT_RESUMABLE = 75  # EX_TEMPFAIL of sysexits.h: the run is unfinished and nothing is wrong


class Interrupted(SystemExit):
    """Training stopped early with a checkpoint, and the same command resumes it; uncaught, the exit code is 75."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = EXIT_RESUMABLE


@contextmanager
def stop_requests() -> Iterator[list[str]]:
    """Collect the name of a SIGTERM or Ctrl-C instead of ending the process; a second signal acts as usual."""
    names: list[str] = []

    def collect(number: int, _: object) -> None:
        names.append(signal.Signals(number).name)
        restore()

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    handlers = {number: signal.signal(number, collect) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield names
    finally:
        restore()


class Trained(NamedTuple):
    """A finished training: the config.json of its checkpoint, and its scratch folder, which may be removed."""

    config: CheckpointConfig
    folder: Path


def train(
    run: RunSettings,
    arrays: Path,
    target: Path,
    scratch: Path,
    execution: Execution,
    *,
    pipeline_run: PipelineRun | None = None,
    check_inputs: Callable[[], None] = lambda: None,
) -> Trained:
    """Train `run` on `arrays` and leave the checkpoint in `target`.

    Under torchrun all processes call this together, and the first one writes. The last checkpoint stays in `scratch`,
    so calling again trains no further. All need the same `scratch`, as each reads the checkpoint from which it resumes.
    `check_inputs` is called when the training has finished; if it raises, the result stays in `scratch`. Without a
    `pipeline_run` the code of the whole package counts.
    After `execution.max_seconds`, SIGTERM or Ctrl-C there is a checkpoint in `scratch`; the first process then raises
    Interrupted, and the others return the config of this checkpoint. ValueError if the loss explodes.
    """
    end = time.monotonic() + (execution.max_seconds or math.inf)
    with stop_requests() as requests, joined_by_torchrun(execution.device) as processes:
        training = TrainingRun(run, arrays, scratch, execution, processes, pipeline_run)
        try:
            training.run_steps(requests, end)
        finally:
            training.close()
        step, num_steps = training.trainer.step, training.trainer.num_optimiser_steps
        last = training.checkpoint
        # Only the first process reads it, which may remove it before the others have come this far.
        config_of_first = ckpt.read_config(last) if processes.is_first else None
        config: CheckpointConfig = processes.collect(config_of_first)[0]
        if processes.is_first:
            if step < num_steps:
                message = f"stopped at step {step} of {num_steps}; resume with the same command"
                log.warning(message)
                raise Interrupted(message)
            check_inputs()
            ckpt.write_result(target, last, training.folder / ckpt.SNAPSHOTS)
        return Trained(config, training.folder)


def read_measured(folder: Path) -> dict[str, Any]:
    """Read the measurements of the run in this scratch folder (`TrainingRun.measured`); empty if there are none."""
    return read_json(folder / MEASURED_FILE)


def moved_run(settings: Path) -> PipelineRun | None:
    """Find the place in a pipeline of a run whose scratch folder holds this settings file, perhaps on another machine.

    None outside of a scratch folder, or if the package here is not the one that made its newest checkpoint.
    """
    file = settings.with_name(IDENTITY)
    if not file.is_file() or read_measured(settings.parent).get("code_hash") != package_hash():
        return None
    identity = parse_file(file, Identity.model_validate_json)
    return PipelineRun(identity.profile, identity.run, identity.code)


class TrainingRun:
    """A trainer with its records so far, resumed from its scratch folder and saved there."""

    def __init__(
        self,
        run: RunSettings,
        arrays: Path,
        scratch: Path,
        execution: Execution,
        processes: Processes = ALONE,
        pipeline_run: PipelineRun | None = None,
    ) -> None:
        self.settings, self.scratch, self.execution, self.processes = run, scratch, execution, processes
        self.records: list[Record] = []
        self.seconds = 0.0  # of training, over all interruptions
        self.peak_memory = 0  # bytes of all processes together, the most before an interruption
        self.other_code: dict[str, Any] | None = None  # the code of earlier steps, if it was another
        self.refilled: list[int] = []  # the numbers of steps after which all slots were filled anew
        self.lock: TextIO | None = None
        self.code_hash = package_hash()
        self.device = devices.prepare_device(execution.device, execution.threads, processes)
        check_task(arrays, run.task)
        self.data_hash = training_hash(arrays)
        examples = open_stream(arrays, run.arrays.num_augmentations, run.arrays.seed, hints=run.train.hints)
        stream = read_ahead(examples, run.train.batch_size)
        model = build_run_model(run, stream).to(self.device)
        init_from = run.train.init_from  # of fine-tuning
        self.initial_sha256 = None if init_from is None else load_initial(model, Path(init_from))
        steps_before, self.samples_before = self._counts_before()
        self.compiles = run.train.compile and self.device.type != "cpu"
        accelerate(
            model,
            allows_native=execution.native,
            compiles=self.compiles,
            # Every piece would record its graphs, and a second backward pass overwrite the gradients of the first.
            allows_graphs=execution.micro_batch is None and run.train.steps_per_update == 1,
            allows_triton=execution.triton,
        )
        self.precision: str = processes.collect(resolved_precision(run.train.precision, self.device))[0]
        self.arithmetic = arithmetic(model, self.precision)
        profile, name, code = pipeline_run or PipelineRun("", run.name, self.code_hash)
        self.identity = Identity(
            profile=profile,
            run=name,
            settings=run.digest(),
            data="+".join(filter(None, [self.data_hash, self.initial_sha256])),
            code=code,
            arithmetic=processes.collect(arithmetic_kind(model, self.precision))[0],
        )
        self.folder = scratch / self.identity.folder_name
        settings = run.train.model_copy(update={"precision": self.precision})
        self.trainer = Trainer(
            model, stream, settings, run.seed, run.fidelity, processes, execution.micro_batch, steps_before
        )
        newest = self._prepare_folder()
        if newest is None and run.train.continues and init_from is not None:
            newest = Path(init_from)
        if newest is not None:
            self._resume(newest)

    def _counts_before(self) -> tuple[int, int]:
        """Count the steps and samples of the training that this one continues, with those before it; 0 if it does not.

        ValueError if there is none to continue, or if it has another model, batch size, optimiser or data.
        """
        run = self.settings
        if not run.train.continues:
            return 0, 0
        if run.train.init_from is None:
            raise ValueError(
                "train.continues: needs the `init` of a run, the training to continue (got random)"
            )
        init = Path(run.train.init_from)
        config = ckpt.read_config(init)
        facts = config.training
        if facts is None:
            raise ValueError(
                f"train.continues: {init} holds published weights, from which no training continues"
            )
        if not (init / ckpt.STATE).is_file():
            raise ValueError(f"train.continues: {init} holds weights alone, from which no training continues")
        train = config.run.train
        differs = {
            "model": config.run.model != run.model,
            "train.batch_size": train.batch_size != run.train.batch_size,
            "train.optimizer": train.optimizer != run.train.optimizer,
            "data": config.data_hash != self.data_hash,
        }
        if any(differs.values()):
            names = ", ".join(name for name, is_other in differs.items() if is_other)
            raise ValueError(f"train.continues: {init} was trained with other settings (got another {names})")
        return facts.steps_before + facts.steps, facts.samples_before + facts.samples

    @property
    def checkpoint(self) -> Path:
        """Path of the current step's checkpoint."""
        return self.folder / f"step_{self.trainer.step:09d}"

    def run_steps(self, requests: list[str], end: float) -> None:
        """Train until the last step, a stop request or time `end` of time.monotonic(); always leave a checkpoint."""
        trainer, is_first = self.trainer, self.processes.is_first
        training_log = TrainingLog(self.folder, self.records) if is_first else None
        if trainer.step < trainer.num_optimiser_steps:
            warm_up(trainer)
        seconds_before, start = self.seconds, time.monotonic()
        save_time = start  # when the last checkpoint was complete
        write_seconds = 0.0  # seconds that it took to write
        steps_with_snapshot = snapshot_steps(trainer)
        bar = progress_bar(
            self.settings.name,
            trainer.num_optimiser_steps,
            unit="step",
            done=trainer.step,
            is_quiet=not is_first,
        )
        with bar:
            for record in trainer.steps():
                self.seconds = seconds_before + time.monotonic() - start
                if record is not None:
                    self._check_loss(record["loss"])
                    self.records.append(record)
                    if training_log is not None:
                        training_log.append(record)
                    result = f"loss {record['loss']:.4g}, {record['train_fsr']:.1%} solved"
                    bar.set_postfix_str(f"{result}, {self._speed():.3g} puzzle-steps/s", refresh=False)
                    if self.may_change_threads:
                        devices.follow_threads()
                bar.update()
                if is_first and trainer.step in steps_with_snapshot:
                    self._write_snapshot()
                now = time.monotonic()
                is_due, is_over = self.processes.any_of(
                    now - save_time >= self.execution.checkpoint_seconds,
                    now + write_seconds >= end or bool(requests),
                )
                if is_due:
                    self._save()
                    save_time, write_seconds = time.monotonic(), time.monotonic() - now
                if is_over:
                    break
        self._save()

    @property
    def may_change_threads(self) -> bool:
        """True if another number of threads changes no result, and neither machine.yaml nor torchrun sets it."""
        return self.arithmetic == EXACT and self.execution.threads is None and self.processes.num == 1

    def close(self) -> None:
        """Let other processes train in the folder."""
        if self.lock is not None:
            self.lock.close()

    def config(self) -> CheckpointConfig:
        """Collect the content of config.json: the resolved settings, the data, and the results."""
        trainer, execution = self.trainer, self.execution
        return CheckpointConfig(
            run=self.settings,
            data_hash=self.data_hash,
            initial_sha256=self.initial_sha256,
            num_symbols=trainer.stream.num_symbols,
            num_special=trainer.stream.num_special,
            side=trainer.stream.side,
            puzzles=tuple(trainer.stream.puzzle_names),
            parameters=num_parameters(trainer.model),
            parameters_with_task_types=num_parameters(trainer.model, with_task_types=True),
            training=TrainingFacts(
                steps=trainer.step - trainer.steps_before,
                samples=trainer.slots.num_drawn - self.samples_before,
                steps_before=trainer.steps_before,
                samples_before=self.samples_before,
                refilled=tuple(self.refilled),
                train_puzzles=trainer.stream.num_examples,
                flops=self._flops(),
                final_loss=self.records[-1]["loss"] if self.records else None,
                precision=self.precision,
                arithmetic=self.arithmetic,
                compile=self.compiles,
                device=self.device.type,
                processes=self.processes.num,
                micro_batch=execution.micro_batch,
                native=execution.native,
            ),
        )

    def _flops(self) -> int:
        """Count the FLOPs of this training's steps so far."""
        trainer = self.trainer
        num_steps = trainer.step - trainer.steps_before
        num_optimiser_steps = trainer.num_optimiser_steps - trainer.steps_before
        return training_flops(self.settings, sizes_of(trainer.stream), num_steps, num_optimiser_steps)

    def measured(self) -> dict[str, Any]:
        """Collect the content of measured.json: seconds, speed and memory of the run, on which no result depends.

        It also names the code of earlier steps if that was another (`resume_other_code`). All processes have to call it
        together.
        """
        peak_memory = sum(self.processes.collect(devices.peak_memory(self.device)))
        return {
            "seconds": round(self.seconds, 1),
            "puzzle_steps_per_second": round(self._speed(), 1),
            "peak_memory_bytes": max(peak_memory, self.peak_memory),
            "device": str(self.device),
            "threads": torch.get_num_threads(),
            "code_hash": self.code_hash,
            **({"other_code": self.other_code} if self.other_code else {}),
        }

    def _speed(self) -> float:
        """Compute puzzle-steps per second."""
        num_steps = self.trainer.step - self.trainer.steps_before
        return num_steps * self.settings.train.batch_size / max(self.seconds, 1e-9)

    def _write_snapshot(self) -> None:
        trainer, loss = self.trainer, float(self.records[-1]["loss"])
        samples, weights = trainer.slots.num_drawn, trainer.ema_weights()
        ckpt.write_snapshot(self.folder / ckpt.SNAPSHOTS, weights, trainer.step, samples, loss)

    def _save(self) -> None:
        """Write a checkpoint; all processes wait until it is there. ValueError if one of its numbers is not finite."""
        tally = self.trainer.tally
        if tally.num_added:
            self._check_loss(float(tally.loss) / tally.num_added)
        if not self.trainer.is_sound():
            raise self._diverged("weights or states are not finite")
        state = self.trainer.state_dict() | {"records": self.records}
        if self.refilled:
            state["refilled"] = self.refilled
        config, measured = self.config(), self.measured()
        if self.processes.is_first:
            if not self.checkpoint.exists():
                ckpt.write_checkpoint(self.checkpoint, self.trainer.ema_weights(), state, config)
            write_json(self.folder / MEASURED_FILE, measured)
            ckpt.prune(self.folder, NUM_KEPT)
        self.processes.wait_for_all()

    def _check_loss(self, loss: float) -> None:
        """Raise ValueError if the mean loss per puzzle is NaN or far above that of guessing."""
        guessing = math.log(self.trainer.stream.num_symbols)
        if not loss <= EXPLODED * guessing:
            raise self._diverged(f"loss {loss:.4g} (guessing has {guessing:.3g})")

    def _diverged(self, reason: str) -> ValueError:
        good = ckpt.latest(self.folder)
        remark = "there is no checkpoint yet" if good is None else f"the last good checkpoint is {good}"
        step = self.trainer.step
        return ValueError(f"{reason} at step {step}; training stopped (lower train.learning_rate?), {remark}")

    def _prepare_folder(self) -> Path | None:
        """Make the scratch folder and find the checkpoint to resume; all processes take the first one's."""
        sound = None
        if self.processes.is_first:
            (self.folder / ckpt.SNAPSHOTS).mkdir(parents=True, exist_ok=True)
            self.lock = lock_folder(self.folder)
            if ckpt.latest(self.folder) is None:
                self._report_unfinished()
            write_whole(self.folder / IDENTITY, self.identity.model_dump_json(indent=2) + "\n")
            write_facts(self.folder, Path())
            write_whole(self.folder / SETTINGS, self.settings.model_dump_json(indent=2) + "\n")
            sound = ckpt.latest_sound(self.folder)
        newest: Path | None = self.processes.collect(sound)[0]
        return newest

    def _report_unfinished(self) -> None:
        """Log why the most recent unfinished training of this run does not go on, or continue it if that is wanted."""
        run = self.identity.run
        trainings = [
            (training, self.identity.differences(training.identity))
            for training in unfinished_trainings(self.scratch)
            if (training.identity.profile, training.identity.run) == (self.identity.profile, run)
        ]
        for training, differences in trainings:
            if differences == ["code"] and self.execution.resume_other_code:
                self._copy_unfinished(training)
                return
        if trainings:
            training, differences = trainings[0]
            message = "%s starts anew, as its %s changed; the training at step %d stays in %s (undo the edit to go on)"
            log.warning(message, run, " and ".join(differences), training.step, training.folder)

    def _copy_unfinished(self, training: Unfinished) -> None:
        """Continue a training of other code in this folder; measured.json says so. The other folder stays."""
        ignored = shutil.ignore_patterns(IDENTITY, LOCK, "mlflow.json", ".*")
        shutil.copytree(training.folder, self.folder, ignore=ignored, dirs_exist_ok=True)
        fact = {"other_code": {"code": training.identity.code, "until_step": training.step}}
        write_json(self.folder / MEASURED_FILE, read_measured(self.folder) | fact)
        message = "%s goes on from step %d of other code, as machine.yaml says"
        log.warning(message, self.identity.run, training.step)

    def _resume(self, checkpoint: Path) -> None:
        state = ckpt.read_training_state(checkpoint, self.device)
        self.records, self.refilled = state.pop("records"), state.pop("refilled", [])
        if measured := read_measured(self.folder):
            self.seconds, self.peak_memory = measured["seconds"], measured["peak_memory_bytes"]
            self.other_code = measured.get("other_code")
        self.trainer.load_state_dict(state)
        if not has_slots(state):
            self.refilled.append(self.trainer.step)
            if self.processes.is_first:
                log.warning("%s holds no slots, so all are filled anew", checkpoint)
        log.info("resuming %s at step %d", self.settings.name, self.trainer.step)
        facts = ckpt.read_config(checkpoint).training, self.config().training
        changed = [key for key in HARDWARE if len({getattr(side, key) for side in facts}) > 1]
        if changed and self.processes.is_first:
            before, now = (", ".join(f"{key} {getattr(side, key)}" for key in changed) for side in facts)
            masks = " and dropout masks" if self.settings.model.has_dropout else ""
            message = "checkpoint made with %s, resuming with %s: results will differ only by rounding%s"
            log.warning(message, before, now, masks)


def snapshot_steps(trainer: Trainer) -> set[int]:
    """Evenly spaced steps after those of a training that this one continues, including the last one.

    Each is rounded up to a step with a record in the training log, because the snapshot keeps the record's loss.
    """
    last, every, num = trainer.num_optimiser_steps, trainer.settings.log_every, trainer.settings.snapshots
    first = trainer.steps_before
    exact = [first + Fraction((last - first) * number, num) for number in range(1, num + 1)]
    return {min(last, math.ceil(step / every) * every) for step in exact}


def sizes_of(stream: Stream) -> ModelSizes:
    """Count symbols, positions and task types of a training set."""
    return ModelSizes(stream.num_symbols, stream.side**2, stream.num_task_types, stream.num_special)


def build_run_model(run: RunSettings, stream: Stream) -> RecurrentModel:
    """Build the model with weights drawn from the seed, on the host."""
    return run.model.build(sizes_of(stream), torch.Generator().manual_seed(run.seed))


def load_initial(model: RecurrentModel, checkpoint: Path) -> str:
    """Give `model` the EMA weights of a checkpoint, and nothing else of it; returns the sha256 of their file.

    Call it before a trainer is made, so that the trainer's EMA starts from them too. ValueError if there is no
    checkpoint, or if a weight, which it names, is missing, unknown or of another shape. (Fine-tuning; not in the
    paper.)
    """
    ckpt.check(checkpoint)
    try:
        model.load_state_dict(ckpt.read_weights(checkpoint))
    except RuntimeError as error:
        raise ValueError(f"train.init_from: {checkpoint}: {ckpt.misfit_of(error)}") from error
    return hash_file(checkpoint / MODEL)
