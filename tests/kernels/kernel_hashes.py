"""Hashes of what the float32 kernels compute, by name: outputs, all gradients, and steps of the optimiser.

Inputs come from NumPy, which draws the same on every computer.
"""

import hashlib

import numpy as np
import torch
from torch import Tensor

from serrm.kernels.cpu.network import NativeSublayer
from serrm.models.layers import Attention, Rotation, SwiGLU
from serrm.training.adam_atan2 import AdamAtan2

# Sizes (outer, length, inner, width, heads, head_dim) whose rows, columns and depths fill tiles and leave rests.
ATTENTIONS = [
    (3, 85, 11, 32, 3, 16),
    (7, 11, 1, 32, 2, 16),
    (2, 97, 1, 64, 2, 32),
    (5, 9, 4, 48, 1, 48),
    (2, 200, 1, 64, 1, 64),
]
GATED = [(700, 32, 128), (2203, 64, 256), (97, 112, 256)]  # rows, width, gates


def drawn(rng: np.random.Generator, *shape: int) -> Tensor:
    return torch.from_numpy(rng.standard_normal(shape, np.float32))


def digest(tensors: list[Tensor]) -> str:
    return hashlib.sha256(
        b"".join(each.detach().contiguous().numpy().tobytes() for each in tensors)
    ).hexdigest()


def results(layer: Attention | SwiGLU, rotation: Rotation | None, x: Tensor, change: Tensor) -> list[Tensor]:
    """The output, and the gradients of input and weights."""
    native, x = NativeSublayer(layer, torch.float32), x.requires_grad_()
    y = native(x, rotation)
    return [y, *torch.autograd.grad(y, [x, *native.weights], change)]


def digests() -> dict[str, str]:
    """The hashes with the present number of threads."""
    hashes, rng = {}, np.random.default_rng(0)
    for outer, length, inner, width, heads, head_dim in ATTENTIONS:
        for dropout in (0.0, 0.2):
            torch.manual_seed(0)  # of the dropped weights
            layer = Attention(width, heads, head_dim, axis=-3, dropout=dropout)
            with torch.no_grad():
                for weight in layer.parameters():
                    weight.copy_(drawn(rng, *weight.shape) / width**0.5)
            turns = (
                (drawn(rng, length, head_dim // 2), drawn(rng, length, head_dim // 2))
                if length > 11
                else None
            )
            x, change = (drawn(rng, outer, length, inner, width) for _ in range(2))
            name = f"attention {outer} {length} {inner} {head_dim} {dropout}"
            hashes[name] = digest(results(layer, turns, x, change))
    for rows, width, gates in GATED:
        gated = SwiGLU(width, gates)
        with torch.no_grad():
            for weight in gated.parameters():
                weight.copy_(drawn(rng, *weight.shape) / width**0.5)
        x, change = (drawn(rng, rows, width) for _ in range(2))
        hashes[f"swiglu {rows} {width}"] = digest(results(gated, None, x, change))
    parameters = [drawn(rng, *shape).requires_grad_() for shape in [(7,), (300, 211)]]
    optimizer = AdamAtan2(parameters, 1e-3, weight_decay=0.1, is_native=True)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = drawn(rng, *parameter.shape)
        optimizer.step()
    moments = [optimizer.state[p][name] for p in parameters for name in ("mean", "square")]
    return hashes | {"adam_atan2": digest([*parameters, *moments])}
