"""The task-type table learns by sign-SGD on the rows of a batch, and on no other."""

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from serrm.models.task_types import update_rows

seeds = st.integers(0, 2**32 - 1)
rates = {"lr": st.floats(1e-4, 0.5), "weight_decay": st.floats(0, 2)}


def draw(seed: int, num_rows: int, batch_size: int, width: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    """A table, a batch with rows that come several times, and gradients whose sums are exact and often zero."""
    rng = np.random.default_rng(seed)
    table = torch.from_numpy(rng.normal(size=(num_rows, width)).astype(np.float32))
    task_types = torch.from_numpy(rng.integers(0, num_rows, batch_size))
    gradients = torch.from_numpy(rng.integers(-2, 3, (batch_size, width)).astype(np.float32))
    return table, task_types, gradients


def updated(table: Tensor, task_types: Tensor, gradients: Tensor, lr: float, weight_decay: float) -> Tensor:
    new = table.clone()
    update_rows(new, task_types, gradients, lr=lr, weight_decay=weight_decay)
    return new


@given(seed=seeds, num_rows=st.integers(1, 12), batch_size=st.integers(1, 20), **rates)
def test_the_update_is_that_of_the_obvious_loop(
    seed: int, num_rows: int, batch_size: int, lr: float, weight_decay: float
) -> None:
    table, task_types, gradients = draw(seed, num_rows, batch_size)
    expected = table.double().clone()
    for row in set(task_types.tolist()):
        total = sum(gradients[i].double() for i in range(batch_size) if task_types[i] == row)
        assert isinstance(total, Tensor)
        expected[row] = expected[row] - lr * weight_decay * expected[row] - lr * total.sign()
    found = updated(table, task_types, gradients, lr, weight_decay)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)


@given(seed=seeds, batch_size=st.integers(1, 20), shuffle=st.randoms(use_true_random=False), **rates)
def test_the_order_of_a_batch_does_not_matter(
    seed: int, batch_size: int, shuffle: Any, lr: float, weight_decay: float
) -> None:
    table, task_types, gradients = draw(seed, 6, batch_size)
    order = list(range(batch_size))
    shuffle.shuffle(order)
    one = updated(table, task_types, gradients, lr, weight_decay)
    other = updated(table, task_types[order], gradients[order], lr, weight_decay)
    assert torch.equal(one, other)
