"""Generated ARC-like puzzles: a drawn rule, demonstrations that determine it, and tests.

Every family of rules has an equal share of the puzzles. A rule with its parameters is drawn from the `grammar`, then
grids are drawn until the demonstrations have one explanation (`determine`). A rule belongs to either the training or
the evaluation puzzles, by a hash of its answers to fixed questions, and may give several puzzles with other grids, so
rules are the independent units of a score's interval. No two pairs are equivalent, so the audit drops none. The paper
has no generated ARC puzzles.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Annotated, Final, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import AfterValidator, Field, PositiveInt, model_validator

from serrm.core.progress import with_progress
from serrm.core.randomness import Purpose, keyed_rng
from serrm.core.settings import KeyOf, Settings
from serrm.puzzles.arc.determine import as_bytes, explanations
from serrm.puzzles.arc.grammar import FAMILIES, NAMES, OPERATIONS, RECOLOUR, Colours, Rule, scatter
from serrm.puzzles.arc.grids import MAX_SIDE, NUM_COLOURS, Collection, Grid, Pair, RuleFacts, canonical_form

T = TypeVar("T")

NUM_DEMONSTRATIONS: Final = (3, 4)
NUM_TESTS: Final = (1, 2)
"""Least and most pairs of a puzzle; all numbers are equally likely."""
MAX_PER_RULE: Final = 4
"""Most puzzles of one rule."""
MAX_ATTEMPTS = 300
"""Rules to try in a row before a family's rules count as used up."""
NUM_SETS, NUM_GRIDS = 5, 60
"""Attempts for one rule: sets of pairs, until one has a single explanation, and grids per set."""


def _check_range(ends: tuple[int, int]) -> tuple[int, int]:
    if ends[0] > ends[1]:
        raise ValueError("the first number must not be larger than the second")
    return ends


def _check_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if len({*names}) != len(names):
        raise ValueError("a family occurs twice")
    return names


Side = Annotated[int, Field(ge=2, le=MAX_SIDE)]
NumColours = Annotated[int, Field(ge=1, lt=NUM_COLOURS)]
Name = Annotated[str, KeyOf(NAMES)]


class GeneratedArc(Settings):
    """Generated ARC-like puzzles, seeded; their difficulty is that of the rules and grids."""

    kind: Literal["generated"]
    num_train: PositiveInt
    """Training puzzles to generate; families have equal shares."""
    num_evaluation: PositiveInt
    """Evaluation puzzles to generate, of other rules; families have equal shares. They do not depend on the number of
    training puzzles."""
    sides: Annotated[tuple[Side, Side], AfterValidator(_check_range)]
    """Least side of an ARC-like question, and largest side of any grid. `repeat` doubles a grid, so a least side above
    half the largest one is lowered to that half for its rules."""
    colours: Annotated[tuple[NumColours, NumColours], AfterValidator(_check_range)]
    """Least and most colours of an ARC-like puzzle's questions, besides the background."""
    families: Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(_check_names)]
    """[Families of rules](data.md#generated-arc-like-puzzles), with equal shares of the puzzles. The first ones have
    one more if the number does not divide."""
    max_parts: Literal[1, 2]
    """Most parts of an ARC-like puzzle's rule. With 2, a family whose rules of one part give too few puzzles fills its
    share with rules of two parts."""

    @model_validator(mode="after")
    def _check_sides(self) -> "GeneratedArc":
        if "repeat" in self.families and self.sides[1] < 4:
            raise ValueError("sides: repeat needs grids of at least 4x4")
        return self


class GeneratedPuzzle(NamedTuple):
    """A puzzle with its rule; `name` consists of the set, the number in it and the families of the rule.

    `family` is the one in whose share the puzzle is, also if the rule has a part of another family.
    """

    name: str
    family: str
    rule: Rule
    demonstrations: list[Pair]
    tests: list[Pair]


def expected_counts(source: GeneratedArc) -> dict[str, int | float]:
    """Return the numbers of puzzles, and the mean numbers of training pairs and of test inputs per puzzle."""
    num_demonstrations, num_tests = sum(NUM_DEMONSTRATIONS) / 2, sum(NUM_TESTS) / 2
    num = source.num_train + source.num_evaluation
    return {
        "train": source.num_train,
        "test": source.num_evaluation,
        "pairs per puzzle": num_demonstrations + num_tests * source.num_train / num,
        "inputs per puzzle": num_tests,
    }


