"""Our scores beside the numbers of one of the paper's tables, and our test puzzles beside the paper's."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import pandas as pd

from serrm.puzzles.arc.grids import MAX_SIDE
from serrm.puzzles.task import ArcTask, GridTask
from serrm.puzzles.tasks import TASKS
from serrm.reporting import paper
from serrm.reporting.formats import counts_text
from serrm.reporting.paper import CANNOT_EXTRAPOLATE, DASH, load_paper, puzzle_set, set_name
from serrm.reporting.results import Results, Score, difference, runs_on, score, variant_with_most_seeds
from serrm.scoring.schema import Evaluation, ScoredSet
from serrm.scoring.verdicts import AHEAD, BEHIND, relation

QUOTED: Final = "†"
ARROWS: Final = {AHEAD: " ↑", BEHIND: " ↓"}
EASIER_BELOW: Final = 0.95  # share of the paper's blanks, whose numbers are approximate


class Entry(NamedTuple):
    """A number of the paper, with our runs of its model and their score on the test set `test_set`.

    `key` is that of its column.
    """

    row: paper.PaperRow
    key: str
    column: paper.PaperColumn
    paper_entry: paper.PaperEntry
    variant: str
    runs: Sequence[Evaluation]
    test_set: str
    score: Score | None

    @property
    def twin(self) -> str:
        """Name the variant of the runs if it stands for the row's family; empty for the row's own."""
        return "" if self.variant == self.row.variant_of(self.key) else self.variant

    @property
    def model(self) -> str:
        """Name the model, as in "SE-RRM, se_rrm_wide" for a twin."""
        return f"{self.row.name}, {self.twin}" if self.twin else self.row.name

    @property
    def our_text(self) -> str:
        """Write our score, with an arrow if it is ahead of the paper's or behind, for the same puzzles."""
        if any(self.test_set in run.refused for run in self.runs):
            return CANNOT_EXTRAPOLATE
        return DASH if self.score is None else f"{self.score}{self._arrow(self.score)}"

    def _arrow(self, score: Score) -> str:
        has_other_puzzles = self.column.unpublished or self.runs[0].data.is_generated
        ends = [float(end) for end in self.paper_entry.numbers[1:]]
        if has_other_puzzles or not ends or score.num_puzzles != (self.paper_entry.num or self.column.num):
            return ""
        low, high = ends
        paper_score = Score(float(self.paper_entry.numbers[0]), low, high, score.num_puzzles)
        return ARROWS.get(relation(difference(score, paper_score)), "")


def paper_text(entry: paper.PaperEntry) -> str:
    """Write one number of the paper with its interval, such as "93.73 (93.66–93.81)", or the paper's words instead."""
    value, *ends = entry.numbers or (entry.words or DASH,)
    interval = f" ({'–'.join(ends)})" if ends else ""
    return value + interval + (QUOTED if entry.quoted else "")


def set_in_column(column: paper.PaperColumn, run: Evaluation) -> str:
    """Choose the test set of a run for a column: the column's, or the run's only one if the column takes it."""
    if column.takes_other_sizes and len(run.own_sets) == 1:
        return next(iter(run.own_sets))
    return column.set


def entries_of(paper_table: paper.ScoreTable, results: Results) -> list[Entry]:
    """List the entries of one of the paper's tables, row by row.

    Those of a family for which a variant stands in claims, such as a tuned one, are followed by this variant's, unless
    the table is an ablation.
    """
    entries = list[Entry]()
    for row in paper_table.rows:
        entries += _entries_of_row(paper_table, row, results)
        twin = variant_with_most_seeds(results, row.variant)
        if twin != row.variant and not paper_table.ablation:
            entries += [entry for entry in _entries_of_row(paper_table, row, results, twin) if entry.runs]
    return entries


def _entries_of_row(
    paper_table: paper.ScoreTable, row: paper.PaperRow, results: Results, twin: str = ""
) -> Iterator[Entry]:
    for key, column in paper_table.columns.items():
        variant = twin or row.variant_of(key)
        runs = runs_on(results, column.task, variant, column.set)
        test_set = set_in_column(column, runs[0]) if runs else column.set
        our_score = score(runs, column.metric, test_set, column.steps)
        paper_entry = row.entries.get(key, paper.PaperEntry())
        yield Entry(row, key, column, paper_entry, variant, runs, test_set, our_score)


