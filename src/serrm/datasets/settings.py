"""Which of the raw puzzles are used, by task: settings of the `augment` stage."""

from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from serrm.puzzles.arc.grid import Audit, Scored
from serrm.settings import Settings

OtherSize = Annotated[str, Field(pattern="^(4x4|16x16|25x25)$")]  # than that trained on


class SubsetSettings(Settings):
    """Which of the raw puzzles are used; None: all of them. Mazes need no more than that."""

    num_train: PositiveInt | None
    num_test: PositiveInt | None
    seed: NonNegativeInt


class SudokuSubsetSettings(SubsetSettings):
    """Of Sudokus, where `num_test` is of the size trained on."""

    num_test_sizes: dict[OtherSize, PositiveInt | None]
    scored: Scored = "evaluation"  # held_out: puzzles of no score instead, 9×9 alone, to choose settings on


class ArcSubsetSettings(SubsetSettings):
    """Of ARC-AGI: `num_train` training and concept puzzles, `num_test` to score."""

    canvas: PositiveInt = Field(le=30)  # side of the canvas; puzzles with a larger grid are left out
    scored: Scored = "evaluation"  # which; held_out: so many training puzzles instead, to choose settings on
    audit: Audit = "drop"  # pairs that are images of a scored one; report: they are trained on, as published

    @model_validator(mode="after")
    def _says_how_many_are_held_out(self) -> "ArcSubsetSettings":
        if self.scored == "held_out" and self.num_test is None:
            raise ValueError("scored: held_out needs a number of puzzles as num_test, not null")
        return self


AUGMENT: dict[str, type[Settings]] = {
    "sudoku": SudokuSubsetSettings,
    "maze": SubsetSettings,
    "arc_agi_1": ArcSubsetSettings,
    "arc_agi_2": ArcSubsetSettings,
}
