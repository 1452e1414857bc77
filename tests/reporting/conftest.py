"""Metric, example and settings files of a made-up profile, generated here: small (Sudoku) and full (all tasks)."""

import json
import re

import numpy as np
import pytest
from matplotlib.mathtext import MathTextParser

from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.maze.grid import parse_maze
from serrm.reporting.paper import load_paper
from serrm.reporting.report import build_report
from serrm.reporting.results import load_results
from serrm.reporting.settings import CellSettings
from serrm.reporting.tabulate import Places, tabulate
from serrm.scoring.intervals import wilson

MADE = {"date": "1 January 2026", "commit": "abc"}
REASON = "no embedding for the digits above 9"


def scores(num_puzzles, num_blank=None, **rates):
    """Rates with their intervals, GPA over blank cells."""
    parts = {}
    for metric, rate in rates.items():
        num = num_blank if metric == "gpa" else num_puzzles
        low, high = wilson(rate * num, num)
        parts |= {metric: rate, f"{metric}_lo": low, f"{metric}_hi": high}
    return parts


def scored(num_puzzles, by_steps):
    steps = {str(step): values for step, values in by_steps.items()}
    return {"status": "scored", "num_puzzles": num_puzzles, "num_blank": 44 * num_puzzles, "steps": steps}


def metric_file(task, model, seed, sets, curve, **more):
    """What evaluation writes for one cell; the curve has three points."""
    points = [
        {"step": step, "samples": 32 * step, "loss": 1.0, **values}
        for step, values in zip((300, 600, 900), curve, strict=True)
    ]
    family = next((name for name in ("se_rrm", "hrm") if name in model), "trm")
    training = {"steps": 900, "samples": 28_800, "seconds": 178.3}
    return {
        "profile": "test",
        "task": task,
        "model": model,
        "seed": seed,
        "model_info": {"family": family, "parameters": 171_264, "parameters_with_task_types": 171_520},
        "training": training | {"puzzles_per_second": 161, "final_loss": 0.3},
        "data": {"source": "generated 9×9 puzzles with 30 to 45 clues", "train_puzzles": 1000, "hash": "ab"},
        "deviations": ["Width 64 instead of 256", "Batch 32 & rate 1% higher."],
        "sets": sets,
        "learning_curve": points,
    } | more


def sudoku_file(model, seed, fsr_by_steps, **more):
    """9×9 after some numbers of steps; larger sizes are refused unless the model is of SE-RRM's family."""

    def large(num):
        if "se_rrm" not in model:
            return {"status": "cannot_extrapolate", "reason": REASON}
        return scored(num, {16: scores(num, 100 * num, fsr=0.375, gpa=0.92)})

    at = {step: scores(500, 22_000, fsr=fsr, gpa=0.5 + fsr / 2) for step, fsr in fsr_by_steps.items()}
    sets = {"9x9": scored(500, at), "16x16": large(32), "25x25": large(8)}
    curve = [scores(200, 9000, fsr=step / 4000, gpa=0.5) for step in (300, 600, 900)]
    return metric_file("sudoku", model, seed, sets, curve, **more)


def maze_file(model, fsr):
    steps = {
        step: scores(100, 4400, fsr=fsr / 16 * step, gpa=0.9, valid=fsr / 20 * step, valid_shortest=0.3)
        for step in (1, 16)
    }
    curve = [scores(50, 2200, fsr=fsr * part, gpa=0.9) for part in (0.2, 0.5, 1.0)]
    return metric_file("maze", model, 0, {"10x10": scored(100, steps)}, curve)


def arc_file(task, model, rate, **more):
    def at(best):
        numbers = (1, 2, 5, 10, 100, 1000)
        return {16: scores(20, **{f"pass_at_{k}": min(1.0, best * (1 + k / 1000)) for k in numbers})}

    pairs = {str(step): scores(64, 900, pair_fsr=rate / 16 * step, pair_gpa=0.9) for step in (1, 16)}
    sets = {
        "evaluation": scored(20, at(rate))
        | {"demonstrations": {"num_pairs": 64, "num_cells": 900, "steps": pairs}},
        "evaluation, blank task type": scored(20, at(rate / 5)),
    }
    curve = [scores(20, pass_at_2=rate * part) for part in (0.2, 0.5, 1.0)]
    return metric_file(task, model, 0, sets, curve, **more)


QUESTION, ANSWER = "2 3 0 0 4 0 0 0 1 0 0 0 0 4 2 1", "2 3 1 4 4 1 3 2 1 2 4 3 3 4 2 1"


def tokens(text):
    return (np.array(text.split(), dtype=np.uint8) + 1).tolist()


def canvas(grid):
    """The tokens of an ARC grid on a canvas of 4."""
    return encode(np.array(grid, dtype=np.uint8), 4).tolist()


