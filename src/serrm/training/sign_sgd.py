"""Sign-SGD, which trains the task-type table."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from serrm.kernels.products import product


@torch.no_grad()
def update_rows(
    table: Float[Tensor, "T W"],
    rows: Int[Tensor, " B"],
    gradients: Float[Tensor, "B W"],
    *,
    lr: float,
    weight_decay: float,
    is_native: bool = False,
) -> None:
    """Update each row that occurs in `rows` once, by its summed gradients: sign-SGD with decoupled weight decay.

    The table has a row per task type (a million on ARC); a batch uses a few hundred of them.

    No shape depends on the number of different rows, so nothing waits for a GPU to count them. A row that occurs
    several times is written several times with the same numbers.
    """
    is_same = rows[:, None] == rows
    first = is_same.int().argmax(1)  # the first index with the same row
    # A matrix product adds in a fixed order; adding rows in place on a GPU does not.
    summed = product(is_same.to(table.dtype), gradients.to(table.dtype), is_native=is_native)
    table[rows] = table[rows] * (1 - lr * weight_decay) - lr * summed[first].sign()
