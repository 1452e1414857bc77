"""Read params.yaml and the other params files in `profiles/`, check them as a whole, compose settings.

The settings of a run are composed of several sections of the file (`Params._sections`). DVC tracks the values of
params.yaml directly, so a stage re-runs when a value that it uses has changed. An entry of `data_sets` is a data set
with its scoring; `task_of` gives its task, the key of its record in TASKS.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, Field, JsonValue, NonNegativeInt, PositiveInt, model_validator

from serrm.core.execution import Execution
from serrm.core.project import MACHINE_FILE, PARAMS, find_root, profile_file
from serrm.core.settings import Merged, Settings, parse
from serrm.inference.settings import ScoringSettings
from serrm.models.families import FAMILIES
from serrm.models.settings import SHIFTED
from serrm.puzzles.raw import Counts
from serrm.puzzles.settings import MIRROR, ArraySettings
from serrm.puzzles.task import ArcTask, GridTask, Task
from serrm.puzzles.tasks import TASKS
from serrm.sources.download import download_settings_class
from serrm.training.settings import Fidelity, RunSettings

# dvc.yaml depends on a data set's `files` and on data/<init>, which must exist. The committed data/none and
# data/random, which never change, stand for their absence.
NO_FILES = Path("data/none")  # `files` without published files
RANDOM = "random"  # `init` without a checkpoint: initial weights are drawn from the seed


def _check_name(name: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_-]+", name):
        raise ValueError(
            f"{name!r} is not a name: letters, digits, - and _ alone, as DVC names stages after it"
        )
    return name


Name = Annotated[str, AfterValidator(_check_name)]  # DVC's stages and files are named after it
T = TypeVar("T", bound=BaseModel)
Values = dict[str, Any]  # checked when they are composed
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast


# Docstrings of fields are the text of docs/params.md, where "below" points to a later section.


class DataSetSection(Settings):
    """A data set of a task: its puzzles and their scoring."""

    task: str = ""
    """A key of TASKS; by default the data set's name."""
    seed: NonNegativeInt
    """Random seed of the puzzles and of the stream of training examples: order, augmentations, hints."""
    files: Path
    """Folder of the source `mirror`, with the publishers' file names; `data/none` for the other sources."""
    download: Values
    """The source of the raw puzzles, below."""
    puzzles: Values
    """Which raw puzzles are used, below."""
    arrays: Values
    """The augmentations of the training puzzles, below."""
    evaluate: Values
    """The scoring, below."""


class FileTests(Settings):
    """A further test set of a data set: the puzzles of a user's file, on which nothing is trained."""

    data_set: str
    """A key of `data_sets`."""
    file: Path
    """Puzzles in [any form that `serrm solve` reads](howto.md#solve-your-own-puzzles)."""
    num_puzzles: PositiveInt | None = None
    """The first ones of the file; null: all."""


class RunSection(Settings):
    """A training run with its scores."""

    data_set: str
    """A key of `data_sets`."""
    model: str
    """A key of `models`."""
    seed: NonNegativeInt
    """Random seed of initial weights, halting and dropout; the data set's seed determines the order of the examples."""
    init: str
    """`random`, or a checkpoint below `data/` to start from, such as `laptop/runs/sudoku-se_rrm-s0`."""
    changes: dict[str, JsonValue] = Field(default={})
    """Settings of this run, each by section and key: `model.…`, `train.…`, `arrays.…`, `evaluate.…`, `fidelity.…`.
    A setting with settings inside, such as `train.halting`, is replaced as a whole."""