def generate(source: GeneratedArc, seed: int) -> dict[Collection, list[GeneratedPuzzle]]:
    """Generate the training and the evaluation puzzles, each in random order.

    ValueError if a family's share cannot be met.
    """
    used_pairs = set[bytes]()
    puzzles: dict[Collection, list[GeneratedPuzzle]] = {}
    # The evaluation puzzles come first, so that they do not depend on the number of training puzzles.
    collections: tuple[tuple[Collection, int], ...] = (
        ("evaluation", source.num_evaluation),
        ("training", source.num_train),
    )
    for collection, num in collections:
        num_by_rule = Counter[bytes]()
        drawn = (
            puzzle
            for family, share in shares(source.families, num).items()
            for puzzle in draw_share(source, seed, collection, family, share, num_by_rule, used_pairs)
        )
        by_family = list(with_progress(drawn, f"making {collection} puzzles", num))
        order = _rng(seed, collection, SHUFFLED, 0).permutation(num)
        puzzles[collection] = [
            by_family[index]._replace(name=f"{collection}-{number:04}-{by_family[index].name}")
            for number, index in enumerate(order)
        ]
    return puzzles


def shares(families: Sequence[str], num: int) -> dict[str, int]:
    """Compute the number of puzzles of each family; the first ones have one more if `num` does not divide."""
    least, num_larger = divmod(num, len(families))
    return {family: least + (number < num_larger) for number, family in enumerate(families)}


SHUFFLED: Final = len(NAMES)
"""The address of the order of puzzles, after the numbers of the families."""


def _rng(seed: int, collection: Collection, family: int, attempt: int) -> np.random.Generator:
    # 0 to 3 were addresses of other draws, of which 2 and 3 are still in use.
    return keyed_rng(seed, Purpose.GENERATED, attempt, 4 + 2 * family + (collection == "evaluation"))


def draw_share(
    source: GeneratedArc,
    seed: int,
    collection: Collection,
    family: str,
    num: int,
    num_by_rule: Counter[bytes],
    used_pairs: set[bytes],
) -> Iterator[GeneratedPuzzle]:
    """Yield a family's puzzles, whose names are not complete; adds their rules and pairs to the last two arguments.

    Rules of one part come first. Every rule gives one puzzle, then a second one, up to MAX_PER_RULE; rules of two parts
    follow in the same way. ValueError if all of these are too few.
    """
    number, attempt, is_evaluation = 0, 0, collection == "evaluation"
    for num_parts, most in product(range(1, source.max_parts + 1), range(1, MAX_PER_RULE + 1)):
        last = attempt  # the attempt of the last puzzle
        while number < num and attempt - last < MAX_ATTEMPTS:
            rng = _rng(seed, collection, [*NAMES].index(family), attempt)
            attempt += 1
            colours = draw_colours(rng, int(rng.integers(*source.colours, endpoint=True)))
            rule = draw_rule(rng, source, colours, family, num_parts)
            rule_hash = b"" if rule is None else fingerprint(rule)
            if rule is None or num_by_rule[rule_hash] >= most:
                continue
            if is_evaluation_rule(rule_hash) != is_evaluation:
                continue
            pairs = draw_pairs(rng, source, rule, colours, used_pairs)
            if pairs is None:
                continue
            num_by_rule[rule_hash] += 1
            used_pairs |= {form_of(pair) for part in pairs for pair in part}
            names = dict.fromkeys((family, *rule.families))
            yield GeneratedPuzzle("-".join(names), family, rule, *pairs)
            number, last = number + 1, attempt
    if number < num:
        advice = "allow rules of two parts (max_parts: 2), or ask for" if source.max_parts == 1 else "ask for"
        raise ValueError(
            f"families: only {number} of {num} {collection} puzzles of {family}, because a rule gives at most "
            f"{MAX_PER_RULE}; {advice} fewer puzzles"
        )


# Rules.


def draw_colours(rng: np.random.Generator, num: int) -> Colours:
    """Draw different colours, none of them the background."""
    return tuple((1 + rng.permutation(NUM_COLOURS - 1)[:num]).tolist())


def draw_rule(
    rng: np.random.Generator, source: GeneratedArc, colours: Colours, family: str, num_parts: int
) -> Rule | None:
    """Draw a rule of a family for questions of these colours, in two parts together with another one.

    A recolouring may be combined with any other family; of two operations exactly one moves squares, and either comes
    first. None if the settings have no family to combine it with.
    """
    names = [family]
    if num_parts > 1:
        partners = [name for name in source.families if are_combined(family, name)]
        if not partners:
            return None
        other = _choose(rng, partners)
        names = _choose(rng, [[family, other], [other, family]])
    operations = [
        _choose(rng, [operation for operation in OPERATIONS if operation.family == name])
        for name in names
        if name != RECOLOUR
    ]
    steps = [
        (operation, int(rng.integers(1, NUM_COLOURS)) if operation.has_colour else 0)
        for operation in operations
    ]
    return Rule(_draw_map(rng, colours) if RECOLOUR in names else (), tuple(steps))


def are_combined(first: str, second: str) -> bool:
    """Allow two families in one rule if one recolours, or exactly one moves squares."""
    if RECOLOUR in (first, second):
        return first != second
    return FAMILIES[first].moves != FAMILIES[second].moves


def _choose(rng: np.random.Generator, options: Sequence[T]) -> T:
    return options[int(rng.integers(len(options)))]


def _draw_map(rng: np.random.Generator, colours: Colours) -> tuple[tuple[int, int], ...]:
    """Draw an injective map of the colours, without those that stay."""
    others = draw_colours(rng, len(colours))
    return tuple(
        sorted((colour, other) for colour, other in zip(colours, others, strict=True) if colour != other)
    )


@lru_cache(maxsize=1)
def fixed_questions() -> tuple[Grid, ...]:
    """Draw the questions whose answers identify a rule."""
    rng = keyed_rng(0, Purpose.GENERATED, 0, 2)
    return tuple(scatter(rng, 3, 7, tuple(range(1, NUM_COLOURS))) for _ in range(24))


@lru_cache(maxsize=4096)
def fingerprint(rule: Rule) -> bytes:
    """Hash a rule's answers to fixed questions; rules that give the same answers have the same hash."""
    answers = (rule.answer(question) for question in fixed_questions())
    return hashlib.sha256(
        b"|".join(b"" if answer is None else as_bytes(answer) for answer in answers)
    ).digest()


def rule_facts(puzzle: GeneratedPuzzle) -> RuleFacts:
    """Describe the rule of a puzzle for tables and groups."""
    return RuleFacts(puzzle.family, fingerprint(puzzle.rule).hex()[:16], len(puzzle.rule.families))


def is_evaluation_rule(rule_hash: bytes) -> bool:
    """Select about half of all rules, by their fingerprints, for the evaluation puzzles."""
    return rule_hash[0] % 2 == 0


# Pairs.


def draw_pairs(
    rng: np.random.Generator, source: GeneratedArc, rule: Rule, colours: Colours, used: set[bytes]
) -> tuple[list[Pair], list[Pair]] | None:
    """Draw demonstrations of a rule and tests whose answers they determine.

    The result is None after NUM_SETS attempts, or if too few grids show the rule.

    `used` has the canonical forms of the pairs so far, which may not occur again.
    """
    num_demonstrations, num_tests = (
        int(rng.integers(*ends, endpoint=True)) for ends in (NUM_DEMONSTRATIONS, NUM_TESTS)
    )
    for _ in range(NUM_SETS):
        pairs = _draw_different(rng, source, rule, colours, used, num_demonstrations + num_tests)
        if pairs is None:
            return None
        demonstrations, tests = pairs[:num_demonstrations], pairs[num_demonstrations:]
        if is_determined(source, rule, demonstrations, tests):
            return demonstrations, tests
    return None


def _draw_different(
    rng: np.random.Generator, source: GeneratedArc, rule: Rule, colours: Colours, used: set[bytes], num: int
) -> list[Pair] | None:
    """Draw `num` different pairs of a rule, each with a changed grid; None if NUM_GRIDS grids do not suffice."""
    families = [FAMILIES[operation.family] for operation, _ in rule.steps]
    least, most = source.sides
    for family in families:
        most //= family.growth
    sample = families[0].sample if families else scatter
    forms, pairs = set[bytes](), list[Pair]()
    for _ in range(NUM_GRIDS):
        question = sample(rng, min(least, most), most, colours)
        answer = rule.answer(question)
        if answer is None or max(question.shape + answer.shape) > source.sides[1]:
            continue
        pair = Pair(question, np.ascontiguousarray(answer))
        form = form_of(pair)
        if as_bytes(pair.answer) != as_bytes(question) and form not in used | forms:
            forms.add(form)
            pairs.append(pair)
        if len(pairs) == num:
            return pairs
    return None


def form_of(pair: Pair) -> bytes:
    """Compute the canonical form of a pair, the same for all its dihedral transforms and recolourings."""
    return canonical_form([pair.question, pair.answer])


def is_determined(source: GeneratedArc, rule: Rule, demonstrations: list[Pair], tests: list[Pair]) -> bool:
    """Check that no rule of the grammar explains the demonstrations with other answers, or with fewer parts.

    The tests must have no colours that the demonstrations do not have.
    """
    questions = [pair.question for pair in demonstrations]
    seen = {colour for question in questions for colour in question.reshape(-1).tolist()}
    if any(not seen.issuperset(test.question.reshape(-1).tolist()) for test in tests):
        return False
    right = tuple(as_bytes(test.answer) for test in tests)
    names, is_explained = frozenset(source.families), False
    for num_parts, answers in explanations(
        demonstrations, [test.question for test in tests], names, source.max_parts
    ):
        if answers != right or num_parts < len(rule.families):
            return False
        is_explained = True
    assert is_explained, f"the search misses {rule}"
    return True
