"""How large a model is, by closed formulas from its settings: learned numbers, states, the memory of a training.

Without torch, as `operations` is. What is kept for the backward pass differs with the way a network is computed and
with PyTorch's version: those formulas are for planning.
"""

from collections.abc import Iterator
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


def num_weights(settings: ModelSettings, num_positions: int, num_symbols: int) -> int:
    """Learned numbers without the table of task types: what `recurrence.num_parameters` counts."""
    if isinstance(settings, SeRrmSettings):
        return _weights_of_se_rrm(settings, num_symbols)
    places, width = settings.prefix + num_positions, settings.width
    is_mlp = isinstance(settings, TrmSettings) and settings.mixer == "mlp"
    mixer = 3 * places * settings.gates(places) if is_mlp else 4 * width * width
    networks = 2 if isinstance(settings, HrmSettings) else 1
    layers = networks * settings.layers * (mixer + 3 * width * settings.gates(width))
    return layers + 2 * num_symbols * width + 2 * (width + 1)


def _weights_of_se_rrm(settings: SeRrmSettings, num_symbols: int) -> int:
    width, planes = settings.width, settings.num_planes(num_symbols)
    heads = settings.heads * settings.head_dim + settings.symbol_heads * settings.symbol_head_dim
    vectors = planes if settings.symbols == "untied" else planes - (num_symbols - NUM_SPECIAL) + 1
    readout = width if settings.symbols == "tied" else planes * planes * width
    layers = settings.layers * (4 * width * heads + 3 * width * settings.gates(width))
    return layers + vectors * (1 + settings.registers) * width + readout


def num_task_numbers(settings: ModelSettings, num_task_types: int, num_symbols: int) -> int:
    """Numbers in the table of task types."""
    if isinstance(settings, SequenceSettings):
        return num_task_types * settings.width
    planes = settings.num_planes(num_symbols)
    a_task = {"none": 0, "factored": settings.width + planes, "full": settings.width * planes}
    return num_task_types * a_task[settings.task_types]


def num_state_numbers(settings: ModelSettings, num_positions: int, num_symbols: int) -> int:
    """Numbers in the recurrent states of a puzzle."""
    if isinstance(settings, SequenceSettings):
        return 2 * (settings.prefix + num_positions) * settings.width
    places, planes = num_positions + settings.registers, settings.num_planes(num_symbols)
    return (2 if settings.states == "two" else 1) * places * planes * settings.width


@dataclass(frozen=True)
class Manner:
    """How a network is computed: bytes of a number in its states, by the native kernels or not, inner parts twice."""

    num_bytes: int
    is_native: bool = False
    recomputes: bool = False


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

    The norms work in float32, so PyTorch keeps their input in it; attention over a short axis keeps its scores.
    """
    inner = settings.layers * sum(_sublayers(settings, num_positions, num_symbols, manner))
    state = manner.num_bytes * num_state_numbers(settings, num_positions, num_symbols)
    if isinstance(settings, SeRrmSettings):
        num, states = settings.l_cycles + (settings.states == "two"), 2 if settings.states == "two" else 1
    else:
        num, states = 2 if isinstance(settings, HrmSettings) else settings.l_cycles + 1, 2
    return (1 if manner.recomputes else num) * inner + num * state // states


def _sublayers(settings: ModelSettings, positions: int, symbols: int, manner: Manner) -> Iterator[int]:
    width = settings.width
    has_dropout = settings.attention_dropout > 0
    if isinstance(settings, SeRrmSettings):
        places, planes = positions + settings.registers, settings.num_planes(symbols)
        rows = places * planes
        heads, head_dim = settings.symbol_heads, settings.symbol_head_dim
        yield _of_attention(rows, planes, heads, head_dim, manner, has_dropout) + _of_norm(
            rows, width, manner
        )
        heads, head_dim = settings.heads, settings.head_dim
    else:
        rows = places = settings.prefix + positions
        heads, head_dim = settings.heads, width // settings.heads
    if isinstance(settings, TrmSettings) and settings.mixer == "mlp":
        yield _of_gates(width, settings.gates(places), manner) + _of_norm(width, places, manner)
    else:
        yield _of_attention(rows, places, heads, head_dim, manner, has_dropout) + _of_norm(
            rows, width, manner
        )
    yield _of_gates(rows, settings.gates(width), manner) + _of_norm(rows, width, manner)


def _of_norm(rows: int, width: int, manner: Manner) -> int:
    """The sublayer's output, and of PyTorch's norm its input too."""
    return rows * width * (manner.num_bytes if manner.is_native else manner.num_bytes + 4)


def _of_gates(rows: int, inner: int, manner: Manner) -> int:
    """Gates and ups; PyTorch also keeps silu(gate) and the product."""
    return manner.num_bytes * rows * inner * (2 if manner.is_native else 4)


def _of_attention(
    rows: int, length: int, heads: int, head_dim: int, manner: Manner, has_dropout: bool
) -> int:
    """Queries, keys, values and what the heads gave; on short axes PyTorch's scores too, and what dropout leaves."""
    scores = 0 if manner.is_native or length >= LONG else heads * length * rows
    dropped = scores * (manner.num_bytes + 1) if has_dropout else 0
    return manner.num_bytes * (4 * rows * heads * head_dim + scores) + dropped
