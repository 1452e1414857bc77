"""The recurrence of all models: one deep-supervision step as a list of updates.

A model is an input embedding, one or two networks, a schedule of updates and a readout. Every update is
equation (2) of the paper: a state becomes network(state + other states + the embedding, where the update has it). HRM,
TRM and SE-RRM differ in the schedule, not in the code that runs it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from serrm.core.randomness import Purpose, normal_numbers
from serrm.models.layers import Features, Rng, Rotation, rms_norm, truncated_normal
from serrm.models.positions import PositionalEncoding

State = tuple[Tensor, ...]
Tokens = Int[Tensor, "B I"]
TaskVectors = Float[Tensor, "B W"]  # rows of the task-type table, one per puzzle
Z_L, Z_H = 0, 1  # index of the two states of HRM and TRM; the readout reads the last


class CannotExtrapolate(ValueError):
    """The model has no weights for an alphabet of this size, or no weights or positions for a grid of this size."""


@dataclass(frozen=True)
class Update:
    """One update: states[target] ← network(states[target] + Σ states[sources] (+ embedding))."""

    network: str
    target: int
    sources: tuple[int, ...] = ()
    has_embedding: bool = True


@dataclass(frozen=True)
class Schedule:
    """The updates of one supervision step; only the last `num_with_gradient` carry gradient."""

    updates: tuple[Update, ...]
    num_with_gradient: int
    states: tuple[str, ...] = ("Z",)  # the name of each part of the state, in the letters of the papers

    def __post_init__(self) -> None:
        assert 0 < self.num_with_gradient <= len(self.updates)


def one_state_schedule(h_cycles: int, l_cycles: int) -> Schedule:
    """Make the schedule of SE-RRM, h cycles of l updates with the embedding; the last h cycle carries gradient."""
    return Schedule((Update("block", target=0),) * (h_cycles * l_cycles), num_with_gradient=l_cycles)


def two_state_schedule(
    h_cycles: int,
    l_cycles: int,
    low: str = "block",
    high: str = "block",
    num_with_gradient: int | None = None,
) -> Schedule:
    """Make the schedule of HRM and TRM, h cycles: z_L takes z_H and the embedding l times, then z_H takes z_L.

    `low` and `high` name the networks of z_L and z_H. By default the whole last h cycle carries gradient, as in TRM.
    """
    update_low = Update(low, target=Z_L, sources=(Z_H,))
    update_high = Update(high, target=Z_H, sources=(Z_L,), has_embedding=False)
    cycle = (update_low,) * l_cycles + (update_high,)
    return Schedule(cycle * h_cycles, num_with_gradient or len(cycle), ("z_L", "z_H"))


class StepOutput(NamedTuple):
    """The results of a supervision step: the detached next state, the logits, and the halting logits if any.

    A model with several starts per puzzle gives the logits of the most certain one, and of all as `starts`.
    """

    state: State
    logits: Float[Tensor, "B I K"]
    halting: Float[Tensor, "B 2"] | None
    starts: Float[Tensor, "B R I K"] | None = None


class Residual(nn.Module):
    """Norm(x + f(x)): a sublayer with its residual addition and post-norm (equations 4 to 9)."""

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x: Features, *args: Rotation | None) -> Features:
        return rms_norm(x + self.sublayer(x, *args))


class Transposed(nn.Module):
    """A sublayer over the axis of positions, its norm included: how TRM's MLP mixes them. It ignores the rotation."""

    def __init__(self, sublayer: nn.Module, axis: int) -> None:
        super().__init__()
        self.sublayer, self.axis = sublayer, axis

    def forward(self, x: Features, rotation: Rotation | None = None) -> Features:
        mixed: Tensor = self.sublayer(x.transpose(self.axis, -1)).transpose(self.axis, -1)
        return mixed


class Network(nn.Module):
    """A block: L layers, each a mix over positions (with the rotation) followed by further sublayers."""

    def __init__(self, layers: Sequence[Sequence[nn.Module]]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleList(sublayers) for sublayers in layers)

    def forward(self, x: Features, injection: Features, rotation: Rotation | None) -> Features:
        x = x + injection
        for layer in self.layers:
            position_mixer, *sublayers = layer.children()
            x = position_mixer(x, rotation)
            for sublayer in sublayers:
                x = sublayer(x)
        return x


