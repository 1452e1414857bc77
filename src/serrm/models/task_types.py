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
    """Update in place the rows that occur in `task_types`, each once: gradients of one row are summed first.

    No shape depends on how many different rows there are, so nothing waits for a GPU to count them: a row that occurs
    several times is written several times with the same numbers.
    """
    is_same = task_types[:, None] == task_types
    first = is_same.int().argmax(1)  # the first place with the same row
    # Sums by a matrix product: adding rows in place would add them in any order on a GPU.
    summed = is_same.to(table.dtype) @ gradients.to(table.dtype)
    table[task_types] = table[task_types] * (1 - lr * weight_decay) - lr * summed[first].sign()
