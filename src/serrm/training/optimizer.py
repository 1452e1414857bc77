"""Adam-atan2 (Everett et al. 2024) and the learning-rate schedules of the paper."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class AdamAtan2(torch.optim.Optimizer):
    """Adam whose update is −lr·atan2(m̂, √v̂): no epsilon, scale-invariant. Weight decay is decoupled."""

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.95),
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As every optimiser, but that the count of steps, which every step reads, stays on the host."""
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
            for parameter in parameters:
                if not self.state[parameter]:
                    self.state[parameter] = {
                        "step": torch.zeros(()),
                        "mean": torch.zeros_like(parameter),
                        "square": torch.zeros_like(parameter),
                    }
            self._update(parameters, group["lr"], group["betas"], group["weight_decay"])

    def _update(
        self, parameters: list[Tensor], lr: float, betas: tuple[float, float], weight_decay: float
    ) -> None:
        gradients = [p.grad for p in parameters if p.grad is not None]
        states = [self.state[p] for p in parameters]
        means = [state["mean"] for state in states]
        squares = [state["square"] for state in states]
        torch._foreach_add_([state["step"] for state in states], 1)
        num_steps = float(states[0]["step"])
        torch._foreach_lerp_(means, gradients, 1 - betas[0])
        torch._foreach_mul_(squares, betas[1])
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - betas[1])
        roots = torch._foreach_sqrt(torch._foreach_div(squares, 1 - betas[1] ** num_steps))
        corrected = torch._foreach_div(means, 1 - betas[0] ** num_steps)
        torch._foreach_mul_(parameters, 1 - lr * weight_decay)
        updates = [torch.atan2(mean, root) for mean, root in zip(corrected, roots, strict=True)]
        torch._foreach_add_(parameters, updates, alpha=-lr)


def constant(progress: float, final: float) -> float:
    """The peak learning rate throughout."""
    return 1.0


def cosine(progress: float, final: float) -> float:
    """Cosine decay from the peak to `final` of it."""
    return final + (1 - final) / 2 * (1 + math.cos(math.pi * progress))


SCHEDULES = {"constant": constant, "cosine": cosine}


def learning_rate(
    step: int, *, peak: float, warmup: int, num_steps: int, schedule: str, final: float = 0.1
) -> float:
    """The rate of optimiser step 0, 1, …: linear warm-up from peak/warmup, then the schedule."""
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * SCHEDULES[schedule]((step - warmup) / max(1, num_steps - warmup), final)
