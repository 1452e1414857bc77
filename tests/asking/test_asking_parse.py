"""Replies are read by one rule: the last well-formed grid, however it is decorated, and nothing that is none."""

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.asking.parse import Kind, Reply, find_grid, read_reply
from serrm.asking.prompts import format_rows
from serrm.puzzles.sudoku.grid import box_for_side

SIDES = st.sampled_from([4, 6, 9, 16, 25])
CHATTER = [
    "Sure! Here is the solved grid:",
    "I started with row 1, where 3 cannot stand.",
    "**Solution**",
    "In column 4 there are 1, 2 and 3.",
    "Step 2: look at box 7",
    "1234567 is a number",
    "",
    "---",
]
NINE = "534678912\n672195348\n198342567\n859761423\n426853791\n713924856\n961537284\n287419635\n345286179"


@st.composite
def grids(draw: st.DrawFn, side: int | None = None) -> np.ndarray:
    """A flat grid of values 1…n, any."""
    n = draw(SIDES) if side is None else side
    seed = draw(st.integers(0, 2**32 - 1))
    return np.random.default_rng(seed).integers(1, n + 1, n * n).astype(np.uint8)


@st.composite
def decorated(draw: st.DrawFn, grid: np.ndarray) -> str:
    """A grid as some model might write it."""
    side = round(len(grid) ** 0.5)
    rows = grid.reshape(side, side).tolist()
    form = draw(
        st.sampled_from(["rows", "boxes", "json", "json lines", "table", "one line", "labels", "compact"])
    )
    width = box_for_side(side).cols
    match form:
        case "boxes":
            lines = []
            for number, row in enumerate(rows):
                if number and number % box_for_side(side).rows == 0:
                    lines.append(draw(st.sampled_from(["", "------+-------", "├───┼───┤", "==="])))
                parts = [" ".join(map(str, row[at : at + width])) for at in range(0, side, width)]
                lines.append(draw(st.sampled_from([" | ", "  ", " ║ "])).join(parts))
        case "json":
            lines = [json.dumps({"solution": rows})]
        case "json lines":
            lines = ["[", *(f"  {row}," for row in rows), "]"]
        case "table":
            lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
            lines.insert(1, "|---" * side + "|")
        case "one line":
            lines = [" ".join(map(str, grid.tolist()))]
        case "labels":
            label = draw(
                st.sampled_from(["Row {}: ", "**Row {}:** ", "R{} = ", "{}. ", "- Row {} - ", "{}) "])
            )
            lines = [label.format(number) + " ".join(map(str, row)) for number, row in enumerate(rows, 1)]
        case "compact" if side <= 9:
            lines = ["".join(map(str, row)) for row in rows]
        case _:
            separator = draw(st.sampled_from([" ", "  ", ", ", ",", "\t", "|", " & ", "; "]))
            lines = [separator.join(map(str, row)) for row in rows]
    end = draw(st.sampled_from(["\n", "\r\n", "  \n"]))
    text = end.join(lines)
    fence = draw(st.sampled_from(["", "```", "~~~", "```text"]))
    return f"{fence}{end}{text}{end}{fence[:3]}" if fence else text


@st.composite
def replies(draw: st.DrawFn) -> tuple[np.ndarray, str]:
    """An answer and a reply that ends with it: thoughts, chatter and other grids before, chatter behind."""
    answer = draw(grids())
    side = round(len(answer) ** 0.5)
    parts = []
    if draw(st.booleans()):
        parts.append(f"<think>\n{format_rows(draw(grids(side)))}\n</think>")
    if draw(st.booleans()):
        parts.append(draw(decorated(draw(grids(side)))))
        parts.append("No, that was wrong.")
    parts += draw(st.lists(st.sampled_from(CHATTER), max_size=2))
    parts.append(draw(st.sampled_from(["Answer:", "```", "So:"])))
    parts.append(draw(decorated(answer)))
    parts += draw(st.lists(st.sampled_from(CHATTER), max_size=2))
    return answer, "\n".join(parts)


