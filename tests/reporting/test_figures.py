"""Figures: the right curves in the right places, one name a model, the same bytes."""

from xml.etree import ElementTree

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from serrm.reporting.figures.architecture import architecture_figure, sketch
from serrm.reporting.figures.compute import compute_figure
from serrm.reporting.figures.curves import depth_figure, learning_curves_figure
from serrm.reporting.figures.equivariance import SIZE, equivariance_figure, recoloured_figure
from serrm.reporting.figures.style import LOOK, svg_text

FSR = "Fully solved rate"


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def texts_of(svg):
    return [text for text in ElementTree.fromstring(svg).itertext() if text.strip()]


@pytest.fixture
def small(report, small_files):
    return report(small_files)


@pytest.fixture
def full(report, full_files):
    return report(full_files)


def test_depth_figure_has_our_curves_and_the_papers(small):
    (axes,) = depth_figure(small).axes
    curves = lines_of(axes)
    theirs = {f"{name}, paper" for name in ("HRM", "TRM", "SE-RRM")}
    assert set(curves) == {"TRM, ours", "SE-RRM, ours", "se_rrm_wide, ours", *theirs}
    assert curves["TRM, ours"].get_xydata().tolist() == [[1, 1], [16, 72]]
    assert curves["TRM, ours"].get_color() == curves["TRM, paper"].get_color()
    assert curves["TRM, paper"].get_linestyle() == "--"


def test_learning_curves_draw_every_seed_and_name_each_model_once(small):
    figure = learning_curves_figure(small)
    fsr, _ = figure.axes
    assert [line.get_label() for line in fsr.get_lines()] == ["SE-RRM", "SE-RRM", "TRM", "se_rrm_wide"]
    assert fsr.get_lines()[0].get_xdata().tolist() == [9600, 19_200, 28_800]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["SE-RRM", "TRM", "se_rrm_wide"]


def test_learning_curves_have_a_panel_for_each_score(full):
    figure = learning_curves_figure(full)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == [f"{name} (%)" for name in (FSR, "Grid-point accuracy", FSR, "pass@2")]
    assert lines_of(figure.axes[3])["SE-RRM"].get_ydata() == pytest.approx([6, 15, 30])


def test_compute_counts_puzzle_steps_and_shows_adaptive_depth(full):
    figure = compute_figure(full)
    training, inference, *_ = figure.axes
    # 300 steps of 32 slots.
    assert lines_of(training)["SE-RRM"].get_xdata().tolist() == [9600, 19_200, 28_800]
    assert lines_of(inference)["SE-RRM"].get_xdata().tolist() == [1, 16, 64]
    single = [line.get_xydata().tolist()[0] for line in inference.get_lines() if len(line.get_xdata()) == 1]
    assert [6.5, 89] in single
    assert single.count([9.5, 93]) == 2
    assert len(figure.axes) == 6


def test_architecture_is_drawn_from_the_settings(full):
    texts = texts_of(architecture_figure(full))
    assert {
        *("E: 81 × 9 × 64", "E: (16 + 81) × 64", "4 heads × 64, RoPE2D", "4 heads × 16, RoPE2D"),
        *("attention over symbols", "L = 6 times; all of it H = 3 times", "171,264 parameters"),
        "two blocks, low and high: 2 layers of",
    } <= {*texts}


@pytest.mark.parametrize(
    ("registers", "planes", "shape"), [(4, "all", "(81 + 4) × 11 × 64"), (0, "usual", "81 × 9 × 64")]
)
def test_shapes_count_registers_and_planes(full, registers, planes, shape):
    cell = full.settings.here["sudoku", "se_rrm"]
    changed = {**cell, "model": {**cell["model"], "registers": registers, "planes": planes}}
    assert sketch(full.results["sudoku", "se_rrm"][0], changed).shape == shape


def test_a_size_that_no_set_names_stays_a_letter(full):
    run = full.results["arc_agi_1", "se_rrm"][0]
    assert sketch(run, full.settings.here["arc_agi_1", "trm"]).answer == "I × 12 logits"


def test_equivariance_shows_four_grids_a_model_and_counts(full, small):
    svg = equivariance_figure(full)
    texts = texts_of(svg)
    assert texts.count("f(πx)") == 2
    assert "π: 1→4  4→1" in texts
    assert "40 of 40 predictions the same" in texts
    # One cell of TRM's is wrong, none of SE-RRM's.
    assert svg.count('fill="#F7BCAF"') == 1
    assert equivariance_figure(small) is None


def test_a_recoloured_task_is_drawn_with_both_answers(full, small):
    svg = recoloured_figure(full)
    texts = texts_of(svg)
    assert texts.count("f(πx)") == 1 and "SE-RRM, ARC-AGI-1" in texts and "π: 1→2  2→1" in texts
    assert "6 of 6 predictions the same" in texts
    # The answers are two cells high and one wide, and no higher than any other picture.
    assert svg.count(f'width="{SIZE / 2:g}" height="{SIZE}"') == 2
    assert recoloured_figure(small) is None


def test_a_task_whose_snapshots_were_not_scored_says_so(report, full_files):
    for file in full_files:
        if file["task"] == "arc_agi_1":
            file["learning_curve"] = []
    drawn = report(full_files)
    for figure, num_panels in ((learning_curves_figure(drawn), 4), (compute_figure(drawn), 6)):
        empty = [axes.get_title() for axes in figure.axes if axes.texts]
        assert len(figure.axes) == num_panels and [title[:9] for title in empty] == ["ARC-AGI-1"]


def test_frames_that_differ_in_their_last_bit_are_the_same_text():
    def drawn(shift):
        figure = Figure()
        figure.add_axes((0.1 + shift, 0.1, 0.8, 0.8)).plot([0, 1], [0, 1])
        return svg_text(figure)

    with rc_context(LOOK):
        assert drawn(0.0) == drawn(1e-15) != drawn(0.1)
