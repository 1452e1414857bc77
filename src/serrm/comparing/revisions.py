"""The scores of a revision: a commit, a DVC experiment, a profile's committed results, or the workspace.

A name is looked up in this order: `workspace`; a profile with results in the working tree; a commit, branch or tag; a
DVC experiment. A branch with the name of a profile is therefore called `refs/heads/NAME`. Several names joined by
commas are one revision with the runs of all, such as the seeds of a sweep's point.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from serrm.config import Values, read_yaml
from serrm.core.differences import changes, flat
from serrm.core.project import (
    DATA_SET_STAGES,
    LOCK,
    PARAMS,
    PROFILES,
    TEST_STAGE,
    Layout,
    checked_git,
    git,
    git_fault,
    read_committed,
)
from serrm.reporting.results import Key, read_metrics
from serrm.scoring.schema import (
    METRICS_FILE,
    Evaluation,
    parse_profile_scores,
    read_evaluation,
)
from serrm.training.identity import weights_sha256

WORKSPACE: Final = "workspace"
RUN: Final = "run."  # begins the keys of a run's own section, in place of `runs.NAME.`
SEED, INIT = f"{RUN}seed", f"{RUN}init"
# The ref of a DVC experiment: the commit it started from, and its name.
EXPERIMENT_REF: Final = re.compile(r"refs/exps/([0-9a-f]{2}/[0-9a-f]{38})/(.+)")


class UnknownRevision(ValueError):
    """A name without results."""


class Revision(NamedTuple):
    """The scores of a profile's runs at a revision, by name in the order of the profile.

    `settings` has by run the values of the params file that it uses, by dotted key (`used_values`). `stale` has the
    runs of the workspace without scores of the checkpoint in place, with the reason.
    """

    name: str
    profile: str
    runs: dict[str, Evaluation]
    settings: Mapping[str, Mapping[str, Any]]
    remarks: tuple[str, ...] = ()
    stale: Mapping[str, str] = {}


def read_revision(root: Path, name: str = WORKSPACE, profile: str | None = None) -> Revision:
    """Read the scores of a revision.

    Of a commit or the workspace these are the scores of `profile`, by default of the profile in its params.yaml. If
    `name` is a profile, `profile` is ignored.

    Raises:
        UnknownRevision: there is no such revision, or it has no scores of the profile.
        ValueError: a file is malformed.
    """
    if "," in name:
        return _joined(name, [read_revision(root, single, profile) for single in name.split(",")])
    if name == WORKSPACE:
        return _read_workspace(root, profile or active_profile(root, name))
    if Layout(name, root).metrics.is_file():
        runs = read_metrics(Layout(name, root).metrics).runs
        return _revision(name, name, runs, _params(root, name))
    commit = find_commit(root, name)
    profile = profile or active_profile(root, name)
    return _revision(name, profile, scores_at(root, commit, profile, name), _params(root, profile, commit))


def _revision(name: str, profile: str, runs: dict[str, Evaluation], params: Values) -> Revision:
    """Build the revision with the settings that every run has in a params file."""
    return Revision(name, profile, runs, {run: used_values(params, run) for run in runs})


def scores_at(root: Path, commit: str, profile: str, name: str) -> dict[str, Evaluation]:
    """Read the committed scores of a profile's runs; error messages call the commit `name`.

    Raises:
        UnknownRevision: the commit has no scores of the profile.
        ValueError: its file of scores is malformed, or git cannot read it.
    """
    path = f"reports/{profile}/{METRICS_FILE}"
    content = read_committed(root, commit, path)
    if content is None:
        raise UnknownRevision(f"{name} has no {path}, so no scores of profile {profile}")
    return parse_profile_scores(content.encode(), f"{name}:{path}").runs


def _joined(name: str, revisions: list[Revision]) -> Revision:
    """Join the runs of several revisions of a profile; of runs with the same seed, the first one counts.

    Runs are named after their seeds here, because `-S runs.RUN.seed=` changes the seed and not the name.

    Raises:
        UnknownRevision: the revisions have different profiles, or runs of a variant that differ in more than the seed.
    """
    runs, settings = dict[str, Evaluation](), dict[str, Mapping[str, Any]]()
    variants: dict[Key, tuple[str, dict[str, Any]]] = {}
    for revision in revisions:
        if revision.profile != revisions[0].profile:
            raise UnknownRevision(
                f"{name}: {revision.name} is of profile {revision.profile}, not {revisions[0].profile}"
            )
        for run_name, run in revision.runs.items():
            shared = shared_settings(revision.settings[run_name], run.name)
            first, first_shared = variants.setdefault((run.data_set, run.variant), (revision.name, shared))
            if differing := changes(first_shared, shared):
                raise UnknownRevision(f"{name}: {first} and {revision.name} differ in {differing[0]}")
            joined_name = f"{run.data_set}-{run.variant}-s{run.seed}"
            if joined_name not in runs:
                runs[joined_name], settings[joined_name] = run, revision.settings[run_name]
    remarks = tuple(dict.fromkeys(remark for revision in revisions for remark in revision.remarks))
    stale = {run: reason for revision in revisions for run, reason in revision.stale.items()}
    return Revision(name, revisions[0].profile, runs, settings, remarks, stale)


def shared_settings(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Select the settings of a run that all seeds of its variant share.

    The run's seed is left out. A checkpoint to start from loses its number if that is the run's own, because every
    seed of a variant may continue the run of its own number.
    """
    shared = {key: value for key, value in settings.items() if key != SEED}
    if shared.get(INIT):
        shared[INIT] = str(shared[INIT]).removesuffix(f"-{name.rpartition('-')[2]}")
    return shared


