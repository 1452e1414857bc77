"""Generated ARC-like puzzles: every operation of a rule, the search for other explanations, sets without repetition."""

import json
import runpy
from collections import Counter
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.datasets.arc import AUDIT, write_arc_sets
from serrm.puzzles.arc import data as arc_data
from serrm.puzzles.arc import grammar
from serrm.puzzles.arc.determine import UNKNOWN, as_bytes, explanations
from serrm.puzzles.arc.generate import (
    MAX_PER_RULE,
    NUM_DEMONSTRATIONS,
    NUM_TESTS,
    GeneratedArc,
    fingerprint,
    form_of,
    generate,
    is_evaluation_rule,
)
from serrm.puzzles.arc.grids import Grid, Pair
from serrm.puzzles.settings import Mirror
from serrm.reading.reader import read_file
from serrm.sources.download import fetch
from tests.references import read_manifest

PAINT = 9
# Questions and answers, made by hand, in which the rule's colour is 9; None: the rule is not defined.
EXAMPLES: dict[str, dict[str, str | None]] = {
    "select largest": {"110/102/022": None, "110/000/222": "110/000/999", "120/111": "920/999"},
    "select smallest": {"110/000/222": "990/000/222", "101/022": None, "330": None},
    "select commonest": {"101/022/100": "909/022/900", "12/00": None},
    "select rarest": {"101/022/100": "101/099/100", "11/11": None},
    "select inside": {"1100/0220/0000": "1100/0990/0000", "11/11": "11/11", "000/010/010": "000/010/010"},
    "select border": {"1100/0220/0000": "9900/0220/0000", "000/010/000": "000/010/000"},
    "select single": {"1020/1003/0030": "1090/1009/0090", "12/21": "99/99"},
    "mirror vertical": {"120/003": "021/300"},
    "mirror horizontal": {"120/003": "003/120"},
    "mirror diagonal": {"120/003": "10/20/03"},
    "mirror antidiagonal": {"120/003": "30/02/01"},
    "turn quarter": {"120/003": "03/20/10"},
    "turn half": {"120/003": "300/021"},
    "turn back": {"120/003": "01/02/30"},
    "gravity down": {"120/003/100": "000/100/123", "1/0/2/0": "0/0/1/2"},
    "gravity up": {"020/003/100": "123/000/000"},
    "gravity left": {"020/103/001": "200/130/100"},
    "gravity right": {"020/103/100": "002/013/001"},
    "repeat across": {"12/03": "1212/0303"},
    "repeat across mirrored": {"12/03": "1221/0330"},
    "repeat down": {"12/03": "12/03/12/03"},
    "repeat down mirrored": {"12/03": "12/03/03/12"},
    "repeat both": {"12/03": "1212/0303/1212/0303"},
    "repeat both mirrored": {"12/03": "1221/0330/0330/1221"},
    "fill enclosed": {"1120/1010/2110/0000": "1120/1910/2110/0000", "010/101": "010/101"},
    "fill background": {"120/003": "129/993"},
    "frame edge": {"120/013/000/100": "999/919/909/999"},
    "frame pad": {"12": "9999/9129/9999"},
    "frame around": {"0000/0100/0000/0000": "9990/9190/9990/0000", "10/00": "19/99"},
    "connect rows": {"1001/2030/0202": "1991/2030/0292", "1010": "1910", "110/120/101": "110/120/191"},
    "connect columns": {"120/000/103": "120/900/103"},
    "connect rows and columns": {"101/000/200/100": "191/000/200/100", "11/00/01": "11/09/01"},
    "connect rows own colour": {"1001/2030/0202": "1111/2030/0222"},
    "connect columns own colour": {"120/000/103": "120/100/103"},
    "connect rows and columns own colour": {"101/000/101": "111/101/111"},
    "count objects in a row": {"101/022/100": "9999", "000": None, "12": "99"},
    "count objects in a column": {"101/022/100": "9/9/9/9"},
    "count colours in a row": {"101/022/100": "99", "00": None},
    "count colours in a column": {"101/022/100": "9/9"},
    "count squares in a row": {"101/022/100": "111", "12": None},
    "count squares in a column": {"202/011/200": "2/2/2"},
}
BY_NAME = {f"{operation.family} {operation.name}": operation for operation in grammar.OPERATIONS}
SMALL = GeneratedArc(
    kind="generated",
    num_train=8,
    num_evaluation=10,
    sides=(3, 5),
    colours=(2, 3),
    families=tuple(grammar.NAMES),
    max_parts=1,
)


