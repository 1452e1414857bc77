"""All tables of a profile, and the notes and recipes that they share.

Tables 1 to 3 and A5 to A7 set our numbers beside the paper's (paper.yaml); the paper has no counterpart of the others.
Signs and data are explained once, in notes.md, and differences from the paper's recipes once, in recipes.md.
"""

from typing import Final, NamedTuple

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.models.families import FAMILIES
from serrm.puzzles.tasks import TASKS
from serrm.reporting.formats import NOTE_ON_SEEDS, Table
from serrm.reporting.groups import group_notes
from serrm.reporting.headline import flops_notes
from serrm.reporting.other_tables import OTHER_TABLES
from serrm.reporting.paper import CANNOT_EXTRAPOLATE, DASH, data_set_name, load_paper, model_name, set_name
from serrm.reporting.paper_tables import QUOTED, by_set, describe_test_set, entries_of, side_by_side
from serrm.reporting.results import Report, Results, all_runs, main_models

LEGEND: Final = (
    f"Scores are percentages after {HEADLINE_STEPS} supervision steps unless a table gives another number, with 95% "
    "intervals: Wilson's over puzzles, for generated ARC-like puzzles over their rules. The squares of a puzzle "
    "depend on one another, so GPA's interval is over puzzles too (ratio estimator); scores that were made before it "
    f"was kept have none.{NOTE_ON_SEEDS}",
    f"{DASH} means not run here, or not in the paper. {QUOTED} marks a score that the paper quotes from the model's own"
    " paper and does not compute (HRM: https://arxiv.org/abs/2506.21734, TRM: https://arxiv.org/abs/2510.04871).",
    "↑ and ↓ mean that our score is ahead of the paper's or behind: the 95% interval of the difference lies wholly "
    "above or below zero. They are shown only for the same puzzles.",
)
GROUPED: Final = ("1", "3")
"""The paper's tables whose notes have the scores by group of puzzles."""


def build_tables(report: Report) -> list[Table]:
    """Build all tables with at least one of our runs.

    The paper's tables A5 to A7 appear only if they have a run of a model that is not in tables 1 to 3.
    """
    tables, main_variants = list[Table](), set[str]()
    for number, paper_table in load_paper().score_tables.items():
        entries = entries_of(paper_table, report.results)
        variants = {entry.variant for entry in entries if entry.runs}
        new_variants = variants - main_variants if paper_table.ablation else variants
        if new_variants:
            frame = side_by_side(number, paper_table, entries)
            notes = [*paper_table.remarks, f"Puzzles: {'; '.join(map(describe_test_set, by_set(entries)))}."]
            if number in GROUPED:
                notes += group_notes(entries)
            notes += flops_notes((run for entry in entries for run in entry.runs), report)
            title, caption = f"Table {number}: {paper_table.title}", paper_table.caption
            if paper_table.attributes:
                caption += " Labels describe the paper's runs."
            tables.append(Table(f"table{number}", title, caption, frame, notes))
        if not paper_table.ablation:
            main_variants |= variants
    for name, other in OTHER_TABLES.items():
        frame = other.build(report).map(str)
        tables.append(Table(name, other.title, other.caption, frame, list(other.notes(report.results))))
    return [table for table in tables if len(table.frame)]


def notes_on_tables(results: Results) -> list[str]:
    """List notes that hold for all tables of a profile: signs, data, and why a model cannot be scored on a set."""
    runs = all_runs(results)
    data = [
        f"{data_set_name(run.data_set)}: {run.data.source}; {run.data.train_puzzles:,} training "
        f"{TASKS[run.task].examples}."
        for run in runs
    ]
    refused = [
        f"{model_name(run.variant)} {CANNOT_EXTRAPOLATE} to {set_name(name)}, because {refused.reason}."
        for run in runs
        for name, refused in run.refused.items()
    ]
    return [*dict.fromkeys([*LEGEND, *data, *refused])]


class Recipe(NamedTuple):
    """The settings of a data set's runs that differ from profile `paper`'s runs of the same families.

    `settings` has a row per setting and a column per main model, with our value and the paper's in brackets. `others`
    has a row per other variant, with the differences that the main model of its family does not have.
    """

    title: str
    settings: pd.DataFrame
    others: pd.DataFrame


def recipe_tables(report: Report) -> list[Recipe]:
    """Tabulate the differences from the paper's settings, one data set after the other."""
    main, tables = main_models(report.results), []
    for data_set in dict.fromkeys(data_set for data_set, _ in report.results):
        columns = {
            variant: report.setting_differences[data_set, variant]
            for variant in main
            if variant in FAMILIES and (data_set, variant) in report.setting_differences
        }
        rows: dict[str, dict[str, str]] = {}
        for variant, settings in columns.items():
            for setting in settings:
                row = rows.setdefault(setting.name, {"Setting, ours (paper's)": setting.name})
                row[model_name(variant)] = f"{setting.run} ({setting.paper})"
        order = [model_name(variant) for variant in columns]
        frame = pd.DataFrame(
            rows.values(), columns=["Setting, ours (paper's)", *order] if rows else None
        ).fillna(DASH)
        others = []
        for (runs_data_set, variant), runs in report.results.items():
            if runs_data_set != data_set:
                continue
            notes = [*dict.fromkeys(note for run in runs for note in run.notes)]
            if variant not in columns:
                settings_of_variant = report.setting_differences.get((data_set, variant))
                family_settings = columns.get(runs[0].model_info.family, [])
                further = [
                    str(setting) for setting in settings_of_variant or () if setting not in family_settings
                ]
                is_unknown = settings_of_variant is None
                notes = [*(["the paper has no such model"] if is_unknown else further), *notes]
            if variant not in columns or notes:
                others.append({"Run": model_name(variant), "Further differences": "; ".join(notes) or "none"})
        tables.append(Recipe(data_set_name(data_set), frame, pd.DataFrame(others)))
    return tables
