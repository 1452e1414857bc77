"""The paper's optimiser, Adam-atan2 (Everett et al. 2024)."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from serrm.kernels.accelerate import may_run_native
from serrm.kernels.cpu.optimizer import adam_atan2, can_update
from serrm.models.recurrence import RecurrentModel, trained_parameters


class AdamAtan2(torch.optim.Optimizer):
    """Adam with update −lr·atan2(m̂, √v̂), which has no epsilon and is scale-invariant; weight decay is decoupled.

    With `is_native` the native kernel takes the step where it can, in one pass over memory.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.95),
        weight_decay: float = 0.0,
        *,
        is_native: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})
        self.is_native = is_native

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state as every optimiser does, but keep the count of steps, which every step reads, on the host."""
        super().load_state_dict(state_dict)
        for state in self.state.values():
            state["step"] = state["step"].cpu()

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if not parameters:
                continue
            for p in parameters:
                if not self.state[p]:
                    zeros = {"mean": torch.zeros_like(p), "square": torch.zeros_like(p)}
                    self.state[p] = {"step": torch.zeros(()), **zeros}
            gradients, states = [p.grad for p in parameters], [self.state[p] for p in parameters]
            means, squares = ([state[name] for state in states] for name in ("mean", "square"))
            torch._foreach_add_([state["step"] for state in states], 1)
            # A parameter has a gradient at every step or at none, so all these counts are equal.
            num_steps = float(states[0]["step"])
            is_native = self.is_native and can_update([*parameters, *gradients, *means, *squares])
            (adam_atan2 if is_native else plain_adam_atan2)(
                parameters,
                gradients,
                means,
                squares,
                lr=group["lr"],
                betas=group["betas"],
                weight_decay=group["weight_decay"],
                num_steps=num_steps,
            )


def plain_adam_atan2(
    parameters: list[Tensor],
    gradients: list[Tensor],
    means: list[Tensor],
    squares: list[Tensor],
    *,
    lr: float,
    betas: tuple[float, float],
    weight_decay: float,
    num_steps: float,
) -> None:
    """Take step `num_steps` (from 1) of Adam-atan2 on PyTorch, in place; `means` and `squares` are the moments."""
    torch._foreach_lerp_(means, gradients, 1 - betas[0])
    torch._foreach_mul_(squares, betas[1])
    torch._foreach_addcmul_(squares, gradients, gradients, 1 - betas[1])
    roots = torch._foreach_sqrt(torch._foreach_div(squares, 1 - betas[1] ** num_steps))
    corrected = torch._foreach_div(means, 1 - betas[0] ** num_steps)
    torch._foreach_mul_(parameters, 1 - lr * weight_decay)
    updates = [torch.atan2(mean, root) for mean, root in zip(corrected, roots, strict=True)]
    torch._foreach_add_(parameters, updates, alpha=-lr)


def build_adam_atan2(model: RecurrentModel, betas: tuple[float, float], weight_decay: float) -> AdamAtan2:
    """Adam-atan2 for all parameters of a model; the rate is set before every step."""
    return AdamAtan2(trained_parameters(model), 0.0, betas, weight_decay, is_native=may_run_native(model))