class InputEmbedding(nn.Module, ABC):
    """The shape of a model's state, and the embedding E of its input, which all updates but those of z_H add."""

    def __init__(self) -> None:
        super().__init__()
        self.positions: nn.Module | None = None  # learned ones, for `num_positions`
        self.num_positions = 0
        self.has_one_size = False  # a mixer has weights for `num_positions`

    def learn_positions(
        self, encoding: PositionalEncoding, num_positions: int, width: int, generator: Rng
    ) -> None:
        """Make the vectors of an encoding with learned positions; do nothing for other encodings."""
        self.num_positions = num_positions
        if encoding.learned is not None:
            self.positions = encoding.learned(num_positions, width, generator)

    def check_positions(self, encoding: PositionalEncoding, num_positions: int, head_dim: int) -> None:
        """Raise CannotExtrapolate for a grid for which there are no weights, angles, or learned vectors."""
        if self.has_one_size and num_positions != self.num_positions:
            raise CannotExtrapolate(
                f"the MLP mixes {self.num_positions} positions, the puzzle has {num_positions}"
            )
        if self.positions is not None and num_positions != self.num_positions:
            raise CannotExtrapolate(
                f"positions are learned for {self.num_positions} cells, the puzzle has {num_positions}"
            )
        try:
            encoding.angles(num_positions, head_dim)  # raises for a grid that it has none for
        except ValueError as error:
            raise CannotExtrapolate(f"positions: {error}") from error

    @abstractmethod
    def state_shape(self, num_puzzles: int, num_positions: int, num_symbols: int) -> tuple[int, ...]:
        """Compute the shape of a recurrent state. CannotExtrapolate for a size that the model cannot take."""

    @abstractmethod
    def forward(
        self, state: Tensor, tokens: Tokens, task_vectors: TaskVectors | None
    ) -> tuple[Tensor, Rotation | None]:
        """Embed the input, in shape and dtype of the state; returns the rotary table of its positions too."""

    def permuted(self, task_vectors: TaskVectors, permutation: Int[Tensor, " symbols"]) -> TaskVectors:
        """Task vectors for the same puzzles with symbol k replaced by permutation[k]; unchanged here."""
        return task_vectors


