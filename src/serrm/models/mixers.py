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
    from serrm.models.se_rrm_settings import SeRrmSettings
    from serrm.models.settings import SequenceSettings


class Mixer(NamedTuple):
    """A mixer of positions: `build` makes its torch module, with residual and norm.

    It is a function of (settings of the family, axis of the positions in the state, their number, generator). The axis
    counts from the right, D is -1; the number is that of the grids trained on, with prefix or registers. The module
    takes the state and a rotary table. With `has_one_size` the model takes only grids of the size trained on.
    """

    build: Callable[["SequenceSettings | SeRrmSettings", int, int, "Rng"], Any]
    has_one_size: bool = False


def attention(
    settings: "SequenceSettings | SeRrmSettings", axis: int, num_positions: int, generator: "Rng"
) -> Any:
    """Make multi-head attention, as in the paper."""
    from serrm.models.layers import Attention
    from serrm.models.recurrence import Residual

    width, heads, dropout = settings.width, settings.heads, settings.attention_dropout
    return Residual(
        Attention(width, heads, settings.head_dim, axis=axis, dropout=dropout, generator=generator)
    )


def mlp(settings: "SequenceSettings | SeRrmSettings", axis: int, num_positions: int, generator: "Rng") -> Any:
    """Make a gated MLP over the positions, as in TRM."""
    from serrm.models.recurrence import Residual, Transposed

    gate = GATES[settings.gate](num_positions, settings.swiglu_width(num_positions), generator)
    return Transposed(Residual(gate), axis)


MIXERS: Final = Entries[Mixer](
    {
        "attention": Mixer(attention),
        "mlp": Mixer(mlp, has_one_size=True),
    }
)
