"""Sources of Sudokus, published or generated, and the sets drawn from them: training, scored, held out for settings.

A generated puzzle is a random solution from which clues are removed in random order as long as the solution stays
unique; a seed decides everything. The 16×16 puzzles are generated for every source, because the paper's are not
published. Files are tables; only the published 25×25 puzzles are JSON.
Paper: section "Sudoku", data; appendix, data sets.
"""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, islice
from operator import attrgetter
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, Final, Literal

import numpy as np
from jaxtyping import UInt8
from pydantic import AfterValidator, BaseModel, Field, NonNegativeInt, PositiveInt

from serrm.core.files import Origin, only_folder, parse_file
from serrm.core.settings import KeyOf, Settings
from serrm.puzzles import raw
from serrm.puzzles.boxes import box_for_side
from serrm.puzzles.generate import distinct
from serrm.puzzles.settings import Hub, Mirror, Scored, SubsetSettings
from serrm.puzzles.sudoku import search
from serrm.puzzles.sudoku.grade import GRADES, grades
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.sudoku.symmetries import apply_symmetries, draw_symmetries
from serrm.puzzles.tables import read_table, write_tables
from serrm.puzzles.text import GridText

logger = logging.getLogger(__name__)

# The folder name of the 9×9 puzzles names their source: the published set, its 1,000 training puzzles with other test
# puzzles, or generated puzzles. A raw directory has exactly one of these folders.
FOLDER_EXTREME: Final = "sudoku-extreme"
FOLDER_EXTREME_1K: Final = "sudoku-extreme-1k"
FOLDER_GENERATED: Final = "sudoku-9x9"
FOLDERS_9X9 = (FOLDER_EXTREME, FOLDER_EXTREME_1K, FOLDER_GENERATED)
FILE_4X4 = "sudoku-4x4/4x4_sudoku_unique_solution.csv"
FILE_16X16 = "sudoku-16x16/puzzles.csv"
FOLDER_25X25 = "sudoku-25x25"
GENERATED_25X25 = f"{FOLDER_25X25}/puzzles.csv"  # the published ones are JSON files
FILES = {"4x4": FILE_4X4, "16x16": FILE_16X16, "25x25": GENERATED_25X25}
# The first 512 rows of the test file in sudoku-extreme-1k are validation puzzles; its other rows are the test set.
NUM_HELD_OUT = 512
NUM_PUBLISHED_25X25, NUM_SOLVABLE_25X25 = 100, 42
NUM_9X9 = {FOLDER_EXTREME: (3_831_994, 422_786), FOLDER_EXTREME_1K: (1_000, 9_488)}  # to train on, to score
# One puzzle per full 4×4 grid, of which there are 288, with as many clues as the published ones.
NUM_4X4, CLUES_4X4 = 288, (7, 7)

SYMBOLS = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Characters of a blank and of the digits 1…35."""


def largest_token(side: int) -> int:
    """Return the token of the largest digit.

    ValueError for a grid without boxes, or with more digits than characters.
    """
    box_for_side(side)
    if side >= len(SYMBOLS):
        raise ValueError(f"a Sudoku has at most {len(SYMBOLS) - 1} rows here, not {side}")
    return side + BLANK


TEXT = GridText(
    characters=SYMBOLS,
    letters=f".{ascii_uppercase[:25]}",
    others=dict.fromkeys("0_-*x?", BLANK),
    largest=largest_token,
)
OtherSize = Annotated[str, Field(pattern="^(4x4|16x16|25x25)$")]  # a size that is not trained on
MAX_ATTEMPTS = 100
"""Orders of removal to try on one solution, and repeated puzzles in a row, before an error."""
MAX_EASIER = 1_000
"""Puzzles in a row that are easier than asked for before an error."""
UNIQUENESS_NODES = 100
"""Nodes of the search for a second solution before a clue is kept."""


def check_clues(side: int, clues: tuple[int, int]) -> tuple[int, int]:
    """Return the range. ValueError if it is empty or outside the grid."""
    if not 1 <= clues[0] <= clues[1] <= side**2:
        raise ValueError(f"clues {clues[0]} to {clues[1]} are not a range within 1 to {side**2}")
    return clues


Grade = Annotated[str, KeyOf(dict.fromkeys(GRADES))]


class AnySudokuSource(Settings):
    """The settings of every source of Sudokus: generated 16×16 puzzles, because the paper's are not published."""

    num_16x16: NonNegativeInt
    """16×16 puzzles to generate; the paper has 216, and 0 leaves the size out."""
    clues_16x16: Annotated[tuple[int, int], AfterValidator(partial(check_clues, 16))]
    """Least and most clues of a 16×16 puzzle."""


