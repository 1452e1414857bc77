"""Imports flow one way, read from the source of every module, from puzzles to the command line."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "serrm"
STAGES = ROOT / "stages"
MAX_STAGE_LINES = 45

SUPPORT = {"files", "manifest", "progress", "randomness", "settings"}  # what every room may lean on
# What the modules of each room (or file of the package itself) may import of the package, besides themselves.
ALLOWED = {
    # the way of the data
    "puzzles": {"files"},
    "sources": {"puzzles"} | SUPPORT,
    "datasets": {"puzzles", "sources"} | SUPPORT,
    "arrays": {"puzzles", "datasets"} | SUPPORT,
    "models": {"puzzles"} | SUPPORT,
    "kernels": {"files", "models"},
    "training": {"arrays", "models", "kernels", "config"} | SUPPORT,  # of config how a file is parsed
    "scoring": {"puzzles"},
    "inference": {"puzzles", "arrays", "models", "kernels", "training", "scoring", "config"} | SUPPORT,
    "drawing": {"files", "puzzles"},
    "reporting": {"files", "puzzles", "drawing", "scoring", "inference"},  # of inference its settings
    "tracking": {"drawing", "project", "reporting", "solving", "training"} | SUPPORT,
    # beside it
    "solving": {
        "puzzles",
        "arrays",
        "datasets",
        "models",
        "training",
        "scoring",
        "inference",
    }
    | SUPPORT,
    "published": {"puzzles", "models", "training", "inference", "config"} | SUPPORT,
    "llm": {"puzzles", "datasets", "scoring"} | SUPPORT,
    "planning": {
        "arrays",
        "puzzles",
        "sources",
        "datasets",
        "models",
        "kernels",
        "training",
        "inference",
    }
    | {"config", "resolve", "grid", "grid_file"}
    | SUPPORT,
    # what is composed, and the command line
    "grid": {"settings"},
    "config": {"grid", "settings", "sources"},
    "resolve": {"arrays", "config", "datasets", "describe", "files", "grid", "inference", "sources"}
    | {"training"},
    "describe": {"inference", "models", "sources", "training"},
    "grid_file": {"config", "files", "resolve"},
    "project": {"config"},
    "display": {"published"},
    **{name: set() for name in SUPPORT},
    "manifest": {"files"},
    "__init__": {"solving"},  # when it is asked for
    # `commands` and `cli` call all of the above.
}
COMMAND_LINE = {"commands", "cli"}
# `config` gathers the settings of all rooms and the grid, and nothing else of them.
SETTINGS = {
    "serrm.arrays.settings",
    "serrm.grid",
    "serrm.inference.settings",
    "serrm.models.settings",
    "serrm.settings",
    "serrm.sources.settings",
    "serrm.training.settings",
}
WITHOUT_TORCH = ("puzzles", "scoring", "reporting")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room(path: Path) -> str:
    """The folder in the package, or the module's name if it stands beside the folders."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Full names of what a module imports, inside functions too; `from a import b` gives a and a.b."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_modules(path: Path) -> set[str]:
    """Modules of the package that a module imports, without `__init__` of the package itself."""
    return {
        name
        for name in imports(path)
        if name.startswith("serrm.") and (as_file(name).is_file() or as_file(name).with_suffix("").is_dir())
    }


def as_file(name: str) -> Path:
    return PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")


def importers(package: str) -> set[str]:
    """The modules that import an outside package."""
    return {
        name_of(path) for path in modules() if any(name.split(".")[0] == package for name in imports(path))
    }


def test_the_test_sees_the_modules() -> None:
    rooms = {room(path) for path in modules()}
    assert rooms == ALLOWED.keys() | COMMAND_LINE
    assert "serrm.models.layers" in imported_modules(PACKAGE / "models" / "recurrence.py")


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_rooms_import_in_one_direction(name: str) -> None:
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in modules()
        if room(path) == name
        for module in imported_modules(path)
        if module.split(".")[1] not in {name, *ALLOWED[name]}
    ]
    assert wrong == []


