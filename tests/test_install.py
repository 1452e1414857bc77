"""The installation by uv, with what pip's settings say about the sources of packages, and by pip where uv fails."""

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "install.py"


@pytest.fixture
def install() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ("", []),
        ("global.index-url='https://one/simple'", ["--index-url", "https://one/simple"]),
        # A variable of the environment wins, wherever it stands in the list.
        (":env:.index-url='https://two'\nglobal.index-url='https://one'", ["--index-url", "https://two"]),
        (
            r"global.extra-index-url='\nhttps://user:p=1@one\nfile:///two'",
            ["--extra-index-url", "https://user:p=1@one", "--extra-index-url", "file:///two"],
        ),
        ("""global.find-links="/it's/*" """.strip(), ["--find-links", "/it's/*"]),
        ("global.constraint='a.txt b.txt'", ["--constraint", "a.txt", "--constraint", "b.txt"]),
        ("global.trusted-host='one'", ["--allow-insecure-host", "one"]),
        ("global.no-index='yes'", ["--no-index"]),
        ("download.no-index='true'\nwheel.find-links='/x'\nglobal.timeout='60'", []),
    ],
)
def test_uv_gets_what_pip_knows_about_sources(install: ModuleType, listing: str, expected: list[str]) -> None:
    options, variables = install.for_uv(listing)
    assert options == ["--index-strategy", "unsafe-best-match", *expected] and variables == {}


@pytest.mark.parametrize(
    ("failing", "expected", "code"),
    [
        ((), ["pip uv", "uv"], 0),
        (("pip uv",), ["pip uv", "pip pip", "pip"], 0),
        (("uv", "pip pip"), ["pip uv", "uv", "pip pip", "pip"], 0),
        (("uv", "pip"), ["pip uv", "uv", "pip pip", "pip"], 1),
    ],
)
def test_pip_installs_where_uv_fails(
    install: ModuleType,
    failing: tuple[str, ...],
    expected: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "config" in command:
            return subprocess.CompletedProcess(command, 0, stdout="global.find-links='/wheels'")
        name = command[2] + ("" if ".[pipeline,dev]" in command else f" {command[-1]}")
        assert "constraints.txt" in command and (name == "uv") == ("/wheels" in command)
        called.append(name)
        return subprocess.CompletedProcess(command, int(name in failing))

    monkeypatch.setattr(subprocess, "run", run)
    assert (install.main(["pipeline", "dev"]), called) == (code, expected)
