"""The settings of HRM and TRM."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import PositiveInt

from serrm.core.settings import KeyOf
from serrm.models.mixers import MIXERS
from serrm.models.settings import ModelSizes, SequenceSettings

if TYPE_CHECKING:
    from serrm.models.layers import Rng
    from serrm.models.recurrence import RecurrentModel


class CycledSettings(SequenceSettings):
    """Settings of HRM and TRM: h and l cycles over two states, and a Q head, which reads the prefix."""

    has_q_head = True
    has_two_networks: ClassVar[bool] = False  # one for each state

    h_cycles: PositiveInt
    """Number of h cycles in a supervision step."""
    l_cycles: PositiveInt
    """Updates of z_L (SE-RRM: of Z) in an h cycle."""
    mixer: Annotated[str, KeyOf(MIXERS)] = "attention"
    """Attention, or an MLP over positions, which limits the model to one grid size. With an MLP, `heads`,
    `attention_dropout` and rotary `positions` must be valid, but have no effect."""
    prefix: PositiveInt
    """P, positions before the grid that hold the task type."""

    def build(self, sizes: ModelSizes, generator: "Rng") -> "RecurrentModel":
        """Build an HRM or TRM (`serrm.models.hrm_trm`)."""
        from serrm.models.hrm_trm import build_hrm_trm

        return build_hrm_trm(self, sizes, generator)


class TrmSettings(CycledSettings):
    """TRM: tiny recursive model (Jolicoeur-Martineau 2025), one network for both states."""

    family: Literal["trm"]
    mixer: Annotated[str, KeyOf(MIXERS)]
    """Attention, or an MLP over positions, which limits the model to one grid size. With an MLP, `heads`,
    `attention_dropout` and rotary `positions` must be valid, but have no effect."""


class HrmSettings(CycledSettings):
    """HRM: hierarchical reasoning model (Wang et al. 2025), a network for each state."""

    has_two_networks = True

    family: Literal["hrm"]
