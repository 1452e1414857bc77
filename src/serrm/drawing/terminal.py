"""Panels in a terminal: coloured cells where there are colours, and characters that say the same where not.

For `serrm show`. Panels stand side by side as far as the width allows and below each other from there on; a line
below explains the marks that occur. (After the paper's figures of its tasks.)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from serrm.drawing.blocks import (
    BOLD,
    CHANGED,
    FILLED_DIGIT,
    HATCH,
    WRONG_DIGIT,
    Manner,
    arc_block,
    maze_block,
    sudoku_block,
)
from serrm.drawing.colours import CHANGED_TINT, FILLED, PAPER, WRONG, WRONG_TINT
from serrm.drawing.marks import MEANINGS, marks_of
from serrm.drawing.panels import ARC_TASKS, Panel

GAP: Final = 4
DIM: Final = Style(dim=True)
BLOCKS: Final[dict[str, Callable[[Panel, Manner], list[Text]]]] = {
    "sudoku": sudoku_block,
    "maze": maze_block,
    **dict.fromkeys(ARC_TASKS, arc_block),
}

_ON_PAPER: Final = Style(color=FILLED, bgcolor=PAPER)
SAMPLES: Final[dict[str, dict[str, tuple[str, Style]]]] = {
    "sudoku": {
        "given": ("5", BOLD),
        "filled": ("5", FILLED_DIGIT),
        "wrong": ("5", WRONG_DIGIT),
        "changed": ("5", CHANGED),
    },
    "maze": {
        "path": ("━━", _ON_PAPER),
        "stray": ("━━", Style(color=WRONG, bgcolor=PAPER)),
        "missed": ("◦ ", _ON_PAPER),
        "overwritten": ("  ", Style(bgcolor=WRONG_TINT)),
        "changed": ("  ", Style(bgcolor=CHANGED_TINT)),
    },
    "arc": {"wrong": ("><", BOLD), "changed": (" ▝", BOLD), "end": ("▒▒", HATCH), "padding": ("░░", HATCH)},
}
PLAIN_SAMPLES: Final[dict[str, dict[str, tuple[str, Style]]]] = {
    "sudoku": {"wrong": ("*", BOLD), "changed": ("'", BOLD)},
    "maze": {"stray": ("x", BOLD), "missed": (".", BOLD), "overwritten": ("!", BOLD)},
    "arc": {"wrong": ("*", BOLD), "changed": ("'", BOLD), "end": ("|", BOLD), "padding": (".", BOLD)},
}
"""How a mark looks with colours and without, where some need none."""
ASCII: Final = str.maketrans("━◦▝▒░×", "-.'|.x")


@dataclass(frozen=True, eq=False)
class Drawing:
    """Panels of one task as something to print: `console.print(Drawing(rows))`.

    Each row begins on a new line; None leaves a place out.
    """

    rows: Sequence[Sequence[Panel | None]]
    title: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The lines, for what the terminal can do."""
        manner = Manner(has_colours=console.color_system is not None, is_ascii=options.ascii_only)
        panels = [panel for row in self.rows for panel in row if panel is not None]
        if self.title:
            yield _cut(_said(self.title, BOLD, manner))
        for row in self.rows:
            present = [panel for panel in row if panel is not None]
            blocks = [_framed(panel, manner, options.max_width) for panel in present]
            for number, group in enumerate(_groups(blocks, options.max_width)):
                if self.title or number or row is not self.rows[0]:
                    yield Text()
                yield from _beside(group)
        if legend := _legend(panels, manner):
            yield from (Text(), legend)


def _framed(panel: Panel, manner: Manner, width: int) -> list[Text]:
    """Caption, remark and grid, in half the width where a cell of two characters makes it too wide."""
    grid = BLOCKS[panel.task](panel, manner)
    if _width(grid) > width and not manner.is_ascii:
        grid = BLOCKS[panel.task](panel, replace(manner, is_small=True))
    return [_said(panel.caption, BOLD, manner), _said(panel.remark, DIM, manner), *grid]


def _width(block: Sequence[Text]) -> int:
    return max((line.cell_len for line in block), default=0)


def _groups(blocks: Sequence[list[Text]], width: int) -> Iterator[list[list[Text]]]:
    """As many blocks as fit beside each other, then as many of the rest, and so on."""
    group: list[list[Text]] = []
    for block in blocks:
        if group and sum(map(_width, [*group, block])) + GAP * len(group) > width:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _beside(blocks: Sequence[list[Text]]) -> Iterator[Text]:
    for number in range(max(map(len, blocks))):
        line, end = Text(), 0
        for block in blocks:
            if number < len(block):
                line.append(" " * (end - line.cell_len))
                line.append_text(block[number])
            end += _width(block) + GAP
        yield _cut(line)


def _legend(panels: Sequence[Panel], manner: Manner) -> Text:
    """What the marks mean that need to be explained; nothing without any."""
    kind = "arc" if panels[0].task in ARC_TASKS else panels[0].task
    samples = SAMPLES[kind] if manner.has_colours else PLAIN_SAMPLES[kind]
    line = Text()
    for name in marks_of(panels):
        if name in samples:
            line.append("    " if line else "")
            line.append_text(_said(*samples[name], manner))
            line.append(f" {MEANINGS[name]}")
    return line


def _said(text: str, style: Style, manner: Manner) -> Text:
    """A text in characters that the terminal has."""
    if manner.is_ascii:
        text = text.translate(ASCII).encode("ascii", "replace").decode("ascii")
    return Text(text, style)


def _cut(line: Text) -> Text:
    """A line that ends where the terminal does, and does not go on in the next one."""
    line.no_wrap, line.overflow = True, "crop"
    return line
