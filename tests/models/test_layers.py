"""Every layer equals a slow, obvious reference in float64."""

import cmath
import math

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from serrm.models.layers import (
    TRUNCATED_STD,
    Attention,
    SwiGLU,
    box_angles,
    in_pairs,
    linear_angles,
    linear_weight,
    place_angles,
    rms_norm,
    rope2d_angles,
    rope_angles,
    rotate,
    rotation_table,
    truncated_normal,
)
from serrm.puzzles.sudoku import box_for_side
from tests.drawn import seeded

pytestmark = pytest.mark.numeric

CPU = torch.device("cpu")


@torch.no_grad()
def slow_attention(layer: Attention, sequence: Tensor, angles: Tensor | None) -> Tensor:
    """Attention on one sequence `S D`, an output row at a time, with rotation by complex numbers."""
    num_heads, dim = layer.num_heads, layer.head_dim
    q_weight, k_weight, v_weight = layer.qkv.double().reshape(3, num_heads, dim, -1)
    outputs = []
    for place in range(len(sequence)):
        mixed = []
        for head in range(num_heads):
            queries, keys = sequence @ q_weight[head].T, sequence @ k_weight[head].T
            values = sequence @ v_weight[head].T
            if angles is not None:
                queries, keys = slow_rotate(queries, angles), slow_rotate(keys, angles)
            scores = [math.exp(float(queries[place] @ key) / math.sqrt(dim)) for key in keys]
            mixed.append(sum(s / sum(scores) * v for s, v in zip(scores, values, strict=True)))
        outputs.append(torch.cat([torch.as_tensor(part) for part in mixed]) @ layer.out.double().T)
    return torch.stack(outputs)


def slow_rotate(rows: Tensor, angles: Tensor) -> Tensor:
    """(x₁ + i·x₂)·e^{iθ}, number by number."""
    half = rows.shape[1] // 2
    turned = torch.empty_like(rows)
    for place, row in enumerate(rows.tolist()):
        for index in range(half):
            number = complex(row[index], row[index + half]) * cmath.exp(1j * float(angles[place, index]))
            turned[place, index], turned[place, index + half] = number.real, number.imag
    return turned


@pytest.mark.parametrize("kind", ["none", "rope", "rope2d"])
@pytest.mark.parametrize("axis", [-2, -3])
def test_attention_along_either_axis_is_the_loop(axis: int, kind: str) -> None:
    layer = Attention(6, num_heads=2, head_dim=4, axis=axis, generator=seeded(0))
    x = torch.randn(2, 4, 4, 6, generator=seeded(1))
    rotation = rotation_table(kind, 4, 4, CPU)
    angles = {"none": None, "rope": rope_angles(4, 4), "rope2d": rope2d_angles(4, 4)}[kind]
    got = layer(x, rotation).detach()
    for batch in range(2):
        for other in range(4):
            where = (batch, slice(None), other) if axis == -3 else (batch, other)
            expected = slow_attention(layer, x[where].double(), angles)
            torch.testing.assert_close(got[where].double(), expected, rtol=0, atol=1e-6)


@given(seed=st.integers(0, 2**32), places=st.integers(1, 6), half=st.integers(1, 5))
def test_rotation_is_multiplication_of_complex_numbers(seed: int, places: int, half: int) -> None:
    x = torch.randn(places, 2 * half, generator=seeded(seed))
    angles = 100 * torch.randn(places, half, generator=seeded(seed + 1))
    expected = slow_rotate(x.double(), angles.double())
    in_order = in_pairs(x.T, 2 * half).T.contiguous()
    turned = rotate(in_order[:, None], (angles.cos(), angles.sin()))[:, 0]
    torch.testing.assert_close(turned.double(), in_pairs(expected.T, 2 * half).T, rtol=0, atol=1e-5)


def test_rope2d_angles_are_those_of_the_formula() -> None:
    for place, row in enumerate(rope2d_angles(9, 8).tolist()):
        frequencies = [1.0, 1 / 100]
        expected = [line * frequency for line in (place // 3, place % 3) for frequency in frequencies]
        assert row == pytest.approx(expected)


@given(kind=st.sampled_from(["rope2d", "none"]), scale=st.floats(0.1, 3), seed=st.integers(0, 2**32))
def test_a_scaled_table_scales_the_scores(kind: str, scale: float, seed: int) -> None:
    x = torch.randn(2, 9, 16, generator=seeded(seed))
    plain, scaled = (rotation_table(kind, 9, 8, CPU, score_scale=by) for by in (1.0, scale))
    layer = Attention(16, 2, 8, axis=-2, generator=seeded(seed + 1))
    found = layer(x, scaled)
    layer.qkv.data[:16] *= scale
    torch.testing.assert_close(found, layer(x, plain), rtol=0, atol=1e-5)


@pytest.mark.parametrize("side", [4, 6, 9, 16])
def test_angles_with_boxes_tell_rows_columns_and_boxes(side: int) -> None:
    rows, columns, box_rows, box_columns = box_angles(side * side, 32).view(side, side, 4, 4).unbind(2)
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
    angles = place_angles(side * side, head_dim)
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


def test_more_places_in_a_box_than_the_frequencies_tell_apart_are_refused() -> None:
    with pytest.raises(
        ValueError, match="heads of 16 features distinguish 5 rows or columns of a box, not 7"
    ):
        place_angles(14 * 14, 16)


@pytest.mark.parametrize("distance", [0, 1, 3])
def test_evenly_spaced_frequencies_tell_one_distance_from_all_others(distance: int) -> None:
    rows, columns = linear_angles(100, 32).view(10, 10, 2, 8).unbind(2)
    assert torch.equal(rows, columns.transpose(0, 1))
    from_here = torch.arange(10) - distance
    # Σ cos(πk·m/n) for k = 1 … n is n at m = 0, and 0 or −1 at every other distance.
    scores = (rows[:, 0] - rows[distance, 0]).cos().sum(-1)
    assert torch.equal(scores.argmax(), torch.tensor(distance))
    assert scores[distance] == pytest.approx(8) and (scores[from_here != 0] < 0.001).all()


@given(seed=st.integers(0, 2**32), scale=st.floats(1e-3, 1e3))
def test_norm_is_division_by_the_root_mean_square(seed: int, scale: float) -> None:
    x = scale * torch.randn(3, 5, 7, generator=seeded(seed))
    wide = x.double()
    expected = wide / (wide.square().sum(-1, keepdim=True) / 7 + 1e-5).sqrt()
    torch.testing.assert_close(rms_norm(x).double(), expected, rtol=1e-6, atol=1e-7)
    assert rms_norm(x.bfloat16()).dtype == torch.bfloat16
    assert torch.equal(rms_norm(x.bfloat16()), rms_norm(x.bfloat16().float()).bfloat16())


def test_swiglu_is_its_formula() -> None:
    layer = SwiGLU(5, 256, seeded(0))
    x = torch.randn(3, 5, generator=seeded(1))
    gate, up = layer.gate_up.double().split(256)
    wide = x.double()
    hidden = wide @ gate.T
    expected = (hidden / (1 + (-hidden).exp()) * (wide @ up.T)) @ layer.down.double().T
    torch.testing.assert_close(layer(x).double(), expected, rtol=0, atol=1e-6)


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
