"""How task-type embeddings learn: sign-SGD with decoupled weight decay, on the rows of a batch only.

The table has a row for every task type (a million of them on ARC), of which a batch touches a few hundred.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


@torch.no_grad()
def update_rows(
    table: Float[Tensor, "T W"],
    task_types: Int[Tensor, " B"],
    gradients: Float[Tensor, "B W"],
    *,
    lr: float,
    weight_decay: float,
) -> None:
    """Update in place the rows that occur in `task_types`, each once: gradients of one row are summed first."""
    rows, places = task_types.unique(return_inverse=True)
    summed = torch.zeros(len(rows), table.shape[1], dtype=table.dtype, device=table.device)
    summed.index_add_(0, places, gradients.to(table.dtype))
    table[rows] = table[rows] * (1 - lr * weight_decay) - lr * summed.sign()