class GeneratedSudoku(AnySudokuSource):
    """Generated puzzles, seeded, each with one solution; 4×4: one puzzle for each of the 288 grids."""

    kind: Literal["generated"]
    num_train: PositiveInt
    """Training puzzles to generate."""
    num_test: PositiveInt
    """Test puzzles to generate."""
    clues: Annotated[tuple[int, int], AfterValidator(partial(check_clues, 9))]
    """Least and most clues of a 9×9 puzzle; Sudoku-Extreme has 17 to about 40, most near 25."""
    least_shares: dict[Grade, Annotated[float, Field(gt=0, le=1)]] = Field(default={})
    """Least shares of the 9×9 training puzzles, and of the 9×9 test puzzles, with this
    [grade](data.md#grades-of-sudokus) or a harder one. `{more rules: 0.5}`: half or more need more than singles."""
    num_25x25: NonNegativeInt
    """25×25 puzzles to generate; 0 leaves the size out."""
    clues_25x25: Annotated[tuple[int, int], AfterValidator(partial(check_clues, 25))]
    """Least and most clues of a 25×25 puzzle; the published ones have 372 to 623."""


class MirrorSudoku(AnySudokuSource, Mirror):
    """A local directory with the publishers' file names."""

    folder_9x9: Literal["sudoku-extreme", "sudoku-extreme-1k"] = FOLDER_EXTREME_1K
    """Which folder of 9×9 puzzles below `root`: the published set, or its 1,000 training puzzles."""


class HubSudoku(AnySudokuSource, Hub):
    """Hugging Face for 9×9, GitHub for 4×4 and 25×25."""


SudokuSource = Annotated[GeneratedSudoku | MirrorSudoku | HubSudoku, Field(discriminator="kind")]


class SudokuSubsetSettings(SubsetSettings):
    """Numbers of puzzles to draw."""

    num_test: PositiveInt | None
    """Test puzzles of the size trained on; null: all, or 512 with `scored: held_out`."""
    num_test_sizes: dict[OtherSize, PositiveInt | None]
    """Test puzzles by grid size; null: all."""
    scored: Scored = "evaluation"
    """Test puzzles, or validation puzzles for choosing settings."""


# In the words of a source whose test puzzles are not those of Sudoku-Extreme.
SUBSTITUTED: Final = "its 9×9 test puzzles are replaced by a substitute"
PUBLISHED = (
    *raw.hugging_face(
        "sapientinc/sudoku-extreme",
        "58942f96baeb572ca3127e2a9e9c70f330783d6b",
        FOLDER_EXTREME,
        {
            "train.csv": "64b46674db0148e0d73a16346dadeb2b1c00824d3fca3f85b2ae7037f6b4b38e",
            "test.csv": "a2fd52aea23d331d5b4ee723c856236e838a9fb9a70e66f4e0e0cf26c338c6a8",
        },
    ),
    raw.Published(
        "https://raw.githubusercontent.com/Black-Phoenix/4x4-Sudoku-Dataset/"
        "5be0420fc808e84c24f1031bd2ea181738fa0e3e/4x4_sudoku_unique_solution.csv",
        "5be0420fc808e84c24f1031bd2ea181738fa0e3e",
        FILE_4X4,
        "a1d56589dc9cea0a76561ee114acc61ca8f066ebafe456289b9b12574cf4268b",
    ),
    raw.github_archive(
        "liamjdavis/Sudoku-SMT-Solvers",
        "8e5a9c3dfc2c6f4f0067dcac4de76fd3b41a0a15",
        FOLDER_25X25,
        {"resources/benchmarks/puzzles/*.json": NUM_PUBLISHED_25X25},
        is_flat=True,
    ),
)


def mirror_files(source: MirrorSudoku) -> list[str]:
    """List the published files below a mirror's root.

    Sizes that it does not have are left out, as not every profile uses them.

    ValueError if the 25×25 puzzles are incomplete.
    """
    puzzles_25x25 = files_25x25(source.root)
    if puzzles_25x25 and len(puzzles_25x25) != NUM_PUBLISHED_25X25:
        folder = source.root / FOLDER_25X25
        raise ValueError(f"{folder}: {len(puzzles_25x25)} .json files, {NUM_PUBLISHED_25X25} are published")
    names = [f"{source.folder_9x9}/train.csv", f"{source.folder_9x9}/test.csv"]
    names += [FILE_4X4] if (source.root / FILE_4X4).is_file() else []
    return names + [f"{FOLDER_25X25}/{path.name}" for path in puzzles_25x25]


