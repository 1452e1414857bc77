"""The README's table is the committed snapshot's, to the character, and both come from one command."""

from pathlib import Path

import pytest
import yaml

from serrm.reporting.snapshot import (
    BEGIN,
    END,
    read_snapshot,
    replace_table,
    snapshot_json,
    snapshot_markdown,
    take_snapshot,
)

ROOT = Path(__file__).parents[2]


SNAPSHOTS = sorted((ROOT / "docs").glob("snapshot-*.json"))


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_the_readme_holds_the_numbers_of_the_committed_snapshots(path):
    page, snapshot = (ROOT / "README.md").read_text(), read_snapshot(path)
    assert replace_table(page, snapshot) == page, f"run {snapshot.command}"
    assert snapshot.command.endswith("--write README.md")


def test_the_defaults_table_comes_first():
    page, profiles = (ROOT / "README.md").read_text(), [read_snapshot(path).profile for path in SNAPSHOTS]
    default = yaml.safe_load((ROOT / "params.yaml").read_text())["profile"]
    assert min(profiles, key=lambda profile: page.index(BEGIN.format(profile))) == default


def test_a_number_changed_by_hand_is_noticed():
    page, snapshot = (ROOT / "README.md").read_text(), read_snapshot(SNAPSHOTS[0])
    value = next(str(cell.ours.value) for row in snapshot.rows for cell in row.cells if cell.ours.value)
    changed = page.replace(value, "99.99")
    assert replace_table(changed, snapshot) != changed


@pytest.fixture
def snapshot(metrics, cells):
    return take_snapshot("test", cells, metrics, "README.md")


def test_a_snapshot_is_read_back_as_it_was_written(snapshot, tmp_path):
    path = tmp_path / "snapshot.json"
    path.write_text(snapshot_json(snapshot))
    assert read_snapshot(path) == snapshot


def test_only_what_ran_is_shown_ours_above_the_papers(snapshot):
    table = snapshot_markdown(snapshot)
    lines = [line for line in table.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 2 * len(snapshot.rows)
    assert "not run" not in lines[0] and "ARC" not in table.splitlines()[0]
    assert "63.00 ± 4.24" in table
    assert "93.73" in table
    assert "171,264" in table
    assert "cannot extrapolate" in table
    assert snapshot.command == "serrm headline --profile test --write README.md" in table


def test_a_page_without_its_two_markers_is_refused(snapshot):
    begin, end = BEGIN.format("test"), END.format("test")
    for page in (
        "",
        begin,
        f"{end}\n{begin}",
        f"{begin}{end}{end}",
        f"{BEGIN.format('x')}\n{END.format('x')}",
    ):
        with pytest.raises(ValueError, match="no place for the table"):
            replace_table(page, snapshot)
    table = snapshot_markdown(snapshot)
    assert replace_table(f"a\n{begin}\nold\n{end}\nz", snapshot) == f"a\n{begin}\n{table}\n{end}\nz"


def test_a_damaged_snapshot_is_refused_by_key(snapshot, tmp_path):
    path = tmp_path / "snapshot.json"
    path.write_text(snapshot_json(snapshot).replace('"profile"', '"profil"'))
    with pytest.raises(ValueError, match=r"snapshot\.json: profile: Field required"):
        read_snapshot(path)
