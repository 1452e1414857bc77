"""What a profile gave, in one place: results, settings, claims and tables, as figures and the page take them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from serrm.reporting.claims import Claim, check_claims, claims_table
from serrm.reporting.evidence import Evidence
from serrm.reporting.notes import by_name, data_notes
from serrm.reporting.paper import load_paper
from serrm.reporting.results import Results, all_runs
from serrm.reporting.settings import CellSettings, hyperparameter_table
from serrm.reporting.tables import Table, build_table, own_tables
from serrm.reporting.word_tables import word_tables


@dataclass(frozen=True)
class Report:
    """Results and settings of a profile's cells, the claims judged on them, and every table by its number."""

    profile: str
    results: Results
    settings: CellSettings
    claims: Sequence[Claim]
    tables: Mapping[str, Table]

    @property
    def source(self) -> str:
        """What ours were measured on, for the remark below a figure."""
        sources = dict.fromkeys(run.data.source for run in all_runs(self.results))
        return f"profile {self.profile}, {'; '.join(sources)}"


def build_report(profile: str, results: Results, settings: CellSettings) -> Report:
    """Judge the claims and build the tables: the paper's, their extensions, the claims and the runs.

    A table of which nothing was run is there
    as well and says so: which tables there are is the same in every profile, but for tasks of one's own.
    """
    paper, claims = load_paper(), check_claims(Evidence(results, settings))
    own = dict(own_tables(results))
    tables = [
        build_table(number, table, results)
        for number, table in (paper.score_tables | paper.extension_tables | own).items()
    ]
    tables += [
        hyperparameter_table(number, profile, table, settings, results)
        for number, table in paper.hyperparameter_tables.items()
    ]
    tables += [*word_tables(results), claims_table(claims, data_notes(by_name(results)))]
    return Report(profile, results, settings, claims, {table.number: table for table in tables})
