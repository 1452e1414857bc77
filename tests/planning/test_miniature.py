"""A profile in miniature differs from the profile in what is on the list of small things, and in nothing else."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from serrm.config import read_params
from serrm.planning.miniature import compiling, miniature, mirrored, selected
from serrm.resolve import resolve
from serrm.training.settings import TrainCell

PARAMS = read_params(Path(__file__).parents[2] / "params.yaml")
PROFILES = list(PARAMS["profiles"])
SMALL = {
    *("width", "head_dim", "symbol_head_dim", "swiglu_multiple"),
    *("layers", "h_cycles", "l_cycles", "heads", "symbol_heads"),
    *("batch_size", "snapshots", "log_every", "epochs", "steps", "init_from"),
    *("num_train", "num_test", "num_16x16", "num_25x25", "4x4", "16x16", "25x25"),
    *("curve_puzzles", "equivariance_pairs", "demonstration_pairs"),
    *("num_puzzles", "max_steps", "attempt_steps", "restarts", "symmetries", "guesses"),
}


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def plain(files: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: dict(leaves(each.model_dump(mode="json"))) for name, each in files.items() if name != "tabulate"
    }


def changed(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    keys = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
    return {key.rpartition(".")[2] for key in keys}


@cache
def resolved(profile: str, *, is_small: bool, in_float32: bool = False) -> dict[str, dict[str, Any]]:
    params = selected(PARAMS, profile)
    return plain(resolve(miniature(params, in_float32=in_float32) if is_small else params, profile))


@pytest.mark.parametrize("profile", PROFILES)
def test_only_what_is_listed_becomes_small(profile: str) -> None:
    whole, small = resolved(profile, is_small=False), resolved(profile, is_small=True)
    assert whole.keys() == small.keys()
    for name, values in whole.items():
        assert changed(values, small[name]) <= SMALL, name


@pytest.mark.parametrize("profile", PROFILES)
def test_small_things_are_small(profile: str) -> None:
    for name, values in resolved(profile, is_small=True).items():
        if name.startswith("train/"):
            assert (
                values["train.batch_size"] <= 4 and values["train.steps"] <= 4 and values["model.width"] <= 16
            )
        if name.startswith("evaluate/"):
            assert max(values["evaluate.steps"]) <= (16 if "/sudoku" in name else 3)


@pytest.mark.parametrize("profile", PROFILES)
def test_variants_keep_their_differences(profile: str) -> None:
    whole, small = resolved(profile, is_small=False), resolved(profile, is_small=True)
    names = [name for name in whole if name.startswith("train/")]
    for one in names:
        for other in names:
            before, after = changed(whole[one], whole[other]), changed(small[one], small[other])
            assert after >= before - SMALL


@pytest.mark.parametrize("profile", PROFILES)
def test_float32_takes_precision_and_nothing_else(profile: str) -> None:
    as_is, in_float32 = resolved(profile, is_small=True), resolved(profile, is_small=True, in_float32=True)
    for name, values in as_is.items():
        assert changed(values, in_float32[name]) <= {"precision"}
        assert {value for key, value in in_float32[name].items() if key.endswith("precision")} <= {"float32"}
    execution = miniature(selected(PARAMS, profile), in_float32=True)["execution"]
    assert execution["native"] is False and execution["threads"] == 1


def test_compiling_is_kept() -> None:
    found = compiling(miniature(selected(PARAMS, "paper", ["maze-trm-s0"]), in_float32=True))
    assert found == {("train", "maze-trm-s0"), ("evaluate", "maze-trm-s0")}
    assert not compiling(selected(PARAMS, "ci"))


def test_a_mirror_takes_the_place_of_the_publishers(tmp_path: Path) -> None:
    params = mirrored(selected(PARAMS, "paper"), tmp_path)
    whole, small = resolved("paper", is_small=False), plain(resolve(params, "paper"))
    for name, values in small.items():
        if name.startswith("download/"):
            assert (values["source.kind"], values["source.root"]) == ("mirror", str(tmp_path))
        elif not name.startswith("evaluate/"):  # which says in words where the puzzles are from
            assert values == whole[name]
    assert mirrored(selected(PARAMS, "ci"), tmp_path) == selected(PARAMS, "ci")


def test_cells_are_chosen_by_name_or_pattern() -> None:
    params = selected(PARAMS, "paper", ["sudoku-se_rrm-s0", "maze-*_rope-s0"])
    cells = [each.name for each in resolve(params, "paper").values() if isinstance(each, TrainCell)]
    assert cells == ["sudoku-se_rrm-s0", "maze-se_rrm_rope-s0"]
    with pytest.raises(
        ValueError, match=r"--only sudoku-none: profile paper has no such cell; it has sudoku-hrm-s0"
    ):
        selected(PARAMS, "paper", ["sudoku-none"])
