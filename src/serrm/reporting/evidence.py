"""What our results say on one point: a score to compare, and which of two lies ahead. Claims are judged on these."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.cells import Reading, our_reading
from serrm.reporting.names import model_name, reported
from serrm.reporting.paper import PaperColumn
from serrm.reporting.results import Evaluation, Results
from serrm.reporting.settings import CellSettings

SE_RRM: Final = "se_rrm"
BASELINES: Final = ("trm", "hrm")

Verdict = Literal["holds here", "not separated here", "does not hold here", "not tested here"]
HOLDS: Final[Verdict] = "holds here"
LEVEL: Final[Verdict] = "not separated here"
FAILS: Final[Verdict] = "does not hold here"
UNTESTED: Final[Verdict] = "not tested here"


class Finding(NamedTuple):
    """What our results say on a claim, and the numbers in words."""

    verdict: Verdict
    ours: str


def missing(what: str) -> Finding:
    """The finding on a claim for which a model or a set was not run."""
    return Finding(UNTESTED, f"Not run: {what}.")


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim of several parts: one that fails refutes it, an untested one leaves no "holds"."""
    return max(verdicts, key=(HOLDS, UNTESTED, LEVEL, FAILS).index)


@dataclass(frozen=True)
class Score:
    """One of our scores in percent, with its interval, of a model that was run and can take the set."""

    variant: str
    reading: Reading
    value: Decimal
    low: Decimal
    high: Decimal

    def is_ahead_of(self, other: "Score") -> bool:
        """Whether the interval lies wholly above the other's."""
        return self.low > other.high

    def leads(self, *others: "Score") -> Verdict:
        """The verdict on being ahead of all others; overlapping intervals are not separated."""
        return weakest(
            HOLDS if self.is_ahead_of(other) else FAILS if other.is_ahead_of(self) else LEVEL
            for other in others
        )

    def __str__(self) -> str:
        return f"{model_name(self.variant)} {self.reading}"


@dataclass(frozen=True)
class Evidence:
    """A profile's results and the settings that its cells resolve to."""

    results: Results
    settings: CellSettings

    @property
    def tasks(self) -> list[str]:
        """The tasks that were run."""
        return list(dict.fromkeys(task for task, _ in self.results))

    def score(
        self, task: str, variant: str, metric: str, of_set: str | None = None, steps: int = HEADLINE_STEPS
    ) -> Score | None:
        """A model's score; None where it was not run or cannot take the set."""
        record = reported(task)
        column = PaperColumn(
            group="", name="", task=task, set=of_set or record.set, metric=metric, steps=steps,
            takes_other_sizes=record.takes_other_sizes,
        )  # fmt: skip
        reading = our_reading(self.results.get((task, variant), []), column)
        if reading.value is None or reading.lo is None or reading.hi is None:
            return None
        return Score(variant, reading, reading.value, reading.lo, reading.hi)

    def scores(
        self, task: str, variants: Iterable[str], metric: str, of_set: str | None = None
    ) -> list[Score]:
        """The scores of those of the variants that have one."""
        found = (self.score(task, variant, metric, of_set) for variant in variants)
        return [score for score in found if score is not None]

    def first_runs(self, task: str, variants: Iterable[str]) -> list[Evaluation]:
        """The first seed of those of the variants that were run on a task."""
        return [seeds[0] for variant in variants if (seeds := self.results.get((task, variant)))]

    def runs(self, variant: str) -> list[Evaluation]:
        """All evaluations of a variant, whatever the task."""
        return [run for (_, name), seeds in self.results.items() if name == variant for run in seeds]

    def is_rescaled(self, variant: str) -> bool:
        """Whether a variant runs with other settings than at the paper's scale, on any task."""
        here, paper = self.settings.here, self.settings.at_paper_scale
        return any(cell != paper.get(key) for key, cell in here.items() if key[1] == variant)

    def depths(self, variant: str) -> list[int]:
        """The numbers of supervision steps at which a variant was scored on 9×9 Sudoku."""
        parts = [run.scored.get("9x9") for run in self.results.get(("sudoku", variant), [])]
        return sorted({depth for part in parts if part for depth in part.steps})


def in_words(scores: Iterable[Score]) -> str:
    """Scores as a list in words."""
    return "; ".join(map(str, scores))