@settings(max_examples=60)
@given(replies())
def test_the_last_grid_is_read_whatever_its_form(case: tuple[np.ndarray, str]) -> None:
    answer, text = case
    found = find_grid(text, round(len(answer) ** 0.5))
    assert found is not None
    assert found.tolist() == answer.tolist()


@settings(max_examples=40)
@given(grids(), st.data())
def test_a_grid_with_a_blank_a_foreign_number_or_a_missing_row_is_none(
    grid: np.ndarray, data: st.DataObject
) -> None:
    side = round(len(grid) ** 0.5)
    place = data.draw(st.integers(0, len(grid) - 1))
    cells = [str(value) for value in grid.tolist()]
    cells[place] = data.draw(st.sampled_from([".", "0", "_", str(side + 1), "x", "100", "-1x"]))
    lines = [" ".join(cells[start : start + side]) for start in range(0, len(cells), side)]
    assert find_grid("\n".join(lines), side) is None
    del lines[place // side]
    assert find_grid("\n".join(lines), side) is None


@given(st.text(), SIDES)
def test_any_text_is_some_outcome(text: str, side: int) -> None:
    outcome = read_reply(Reply(text), side)
    assert (outcome.grid is None) == (outcome.kind != Kind.answered)
    assert outcome.kind in (Kind.answered, Kind.malformed, Kind.refused)


@pytest.mark.parametrize(
    "text",
    [
        NINE.replace("\n", ""),
        "1 2 3 4 5 6 7 8 9\n" + NINE,  # the columns' numbers above it
        NINE + "\n\n" + NINE,
        NINE + "\n\nUnfinished second try:\n" + NINE[:40],
        "\n".join(f"{row}." for row in NINE.split()),
        "\n".join(f"{' '.join(row)}  \\\\" for row in NINE.split()),
        "<think>" + "1" * 81 + "</think>" + NINE,
        NINE + "\nCheck: every row, column and box holds 1 to 9.",
        NINE + "\n" + "\n".join(f"Column {number}: 1 2 3 4 5 6 7 8 9" for number in range(1, 10)),
    ],
)
def test_forms_that_are_read(text: str) -> None:
    found = find_grid(text, 9)
    assert found is not None
    assert "".join(map(str, found.tolist())) == NINE.replace("\n", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<think>" + NINE,  # a thought that never ended
        NINE[:-1],
        NINE + "\n123456789",  # ten rows: which nine?
        NINE.replace("\n", "\nand then\n"),
        NINE.replace("\n", "\n```\n"),
        NINE.replace("5", "5 ", 3)[:-10],
        "5" * 80,
        "9" * 10_000,
    ],
)
def test_forms_that_are_no_grid(text: str) -> None:
    assert find_grid(text, 9) is None


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply("I'm sorry, but I can't help with that."), Kind.refused),
        (Reply("I’m sorry, but I can’t help with that."), Kind.refused),
        (Reply("x " * 5000 + "\nWe cannot provide the full grid."), Kind.refused),
        (Reply(""), Kind.refused),
        (Reply("", refusal="No."), Kind.refused),
        (Reply("Partly 5 3 4", is_filtered=True), Kind.refused),
        (Reply("", is_cut=True), Kind.malformed),
        (Reply("<think>and then", is_cut=True), Kind.malformed),
        (Reply("Row 1 cannot hold a 5, the puzzle can't be wrong."), Kind.malformed),
        (Reply("x " * 500 + "I can't place 5 here. " + "x " * 500), Kind.malformed),
        (Reply("5 3 4"), Kind.malformed),
        (Reply(f"Sorry, I can't be sure.\n{NINE}"), Kind.answered),
    ],
)
def test_what_becomes_of_a_reply(reply: Reply, kind: Kind) -> None:
    assert read_reply(reply, 9).kind == kind


@pytest.mark.parametrize(
    "part", ["1 ", "1, 2\n", "[" * 9 + "\n", "- - ", "Row 1: ", "the grid ", "`", "|-", "1."]
)
def test_long_replies_are_read_in_linear_time(part: str) -> None:
    start = time.process_time()
    read_reply(Reply(part * (60_000 // len(part))), 9)
    assert time.process_time() - start < 2.0  # some hundred times what it takes