def files_25x25(directory: Path) -> list[Path]:
    """List the 25×25 files sorted by name, so that their order does not depend on the file system."""
    return sorted((directory / FOLDER_25X25).glob("*.json"), key=lambda path: path.name)


def make(source: AnySudokuSource, directory: Path, seed: int) -> dict[str, Origin]:
    """Write the generated puzzles of a source as tables with answers; for published sources, only those of 16×16."""

    def puzzles(side: int, clues: tuple[int, int]) -> Iterator[raw.Puzzle]:
        """Generate different puzzles; every size has a random stream of its own."""
        return iterate_puzzles(side, np.random.default_rng([seed, side]), clues)

    tables = [({FILE_16X16: source.num_16x16}, puzzles(16, source.clues_16x16))]
    if isinstance(source, GeneratedSudoku):
        # One stream for both files: all puzzles of a size differ, so no test puzzle is a training puzzle.
        train, test = (f"{FOLDER_GENERATED}/{name}.csv" for name in ("train", "test"))
        nums, puzzles_9x9 = {train: source.num_train, test: source.num_test}, puzzles(9, source.clues)
        if source.least_shares:
            orders = np.random.default_rng([seed, 9, 1])
            puzzles_9x9 = with_least_shares(puzzles_9x9, [*nums.values()], source.least_shares, orders)
        tables += [
            (nums, puzzles_9x9),
            ({FILE_4X4: NUM_4X4}, puzzles(4, CLUES_4X4)),
            ({GENERATED_25X25: source.num_25x25}, puzzles(25, source.clues_25x25)),
        ]
    names = [name for table in tables for name in write_tables(TEXT, directory, *table)]
    return dict.fromkeys(names, Origin("generated"))


def raw_sets(directory: Path, settings: SudokuSubsetSettings) -> dict[str, raw.RawSet]:
    """Return the training set and the test sets of a raw directory.

    If validation puzzles are scored, these 9×9 puzzles, 512 by default, replace all test sets. With the folder
    sudoku-extreme-1k they are the first rows of its test file; with any other, rows of the training file that are not
    trained on.
    """
    folder = only_folder(directory, FOLDERS_9X9)
    is_1k = folder.name == FOLDER_EXTREME_1K
    train, test = (enumerate(read_table(TEXT, folder / name)) for name in ("train.csv", "test.csv"))
    sets = {"train": raw.RawSet(9, settings.num_train, stream=0, puzzles=train)}
    if settings.scored == "held_out":
        rest = islice(test, NUM_HELD_OUT) if is_1k else enumerate(read_table(TEXT, folder / "train.csv"))
        num = settings.num_test or NUM_HELD_OUT
        return sets | {"held_out": raw.RawSet(9, num, stream=1, puzzles=rest, is_rest=not is_1k)}
    scored = islice(test, NUM_HELD_OUT if is_1k else 0, None)
    sets["9x9"] = raw.RawSet(9, settings.num_test, stream=9, puzzles=scored)
    for size, num_drawn in settings.num_test_sizes.items():
        side, published = int(size.partition("x")[0]), files_25x25(directory) if size == "25x25" else []
        table = read_table(TEXT, directory / FILES[size])
        puzzles = read_solvable(published) if published else enumerate(table)
        sets[size] = raw.RawSet(side, num_drawn, stream=side, puzzles=puzzles)
    return sets


class Published25x25(BaseModel):
    """A published 25×25 puzzle: rows of digits, 0 for a blank. The file has further keys."""

    grid: list[list[Annotated[int, Field(strict=True, ge=0, lt=len(SYMBOLS))]]]
    difficulty: str = ""


def read_solvable(files: list[Path]) -> Iterator[raw.Numbered]:
    """Read the puzzles of JSON files and solve them; puzzles without a solution are dropped and counted in the log.

    The published 25×25 puzzles come without solutions, and 58 of the 100 have none.
    """
    num_dropped = 0
    for number, path in enumerate(files):
        puzzle = read_json(path)
        answer = next(search.cp_sat_solutions(puzzle.question, {}), None)
        if answer is None:
            num_dropped += 1
        else:
            yield number, replace(puzzle, answer=answer)
    logger.info("%d of %d puzzles without a solution dropped", num_dropped, len(files))