class Params(Settings):
    """A params file. All values are checked when it is created; a ValueError names the first wrong key."""

    profile: Name
    """Names the folders `data/<profile>` and `reports/<profile>`."""
    fidelity: Fidelity
    """Faults of the published code to repeat, below."""
    models: dict[Name, Values]
    """Architectures by name, below."""
    data_sets: dict[Name, DataSetSection]
    """Data sets by name, with their scoring, below."""
    tests: dict[Name, FileTests]
    """Further test sets from your files by name, below."""
    recipes: dict[str, dict[str, Values]]
    """Training settings by data set and model, below; `model` and `arrays` in them override those sections."""
    runs: dict[Name, RunSection] = Field(min_length=1)
    """Training runs by name, below; a name is `<data_set>-<variant>-s<number>`, the number usually the seed. Runs of a
    variant differ in the seed alone."""

    @model_validator(mode="after")
    def _check(self) -> "Params":
        for data_set, section in self.data_sets.items():
            names_task = f"data_sets.{data_set}.task" if section.task else "data_sets"
            _check_known(names_task, self.task_of(data_set), TASKS, "a task")
        for name in self.tests:
            self._check_tests(name)
        for data_set, recipes in self.recipes.items():
            _check_known("recipes", data_set, self.data_sets, "an entry of data_sets")
            for model in recipes:
                _check_known(f"recipes.{data_set}", model, self.models, "an entry of models")
        for data_set in self.data_sets:
            self._check_files(data_set)
            self.download_settings(data_set)
            self.puzzle_settings(data_set)
            self.array_settings(data_set)
            # Recipes before the changes of runs; also those that no run uses.
            for model in self.recipes.get(data_set, {}):
                self._compose(
                    RunSection(data_set=data_set, model=model, seed=0, init=RANDOM), f"{data_set}-{model}-s0"
                )
        for name, run in self.runs.items():
            _check_known(f"runs.{name}.data_set", run.data_set, self.data_sets, "an entry of data_sets")
            recipes = self.recipes.get(run.data_set, {})
            _check_known(f"runs.{name}.model", run.model, recipes, f"in recipes.{run.data_set}")
            self.run_settings(name)
            self.scoring_settings(name)
        names: dict[tuple[str, str, int], str] = {}
        for name, key in self.run_keys().items():
            if names.setdefault(key, name) != name:
                raise ValueError(f"runs.{name}.seed: {names[key]} has the same seed (got {key[2]})")
        self._check_seeds()
        return self

    def _check_seeds(self) -> None:
        """Raise ValueError if runs of one variant on a data set differ in more than the seed.

        A checkpoint to start from may have the number of the run, as each seed may continue the run of its number.
        """
        first: dict[tuple[str, str], tuple[str, dict[str, JsonValue]]] = {}
        for name, (data_set, variant, _) in self.run_keys().items():
            run, number = self.runs[name], name.rpartition("-")[2]
            settings: dict[str, JsonValue] = {"model": run.model, "init": run.init.removesuffix(f"-{number}")}
            settings |= {f"changes.{key}": value for key, value in run.changes.items()}
            first_name, shared = first.setdefault((data_set, variant), (name, settings))
            for key in dict.fromkeys([*settings, *shared]):
                if key not in settings or key not in shared or settings[key] != shared[key]:
                    why = f"differs from that of {first_name}, and runs of a variant differ in the seed alone"
                    raise ValueError(f"runs.{name}.{key}: {why}")

    def _check_tests(self, name: str) -> None:
        tests = self.tests[name]
        _check_known(f"tests.{name}.data_set", tests.data_set, self.data_sets, "an entry of data_sets")
        if not isinstance(self._record(tests.data_set), GridTask):
            why = "puzzles of ARC-AGI are learned from their demonstrations, so others would need another training"
            raise ValueError(f"tests.{name}.data_set: {why} (got {tests.data_set!r})")
        if not name[0].isalpha():
            raise ValueError(f"tests: the name of a test set begins with a letter (got {name!r})")
        _check_path(f"tests.{name}.file", tests.file)

    def _check_files(self, data_set: str) -> None:
        """Raise ValueError if a data set's source needs a folder and has none, or has one without need."""
        section, key = self.data_sets[data_set], f"data_sets.{data_set}.files"
        source = _mapping(section.download, "source", f"data_sets.{data_set}.download")
        source_kind = source.get("kind")
        if "root" in source:
            raise ValueError(f"data_sets.{data_set}.download.source.root: is now {key}, which DVC watches")
        if (source_kind == MIRROR) == (section.files == NO_FILES):
            needs = (
                "must name its folder" if source_kind == MIRROR else f"has no effect and must be {NO_FILES}"
            )
            raise ValueError(f"{key}: with the source {source_kind} it {needs} (got '{section.files}')")
        _check_path(key, section.files)

    def task_of(self, data_set: str) -> str:
        """Name the task of a data set, a key of TASKS. ValueError for an unknown data set."""
        return self._section(data_set).task or data_set

    def initial_run(self, name: str) -> str:
        """Find the run of this profile from which a run starts; empty if it starts from none."""
        folder, _, init = self.runs[name].init.rpartition("/")
        return init if folder == f"{self.profile}/runs" and init in self.runs else ""

    def variant(self, name: str) -> str:
        """Name the part of a run's name between data set and number, by which tables name the run.

        The number in the name is a label. It may differ from the seed, so that `-S runs.NAME.seed=1,2` sweeps seeds.
        """
        run = self.runs[name]
        if not (match := re.fullmatch(rf"{run.data_set}-(.+)-s\d+", name)):
            form = f"{run.data_set}-{run.model}-s{run.seed}"
            raise ValueError(f"runs.{name}: the name must have the form {form}")
        return match[1]

    def run_keys(self) -> dict[str, tuple[str, str, int]]:
        """(data set, variant, seed) of every run by its name, in the order of the tables."""
        return {name: (run.data_set, self.variant(name), run.seed) for name, run in self.runs.items()}

    def _record(self, data_set: str) -> Task:
        return TASKS[self.task_of(data_set)]

    def _section(self, data_set: str) -> DataSetSection:
        """Find the section of a data set. ValueError for an unknown name, which may be a stage's argument DATA_SET."""
        _check_known("DATA_SET", data_set, self.data_sets, "an entry of data_sets")
        return self.data_sets[data_set]

    def _source_and_subset(self, data_set: str) -> tuple[Any, Settings]:
        return self.download_settings(data_set).source, self.puzzle_settings(data_set)

    def counts(self, data_set: str) -> Counts:
        """Count the puzzles of a data set by its settings; estimates for ARC-AGI, before the download."""
        return self._record(data_set).count(*self._source_and_subset(data_set))

    def download_settings(self, data_set: str) -> Any:  # Download of the task's source
        """Parse the source of a data set's raw files."""
        section = self._section(data_set)
        values = dict(section.download)
        if section.files != NO_FILES:
            values["source"] = {**values["source"], "root": section.files}
        return self._parse(download_settings_class(self.task_of(data_set)), data_set, "download", values)

    def puzzle_settings(self, data_set: str) -> Settings:
        """Parse the subset of a data set's raw puzzles."""
        values = self._section(data_set).puzzles
        return self._parse(self._record(data_set).subset, data_set, "puzzles", values)

    def array_settings(self, data_set: str) -> ArraySettings:
        """Parse the augmentation of a data set's training set."""
        settings = self._parse(ArraySettings, data_set, "arrays", self._section(data_set).arrays)
        key = f"data_sets.{data_set}.arrays.num_augmentations"
        _check_augmentations(settings, self._record(data_set), key)
        return settings

    def _parse(self, model: type[T], data_set: str, key: str, values: Values) -> T:
        """Parse the section `key` of a data set, which has the data set's seed."""
        return parse(model, {**values, "seed": self.data_sets[data_set].seed}, f"data_sets.{data_set}.{key}")

    def test_settings(self, name: str) -> FileTests:
        """Find the entry of a further test set."""
        _check_known("ENTRY", name, self.tests, "an entry of tests")
        return self.tests[name]

    def run_settings(self, name: str) -> RunSettings:
        """Compose the settings of a run's training."""
        _check_known("RUN", name, self.runs, "an entry of runs")
        return self._compose(self.runs[name], name)

    def settings_of_plain_run(self, data_set: str, family: str) -> RunSettings | None:
        """Compose the settings of run `<data_set>-<family>-s0`, by convention without changes; None without one."""
        name = f"{data_set}-{family}-s0"
        return self.run_settings(name) if name in self.runs else None

    def scoring_settings(self, name: str) -> ScoringSettings:
        """Compose the settings of a run's evaluation."""
        _check_known("RUN", name, self.runs, "an entry of runs")
        run = self.runs[name]
        sections = self._sections(run, name)
        source, subset = self._source_and_subset(run.data_set)
        values = {
            "profile": self.profile,
            "name": name,
            "data_set": run.data_set,
            "task": self.task_of(run.data_set),
            "variant": self.variant(name),
            "seed": run.seed,
            "evaluate": sections["evaluate"].values,
            "fidelity": _fidelity(sections),
            "source": self._record(run.data_set).in_words(source, subset),
            "source_kind": source.kind,
            "tests": [key for key, tests in self.tests.items() if tests.data_set == run.data_set],
        }
        return parse(ScoringSettings, values, lambda keys: sections[keys[0]].where(keys[1:]))

    def _sections(self, run: RunSection, name: str) -> dict[str, Merged]:
        """Merge the values of every section for a run, with their keys in the file.

        In each section the later one wins: model: model, recipe, changes of the run; train: model, recipe, changes;
        arrays: data set, recipe, changes; evaluate: data set, fixed steps of the family, changes; fidelity: top level,
        changes.

        ValueError for an unknown section, and for a seed of the arrays, as all runs of a data set share its seed.
        """
        section, model = self.data_sets[run.data_set], self.models[run.model]
        recipe = self.recipes[run.data_set][run.model]
        data_set_key, model_key = f"data_sets.{run.data_set}", f"models.{run.model}"
        recipe_key = f"recipes.{run.data_set}.{run.model}"
        model_values = {key: value for key, value in model.items() if key != "train"}
        recipe_values = {key: value for key, value in recipe.items() if key not in ("model", "arrays")}
        recipe_arrays = _mapping(recipe, "arrays", recipe_key)
        if "seed" in recipe_arrays:
            raise ValueError(f"{recipe_key}.arrays.seed: {_only_seed(data_set_key)}")
        sections = {
            "model": Merged(
                model_key,
                (model_key, model_values),
                (f"{recipe_key}.model", _mapping(recipe, "model", recipe_key)),
            ),
            "train": Merged(
                recipe_key,
                (f"{model_key}.train", _mapping(model, "train", model_key)),
                (recipe_key, recipe_values),
            ),
            "arrays": Merged(
                f"{data_set_key}.arrays",
                (f"{data_set_key}.arrays", section.arrays),
                (f"{recipe_key}.arrays", recipe_arrays),
                (data_set_key, {"seed": section.seed}),
            ),
            "fidelity": Merged("fidelity", ("fidelity", self.fidelity.model_dump())),
            "evaluate": Merged(
                f"{data_set_key}.evaluate",
                (f"{data_set_key}.evaluate", section.evaluate),
            ),
        }
        for key, value in run.changes.items():
            section_name, _, field = key.partition(".")
            key_path = f"runs.{name}.changes.{key}"
            _check_known(key_path, section_name, sections, "a section")
            if key == "arrays.seed":
                raise ValueError(f"{key_path}: {_only_seed(data_set_key)}")
            sections[section_name].change(key_path, field, value)
        return sections

    def _compose(self, run: RunSection, name: str) -> RunSettings:
        sections, task = self._sections(run, name), self.task_of(run.data_set)

        def key_of(keys: list[str]) -> str:
            return sections[keys[0]].where(keys[1:])

        fidelity = _fidelity(sections)
        values = {section: sections[section].values for section in ("model", "train", "arrays")}
        if run.init != RANDOM:
            values["train"]["init_from"] = f"data/{run.init}"
        family = FAMILIES.get(str(values["model"].get("family")))
        shifts_rope2d = fidelity.shifted_rope2d and family is not None and family.has_prefix
        if shifts_rope2d and values["model"].get("positions") == "rope2d":
            values["model"]["positions"] = SHIFTED
        # `_check` also composes every recipe, under the name <data_set>-<model>-s0, which need not be a run's.
        variant = self.variant(name) if name in self.runs else name
        identity = {"data_set": run.data_set, "task": task, "variant": variant, "seed": run.seed}
        settings = parse(RunSettings, {**identity, **values, "fidelity": fidelity.model_dump()}, key_of)
        record, augmentations_key = TASKS[task], key_of(["arrays", "num_augmentations"])
        _check_augmentations(settings.arrays, record, augmentations_key)
        num, most = settings.arrays.num_augmentations, self.array_settings(run.data_set).num_augmentations
        if isinstance(record, ArcTask) and num > most:
            limit = f"data_sets.{run.data_set}.arrays builds only {most}"
            raise ValueError(f"{augmentations_key}: {limit} (got {num})")
        side = self.counts(run.data_set).side
        special, answer_tokens = record.alphabet(side).special, record.special_in_answers(side)
        if key := settings.model.misfit(special, answer_tokens):
            tokens, answer_names = (", ".join(map(str, numbers)) for numbers in (special, answer_tokens))
            answers = f", and whose answers hold token {answer_names}" if answer_tokens else ""
            value = values["model"][key]
            misfit = f"does not fit {task}, whose special tokens are {tokens}{answers} (got {value!r})"
            advice = f"recipes.{run.data_set}.{run.model}.model.{key} sets it for this data set"
            raise ValueError(f"{key_of(['model', key])}: {misfit}; {advice}")
        return settings


