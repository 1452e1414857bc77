"""The jobs of a pipeline: the commands of dvc.yaml over the lists of grid.yaml, and which of them each waits for."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serrm.grid_file import Sections

VARIABLE = re.compile(r"\$\{(?:item\.)?(\w+)\}")
MODULE = ["python", "-m", "stages"]  # what every command begins with


@dataclass(frozen=True)
class Job:
    """One process of the pipeline: the stage, the profile, task or cell that it is of, and the stage's arguments."""

    stage: str
    item: Mapping[str, Any]
    arguments: tuple[str, ...]
    after: tuple[int, ...]  # numbers of the jobs that have to be done before

    @property
    def of(self) -> str:
        """ "sudoku", "sudoku-se_rrm-s0", or the profile."""
        item = self.item
        cell = f"{item.get('task')}-{item.get('model')}-s{item.get('seed')}"
        return cell if "model" in item else str(item.get("task", item["profile"]))

    @property
    def cell(self) -> tuple[str, str, int] | None:
        """(task, model, seed) of a cell's job."""
        item = self.item
        return (item["task"], item["model"], item["seed"]) if "model" in item else None


def jobs(commands: Mapping[str, tuple[str, str]], sections: Sections) -> list[Job]:
    """Every job in the order of the stages. ValueError for a command that runs no stage.

    A job comes after those of earlier stages whose profile, task, model and seed are its own, as far as both have them.
    """
    found: list[Job] = []
    for stage, (loop, command) in commands.items():
        section = sections[VARIABLE.sub(r"\1", loop)]
        earlier = list(enumerate(found))
        for item in section.values():
            after = tuple(number for number, job in earlier if _agree(job.item, item))
            found.append(Job(stage, item, _arguments(stage, command, item), after))
    return found


def path_lengths(jobs: Sequence[Job], own: Mapping[tuple[str, str], int]) -> list[int]:
    """For each job what it and the longest row of jobs behind it take; `own` is by (stage, of)."""
    lengths = [own.get((job.stage, job.of), 0) for job in jobs]
    longest_behind = [0] * len(jobs)
    for number in reversed(range(len(jobs))):
        lengths[number] += longest_behind[number]
        for before in jobs[number].after:
            longest_behind[before] = max(longest_behind[before], lengths[number])
    return lengths


def _arguments(stage: str, command: str, item: Mapping[str, Any]) -> tuple[str, ...]:
    words = shlex.split(VARIABLE.sub(lambda found: str(item[found[1]]), command))
    if words[: len(MODULE)] != MODULE:
        raise ValueError(f"dvc.yaml: the command of {stage} is not {' '.join(MODULE)} …: {command}")
    return tuple(words[len(MODULE) :])


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[key] == other[key] for key in one.keys() & other.keys())
