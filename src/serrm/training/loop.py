"""The training loop: one optimiser step is one supervision step of all slots (paper, section 2.1).

Nothing here prints, logs or reads files; what happens is handed to `on_record`, and `Trainer.state_dict` is
all there is to resume from, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from serrm.data.batches import Stream
from serrm.data.randomness import Purpose, keyed_rng
from serrm.models.halting import halting_loss, halts
from serrm.models.recurrence import RecurrentModel, StepOutput
from serrm.models.task_types import update_rows
from serrm.training.loss import solved, stablemax_cross_entropy
from serrm.training.optimizer import AdamAtan2, learning_rate
from serrm.training.settings import Fidelity, TrainSettings
from serrm.training.slots import Slots, empty_slots, to_device

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
Record = dict[str, int | float]


@dataclass
class Tally:
    """Sums since the last record, kept on the device so that no step waits for it."""

    loss: Tensor
    num_halted: Tensor
    num_solved: Tensor
    num_steps: int = 0

    @classmethod
    def zero(cls, device: torch.device) -> "Tally":
        """Nothing counted yet."""
        loss, num_halted, num_solved = torch.zeros(3, device=device).unbind()
        return cls(loss, num_halted, num_solved)

    def record(self, step: int, samples: int, rate: float) -> Record:
        """Means since the last record: loss a puzzle, share of halted slots whose puzzle was solved."""
        halted = max(1.0, float(self.num_halted))
        return {
            "step": step,
            "samples": samples,
            "loss": float(self.loss) / max(1, self.num_steps),
            "train_fsr": float(self.num_solved) / halted,
            "learning_rate": rate,
        }


@dataclass
class Trainer:
    """A model in training: weights, average, optimiser, slots, and how many steps were taken."""

    model: RecurrentModel
    stream: Stream
    settings: TrainSettings
    seed: int
    fidelity: Fidelity = field(default_factory=Fidelity)

    def __post_init__(self) -> None:
        stream, device = self.stream, self.model.initial.device
        self.num_steps = self.settings.num_steps(stream.num_examples)
        self.step = 0
        self.num_symbols = stream.num_symbols
        self.parameters: list[Tensor] = [p for p in self.model.parameters() if p.numel()]
        self.average = [p.detach().clone() for p in self.parameters]
        self.optimizer = AdamAtan2(
            self.parameters, 0.0, self.settings.betas, weight_decay=self.settings.weight_decay
        )
        self.slots: Slots = empty_slots(
            self.settings.batch_size,
            self.model,
            stream.side**2,
            self.num_symbols,
            DTYPES[self.settings.precision],
        )
        self.tally = Tally.zero(device)
        self._check_parts()
        if self.settings.compile:
            self.model.compile_networks()

    def _check_parts(self) -> None:
        """ValueError if the model lacks what the settings need, or the reverse."""
        if self.settings.halting.kind == "q_learning" and not hasattr(self.model.readout, "halt_weight"):
            raise ValueError("halting: q_learning needs a model with a Q head, SE-RRM has none; use random")
        if self.model.task_types is not None and self.settings.task_types is None:
            raise ValueError(
                "task_types: the model learns task types, give their learning_rate and weight_decay"
            )

    def run(self, on_record: Callable[[Record], None], should_stop: Callable[[], bool]) -> bool:
        """Train to the last step; False if `should_stop` said so before (checked after every step)."""
        self.model.train()
        while self.step < self.num_steps:
            rate = self._take_step()
            if self.step % self.settings.log_every == 0 or self.step == self.num_steps:
                on_record(self.tally.record(self.step, self.slots.position, rate))
                self.tally = Tally.zero(self.model.initial.device)
            if should_stop():
                return self.step == self.num_steps
        return True

    def _take_step(self) -> float:
        settings, slots = self.settings, self.slots
        # PyTorch's dropout has no generator argument; seeding by step makes it a pure function of (seed, step).
        torch.manual_seed(int(keyed_rng(self.seed, Purpose.DROPOUT, self.step).integers(2**62)))
        slots.refill(self.stream, self.model, self.num_symbols)
        rate = learning_rate(
            self.step,
            peak=settings.learning_rate,
            warmup=settings.warmup_steps,
            num_steps=self.num_steps,
            schedule=settings.schedule,
        )
        task_vectors = self._task_vectors()
        output = self.model(slots.state, slots.tokens, task_vectors)
        losses = stablemax_cross_entropy(output.logits, slots.targets)
        is_solved = solved(output.logits.detach(), slots.targets)
        slots.num_steps += 1
        extra = halting_loss(
            settings.halting,
            self.model,
            output,
            slots,
            task_vectors,
            is_solved,
            settings.max_supervision_steps,
        )
        total = losses.sum() if extra is None else losses.sum() + extra.sum()
        (total / settings.batch_size).backward()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._update_task_types(task_vectors, rate)
        self._update_average()
        self._advance(output, losses.detach(), is_solved)
        return rate

    def _task_vectors(self) -> Tensor | None:
        vectors = self.model.task_vectors(self.slots.task_types)
        return None if vectors is None else vectors.requires_grad_()

    def _update_task_types(self, vectors: Tensor | None, rate: float) -> None:
        if vectors is None:
            return
        table, settings = self.model.task_types, self.settings.task_types
        assert table is not None and vectors.grad is not None and settings is not None
        lr = settings.learning_rate * rate / self.settings.learning_rate  # the same schedule
        update_rows(table, self.slots.task_types, vectors.grad, lr=lr, weight_decay=settings.weight_decay)

    @torch.no_grad()
    def _update_average(self) -> None:
        torch._foreach_lerp_(self.average, self.parameters, 1 - self.settings.ema)
        if self.fidelity.bfloat16_embeddings:
            is_embedding = {id(p) for p in self.model.embedding.parameters()}
            for parameter, average in zip(self.parameters, self.average, strict=True):
                if id(parameter) in is_embedding:
                    parameter.copy_(parameter.bfloat16())
                    average.copy_(average.bfloat16())

    def _advance(self, output: StepOutput, losses: Tensor, is_solved: Tensor) -> None:
        slots, settings, tally = self.slots, self.settings, self.tally
        slots.state = output.state
        halting = None if output.halting is None else output.halting.detach()
        most = settings.max_supervision_steps
        slots.is_halted = halts(settings.halting, halting, slots, self.seed, self.step, most)
        tally.loss += losses.mean()
        tally.num_halted += int(slots.is_halted.sum())
        tally.num_solved += (is_solved & to_device(slots.is_halted, is_solved.device)).sum()
        tally.num_steps += 1
        self.step += 1

    def averaged_weights(self) -> dict[str, Tensor]:
        """The state dict with averaged in place of raw parameters: what is evaluated and shipped."""
        averages = {id(p): a for p, a in zip(self.parameters, self.average, strict=True)}
        named = self.model.state_dict(keep_vars=True)
        return {name: averages.get(id(value), value).detach() for name, value in named.items()}

    def state_dict(self) -> dict[str, Any]:
        """Everything to resume from, as tensors and plain types."""
        slots, tally = self.slots, self.tally
        return {
            "step": self.step,
            "weights": self.model.state_dict(),
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "slots": {**vars(slots), "state": list(slots.state)},
            "tally": dict(vars(tally)),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state_dict` was taken."""
        self.step = state["step"]
        self.model.load_state_dict(state["weights"])
        for own, saved in zip(self.average, state["average"], strict=True):
            own.copy_(saved)
        self.optimizer.load_state_dict(state["optimizer"])
        saved = state["slots"]
        on_host = {name: saved[name].cpu() for name in ("num_steps", "is_halted")}
        self.slots = Slots(**{**saved, **on_host, "state": tuple(saved["state"])})
        self.tally = Tally(**state["tally"])