def _mapping(values: Values, name: str, key: str) -> Values:
    """Find the mapping `name` in the values at `key`; empty without one. ValueError for any other value, or none."""
    mapping = values.get(name, {})
    if not isinstance(mapping, dict):
        content = "nothing" if mapping is None else repr(mapping)
        raise ValueError(f"{key}.{name}: must be a mapping (got {content})")
    return mapping


def _only_seed(data_set_key: str) -> str:
    return f"all runs of a data set draw the same examples, by {data_set_key}.seed"


def _check_path(key: str, path: Path) -> None:
    if path.parts[:1] == ("~",):
        raise ValueError(f"{key}: DVC does not expand ~, write the whole path (got '{path}')")


def _check_augmentations(settings: ArraySettings, task: Task, key: str) -> None:
    if task.most_augmentations is not None and settings.num_augmentations > task.most_augmentations:
        most = f"a puzzle has at most {task.most_augmentations:,}"
        raise ValueError(f"{key}: {most} (got {settings.num_augmentations})")


def _check_known(key: str, name: str, allowed: Mapping[str, object], kind: str) -> None:
    if name not in allowed:
        raise ValueError(f"{key}: {name!r} is not {kind}; known are {', '.join(allowed)}")


def _fidelity(sections: Mapping[str, Merged]) -> Fidelity:
    """Parse the faults that a run's sections switch on."""
    return parse(Fidelity, sections["fidelity"].values, sections["fidelity"].where)


