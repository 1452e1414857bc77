"""Compiling networks with torch.compile: where no native kernels run, each network is one region of fixed shapes.

A network has one variant for every shape of its state in evaluation; in training two, for the applications without
gradient and for those with. Networks alike in structure share their variants, whatever their weights.
"""

from collections.abc import Iterable

from torch import nn

MOST_VARIANTS = 64  # in a process: PyTorch's own limit, an error here, is 8 for all networks together
# No kernel is chosen by timing where the choice changes numbers, so that another machine of the kind gives the same;
# and no CUDA graphs, which would write each output over the last one, while slots keep outputs and change rows of them.
OPTIONS = {"deterministic": True, "triton.cudagraphs": False}


def compile_in_place(networks: Iterable[nn.Module]) -> None:
    """Have each network compiled at its first call (no change beyond rounding)."""
    import torch._dynamo  # takes a second or more, for those who compile

    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, MOST_VARIANTS)
    for network in networks:
        network.compile(dynamic=False, fullgraph=True, options=OPTIONS)
