"""Tables as Markdown, CSV and LaTeX, and the form of numbers in them."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import pandas as pd

from serrm.reporting.paper import DASH

NOTE_ON_SEEDS: Final = (
    " Scores of several seeds are mean ± standard deviation (range of the seeds' intervals), with all seeds in square "
    "brackets if they span more than 30 points."
)
READ_MORE: Final = "[How to read the tables](notes.md); [differences from the paper's recipes](recipes.md)"
LATEX: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"†": r"\dag{}", "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$"}
    | {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "\\": r"\textbackslash{}", "–": "--", "—": "---"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


class Table(NamedTuple):
    """A table for Markdown, CSV and LaTeX: the name of its files, title, caption, frame, and notes beneath."""

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    notes: Sequence[str] = ()


def counts_text(numbers: Iterable[int | None]) -> str:
    """Write the different numbers of puzzles, such as "100 or 1,000"; a dash if none is known."""
    return " or ".join(f"{number:,}" for number in sorted(set(filter(None, numbers)))) or DASH


def flops_text(flops: int | None, num_digits: int = 2) -> str:
    """Format FLOPs with some digits, such as "5.0e14"; a dash for none."""
    return f"{flops:.{num_digits - 1}e}".replace("e+", "e") if flops else DASH


def markdown(frame: pd.DataFrame, style: str = "github") -> str:
    """Write a frame as text in a style of the package `tabulate`."""
    return str(frame.to_markdown(index=False, tablefmt=style, disable_numparse=True))


def to_markdown(table: Table) -> str:
    """Write a table as Markdown, between its title and its notes."""
    text = markdown(table.frame.map(lambda text: text.replace("|", r"\|")))
    notes = "".join(f"- {note}\n" for note in table.notes) + "\n" if table.notes else ""
    return f"### {table.title}\n\n{table.caption}\n\n{text}\n\n{notes}{READ_MORE}\n"


def to_csv(frame: pd.DataFrame) -> str:
    """Write a frame as a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """Write a table as a LaTeX float (`table*`), which needs the packages booktabs and graphicx."""
    frame = table.frame.map(lambda text: text.translate(LATEX)).rename(
        columns=lambda name: name.translate(LATEX)
    )
    notes = "".join(f"{note.translate(LATEX)}\\par\n" for note in table.notes)
    caption = f"{table.title}. {table.caption}".translate(LATEX)
    return (
        f"% needs booktabs and graphicx\n\\begin{{table*}}[t]\n\\centering\n\\caption{{{caption}}}\n"
        f"\\label{{tab:ours_{table.name}}}\n"
        f"\\resizebox{{\\linewidth}}{{!}}{{%\n{frame.to_latex(index=False).rstrip()}}}\n"
        f"\\par\\medskip\\raggedright\\footnotesize\n{notes}\\end{{table*}}\n"
    )
