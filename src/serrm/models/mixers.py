"""The sublayers that mix positions, by name.

A custom one is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Torch is needed only when a model is built.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from serrm.core.entries import Entries
from serrm.models.gates import GATES

if TYPE_CHECKING:
    from serrm.models.layers import Rng


class Lengths(NamedTuple):
    """Sizes of a state `B … D` along whose `axis` positions are mixed; `axis` counts from the right, D is -1."""

    width: int  # D
    axis: int
    num_positions: int  # with prefix or registers; that of the grids that the model is trained on
    heads: int
    head_dim: int
    dropout: float
    gate: str  # a key of GATES
    inner: int  # of a gated MLP over the positions


class Mixer(NamedTuple):
    """A mixer of positions: `build` makes its torch module, with residual and norm, of (lengths, generator).

    The module takes the state and a rotary table. With `has_one_size` the model takes only grids of the size that it
    was trained on.
    """

    build: Callable[[Lengths, "Rng"], Any]
    has_one_size: bool = False


def attention(lengths: Lengths, generator: "Rng") -> Any:
    """Multi-head attention, as in the paper."""
    from serrm.models.layers import Attention
    from serrm.models.recurrence import Residual

    width, axis, _, heads, head_dim, dropout, *_ = lengths
    return Residual(Attention(width, heads, head_dim, axis=axis, dropout=dropout, generator=generator))


def mlp(lengths: Lengths, generator: "Rng") -> Any:
    """A gated MLP over the positions, as in TRM."""
    from serrm.models.recurrence import Residual, Transposed

    gate = GATES[lengths.gate](lengths.num_positions, lengths.inner, generator)
    return Transposed(Residual(gate), lengths.axis)


MIXERS: Final = Entries[Mixer](
    {
        "attention": Mixer(attention),
        "mlp": Mixer(mlp, has_one_size=True),
    }
)
