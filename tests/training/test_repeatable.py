"""What was stopped and resumed ends in the same bits on every device, compiled or not, by rule and not by luck."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from serrm.devices import repeat_arithmetic
from serrm.training.interrupt import Interrupted
from serrm.training.settings import Execution, TrainCell
from tests.compiling import DEVICES, apart
from tests.training.running import assert_same_checkpoint, run


@pytest.fixture(autouse=True)
def switches() -> Iterator[None]:
    """PyTorch's global switches as they were."""
    matmul = torch.backends.cuda.matmul
    is_reduced = matmul.allow_bf16_reduced_precision_reduction
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True
    matmul.allow_bf16_reduced_precision_reduction = is_reduced


def test_a_gpu_adds_in_a_fixed_order_and_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    repeat_arithmetic(torch.device("cuda", 1))
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert not torch.utils.deterministic.fill_uninitialized_memory
    assert not torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_a_cpu_needs_no_switch_and_a_users_workspace_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    repeat_arithmetic(torch.device("cpu"))
    assert not torch.are_deterministic_algorithms_enabled()
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    repeat_arithmetic(torch.device("cuda"))
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


@pytest.fixture(params=["float32", "bfloat16"])
def cell(request: pytest.FixtureRequest, make_cell: Callable[..., TrainCell]) -> TrainCell:
    """Long and short axes of attention, dropout, and task types that several slots share."""
    return make_cell(
        model={"attention_dropout": 0.2, "task_types": "factored", "layers": 1, "head_dim": 16},
        train={
            "steps": 4,
            "precision": request.param,
            "task_types": {"learning_rate": 0.01, "weight_decay": 0.1},
        },
    )


def trained(cell: TrainCell, arrays: Path, folder: Path, device: str, num_stops: int) -> Path:
    """The checkpoint of a training that is stopped after its first steps; what it compiles is its own."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "compiled")
    for _ in range(num_stops):
        with pytest.raises(Interrupted):
            run(cell, arrays, folder, Execution(device=device, max_seconds=1e-9))
    return run(cell, arrays, folder, Execution(device=device))


@pytest.mark.parametrize("device", DEVICES)
def test_resumed_is_bit_identical(
    cell: TrainCell,
    device: str,
    make_arrays: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    arrays = make_arrays(side=9, tests=(9,))
    straight = trained(cell, arrays, tmp_path / "straight", device, 0)
    assert_same_checkpoint(trained(cell, arrays, tmp_path / "stopped", device, 3), straight)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_resumed_and_compiled_anew_is_bit_identical(
    cell: TrainCell, device: str, make_arrays: Callable[..., Path], tmp_path: Path
) -> None:
    compiled = cell.model_copy(update={"train": cell.train.model_copy(update={"compile": True})})
    arrays = make_arrays(side=9, tests=(9,))
    straight = apart(trained, compiled, arrays, tmp_path / "straight", device, 0)
    stopped = apart(trained, compiled, arrays, tmp_path / "stopped", device, 3)
    assert_same_checkpoint(stopped, straight)
