"""The rotation of HRM's and TRM's input; published vectors cover their prefix, 1-D RoPE and TRM's MLP."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from serrm.models.hrm_trm import TokenSequence
from serrm.models.settings import TrmSettings
from tests import conftest
from tests.drawn import seeded

pytestmark = pytest.mark.numeric

CPU = torch.device("cpu")


def table_of(positions: str, prefix: int, side: int) -> tuple[Tensor, Tensor]:
    settings = TrmSettings.model_validate({**conftest.TRM, "positions": positions, "prefix": prefix})
    rotation = TokenSequence(settings, 6, seeded(0)).rotation(side**2, CPU)
    assert rotation is not None
    return rotation


@given(side=st.integers(2, 9), prefix=st.integers(1, 16))
def test_the_published_rope2d_is_shifted_by_the_prefix(side: int, prefix: int) -> None:
    num, unrotated = side**2, (1.0, 0.0)  # cos, sin
    for aligned, shifted, still in zip(
        table_of("rope2d", prefix, side), table_of("rope2d_shifted", prefix, side), unrotated, strict=True
    ):
        assert aligned.shape == shifted.shape == (prefix + num, 4)
        # Each cell is rotated as the cell P places on, the prefix as the first cells, the last P cells not at all.
        cells = aligned[prefix:]
        assert torch.equal(shifted[prefix:num], cells[prefix:])
        assert torch.equal(shifted[: min(prefix, num)], cells[:prefix])
        assert (aligned[:prefix] == still).all() and (shifted[num:] == still).all()
        assert not torch.equal(aligned, shifted)
