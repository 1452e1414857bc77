"""The settings of SE-RRM."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PositiveInt, model_validator

from serrm.core.settings import KeyOf
from serrm.models.mixers import MIXERS
from serrm.models.positions import POSITIONS
from serrm.models.settings import FamilySettings, ModelSizes, check_head

if TYPE_CHECKING:
    from serrm.models.layers import Rng
    from serrm.models.recurrence import RecurrentModel


class SeRrmSettings(FamilySettings):
    """SE-RRM: symbol-equivariant recurrent reasoning model (paper, section 2.3)."""

    family: Literal["se_rrm"]
    states: Literal["one", "two"] = "one"
    """One state as in the paper, or z_H and z_L in TRM's schedule; an extension."""
    width: PositiveInt
    """D, features of the state."""
    layers: PositiveInt
    """L, layers of a block."""
    h_cycles: PositiveInt
    """Number of h cycles in a supervision step."""
    l_cycles: PositiveInt
    """Updates of z_L (SE-RRM: of Z) in an h cycle."""
    heads: PositiveInt
    """Attention heads over positions."""
    head_dim: PositiveInt
    """Features of a head over positions."""
    symbol_heads: PositiveInt
    """Attention heads over symbols."""
    symbol_head_dim: PositiveInt
    """Features of a head over symbols."""
    positions: Annotated[str, KeyOf(POSITIONS)]
    """Positional encoding ([values](models.md#settings-of-a-variant))."""
    registers: int = Field(ge=0)
    """Extra positions that are cut before the output."""
    symbols: Literal["tied", "untied"]
    """Symbol embeddings: shared (equivariant), or one per symbol."""
    mixer: Annotated[str, KeyOf(MIXERS)] = "attention"
    """Attention over positions, or an MLP, which limits the model to one grid size; an extension."""
    planes: Literal["all", "usual"]
    """Symbols in the state, either all or `usual` (all except the special tokens)."""
    task_types: Literal["none", "full", "factored"]
    """Size of the task-type embedding, either none, the paper's D×K or the published code's D + K."""
    attention_dropout: float = Field(ge=0, lt=1)
    """Dropout of attention weights in training."""

    def num_planes(self, num_symbols: int, num_special: int) -> int:
        """Symbol planes of the state for an alphabet of `num_symbols`, pad included."""
        return num_symbols - self.first_plane_token(num_special)

    def first_plane_token(self, num_special: int) -> int:
        """Return the token of the first plane: 0, or the first usual symbol where only these have planes."""
        return num_special if self.planes == "usual" else 0

    @model_validator(mode="after")
    def _has_heads_to_rotate(self) -> "SeRrmSettings":
        check_head(self.positions, self.head_dim, self.standard_length)
        return self

    @property
    def has_task_types(self) -> bool:
        """True unless the settings say that there are none."""
        return self.task_types != "none"

    def misfit(self, special: tuple[int, ...], answer_tokens: tuple[int, ...] = ()) -> str:
        """Planes of usual symbols, and tied symbols, need the special tokens to be the first ones.

        A special token without a plane is never predicted, so the loss of an answer that holds one is infinite.
        """
        are_first = special == tuple(range(len(special)))
        if self.planes == "usual" and (answer_tokens or not are_first):
            return "planes"
        return "symbols" if self.symbols == "tied" and not are_first else ""

    def build(self, sizes: ModelSizes, generator: "Rng") -> "RecurrentModel":
        """Build an SE-RRM (`serrm.models.se_rrm`)."""
        from serrm.models.se_rrm import build_se_rrm

        return build_se_rrm(self, sizes, generator)