def read_json(path: Path) -> raw.Puzzle:
    """Read the puzzle of a published file; its difficulty becomes the source."""
    published = parse_file(path, Published25x25.model_validate_json)
    signs = [SYMBOLS[digit] for row in published.grid for digit in row]
    try:
        return raw.Puzzle(TEXT.read("".join(signs)), None, published.difficulty)
    except ValueError as error:
        raise ValueError(f"{path}: grid: {error}") from None


def count_puzzles(source: AnySudokuSource, subset: SudokuSubsetSettings) -> raw.Counts:
    """Count the puzzles before they exist."""
    num_25x25 = NUM_SOLVABLE_25X25
    if isinstance(source, GeneratedSudoku):
        num_train, num_test, num_25x25 = source.num_train, source.num_test, source.num_25x25
    else:
        num_train, num_test = NUM_9X9[getattr(source, "folder_9x9", FOLDER_EXTREME)]
    if subset.scored == "held_out":
        num_test, sizes = NUM_HELD_OUT, {}
    else:
        sizes = subset.num_test_sizes
    available = {"4x4": NUM_4X4, "16x16": source.num_16x16, "25x25": num_25x25}
    others = {int(name.partition("x")[0]): num or available[name] for name, num in sizes.items()}
    return raw.Counts(9, subset.num_train or num_train, {9: subset.num_test or num_test} | others)