def used_values(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Select the values of a params file that a run uses, by dotted key; empty if the file does not have the run.

    They include the entries of `tests` of the run's data set. The run's own keys are `run.seed`, `run.init` and so on,
    so that runs of different names can be compared.
    """
    run = value_at(params, ("runs", name))
    if not isinstance(run, Mapping):
        return {}
    data_set, model = str(run.get("data_set")), str(run.get("model"))
    tests = params.get("tests") or {}
    sections = [
        ("fidelity",),
        ("models", model),
        ("data_sets", data_set),
        ("recipes", data_set, model),
        *(("tests", key) for key, entry in tests.items() if entry.get("data_set") == data_set),
    ]
    values = dict[str, Any]()
    for keys in sections:
        values |= flat(value_at(params, keys) or {}, ".".join(keys))
    return values | flat(run, RUN.removesuffix("."))


def active_profile(root: Path, name: str = WORKSPACE) -> str:
    """Find the profile of a revision: its name if that is a profile, else the profile of its params.yaml.

    UnknownRevision if there is no such revision, or if its params.yaml has no profile.
    """
    name = name.partition(",")[0]
    if name != WORKSPACE and Layout(name, root).metrics.is_file():
        return name
    commit = "" if name == WORKSPACE else find_commit(root, name)
    profile = _values_of(root, PARAMS, commit).get("profile")
    if not isinstance(profile, str):
        raise UnknownRevision(f"{name}: {PARAMS} names no profile")
    return profile


def find_commit(root: Path, name: str) -> str:
    """Find the commit of a git revision or of a DVC experiment.

    Several experiments may have one name if they started from different commits; the one from HEAD is preferred.
    UnknownRevision if there is none, or if an experiment's name is ambiguous. ValueError with git's reason if it cannot
    read the history, of which the commit may be a part.
    """
    if fault := git_fault(root):
        raise UnknownRevision(f"{name!r} is no profile with results; {fault}")
    if commit := git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
        return commit
    matches = [(start, ref) for start, experiment, ref in experiments(root) if experiment == name]
    head = git(root, "rev-parse", "HEAD")
    refs = [ref for start, ref in matches if start == head] or [ref for _, ref in matches]
    if len(refs) == 1:
        return git(root, "rev-parse", refs[0])
    if refs:
        starts = ", ".join(start[:7] for start, _ in matches)
        raise UnknownRevision(
            f"several DVC experiments are called {name}, started from {starts}: give the commit of one"
        )
    checked_git(root, "rev-list", "--count", "--all")
    kinds = "no profile with results, commit, branch, tag or DVC experiment"
    if git(root, "rev-parse", "--is-shallow-repository") == "true":
        kinds += " of this shallow clone, which `git fetch --unshallow` completes"
    raise UnknownRevision(f"{name!r} is {kinds}")


def experiments(root: Path) -> Iterator[tuple[str, str, str]]:
    """List DVC's experiments: the commit that an experiment started from, its name and its ref."""
    for ref in git(root, "for-each-ref", "--format=%(refname)", "refs/exps").splitlines():
        if match := EXPERIMENT_REF.fullmatch(ref):
            yield match[1].replace("/", ""), match[2], ref


def _read_workspace(root: Path, profile: str) -> Revision:
    """Read the scores of the checkpoints in place, below data/ or gathered; without checkpoints the gathered ones.

    A run without such scores is in `stale` with the scores that there are.
    """
    layout, params = Layout(profile, root), _params(root, profile)
    runs_of_params = params.get("runs") or {}
    is_active = _values_of(root, PARAMS).get("profile") == profile
    gathered = read_metrics(layout.metrics).runs if layout.metrics.is_file() else {}
    names = dict.fromkeys((*gathered, *(runs_of_params if is_active else {})))
    paths = {name: layout.scores / f"{name}.json" for name in runs_of_params}
    ungathered_scores = {name: read_evaluation(path) for name, path in paths.items() if path.is_file()}
    metrics, scores = (os.path.relpath(path, root) for path in (layout.metrics, layout.scores))
    if not gathered and not ungathered_scores:
        raise UnknownRevision(f"{WORKSPACE} has neither {metrics} nor {scores}: `dvc repro` makes them")
    changed = _changed_runs(root, params) if is_active else []
    runs, stale = dict[str, Evaluation](), dict[str, str]()
    for name in names:
        candidates = [side[name] for side in (ungathered_scores, gathered) if name in side]
        if (layout.runs / name).is_dir():
            matching = [run for run in candidates if is_of_checkpoint(run, layout.runs / name)]
            if not matching:
                stale[name] = _why_not_of_checkpoint(candidates)
            candidates = matching or candidates
        elif name in ungathered_scores:
            stale[name] = "of a checkpoint that is no longer there"
        if candidates:
            runs[name] = candidates[0]
            if name in changed:
                stale[name] = f"from before the last edit of {PARAMS}"
        else:
            stale[name] = "missing"
    remarks = []
    if ungathered := [name for name in gathered if runs.get(name) != gathered[name]]:
        remarks.append(
            f"{WORKSPACE}: the scores of {few(ungathered)} are those below {scores}; "
            f"`dvc repro` puts them into {metrics}"
        )
    switch = "" if is_active else f"serrm use {profile} && "
    for reason in dict.fromkeys(stale.values()):
        subject = few([name for name in stale if stale[name] == reason])
        remarks.append(f"{WORKSPACE}: the scores of {subject} are {reason}; run `{switch}dvc repro`")
    return _revision(WORKSPACE, profile, runs, params)._replace(remarks=tuple(remarks), stale=stale)


def is_of_checkpoint(scores: Evaluation, checkpoint: Path) -> bool:
    """True if scores are of the weights in a folder, which an unfinished checkpoint may lack."""
    try:
        return scores.training.weights_sha256 == weights_sha256(checkpoint)
    except (OSError, ValueError):
        return False


def _why_not_of_checkpoint(scores: Collection[Evaluation]) -> str:
    """State why no scores of a run are known to be of the checkpoint in place."""
    if not scores:
        return "missing"
    if all(run.training.weights_sha256 is None for run in scores):
        return "of an earlier version, without the hash of their checkpoint"
    return "not of the checkpoint in place"


def _changed_runs(root: Path, params: Values) -> list[str]:
    """List the runs whose stages, or those of their data, have other values in dvc.lock than in `params`."""
    stages = _values_of(root, LOCK).get("stages", {})
    changed = {
        name
        for name, stage in stages.items()
        for key, value in stage.get("params", {}).get(PARAMS, {}).items()
        if value_at(params, key.split(".")) != value
    }
    tests = {f"{TEST_STAGE}@{name}": entry for name, entry in (params.get("tests") or {}).items()}
    changed |= tests.keys() - stages.keys()
    changed_data = {stage.partition("@")[2] for stage in changed if stage.startswith(DATA_SET_STAGES)}
    changed_data |= {tests[stage].get("data_set") for stage in changed & tests.keys()}
    return [
        name
        for name, run in (params.get("runs") or {}).items()
        if changed & {f"train@{name}", f"evaluate@{name}"} or run.get("data_set") in changed_data
    ]


def value_at(values: Any, keys: Iterable[str]) -> Any:
    """Look up the value at nested keys; None if there is none."""
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def few(names: Collection[str]) -> str:
    """List the names of a few runs, or the number of many."""
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} runs"


def _params(root: Path, profile: str, commit: str = "") -> Values:
    """Read the params file of a profile in the working tree or a commit; empty if there is none."""
    for path in (PARAMS, f"{PROFILES}/{profile}.yaml"):
        values = _values_of(root, path, commit)
        if values.get("profile") == profile:
            return values
    return {}


def _values_of(root: Path, path: str, commit: str = "") -> Values:
    """Read a YAML file of the working tree or a commit; empty if it is missing or not a mapping."""
    try:
        if commit:
            values = yaml.safe_load(read_committed(root, commit, path) or "")
        else:
            values = read_yaml(root / path) if (root / path).is_file() else {}
    except yaml.YAMLError:
        return {}
    return values if isinstance(values, dict) else {}
