"""Settings of a model: a closed set of parameters (tables A2 to A4 of the paper).

A model is an entry under `models:` in params.yaml; recipes and runs change its settings. Unknown keys are an error.
"""

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, NamedTuple

from pydantic import Field, PositiveInt, model_validator

from serrm.core.entries import Entries
from serrm.core.settings import KeyOf, Settings
from serrm.models.angles import no_angles
from serrm.models.gates import GATES
from serrm.models.positions import POSITIONS

if TYPE_CHECKING:
    from serrm.models.layers import Rng
    from serrm.models.recurrence import RecurrentModel

# A published fault, which config.py sets where `fidelity.shifted_rope2d` is on. Its angles are those of RoPE2D, which
# `hrm_trm.TokenSequence.rotation` gives to the wrong positions.
SHIFTED: Final = "rope2d_shifted"
# (`data`, because reading an entry given by its place imports it.)
SEQUENCE_POSITIONS: Final = Entries({**POSITIONS.data, SHIFTED: POSITIONS["rope2d"]})
# Special tokens of the paper's tasks: pad, and one more, which is blank (Sudoku), wall (maze) or end of grid (ARC).
NUM_SPECIAL = 2


class ModelSizes(NamedTuple):
    """Sizes of a model that its task and training set decide."""

    num_symbols: int  # K of the alphabet, padding included
    num_positions: int = 0  # matters only to a model with weights for one size of grid
    num_task_types: int = 1
    num_special: int = NUM_SPECIAL  # tokens, the first ones, that no permutation of symbols moves


class FamilySettings(Settings):
    """Settings of a family's models, and all else that differs between families; `family` is its name."""

    has_q_head: ClassVar[bool] = False  # its models have a Q head and can learn when to halt
    has_prefix: ClassVar[bool] = False  # positions precede the grid, so `fidelity.shifted_rope2d` applies
    if TYPE_CHECKING:
        family: str

    expansion: float = Field(gt=0)
    """SwiGLU's inner width is expansion · D · 2/3."""
    swiglu_multiple: PositiveInt = 256
    """SwiGLU's inner width is rounded up to a multiple of this."""
    gate: Annotated[str, KeyOf(GATES)] = "swiglu"
    """The gated MLP over features: the paper's SwiGLU, or `normed`, σ(g)·RMSNorm(g·v), an extension on PyTorch."""
    standard_length: int | None = Field(default=None, ge=2)
    """Grid size, in positions, for which attention scores are not rescaled; with null they never are; an extension."""

    def swiglu_width(self, width: int) -> int:
        """Compute the inner width of a SwiGLU over D features: round(expansion·D·2/3), rounded up to the multiple."""
        return -(-round(self.expansion * width * 2 / 3) // self.swiglu_multiple) * self.swiglu_multiple

    def score_scale(self, num_positions: int) -> float:
        """Compute the factor of attention scores over positions: log I / log(standard length).

        The weight that a softmax gives to one of I positions falls as I grows, unless scores grow as log I.
        """
        return math.log(num_positions, self.standard_length) if self.standard_length else 1.0

    starts: PositiveInt = 1
    """R, initial states per puzzle, of which the most certain answer counts (loss `winner`); an extension."""
    start_noise: float = Field(default=0.0, ge=0)
    """Scale of normal numbers added to a puzzle's initial states, drawn by seed and puzzle; an extension."""

    @property
    def has_task_types(self) -> bool:
        """True if the model has a table of task types, which has its own learning rate."""
        return True

    def misfit(self, special: tuple[int, ...], answer_tokens: tuple[int, ...] = ()) -> str:
        """Find the setting that does not fit an alphabet with these special tokens; empty if all do.

        `answer_tokens` are those special tokens that answers hold.
        """
        return ""

    @property
    def has_dropout(self) -> bool:
        """True if training draws dropout masks."""
        return getattr(self, "attention_dropout", 0.0) > 0

    def build(self, sizes: ModelSizes, generator: "Rng") -> "RecurrentModel":
        """Build a model whose weights the generator draws; None gives zeros, to load weights or to count them.

        Only here a family may import torch.
        """
        raise NotImplementedError


class SequenceSettings(FamilySettings):
    """Settings of a family with one feature vector per position, behind a prefix that holds the task type."""

    has_prefix = True

    width: PositiveInt
    """D, features of the state."""
    layers: PositiveInt
    """L, layers of a block."""
    heads: PositiveInt
    """Attention heads over positions."""
    positions: Annotated[str, KeyOf(SEQUENCE_POSITIONS)]
    """Positional encoding ([values](models.md#settings-of-a-variant))."""
    prefix: int = Field(default=0, ge=0)
    """P, positions before the grid that hold the task type."""
    attention_dropout: float = Field(ge=0, lt=1)
    """Dropout of attention weights in training."""

    @model_validator(mode="after")
    def _has_whole_heads(self) -> "SequenceSettings":
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} does not split into {self.heads} heads of even size")
        check_head(self.positions, self.head_dim, self.standard_length)
        return self

    @property
    def head_dim(self) -> int:
        """Features of a head."""
        return self.width // self.heads

    @property
    def has_task_types(self) -> bool:
        """True if there is a prefix, which holds them."""
        return self.prefix > 0


def check_head(positions: str, head_dim: int, standard_length: int | None) -> None:
    """Raise ValueError for a head that cannot hold these positions."""
    # `standard_length` scales the scores by a rotary table, for which features form pairs, even where nothing rotates.
    encoding = SEQUENCE_POSITIONS[positions]
    divisor = 2 if encoding.angles is no_angles and standard_length is not None else encoding.divisor
    if head_dim % divisor:
        raise ValueError(f"positions: {positions} needs a head size divisible by {divisor}, not {head_dim}")
