"""Each puzzle is answered as if it were alone, within its budget, and every answer called verified obeys the rules."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.inference.predict import LoadedModel
from serrm.puzzles.arc.grids import decode
from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.tasks import grid_task
from serrm.reading.question import Question
from serrm.reading.reader import questions_of, read_text
from serrm.solving.solve import Answer, SolveOptions, Status, in_order, solve
from tests.conftest import CLUES, MakeModel
from tests.oracle import is_right, make_oracle
from tests.references import count_solutions, is_shortest_path

CONTRADICTION = "11.............."  # a clash, seen at once
DEAD_END = "123....4........"  # no digit is left for a cell
MAZE, WALLED = "S  #" + " # #" + "    " + "## G", "S# #" + "## #" + "    " + "## G"
HOPELESS = "......1..4533........5..5..3..4....."  # no solution either, which only search finds out


@pytest.fixture(scope="module")
def oracle(untrained: MakeModel) -> LoadedModel:
    """Knows each Sudoku at the step that its clues say."""
    loaded = untrained()
    make_oracle(loaded.model, lambda question, _: 1 + int(question.sum()) % 5)
    return loaded


@pytest.fixture(scope="module")
def puzzles() -> list[str]:
    """Sudoku of three sizes, mixed."""
    rng = np.random.default_rng(0)
    grids = [p.question for side in (4, 6, 9) for p in generate_puzzles(side, 8, rng, CLUES[side])]
    return [SUDOKU_TEXT.format(grids[index]) for index in rng.permutation(len(grids))]


def run(loaded: LoadedModel, lines: list[str], **options: Any) -> list[Answer]:
    return answers_to(loaded, read_text("\n".join(lines), "input"), **options)


def answers_to(loaded: LoadedModel, questions: list[Question], **options: Any) -> list[Answer]:
    chosen = SolveOptions(**{"budget": 6, "batch_size": 3, **options})
    return list(in_order(solve(questions, lambda _: loaded, chosen)))


@pytest.mark.parametrize("batch_size", [1, 3, 40])
def test_answers_of_any_size_come_in_order(oracle: LoadedModel, puzzles: list[str], batch_size: int) -> None:
    answers = run(oracle, puzzles, batch_size=batch_size)
    assert [answer.question for answer in answers] == puzzles
    assert [answer.place for answer in answers] == [f"input:{n + 1}" for n in range(len(puzzles))]
    for answer in answers:
        assert (answer.status, answer.by, answer.attempts) == (Status.VERIFIED, "network", 1)
        assert is_right(answer.question, answer.answer)
        tokens = SUDOKU_TEXT.read(answer.question).astype(int)
        assert answer.steps == 1 + int(tokens.sum()) % 5
        assert answer.seconds > 0 and answer.trace is None


@settings(max_examples=20)
@given(
    st.lists(st.one_of(st.integers(0, 23), st.sampled_from([CONTRADICTION, MAZE])), min_size=1, max_size=20),
    st.integers(1, 5),
)
def test_neighbours_change_no_answer(
    oracle: LoadedModel, puzzles: list[str], chosen: list[int | str], batch_size: int
) -> None:
    lines = [puzzles[each] if isinstance(each, int) else each for each in chosen]
    answers = run(oracle, lines, batch_size=batch_size)
    expected = [run(oracle, [line]) for line in lines]
    assert [(a.answer, a.status, a.steps, a.remark) for a in answers] == [
        (a.answer, a.status, a.steps, a.remark) for alone in expected for a in alone
    ]


def test_what_has_no_solution_is_said(untrained: MakeModel) -> None:
    lines = [CONTRADICTION, DEAD_END, HOPELESS]
    plain, exact = (run(untrained(), lines, is_exact=is_exact, budget=2) for is_exact in (False, True))
    assert [a.status for a in plain] == [Status.CONTRADICTORY] * 2 + [Status.UNVERIFIED]
    assert [a.status for a in exact] == [Status.CONTRADICTORY] * 3
    assert "twice" in plain[0].remark
    assert "contradict" in plain[1].remark and not plain[1].steps
    assert exact[2].by == "cp-sat"
    assert all(not answer.answer and answer.remark for answer in exact)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 3), st.booleans())
def test_exact_answers_are_right(untrained: MakeModel, seed: int, num_changed: int, knows: bool) -> None:
    loaded, rng = untrained(), np.random.default_rng(seed)
    if knows:
        make_oracle(loaded.model, lambda question, _: 1 + int(question.sum()) % 4)
    side = (4, 6, 9)[seed % 3]
    (puzzle,) = generate_puzzles(side, 1, rng, CLUES[side])
    changed = puzzle.question.copy()
    for place in rng.choice(side**2, num_changed, replace=False):
        changed[place] = rng.integers(1, side + 2)
    question = SUDOKU_TEXT.format(changed)
    (answer,) = run(loaded, [question], is_exact=True, budget=2)
    assert (answer.status == Status.VERIFIED) == (grid_task("sudoku").solution(changed) is not None)
    if answer.status == Status.VERIFIED:
        assert is_right(question, answer.answer)
        if answer.by == "cp-sat":
            assert ("one of several" in answer.remark) == (count_solutions(changed) > 1)
    else:
        assert answer.status == Status.CONTRADICTORY


def test_guesses_solve_what_needs_more_clues(untrained: MakeModel, puzzles: list[str]) -> None:
    loaded, blanks = untrained(), min(puzzle.count(".") for puzzle in puzzles if len(puzzle) == 16)
    small = [puzzle for puzzle in puzzles if len(puzzle) == 16 and puzzle.count(".") == blanks]
    make_oracle(loaded.model, lambda question, _: 2 if (question == 1).sum() < blanks else 99)
    alone, more = run(loaded, small, budget=6), run(loaded, small, budget=166, max_steps=6)
    assert {answer.status for answer in alone} == {Status.UNVERIFIED}
    assert {answer.status for answer in more} == {Status.VERIFIED}
    assert all(is_right(a.question, a.answer) and a.attempts > 1 for a in more)


def test_several_solutions_are_said(oracle: LoadedModel) -> None:
    plain, single = run(oracle, ["1.3.34..........", "1.3.34...14...21"], max_steps=6)
    assert plain.status == Status.VERIFIED and "several solutions" in plain.remark
    assert single.remark == ""


def test_a_grid_without_clues_costs_no_steps(oracle: LoadedModel) -> None:
    [plain] = run(oracle, ["." * 81])
    assert (plain.status, plain.steps) == (Status.UNSUPPORTED, 0) and "--exact" in plain.remark
    [exact] = run(oracle, ["." * 81], is_exact=True)
    assert (exact.status, exact.by, exact.steps) == (Status.VERIFIED, "cp-sat", 0)


def test_a_hopeless_puzzle_costs_its_budget_and_holds_no_other_back(oracle: LoadedModel) -> None:
    questions = read_text("\n".join([HOPELESS, *["1.3.34...14...21"] * 6]), "input")
    done = list(solve(questions, lambda _: oracle, SolveOptions(budget=90, batch_size=2)))
    hopeless, *others = in_order(done)
    assert (hopeless.status, hopeless.steps) == (Status.UNVERIFIED, 16 + 4 * ((90 - 16) // 4))
    assert {answer.status for answer in others} == {Status.VERIFIED}
    (late,) = run(oracle, [HOPELESS], budget=4096, seconds=1e-6)
    assert (late.status, late.steps) == (Status.UNVERIFIED, 1)


def test_a_size_or_task_that_the_checkpoint_cannot_take(untrained: MakeModel) -> None:
    lines = [MAZE, "1" + "." * 80, "1" + "." * 15]
    maze, whole, other = run(untrained(model={"symbols": "untied"}), lines, budget=1)
    assert maze.status == other.status == Status.UNSUPPORTED and whole.status == Status.UNVERIFIED
    assert "the checkpoint's task is sudoku" in maze.remark
    assert "untied symbols are learned for 11 planes" in other.remark


def test_mazes(untrained: MakeModel) -> None:
    loaded = untrained(num_symbols=6, data_set="maze", config={"side": 4})
    plain, exact = (run(loaded, [MAZE, WALLED], is_exact=is_exact, budget=2) for is_exact in (False, True))
    for answers in (plain, exact):
        assert answers[1].status == Status.CONTRADICTORY
        assert answers[1].remark == "there is no path from S to G"
    assert plain[0].status == Status.UNVERIFIED and plain[0].grid.shape == (4, 4)
    assert len(plain[0].answer) == 16
    assert exact[0].status == Status.VERIFIED
    assert is_shortest_path(MAZE_TEXT.read(MAZE), MAZE_TEXT.read(exact[0].answer))


def arc(names: list[str]) -> list[Question]:
    task = {"train": [], "test": [{"input": [[1, 2, 3], [0, 0, 4]]}]}
    return list(questions_of(dict.fromkeys(names, task)))


def test_arc_puzzles_are_voted_on_by_their_augmentations(untrained: MakeModel) -> None:
    config = {"side": 5, "puzzles": ["aa", "bb", "cc"]}
    run = {"data_set": "arc_agi_1", "model": {"task_types": "factored"}, "arrays": {"num_augmentations": 7}}
    loaded = untrained(num_symbols=12, config=config, **run)
    seen: list[tuple[Any, Any]] = []
    rows = loaded.model.task_vectors

    def watched(task_types: torch.Tensor) -> Any:
        seen.append(tuple(task_types.tolist()))
        return rows(task_types)

    loaded.model.task_vectors = watched
    known, unknown = answers_to(loaded, arc(["bb", "zz"]), budget=24, batch_size=64, has_trace=True)
    assert seen[-1] == tuple(range(8, 16)), "a row per augmentation of the second puzzle"
    assert (known.status, known.attempts, known.task) == (Status.UNVERIFIED, 8, "arc")
    assert known.grid.ndim == 2
    grid = np.array(json.loads(known.answer), dtype=np.uint8)
    assert np.array_equal(
        decode(known.trace.predictions[-1], 5), grid.reshape(grid.shape if grid.size else (0, 0))
    )
    assert unknown.status == Status.UNSUPPORTED
    assert "'zz'" in unknown.remark


def test_arc_is_refused_plainly_where_nothing_is_known(untrained: MakeModel) -> None:
    run = {"data_set": "arc_agi_2", "model": {"task_types": "factored"}, "arrays": {"num_augmentations": 7}}
    for config, message in (({"side": 5}, "ARC"), ({"side": 2, "puzzles": ["aa", "bb", "cc"]}, "side 2")):
        (answer,) = answers_to(untrained(num_symbols=12, config=config, **run), arc(["aa"]))
        assert answer.status == Status.UNSUPPORTED
        assert message in answer.remark
