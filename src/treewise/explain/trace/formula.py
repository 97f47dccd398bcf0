"""A gain as a sum in its parts, so that text, Markdown and LaTeX each write it in their own way.

The bottom of the trace. It is the sum of CS221 section 5, m·H(p) less what the branches keep of it:

    12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]        the formula
    12 − [4(0) + 5(0.97095) + 3(0)]              the arithmetic: the same with the numbers put in

The numbers come written; ``lens.py`` decides their digits.
"""

from __future__ import annotations

from dataclasses import dataclass

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
BLANK = "_____"  # where an exercise sheet leaves a number open


@dataclass(frozen=True)
class Term:
    """One summand: so much weight, times the impurity of a group of rows."""

    weight: str  # "4", "4/12" per row, "" for once
    letter: str
    shares: tuple[str, ...]  # "3/5", of the positive class or of every class; empty for numbers
    place: int  # which branch, from 1, for Var₁; 0 for the node itself
    value: str

    @property
    def text(self) -> str:
        """Write ``5·H(3/5)``, or ``5·Var₂``; of the node itself ``Var(node)``."""
        of = self.name if self.place and not self.shares else f"{self.letter}({', '.join(self.shares) or 'node'})"
        return f"{self.weight}{'·' if self.weight else ''}{of}"

    @property
    def name(self) -> str:
        """Name the impurity of a branch: ``Var₂``."""
        return self.letter + str(self.place).translate(SUBSCRIPTS)

    def numbers(self, blanks: bool = False) -> str:
        """Write ``5(0.97095)``."""
        value = BLANK if blanks else self.value
        return f"{self.weight}({value})" if self.weight else value


@dataclass(frozen=True)
class Formula:
    """What a candidate is judged by: before − [its branches], for some criteria less something or divided."""

    before: Term  # the node itself
    terms: tuple[Term, ...]
    less: tuple[str, str] | None = None  # C4.5: the price of choosing among many thresholds, as formula and number
    divisor: Term | str | None = None  # the split information, or the number of branches less one

    def pieces(self, numbers: bool = False, blanks: bool = False) -> list[str]:
        """Return the formula in pieces between which a line may be broken."""
        said = [term.numbers(blanks) if numbers else term.text for term in self.terms]
        before = self.start(numbers, blanks)
        pieces = [f"{'(' if self.divisor else ''}{before} − [{said[0]}", *(f" + {s}" for s in said[1:])]
        pieces[-1] += "]"
        if self.less:
            pieces.append(f" − {(BLANK if blanks else self.less[1]) if numbers else self.less[0]}")
        if self.divisor:
            pieces[-1] += ")"
            pieces.append(f" / {self._under(numbers, blanks)}")
        return pieces

    def start(self, numbers: bool, blanks: bool) -> str:
        """Write the impurity before: its number, or where that is to be found, how it is computed."""
        if blanks:
            return BLANK if numbers else self.before.text
        return self.before.value

    def _under(self, numbers: bool, blanks: bool) -> str:
        if not isinstance(self.divisor, Term):
            return self.divisor or ""
        said = self.divisor.numbers(blanks) if numbers else self.divisor.text
        return f"[{said}]" if self.divisor.weight else said

    @property
    def text(self) -> str:
        """The formula on one line."""
        return "".join(self.pieces())

    @property
    def arithmetic(self) -> str:
        """The formula on one line, its numbers put in."""
        return "".join(self.pieces(numbers=True))
