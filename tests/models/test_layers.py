"""Positions: extensions tell rows, columns and boxes apart, and heads that do not split are refused.

Published vectors (tests/published) cover the layers themselves.
"""

import math

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from serrm.models.hrm_trm import TokenSequence
from serrm.models.hrm_trm_settings import TrmSettings
from serrm.models.layers import TRUNCATED_STD, Attention, linear_weight, rotation_table, truncated_normal
from serrm.models.positions import POSITIONS
from serrm.models.settings import ModelSizes
from serrm.puzzles.boxes import box_for_side
from tests import conftest
from tests.conftest import se_rrm_settings
from tests.drawn import CPU, seeded

pytestmark = pytest.mark.numeric


def angles_of(kind: str, num_positions: int, head_dim: int) -> Tensor:
    return torch.from_numpy(POSITIONS[kind].angles(num_positions, head_dim))


@given(kind=st.sampled_from(["rope2d", "none"]), scale=st.floats(0.1, 3), seed=st.integers(0, 2**32))
def test_a_scaled_table_scales_the_scores(kind: str, scale: float, seed: int) -> None:
    x = torch.randn(2, 9, 16, generator=seeded(seed))
    plain, scaled = (rotation_table(POSITIONS[kind].angles, 9, 8, CPU, score_scale=by) for by in (1.0, scale))
    layer = Attention(16, 2, 8, axis=-2, generator=seeded(seed + 1))
    found = layer(x, scaled)
    layer.qkv.data[:16] *= scale
    torch.testing.assert_close(found, layer(x, plain), rtol=0, atol=1e-5)


@pytest.mark.parametrize("side", [4, 6, 9, 16])
def test_angles_with_boxes_tell_rows_columns_and_boxes(side: int) -> None:
    angles = angles_of("rope2d_boxes", side * side, 32)
    rows, columns, box_rows, box_columns = angles.view(side, side, 4, 4).unbind(2)
    box = box_for_side(side)
    assert torch.equal(rows, rows[:, :1].expand_as(rows)) and torch.equal(columns, rows.transpose(0, 1))
    assert len(rows[:, 0].unique(dim=0)) == side
    for line in range(side):
        same_band = [other // box.rows == line // box.rows for other in range(side)]
        assert [torch.equal(box_rows[line, 0], box_rows[other, 0]) for other in range(side)] == same_band
        same_stack = [other // box.cols == line // box.cols for other in range(side)]
        assert [
            torch.equal(box_columns[0, line], box_columns[0, other]) for other in range(side)
        ] == same_stack


@pytest.mark.parametrize("head_dim", [16, 32])
@pytest.mark.parametrize("side", [4, 6, 9, 16, 25])
def test_what_two_cells_share_decides_their_likeness_in_grids_of_every_size(side: int, head_dim: int) -> None:
    num = head_dim // 8
    angles = angles_of("rope2d_in_boxes", side * side, head_dim)
    likeness = (angles[:, None] - angles).cos().unflatten(-1, (4, num)).sum(-1)
    cells, box = range(side * side), box_for_side(side)
    for one, other in [(0, 0), *zip(cells, reversed(cells), strict=True), *((5, cell) for cell in cells)]:
        places = [
            (line // size, line % size)
            for line, size in zip(
                (*divmod(one, side), *divmod(other, side)), 2 * (box.rows, box.cols), strict=True
            )
        ]
        shared = [mine == its for at in (0, 1) for mine, its in zip(places[at], places[at + 2], strict=True)]
        assert likeness[one, other].tolist() == pytest.approx(
            [num if is_shared else -0.5 for is_shared in shared], abs=1e-4
        )


@pytest.mark.parametrize("distance", [0, 1, 3])
def test_evenly_spaced_frequencies_tell_one_distance_from_all_others(distance: int) -> None:
    rows, columns = angles_of("rope2d_linear", 100, 32).view(10, 10, 2, 8).unbind(2)
    assert torch.equal(rows, columns.transpose(0, 1))
    from_here = torch.arange(10) - distance
    # Σ cos(πk·m/n) for k = 1 … n is n at m = 0, and 0 or −1 at every other distance.
    scores = (rows[:, 0] - rows[distance, 0]).cos().sum(-1)
    assert torch.equal(scores.argmax(), torch.tensor(distance))
    assert scores[distance] == pytest.approx(8) and (scores[from_here != 0] < 0.001).all()


def test_odd_frequencies_tell_rows_from_those_beyond_the_period_of_linear_ones() -> None:
    rows = angles_of("rope2d_odd", 30 * 30, 32)[::30, :8]
    likeness = (rows[0] - rows).cos().sum(-1)
    expected = torch.zeros(30)
    expected[[0, 16]] = torch.tensor([8.0, -8.0])
    torch.testing.assert_close(likeness, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("std", [1.0, 0.0625])
def test_truncated_normal_has_the_std_asked_for(std: float) -> None:
    num = 400_000
    numbers = truncated_normal(num, std=std, generator=seeded(0))
    assert float(numbers.std()) == pytest.approx(std, rel=0.004)
    assert float(numbers.mean()) == pytest.approx(0, abs=0.005 * std)
    # Cut at two standard deviations of the normal before the cut.
    assert 1.99 * std / TRUNCATED_STD < float(numbers.abs().max()) <= 2 * std / TRUNCATED_STD
    assert pytest.approx(scipy.stats.truncnorm(-2, 2).std(), rel=1e-12) == TRUNCATED_STD
    assert float(linear_weight(300, 400, seeded(0)).detach().std()) == pytest.approx(1 / 20, rel=0.01)


def table_of(positions: str, prefix: int, side: int) -> tuple[Tensor, Tensor]:
    settings = TrmSettings.model_validate({**conftest.TRM, "positions": positions, "prefix": prefix})
    return TokenSequence(settings, ModelSizes(6), seeded(0)).rotation(side**2, CPU)


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


@pytest.mark.parametrize(
    ("positions", "head_dim", "divisor"),
    [("rope", 7, 2), ("rope2d", 6, 4), ("rope2d_boxes", 12, 8), ("rope2d_in_boxes", 24, 16)],
)
def test_a_head_that_does_not_split_is_a_settings_error(positions: str, head_dim: int, divisor: int) -> None:
    with pytest.raises(ValidationError, match=rf"positions: {positions} .*\b{divisor}\b"):
        se_rrm_settings(positions=positions, head_dim=head_dim)


def test_a_standard_length_scales_scores_of_other_lengths() -> None:
    scales = [se_rrm_settings(standard_length=81).score_scale(num) for num in (16, 81, 256)]
    assert scales == pytest.approx([4 * math.log(2) / math.log(81), 1.0, 8 * math.log(2) / math.log(81)])
    assert se_rrm_settings().score_scale(16) == 1.0
    assert se_rrm_settings(standard_length=81, positions="none").score_scale(256) == scales[2]
    with pytest.raises(ValidationError, match="standard_length"):
        se_rrm_settings(standard_length=1)
