"""Counts the FLOPs of a training, as it is trained: with its curriculum of depth and all supervision steps."""

from serrm.models.flops import flops
from serrm.models.settings import ModelSizes
from serrm.training.settings import RunSettings


def training_flops(run: RunSettings, sizes: ModelSizes, num_steps: int, num_optimiser_steps: int) -> int:
    """Count the FLOPs of the first `num_steps` of a training's optimiser steps, without those of the optimiser."""
    num_left, total, train = num_steps, 0, run.train
    for length, phase in train.depths(num_optimiser_steps):
        cycles = {} if phase is None else {"h_cycles": phase.h_cycles, "l_cycles": phase.l_cycles}
        flops_of_puzzle = flops(run.model.model_copy(update=cycles), sizes, train.halting)
        num = min(num_left, length)
        total += num * train.steps_per_update * train.batch_size * flops_of_puzzle
        num_left -= num
    return total
