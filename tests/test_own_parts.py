"""Parts of one's own, one entry each: the examples of docs/extend.md are trained."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from serrm.config import Params
from serrm.core.settings import parse
from serrm.inference.search import certainties_and_probabilities
from serrm.models.families import FAMILIES
from serrm.models.halting import HALTING
from serrm.models.recurrence import CannotExtrapolate
from serrm.training.loop import Trainer
from serrm.training.losses import LOSSES
from serrm.training.optimizers import OPTIMIZERS
from serrm.training.schedules import SCHEDULES
from tests.conftest import trainer_on
from tests.howto import example

CI = Path(__file__).parents[1] / "profiles" / "ci.yaml"


def changed(model: str, **train: Any) -> dict[str, Any]:
    """Profile ci with one run of a model on 9×9 Sudoku, trained for a few steps with these settings."""
    params: dict[str, Any] = yaml.safe_load(CI.read_text())
    recipe = params["recipes"]["sudoku"][model] | {"steps": 4, "warmup_steps": 1, "log_every": 1} | train
    section = params["data_sets"]["sudoku"]
    section["puzzles"] = {"num_train": 8, "num_test": 4, "num_test_sizes": {}}
    return params | {
        "data_sets": {"sudoku": section},
        "recipes": {"sudoku": {model: recipe}},
        "runs": {f"sudoku-{model}-s0": {"data_set": "sudoku", "model": model, "seed": 0, "init": "random"}},
    }


def trainer(params: dict[str, Any], name: str, arrays: Path) -> Trainer:
    """The trainer of a run on the 4×4 puzzles of `arrays`."""
    return trainer_on(arrays, parse(Params, params, "p").run_settings(name))


# Where an example of the guide is listed, and the recipe that takes it.
EXAMPLES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "models/settled:Settled": (HALTING, "settled", {"halting": {"kind": "settled", "tolerance": 1e-9}}),
    "training/focal:Focal": (LOSSES, "focal", {"loss": {"kind": "focal", "gamma": 3.0}}),
    "training/nadam:NAdam": (OPTIMIZERS, "nadam", {"optimizer": {"kind": "nadam", "eps": 1e-6}}),
    "training/linear:linear": (SCHEDULES, "linear", {"schedule": "linear"}),
}


def listed(place: str, entries: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter the part of an example by its place."""
    example(place.split(":")[0], monkeypatch)
    monkeypatch.setitem(entries, name, f"serrm.{place.replace('/', '.')}")


@pytest.mark.parametrize("place", EXAMPLES)
def test_examples_of_the_guide_train_and_resume(
    place: str, arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries, name, recipe = EXAMPLES[place]
    listed(place, entries, name, monkeypatch)
    whole, half, resumed = (trainer(changed("trm", **recipe), "sudoku-trm-s0", arrays) for _ in range(3))
    records, steps = list(whole.steps()), half.steps()
    next(steps), next(steps)
    torch.save(half.state_dict(), tmp_path / "state")
    resumed.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    assert list(resumed.steps()) == records[2:]
    assert list(trainer(changed("trm"), "sudoku-trm-s0", arrays).steps()) != records


def test_a_halting_rule_sees_the_change_of_the_state(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed("models/settled:Settled", HALTING, "settled", monkeypatch)
    # Never, after every step, and after the last supervision step.
    for tolerance, max_steps, num_taken in ((1e-9, 16, 16), (1e9, 16, 4 * 16), (1e-9, 2, 2 * 16)):
        rule = {"kind": "settled", "tolerance": tolerance}
        params = changed("trm", halting=rule, max_supervision_steps=max_steps)
        training = trainer(params, "sudoku-trm-s0", arrays)
        list(training.steps())
        assert training.slots.num_drawn == num_taken


def test_a_loss_weighs_guesses() -> None:
    logits = torch.tensor([[[-9.0, -9.0, 0.0, math.log(3)]]])
    shares = {"softmax": 0.75, "stablemax": (1 + math.log(3)) / (2 + math.log(3) + 0.2)}
    for loss, share in shares.items():
        settings = parse(Params, changed("trm", loss=loss), "p").run_settings("sudoku-trm-s0").train
        found = certainties_and_probabilities(logits, 4, settings.loss)[1][0, 0, 3]
        assert found == pytest.approx(share, abs=1e-3)
    with pytest.raises(ValueError, match=r"^p: recipes\.sudoku\.trm\.loss: .*stablemax, softmax"):
        parse(Params, changed("trm", loss="hinge"), "p")


def test_a_plain_transformer_has_no_cycles(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed("models/plain:PlainSettings", FAMILIES, "plain", monkeypatch)
    params = changed("trm", max_supervision_steps=1, halting={"kind": "random", "probability": 1.0})
    left_out = ("family", "mixer", "h_cycles", "l_cycles", "prefix")
    model = {key: value for key, value in params["models"]["trm"].items() if key not in left_out}
    params["models"]["trm"] = model | {"family": "plain"}
    training = trainer(params, "sudoku-trm-s0", arrays)
    (*_, record) = training.steps()
    assert record["samples"] == 4 * 16 and training.model.task_types is None
    params["models"]["trm"] |= {"h_cycles": 2}
    with pytest.raises(ValueError, match=r"^p: models\.trm\.h_cycles: "):
        parse(Params, params, "p")


@pytest.mark.parametrize("family", ["hrm", "trm", "se_rrm"])
def test_learned_positions_are_trained_for_one_size(family: str, arrays: Path) -> None:
    params = changed(family)
    params["recipes"]["sudoku"][family]["model"]["positions"] = "learned"
    training = trainer(params, f"sudoku-{family}-s0", arrays)
    before = training.model.embedding.positions.vectors.detach().clone()
    list(training.steps())
    assert not torch.equal(training.model.embedding.positions.vectors, before)
    with pytest.raises(CannotExtrapolate, match=r"\b16\b.*\b81\b"):
        training.model.initial_state(1, 81, 6)