def side_by_side(number: str, paper_table: paper.ScoreTable, entries: Sequence[Entry]) -> pd.DataFrame:
    """Tabulate our numbers beside the paper's: a row per model, in table 1 per size too, in table 2 per steps.

    Twins, which the paper does not have, have our numbers alone.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in entries:
        label, heading = {"Model": entry.model}, entry.column.name
        label |= dict(zip(paper_table.attributes, entry.row.attributes, strict=True))
        if number == "1":
            label["Grid"] = entry.column.group
        if number == "2":
            label, heading = {"Steps": heading}, entry.model
        papers_text = paper_text(entry.paper_entry)
        if entry.runs or papers_text != DASH:
            row = rows.setdefault(tuple(label.values()), label)
            row[f"{heading}, ours"] = entry.our_text
            if not entry.twin:
                row[f"{heading}, paper"] = papers_text
    return pd.DataFrame(rows.values()).fillna(DASH)


def by_set(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Group entries by the paper's test set."""
    sets: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        sets.setdefault((entry.column.task, entry.column.set), []).append(entry)
    return [*sets.values()]


def describe_test_set(entries: Sequence[Entry]) -> str:
    """Describe the set of some entries, such as "Sudoku 9×9, 43 blanks (paper: about 56), n 256 (paper: 422,786)"."""
    column, scored = entries[0].column, [entry for entry in entries if entry.score]
    sets = {entry.test_set for entry in scored} or {column.set}
    name = " or ".join(puzzle_set(column.task, test_set) for test_set in sorted(sets))
    if sets != {column.set}:
        name += f" (paper: {set_name(column.set)})"
    our_blanks = blanks_text(
        column.task, [run.scored[entry.test_set] for entry in scored for run in entry.runs]
    )
    name += our_blanks
    if our_blanks and column.blanks:
        name += f" (paper: {column.blanks})"
    num = counts_text(entry.score.num_puzzles for entry in scored if entry.score)
    return f"{name}, n {num} (paper: {counts_text(entry.paper_entry.num or column.num for entry in entries)})"


def blanks_text(task: str, sets: Iterable[ScoredSet]) -> str:
    """Write the mean number of blanks per puzzle, such as ", 43 blanks"; empty for a task without such a number."""
    means = mean_blanks(task, sets)
    return f", {' or '.join(map(str, means))} blanks" if means else ""


def mean_blanks(task: str, sets: Iterable[ScoredSet]) -> list[int]:
    """List the different mean numbers of blanks per puzzle; empty for a task without a number of blanks."""
    record = TASKS[task]
    if not (isinstance(record, GridTask) and record.names_blanks):
        return []
    return [
        *dict.fromkeys(
            round(scored_set.num_blank / scored_set.num_puzzles)
            for scored_set in sets
            if scored_set.num_blank
        )
    ]


def easier_puzzles(results: Results) -> list[str]:
    """List our test puzzles that are easier than the paper's, such as "Sudoku 9×9, 43 blanks (paper: about 56)"."""
    names = []
    for number in ("1", "3"):
        for entries in by_set(entries_of(load_paper().score_tables[number], results)):
            column, scored = entries[0].column, next((entry for entry in entries if entry.score), None)
            if scored is None:
                continue
            run, test_set = scored.runs[0], scored.test_set
            scored_set, name = run.scored[test_set], puzzle_set(column.task, test_set)
            means = mean_blanks(column.task, [scored_set])
            is_arc = isinstance(TASKS[column.task], ArcTask)
            if column.side is not None and scored_set.side < column.side:
                names.append(f"{name} (paper: {set_name(column.set)})")
            elif column.blanks is not None and means and means[0] < EASIER_BELOW * column.blanks.num:
                names.append(f"{name}{blanks_text(column.task, [scored_set])} (paper: {column.blanks})")
            elif is_arc and scored_set.side < MAX_SIDE:
                names.append(f"{name}, grids of at most {scored_set.side}×{scored_set.side}")
    return names
