"""`serrm compare`, `effects` and `sweep`: scores of two revisions, of variants, and of experiments, with verdicts."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from serrm.core.project import find_root

if TYPE_CHECKING:
    from rich.table import Table

    from serrm.comparing.comparison import Comparison, Line
    from serrm.comparing.effects import Effect

NUM_NAMES = 8  # of runs, or of sets of runs, in a line
LONG_NAME = 24  # characters of a revision's name that leave room for the scores in a table
WIDE = 250  # characters of a line off a terminal, so that no line of a table is folded
FIRST = typer.Argument("HEAD", metavar="[A]", help="The revision to compare with.", show_default=False)
SECOND = typer.Argument("workspace", metavar="[B]", help="The other revision.", show_default=False)
PROFILE_OPTION = typer.Option(
    None, help="Compare the scores of this profile. Default: the one that is active in params.yaml of B."
)
ALL = typer.Option(
    False, "--all", help="All metrics after all numbers of steps, and also the scores that are the same."
)
SUMMARY = typer.Option(
    False,
    "--summary",
    help="Print one line, even if there is nothing to compare with (with --exit-code, that is an error).",
)
EXIT_CODE = typer.Option(
    False,
    "--exit-code",
    help="Exit code 1 if any number of the scores differs, or a run has no scores of the checkpoint in place.",
)
JSON = typer.Option(False, "--json", help="Print the comparison as JSON.")


def compare(
    first: str = FIRST,
    second: str = SECOND,
    profile: str | None = PROFILE_OPTION,
    has_all: bool = ALL,
    is_summary: bool = SUMMARY,
    has_exit_code: bool = EXIT_CODE,
    is_json: bool = JSON,
) -> None:
    """Compare the scores of two revisions, by default those of HEAD with those in the workspace.

    Example: serrm compare main --exit-code

    A and B are each `workspace`, a profile's name (its results in the working tree), a commit, branch or tag, or the
    name of a DVC experiment. They are looked up in this order; a branch that is named like a profile is
    refs/heads/NAME. Scores of the same puzzles are compared puzzle by puzzle, several seeds by Welch's interval.
    """
    from serrm.comparing import comparison
    from serrm.comparing.revisions import UnknownRevision

    root = find_root(Path.cwd())
    try:
        result = comparison.compare(root, first, second, profile, has_all=has_all)
    except (ValueError, OSError) as error:
        if is_summary and not has_exit_code:
            typer.echo(f"compare: {' '.join(str(error).split())}")
            return
        if isinstance(error, UnknownRevision):
            raise typer.BadParameter(str(error)) from None
        raise
    if is_summary:
        typer.echo(f"compare: {comparison.summary(result)}{'' if result.is_same else '; see serrm compare'}")
    elif is_json:
        typer.echo(json.dumps(comparison.as_json(result, has_all=has_all), indent=2, ensure_ascii=False))
    else:
        print_comparison(result, root, has_all=has_all)
    if has_exit_code and not result.is_same:
        raise typer.Exit(1)


METRIC = typer.Option("", "--metric", help="The metric, such as gpa. Default: the main one of each data set.")
SET = typer.Option("", "--set", help="The test set, such as 16x16. Default: the main one of each data set.")
ROWS_JSON = typer.Option(False, "--json", help="Print the rows as JSON.")


def effects(
    revision: str = typer.Argument(
        "workspace", metavar="[REVISION]", help="A profile or any other name that `serrm compare` takes."
    ),
    baseline: str = typer.Option(
        "",
        "--baseline",
        help="Compare all variants with this one. Default: with the plain model of each family.",
    ),
    metric: str = METRIC,
    test_set: str = SET,
    is_json: bool = ROWS_JSON,
) -> None:
    """Tabulate the variants of a profile: per family a baseline, and one row per change with its difference.

    Example: serrm effects claims_maze --baseline se_rrm --metric gpa
    """
    from serrm.comparing.effects import effects_of_profile
    from serrm.comparing.revisions import UnknownRevision, read_revision

    try:
        scores = read_revision(find_root(Path.cwd()), revision)
    except UnknownRevision as error:
        raise typer.BadParameter(str(error)) from None
    rows = effects_of_profile(scores, metric, test_set, baseline)
    _print_effects(
        rows, f"profile {scores.profile} has one variant per family", scores.remarks, is_json=is_json
    )


def sweep(
    pattern: str = typer.Argument(
        "*", metavar="[NAMES]", help="Only experiments with such names, as 'rate-*'."
    ),
    base: str = typer.Option(
        "HEAD", "--rev", help="The commit from which the experiments started, with the baseline's scores."
    ),
    metric: str = METRIC,
    test_set: str = SET,
    is_json: bool = ROWS_JSON,
) -> None:
    """Tabulate the DVC experiments from a commit: its settings as the baseline, and one row per point.

    Example: serrm sweep 'rate-*' --rev HEAD~1

    The column "revisions" has names that `serrm compare A B` takes to compare two points with all their seeds.
    """
    from serrm.comparing import sweeps
    from serrm.comparing.revisions import UnknownRevision

    root = find_root(Path.cwd())
    if counts := sweeps.unfinished(root):
        states = " and ".join(f"{num} {state}" for state, num in counts.items())
        typer.echo(f"experiments without scores yet: {states}; `dvc queue status` lists them", err=True)
    try:
        rows = sweeps.sweep(root, pattern, base, metric, test_set)
    except UnknownRevision as error:
        raise typer.BadParameter(str(error)) from None
    _print_effects(rows, "The experiments have the same settings and seeds.", (), is_json=is_json)


def _print_effects(rows: "Sequence[Effect]", if_empty: str, remarks: Sequence[str], *, is_json: bool) -> None:
    """Print the table of effects, or `if_empty`, and then remarks."""
    from serrm.comparing.effects import as_json, as_rows
    from serrm.drawing.terminal import console

    if is_json:
        typer.echo(json.dumps(as_json(rows), indent=2, ensure_ascii=False))
        return
    screen, texts = console(WIDE), as_rows(rows)
    if texts:
        table = _table(*texts[0])
        for row in texts:
            table.add_row(*row.values())
        screen.print(table)
    for text in (*(() if texts else (if_empty,)), *remarks):
        screen.print(text, markup=False, soft_wrap=True)


def _table(*names: str) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def print_comparison(comparison: "Comparison", root: Path, *, has_all: bool) -> None:
    """Print the summary, settings that differ, the table of scores and its notes."""
    from serrm.comparing.changes import in_lines
    from serrm.comparing.comparison import summary
    from serrm.drawing.terminal import console

    screen = console(WIDE)
    remarks = [
        summary(comparison),
        *comparison.first.remarks,
        *comparison.second.remarks,
        *in_lines(comparison.setting_changes),
    ]
    for text in remarks:
        screen.print(text, markup=False, soft_wrap=True)
    if lines := comparison.lines if has_all else comparison.changed:
        screen.print(scores_table(comparison, lines))
    for text in notes(comparison, root):
        screen.print(text, markup=False, soft_wrap=True)


def scores_table(comparison: "Comparison", lines: "Sequence[Line]") -> "Table":
    """Tabulate scores, rates in percent, with their differences; * marks intervals of independent samples."""
    from serrm.comparing.comparison import ONLY_FIRST, ONLY_SECOND
    from serrm.comparing.effects import SAME, UNKNOWN, score_text
    from serrm.reporting.paper import set_name

    names = [comparison.first.name, comparison.second.name]
    if max(map(len, names)) > LONG_NAME:
        names = ["the first", "the second"]
    verdicts = {ONLY_FIRST: f"only in {names[0]}", ONLY_SECOND: f"only in {names[1]}"}
    table = _table("run", "set", "metric")
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("difference (95%)", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for line in lines:
        scores = [score_text(score) for score in (line.first, line.second)]
        mark = "" if line.are_pairs or line.verdict == UNKNOWN else "*"  # the note is on intervals
        difference = "" if line.difference is None or line.verdict == SAME else f"{line.difference}{mark}"
        word = verdicts.get(line.verdict, line.verdict)
        table.add_row(line.run, set_name(line.set), line.metric_name, *scores, difference, word)
    return table


def notes(comparison: "Comparison", root: Path) -> Iterator[str]:
    """Yield remarks beneath the table: what intervals do not cover, and what else differs."""
    from serrm.comparing.effects import UNKNOWN
    from serrm.comparing.seeds import STUDY, seed_scores
    from serrm.reporting.paper import set_name

    changed = [line for line in comparison.different if line.verdict != UNKNOWN]  # the notes are on intervals
    if not all(line.are_pairs for line in changed):
        yield (
            "* The interval takes both samples as independent: the puzzles differ, or the score is not kept puzzle by "
            "puzzle."
        )
    if single := [line for line in changed if line.num_seeds == 1]:
        yield "With one seed, the interval does not cover the noise of training, which other seeds would show."
        scores_of = seed_scores(root, comparison.second.profile)
        for line in [line for line in single if line.is_main and line.key in scores_of]:
            scores = scores_of[line.key]
            yield (
                f"Between {len(scores)} seeds of {'-'.join(line.key)}, {line.metric_name} on {set_name(line.set)} "
                f"differs by up to {max(scores) - min(scores):.2f} points ({STUDY})."
            )
    for revision, names in zip((comparison.first, comparison.second), comparison.only, strict=True):
        if names:
            more = len(names) - NUM_NAMES
            texts = [*names[:NUM_NAMES], *([f"{more} more"] if more > 0 else [])]
            yield f"Only in {revision.name}: {'; '.join(texts)}."
