"""Forms in which people write puzzles, as functions of a grid: cells row by row, 0 for a blank."""

import json
from collections.abc import Callable, Sequence

SIGNS = "123456789ABCDEFGHIJKLMNOP"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXY"
HEADER = (
    "#Aname",
    "#Dof a collection",
    "#Cnone",
    "#B2026-01-02",
    "#Shome",
    "#Leasy",
    "#Uhttps://example.org/a/b",
)

Grid = Sequence[int]


def side_of(grid: Grid) -> int:
    return round(len(grid) ** 0.5)


def line(grid: Grid, blank: str = ".", signs: str = SIGNS) -> str:
    """All symbols in a line."""
    return "".join(signs[cell - 1] if cell else blank for cell in grid)


def rows(grid: Grid, blank: str = ".", joiner: str = "") -> list[str]:
    side, text = side_of(grid), line(grid, blank)
    return [joiner.join(text[start : start + side]) for start in range(0, side**2, side)]


def framed(grid: Grid, bar: str, joiner: str, ruling: str, edge: str = "") -> str:
    """Rows with bars between boxes and a ruling between bands; with an edge also around the grid."""
    side = side_of(grid)
    height = {4: 2, 6: 2, 9: 3, 16: 4, 25: 5}[side]
    width, shown = side // height, list[str]()
    for number, row in enumerate(rows(grid)):
        if number and number % height == 0:
            shown.append(ruling)
        parts = (joiner.join(row[start : start + width]) for start in range(0, side, width))
        shown.append(f"{edge}{bar.join(parts)}{edge}")
    return "\n".join([ruling, *shown, ruling] if edge else shown)


def cells(grid: Grid, blank: object = 0) -> list[list[object]]:
    side = side_of(grid)
    return [[cell or blank for cell in grid[start : start + side]] for start in range(0, side**2, side)]


TEXTS: dict[str, Callable[[Grid], str]] = {
    **{f"blank {blank}": lambda grid, blank=blank: line(grid, blank) for blank in ".0xX_-*?"},
    "spaces for blanks": lambda grid: line(grid, " "),
    "name before": lambda grid: f"Puzzle_17 {line(grid)}",
    "rating after": lambda grid: f"{line(grid)}\t7.1/1.2/1.2",
    "hash and rating": lambda grid: f"00a1b2c3d4e5 {line(grid, '0')}  7.1",
    "comment after": lambda grid: f"{line(grid)} # hard, by hand",
    "ED": lambda grid: f"{line(grid)} ED=7.2/6.6/2.6",
    "columns without header": lambda grid: f"17,{line(grid)},easy",
    "header of other names": lambda grid: f"id;clues;text\n1;30;{line(grid)}",
    "semicolons": lambda grid: f"id;puzzle;rating\n1;{line(grid)};2",
    "tabs": lambda grid: f"id\tpuzzle\n1\t{line(grid)}",
    "quotes": lambda grid: f'"id","quizzes"\n"1","{line(grid)}"',
    "groups": lambda grid: " ".join(rows(grid)),
    "commas": lambda grid: ",".join(line(grid)),
    "empty fields": lambda grid: ",".join(str(cell or "") for cell in grid),
    "numbers": lambda grid: " ".join(map(str, grid)),
    "rows": lambda grid: "\n".join(rows(grid)),
    "rows with a trailing blank": lambda grid: "\n".join(f"{row} " for row in rows(grid)),
    "rows with CR": lambda grid: "\r\n".join(rows(grid)),
    "rows of dashes": lambda grid: "\n".join(rows(grid, "-")),
    "rows with spaces": lambda grid: "\n".join(rows(grid, ".", " ")),
    "rows with commas": lambda grid: "\n".join(rows(grid, "0", ",")),
    "rows with tabs and no blanks": lambda grid: "\n".join("\t".join(map(str, row)) for row in cells(grid, "")),
    "rows of numbers": lambda grid: "\n".join(" ".join(map(str, row)) for row in cells(grid)),
    "rows with a comment": lambda grid: "\n".join(["# mine", *rows(grid)]),
    "sdk": lambda grid: "\n".join([*HEADER, *rows(grid)]),
    "sections": lambda grid: "\n".join(["[Puzzle]", *rows(grid)]),
    "title": lambda grid: "\n".join(["Grid 01", *rows(grid, "0")]),
    "ss": lambda grid: framed(grid, "|", "", "-" * (side_of(grid) + 5)),
    "ss with edges": lambda grid: framed(grid, "|", "", "*" + "-" * (side_of(grid) + 2) + "*", "|"),
    "plus": lambda grid: framed(grid, "|", " ", "+-------+-------+-------+", "|"),
    "terminal": lambda grid: framed(grid, "│ ", " ", "─────┼─────"),
    "bars": lambda grid: framed(grid, " | ", " ", "-------|-------|-------"),
    "markup": lambda grid: f'<game>\n<puzzle data="{line(grid, "0")}"/>\n</game>',
    "json rows": lambda grid: json.dumps(cells(grid)),
    "json rows of null": lambda grid: json.dumps(cells(grid, None)),
    "json rows of floats": lambda grid: json.dumps([[float(str(cell)) for cell in row] for row in cells(grid)]),
    "json rows of text": lambda grid: json.dumps(rows(grid)),
    "json text": lambda grid: json.dumps([line(grid)]),
    "json flat": lambda grid: json.dumps(list(grid)),
    "json object": lambda grid: json.dumps({"puzzle": line(grid), "difficulty": "hard"}),
    "json line of an answer": lambda grid: json.dumps(
        {"place": "a:1", "task": "sudoku", "question": line(grid), "answer": "", "status": "unverified"}
    ),
    "python": lambda grid: str(cells(grid, None)),
    "assignment": lambda grid: f"board = {cells(grid)}",
    "array": lambda grid: f"np.array({cells(grid)}, dtype=np.int64)",
    "code": lambda grid: "{" + ",\n ".join("{" + ",".join(map(str, row)) + "}" for row in cells(grid)) + "};",
}  # fmt: skip
"""Texts of a grid up to 9×9."""

LARGE: dict[str, Callable[[Grid], str]] = {
    "letters": lambda grid: line(grid, ".", LETTERS),
    "small letters": lambda grid: line(grid, "-", LETTERS.lower()),
    "digits and small letters": lambda grid: line(grid, ".", SIGNS.lower()),
    **{name: TEXTS[name] for name in (
        "blank .", "blank 0", "rating after", "comment after", "numbers", "rows", "rows with spaces",
        "rows of numbers", "rows with CR", "json rows", "json flat", "json rows of null", "bars", "semicolons",
    )},
}  # fmt: skip
"""Texts of a grid larger than 9×9."""
