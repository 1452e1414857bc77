"""Arithmetic that gives the same bits again: what a resumed training rests on, switched on for a GPU as a whole.

A CPU needs none of it. Compiled networks have their part in models/compiled.py, attention in models/formulations.py.
"""

import os

import torch


def repeat_arithmetic(device: torch.device) -> None:
    """On a GPU, only algorithms that add in a fixed order and in float32; to be called before its first product."""
    if device.type != "cuda":
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it PyTorch promises nothing
    torch.use_deterministic_algorithms(True)  # the backward pass of fused attention, rows written by index
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # which would cost a pass over all memory
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
