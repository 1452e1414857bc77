"""Scores by group of puzzles beneath tables and in a figure."""

from serrm.reporting.figures import groups, svg_text
from serrm.reporting.tables import build_tables
from tests.reporting.conftest import read_made, report_of


def group(num_puzzles: int, num_units: int, num_solved: float) -> dict[str, float]:
    return {"num_puzzles": num_puzzles, "num_units": num_units, "num_solved": num_solved, "low": 0, "high": 1}


def test_scores_by_group_stand_beneath_tables_with_the_units_of_intervals() -> None:
    files = read_made()
    for run, solved in ((("arc_agi_1", "trm", 0), 2), (("arc_agi_1", "se_rrm", 0), 3.5)):
        families = {"turn": group(4, 2, solved), "fill": group(4, 4, 0)}
        files[run]["sets"]["evaluation"]["groups"] = {
            "family": families,
            "parts": {"one part": group(8, 6, 1)},
        }
    for model in ("hrm", "trm", "se_rrm"):
        for seed in (0, 1):
            if ("sudoku", model, seed) in files:
                grades = {"guesses": group(2, 2, seed), "naked singles": group(8, 8, 8)}
                files["sudoku", model, seed]["sets"]["9x9"]["groups"] = {"grade": grades}
    report = report_of(files)
    notes = {table.name: table.notes for table in build_tables(report)}
    by_family = "ARC-AGI-1 by family, solved in percent by TRM, SE-RRM: fill 0, 0 (n 4); turn 50, 88 (n 4)."
    assert by_family in notes["table3"]
    assert any("8 puzzles have 6 rules" in note for note in notes["table3"])
    assert not any(" by parts" in note for note in notes["table3"])
    # Grades are in their order, and seeds have a mean.
    (by_grade,) = [note for note in notes["table1"] if " by grade" in note]
    assert by_grade.endswith("naked singles 100, 100, 100 (n 8); guesses 0, 0, 25 (n 2).")
    assert groups(report_of(read_made())) is None
    figure = groups(report)
    assert figure is not None
    text = svg_text(figure)
    assert "ARC-AGI-1 by family" in text and "turn (n 4)" in text and "by parts" not in text
