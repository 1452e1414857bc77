"""MLflow holds each training once, however often its files are mirrored, and shows it while it trains."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import mlflow
import pytest
from mlflow.tracking import MlflowClient

from serrm.tracking import tracking_uri
from serrm.tracking.mirror import Mirror
from serrm.tracking.store import StoreError, links, open_store
from serrm.training.identity import SUMS
from tests.conftest import run_settings
from tests.repository import git
from tests.tracking.project import LOSSES, NAME, RECORDS, TinyRun, content, history

# MLflow's own models of its database.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")


@pytest.fixture
def tiny(root: Path, request: pytest.FixtureRequest) -> TinyRun:
    """A run of a profile of its own, of which no file is there."""
    return TinyRun(root, re.sub(r"\W", "-", request.node.name), run_settings())


def check_everything(client: MlflowClient, tiny: TinyRun) -> None:
    (run,) = tiny.stored(client)
    assert (run.info.run_name, run.info.status) == (NAME, "FINISHED")
    assert run.info.end_time - run.info.start_time == 1500, "the training's duration"
    assert run.data.params["model.family"] == "se_rrm" and run.data.params["train.batch_size"] == "4"
    assert history(client, run, "train/loss") == LOSSES
    assert history(client, run, "test/9x9/fsr") == [(1, 50), (16, 25)], "percent"
    assert history(client, run, "FSR/9x9") == [(0, 25)], "after the headline's 16 steps"
    sections = sorted({name.partition("/")[0] for name in run.data.metrics}, key=str.casefold)
    others = ["FSR of other sets", "size", "snapshots", "test", "train"]
    assert sections == ["FSR", *others], "MLflow's charts are in this order"
    assert {"FSR of other sets/4x4", "FSR/9x9", "FSR/9x9 from", "FSR/9x9 to"} <= run.data.metrics.keys()
    assert history(client, run, "snapshots/gpa") == [(6, 70)]
    assert not [name for name in run.data.metrics if "guess" in name]
    assert run.data.metrics["size/parameters"] == 1000 and run.data.params["machine.cpu"]
    assert run.data.metrics["train/puzzle_steps_per_second"] == 16
    tags = {"data_set": "sudoku", "variant": "tiny", "seed": "0", "family": "se_rrm", "arithmetic": "exact"}
    assert run.data.tags.items() >= tags.items()
    assert run.inputs is not None and len(run.inputs.dataset_inputs) == 1
    artifacts = {artifact.path for artifact in client.list_artifacts(run.info.run_id)}
    assert artifacts == {f"{NAME}.json", "examples"}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("", "sqlite:////repository/mlflow.db"),
        ("sqlite:///runs.db?timeout=30", "sqlite:////repository/runs.db?timeout=30"),
        ("sqlite:////tmp/runs.db", "sqlite:////tmp/runs.db"),
        ("http://host:5000", "http://host:5000"),
    ],
)
def test_relative_addresses_start_at_the_repository(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, expected: str
) -> None:
    monkeypatch.setenv("DVC_ROOT", "/repository")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    assert tracking_uri(tmp_path) == expected


def test_a_training_grows_in_mlflow_and_a_repetition_adds_nothing(
    tiny: TinyRun, client: MlflowClient
) -> None:
    mirror = Mirror(tiny.layout.root)
    with tiny.training() as log:
        tiny.mirror(mirror)
        (run,) = tiny.stored(client)
        assert run.info.status == "RUNNING" and run.data.params["train.batch_size"] == "4"
        for number, record in enumerate(RECORDS, 1):
            log.append(record)
            tiny.mirror(mirror)
            assert history(client, tiny.stored(client)[0], "train/loss") == LOSSES[:number]
        tiny.finish()
    tiny.mirror(mirror)
    tiny.evaluate()
    tiny.mirror(mirror)
    check_everything(client, tiny)
    before = content(client, tiny)
    tiny.mirror(mirror)
    tiny.mirror()
    assert content(client, tiny) == before


def test_a_training_that_is_killed_is_marked_and_goes_on_in_its_run(
    tiny: TinyRun, client: MlflowClient
) -> None:
    with tiny.training(2):
        tiny.mirror()
    assert tiny.statuses(client) == ["RUNNING"]
    tiny.mirror()
    assert tiny.statuses(client) == ["KILLED"]
    with tiny.training(1) as log:  # from the checkpoint after the first record
        tiny.mirror()
        assert tiny.statuses(client) == ["RUNNING"]
        for record in RECORDS[1:]:
            log.append(record)
        tiny.mirror()
        assert history(client, tiny.stored(client)[0], "train/loss") == LOSSES
        tiny.finish()
    tiny.evaluate()
    tiny.mirror()
    check_everything(client, tiny)


def test_a_repeated_training_is_another_run(tiny: TinyRun, client: MlflowClient) -> None:
    for _ in range(2):
        tiny.train()
        tiny.evaluate()
        tiny.mirror()
    newer, older = tiny.stored(client)
    assert newer.data.tags["serrm.current"] == "yes" and older.data.tags["serrm.current"] == "no"
    assert tiny.statuses(client) == ["FINISHED", "FINISHED"]


def test_a_run_that_was_replaced_says_in_which_settings_it_differs(
    tiny: TinyRun, client: MlflowClient
) -> None:
    plain = tiny.settings
    tiny.settings = plain.model_copy(update={"train": plain.train.model_copy(update={"steps": 7})})
    tiny.weights = "v" * 64
    tiny.train()
    tiny.mirror()
    tiny.settings, tiny.weights = plain, "w" * 64  # the edit is undone
    tiny.train()
    tiny.mirror()
    current, replaced = sorted(tiny.stored(client), key=lambda run: run.data.params["train.steps"])
    assert (current.data.tags["serrm.current"], replaced.data.tags["serrm.current"]) == ("yes", "no")
    assert "train.steps 7 → 6" in replaced.data.tags["mlflow.note.content"]


def test_two_clones_with_equal_weights_have_a_run_each(
    tiny: TinyRun, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = TinyRun(tmp_path, tiny.layout.profile, tiny.settings)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tiny.layout.root / 'mlflow.db'}?timeout=30")
    with tiny.training(1):
        tiny.mirror()
        with clone.training(2):
            clone.mirror()
            clone.finish()
        clone.mirror()
    tiny.mirror()
    assert sorted(tiny.statuses(client)) == ["FINISHED", "KILLED"]
    tiny.train()
    tiny.mirror()
    ended = tiny.stored(client)
    assert [run.info.status for run in ended] == ["FINISHED"] * 2
    assert [run.data.tags["serrm.current"] for run in ended] == ["yes", "yes"], "each in its clone"


def test_results_from_elsewhere_join_the_run_with_these_weights(tiny: TinyRun, client: MlflowClient) -> None:
    tiny.finish(is_training_elsewhere=True)
    tiny.evaluate()
    tiny.mirror()
    (run,) = tiny.stored(client)
    assert run.info.status == "FINISHED" and history(client, run, "train/loss") == LOSSES
    assert "train/seconds" not in run.data.metrics, "not known here"
    tiny.mirror()
    assert len(tiny.stored(client)) == 1


def test_a_renamed_run_with_equal_settings_is_a_run_of_its_own(tiny: TinyRun, client: MlflowClient) -> None:
    tiny.train()
    tiny.mirror()
    runs = tiny.layout.runs
    (runs / NAME).rename(runs / "sudoku-other-s0")
    config = runs / "sudoku-other-s0" / "config.json"
    config.write_text(config.read_text().replace('"tiny"', '"other"'))
    tiny.mirror()
    newer, older = tiny.stored(client)
    assert (newer.data.params["variant"], older.data.params["variant"]) == ("other", "tiny")
    assert newer.data.tags["serrm.weights"] == older.data.tags["serrm.weights"]


def test_a_stage_between_checkpoint_and_facts_is_no_training_from_elsewhere(
    tiny: TinyRun, client: MlflowClient
) -> None:
    with tiny.training(3):
        tiny.mirror()
        newest = tiny.folder / "step_000000006" / "SHA256SUMS"
        newest.parent.mkdir()
        newest.write_text(f"{tiny.weights}  model.safetensors\n")
        before = (tiny.folder / "provenance.json").read_text()
        tiny.finish(is_training_elsewhere=True)
        newest.parent.mkdir(parents=True)
        newest.write_text(f"{tiny.weights}  model.safetensors\n")
        for name, text in (
            ("provenance.json", before),
            ("settings.json", tiny.settings.model_dump_json()),
            ("identity.json", tiny.identity().model_dump_json()),
        ):
            (tiny.folder / name).write_text(text)
        tiny.mirror()
    assert tiny.statuses(client) == ["FINISHED"]


def test_scores_of_other_weights_are_not_logged(tiny: TinyRun, client: MlflowClient) -> None:
    tiny.train()
    tiny.evaluate()
    tiny.results = tiny.results | {"final_loss": 0.25}
    tiny.weights = "v" * 64
    tiny.train()
    half_written = tiny.layout.runs / f".{NAME}.tmp"
    shutil.copytree(tiny.layout.runs / NAME, half_written, ignore=shutil.ignore_patterns(SUMS))
    tiny.mirror()
    (run,) = tiny.stored(client)
    assert "FSR/9x9" not in run.data.metrics and run.data.metrics["size/parameters"] == 1000


def test_a_run_deleted_in_mlflow_stays_deleted(tiny: TinyRun, client: MlflowClient) -> None:
    tiny.train()
    tiny.mirror()
    client.delete_run(tiny.stored(client)[0].info.run_id)
    tiny.mirror()
    assert tiny.stored(client) == []


def test_a_deleted_experiment_is_named_with_the_way_out_and_others_go_on(
    tiny: TinyRun, client: MlflowClient
) -> None:
    tiny.train()
    tiny.mirror()
    number = tiny.stored(client)[0].info.experiment_id
    client.delete_experiment(number)
    other = TinyRun(tiny.layout.root, f"{tiny.layout.profile}-2", tiny.settings)
    other.train()
    failed, done = Mirror(tiny.layout.root).update([tiny.layout.profile, other.layout.profile])
    assert f"serrm/{tiny.layout.profile}/sudoku" in str(failed[1]) and "restore" in str(failed[1])
    assert done[1] is None and other.statuses(client) == ["FINISHED"]
    client.restore_experiment(number)
    tiny.mirror()


def test_a_failure_of_the_store_is_its_cause_in_one_line(tiny: TinyRun, root: Path) -> None:
    tiny.train()
    with (
        pytest.raises(StoreError, match=r"^sqlite:.*: database or disk is full$"),
        open_store(root) as client,
    ):
        client.search_experiments(max_results=1)
        with closing(sqlite3.connect(root / "full.db")) as database:
            database.execute("PRAGMA max_page_count = 1")
            database.execute("CREATE TABLE a (b)")


def test_a_database_of_another_version_is_one_line(
    tiny: TinyRun, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.train()
    tiny.mirror()
    path = tmp_path / "later.db"
    path.write_bytes((tiny.layout.root / "mlflow.db").read_bytes())
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'later'")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{path}")
    ((_, failure),) = Mirror(tiny.layout.root).update([tiny.layout.profile])
    assert failure and "later.db" in failure and "\n" not in failure


def test_a_moved_project_does_not_write_into_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    for variable in ("MLFLOW_TRACKING_URI", "DVC_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    tiny = TinyRun(old, "moved", run_settings())
    tiny.train()
    tiny.evaluate()
    tiny.mirror()
    old.rename(new)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)  # MLflow sets it
    ((_, failure),) = Mirror(new).update(["moved"])
    assert failure and str(old) in failure and str(new) in failure and not old.exists()
    mlflow.set_tracking_uri("")


def test_git_tags_give_the_commit_and_whether_the_code_differs(
    root: Path, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tags(profile: str) -> dict[str, str]:
        tiny = TinyRun(tmp_path, profile, run_settings())
        with tiny.training():
            tiny.mirror()
        return dict(tiny.stored(client)[0].data.tags)

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'mlflow.db'}")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "mlflow.source.git.commit" not in tags("outside")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    for command in (["init", "-q"], ["add", "src"], ["commit", "-qm", "first"]):
        git(*command, cwd=tmp_path)
    clean = tags("clean")
    (tmp_path / "src" / "a.py").write_text("2")
    assert (clean["mlflow.source.git.dirty"], tags("dirty")["mlflow.source.git.dirty"]) == ("false", "true")
    assert clean["mlflow.source.git.commit"] == git("rev-parse", "HEAD", cwd=tmp_path)


def test_a_run_names_its_experiment_and_a_link_opens_the_charts(
    tiny: TinyRun, client: MlflowClient, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "short")
    tiny.train()
    tiny.mirror()
    (run,) = tiny.stored(client)
    assert run.info.run_name == f"{NAME} (short)"
    link = dict(links(root, "http://host:1"))[f"serrm/{tiny.layout.profile}/sudoku"]
    assert f"/experiments/{run.info.experiment_id}/runs?" in link and "compareRunsMode=CHART" in link
