"""The page over all profiles: as the committed scores give it, its sources, and what its tables set in bold."""

import csv
import io
import json
import re
from itertools import product
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import pytest

from serrm.commands.scores import committed_reports, overview_files
from serrm.comparing import symmetry
from serrm.comparing.hard_sudoku import FOLDER, LIMITS, OURS, PEERS, by_rating
from serrm.config import read_params
from serrm.models.flops import flops
from serrm.models.settings import ModelSizes
from tests.reporting.conftest import known_cost, skip_if_run_since

ROOT = Path(__file__).parents[2]


def committed_overview(root):
    return overview_files(root, committed_reports(root))


@pytest.fixture(scope="module")
def made_again():
    skip_if_run_since("reports/*/metrics.json")
    return committed_overview(ROOT)


def texts_of(picture):
    return [
        element.text for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_committed_page_matches_the_committed_scores(made_again):
    folder = ROOT / "reports"
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert made_again["README.md"] == page, "`serrm overview` writes it"
    assert (folder / "hard_sudoku.csv").read_text(encoding="utf-8") == made_again["hard_sudoku.csv"]
    picture = (folder / "hard_sudoku.svg").read_text(encoding="utf-8")
    assert texts_of(picture) == texts_of(made_again["hard_sudoku.svg"])


def test_equivariance_is_drawn_by_the_number_of_training_puzzles(made_again):
    cells = symmetry.cells(committed_reports(ROOT))
    assert {(cell.num_puzzles, cell.num_copies, cell.symbols) for cell in cells} == {
        *product((30, 100, 300, 1_000), (0, 1_000), ("tied", "untied"))
    }
    few, *_ = cells
    assert few[:3] == (30, 0, "tied") and fmean(few.scores) == pytest.approx(48.89, abs=0.01)
    assert {"no copies", "1,000 symmetric copies of each"} <= {*texts_of(made_again[symmetry.FIGURE])}


def test_tuned_models_stand_beside_untuned_ones_with_flops_that_are_not_equal(made_again):
    page = made_again["README.md"]
    for model, variant, score in (
        ("HRM", "hrm_tuned", "14.39 ± 2.49"),
        ("SE-RRM", "se_rrm_muon_hints", "24.75 ± 1.31"),
    ):
        (fsr, _, steps) = re.findall(rf"^\| {model} +\| `published`, {variant} .*", page, re.M)
        assert score in fsr and score in steps
    assert "Training FLOPs on Sudoku are not equal: hrm_tuned 5.51e14, trm_tuned 5.12e14, " in page


def test_the_costs_tell_data_sets_of_a_profile_apart(made_again):
    assert {"gpu_maze", "gpu_maze, maze_15", "gpu_maze, maze_22"} <= {*texts_of(made_again["costs.svg"])}


def test_no_profile_is_a_fault_of_one_line():
    with pytest.raises(ValueError, match="reports: "):
        overview_files(ROOT, {})


def test_scores_by_rating_are_those_of_the_search_and_of_its_first_attempt(made_again):
    search = json.loads((ROOT / FOLDER / "guesses.json").read_text(encoding="utf-8"))
    num_solved = {row["steps"]: row["num_solved"] for row in search["within"]}
    scores = by_rating(ROOT)
    for limit in LIMITS:
        shown = [score for score in scores if score.limit == limit]
        assert sum(score.num_solved for score in shown) == num_solved[limit]
        assert sum(score.num_puzzles for score in shown) == search["puzzles"]["first"]
    assert max(LIMITS) <= search["guesses"] and min(LIMITS) == search["first_attempt_steps"]
    assert {"75+", "n 131"} <= {*texts_of(made_again["hard_sudoku_ratings.svg"])}


def test_every_point_of_ours_names_a_committed_file_and_every_other_its_source(made_again):
    points = list(csv.DictReader(io.StringIO(made_again["hard_sudoku.csv"])))
    for point in points:
        if point["by"] == OURS:
            assert list(ROOT.glob(point["source"]))
            assert 4e14 < float(point["flops"]) < 1e16
        assert point["by"] != PEERS or (point["is_estimated"] == "True" and "https://" in point["source"])
    (ours,) = (point for point in points if point["system"].startswith("sudoku_extreme"))
    assert (float(ours["solved"]), ours["num_puzzles"]) == (100.0, "1000")
    (papers,) = (point for point in points if point["system"] == "SE-RRM, the paper")
    assert (papers["solved"], float(papers["flops"])) == ("93.73", pytest.approx(1.15e18, rel=0.01))


def test_the_estimates_of_the_peers_are_what_their_settings_give():
    """TRM with Muon: 8,000 steps of batch 384, 6 × 9 cycles; LDT: width 128, 4 layers, 16 loops, batch 512."""
    with (ROOT / FOLDER / "peers.csv").open(encoding="utf-8") as file:
        estimates = {row["system"]: float(row["training FLOPs"]) for row in csv.DictReader(file)}
    after_comma = {system.partition(", ")[2]: flops for system, flops in estimates.items()}
    run = read_params(ROOT / "profiles/paper.yaml").run_settings("sudoku-trm_mlp-s0")
    model = run.model.model_copy(update={"h_cycles": 6, "l_cycles": 9})
    muon = 8000 * 384 * flops(model, ModelSizes(11, 81), run.train.halting)

    def layer(positions):
        return positions * (2 * 12 * 128**2 + 4 * positions * 128)

    later = (32 + 64 + 128 + 256 + 512) / 5
    for system, expected in {
        "four seeds": muon,
        "2,000 steps": 2000 * 512 * 3 * 16 * 4 * layer(82),
        "4,000 steps": 4000 * 512 * 3 * 16 * 4 * layer(82),
        "1,024 iterations": 50_000 * 2048 * (3 * 16 + 0.2 * later) * 4 * layer(81),
    }.items():
        assert after_comma[system] == pytest.approx(expected, rel=0.005), system
    assert estimates["TRM trained winner-take-all"] == 6 * 60 / 48 * after_comma["four seeds"]
    noise = known_cost("sudoku", "trm_mlp").flops
    assert estimates["TRM with noise (PTRM)"] == pytest.approx(noise, rel=0.005)
    assert (
        after_comma["cross-entropy of weight 1"] == after_comma["2,000 steps"] == 2 * after_comma["8 loops"]
    )


def test_the_costs_of_the_paper_are_those_of_the_forecast():
    with (ROOT / "docs/experiments/forecast_flops.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["profile"] == "paper"]
    assert len(rows) == 40
    for row in rows:
        task, variant = re.fullmatch(r"(\w+?)-(\w+)-s0", row["run"]).groups()
        assert float(row["training FLOPs"]) == pytest.approx(known_cost(task, variant).flops, rel=0.01), row[
            "run"
        ]