def as_mirror(source: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Return the settings of a source of published files, changed to read a folder, with its larger 9×9 set."""
    folder = {"folder_9x9": FOLDER_EXTREME} if (root / FOLDER_EXTREME).is_dir() else {}
    return {**source, "kind": "mirror", **folder}


def in_words(source: AnySudokuSource, subset: SudokuSubsetSettings) -> str:
    """Describe the source of a run's puzzles for the notes beneath tables."""
    text = "Sudoku-Extreme and the published 4×4 and 25×25 puzzles"
    if isinstance(source, GeneratedSudoku):
        least, most = source.clues
        text = f"generated 9×9 puzzles with {least} to {most} clues and one solution"
        for grade, share in source.least_shares.items():
            harder = "" if grade == GRADES[-1] else " or more"
            text += f", at least {share:.0%} of which need {grade}{harder}"
    elif isinstance(source, MirrorSudoku):
        text += " from a local mirror"
    if subset.scored == "held_out":
        return f"{text}; scored on 9×9 validation puzzles"
    if isinstance(source, MirrorSudoku) and source.folder_9x9 != FOLDER_EXTREME:
        text += f"; {SUBSTITUTED}, other public puzzles with the training puzzles' distribution of ratings"
    if source.num_16x16:
        least, most = (256 - clues for clues in reversed(source.clues_16x16))
        text += f"; generated 16×16 puzzles with {least} to {most} blanks and one solution "
        text += "(paper: a mean between 161 and 167)"
    return text


# Generation.


def iterate_puzzles(
    side: int, rng: np.random.Generator, clues: tuple[int, int] = (30, 45)
) -> Iterator[raw.Puzzle]:
    """Generate pairwise different puzzles with one solution, without end; `clues` are the least and the most clues.

    The number of clues is drawn uniformly from this range; a grid that needs more clues keeps more, within the range.
    Solutions differ, too, except that 4×4 repeats all 288 solutions, in random order every time. ValueError after too
    many attempts without a new puzzle.
    """
    puzzles = (
        _generate_from(solution, rng, int(rng.integers(*clues, endpoint=True)), clues[1])
        for solution in _draw_solutions(side, rng)
    )
    part = attrgetter("question" if side == 4 else "answer")
    kind = f"puzzles with {clues[0]} to {clues[1]} clues"
    return distinct(puzzles, lambda puzzle: part(puzzle).tobytes(), MAX_ATTEMPTS, kind)


def generate_puzzles(
    side: int, num: int, rng: np.random.Generator, clues: tuple[int, int] = (30, 45)
) -> list[raw.Puzzle]:
    """Generate the first `num` puzzles of `iterate_puzzles`."""
    return list(islice(iterate_puzzles(side, rng, clues), num))


def with_least_shares(
    puzzles: Iterator[raw.Puzzle],
    nums: Sequence[int],
    least_shares: Mapping[str, float],
    rng: np.random.Generator,
) -> Iterator[raw.Puzzle]:
    """Leave out puzzles, so that of every `nums` at least some share has a grade or a harder one.

    Which of the puzzles must have the grade is drawn first, so the order is random. ValueError after MAX_EASIER easier
    puzzles in a row.
    """
    for num in nums:
        least = np.zeros(num, dtype=np.intp)
        for grade, share in least_shares.items():
            of_grade = least[: math.ceil(share * num)]
            np.maximum(of_grade, GRADES.index(grade), out=of_grade)
        for rank in rng.permutation(least).tolist():
            tried = islice(puzzles, MAX_EASIER)
            hard = (puzzle for puzzle in tried if not rank or rank_of(puzzle) >= rank)
            if (puzzle := next(hard, None)) is None:
                raise ValueError(f"least_shares: of {MAX_EASIER} puzzles in a row none needs {GRADES[rank]}")
            yield puzzle


def rank_of(puzzle: raw.Puzzle) -> int:
    """Return the number of a puzzle's grade, from 0 for the easiest."""
    return GRADES.index(grades(puzzle.question[None])[0])


def _draw_solutions(side: int, rng: np.random.Generator) -> Iterator[raw.Tokens]:
    """Draw full grids without end."""
    while True:
        if side == 4:
            yield from rng.permutation(all_solutions_4x4())
        else:
            yield random_solution(side, rng)


def all_solutions_4x4() -> UInt8[np.ndarray, "288 16"]:
    """List every full 4×4 grid, in a fixed order."""
    masks = search.masks_of(4)
    return np.stack([search.grid_of(node, masks) for node in search.search(masks.empty, masks)])


def random_solution(side: int, rng: np.random.Generator) -> raw.Tokens:
    """Draw a random full grid: a randomised search from the empty grid, then a random symmetry. Not exactly uniform."""
    masks = search.masks_of(side)
    while True:
        nodes = search.search(masks.empty, masks, rng, max_nodes=2 * side**2)
        try:
            solution = search.grid_of(next(nodes), masks)
        except search.SearchBudgetError:
            continue
        symmetry = draw_symmetries(side, 1, rng)
        return np.asarray(apply_symmetries(solution[None], symmetry, side)[0])


def _generate_from(
    solution: raw.Tokens, rng: np.random.Generator, num_clues: int, max_clues: int
) -> raw.Puzzle:
    """Generate a puzzle with this solution only.

    It has `num_clues` clues, or more, up to `max_clues`, if no more can be removed.
    """
    for _ in range(MAX_ATTEMPTS):
        question = remove_clues(solution, rng, num_clues)
        if np.count_nonzero(question != BLANK) <= max_clues:
            return raw.Puzzle(question, solution, "generated")
    size = "{0}x{0}".format(math.isqrt(len(solution)))
    raise ValueError(f"no {size} puzzle with {max_clues} clues or fewer in {MAX_ATTEMPTS} attempts")


def remove_clues(solution: raw.Tokens, rng: np.random.Generator, num_clues: int) -> raw.Tokens:
    """Return a puzzle whose only solution is `solution`, with `num_clues` clues, or more if no more can be removed."""
    masks, question = search.masks_of(math.isqrt(len(solution))), solution.copy()
    order = rng.permutation(len(solution)).tolist()
    bits = [masks.bit(cell, int(solution[cell])) for cell in order]
    # later[k] is the node with the last k clues of the order, `kept` the one with the clues that have to stay.
    later = list(accumulate(reversed(bits), partial(search.place_digit, masks=masks), initial=masks.empty))
    kept, num_left = masks.empty, len(order)
    for cell, bit in zip(order, bits, strict=True):
        if num_left <= num_clues:
            break
        later.pop()  # now later[-1] has the clues that are not tried yet
        node = later[-1][0] & kept[0], later[-1][1] | kept[1]
        if _has_only(node, bit, masks):
            question[cell] = BLANK
            num_left -= 1
        else:
            kept = search.place_digit(kept, bit, masks)
    return question


def _has_only(node: search.Node, bit: int, masks: search.Masks) -> bool:
    """Return True if a cell can have no other digit than that of `bit`; False if the search takes too long."""
    left, placed = node
    try:
        others = left & ~masks[bit][1], placed
        return next(search.search(others, masks, max_nodes=UNIQUENESS_NODES), None) is None
    except search.SearchBudgetError:
        return False
