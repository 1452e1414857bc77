"""The same bits on every x86 CPU in float32: no operation that PyTorch's libraries round by the processor, and a proof.

The proof runs training steps and predictions as on a CPU with AVX2 only, on two threads, and with everything this CPU
has, on one. What processors of other makers give, the committed results tell.
"""

import hashlib
import itertools
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from serrm.inference.predict import confidences, predict
from serrm.kernels.cpu.build import has_kernels
from serrm.kernels.products import product, reproducible_silu
from serrm.models.q_head import binary_cross_entropy, rounded_sigmoid
from serrm.training.loop import Trainer
from serrm.training.losses import Stablemax
from tests.conftest import HRM, Q_LEARNING, TASK_TYPES, TRM, MakePath, run_settings, trainer_on
from tests.kernels.kernel_hashes import digests

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the promise is for x86")
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
BOOTSTRAPPED = {"halting": {"kind": "q_learning", "exploration": 0.5, "bootstrap": True}, **TASK_TYPES}
NO_DROPOUT = {"attention_dropout": 0.0, "width": 32, "expansion": 2.0}
SE_RRM: dict[str, Any] = {"width": 32, "head_dim": 16, "symbol_head_dim": 16}
# Every family, optimiser and rule of halting, both readouts and task types; the mixer's networks fit no kernel.
TRAININGS: dict[str, dict[str, Any]] = {
    "se_rrm": {"model": SE_RRM},
    "se_rrm, untied": {"model": {**SE_RRM, "symbols": "untied"}},
    "se_rrm, task types": {"model": {**SE_RRM, "task_types": "factored"}, "train": TASK_TYPES},
    "se_rrm, muon": {"model": SE_RRM, "train": {"optimizer": "muon"}},
    "se_rrm, halting when solved": {
        "model": SE_RRM,
        "train": {"halting": {"kind": "random", "probability": 0.1, "probability_solved": 0.5}},
    },
    "trm": {"model": {**TRM, **NO_DROPOUT}, "train": Q_LEARNING},
    "trm, muon": {"model": {**TRM, **NO_DROPOUT}, "train": {**Q_LEARNING, "optimizer": "muon"}},
    "trm, mlp": {"model": {**TRM, **NO_DROPOUT, "mixer": "mlp"}, "train": Q_LEARNING},
    "hrm": {"model": {**HRM, **NO_DROPOUT}, "train": BOOTSTRAPPED},
}
# Operations of a step that compute. Each number they give comes from the same arithmetic in the same order, whatever
# the processor and the number of threads; products, roots, exponentials and logarithms are not among them.
ALLOWED = {
    "_foreach_add_", "_foreach_addcmul_", "_foreach_clamp_min", "_foreach_div", "_foreach_lerp_",
    "_foreach_mul", "_foreach_mul_", "_foreach_rsqrt", "add", "add_", "all", "amax", "aminmax", "any", "arange",
    "argmax", "atan2", "binary_cross_entropy_with_logits", "bitwise_and", "bitwise_not", "bitwise_or", "clamp",
    "div", "embedding", "embedding_dense_backward", "eq", "ge", "gt", "isfinite", "le", "lerp", "lerp_",
    "log1p", "lt", "masked_fill", "mean", "mul", "mul_", "ne", "neg", "pow", "reciprocal", "rsqrt", "rsub",
    "sigmoid", "sign", "silu", "silu_backward", "sub", "sum", "where",
}  # fmt: skip
# Of these, the ones that PyTorch computes by other code for the last values of an array. In float64 they are allowed,
# because the step rounds their results to float32.
ONLY_IN_FLOAT64 = {"atan2", "binary_cross_entropy_with_logits", "sigmoid", "silu", "silu_backward"}
# Operations that move or fill.
MOVING = {
    "_local_scalar_dense", "_record_function_enter_new", "_record_function_exit", "_to_copy", "_unsafe_view",
    "alias", "cat", "clone", "constant_pad_nd", "copy_", "detach", "empty", "empty_like", "expand", "index",
    "index_put_", "lift_fresh", "new_empty_strided", "new_zeros", "nonzero", "ones_like", "permute",
    "scalar_tensor", "scatter_", "select", "select_backward", "slice", "slice_backward", "split", "squeeze",
    "stack", "transpose", "unbind", "unsqueeze", "view", "zero_", "zeros", "zeros_like",
}  # fmt: skip


