"""What our results say on one point: a score to compare, and which of two lies ahead. Claims are judged on these."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from serrm.reporting.cells import Reading, our_reading
from serrm.reporting.hyperparameters import CellSettings
from serrm.reporting.names import model_name
from serrm.reporting.paper import PaperColumn
from serrm.reporting.render import plain
from serrm.reporting.results import Evaluation, Results, ScoredSet

PAPER_SETS = {"sudoku": "9x9", "maze": "30x30", "arc_agi_1": "evaluation", "arc_agi_2": "evaluation"}
HEADLINE_STEPS = 16
SE_RRM: Final = "se_rrm"
BASELINES: Final = ("trm", "hrm")


class Finding(NamedTuple):
    """What our results say on a claim: None where they say nothing, and the numbers in words."""

    holds: bool | None
    ours: str


def missing(what: str) -> Finding:
    """The finding on a claim for which a model or a set was not run."""
    return Finding(None, f"Not run: {what}.")


@dataclass(frozen=True)
class Score:
    """One of our scores in percent, of a model that was run and can take the set."""

    variant: str
    reading: Reading

    @property
    def value(self) -> Decimal:
        """In percent."""
        assert self.reading.value is not None
        return self.reading.value

    def is_ahead_of(self, other: "Score") -> bool:
        """Whether the interval lies wholly above the other's."""
        return self._ends[0] > other._ends[1]

    @property
    def _ends(self) -> tuple[Decimal, Decimal]:
        assert self.reading.lo is not None and self.reading.hi is not None
        return self.reading.lo, self.reading.hi

    @property
    def low(self) -> Decimal:
        """The lower end of the interval."""
        return self._ends[0]

    def __str__(self) -> str:
        return f"{model_name(self.variant)} {plain(self.reading)}"


@dataclass(frozen=True)
class Evidence:
    """A profile's results and the settings that its cells resolve to."""

    results: Results
    settings: CellSettings

    def score(
        self, task: str, variant: str, metric: str, of_set: str | None = None, steps: int = HEADLINE_STEPS
    ) -> Score | None:
        """A model's score; None where it was not run or cannot take the set."""
        column = PaperColumn(
            group="",
            name="",
            task=task,
            set=of_set or PAPER_SETS[task],
            takes_other_sizes=task == "maze",
            metric=metric,
            steps=steps,
        )
        reading = our_reading(self.results.get((task, variant), []), column)
        return None if reading.value is None else Score(variant, reading)

    def scores(
        self, task: str, variants: Iterable[str], metric: str, of_set: str | None = None
    ) -> list[Score]:
        """The scores of those of the variants that have one."""
        found = (self.score(task, variant, metric, of_set) for variant in variants)
        return [score for score in found if score is not None]

    def runs(self, variant: str) -> list[Evaluation]:
        """All evaluations of a variant, whatever the task."""
        return [run for (_, name), seeds in self.results.items() if name == variant for run in seeds]

    def depths(self, task: str, variant: str) -> list[int]:
        """The numbers of supervision steps at which a variant was scored on the paper's set."""
        runs = self.results.get((task, variant), [])
        parts = (run.sets.get(PAPER_SETS[task]) for run in runs)
        depths = {depth for part in parts if isinstance(part, ScoredSet) for depth in part.steps}
        return sorted(depths)


def said(scores: Iterable[Score | None]) -> str:
    """Scores as a list in words."""
    return "; ".join(str(score) for score in scores if score is not None)