class RecurrentModel(nn.Module):
    """A recurrent reasoning model: embedding, networks, schedule and readout around plain state tensors."""

    def __init__(
        self,
        *,
        embedding: InputEmbedding,
        networks: Mapping[str, Network],
        schedule: Schedule,
        readout: nn.Module,
        width: int,
        generator: Rng = None,
        schedule_of: Callable[[int, int], Schedule] | None = None,
        starts: int = 1,
        start_noise: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.networks = nn.ModuleDict(networks)
        self.readout = readout
        self.schedule = schedule
        # The same schedule with other numbers of h and l cycles, for a curriculum of depth.
        self.schedule_of = schedule_of
        self.num_starts, self.start_noise = starts, start_noise
        self.seed = 0  # of the run, which keys the numbers that `start_noise` scales
        num_states = 1 + max(update.target for update in schedule.updates)
        # One fixed random D-vector per state (and start), the same at every position (and symbol).
        shape = (num_states, width) if starts == 1 else (num_states, starts, width)
        self.initial: Tensor
        self.register_buffer("initial", truncated_normal(*shape, std=1.0, generator=generator))
        # The table, one row per task type, named as in checkpoints. A buffer, because sign-SGD trains it.
        self.task_types: Tensor | None
        self.register_buffer("task_types", None)

    def initial_state(
        self,
        num_puzzles: int,
        num_positions: int,
        num_symbols: int,
        dtype: torch.dtype = torch.float32,
        first: int = 0,
    ) -> State:
        """Make the state before the first supervision step, in the dtype all arithmetic will have.

        Each part is `B S D` or `B S K D`; of a model with R starts per puzzle `B R S D` or `B R S K D`. `first` is the
        number of the first puzzle, by which `start_noise` is drawn.
        """
        shape = self.embedding.state_shape(num_puzzles, num_positions, num_symbols)
        vectors = self.initial  # (states, D) or (states, R, D)
        if self.start_noise:
            numbers = range(first, first + num_puzzles)
            draws = normal_numbers(self.seed, Purpose.START, numbers, 0, tuple(vectors.shape))
            noise = torch.from_numpy(draws).to(vectors.device).transpose(0, 1)
            vectors = vectors[:, None] + self.start_noise * noise  # one vector per puzzle
        else:
            vectors = vectors[:, None]
        if self.num_starts > 1:
            shape = (shape[0], self.num_starts, *shape[1:])
        num_ones = len(shape) - vectors.dim() + 1  # axes of positions and symbols
        vectors = vectors.reshape(*vectors.shape[:-1], *[1] * num_ones, vectors.shape[-1])
        # As contiguous as the states that follow, because another layout triggers recompilation.
        return tuple(vector.to(dtype).expand(shape).contiguous() for vector in vectors)

    def task_vectors(self, task_types: Int[Tensor, " B"]) -> TaskVectors | None:
        """Select the rows of the task-type table for a batch, None for a model without one."""
        return None if self.task_types is None else self.task_types[task_types]

    def forward(self, state: State, tokens: Tokens, task_vectors: TaskVectors | None = None) -> StepOutput:
        """Take one deep-supervision step on a batch; several starts of a puzzle go through it as further rows."""
        num_starts = self.num_starts
        if num_starts > 1:
            state, tokens = (
                tuple(part.flatten(0, 1) for part in state),
                tokens.repeat_interleave(num_starts, 0),
            )
            task_vectors = None if task_vectors is None else task_vectors.repeat_interleave(num_starts, 0)
        embedding, rotation = self.embedding(state[0], tokens, task_vectors)
        updates, num_with_gradient = self.schedule.updates, self.schedule.num_with_gradient
        with torch.no_grad():
            for update in updates[:-num_with_gradient]:
                state = self._updated(update, state, embedding, rotation)
        if torch.is_grad_enabled():
            # Otherwise the first update would get a state that requires no gradient, and the later ones states that do,
            # so the network would be compiled for both. Nothing reads the gradient of this state.
            state = tuple(part.detach().requires_grad_() for part in state)
        for update in updates[-num_with_gradient:]:
            state = self._updated(update, state, embedding, rotation)
        logits, halting = self.readout(state[-1])
        output = StepOutput(tuple(part.detach() for part in state), logits, halting)
        return output if num_starts == 1 else self._most_certain(output)

    def _most_certain(self, output: StepOutput) -> StepOutput:
        """Select each puzzle's most certain start, the one with the largest mean probability of its symbols."""
        rows_of = partial(Tensor.unflatten, dim=0, sizes=(-1, self.num_starts))
        logits = rows_of(output.logits)
        best = logits.detach().double().softmax(-1).amax(-1).mean(-1).argmax(1)
        rows = torch.arange(len(best), device=best.device)
        halting = None if output.halting is None else rows_of(output.halting)[rows, best]
        return StepOutput(tuple(map(rows_of, output.state)), logits[rows, best], halting, starts=logits)

    def _updated(self, update: Update, state: State, embedding: Tensor, rotation: Rotation | None) -> State:
        """Compute the states after one update (equation 2)."""
        terms = [state[source] for source in update.sources]
        if update.has_embedding:
            terms.append(embedding)
        new = self.networks[update.network](state[update.target], sum(terms[1:], terms[0]), rotation)
        return (*state[: update.target], new, *state[update.target + 1 :])


@dataclass(frozen=True)
class SupervisionStep:
    """A piece's supervision step in training, for losses and halting rules; b is the number of the piece's slots.

    `num_steps` is on the host.
    """

    model: RecurrentModel
    tokens: Tokens
    targets: Tokens
    task_vectors: TaskVectors | None
    before: State
    output: StepOutput  # with the state after
    is_solved: Bool[Tensor, " b"]
    num_steps: Int[Tensor, " b"]  # that each puzzle has had, this one included
    max_steps: int  # after which every slot halts

    @property
    def states(self) -> dict[str, Tensor]:
        """The detached parts of the state after the step by name, such as z_L and z_H, without gradient."""
        return dict(zip(self.model.schedule.states, self.output.state, strict=True))


def num_parameters(model: RecurrentModel, *, with_task_types: bool = False) -> int:
    """Count the learned numbers, without or with the task-type table, a buffer that no count of parameters shows."""
    table = model.task_types.numel() if with_task_types and model.task_types is not None else 0
    return table + sum(parameter.numel() for parameter in model.parameters())


def trained_parameters(model: RecurrentModel) -> list[Tensor]:
    """Collect the parameters that an optimiser updates, in the order of the model.

    Empty ones, such as SE-RRM's registers where it has none, are left out.
    """
    return [p for p in model.parameters() if p.numel()]
