"""What tests of models draw and count: seeded generators, random grids, gradients, operations."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

CPU = torch.device("cpu")


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw_tokens(side: int = 4, num: int = 3, seed: int = 0, num_symbols: int | None = None) -> Tensor:
    """Grids of independent tokens, blanks among them, by default of a Sudoku's alphabet."""
    return torch.randint(1, num_symbols or side + 2, (num, side**2), generator=seeded(seed))


def gradients(model: nn.Module, logits: Tensor) -> dict[str, Tensor]:
    """Gradients of an arbitrary function of the logits, by name of the parameter."""
    model.zero_grad()
    logits.cos().sum().backward()
    named = model.named_parameters()
    return {name: p.grad.clone() for name, p in named if p.grad is not None and p.numel()}


def counted(work: Callable[[], object]) -> int:
    """Operations of the matrix products that are really done."""
    # The counter does not know the CPU's fused attention.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())
