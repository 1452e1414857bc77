"""The stage's entry: all files, the same bytes each time; and the headline."""

import pytest

from serrm.reporting.figures import depth_figure, learning_curves_figure, save_figure
from serrm.reporting.headline import headline
from serrm.reporting.paper import load_paper
from serrm.reporting.results import load_results
from serrm.reporting.tables import build_table
from serrm.reporting.tabulate import tabulate

FILES = {
    *(f"tables/table{number}.{suffix}" for number in "12" for suffix in ("md", "csv", "tex")),
    "figures/depth.svg",
    "figures/learning_curves.svg",
}


def written(root):
    paths = [path for part in ("tables", "figures") for path in (root / part).iterdir()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def test_all_files_are_written_and_equal_each_time(tmp_path, metrics, cells):
    for name in ("first", "second"):
        tabulate("test", cells, metrics, tmp_path / name / "tables", tmp_path / name / "figures")
    first, second = written(tmp_path / "first"), written(tmp_path / "second")
    assert set(first) == FILES
    assert first == second


def test_files_of_another_profile_are_refused(tmp_path, metrics, cells):
    with pytest.raises(ValueError, match="sudoku-se_rrm is of profile test, not paper"):
        tabulate("paper", cells, metrics, tmp_path / "tables", tmp_path / "figures")


@pytest.fixture
def depth(metrics, cells):
    return depth_figure(
        build_table("2", load_paper().score_tables["2"], load_results(cells, metrics)), "test"
    )


def test_depth_figure_has_our_curves_and_the_papers(depth):
    (axes,) = depth.axes
    curves = {line.get_label(): line for line in axes.get_lines()}
    theirs = {f"{name}, paper" for name in ("HRM", "TRM", "SE-RRM")}
    assert set(curves) == {"TRM, ours", "SE-RRM, ours", "se_rrm_wide, ours", *theirs}
    assert curves["TRM, ours"].get_xydata().tolist() == [[1, 1], [16, 72]]
    assert curves["TRM, ours"].get_color() == curves["TRM, paper"].get_color()
    assert curves["TRM, paper"].get_linestyle() == "--"


def test_learning_curves_draw_every_seed_and_name_each_model_once(metrics, cells):
    figure = learning_curves_figure(load_results(cells, metrics), "sudoku", {"trm": "TRM"}, "test")
    fsr, _ = figure.axes
    assert [line.get_label() for line in fsr.get_lines()] == ["se_rrm", "se_rrm", "TRM", "se_rrm_wide"]
    assert fsr.get_lines()[0].get_xdata().tolist() == [9600, 19_200, 28_800]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["se_rrm", "TRM", "se_rrm_wide"]


def test_figures_are_written_by_suffix(tmp_path, depth):
    save_figure(depth, tmp_path / "depth.png")
    assert (tmp_path / "depth.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"depth\.pdf"):
        save_figure(depth, tmp_path / "depth.pdf")


def test_headline_shows_what_ran_beside_the_paper(metrics, cells, tmp_path):
    text = headline("test", cells, metrics, [tmp_path / "tables"])
    assert "63.00 ± 4.24" in text
    assert "93.73" in text
    assert "cannot extrapolate" in text
    assert "HRM" not in text
    assert text.rstrip().endswith(str(tmp_path / "tables"))
    assert "\x1b" not in text
    assert "\x1b" in headline("test", cells, metrics, [], is_terminal=True)
