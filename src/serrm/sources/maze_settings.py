"""Parameters of the three sources of mazes, as closed pydantic models.

They are the `source` of the maze task in params.yaml; `kind` says which: `hub` (the publisher), `mirror` (a local
directory), `generated` (made here). Paper: section "Maze", data.
"""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, model_validator

from serrm.settings import Settings
from serrm.sources.publishers import HuggingFaceFiles, Mirror

MAZE_HARD = HuggingFaceFiles(
    repository="sapientinc/maze-30x30-hard-1k",
    revision="549754de3d67eebe57b6b22c7d226b9412d55b07",
    sha256={
        "train.csv": "25f9e39b5aee16967da41ba63b2d1d75cf608c2360d8a1419d827f9859dbafa0",
        "test.csv": "5120d52088fb3f8036e62e90103808a79ba58847d8601f9451f40991b0903a62",
    },
)


class MazeHub(Settings):
    """Maze-Hard from Hugging Face at a pinned commit: 1,000 + 1,000 mazes of 30×30."""

    kind: Literal["hub"]
    # What is fetched; the default is the published set of the paper.
    mazes: HuggingFaceFiles = MAZE_HARD
    # Base address, for mirrors of the hub.
    hugging_face: str = "https://huggingface.co"


class MazeGenerated(Settings):
    """Mazes made here, seeded, of any side, in which every path is the only one."""

    kind: Literal["generated"]
    # Mazes of train.csv and of test.csv, none the same as another or a dihedral image of it.
    num_train: PositiveInt
    num_test: PositiveInt
    side: int = Field(ge=3, le=255)
    # Least number of cells on the path, start and goal included: one more than its steps. Maze-Hard has 110.
    min_path: int = Field(ge=2)

    @model_validator(mode="after")
    def _check_path(self) -> "MazeGenerated":
        # Rooms stand on every other row and column, a cell of passage between two of them.
        if self.min_path > 2 * ((self.side + 1) // 2) ** 2 - 1:
            raise ValueError(f"min_path: a {self.side}x{self.side} maze has no path of {self.min_path} cells")
        return self


MazeSource = Annotated[MazeGenerated | Mirror | MazeHub, Field(discriminator="kind")]
