"""Demonstration pairs reproduced, beside pass@k; metric files without them stay readable."""

from serrm.reporting.demonstrations import demonstration_table
from serrm.reporting.plain import plain_latex


def test_pairs_reproduced_stand_beside_pass_at_k(load, full_files, check_latex):
    table = demonstration_table(load(full_files)[0])
    assert table.was_run
    first, last = table.rows[:2]
    assert first[:3] == ("ARC-AGI-1", "SE-RRM", "1") and last[2] == "16"
    assert last[3].startswith("30.00 (") and last[3].endswith("n 64")
    assert last[4].startswith("90.00 (") and last[4].endswith("n 900")
    assert last[5] == "20 evaluation puzzles"
    assert last[6].startswith("30.0") and first[6] == "—", "pass@k of that depth, where there is one"
    check_latex(plain_latex(table), len(table.header))


def test_puzzles_held_out_are_named(load, full_files):
    for file in full_files:
        if file["task"].startswith("arc"):
            file["sets"] = {"held_out": file["sets"]["evaluation"]}
    table = demonstration_table(load(full_files)[0])
    assert {row[5] for row in table.rows} == {"20 held-out puzzles"}


def test_older_metric_files_say_not_run(load, full_files):
    for file in full_files:
        for part in file["sets"].values():
            part.pop("demonstrations", None)
    table = demonstration_table(load(full_files)[0])
    assert not table.was_run
    assert table.rows[0][3:] == ("not run",) * 5 and table.notes == ()
