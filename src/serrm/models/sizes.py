"""How large a model is, by closed formulas from its settings: learned numbers, states, the memory of a training.

Without torch. What is kept for the backward pass differs with the way a network is computed and with PyTorch's version:
those formulas are for planning.
"""

from dataclasses import dataclass

from serrm.models.settings import (
    NUM_SPECIAL,
    HrmSettings,
    ModelSettings,
    SequenceSettings,
    SeRrmSettings,
    TrmSettings,
)

PROCESS_BYTES = 600 * 2**20  # what a process with PyTorch holds before it has a model
LONG = 64  # attention over an axis of this length or more is fused, unless measured otherwise, and keeps no scores


@dataclass(frozen=True)
class Manner:
    """How a network is computed: bytes of a number in its states, by the native kernels or not."""

    num_bytes: int
    is_native: bool = False


@dataclass(frozen=True)
class AttentionSize:
    """Attention that updates `rows` vectors, each in a sequence of `length`."""

    rows: int
    width: int
    length: int
    heads: int
    head_dim: int
    has_dropout: bool

    @property
    def num_weights(self) -> int:
        """Of queries, keys, values and output."""
        return 4 * self.width * self.heads * self.head_dim

    def kept_bytes(self, manner: Manner) -> int:
        """Queries, keys, values, what the heads gave; on short axes PyTorch's scores too, and what dropout leaves."""
        scores = 0 if manner.is_native or self.length >= LONG else self.heads * self.length * self.rows
        dropped = scores * (manner.num_bytes + 1) if self.has_dropout else 0
        return manner.num_bytes * (4 * self.rows * self.heads * self.head_dim + scores) + dropped


@dataclass(frozen=True)
class GatedSize:
    """A SwiGLU that updates `rows` vectors of `width` by `inner` gates."""

    rows: int
    width: int
    inner: int

    @property
    def num_weights(self) -> int:
        """Of gates, ups and the way down."""
        return 3 * self.width * self.inner

    def kept_bytes(self, manner: Manner) -> int:
        """Gates and ups; PyTorch also keeps silu(gate) and the product."""
        return manner.num_bytes * self.rows * self.inner * (2 if manner.is_native else 4)


def sublayers(
    settings: ModelSettings, num_positions: int, num_symbols: int
) -> list[AttentionSize | GatedSize]:
    """The sublayers of one layer, as they run on one puzzle; the last one mixes features."""
    width, has_dropout = settings.width, settings.attention_dropout > 0
    if isinstance(settings, SeRrmSettings):
        places, planes = num_positions + settings.registers, settings.num_planes(num_symbols)
        rows, symbol_heads = places * planes, (settings.symbol_heads, settings.symbol_head_dim)
        mixers: list[AttentionSize | GatedSize] = [
            AttentionSize(rows, width, places, settings.heads, settings.head_dim, has_dropout),
            AttentionSize(rows, width, planes, *symbol_heads, has_dropout),
        ]
    else:
        rows = settings.prefix + num_positions
        is_mlp = isinstance(settings, TrmSettings) and settings.mixer == "mlp"
        heads = settings.heads, width // settings.heads
        mixers = [
            GatedSize(width, rows, settings.gates(rows))
            if is_mlp
            else AttentionSize(rows, width, rows, *heads, has_dropout)
        ]
    return [*mixers, GatedSize(rows, width, settings.gates(width))]


def num_states(settings: ModelSettings) -> int:
    """Recurrent states of a puzzle."""
    return 1 if isinstance(settings, SeRrmSettings) and settings.states == "one" else 2


def num_applications(settings: ModelSettings) -> tuple[int, int]:
    """How often a network is applied in a supervision step, and how many of those applications carry gradient."""
    cycle = settings.l_cycles + num_states(settings) - 1
    return settings.h_cycles * cycle, 2 if isinstance(settings, HrmSettings) else cycle


def num_weights(settings: ModelSettings, num_positions: int, num_symbols: int) -> int:
    """Learned numbers without the table of task types: what `recurrence.num_parameters` counts."""
    width = settings.width
    a_layer = sum(part.num_weights for part in sublayers(settings, num_positions, num_symbols))
    layers = settings.layers * a_layer * (2 if isinstance(settings, HrmSettings) else 1)
    if isinstance(settings, SequenceSettings):
        return layers + 2 * num_symbols * width + 2 * (width + 1)
    planes, is_tied = settings.num_planes(num_symbols), settings.symbols == "tied"
    vectors = planes - (num_symbols - NUM_SPECIAL) + 1 if is_tied else planes
    return layers + vectors * (1 + settings.registers) * width + (width if is_tied else planes**2 * width)


def num_task_numbers(settings: ModelSettings, num_task_types: int, num_symbols: int) -> int:
    """Numbers in the table of task types."""
    if isinstance(settings, SequenceSettings):
        return num_task_types * settings.width
    planes = settings.num_planes(num_symbols)
    a_task = {"none": 0, "factored": settings.width + planes, "full": settings.width * planes}
    return num_task_types * a_task[settings.task_types]


def num_state_numbers(settings: ModelSettings, num_positions: int, num_symbols: int) -> int:
    """Numbers in the recurrent states of a puzzle."""
    rows = sublayers(settings, num_positions, num_symbols)[-1].rows
    return num_states(settings) * rows * settings.width


@dataclass(frozen=True)
class Share:
    """Of a training, one process's part: its slots, how many go through the model at once, rows of task types."""

    num_slots: int
    at_once: int
    num_task_types: int


def training_bytes(
    settings: ModelSettings, num_positions: int, num_symbols: int, manner: Manner, share: Share
) -> int:
    """Memory of a process that trains: weights, average, gradients, two moments, task types, states, what is kept."""
    weights = num_weights(settings, num_positions, num_symbols)
    table = num_task_numbers(settings, share.num_task_types, num_symbols)
    states = share.num_slots * num_state_numbers(settings, num_positions, num_symbols)
    kept = share.at_once * kept_bytes(settings, num_positions, num_symbols, manner)
    return PROCESS_BYTES + 4 * (5 * weights + table) + manner.num_bytes * states + kept


def kept_bytes(settings: ModelSettings, num_positions: int, num_symbols: int, manner: Manner) -> int:
    """What the forward pass of a puzzle keeps for the backward pass: of every application that carries gradient.

    Of a sublayer with its norm: what it keeps itself, its output, and of PyTorch's norm, in float32, its input too.
    """
    parts = sublayers(settings, num_positions, num_symbols)
    norm = manner.num_bytes + (0 if manner.is_native else 4)
    inner = settings.layers * sum(part.kept_bytes(manner) + norm * part.rows * part.width for part in parts)
    _, num = num_applications(settings)
    return num * (inner + manner.num_bytes * parts[-1].rows * settings.width)
