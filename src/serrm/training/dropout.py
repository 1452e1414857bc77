"""Which masks dropout draws: PyTorch's has no generator argument, so its global one is seeded by address."""

import torch

from serrm.randomness import Purpose, keyed_rng


def seed_dropout(seed: int, step: int, first: int) -> None:
    """Make the masks a function of (seed, optimiser step, the first of the slots that go through the model)."""
    torch.manual_seed(int(keyed_rng(seed, Purpose.DROPOUT, step, first).integers(2**62)))
