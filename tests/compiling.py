"""What tests of compiled networks share: the devices they run on, and a process of its own without checks of shapes.

torch.compile cannot look through the checks of shapes that tests switch on; and what a process has compiled, and how
often, would depend on the tests before.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
import torch

HAS_GPU = torch.cuda.is_available()
ON_GPU = (pytest.mark.gpu, pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device"))
GPUS = (pytest.param("cuda", marks=ON_GPU),)  # which alone run compiled networks
DEVICES = ("cpu", *GPUS)
Result = TypeVar("Result")


def apart(function: Callable[..., Result], *args: Any) -> Result:
    """What a function of a test module gives in a fresh process, on one thread."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return pool.submit(function, *args).result()


@contextmanager
def traced_only() -> Iterator[None]:
    """Compiling stops at the traced graph, which is run op by op: the same variants, without the compiler's minutes."""
    whole = torch.compile

    def compile(function: Any, *, options: object, **how: Any) -> Any:
        return whole(function, backend="eager", **how)

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = whole


def num_variants() -> int:
    """Graphs that this process has compiled."""
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]
