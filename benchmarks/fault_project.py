"""The small pipeline that `benchmarks/faults.py` damages: a clone of the committed files, and checks of its results."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import yaml
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from safetensors import SafetensorError
from safetensors.numpy import load_file
from voluptuous import Invalid

from serrm.core.files import hash_file
from serrm.sources.manifest import MANIFEST, Manifest
from serrm.tracking.background import MIRROR_LOCK, OUTPUT, WORK_LOCK
from serrm.training.checkpoint import damage_of
from serrm.training.identity import MODEL

ROOT = Path(__file__).parents[1]
NAME: Final = "sudoku-se_rrm-s0"
STAGES: Final = {  # with the key that DVC loops over
    "download": "sudoku",
    "choose_puzzles": "sudoku",
    "build_arrays": "sudoku",
    "train": NAME,
    "evaluate": NAME,
    "tabulate": "",
}
READERS: dict[str, Callable[[Path], object]] = {
    ".json": lambda path: json.loads(path.read_text()),
    ".npy": np.load,
    ".parquet": pq.read_table,
    ".safetensors": load_file,
    ".svg": ElementTree.parse,
    ".html": lambda path: path.read_text().rindex("</html>"),
}


@dataclass(frozen=True)
class Project:
    """A clone of the committed files, whose pipeline is one small run."""

    root: Path
    address: str = ""  # of an MLflow server; empty: a database in the folder

    @classmethod
    def create(cls, root: Path, address: str = "") -> "Project":
        """Clone, compile as `make setup` does, and write profile ci with one small run as params.yaml."""
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root)], check=True)
        # Python leaves half of a .pyc file on a full disk, and cannot import the module then.
        compile_all = [sys.executable, "-m", "compileall", "-q", "src", "stages"]
        subprocess.run(compile_all, cwd=root, check=True)
        params = yaml.safe_load((root / "profiles" / "ci.yaml").read_text())
        section, model = params["data_sets"]["sudoku"], params["models"]["se_rrm"]
        section["download"]["source"] |= {"num_train": 32, "num_test": 4, "num_16x16": 0, "num_25x25": 0}
        section["puzzles"]["num_test_sizes"] = {"4x4": 4}
        section["evaluate"] |= {"steps": [1, 4], "curve_puzzles": 2, "test_time_compute": None}
        model |= {"width": 16, "heads": 1}
        params["recipes"]["sudoku"]["se_rrm"] |= {"batch_size": 4, "steps": 60, "log_every": 10}
        params |= {"data_sets": {"sudoku": section}, "runs": {NAME: params["runs"][NAME]}}
        params["recipes"] = {"sudoku": params["recipes"]["sudoku"]}
        (root / "params.yaml").write_text(yaml.safe_dump(params))
        execution = {"device": "cpu", "threads": 1, "checkpoint_seconds": 0.5}
        (root / "machine.yaml").write_text(yaml.safe_dump(execution))
        return cls(root, address)

    def start(self, *command: str, limit: int | None = None, **more: str) -> subprocess.Popen[str]:
        """A command there, with the clone's code, in a process group of its own; no file beyond `limit` bytes."""
        temporary = self.root.with_name(f"{self.root.name}.tmp")
        temporary.mkdir(exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if key not in ("DVC_ROOT", "GIT_DIR")}
        environment |= {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{self.root}",
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": "1",
            "MLFLOW_TRACKING_URI": self.address,
            "DVC_SITE_CACHE_DIR": str(temporary),
            "TMPDIR": str(temporary),
            **more,
        }
        limits = None if limit is None else partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.Popen(
            command, cwd=self.root, env=environment, preexec_fn=limits, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def run(self, *command: str, limit: int | None = None, **more: str) -> tuple[int, str]:
        """Exit code and output of a command."""
        process = self.start(*command, limit=limit, **more)
        output, _ = process.communicate()
        return process.returncode, output

    def repro(self, *targets: str) -> dict[str, float]:
        """`dvc repro`, which has to succeed; the seconds of each stage that ran."""
        process = self.start("dvc", "repro", *targets)
        began, output = {}, []
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            if line.startswith("Running stage '"):
                began[line.split("'")[1].split("@")[0]] = time.monotonic()
        assert process.wait() == 0, "".join(output)
        ends = [*began.values(), time.monotonic()][1:]
        return {name: end - start for (name, start), end in zip(began.items(), ends, strict=True)}

    def command(self, stage: str) -> list[str]:
        """The command of a stage, as the pipeline has it."""
        defined = yaml.safe_load((self.root / "dvc.yaml").read_text())["stages"][stage]
        command: str = defined.get("do", defined)["cmd"]
        return command.replace("${key}", STAGES[stage]).split()

    def files(self) -> Iterator[Path]:
        """The files that the pipeline writes, without MLflow's."""
        others = {self.root / path for path in (WORK_LOCK, MIRROR_LOCK, OUTPUT)}
        for folder in (self.root / "data", self.root / "reports" / "ci"):
            yield from (path for path in sorted(folder.rglob("*")) if path.is_file() and path not in others)

    def results(self) -> dict[str, str]:
        """Every file that the pipeline leaves, with its content where that depends on no clock."""
        found = {path.relative_to(self.root).as_posix(): "" for path in self.files()}
        for name in found:
            path = self.root / name
            if not name.startswith("data/ci/machine") and path.name != "report.html":
                found[name] = hash_file(path)
        return found

    def restored(self) -> set[str]:
        """dvc.lock as committed again, if DVC, which writes it in place, left half of it; its name then."""
        lock = self.root / "dvc.lock"
        try:
            COMPILED_LOCKFILE_SCHEMA(yaml.load(lock.read_text(), yaml.CSafeLoader))
        except (yaml.YAMLError, Invalid):
            subprocess.run(["git", "checkout", "--quiet", "HEAD", "--", lock.name], cwd=self.root, check=True)
            return {lock.name}
        return set()

    def half_written(self) -> set[str]:
        """Files that cannot be read and folders whose checksums differ; temporary files do not count."""
        return {
            path.relative_to(self.root).as_posix()
            for path in self.files()
            if not any(part.startswith(".") for part in path.relative_to(self.root).parts)
            and not is_whole(path)
        }


def is_whole(path: Path) -> bool:
    """Check that a file can be read, and a checkpoint or a folder of raw files has its checksums."""
    try:
        READERS.get(path.suffix, Path.read_bytes)(path)
        if path.name == MANIFEST:
            records = Manifest.model_validate_json(path.read_bytes()).files
            return all(hash_file(path.parent / record.name) == record.sha256 for record in records)
    except (ValueError, OSError, EOFError, ElementTree.ParseError, SafetensorError):
        return False
    return path.name != MODEL or damage_of(path.parent) is None