def permuted_pair(question, answer, num_symbols, pair, num_pairs, is_exact=True):
    """A model that answers a puzzle, and the same with two symbols swapped, wrong in the last cell unless exact."""
    a, b = pair

    def swapped(grid):
        return [{a: b, b: a}.get(token, token) for token in grid]

    example = {"side": 4, "permutation": swapped(range(num_symbols)), "question": question}
    example |= {"prediction": answer, "permuted_question": swapped(question)}
    example |= {"permuted_prediction": swapped(answer) if is_exact else [*swapped(answer)[:-1], 3]}
    return {"num_pairs": num_pairs, "num_identical": num_pairs if is_exact else 3, "example": example}


def equivariance(is_exact):
    return permuted_pair(tokens(QUESTION), tokens(ANSWER), 6, (2, 5), 40, is_exact)


def effort(mean_steps, fsr, **more):
    return {"max_steps": 64, "mean_steps": mean_steps, **scores(500, fsr=fsr), **more}


FILES = [
    sudoku_file("se_rrm", 0, {1: 0.2, 16: 0.66}),
    sudoku_file("se_rrm", 1, {1: 0.1, 16: 0.60}),
    sudoku_file("trm", 0, {1: 0.01, 16: 0.72}),
    sudoku_file("se_rrm_wide", 0, {1: 0.3, 16: 0.88}),
]
SE_RRM_FINDS = {
    "adaptive": [effort(6.5, 0.89)],
    "breadth": [effort(9.5, 0.93, kind="restarts", num=4)],
    "equivariance": equivariance(True),
    "notes": ["A note of its own."],
}
RECOLOURED = permuted_pair(canvas([[1, 2]]), canvas([[2], [1]]), 12, (3, 4), 6)
FULL_FILES = [
    sudoku_file("se_rrm", 0, {1: 0.2, 16: 0.66, 64: 0.9}, **SE_RRM_FINDS),
    sudoku_file("trm", 0, {1: 0.01, 16: 0.3, 64: 0.3}, equivariance=equivariance(False)),
    sudoku_file("hrm", 0, {1: 0.0, 16: 0.0, 64: 0.0}),
    *(maze_file(model, fsr) for model, fsr in (("se_rrm", 0.8), ("trm", 0.4), ("hrm", 0.1))),
    arc_file("arc_agi_1", "se_rrm", 0.3, equivariance=RECOLOURED),
    arc_file("arc_agi_1", "trm", 0.25),
]


def paper_files():
    """Metric files that hold what the paper's tables print; intervals that it does not print are Wilson's."""
    found = {}
    for table in load_paper().score_tables.values():
        for row in table.rows:
            for key, cell in row.cells.items():
                column = table.columns[key]
                numbers = [None if each is None else float(each) / 100 for each in cell.numbers]
                sets = found.setdefault((column.task, row.variant_of(key)), {})
                if numbers[0] is None:
                    sets.setdefault(column.set, {"status": "cannot_extrapolate", "reason": REASON})
                    continue
                num, names = cell.num or column.num, [f"{column.metric}{end}" for end in ("", "_lo", "_hi")]
                if numbers[1] is None:
                    numbers[1:] = wilson(numbers[0] * num, num)
                if "steps" not in sets.get(column.set, {}):
                    sets[column.set] = scored(num, {})
                steps = sets[column.set]["steps"].setdefault(str(column.steps), {})
                if column.metric not in steps:
                    steps |= dict(zip(names, numbers, strict=True))
    return [
        metric_file(task, variant, 0, sets, [{}] * 3) for (task, variant), sets in found.items() if variant
    ]


def cells_of(files):
    return [(file["task"], file["model"], file["seed"]) for file in files]


