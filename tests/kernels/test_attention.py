"""Attention of many short sequences on a GPU: packed into tiles, in parts that a CUDA grid takes."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from serrm.kernels.gpu import attention
from serrm.models.layers import Attention
from tests.compiling import apart
from tests.drawn import seeded

pytestmark = pytest.mark.numeric


def in_parts_and_whole(most: int, tile: int = 0) -> tuple[Tensor, Tensor]:
    """Attention over the symbols of 3 puzzles of 5 positions: 15 sequences, as many at once as `most`, and all."""
    x = torch.randn(3, 5, 4, 16, generator=seeded(0))
    layer = Attention(16, 2, 8, axis=-2, generator=seeded(1))
    whole = layer(x)
    layer.attend = attention.attend
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "most_sequences", lambda device: most)
        patch.setattr(attention, "TILE", tile)
        apply = torch.compile(layer, backend="eager", fullgraph=True)
        return apply(x).detach(), whole.detach()


@given(
    length=st.integers(1, 32),
    num=st.integers(1, 9),
    head_dim=st.sampled_from([4, 16, 64]),
    seed=st.integers(0, 2**32),
)
def test_packed_sequences_do_not_see_each_other(length: int, num: int, head_dim: int, seed: int) -> None:
    heads = torch.randn(3, 2 * num, 2, length, head_dim, generator=seeded(seed), requires_grad=True)
    mixed = [attention.attend_packed(*heads.unbind(), num), attention.attend(*heads.unbind())]
    upstream = torch.randn(mixed[0].shape, generator=seeded(seed + 1))
    gradients = [torch.autograd.grad(mix, heads, upstream)[0] for mix in mixed]
    torch.testing.assert_close(*mixed, rtol=0, atol=5e-5)
    torch.testing.assert_close(*gradients, rtol=0, atol=5e-4)


def test_dropout_drops_weights_of_packed_sequences_and_scales_the_others() -> None:
    query, key = torch.zeros(2, 1000, 1, 4, 8).unbind()  # all weights are 1/4
    value = torch.eye(4, 8).expand(1000, 1, 4, 8)
    torch.manual_seed(0)
    mixed = attention.attend_packed(query, key, value, 20, dropout=0.2)[..., :4]
    assert mixed.unique().tolist() == [0.0, 0.25 / (1 - 0.2)]
    assert float((mixed == 0).float().mean()) == pytest.approx(0.2, abs=0.02)


def compiled_and_plain(num_symbols: int) -> tuple[Tensor, Tensor, list[tuple[int, ...]]]:
    """Attention over the symbols of a puzzle, compiled and not, and the shapes that reach PyTorch's in the compiled."""
    torch.compiler.reset()
    x = torch.randn(1, 6, num_symbols, 16, generator=seeded(0))
    layer, shapes = Attention(16, 2, 8, axis=-2, generator=seeded(1)), list[tuple[int, ...]]()
    plain = layer(x)
    layer.attend = attention.attend

    def noting(graph: torch.fx.GraphModule, inputs: object) -> torch.fx.GraphModule:
        nodes = [node for node in graph.graph.nodes if "attention" in str(node.target)]
        shapes.extend(tuple(node.args[0].meta["example_value"].shape) for node in nodes)
        return graph

    return torch.compile(layer, backend=noting, fullgraph=True)(x).detach(), plain.detach(), shapes


SHAPES = {4: (1, 2, 24, 8), 40: (2, 2, 120, 8), 100: (6, 2, 100, 8)}  # by the number of symbols


def compiled_networks() -> list[Any]:
    """Attention in parts, in packs of parts, and packed for each of SHAPES."""
    parts = in_parts_and_whole(7)
    # Three sequences of four symbols in a tile are five packs, two at once.
    packs = in_parts_and_whole(2, tile=12)
    return [parts, packs, *(compiled_and_plain(num_symbols) for num_symbols in SHAPES)]


def test_compiled_networks_attend_in_parts_and_pack_the_symbols_of_several_positions() -> None:
    for (compiled, plain, *shapes), expected in zip(
        apart(compiled_networks), [[], [], *([[shape]] for shape in SHAPES.values())], strict=True
    ):
        torch.testing.assert_close(compiled, plain, rtol=0, atol=1e-6)
        assert shapes == expected