def read_params(path: Path) -> Params:
    """Read a params file. ValueError of one line that names the key of a missing, unknown or wrong value."""
    return parse(Params, read_yaml(path), path.name)


def read_execution(root: Path) -> Execution:
    """Read machine.yaml, on which no stage depends; the defaults if there is no such file."""
    path = root / MACHINE_FILE
    return parse(Execution, read_yaml(path) or {}, path.name) if path.is_file() else Execution()


def read_yaml(path: Path) -> Any:
    """Plain data of a YAML file. ValueError if the file is not YAML."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), LOADER)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error


def write_yaml(path: Path, values: Values) -> None:
    """Write plain data as YAML, keys in their order."""
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


class Project(NamedTuple):
    """The folder of a project, and the params of one of its profiles."""

    root: Path
    params: Params


def open_project(profile: str | None = None) -> Project:
    """Open the project around the current folder, with params.yaml or the file of another profile.

    ValueError if the folder is in no project; a usage error for an unknown profile.
    """
    root = find_root(Path.cwd())
    values = None if profile is None else read_yaml(root / PARAMS)
    if profile is None or (isinstance(values, dict) and values.get("profile") == profile):
        return Project(root, read_params(root / PARAMS))
    return Project(root, read_params(profile_file(root, profile, "--profile")))
