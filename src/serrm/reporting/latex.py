"""Tables as LaTeX floats in the paper's own look: booktabs rules, raised intervals, notes beneath."""

import unicodedata
from itertools import groupby

from serrm.reporting.cells import Comparison, Reading
from serrm.reporting.notes import QUOTED
from serrm.reporting.tables import Column, Row, Table

PREAMBLE = "% needs \\usepackage{booktabs,graphicx,amsmath}; written by the tabulate stage\n"

ARROWS = {"": "", "above": r"\,$\uparrow$", "below": r"\,$\downarrow$"}

# What LaTeX reads as a command, and what pdfTeX's fonts lack.
_ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "—": "---",
    "’": "'",
    "†": r"$\dagger$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "√": r"$\surd$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "−": r"$-$",
    "→": r"$\to$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "²": "$^2$",
}


def to_latex(table: Table) -> str:
    """A table* float that compiles as it stands after booktabs, graphicx and amsmath."""
    stub = ["Model", *table.attributes, ""]
    names = [escape(column.name) + _marks(column.marks) for column in table.columns]
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape(table.title)}. {escape(table.caption)}}}",
        rf"\label{{tab:ours_{table.number}}}",
        r"\resizebox{\linewidth}{!}{%",
        rf"\begin{{tabular}}{{{'l' * len(stub)}{'c' * len(table.columns)}}}",
        r"\toprule",
        *_headings(table.columns, len(stub)),
        _line([*map(escape, stub), *names]),
        r"\midrule",
        *(line for row in table.rows for line in _body(row)),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\medskip\raggedright\footnotesize",
        *(f"{_marks((note.mark,))}{escape(note.text)}\\par" for note in table.notes),
        r"\end{table*}",
    ]
    return PREAMBLE + "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Plain text as LaTeX source; a character that pdfTeX cannot set is spelt out by its Unicode name."""
    return "".join(_ESCAPES.get(character) or _spell(character) for character in text)


def _spell(character: str) -> str:
    # Latin letters with accents (below U+0180) are set as they are.
    if ord(character) < 0x180:
        return character
    return f"[{unicodedata.name(character, 'unknown character').lower()}]"


def _headings(columns: tuple[Column, ...], num_stub: int) -> list[str]:
    """The groups over their columns, each with its rule."""
    groups = [(name, len(list(members))) for name, members in groupby(columns, lambda column: column.group)]
    spans = [rf"\multicolumn{{{width}}}{{c}}{{{escape(name)}}}" for name, width in groups]
    rules, start = [], num_stub + 1
    for _, width in groups:
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [_line([*[""] * num_stub, *spans]), "".join(rules)]


def _body(row: Row) -> tuple[str, ...]:
    """The lines of a model: ours, the paper's, third parties'."""
    stub = [rf"\textbf{{{escape(row.name)}}}{_marks(row.marks)}", *map(escape, row.attributes)]
    blank = [""] * len(stub)
    others = _line([*blank, "others", *(escape(cell.others) for cell in row.cells)])
    return (
        _line([*stub, "ours", *map(_ours, row.cells)]),
        _line([*blank, "paper", *(_paper(cell.paper) for cell in row.cells)]),
        *([others] if row.has_others else []),
    )


def _ours(cell: Comparison) -> str:
    if cell.ours.value is None:
        return rf"\textit{{{escape(cell.ours.words)}}}"
    seeds = rf",\,\text{{{cell.ours.num_seeds} seeds}}" if cell.ours.num_seeds > 1 else ""
    return _number(cell.ours, f"n={cell.ours.num_puzzles}{seeds}") + ARROWS[cell.side]


def _paper(reading: Reading) -> str:
    marks = (*reading.marks, QUOTED) if reading.is_quoted else reading.marks
    return (escape(reading.words) if reading.value is None else _number(reading, "")) + _marks(marks)


def _number(reading: Reading, below: str) -> str:
    spread = "" if reading.sd is None else rf" \pm {reading.sd}"
    interval = "" if reading.lo is None else rf"^{{(\text{{{reading.lo}--{reading.hi}}})}}"
    return f"${reading.value}{spread}{interval}{f'_{{{below}}}' if below else ''}$"


def _marks(marks: tuple[str, ...]) -> str:
    text = escape(",".join(marks))
    return rf"\textsuperscript{{{text}}}" if text else ""


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
