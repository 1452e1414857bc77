"""The training loop: one optimiser step is one supervision step of all B slots (paper, section 2.1).

By its settings an optimiser step takes several supervision steps (`steps_per_update`), or several optimiser steps take
the same one, at the weights of each (`updates_per_step`).

In the letters of the paper, with z the recurrent states, X the questions, Y the labels and θ the weights:

    def training_step():
        # refill: a slot that halted takes the next puzzle
        for b in slots that halted:
            X[b], Y[b], task type[b] = the next augmented puzzle
            z[b] = z_init; steps[b] = 0
        steps += 1
        # forward_backward: one supervision step, the updates of the model's schedule (equation 2)
        E = embedding(X, task types)
        without gradient:    z = update(z, E) for all updates except the last ones
        with gradient:       z = update(z, E) for the last ones; logits = readout(z)
        losses = step_weight^(steps − 1) · cross_entropy(logits, Y)
        total = (losses + halting rule's loss).sum() / B
        total.backward(); z = z.detach()
        # halt: the rule, or the last of the supervision steps
        halted = rule(signal of the step, steps) | (steps >= max_supervision_steps)
        # update
        θ = optimiser(θ, dtotal/dθ; learning rate of the step)
        task types of the batch = sign_sgd(task types, dtotal/dtask types)
        EMA = ema · EMA + (1 − ema) · θ

Nothing here prints, logs or reads files. Training resumes from `Trainer.state_dict` bit for bit. The slots may be
spread over processes and go through the model in pieces. This changes the numbers only by rounding, and with dropout
also by its masks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from serrm.arrays.stream import Stream
from serrm.core.processes import ALONE, Processes
from serrm.core.randomness import Purpose, normal_numbers
from serrm.kernels.accelerate import may_run_native, reuse_memory
from serrm.models.layers import DTYPES
from serrm.models.recurrence import RecurrentModel, State, SupervisionStep, trained_parameters
from serrm.training.cross_entropy import PAD
from serrm.training.log import Record
from serrm.training.settings import Fidelity, TrainSettings
from serrm.training.sign_sgd import update_rows
from serrm.training.slots import (
    Piece,
    PieceResult,
    Slots,
    empty_slots,
    has_slots,
    seed_dropout,
    to_device,
)

EXAMPLE = ("tokens", "targets", "task_types")  # what a slot holds of its example


@dataclass
class Tally:
    """Sums since the last record, over all processes; they stay on the device, so no step waits for them."""

    loss: Tensor
    num_halted: Tensor
    num_solved: Tensor
    num_added: int = 0  # supervision steps


@dataclass
class Trainer:
    """A model in training: weights, EMA, optimiser, slots, and the number of steps taken.

    With several `processes` each has a trainer; all step together and hold the same weights. At most `micro_batch`
    slots go through the model at once; with None all slots of the process do. `settings.precision` is not `auto`.
    """

    model: RecurrentModel
    stream: Stream
    settings: TrainSettings
    seed: int
    fidelity: Fidelity = field(default_factory=Fidelity)
    processes: Processes = ALONE
    micro_batch: int | None = None
    steps_before: int = 0  # of the training that this one continues; `load_state_dict` restores its state

    def __post_init__(self) -> None:
        stream, settings = self.stream, self.settings
        self.num_optimiser_steps = self.steps_before + settings.num_optimiser_steps(stream.num_examples)
        self.step = 0
        self.num_supervision_steps = 0  # taken before the one in progress; the number keys its random numbers
        self.model.seed = self.seed
        self.full_schedule = self.model.schedule
        self.parameters: list[Tensor] = trained_parameters(self.model)
        self.ema = [p.detach().clone() for p in self.parameters]
        self.optimizer = settings.optimizer.build(self.model, settings)
        local, dtype = self.processes.local_range(settings.batch_size), DTYPES[settings.precision]
        self.slots: Slots = empty_slots(settings.batch_size, local, stream, self.model, dtype)
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
        while self.step < self.num_optimiser_steps:
            rate = self._training_step()
            is_last = self.step == self.num_optimiser_steps
            is_due = is_last or self.step % self.settings.log_every == 0
            yield self._record(rate) if is_due else None

    def _record(self, rate: float) -> Record:
        """Means since the last record: the loss per puzzle, and the share of halted slots whose puzzle was solved.

        The loss is the cross-entropy alone, without the term of the halting rule.
        """
        tally, self.tally = self.tally, self._empty_tally()
        return {
            "step": self.step,
            "samples": self.slots.num_drawn,
            "loss": float(tally.loss) / max(1, tally.num_added),
            "train_fsr": float(tally.num_solved) / max(1.0, float(tally.num_halted)),
            "learning_rate": rate,
        }

    def _training_step(self) -> float:
        """Take the step of the module's pseudo-code; returns its learning rate."""
        self._set_depth()
        num, counts = self.settings.steps_per_update, list[Tensor]()
        task_types, task_gradients = list[Tensor](), list[Tensor | None]()
        for number in range(num):
            self.num_supervision_steps = self.step * num + number
            results = self._supervision_step()
            counts.append(self._counts(results))
            task_types.append(self.slots.task_types.clone())
            task_gradients += [result.task_gradients for result in results]
        self._add_up(counts)
        rate = self.settings.rate(self.step, self.num_optimiser_steps, self.steps_before)
        self._update(torch.cat(task_types), _joined(task_gradients), rate)
        self.step += 1
        return rate

    def _supervision_step(self) -> list[PieceResult]:
        """Take a supervision step of all slots; the next optimiser step takes it again if more updates follow."""
        slots, num_updates = self.slots, self.settings.updates_per_step
        is_last = (self.step + 1) % num_updates == 0
        reuse_memory(self.model)
        if self.step % num_updates == 0:
            slots.refill(self.stream, self.model)
            slots.num_steps += 1
        results = []
        for piece in slots.pieces(self.micro_batch):
            result = self.forward_backward(piece)
            if is_last:
                slots.set_state(piece, result.state)
            results.append(result._replace(state=()))  # the slots have a copy, so its memory is free
        if is_last:
            self._halt(_joined([result.signal for result in results]))
        return results

    def _set_depth(self) -> None:
        """Give the model the cycles of the step's phase in the curriculum; its own after the last phase."""
        phase = self.settings.depth(self.step, self.num_optimiser_steps)
        if phase is None:
            self.model.schedule = self.full_schedule
            return
        assert self.model.schedule_of is not None, "a family with cycles"
        self.model.schedule = self.model.schedule_of(phase.h_cycles, phase.l_cycles)

    def forward_backward(self, piece: Piece) -> PieceResult:
        """Take one supervision step of some slots, forward and backward; it changes only the gradients."""
        seed_dropout(self.seed, self.num_supervision_steps, piece.first, piece.tokens.device)
        settings = self.settings
        vectors = self.model.task_vectors(piece.task_types)
        if vectors is not None:
            vectors.requires_grad_()
        before = self._with_noise(piece) if settings.noise else piece.state
        output = self.model(before, piece.tokens, vectors)
        supervision_step = SupervisionStep(
            self.model,
            piece.tokens,
            piece.targets,
            vectors,
            before=before,
            output=output,
            is_solved=self._are_solved(output.logits.detach(), piece),
            num_steps=piece.num_steps,
            max_steps=settings.max_supervision_steps,
        )
        losses = settings.loss.losses(supervision_step)
        total = self._weighted(losses, piece.num_steps).sum()
        term = settings.halting.loss(supervision_step)
        total = total if term is None else total + term.sum()
        (total / (settings.batch_size * settings.steps_per_update)).backward()
        with torch.no_grad():
            signal = settings.halting.signal(supervision_step)
        return PieceResult(
            output.state,
            losses.detach().sum() / settings.batch_size,
            supervision_step.is_solved,
            signal,
            None if vectors is None else vectors.grad,
        )

    def _with_noise(self, piece: Piece) -> State:
        """Add normal numbers of a piece's slots and supervision step to each part of its state."""
        slots, shape = range(piece.first, piece.first + len(piece.tokens)), piece.state[0].shape[1:]
        draws = normal_numbers(
            self.seed, Purpose.NOISE, slots, self.num_supervision_steps, (len(piece.state), *shape)
        )
        noise = to_device(torch.from_numpy(draws), piece.tokens.device).unbind(1)
        scale = self.settings.noise
        return tuple(
            part + (scale * new).to(part.dtype) for part, new in zip(piece.state, noise, strict=True)
        )

    def _weighted(self, losses: Float[Tensor, " b"], num_steps: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
        """Weigh the loss of each puzzle by the number of its supervision step."""
        if self.settings.step_weight == 1:
            return losses
        weights = self.settings.step_weight ** (num_steps - 1).double()
        return losses * to_device(weights.to(losses.dtype), losses.device)

    def _are_solved(self, logits: Float[Tensor, "b I K"], piece: Piece) -> Bool[Tensor, " b"]:
        """Find the solved puzzles by the label, or by the task's rule where the stream has one (`Stream.are_right`).

        The rule runs on the host, so a step then waits for the device.
        """
        if self.stream.are_right is None:
            return solved(logits, piece.targets)
        grids = (piece.tokens, logits.argmax(-1), piece.targets)
        are_right = self.stream.are_right(*(grid.cpu().numpy().astype(np.uint8) for grid in grids))
        return torch.from_numpy(are_right).to(logits.device)

    def _halt(self, signal: Shaped[Tensor, "b *_"] | None) -> None:
        """Decide which of all B slots halt; every process decides the same."""
        num_steps, most = self.slots.num_steps, self.settings.max_supervision_steps
        if signal is not None:  # waits for the device
            signal = self.processes.gather(signal).cpu()
        is_halted = self.settings.halting.halts(
            signal, num_steps, seed=self.seed, optimiser_step=self.num_supervision_steps, max_steps=most
        )
        self.slots.is_halted = is_halted | (num_steps >= most)

    def _counts(self, results: list[PieceResult]) -> Float[Tensor, "2"]:
        """Count a supervision step: this process's share of the loss, and its puzzles that halted solved."""
        slots = self.slots
        loss = torch.stack([result.loss for result in results]).sum()
        is_solved = torch.cat([result.is_solved for result in results])
        is_halted = to_device(slots.is_halted[slots.local], is_solved.device)
        self.tally.num_halted += int(slots.is_halted.sum())
        self.tally.num_added += 1
        return torch.stack([loss, (is_solved & is_halted).sum().to(loss.dtype)])

    def _add_up(self, counts: list[Float[Tensor, "2"]]) -> None:
        """Add up gradients and the counts of each supervision step over the processes, in one message."""
        total = torch.stack(counts).sum(0)
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        self.processes.add_up([*gradients, total])
        self.tally.loss += total[0]
        self.tally.num_solved += total[1]

    def _update(
        self, task_types: Int[Tensor, " b"], gradients: Float[Tensor, "b W"] | None, rate: float
    ) -> None:
        """Update weights, EMA and the rows of these task types at this learning rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._update_task_types(task_types, gradients, rate)
        self._update_ema()

    def _update_task_types(
        self, task_types: Int[Tensor, " b"], gradients: Float[Tensor, "b W"] | None, rate: float
    ) -> None:
        """Update each row that occurs in any process's slots once, by the sum of all its gradients."""
        if gradients is None:
            return
        table, settings = self.model.task_types, self.settings.task_types
        assert table is not None and settings is not None
        rows, gradients = self.processes.gather(task_types), self.processes.gather(gradients)
        lr = settings.learning_rate * rate / self.settings.learning_rate  # the same schedule
        is_native = may_run_native(self.model)
        update_rows(table, rows, gradients, lr=lr, weight_decay=settings.weight_decay, is_native=is_native)

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
        """Make the state dict with the EMA in place of the raw parameters, for evaluation and sharing."""
        means = {id(p): mean for p, mean in zip(self.parameters, self.ema, strict=True)}
        named = self.model.state_dict(keep_vars=True)
        return {name: means.get(id(value), value).detach() for name, value in named.items()}

    def state_dict(self) -> dict[str, Any]:
        """Collect all that a resume needs, as tensors and plain types; it does not depend on the number of processes.

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
                "position": slots.num_drawn,  # the key of earlier checkpoints
            },
            "tally": dict(vars(self.tally)),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state_dict` was taken, whatever the number of processes then and now.

        A state without slots (`serrm.training.checkpoint.copy_without_slots`) fills all of them with the next examples.
        """
        self.step = state["step"]
        self.model.load_state_dict(state["weights"])
        for mean, before in zip(self.ema, state["ema"], strict=True):
            mean.copy_(before)
        self.optimizer.load_state_dict(state["optimizer"])
        saved, local = state["slots"], self.slots.local
        if not has_slots(state):
            self.slots.num_drawn = saved["position"]
            if self.step % self.settings.updates_per_step:  # amid the updates of a supervision step
                self.slots.refill(self.stream, self.model)
                self.slots.num_steps += 1
        else:
            self.slots = Slots(
                **{name: saved[name][local].clone() for name in EXAMPLE},
                state=tuple(part[local].clone() for part in saved["state"]),
                num_steps=saved["num_steps"].cpu(),
                is_halted=saved["is_halted"].cpu(),
                num_drawn=saved["position"],
                first=local.start,
            )
        self.tally = Tally(**state["tally"])

    def is_sound(self) -> bool:
        """Check that weights, EMA, states and loss are finite on all processes; waits for the device."""
        tensors = [*self.parameters, *self.ema, *self.slots.state, self.tally.loss]
        if self.model.task_types is not None:
            tensors.append(self.model.task_types)
        is_finite = torch.stack([tensor.isfinite().all() for tensor in tensors]).all()
        (is_broken,) = self.processes.any_of(not bool(is_finite))
        return not is_broken


def solved(logits: Float[Tensor, "B I K"], targets: Int[Tensor, "B I"]) -> Bool[Tensor, " B"]:
    """Find the puzzles whose labelled positions are all right."""
    return ((logits.argmax(-1) == targets) | (targets == PAD)).all(1)


def _joined(parts: list[Tensor | None]) -> Tensor | None:
    """Concatenate the parts; None if there are none."""
    tensors = [part for part in parts if part is not None]
    return torch.cat(tensors) if tensors else None