def test_config_knows_the_settings_of_the_rooms_and_nothing_else() -> None:
    packages = {name.rpartition(".")[0] for name in SETTINGS}
    assert imported_modules(PACKAGE / "config.py") - packages <= SETTINGS
    assert [name for name in ALLOWED["config"] if "config" in ALLOWED[name]] == []  # no arrow back
    for name in SETTINGS:
        # Whoever reads a setting must not wait for torch, nor may a settings module need config.
        assert not {each for each in imported_modules(as_file(name)) if each.startswith("serrm.config")}
        assert "torch" not in {each.split(".")[0] for each in imports(as_file(name))}


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {path: {as_file(name) for name in imported_modules(path)} for path in modules()}
    done: set[Path] = set()

    def visit(path: Path, above: tuple[Path, ...]) -> None:
        assert path not in above, " -> ".join(name_of(each) for each in (*above, path))
        if path not in done:
            for other in graph.get(path, set()):
                visit(other, (*above, path))
            done.add(path)

    for path in graph:
        visit(path, ())
    assert done >= graph.keys()


def test_puzzles_scores_and_reports_need_no_torch() -> None:
    assert importers("torch") != set()
    assert {name for name in importers("torch") if name.split("/")[0] in WITHOUT_TORCH} == set()


def test_only_tracking_imports_mlflow() -> None:
    assert {name.split("/")[0] for name in importers("mlflow")} == {"tracking"}


def test_only_config_reads_params_yaml() -> None:
    # The paper's numbers are the one other YAML file.
    assert importers("yaml") <= {"config.py", "reporting/paper.py"}
    readers = ("serrm.config.read_params", "serrm.config.read_section")
    in_rooms = [path for path in modules() if path.parent != PACKAGE]
    # Inside the rooms settings are arguments, and no path is chosen.
    assert not [name_of(path) for path in in_rooms if any(name in readers for name in imports(path))]
    constants = {
        (name_of(path), node.value)
        for path in in_rooms
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not [name for name, value in constants if value in ("params.yaml", "dvc.yaml")]


def test_nothing_prints_and_nothing_uses_a_global_generator() -> None:
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                call = ast.unparse(node.func)
                if call == "print" or call.startswith(("random.", "np.random.seed", "np.random.rand")):
                    wrong.append(f"{name_of(path)}:{node.lineno}: {call}")
    assert wrong == []


def test_there_is_no_bare_except_and_no_lookup_by_a_name_from_a_file() -> None:
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                wrong.append(f"{name_of(path)}:{node.lineno}: bare except")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "globals",
                "eval",
                "exec",
                "__import__",
            ):
                wrong.append(f"{name_of(path)}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == []


@pytest.mark.parametrize("path", sorted(STAGES.glob("*.py")), ids=lambda path: path.stem)
def test_stages_are_thin(path: Path) -> None:
    source = path.read_text()
    if path.stem != "layout":
        assert len(source.splitlines()) <= MAX_STAGE_LINES
    # `--help` must not wait for them: torch and mlflow only ever arrive inside a stage's function.
    at_top = {
        name
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module])
    }
    assert not {name for name in at_top if name in ("torch", "mlflow", "numpy")}
    assert not {name for name in imports(path) if name.split(".")[0] in ("torch", "mlflow")}


def test_every_stage_of_the_pipeline_is_a_command_of_its_own_file() -> None:
    text = (ROOT / "dvc.yaml").read_text()
    stages = {line.removesuffix(":").strip() for line in text.splitlines() if is_stage_name(line)}
    assert stages == {"resolve", "download", "augment", "build_arrays", "train", "evaluate", "tabulate"}
    for stage in stages:
        assert (STAGES / f"{stage}.py").is_file()
        assert f"python -m stages {stage} " in text and f"stages/{stage}.py" in text


def is_stage_name(line: str) -> bool:
    return line.startswith("  ") and not line.startswith("   ") and line.rstrip().endswith(":")


def test_every_module_says_what_it_is() -> None:
    silent = [
        name_of(path)
        for path in modules()
        if path.read_text() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []
