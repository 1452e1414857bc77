"""What a profile runs: its cells, as the product of lists or several such."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import ConfigDict, Field, NonNegativeInt, RootModel, model_validator

from serrm.settings import Settings


class Block(Settings):
    """A part of a grid: every model on every task with every seed."""

    tasks: tuple[str, ...] = Field(min_length=1)
    models: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[NonNegativeInt, ...] = Field(min_length=1)

    def cells(self) -> Iterator[tuple[str, str, int]]:
        """(task, model, seed), in the order of the tables."""
        return ((t, m, s) for t in self.tasks for m in self.models for s in self.seeds)


class Grid(RootModel[Annotated[tuple[Block, ...], Field(min_length=1)]]):
    """The cells that a profile runs: those of all its blocks, each of them once."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="after")
    def _has_each_cell_once(self) -> "Grid":
        seen: set[tuple[str, str, int]] = set()
        for number, block in enumerate(self.root):
            for cell in block.cells():
                if cell in seen:
                    raise ValueError(f"block {number} has {'-'.join(map(str, cell))}, which is there already")
                seen.add(cell)
        return self

    def cells(self) -> list[tuple[str, str, int]]:
        """(task, model, seed), in the order of the tables."""
        return [cell for block in self.root for cell in block.cells()]

    def tasks(self) -> list[str]:
        """Every task of a cell, once."""
        return list(dict.fromkeys(task for task, _, _ in self.cells()))
