"""``worked_impurity``: an entropy, Gini index or error written out term by term, as on paper.

    H(5/7, 2/7) = −5/7·log 5/7 − 2/7·log 2/7 = 0.2403 + 0.3579 = 0.5983 nats
                = log 7 − 5/7·log 5 − 2/7·log 2

The trace prints the same lines on request (``terms``). Values are those of ``train/criteria.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from treewise._lib.checks import check_choice
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded
from treewise.explain.worked.closed_form import as_counts, entropy_of, fraction_text
from treewise.train.criteria import entropy, error, gini, logarithm

Kind = Literal["entropy", "gini", "error"]
LETTERS = {"entropy": "H", "gini": "G", "error": "E"}
_DIGITS = 4


@dataclass(frozen=True, repr=False)
class WorkedImpurity(Displayable):
    """An impurity with its terms: ``print`` it, or use ``text``, ``latex``, ``exact`` and ``value``.

    >>> result = worked_impurity([5, 2], unit="nats")
    >>> [round(term, 4) for term in result.terms], round(result.value, 4)
    ([0.2403, 0.3579], 0.5983)
    >>> result.exact
    'log 7 − 5/7·log 5 − 2/7·log 2'
    """

    shares: tuple[str, ...]  # as written: "5/7" or "0.7143"
    probabilities: tuple[float, ...]
    kind: Kind
    unit: str
    exact: str  # a closed form or a fraction; "" if it is long
    exact_latex: str

    @property
    def terms(self) -> list[float]:
        """The summands: −p·log p, or p² of the Gini index."""
        if self.kind == "entropy":
            log = logarithm(self.unit)
            return [-p * log(p) if p > 0 else 0.0 for p in self.probabilities]
        return [p * p if self.kind == "gini" else p for p in self.probabilities]

    @property
    def value(self) -> float:
        """The impurity."""
        counts = list(self.probabilities)
        if self.kind == "entropy":
            return entropy(counts, "nats" if self.unit == "nats" else "bits")
        return gini(counts) if self.kind == "gini" else error(counts)

    @property
    def symbol(self) -> str:
        """``H(5/7, 2/7)``."""
        return f"{LETTERS[self.kind]}({', '.join(self.shares)})"

    @property
    def formula(self) -> str:
        """The terms with symbols: ``−5/7·log 5/7 − 2/7·log 2/7``."""
        if self.kind == "entropy":
            log = "log₂" if self.unit == "bits" else "log"
            return "−" + " − ".join(f"{p}·{log} {p}" for p in self.shares)
        if self.kind == "gini":
            return "1 − " + " − ".join(f"({p})²" if "/" in p else f"{p}²" for p in self.shares)
        return f"1 − max({', '.join(self.shares)})"

    @property
    def numbers(self) -> str:
        """The terms as numbers: ``0.2403 + 0.3579``."""
        terms = [_number(term) for term in self.terms]
        if self.kind == "entropy":
            return " + ".join(terms)
        return "1 − " + (" − ".join(terms) if self.kind == "gini" else _number(max(self.probabilities)))

    @property
    def result(self) -> str:
        """The value with its unit."""
        return with_unit(self.value, self.unit) if self.kind == "entropy" else _number(self.value)

    @property
    def text(self) -> str:
        """Everything on one line."""
        steps = [self.numbers, *([self.exact] if self._exact_says_more else [])]
        shown = [step for step in steps if step != _number(self.value)]  # of a single term, the result alone
        return " = ".join(dict.fromkeys([self.symbol, self.formula, *shown, self.result]))

    @property
    def _exact_says_more(self) -> bool:
        """Whether the closed form is shorter than the terms, and not just the value."""
        terms = sum(p > 0 for p in self.probabilities)
        length = 1 + self.exact.count(" − ") + self.exact.count(" + ")
        return bool(self.exact) and self.exact != _number(self.value) and length <= terms

    @property
    def latex(self) -> str:
        """The same as LaTeX mathematics, for ``align*``: one step per line."""
        return self.latex_of(rf"{LETTERS[self.kind]}({', '.join(map(_latex_share, self.shares))})")

    def latex_of(self, symbol: str) -> str:
        """Write the steps with another symbol on the left, such as ``H(X|Z=0)``."""
        shares = [_latex_share(p) for p in self.shares]
        if self.kind == "entropy":
            log = r"\log_2" if self.unit == "bits" else r"\log"
            formula = "-" + " - ".join(rf"{p} {log} {p}" for p in shares)
        elif self.kind == "gini":
            formula = "1 - " + " - ".join(rf"\bigl({p}\bigr)^2" for p in shares)
        else:
            formula = rf"1 - \max({', '.join(shares)})"
        numbers = self.numbers.replace("−", "-")
        unit = rf"\ \text{{{self.unit}}}" if self.kind == "entropy" else ""
        steps = [rf"{symbol} & = {formula}"]
        steps += [rf"& = {numbers}"] if self.numbers != _number(self.value) else []
        steps += [rf"& = {self.exact_latex}"] if self._exact_says_more else []
        steps += [rf"& = {_number(self.value)}{unit}"]
        return " \\\\\n".join(dict.fromkeys(steps))

    def result_table(self) -> ResultTable:
        """Lay out one term per line."""
        heading = {"entropy": "−p·log p", "gini": "p²", "error": "p"}[self.kind]
        columns = (
            ColumnSpec("share"),
            ColumnSpec("probability", "number"),
            ColumnSpec("term", "number", title=heading),
        )
        rows = list(zip(self.shares, self.probabilities, self.terms, strict=True))
        return ResultTable(self.text, columns, rows, row_name="term")


def worked_impurity(counts: Sequence[float], criterion: Kind = "entropy", unit: str = "bits") -> WorkedImpurity:
    """Write out an entropy, Gini index or error of counts or probabilities, term by term.

    >>> print(worked_impurity([4, 3]).text)                                       # chapter 8, example 8-1
    H(4/7, 3/7) = −4/7·log₂ 4/7 − 3/7·log₂ 3/7 = 0.4613 + 0.5239 = 0.9852 bits
    >>> print(worked_impurity([0.5, 0.5], unit="nats").text)                      # ID3 notes
    H(1/2, 1/2) = −1/2·log 1/2 − 1/2·log 1/2 = 0.3466 + 0.3466 = log 2 = 0.6931 nats
    >>> print(worked_impurity([3, 4], "gini").text)
    G(3/7, 4/7) = 1 − (3/7)² − (4/7)² = 1 − 0.1837 − 0.3265 = 24/49 = 0.4898
    """
    check_choice("criterion", criterion, LETTERS)
    logarithm(unit)
    entropy(counts)  # raises for anything but counts or probabilities
    values = [float(c) for c in counts]
    total = math.fsum(values)
    whole = as_counts([v / total for v in values]) if not all(v == int(v) for v in values) else [int(v) for v in values]
    shares = _share_texts(values, total, whole)  # counts as they are, probabilities in lowest terms
    exact, exact_latex = _exact(whole, criterion, unit)
    probabilities = tuple(v / total for v in values)
    return WorkedImpurity(shares, probabilities, criterion, unit, exact, exact_latex)


def _share_texts(values: Sequence[float], total: float, whole: Sequence[int] | None) -> tuple[str, ...]:
    if whole is None:
        return tuple(format_rounded(v / total) for v in values)
    of = sum(whole)
    if total == of and of > 1:
        return tuple(str(c // of) if c in (0, of) else f"{c}/{of}" for c in whole)
    return tuple(str(Fraction(c, of)) for c in whole)


def _exact(whole: Sequence[int] | None, kind: str, unit: str) -> tuple[str, str]:
    """Return the closed form as text and as LaTeX; empty if it is long."""
    if whole is None:
        return "", ""
    total = sum(whole)
    if kind == "entropy":
        form = entropy_of(whole)
        return (form.text(unit), form.latex(unit)) if form.is_short else ("", "")
    value = 1 - (Fraction(sum(c * c for c in whole), total * total) if kind == "gini" else Fraction(max(whole), total))
    return fraction_text(value), fraction_text(value, latex=True)


def with_unit(value: float, unit: str) -> str:
    """Write a number of bits or nats.

    >>> with_unit(1.0, "bits"), with_unit(0.6931, "nats")
    ('1 bit', '0.6931 nats')
    """
    return f"{_number(value)} {unit.removesuffix('s') if value == 1 else unit}"


def _number(value: float) -> str:
    rounded = f"{value + 0.0:.{_DIGITS}f}"
    return str(int(value)) if value == int(value) else rounded


def _latex_share(share: str) -> str:
    numerator, slash, denominator = share.partition("/")
    return rf"\tfrac{{{numerator}}}{{{denominator}}}" if slash else share
