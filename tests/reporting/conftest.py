"""A small profile's metric files: SE-RRM with two seeds, TRM, and a variant that the paper does not have."""

import json

import pytest

from serrm.scoring.intervals import wilson

REASON = "no embedding for the digits above 9"


def scores(fsr, gpa, num_puzzles, num_blank):
    parts = {}
    for metric, rate, num in (("fsr", fsr, num_puzzles), ("gpa", gpa, num_blank)):
        low, high = wilson(rate * num, num)
        parts |= {metric: rate, f"{metric}_lo": low, f"{metric}_hi": high}
    return parts


def metric_file(model, seed, fsr_by_steps, family, can_extrapolate):
    """What evaluation writes for one cell, larger sizes refused unless it can extrapolate."""

    def large(num):
        if not can_extrapolate:
            return {"status": "cannot_extrapolate", "reason": REASON}
        steps = {"16": scores(0.375, 0.92, num, 100 * num)}
        return {"status": "scored", "num_puzzles": num, "num_blank": 100 * num, "steps": steps}

    steps = {str(number): scores(fsr, 0.5 + fsr / 2, 500, 22_000) for number, fsr in fsr_by_steps.items()}
    curve = [
        {"step": step, "samples": 32 * step, "loss": 1.0, **scores(step / 4000, 0.5, 200, 9000)}
        for step in (300, 600, 900)
    ]
    return {
        "profile": "test",
        "task": "sudoku",
        "model": model,
        "seed": seed,
        "model_info": {"family": family, "parameters": 171_264, "parameters_with_task_types": 171_520},
        "training": {
            "steps": 900,
            "samples": 28_800,
            "seconds": 178.3,
            "puzzles_per_second": 161,
            "final_loss": 0.3,
        },
        "data": {"source": "generated 9×9 puzzles with 30 to 45 clues", "train_puzzles": 1000, "hash": "ab"},
        "deviations": ["Width 64 instead of 256", "Batch 32 & rate 1% higher."],
        "sets": {
            "9x9": {"status": "scored", "num_puzzles": 500, "num_blank": 22_000, "steps": steps},
            "16x16": large(32),
            "25x25": large(8),
        },
        "learning_curve": curve,
    }


FILES = [
    metric_file("se_rrm", 0, {1: 0.2, 16: 0.66}, "se_rrm", True),
    metric_file("se_rrm", 1, {1: 0.1, 16: 0.60}, "se_rrm", True),
    metric_file("trm", 0, {1: 0.01, 16: 0.72}, "trm", False),
    metric_file("se_rrm_wide", 0, {1: 0.3, 16: 0.88}, "se_rrm", True),
]


@pytest.fixture
def cells():
    return [(file["task"], file["model"], file["seed"]) for file in FILES]


@pytest.fixture
def metrics(tmp_path):
    folder = tmp_path / "metrics"
    folder.mkdir()
    for file in FILES:
        path = folder / f"{file['task']}-{file['model']}-s{file['seed']}.json"
        path.write_text(json.dumps(file), encoding="utf-8")
    return folder