def grid(text: str) -> Grid:
    return np.array([[*map(int, row)] for row in text.split("/")], dtype=np.uint8)


def text(cells: Grid) -> str:
    return "/".join("".join(map(str, row)) for row in cells.tolist())


@pytest.mark.parametrize("name", [name for name in BY_NAME if not name.startswith("shift")])
def test_every_operation_answers_the_examples_made_by_hand(name: str) -> None:
    rule = grammar.Rule(steps=((BY_NAME[name], PAINT),))
    for question, answer in EXAMPLES[name].items():
        given = rule.answer(grid(question))
        assert (None if given is None else text(given)) == answer, question


grids = st.builds(
    lambda rows, columns, seed: np.random.default_rng(seed).integers(0, 4, (rows, columns), dtype=np.uint8),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 2**32),
)
STEPS = {"down": (1, 0), "up": (-1, 0), "left": (0, -1), "right": (0, 1)}


@given(grids, st.sampled_from(sorted(grammar.DIRECTIONS)), st.sampled_from([1, 2]), st.booleans())
def test_shifts_move_every_square(question: Grid, direction: str, distance: int, wraps: bool) -> None:
    operation = BY_NAME[f"shift {direction} {distance} {'round' if wraps else 'off'}"]
    (rows, columns), (down, right) = question.shape, (distance * step for step in STEPS[direction])
    answer = grammar.Rule(steps=((operation, 0),)).answer(question)
    if distance >= (rows if down else columns):
        assert answer is None
        return
    expected = np.zeros_like(question)
    for row, column in product(range(rows), range(columns)):
        to_row, to_column = row + down, column + right
        if wraps:
            to_row, to_column = to_row % rows, to_column % columns
        if 0 <= to_row < rows and 0 <= to_column < columns:
            expected[to_row, to_column] = question[row, column]
    assert answer is not None and text(answer) == text(expected)


@given(grids, st.permutations(range(1, 10)), st.sampled_from(grammar.OPERATIONS))
def test_operations_commute_with_recolouring(
    question: Grid, colours: list[int], operation: grammar.Operation
) -> None:
    """The search for other explanations rests on this."""
    table = np.array([0, *colours], dtype=np.uint8)
    before, after = operation.apply(question), operation.apply(table[question])
    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert text(grammar.painted(before._replace(cells=table[before.cells]), 0)) == text(
            grammar.painted(after, 0)
        )
        assert (before.is_unpainted is not None) == operation.has_colour == (after.is_unpainted is not None)


# The search.


def all_rules(names: frozenset[str], max_parts: int, colours: list[int]) -> Iterator[grammar.Rule]:
    """Every rule of a small grammar with its colours, one by one."""
    singles = [
        (operation, colour)
        for operation in grammar.OPERATIONS
        if operation.family in names
        for colour in (colours if operation.has_colour else [0])
    ]
    chains = [(), *((step,) for step in singles)]
    if max_parts == 2:
        chains += [
            (one, two)
            for one, two in product(singles, singles)
            if grammar.FAMILIES[one[0].family].moves != grammar.FAMILIES[two[0].family].moves
        ]
    for steps in chains:
        yield grammar.Rule(steps=steps)
        if grammar.RECOLOUR in names and len(steps) < max_parts:
            for image in permutations(colours):
                yield grammar.Rule(tuple(zip(colours, image, strict=True)), steps)