class Log(TorchDispatchMode):
    """Names of the operations that run while it is active, with the dtype of those that may run in float64 alone."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = function.overloadpacket.__name__
        if name == "pow" and args[1] not in (1, 2, 3):  # the first powers are products
            name = f"{name}({args[1]})"
        if name in ONLY_IN_FLOAT64 and args[0].dtype != torch.float64:
            name = f"{name}({args[0].dtype})"
        self.names.add(name)
        return function(*args, **(kwargs or {}))


def take_steps(trainer: Trainer, num: int) -> None:
    for _ in itertools.islice(trainer.steps(), num):
        pass


@pytest.mark.parametrize("name", TRAININGS)
def test_no_operation_of_a_step_depends_on_the_processor(make_arrays: MakePath, name: str) -> None:
    if not has_kernels(torch.float32):
        pytest.skip("no native kernels here")
    trainer = trainer_on(make_arrays(side=4), run_settings(**TRAININGS[name]), is_accelerated=True)
    with Log() as log:
        take_steps(trainer, 2)
    assert log.names <= ALLOWED | MOVING, log.names - ALLOWED - MOVING


@pytest.mark.numeric
@pytest.mark.parametrize(
    "function",
    [
        rounded_sigmoid,
        reproducible_silu,
        lambda logits: gradient(lambda gates, ups: reproducible_silu(gates) * ups, logits),
        lambda logits: gradient(binary_cross_entropy, logits),
        lambda logits: confidences(
            torch.stack([logits, -logits, 0.5 * logits], dim=-1)[:, None], Stablemax()
        ),
    ],
)
def test_a_value_does_not_depend_on_its_place(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """In about 4% of cases the sigmoid and the SiLU of PyTorch do."""
    if not has_kernels(torch.float32):
        pytest.skip("no native kernels here")
    logits = 4 * torch.randn(2000, generator=torch.Generator().manual_seed(0))
    singly = torch.cat([function(logit) for logit in logits.split(1)])
    assert torch.equal(function(logits), singly)


def gradient(
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], logits: torch.Tensor
) -> torch.Tensor:
    """The gradient of the summed loss for the target 1/4."""
    leaf = logits.clone().requires_grad_()
    loss(leaf, torch.full_like(leaf, 0.25)).sum().backward()
    return leaf.grad


@pytest.mark.numeric
def test_a_product_is_the_one_that_pytorch_computes() -> None:
    generator = torch.Generator().manual_seed(0)
    for rows, num, columns in [(1, 1, 1), (3, 5, 7), (130, 64, 11), (2, 5000, 70), (0, 3, 4), (4, 0, 3)]:
        a, b = (torch.randn(*shape, generator=generator) for shape in ((rows, num), (num, columns)))
        exact = (a.double() @ b.double()).float()
        torch.testing.assert_close(product(a, b), exact, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(product(b.T, a.T), exact.T, rtol=1e-4, atol=1e-4)


def hashes(arrays: Path) -> str:
    """A line per kernel, and per training: of its initial weights, of what some steps leave, and of a prediction."""
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    lines = [f"{name}: {digest}" for name, digest in digests().items()]
    for name, changes in TRAININGS.items():
        trainer = trainer_on(arrays, run_settings(**changes), is_accelerated=True)
        initial = _hash(trainer.parameters)
        take_steps(trainer, 3)
        state = [*trainer.parameters, *trainer.ema, *trainer.slots.state]
        stream = trainer.stream
        outputs = predict(trainer.model.eval(), trainer.slots.tokens, stream.num_symbols, (1, 4))
        logits = [output.logits for _, output in outputs]
        lines.append(
            f"{name}: {initial} {_hash(state)} {_hash([*logits, confidences(logits[-1], Stablemax())])}"
        )
    return "\n".join(lines)


def _hash(tensors: list[torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def test_bits_do_not_depend_on_vector_width_libraries_and_threads(make_arrays: MakePath) -> None:
    if not has_kernels(torch.float32):
        pytest.skip("no native kernels here")
    arrays = str(make_arrays(side=9))
    module = "tests.kernels.test_same_numbers"
    call = f"from pathlib import Path; from {module} import hashes; print(hashes(Path({arrays!r})))"
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", call],
            env={**os.environ, "OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "passive", **limits},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads, limits in (("1", {}), ("2", AVX2))
    ]
    assert outputs[0].splitlines() == outputs[1].splitlines() and outputs[0].count("\n") > 2 * len(TRAININGS)