def write_metrics(files, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        path = folder / f"{file['task']}-{file['model']}-s{file['seed']}.json"
        path.write_text(json.dumps(file), encoding="utf-8")
    return folder


def settings_of(family):
    """What a training of a family resolves to, as plain data."""
    model = {"width": 64, "layers": 2, "h_cycles": 3, "l_cycles": 6, "heads": 4, "expansion": 4.0}
    model |= {"family": family, "positions": "rope2d", "attention_dropout": 0.0}
    if family == "se_rrm":
        model |= {"head_dim": 64, "symbol_heads": 2, "symbol_head_dim": 64, "registers": 0}
        model |= {"symbols": "tied", "planes": "usual", "task_types": "none"}
    else:
        model |= {"prefix": 16} | ({"mixer": "attention"} if family == "trm" else {})
    halting = {"kind": "random", "probability": 0.05}
    if family != "se_rrm":
        halting = {"kind": "q_learning", "exploration": 0.1, "bootstrap": False}
    train = {"batch_size": 32, "epochs": None, "steps": 900, "max_supervision_steps": 16, "halting": halting}
    train |= {"learning_rate": 5.0e-4, "schedule": "constant", "warmup_steps": 100, "weight_decay": 1.0}
    train |= {"task_types": None, "betas": [0.9, 0.95], "ema": 0.999, "precision": "float32"}
    train |= {"optimizer": "adam_atan2", "hints": None}
    arrays = {"num_augmentations": 8 if family == "se_rrm" else 1000}
    return {"model": model, "train": train, "arrays": arrays, "fidelity": {}}


def settings_for(files):
    here = {(file["task"], file["model"]): settings_of(file["model_info"]["family"]) for file in files}
    return CellSettings(here, here)


def example(of_set, question, answer, wrong, **more):
    """A puzzle of side 4 that is wrong in one cell after one step, and after two unless `is_right`."""
    whole = {"set": of_set, "side": 4, "name": f"puzzle {of_set}", "question": question, "answer": answer}
    return whole | {"predictions": {"1": [*answer[:-1], wrong], "2": answer}, "is_right": True} | more


def example_files():
    sudoku = tokens(QUESTION), tokens(ANSWER)
    maze = (parse_maze(text).tolist() for text in ("#####S ###G#####", "#####So###G#####"))
    arc = canvas([[1, 2]]), canvas([[2, 1], [3, 3]])
    unsolved = {"is_right": False, "predictions": {"1": tokens(ANSWER), "2": [*tokens(ANSWER)[:-1], 3]}}
    return {
        "sudoku-se_rrm-s0": [example("4x4", *sudoku, 3), example("4x4", *sudoku, 3, **unsolved)],
        "sudoku-trm-s0": [example("4x4", *sudoku, 3)],
        "maze-se_rrm-s0": [example("10x10", *maze, 5)],
        "arc_agi_1-se_rrm-s0": [example("evaluation", *arc, 4)],
    }


def write_examples(folder):
    for name, examples in example_files().items():
        path = folder / name / "examples.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"task": name.split("-")[0], "examples": examples}), encoding="utf-8")
    return folder


def _check_latex(source, num_columns):
    """Even braces, equal numbers of cells, formulas that parse, nothing that pdfTeX lacks."""
    bare = re.sub(r"\\[{}\\&%$#_]", "", source)
    assert bare.count("{") == bare.count("}")
    assert source.count(r"\begin{") == source.count(r"\end{")
    for line in source.splitlines():
        if line.endswith(r" \\"):
            spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert len(re.findall(r"(?<!\\)&", line)) + 1 + spanned == num_columns
    parser = MathTextParser("path")
    for formula in set(re.findall(r"(?<!\\)\$[^$]+\$", source)):
        parser.parse(formula)
    assert all(ord(character) < 0x180 for character in source)


@pytest.fixture
def check_latex():
    return _check_latex


@pytest.fixture
def load(tmp_path):
    """Metric files as (results, settings)."""

    def read(files):
        folder = write_metrics(files, tmp_path / "loaded")
        return load_results(cells_of(files), folder), settings_for(files)

    return read


@pytest.fixture
def report(load):
    """Metric files as a report."""
    return lambda files: build_report("test", *load(files))


@pytest.fixture(name="paper_files")
def _paper_files():
    return paper_files()


@pytest.fixture
def small_files():
    """A copy that a test may change."""
    return json.loads(json.dumps(FILES))


def write_report(files, folder):
    """The folder of a profile after the stage."""
    write_metrics(files, folder / "metrics")
    tabulate("test", cells_of(files), settings_for(files), Places(folder, folder / "examples"), MADE)
    return folder


@pytest.fixture(scope="session")
def full_report(tmp_path_factory):
    """reports/<profile> of the full profile after the stage; not to be changed."""
    folder = tmp_path_factory.mktemp("full")
    write_examples(folder / "examples")
    return write_report(FULL_FILES, folder)


@pytest.fixture(scope="session")
def small_report(tmp_path_factory):
    """The same of the small profile with a variant that nothing knows; the page was a link to another file before."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "elsewhere.html").write_text("kept")
    (folder / "report.html").symlink_to(folder / "elsewhere.html")
    return write_report([*FILES, FILES[2] | {"model": "my_own"}], folder)


@pytest.fixture
def full_files():
    """A copy that a test may change."""
    return json.loads(json.dumps(FULL_FILES))


@pytest.fixture
def cells():
    return cells_of(FILES)


@pytest.fixture
def metrics(tmp_path):
    return write_metrics(FILES, tmp_path / "metrics")


@pytest.fixture
def settings():
    return settings_for(FILES)


@pytest.fixture
def full_settings():
    return settings_for(FULL_FILES)