@settings(max_examples=15, deadline=None)
@given(
    families=st.sampled_from(
        [
            {"mirror", "frame"},
            {grammar.RECOLOUR, "fill", "turn"},
            {"gravity", "connect"},
            {grammar.RECOLOUR, "count", "select"},
        ]
    ),
    max_parts=st.sampled_from([1, 2]),
    seed=st.integers(0, 2**32),
)
def test_the_search_gives_the_answers_of_all_rules(families: set[str], max_parts: int, seed: int) -> None:
    rng, colours = np.random.default_rng(seed), [1, 2, 3]
    rules = [*all_rules(frozenset(families), max_parts, colours)]
    rule = rules[rng.integers(len(rules))]
    questions = [grid("1203/0312"), *(rng.integers(0, 4, (3, 3), dtype=np.uint8) for _ in range(2))]
    *demonstrations, test = questions
    answers = [rule.answer(question) for question in questions]
    if any(answer is None for answer in answers):
        return
    pairs = [Pair(q, a) for q, a in zip(demonstrations, answers, strict=False) if a is not None]
    by_search = {given for _, given in explanations(pairs, [test], frozenset(families), max_parts)}
    one_by_one = {
        (as_bytes(answer),)
        for rule in rules
        if all(
            (given := rule.answer(pair.question)) is not None and as_bytes(given) == as_bytes(pair.answer)
            for pair in pairs
        )
        and (answer := rule.answer(test)) is not None
    }
    closed = {answers for answers in by_search if UNKNOWN not in answers[0]}
    assert closed <= one_by_one
    # Where demonstrations leave a colour open, the search gives one answer for all of its colours.
    assert all(any(matches(answers[0], other[0]) for other in by_search) for answers in one_by_one)


def matches(answer: bytes, other: bytes) -> bool:
    """Equal but for colours that the other answer leaves open."""
    return len(answer) == len(other) and all(
        one == another or another == UNKNOWN for one, another in zip(answer, other, strict=True)
    )


# Sets.


@pytest.mark.parametrize(
    ("max_parts", "names"), [(1, [*grammar.NAMES]), (2, [grammar.RECOLOUR, "mirror", "frame"])]
)
def test_generated_puzzles_differ_and_are_determined(max_parts: int, names: list[str]) -> None:
    changes = {"max_parts": max_parts, "families": tuple(names), "num_train": 5, "num_evaluation": 6}
    sets = generate(SMALL.model_copy(update=changes), seed=3)
    assert {name: len(puzzles) for name, puzzles in sets.items()} == {"evaluation": 6, "training": 5}
    for name, puzzles in sets.items():
        assert all(
            is_evaluation_rule(fingerprint(puzzle.rule)) == (name == "evaluation") for puzzle in puzzles
        )
    puzzles = [puzzle for part in sets.values() for puzzle in part]
    assert len({p.name for p in puzzles}) == 11
    assert max(Counter(fingerprint(puzzle.rule) for puzzle in puzzles).values()) <= MAX_PER_RULE
    pairs = [pair for puzzle in puzzles for pair in puzzle.demonstrations + puzzle.tests]
    assert len({form_of(pair) for pair in pairs}) == len(pairs)
    for puzzle in puzzles:
        assert NUM_DEMONSTRATIONS[0] <= len(puzzle.demonstrations) <= NUM_DEMONSTRATIONS[1]
        assert NUM_TESTS[0] <= len(puzzle.tests) <= NUM_TESTS[1]
        assert len(puzzle.rule.families) <= max_parts
        questions = [pair.question for pair in puzzle.demonstrations + puzzle.tests]
        assert len({colour for q in questions for colour in q.reshape(-1).tolist()} - {0}) <= 3
        for pair in puzzle.demonstrations + puzzle.tests:
            assert max(pair.question.shape + pair.answer.shape) <= 5
            answer = puzzle.rule.answer(pair.question)
            assert answer is not None and as_bytes(answer) == as_bytes(pair.answer) != as_bytes(pair.question)
        given = explanations(
            puzzle.demonstrations, [test.question for test in puzzle.tests], frozenset(names), max_parts
        )
        answers = {tests for _, tests in given}
        assert answers == {tuple(as_bytes(test.answer) for test in puzzle.tests)}


def test_evaluation_puzzles_depend_on_the_seed_and_not_on_the_training_puzzles() -> None:
    def names_and_tests(num_train: int, seed: int) -> list[tuple[str, str]]:
        puzzles = generate(SMALL.model_copy(update={"num_train": num_train}), seed)["evaluation"]
        return [(puzzle.name, text(puzzle.tests[0].answer)) for puzzle in puzzles]

    assert names_and_tests(8, 0) == names_and_tests(2, 0) != names_and_tests(2, 1)


