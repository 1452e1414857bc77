"""The training loop: one optimiser step is one supervision step of all slots (paper, section 2.1).

Nothing here prints, logs or reads files. Training resumes from `Trainer.state_dict` bit for bit. The slots may be
spread over processes and go through the model in pieces. This changes the numbers only by rounding, and with dropout
also by its masks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from serrm.arrays.stream import Stream
from serrm.core.processes import ALONE, Processes
from serrm.models.layers import DTYPES
from serrm.models.recurrence import RecurrentModel, SupervisionStep
from serrm.training.cross_entropy import PAD
from serrm.training.optimizer import trained, update_rows
from serrm.training.settings import Fidelity, TrainSettings
from serrm.training.slots import Piece, PieceResult, Slots, empty_slots, seed_dropout, to_device

Record = dict[str, int | float]  # a line of the training log
EXAMPLE = ("tokens", "targets", "task_types")  # what a slot holds of its example


@dataclass
class Tally:
    """Sums since the last record, over all processes; they stay on the device, so no step waits for them."""

    loss: Tensor
    num_halted: Tensor
    num_solved: Tensor
    num_steps: int = 0
    log: dict[str, Tensor] = field(default_factory=dict)  # what the family reports


@dataclass
class Trainer:
    """A model in training: weights, EMA, optimiser, slots, and the number of steps taken.

    With several `processes` each has a trainer; all step together and hold the same weights. At most `micro_batch`
    slots go through the model at once; with None all slots of the process do.
    """

    model: RecurrentModel
    stream: Stream
    settings: TrainSettings
    seed: int
    fidelity: Fidelity = field(default_factory=Fidelity)
    processes: Processes = ALONE
    micro_batch: int | None = None

    def __post_init__(self) -> None:
        stream, settings = self.stream, self.settings
        self.num_steps = settings.num_steps(stream.num_examples)
        self.step = 0
        self.parameters: list[Tensor] = trained(self.model)
        self.ema = [p.detach().clone() for p in self.parameters]
        self.optimizer = settings.optimizer.build(self.model, settings)
        own, dtype = self.processes.own(settings.batch_size), DTYPES[settings.precision]
        self.slots: Slots = empty_slots(settings.batch_size, own, stream, self.model, dtype)
        self.tally = self._empty_tally()

    def _empty_tally(self) -> Tally:
        loss, num_halted, num_solved = torch.zeros(3, device=self.model.initial.device).unbind()
        return Tally(loss, num_halted, num_solved)

    @property
    def num_at_once(self) -> int:
        """Number of slots that go through the model at once."""
        return min(len(self.slots.tokens), self.micro_batch or len(self.slots.tokens))

    def steps(self) -> Iterator[Record | None]:
        """Train to the last step; yields after every step its record, or None where none is due."""
        self.model.train()
        while self.step < self.num_steps:
            rate = self._take_step()
            is_due = self.step % self.settings.log_every == 0 or self.step == self.num_steps
            yield self._record(rate) if is_due else None

    def _record(self, rate: float) -> Record:
        """Means since the last record: the loss per puzzle, and the share of halted slots whose puzzle was solved."""
        tally, self.tally = self.tally, self._empty_tally()
        return {
            "step": self.step,
            "samples": self.slots.position,
            "loss": float(tally.loss) / max(1, tally.num_steps),
            "train_fsr": float(tally.num_solved) / max(1.0, float(tally.num_halted)),
            "learning_rate": rate,
            **{name: float(total) / max(1, tally.num_steps) for name, total in tally.log.items()},
        }

    def _take_step(self) -> float:
        slots = self.slots
        slots.refill(self.stream, self.model)
        slots.num_steps += 1
        rate = self.settings.rate(self.step, self.num_steps)
        results = []
        for piece in slots.pieces(self.micro_batch):
            result = self.supervision_step(piece)
            slots.go_on(piece, result.state)
            results.append(result._replace(state=()))
        is_solved = torch.cat([each.is_solved for each in results])
        self._halt(_joined([each.signal for each in results]))
        log = {name: torch.stack([each.log[name] for each in results]).sum() for name in results[0].log}
        self._count(torch.stack([each.loss for each in results]).sum(), is_solved, log)
        task_gradients = _joined([each.task_gradients for each in results])
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._update_task_types(task_gradients, rate)
        self._update_ema()
        self.step += 1
        return rate

    def supervision_step(self, piece: Piece) -> PieceResult:
        """Take one supervision step of some slots, forward and backward; it changes only the gradients."""
        seed_dropout(self.seed, self.step, piece.first)
        settings = self.settings
        vectors = self.model.task_vectors(piece.task_types)
        if vectors is not None:
            vectors.requires_grad_()
        output = self.model(piece.state, piece.tokens, vectors)
        step = SupervisionStep(
            self.model,
            piece.tokens,
            vectors,
            before=piece.state,
            output=output,
            losses=settings.loss.losses(output.logits, piece.targets),
            is_solved=solved(output.logits.detach(), piece.targets),
            num_steps=piece.num_steps,
            max_steps=settings.max_supervision_steps,
        )
        total = step.losses.sum()
        for further in (settings.halting.loss(step), output.loss):
            total = total if further is None else total + further.sum()
        (total / settings.batch_size).backward()
        with torch.no_grad():
            signal = settings.halting.signal(step)
        return PieceResult(
            output.state,
            step.losses.detach().sum() / settings.batch_size,
            step.is_solved,
            signal,
            None if vectors is None else vectors.grad,
            {name: values.detach().sum() / settings.batch_size for name, values in output.log.items()},
        )

    def _halt(self, signal: Shaped[Tensor, "b *_"] | None) -> None:
        """Decide which of all B slots halt; every process decides the same."""
        num_steps, most = self.slots.num_steps, self.settings.max_supervision_steps
        if signal is not None:  # waits for the device
            signal = self.processes.gather(signal).cpu()
        is_halted = self.settings.halting.halts(
            signal, num_steps, seed=self.seed, step=self.step, max_steps=most
        )
        self.slots.is_halted = is_halted | (num_steps >= most)

    def _count(
        self, loss: Float[Tensor, ""], is_solved: Bool[Tensor, " b"], log: dict[str, Float[Tensor, ""]]
    ) -> None:
        """Add up gradients and counts over the processes, in one message."""
        slots, tally = self.slots, self.tally
        is_halted = to_device(slots.is_halted[slots.own], is_solved.device)
        num_solved = (is_solved & is_halted).sum().to(loss.dtype)
        counted = torch.stack([loss, num_solved, *(each.to(loss.dtype) for each in log.values())])
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        self.processes.add_up([*gradients, counted])
        tally.loss += counted[0]
        tally.num_solved += counted[1]
        for name, value in zip(log, counted[2:], strict=True):
            tally.log[name] = tally.log.get(name, 0) + value
        tally.num_halted += int(slots.is_halted.sum())
        tally.num_steps += 1

    def _update_task_types(self, gradients: Float[Tensor, "b W"] | None, rate: float) -> None:
        """Update each row that occurs in any process's slots once, by the sum of all its gradients."""
        if gradients is None:
            return
        table, settings = self.model.task_types, self.settings.task_types
        assert table is not None and settings is not None
        rows, gradients = self.processes.gather(self.slots.task_types), self.processes.gather(gradients)
        lr = settings.learning_rate * rate / self.settings.learning_rate  # the same schedule
        update_rows(table, rows, gradients, lr=lr, weight_decay=settings.weight_decay)

    @torch.no_grad()
    def _update_ema(self) -> None:
        torch._foreach_lerp_(self.ema, self.parameters, 1 - self.settings.ema)
        if self.fidelity.bfloat16_embeddings:
            is_embedding = {id(p) for p in self.model.embedding.parameters()}
            for parameter, mean in zip(self.parameters, self.ema, strict=True):
                if id(parameter) in is_embedding:
                    parameter.copy_(parameter.bfloat16())
                    mean.copy_(mean.bfloat16())

    def ema_weights(self) -> dict[str, Tensor]:
        """The state dict with the EMA in place of the raw parameters, for evaluation and sharing.

        An optimiser that averages has other weights for that.
        """
        kind, scored = self.settings.optimizer, self.ema
        if kind.averages:
            with torch.no_grad():
                scored = kind.weights_to_score(self.optimizer, self.parameters)
        means = {id(p): mean for p, mean in zip(self.parameters, scored, strict=True)}
        named = self.model.state_dict(keep_vars=True)
        return {name: means.get(id(value), value).detach() for name, value in named.items()}

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to resume, as tensors and plain types, which does not depend on the number of processes.

        All processes have to call it together.
        """
        slots, gather = self.slots, self.processes.gather
        return {
            "step": self.step,
            "weights": self.model.state_dict(),
            "ema": self.ema,
            "optimizer": self.optimizer.state_dict(),
            "slots": {
                **{name: gather(getattr(slots, name)) for name in EXAMPLE},
                "state": [gather(part) for part in slots.state],
                "num_steps": slots.num_steps,
                "is_halted": slots.is_halted,
                "position": slots.position,
            },
            "tally": dict(vars(self.tally)),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state_dict` was taken, whatever the number of processes then and now."""
        self.step = state["step"]
        self.model.load_state_dict(state["weights"])
        for mean, before in zip(self.ema, state["ema"], strict=True):
            mean.copy_(before)
        self.optimizer.load_state_dict(state["optimizer"])
        saved, places = state["slots"], self.slots.own
        self.slots = Slots(
            **{name: saved[name][places].clone() for name in EXAMPLE},
            state=tuple(part[places].clone() for part in saved["state"]),
            num_steps=saved["num_steps"].cpu(),
            is_halted=saved["is_halted"].cpu(),
            position=saved["position"],
            first=places.start,
        )
        self.tally = Tally(**state["tally"])

    def is_sound(self) -> bool:
        """Check that weights, EMA, states and loss are finite on all processes; waits for the device."""
        tensors = [*self.parameters, *self.ema, *self.slots.state, self.tally.loss]
        if self.model.task_types is not None:
            tensors.append(self.model.task_types)
        is_finite = torch.stack([tensor.isfinite().all() for tensor in tensors]).all()
        (is_broken,) = self.processes.agree(not bool(is_finite))
        return not is_broken


def solved(logits: Float[Tensor, "B I K"], targets: Int[Tensor, "B I"]) -> Bool[Tensor, " B"]:
    """True for puzzles whose labelled positions are all right."""
    return ((logits.argmax(-1) == targets) | (targets == PAD)).all(1)


def _joined(parts: list[Tensor | None]) -> Tensor | None:
    """Concatenate the parts; None if there are none."""
    there = [part for part in parts if part is not None]
    return torch.cat(there) if there else None
