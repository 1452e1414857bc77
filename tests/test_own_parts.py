"""A family, a metric, a schedule, an optimiser of one's own, through a real small run to the tables: one entry each."""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from pydantic import PositiveInt

from serrm.arrays.build import build
from serrm.config import Params, read_params
from serrm.core.execution import Execution
from serrm.core.settings import parse
from serrm.datasets.sets import write_sets
from serrm.inference.evaluate import evaluate
from serrm.inference.search import certainties_and_probabilities
from serrm.models.build import build_model, empty_model
from serrm.models.families import FAMILIES
from serrm.models.halting import HALTING
from serrm.models.hrm_trm_settings import CycledSettings
from serrm.models.positions import POSITIONS
from serrm.models.recurrence import CannotExtrapolate
from serrm.models.settings import ModelSizes
from serrm.planning.rehearse import miniature
from serrm.published.exchange import published_layout
from serrm.puzzles.tasks import grid_task
from serrm.reporting.headline import headline
from serrm.reporting.other_tables import OTHER_TABLES, OtherTable
from serrm.reporting.report import Inputs, write_report
from serrm.reporting.results import Report, make_report, score
from serrm.reporting.style import OTHER, STYLES, style
from serrm.scoring import metrics
from serrm.scoring.metrics import METRICS, Batch
from serrm.scoring.tally import Tally
from serrm.sources.download import fetch
from serrm.training.log import LOG, read_training_log, write_training_log
from serrm.training.loop import Trainer
from serrm.training.losses import LOSSES
from serrm.training.optimizers import OPTIMIZERS, OptimizerSettings
from serrm.training.run import train
from serrm.training.schedules import SCHEDULES
from serrm.training.settings import TrainSettings
from tests.conftest import MakeSettings, trainer_on
from tests.drawn import seeded
from tests.howto import example

CI = Path(__file__).parents[1] / "profiles" / "ci.yaml"
HERE = Execution(device="cpu", threads=1)


class LoopedSettings(CycledSettings):
    """A looped transformer: one state, one block, applied `num_loops` times."""

    family: Literal["looped"]
    num_loops: PositiveInt

    def build(self, sizes: ModelSizes, generator: Any) -> Any:
        from serrm.models import hrm_trm, recurrence

        model = recurrence.RecurrentModel(
            embedding=hrm_trm.TokenSequence(self, sizes, generator),
            networks={"block": hrm_trm.sequence_network(self, generator)},
            schedule=recurrence.one_state_schedule(self.h_cycles, self.num_loops),
            readout=hrm_trm.SequenceReadout(self, sizes.num_symbols, generator),
            width=self.width,
            generator=generator,
        )
        model.task_types = torch.zeros(sizes.num_task_types, self.width)
        return model


