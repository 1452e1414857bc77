"""Muon (Jordan 2024) for the matrices of the networks, with Adam-atan2 for the other parameters. (Not in the paper.)"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from serrm.kernels.accelerate import may_run_native
from serrm.kernels.products import is_reproducible, product
from serrm.models.recurrence import RecurrentModel, trained_parameters
from serrm.training.adam_atan2 import AdamAtan2

NEWTON_SCHULZ_STEPS = 5
QUINTIC = (3.4445, -4.7750, 2.0315)  # coefficients of x, x³ and x⁵
TINY = 1e-38  # the least squared norm that is divided by


class Muon(torch.optim.Optimizer):
    """Nesterov momentum of a matrix, made nearly orthogonal; weight decay is decoupled (Jordan 2024).

    The update has the root mean square of Adam's, 0.2 (Liu et al. 2025, "Muon is scalable"). PyTorch's own Muon
    multiplies in bfloat16, which rounds differently on different processors.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        *,
        is_native: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.is_native = is_native

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            for matrices in together(parameters, is_native=self.is_native):
                momenta = [self._momentum(p, group["momentum"]) for p in matrices]
                for p, update in zip(matrices, self._orthogonalised(momenta), strict=True):
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.add_(update, alpha=-0.2 * math.sqrt(max(p.shape)) * group["lr"])

    def _momentum(self, p: Tensor, momentum: float) -> Tensor:
        """Update the mean of a matrix's gradients; returns Nesterov's mixture of this mean and the last gradient."""
        assert p.grad is not None
        state = self.state[p]
        if not state:
            state["mean"] = torch.zeros_like(p)
        state["mean"].lerp_(p.grad, 1 - momentum)
        return p.grad.lerp(state["mean"], momentum)

    def _orthogonalised(self, matrices: Sequence[Tensor]) -> Sequence[Tensor]:
        if len(matrices) == 1:
            return [orthogonalised(matrices[0], is_native=self.is_native)]
        return orthogonalised(torch.stack([*matrices])).unbind()


def together(matrices: Sequence[Tensor], *, is_native: bool) -> list[list[Tensor]]:
    """Group the matrices whose products can be computed at once: those of one shape where PyTorch multiplies.

    A GPU takes as long to start a product as to compute one. A native kernel multiplies one matrix at a time.
    """
    groups: dict[object, list[Tensor]] = {}
    for matrix in matrices:
        is_alone = is_native and is_reproducible(matrix)
        groups.setdefault(id(matrix) if is_alone else matrix.shape, []).append(matrix)
    return [*groups.values()]


def orthogonalised(matrix: Float[Tensor, "*b m n"], *, is_native: bool = False) -> Float[Tensor, "*b m n"]:
    """Bring all singular values of a matrix, or of several of one shape, near 1.

    By five Newton-Schulz steps of degree 5 (Jordan 2024). If `is_native`, the native kernels multiply where they can;
    then there is one matrix.
    """
    multiply = product if is_native else torch.matmul
    is_tall = matrix.shape[-2] > matrix.shape[-1]
    x = matrix.mT if is_tall else matrix
    norm = x.square().sum(-1).sum(-1).clamp(min=TINY)
    x = x * norm.rsqrt()[..., None, None]
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = multiply(x, x.mT)
        x = QUINTIC[0] * x + multiply(QUINTIC[1] * gram + QUINTIC[2] * multiply(gram, gram), x)
    return x.mT if is_tall else x


class MuonAtan2:
    """Muon for the matrices of the networks and Adam-atan2 for all other parameters, both at one learning rate.

    Muon's update of a matrix has the root mean square of Adam's, so one rate suits both. (Not in the paper.)
    """

    def __init__(
        self,
        matrices: Sequence[Tensor],
        other_parameters: Sequence[Tensor],
        betas: tuple[float, float],
        weight_decay: float,
        *,
        is_native: bool = False,
    ) -> None:
        self.optimizers = {
            "muon": Muon(matrices, 0.0, weight_decay=weight_decay, is_native=is_native),
            "adam_atan2": AdamAtan2(other_parameters, 0.0, betas, weight_decay, is_native=is_native),
        }

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The parameter groups of both optimisers."""
        return [group for optimizer in self.optimizers.values() for group in optimizer.param_groups]

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for optimizer in self.optimizers.values():
            optimizer.step()

    def zero_grad(self) -> None:
        """Clear all gradients."""
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """Collect the state of each optimiser by its name."""
        return {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the states that `state_dict` gave."""
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state_dict[name])


def matrices_of(model: RecurrentModel) -> list[Tensor]:
    """Collect the matrices of the networks, which Muon updates."""
    return [p for p in model.networks.parameters() if p.ndim == 2]


def newton_schulz_flops(num_rows: int, num_columns: int) -> int:
    """Count the FLOPs of the products of `orthogonalised`: per step two with the matrix, and the square of its Gram
    matrix."""
    short, long = sorted((num_rows, num_columns))
    return NEWTON_SCHULZ_STEPS * (2 * 2 * short**2 * long + 2 * short**3)


def build_muon(model: RecurrentModel, betas: tuple[float, float], weight_decay: float) -> MuonAtan2:
    """Muon for the matrices of the networks, Adam-atan2 for embeddings and readout."""
    matrices = matrices_of(model)
    matrix_ids = {id(p) for p in matrices}
    other_parameters = [p for p in trained_parameters(model) if id(p) not in matrix_ids]
    return MuonAtan2(matrices, other_parameters, betas, weight_decay, is_native=may_run_native(model))