def test_the_first_puzzle_is_the_same_everywhere() -> None:
    """A change of this changes every score on generated puzzles."""
    puzzle = generate(SMALL, seed=0)["evaluation"][0]
    examples = [f"{text(pair.question)} {text(pair.answer)}" for pair in puzzle.demonstrations]
    example = "40000/07000/00004/00700 44444/47004/40004/44444"
    assert (puzzle.name, examples[0]) == ("evaluation-0000-frame", example)


def test_the_picture_of_the_rules_is_that_of_the_docs() -> None:
    """`make docs` draws it."""
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "arc_rules.py"))
    assert script["picture"]() == script["PICTURE"].read_text()
    assert {name for rule in script["rules"]().values() for name in rule.families} == {*grammar.NAMES}


@pytest.mark.parametrize("version", [1, 2])
def test_files_are_those_of_kaggle_and_no_pair_is_dropped(tmp_path: Path, version: arc_data.Version) -> None:
    raw = tmp_path / "raw"
    fetch(f"arc_agi_{version}", SMALL, raw, seed=0)
    manifest = read_manifest(raw)
    kaggle_files = arc_data.mirror_files(Mirror(kind="mirror", root=tmp_path))
    assert {file.name for file in manifest.files} == {*kaggle_files, arc_data.FILE_RULES}
    pairs = arc_data.read_raw(raw, version)
    assert not arc_data.read_raw(raw, 2 if version == 1 else 1)
    puzzles = {(name.puzzle, name.collection) for name in pairs}
    assert Counter(collection for _, collection in puzzles) == {"training": 8, "evaluation": 10}
    set_name = arc_data.SETS_KAGGLE[version][1]
    questions = read_file(raw / arc_data.kaggle_files(set_name)[0])
    assert {question.name for question in questions} == {n for n, c in puzzles if c == "evaluation"}
    assert all(question.answer is not None and question.demonstrations for question in questions)

    subset = arc_data.ArcSubsetSettings(canvas=5, num_train=None, num_test=None, seed=0)
    write_arc_sets(raw, tmp_path / "set", subset, version)
    audit = json.loads((tmp_path / "set" / AUDIT).read_text())
    assert audit["num_fitting"] == audit["num_puzzles"] == {"training": 8, "evaluation": 10, "concept": 0}
    assert audit["num_dropped_pairs"] == 0 == len(audit["puzzles_without_trained_pairs"])
    counts = arc_data.count_puzzles(version, SMALL, subset)
    assert counts.side == 5 and counts.tests[5] == pytest.approx(audit["num_test_pairs"], rel=0.3)
    assert counts.num_train == pytest.approx(audit["num_trained_pairs"], rel=0.2)
    assert arc_data.in_words(SMALL, subset).startswith("generated")


def test_families_have_equal_shares_in_random_order() -> None:
    names = ("recolour", "turn", "gravity", "fill")
    settings = {"families": names, "num_train": 9, "num_evaluation": 42, "max_parts": 2, "sides": (3, 4)}
    sets = generate(SMALL.model_copy(update=settings), seed=0)
    by_family = {name: Counter(puzzle.family for puzzle in puzzles) for name, puzzles in sets.items()}
    assert by_family["evaluation"] == {"recolour": 11, "turn": 11, "gravity": 10, "fill": 10}
    assert by_family["training"] == {"recolour": 3, "turn": 2, "gravity": 2, "fill": 2}
    first = Counter(puzzle.family for puzzle in sets["evaluation"][:21])
    assert len(first) == 4 and max(first.values()) < 10
    rules = [puzzle.rule for puzzle in sets["evaluation"] if puzzle.family == "turn"]
    turns = {bool(rule.recoloured) + len(rule.steps) for rule in rules}
    assert turns == {1, 2}, "a family with few rules takes rules of two parts"


def test_a_share_that_cannot_be_met_is_refused_in_one_line() -> None:
    few = SMALL.model_copy(update={"families": ("mirror",), "num_evaluation": 9})
    with pytest.raises(
        ValueError, match=r"^families: only 8 of 9 evaluation puzzles of mirror.*max_parts: 2.*$"
    ):
        generate(few, seed=0)
