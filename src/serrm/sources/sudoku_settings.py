"""Parameters of the three sources of Sudoku puzzles, as closed pydantic models.

They are the `source` of a profile in params.yaml; the `download` stage hands one of them to `fetch`.
`kind` says which: `hub` (the publishers), `mirror` (a local directory), `generated` (made here).
Paper: section "Sudoku", data; appendix, data sets.
"""

from functools import partial
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt

from serrm.puzzles.sudoku.generate import check_clues
from serrm.puzzles.sudoku.grid import Box
from serrm.settings import Settings
from serrm.sources.publishers import GitHubFile, GitHubFiles, HuggingFaceFiles, Mirror
from serrm.sources.sudoku_layout import FOLDER_EXTREME_1K


class WithGenerated16(Settings):
    """The 16×16 puzzles, which every source makes here: the paper's are not published."""

    # How many; the paper has 216. 0 leaves the size out.
    num_16x16: NonNegativeInt
    # Least and most clues.
    clues_16x16: Annotated[tuple[int, int], AfterValidator(partial(check_clues, Box(4, 4)))]


class GeneratedSource(WithGenerated16):
    """Puzzles made here, seeded, each with one solution; 4×4: one puzzle for each of the 288 grids."""

    kind: Literal["generated"]
    # 9×9 puzzles of train.csv and of test.csv, all pairwise different.
    num_train: PositiveInt
    num_test: PositiveInt
    # Least and most clues of a 9×9 puzzle; Sudoku-Extreme has 17 to about 40, most near 25.
    clues: Annotated[tuple[int, int], AfterValidator(partial(check_clues, Box(3, 3)))]
    # 25×25 puzzles, 0 leaves the size out, and their least and most clues; the published have 372 to 623.
    num_25x25: NonNegativeInt
    clues_25x25: Annotated[tuple[int, int], AfterValidator(partial(check_clues, Box(5, 5)))]


class MirrorSource(WithGenerated16, Mirror):
    """A local directory with the publishers' file names; the 16×16 puzzles are made here."""

    # Which of the 9×9 folders below root: the published set, or its 1,000 training puzzles.
    folder_9x9: Literal["sudoku-extreme", "sudoku-extreme-1k"] = FOLDER_EXTREME_1K


SUDOKU_EXTREME = HuggingFaceFiles(
    repository="sapientinc/sudoku-extreme",
    revision="58942f96baeb572ca3127e2a9e9c70f330783d6b",
    sha256={
        "train.csv": "64b46674db0148e0d73a16346dadeb2b1c00824d3fca3f85b2ae7037f6b4b38e",
        "test.csv": "a2fd52aea23d331d5b4ee723c856236e838a9fb9a70e66f4e0e0cf26c338c6a8",
    },
)
SUDOKU_4X4 = GitHubFile(
    repository="Black-Phoenix/4x4-Sudoku-Dataset",
    revision="5be0420fc808e84c24f1031bd2ea181738fa0e3e",
    path="4x4_sudoku_unique_solution.csv",
    sha256="a1d56589dc9cea0a76561ee114acc61ca8f066ebafe456289b9b12574cf4268b",
)
SUDOKU_25X25 = GitHubFiles(
    repository="liamjdavis/Sudoku-SMT-Solvers",
    revision="8e5a9c3dfc2c6f4f0067dcac4de76fd3b41a0a15",
    num_files={"resources/benchmarks/puzzles/*.json": 100},
)


class HubSource(WithGenerated16):
    """The publishers: Hugging Face for 9×9, GitHub for 4×4 and 25×25, at pinned commits."""

    kind: Literal["hub"]
    # What is fetched from where; the defaults are the published sets of the paper.
    sudoku_9x9: HuggingFaceFiles = SUDOKU_EXTREME
    sudoku_4x4: GitHubFile = SUDOKU_4X4
    sudoku_25x25: GitHubFiles = SUDOKU_25X25
    # Base addresses, for mirrors of the hubs: Hugging Face, GitHub's single files, GitHub's archives.
    hugging_face: str = "https://huggingface.co"
    github_files: str = "https://raw.githubusercontent.com"
    github_archives: str = "https://codeload.github.com"


Source = Annotated[GeneratedSource | MirrorSource | HubSource, Field(discriminator="kind")]
