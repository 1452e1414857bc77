"""The signs in which people write Sudokus: digits, digits and letters, letters alone, numbers; from 1 or from 0.

A blank is one of `BLANKS`, or 0. A puzzle with both a blank sign and zeros counts from 0, as hexadecimal grids do, if
that fits; otherwise its zeros may be blanks or digits, and it is refused.
"""

from collections.abc import Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import Final

from serrm.puzzles.notation import Notation
from serrm.puzzles.sudoku.rules import BLANK, are_consistent

BLANK_SIGN: Final = "."
SURE_BLANKS: Final = (BLANK_SIGN, "_", "-", "*", "?", "·")  # which are no letters
BLANKS: Final = (*SURE_BLANKS, "x", "X")
DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def notation_of_signs(symbols: Sequence[str], side: int, answer: Sequence[str] = ()) -> Notation:
    """The notation of a puzzle's side² symbols, each a character or a number, and of its answer.

    ValueError with a symbol that no notation of this side has, or with two signs that may both be blanks.
    """
    used = frozenset(symbols).union(answer)
    fitting = _fitting(used, side)
    if fitting is not None:
        has_both = bool(_blanks(fitting[0], used)) and "0" in used
        return _from_zero(symbols, *fitting, used) if has_both else _from_one(*fitting, used)
    known = f"the digits 1 to {side}" if side < 10 else f"1 to {side} or {DIGITS[1 : side + 1]}"
    for number, symbol in enumerate((*symbols, *answer)):
        if not any(symbol in _values(signs) or symbol in BLANKS for signs, _ in _schemes(side)):
            position = number % side**2 + 1
            raise ValueError(f"{symbol!r} at position {position} is neither of {known} nor a blank")
    raise ValueError(f"a mix of signs, not all of one notation: {known}")


def _schemes(side: int) -> list[tuple[list[str], str]]:
    """The signs of 0…n and their separator, for every notation.

    The notations are letters alone, digits and letters, and numbers. Letters come first: A is 1 if there are no digits.
    """
    schemes = [(["0", *ascii_uppercase[:side]], "")] if side <= len(ascii_uppercase) else []
    if side < len(DIGITS):
        schemes.append((list(DIGITS[: side + 1]), ""))
    return [*schemes, ([str(number) for number in range(side + 1)], " ")]


def _values(signs: Sequence[str]) -> dict[str, int]:
    """The tokens of the signs of 0…n, in upper and lower case."""
    tokens = enumerate(signs, start=BLANK)
    return {form: token for token, sign in tokens for form in (sign.lower(), sign.upper())}


def _blanks(signs: Sequence[str], used: frozenset[str]) -> list[str]:
    """The blank signs in a puzzle; an x does not count if it may be a letter and there is another blank sign.

    In "x12.", where x may be a digit of a large grid, only the point is a blank; in "x12x" the x is one.
    """
    is_letter = "X" in map(str.upper, signs) and any(blank in used for blank in ("0", *SURE_BLANKS))
    return [blank for blank in (SURE_BLANKS if is_letter else BLANKS) if blank in used]


@lru_cache(maxsize=4096)
def _fitting(used: frozenset[str], side: int) -> tuple[tuple[str, ...], str] | None:
    """The signs of 0…n, in the puzzle's case, and their separator; None if no notation has all symbols."""
    for signs, joiner in _schemes(side):
        blanks, values = _blanks(signs, used), _values(signs)
        letters = [symbol for symbol in used if symbol.isalpha() and symbol not in blanks]
        is_lettered = signs[1] == "A"
        if all(symbol in values or symbol in blanks for symbol in used) and (letters or not is_lettered):
            is_lower = bool(letters) and all(letter.islower() for letter in letters)
            return tuple(sign.lower() if is_lower else sign for sign in signs), joiner
    return None


@lru_cache(maxsize=4096)
def _from_one(signs: Sequence[str], joiner: str, used: frozenset[str]) -> Notation:
    """The notation that counts from 1."""
    blanks = dict.fromkeys(_blanks(signs, used), BLANK)
    return Notation({**_values(signs), **blanks}, [BLANK_SIGN, *signs[1:]], joiner=joiner)


def _from_zero(symbols: Sequence[str], signs: Sequence[str], joiner: str, used: frozenset[str]) -> Notation:
    """The notation that counts from 0. ValueError unless it fits a puzzle with zeros and blanks."""
    # The sign of digit d becomes that of digit d + 1; the last sign is not used.
    values = {sign: token + 1 for sign, token in _values(signs).items() if token < len(signs)}
    blanks = _blanks(signs, used)
    values |= dict.fromkeys(blanks, BLANK)
    notation = Notation(values, [BLANK_SIGN, *signs[:-1]], joiner=joiner, base=0)
    fits = signs[1] == "1" and all(symbol in notation.values for symbol in used)
    if not fits or not are_consistent(notation.read(symbols)[None]).all():
        raise ValueError(f"holds {blanks[0]!r} and '0', and either may be the blank: use one sign for blanks")
    return notation
