"""Tables as Markdown, to be read; as CSV, to be computed with; as LaTeX floats in the paper's own look (booktabs)."""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

from serrm.files import csv_text
from serrm.reporting.cells import QUOTED, Comparison, Reading
from serrm.reporting.notes import ARROWS
from serrm.reporting.paper import PaperColumn
from serrm.reporting.tables import Cell, Row, Table, lines_of

CSV_HEADER = [
    *("table", "model", "variant", "attributes", "group", "column"),
    *("ours", "ours_lo", "ours_hi", "ours_sd", "ours_seeds", "ours_puzzles", "ours_words"),
    *("paper", "paper_lo", "paper_hi", "paper_puzzles", "paper_interval", "paper_quoted", "paper_words"),
    "ours_lies",
]
PREAMBLE = "% needs \\usepackage{booktabs,graphicx,amsmath}; written by the tabulate stage\n"
LATEX_ARROWS = {"": "", "above": r"\,$\uparrow$", "below": r"\,$\downarrow$"}
# What LaTeX reads as a command, and what pdfTeX's fonts lack.
ESCAPES = {character: f"\\{character}" for character in "&%$#_{}"}
ESCAPES |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "²": "$^2$"}
ESCAPES |= {"–": "--", "—": "---", "’": "'", "−": "$-$"}
_NAMES = ["dagger", "times", "pm", "surd", "leq", "geq", "neq", "propto", "gg", "to", "uparrow", "downarrow"]
ESCAPES |= {character: f"$\\{name}$" for character, name in zip("†×±√≤≥≠∝≫→↑↓", _NAMES, strict=True)}


def to_markdown(table: Table) -> str:
    """A table with its notes beneath."""
    names = [
        f"{escape_markdown(f'{each.group}: {each.name}')}{_superscript(each.marks)}" for each in table.columns
    ]
    header = [*table.stub, *names]
    rows = [markdown_line(map(_markdown, line)) for row in table.rows for line in lines_of(row)]
    lines = [markdown_line(header), markdown_line(["---"] * len(header)), *rows]
    notes = [f"- {_superscript((note.mark,))}{escape_markdown(note.text)}" for note in table.notes]
    return "\n".join([f"### {table.heading}", "", table.caption, "", *lines, "", *notes, ""])


def markdown_line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    """Plain text as Markdown, within a table's cell."""
    for character in r"\|*_<`":
        text = text.replace(character, f"\\{character}")
    return text


def _markdown(cell: Cell) -> str:
    match cell:
        case str():
            return escape_markdown(cell)
        case Row():
            return f"**{escape_markdown(cell.name)}**{_superscript(cell.marks)}"
        case Reading():
            return f"{f'**{cell}**' if cell.is_bold else cell}{_superscript(cell.marks)}"
    if cell.ours.value is None:
        return f"*{cell.ours}*"
    return f"{cell.ours}{_seeds(cell.ours, ', ')}, n={cell.ours.num_puzzles:,} {ARROWS[cell.side]}".rstrip()


def _seeds(reading: Reading, gap: str) -> str:
    return f"{gap}{reading.num_seeds} seeds" if reading.num_seeds > 1 else ""


def _superscript(marks: Sequence[str]) -> str:
    text = ",".join(marks)
    return f"<sup>{text}</sup>" if text else ""


def to_csv(table: Table) -> str:
    """Words as they stand; of scores one line a cell, both sides as numbers in percent, empty if there is none."""
    if not table.columns:
        return csv_text(table.stub, (row for row in table.rows if not isinstance(row, Row)))
    pairs = ((row, *pair) for row in table.models for pair in zip(table.columns, row.cells, strict=True))
    return csv_text(CSV_HEADER, (_csv_row(table.number, *each) for each in pairs))


def _csv_row(number: str, row: Row, column: PaperColumn, cell: Comparison) -> list[object]:
    ours, paper = cell.ours, cell.paper
    seeds = ours.num_seeds if ours.value is not None else None
    return [
        *(number, row.name, row.variant, "; ".join(row.attributes), column.group, column.name),
        *(ours.value, ours.lo, ours.hi, ours.sd, seeds, ours.num_puzzles, ours.words),
        *(paper.value, paper.lo, paper.hi, paper.num_puzzles, paper.interval),
        *("yes" if QUOTED in paper.marks else "", paper.words, cell.side),
    ]


def to_latex(table: Table) -> str:
    """A table* float that compiles as it stands after booktabs, graphicx and amsmath."""
    names = [*map(escape, table.stub), *(escape(each.name) + _raised(each.marks) for each in table.columns)]
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape(table.title)}. {escape(table.caption)}}}",
        rf"\label{{tab:ours_{table.number}}}",
        r"\resizebox{\linewidth}{!}{%",
        rf"\begin{{tabular}}{{{'l' * len(table.stub)}{'c' * len(table.columns)}}}",
        r"\toprule",
        *_groups(table.columns, len(table.stub)),
        _latex_line(names),
        r"\midrule",
        *(_latex_line(map(_latex, line)) for row in table.rows for line in lines_of(row)),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\medskip\raggedright\footnotesize",
        *(f"{_raised((note.mark,))}{escape(note.text)}\\par" for note in table.notes),
        r"\end{table*}",
    ]
    return PREAMBLE + "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Plain text as LaTeX source; a character that pdfTeX cannot set is spelt out by its Unicode name."""
    return "".join(ESCAPES.get(character) or _spelt(character) for character in text)


def _spelt(character: str) -> str:
    # Latin letters with accents (below U+0180) are set as they are.
    return (
        character
        if ord(character) < 0x180
        else f"[{unicodedata.name(character, 'unknown character').lower()}]"
    )


def _groups(columns: Sequence[PaperColumn], num_stub: int) -> list[str]:
    """The groups over their columns, each with its rule."""
    spans, rules, start = [], "", num_stub + 1
    for name, members in groupby(columns, lambda column: column.group):
        width = len(list(members))
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(name)}}}")
        rules += rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
        start += width
    return [_latex_line([*[""] * num_stub, *spans]), rules] if spans else []


def _latex(cell: Cell) -> str:
    match cell:
        case str():
            return escape(cell)
        case Row():
            return rf"\textbf{{{escape(cell.name)}}}{_raised(cell.marks)}"
        case Reading():
            return (escape(cell.words) if cell.value is None else _number(cell, "")) + _raised(cell.marks)
    if cell.ours.value is None:
        return rf"\textit{{{escape(cell.ours.words)}}}"
    seeds = rf",\,\text{{{cell.ours.num_seeds} seeds}}" if cell.ours.num_seeds > 1 else ""
    return _number(cell.ours, f"_{{n={cell.ours.num_puzzles}{seeds}}}") + LATEX_ARROWS[cell.side]


def _number(reading: Reading, below: str) -> str:
    spread = "" if reading.sd is None else rf" \pm {reading.sd}"
    interval = "" if reading.lo is None else rf"^{{(\text{{{reading.lo}--{reading.hi}}})}}"
    value = rf"\mathbf{{{reading.value}}}" if reading.is_bold else reading.value
    return f"${value}{spread}{interval}{below}$"


def _raised(marks: Sequence[str]) -> str:
    text = escape(",".join(marks))
    return rf"\textsuperscript{{{text}}}" if text else ""


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