class Sgd(OptimizerSettings):
    kind: Literal["sgd"] = "sgd"

    def build(self, model: Any, train: TrainSettings) -> Any:
        return torch.optim.SGD(model.parameters(), momentum=train.betas[0], weight_decay=train.weight_decay)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The four, in place."""
    for module in ("scoring/broken", "training/linear"):
        example(module, monkeypatch)
    monkeypatch.setitem(FAMILIES, "looped", LoopedSettings)
    monkeypatch.setitem(METRICS, "broken", "serrm.scoring.broken:BROKEN")
    monkeypatch.setitem(SCHEDULES, "linear", "serrm.training.linear:linear")
    monkeypatch.setitem(OPTIMIZERS, "sgd", Sgd)


def plain() -> dict[str, Any]:
    """Profile ci with one run, of the looped transformer on 9×9 Sudoku, trained for four steps."""
    params: dict[str, Any] = yaml.safe_load(CI.read_text())
    model = {key: value for key, value in params["models"]["trm"].items() if key != "mixer"}
    recipe = params["recipes"]["sudoku"]["trm"] | {
        "steps": 4,
        "warmup_steps": 1,
        "schedule": "linear",
        "optimizer": "sgd",
        "log_every": 1,
    }
    section = params["data_sets"]["sudoku"]
    section["download"]["source"] |= {"num_train": 8, "num_test": 4, "num_16x16": 1, "num_25x25": 1}
    section["puzzles"] = {"num_train": 8, "num_test": 4, "num_test_sizes": {}}
    section["evaluate"] |= {
        "steps": [1, 16],
        "curve_puzzles": 2,
        "test_time_compute": None,
        "equivariance_pairs": 0,
    }
    return params | {
        "models": {"looped": model | {"family": "looped", "num_loops": 40}},
        "data_sets": {"sudoku": section},
        "recipes": {"sudoku": {"looped": recipe}},
        "runs": {"sudoku-looped-s0": {"data_set": "sudoku", "model": "looped", "seed": 0, "init": "random"}},
    }


def lengths(report: Report) -> pd.DataFrame:
    """The number of steps of each training."""
    runs = [run for seeds in report.results.values() for run in seeds]
    return pd.DataFrame(
        {"Model": [run.variant for run in runs], "Length": [str(run.training.steps) for run in runs]}
    )


def test_they_run_from_params_to_the_tables(
    own: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        OTHER_TABLES, "lengths", OtherTable("How long it took", "Steps per training.", lengths)
    )
    name, params = "sudoku-looped-s0", parse(Params, plain(), "params.yaml")
    raw, sets, arrays, run = (tmp_path / part for part in ("raw", "sets", "arrays", "run"))
    source = params.download_settings("sudoku")
    fetch("sudoku", source.source, raw, source.seed)
    write_sets(raw, sets, "sudoku", params.puzzle_settings("sudoku"))
    build(sets, arrays, "sudoku", params.array_settings("sudoku"))
    settings = params.run_settings(name)
    records = read_training_log(train(settings, arrays, run, tmp_path / "scratch", HERE).folder / LOG)
    peak = settings.train.learning_rate
    rates = [peak * (1 - step / 3 * 0.9) for step in range(3)]
    assert [record["learning_rate"] for record in records] == pytest.approx([peak, *rates])
    scores, _ = evaluate(run, arrays, params.scoring_settings(name), HERE)
    found = scores.scored["9x9"].steps[16]
    assert 0 <= found["broken_lo"] <= found["broken"] <= found["broken_hi"] and found["broken"] > 1
    write_training_log(tmp_path / "logs" / f"{name}.csv", records)
    papers = read_params(CI.with_name("paper.yaml"))
    report = make_report(params, papers, [scores])
    write_report(
        report, tmp_path, tmp_path / "data", Inputs(tmp_path / "examples", tmp_path / "logs", {}, {})
    )
    assert "looped" in (tmp_path / "tables" / "variants.md").read_text()
    assert "looped" in headline(report)[0].columns
    assert f"{found['broken']:.2f} (" in (tmp_path / "tables" / "metrics.md").read_text()
    assert "How long it took" in (tmp_path / "report.html").read_text(), "though no template names it"
    printed = score(report.results["sudoku", "looped"], "broken")
    assert printed is not None and str(printed).startswith(f"{found['broken']:.2f} ("), (
        "a mean is no percentage"
    )


def test_what_a_family_cannot_do_or_have_is_refused_where_it_stands(
    own: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoopedSettings, "has_q_head", False)
    with pytest.raises(ValueError, match=r"^p: models\.looped\.train\.halting\.kind: "):
        parse(Params, plain(), "p")
    changed = plain()
    changed["models"]["looped"]["num_loops"] = 0
    with pytest.raises(ValueError, match=r"^p: models\.looped\.num_loops: "):
        parse(Params, changed, "p")


def test_a_rehearsal_shrinks_sizes_of_any_name(own: None) -> None:
    def num_loops() -> int:
        small = miniature(parse(Params, plain(), "p"), device="cpu").run_settings("sudoku-looped-s0").model
        assert isinstance(small, LoopedSettings)
        return small.num_loops

    assert num_loops() == max(kind.divisor for kind in POSITIONS.values())


def test_a_family_is_built_by_itself_and_exported_as_no_other(own: None) -> None:
    settings = parse(Params, plain(), "p").run_settings("sudoku-looped-s0").model
    model = empty_model(settings, 11)
    assert len(model.schedule.updates) == 40, "not TRM's schedule"
    with pytest.raises(ValueError, match="family: looped "):
        published_layout(settings, model.state_dict())


def test_every_family_has_a_colour_and_what_is_none_shares_one(own: None) -> None:
    styles = [style(family) for family in FAMILIES]
    assert len(set(styles)) == len(FAMILIES) and styles == list(STYLES[: len(FAMILIES)])
    assert style("a family of another commit") == OTHER


def test_a_tally_of_several_processes_forgets_nothing(own: None) -> None:
    rng = np.random.default_rng(0)
    batches = [tuple(rng.integers(1, 11, (6, 81)).astype(np.uint8) for _ in range(3)) for _ in range(2)]
    whole, parts = (
        Tally(grid_task("sudoku"), metrics.metrics_of("sudoku")),
        [Tally(grid_task("sudoku"), metrics.metrics_of("sudoku")) for _ in range(2)],
    )
    for batch, part in zip(batches, parts, strict=True):
        whole.add(*batch)
        part.add(*batch)
    parts[0].sums.update(parts[1].sums)
    parts[0].cells_by_answer.update(parts[1].cells_by_answer)
    assert parts[0] == whole and parts[0].scores() == whole.scores()
    values = np.concatenate(
        [METRICS["broken"].values(Batch(*batch, grid_task("sudoku"))) for batch in batches]
    )
    half = 1.959964 * values.std(ddof=1) / np.sqrt(len(values))
    ends = [whole.scores()[f"broken{end}"] for end in ("", "_lo", "_hi")]
    assert ends == pytest.approx([values.mean(), values.mean() - half, values.mean() + half], rel=1e-6)


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


def test_a_halting_rule_sees_the_change_of_the_state(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example("models/settled", monkeypatch)
    monkeypatch.setitem(HALTING, "settled", "serrm.models.settled:Settled")
    for tolerance, num_taken in ((1e-9, 16), (1e9, 4 * 16)):  # never, and after every step
        params = changed("trm", halting={"kind": "settled", "tolerance": tolerance})
        made = trainer(params, "sudoku-trm-s0", arrays)
        list(made.steps())
        assert made.slots.num_drawn == num_taken
    params = changed("trm", halting={"kind": "settled", "tolerance": 1e-9}, max_supervision_steps=2)
    made = trainer(params, "sudoku-trm-s0", arrays)
    list(made.steps())
    assert made.slots.num_drawn == 2 * 16, "every slot halts after the last supervision step"
    with pytest.raises(ValueError, match=r"^p: recipes\.sudoku\.trm\.halting\.tolerance: .* \(got 0\)$"):
        parse(Params, changed("trm", halting={"kind": "settled", "tolerance": 0}), "p")


def test_a_loss_is_trained_and_weighs_guesses(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example("training/focal", monkeypatch)
    monkeypatch.setitem(LOSSES, "focal", "serrm.training.focal:Focal")
    logits = torch.tensor([[[-9.0, -9.0, 0.0, math.log(3)]]])
    shares = {}
    for loss in ("stablemax", "softmax", "focal", {"kind": "focal", "gamma": 3.0}):
        params = changed("trm", loss=loss)
        settings = parse(Params, params, "p").run_settings("sudoku-trm-s0").train
        dumped = settings.model_dump(mode="json").get("loss", "stablemax")
        assert parse(type(settings), settings.model_dump(mode="json"), "again") == settings
        records = list(trainer(params, "sudoku-trm-s0", arrays).steps())
        shares[str(loss)] = (
            certainties_and_probabilities(logits, 4, settings.loss)[1][0, 0, 3],
            records[0]["loss"],
            dumped,
        )
    assert shares["softmax"][0] == pytest.approx(0.75, abs=1e-3)
    assert shares["stablemax"][0] == pytest.approx((1 + math.log(3)) / (2 + math.log(3) + 0.2), abs=1e-6)
    assert len({loss for _, loss, _ in shares.values()}) == len(shares)
    assert [dumped for *_, dumped in shares.values()] == [
        "stablemax",
        {"kind": "softmax", "smoothing": 0.0},
        {"kind": "focal", "gamma": 2.0},
        {"kind": "focal", "gamma": 3.0},
    ]
    with pytest.raises(ValueError, match=r"^p: recipes\.sudoku\.trm\.loss: .*stablemax, softmax"):
        parse(Params, changed("trm", loss="hinge"), "p")


def test_an_optimizer_is_trained_and_resumes(
    arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example("training/nadam", monkeypatch)
    monkeypatch.setitem(OPTIMIZERS, "nadam", "serrm.training.nadam:NAdam")
    params = changed("trm", optimizer={"kind": "nadam", "eps": 1e-6})
    whole, half, resumed = (trainer(params, "sudoku-trm-s0", arrays) for _ in range(3))
    records = list(whole.steps())
    steps = half.steps()
    next(steps), next(steps)
    torch.save(half.state_dict(), tmp_path / "state")
    resumed.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    assert list(resumed.steps()) == records[2:]


def test_a_plain_transformer_has_no_cycles(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example("models/plain", monkeypatch)
    monkeypatch.setitem(FAMILIES, "plain", "serrm.models.plain:PlainSettings")
    params = changed("trm", max_supervision_steps=1, halting={"kind": "random", "probability": 1.0})
    left_out = ("family", "mixer", "h_cycles", "l_cycles", "prefix")
    model = {key: value for key, value in params["models"]["trm"].items() if key not in left_out}
    params["models"]["trm"] = model | {"family": "plain"}
    made = trainer(params, "sudoku-trm-s0", arrays)
    (*_, record) = made.steps()
    assert record is not None and record["samples"] == 4 * 16 and made.model.task_types is None
    params["models"]["trm"] |= {"h_cycles": 2}
    with pytest.raises(ValueError, match=r"^p: models\.trm\.h_cycles: "):
        parse(Params, params, "p")
    params["models"]["trm"] = {"family": "trm", **model, "mixer": "attention"}
    with pytest.raises(ValueError, match=r"^p: models\.trm\.(h_cycles|l_cycles|prefix): "):
        parse(Params, params, "p")


@pytest.mark.parametrize("family", ["hrm", "trm", "se_rrm"])
def test_learned_positions_are_trained_for_one_size(family: str, arrays: Path) -> None:
    params = changed(family)
    params["recipes"]["sudoku"][family]["model"]["positions"] = "learned"
    made = trainer(params, f"sudoku-{family}-s0", arrays)
    before = made.model.embedding.positions.vectors.detach().clone()
    list(made.steps())
    assert not torch.equal(made.model.embedding.positions.vectors, before)
    with pytest.raises(CannotExtrapolate, match=r"\b16\b.*\b81\b"):
        made.model.initial_state(1, 81, 6)


@pytest.mark.parametrize("planes", ["all", "usual"])
def test_tied_symbols_are_equivariant_for_any_number_of_special_tokens(
    planes: str, make_settings: MakeSettings
) -> None:
    settings, num_special, num_symbols = make_settings(planes=planes), 4, 9
    assert settings.misfit((0, 1, 2, 3)) == "" and settings.misfit((0, 1, 5)) != ""
    model = build_model(settings, num_symbols, seeded(0), num_special=num_special).eval()
    tokens = torch.randint(0, num_symbols, (2, 16), generator=seeded(1))
    usual = num_special + torch.randperm(num_symbols - num_special, generator=seeded(2))
    moved = torch.cat([torch.arange(num_special), usual])

    def logits(tokens: torch.Tensor) -> torch.Tensor:
        return model(model.initial_state(2, 16, num_symbols), tokens).logits.detach()

    torch.testing.assert_close(logits(moved[tokens])[..., moved], logits(tokens), rtol=0, atol=1e-5)
    swapped = tokens.clone()
    swapped[tokens == 2], swapped[tokens == 3] = 3, 2
    difference = (logits(swapped) - logits(tokens))[..., num_special:].abs().max()
    assert (difference > 1e-3) == (planes == "all"), "special tokens with planes differ"
