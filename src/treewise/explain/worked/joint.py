"""``joint``: a joint distribution of two variables and what follows from it (ID3 notes, "Conditional Entropy").

Marginals, conditional distributions, entropies, the information gain, and whether the variables are independent; each
with its working, in fractions and closed forms where these are short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from treewise._lib.latex import escape_latex, latex_name, latex_number
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, safe
from treewise.errors import ParameterError
from treewise.explain.worked.closed_form import LogSum, as_counts, as_fraction, entropy_of
from treewise.explain.worked.impurity import WorkedImpurity, with_unit, worked_impurity
from treewise.train.criteria import conditional_entropy, entropy, information_gain, logarithm

_NEAR = 1e-9


@dataclass(frozen=True, repr=False)
class JointDistribution(Displayable):
    """P(X, Z) with marginals, conditional distributions and entropies; X is what is to be predicted, Z what is known.

    >>> result = joint([[1/3, 1/3], [1/3, 0]], given="columns", unit="nats")             # ID3 notes: Z across
    >>> result.independent, round(result.entropy, 3), round(result.conditional_entropy, 3), round(result.gain, 3)
    (False, 0.637, 0.462, 0.174)
    >>> result.exact_conditional_entropy
    '2/3·log 2'
    >>> result.marginal_z, result.conditional(0)
    ((Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 2), Fraction(1, 2)))
    """

    groups: tuple[tuple[Any, ...], ...]  # P(X = x, Z = z) by z, then x: fractions where they are short, else floats
    x: str
    z: str
    x_values: tuple[str, ...]
    z_values: tuple[str, ...]
    unit: str

    @property
    def marginal_z(self) -> tuple[Any, ...]:
        """P(Z = z)."""
        return tuple(_sum(group) for group in self.groups)

    @property
    def marginal_x(self) -> tuple[Any, ...]:
        """P(X = x)."""
        return tuple(_sum(column) for column in zip(*self.groups, strict=True))

    def conditional(self, z: int) -> tuple[Any, ...]:
        """Return P(X = x | Z = z), by the position of z; empty where P(Z = z) is 0."""
        total = self.marginal_z[z]
        return tuple(p / total for p in self.groups[z]) if total else ()

    @property
    def independent(self) -> bool:
        """Whether P(X, Z) = P(X)·P(Z) everywhere."""
        return self.dependence is None

    @property
    def dependence(self) -> tuple[int, int] | None:
        """The first cell (z, x) where P(X, Z) differs from P(X)·P(Z); None if the variables are independent."""
        for z, group in enumerate(self.groups):
            for x, p in enumerate(group):
                if not math.isclose(p, self.marginal_x[x] * self.marginal_z[z], abs_tol=_NEAR):
                    return z, x
        return None

    @property
    def entropy(self) -> float:
        """H(X)."""
        return entropy([float(p) for p in self.marginal_x], self._unit)

    @property
    def conditional_entropy(self) -> float:
        """H(X|Z)."""
        return conditional_entropy(self._floats, "rows", self._unit)

    @property
    def gain(self) -> float:
        """The information gain of Z on X: H(X) − H(X|Z)."""
        return information_gain(self._floats, unit=self._unit)

    @property
    def exact_entropy(self) -> str:
        """H(X) in closed form; "" if that is long."""
        counts = as_counts([float(p) for p in self.marginal_x])
        return self._form_text(None if counts is None else entropy_of(counts))

    @property
    def exact_conditional_entropy(self) -> str:
        """H(X|Z) in closed form; "" if that is long."""
        form = self._conditional_form()
        return "" if form is None else form.text(self.unit)

    def _form_text(self, form: LogSum | None) -> str:
        return form.text(self.unit) if form is not None and form.is_short else ""

    def _conditional_form(self) -> LogSum | None:
        total = LogSum({})
        for z, weight in enumerate(self.marginal_z):
            counts = as_counts([float(p) for p in self.groups[z]]) if weight else [1]
            if counts is None or not isinstance(weight, Fraction):
                return None
            total = total + entropy_of(counts).times(weight)
        return total if total.is_short else None

    def worked(self, z: int | None = None) -> WorkedImpurity:
        """Return H(X|Z = z) written out, or H(X)."""
        distribution = self.marginal_x if z is None else self.conditional(z)
        return worked_impurity([float(p) for p in distribution], unit=self.unit)

    @property
    def steps(self) -> tuple[str, ...]:
        """The working: entropies of X, of X given each value of Z, their mean, the gain, and independence."""
        x, z = safe(self.x), safe(self.z)
        lines = [f"H({x}) = {_after_symbol(self.worked())}"]
        terms, values = [], []
        for i, (name, weight) in enumerate(zip(self.z_values, self.marginal_z, strict=True)):
            if weight:
                worked = self.worked(i)
                lines.append(f"H({x}|{z}={safe(name)}) = {_after_symbol(worked)}")
                terms.append(f"{_text(weight)}·H({x}|{z}={safe(name)})")
                values.append(f"{_text(weight)}·{_in_product(worked)}")
        result, exact = with_unit(self.conditional_entropy, self.unit), self.exact_conditional_entropy
        parts = [" + ".join(terms), " + ".join(values), *([exact] if exact and not result.startswith(exact) else [])]
        lines.append(f"H({x}|{z}) = " + " = ".join(dict.fromkeys([*parts, result])))
        lines.append(
            f"information gain of {z} on {x}: H({x}) − H({x}|{z}) = {_decimal(self.entropy)} − "
            f"{_decimal(self.conditional_entropy)} = {with_unit(self.gain, self.unit)}"
        )
        return (*lines, self.independence_text)

    @property
    def independence_text(self) -> str:
        """Whether the variables are independent, with the first cell that shows it."""
        x, z = safe(self.x), safe(self.z)
        if self.dependence is None:
            return f"independent: yes, P({x}, {z}) = P({x})·P({z}) in every cell"
        i, j = self.dependence
        cell = f"{x}={safe(self.x_values[j])}, {z}={safe(self.z_values[i])}"
        product = self.marginal_x[j] * self.marginal_z[i]
        factors = f"{_text(self.marginal_x[j])}·{_text(self.marginal_z[i])}"
        joint_share = _text(self.groups[i][j])
        return f"independent: no, P({cell}) = {joint_share}, and P({x})·P({z}) = {factors} = {_text(product)}"

    def to_latex(self) -> str:
        """Return the two tables and the working as LaTeX, for a document with ``amsmath``."""
        x, z = latex_name(self.x), latex_name(self.z)
        given = [rf"H({x} \mid {z}={_latex_value(value)})" for value in self.z_values]
        steps = [self.worked().latex_of(f"H({x})")]
        terms, values = [], []
        for i, weight in enumerate(self.marginal_z):
            if weight:
                worked = self.worked(i)
                steps.append(worked.latex_of(given[i]))
                factor = latex_number(_text(weight))
                terms.append(rf"{factor}\,{given[i]}")
                values.append(rf"{factor}({worked.exact_latex or _decimal(worked.value)})")
        whole, form = rf"H({x} \mid {z})", self._conditional_form()
        lines = [f"{whole} & = {' + '.join(terms)}", f"& = {' + '.join(values)}"]
        is_told = form is None or form.text(self.unit) == _decimal(self.conditional_entropy)
        lines += [] if form is None or is_told else [f"& = {form.latex(self.unit)}"]
        lines.append(rf"& = {_decimal(self.conditional_entropy)}\ \text{{{self.unit}}}")
        gain = f"{_decimal(self.entropy)} - {_decimal(self.conditional_entropy)} = {_decimal(self.gain)}"
        steps += [" \\\\\n".join(lines), rf"H({x}) - {whole} & = {gain}\ \text{{{self.unit}}}"]
        body = " \\\\[1ex]\n".join(steps)
        tables = f"\\[\n{self._latex_joint(x, z)}\n\\qquad\n{self._latex_conditionals(x, z)}\n\\]"
        return f"{tables}\n\\begin{{align*}}\n{body}\n\\end{{align*}}\n{escape_latex(self.independence_text)}.\n"

    def _latex_joint(self, x: str, z: str) -> str:
        """Return the joint distribution with its marginals, Z down and X across."""
        head = rf"{z} \backslash {x} & {' & '.join(map(_latex_value, self.x_values))} & P({z}) \\ \hline"
        lines = [
            " & ".join([_latex_value(value), *map(_latex_share, group), _latex_share(weight)])
            for value, group, weight in zip(self.z_values, self.groups, self.marginal_z, strict=True)
        ]
        lines[-1] += r" \\ \hline"
        lines.append(" & ".join([f"P({x})", *map(_latex_share, self.marginal_x), "1"]))
        return _latex_array(f"c|{'c' * len(self.x_values)}|c", head, lines)

    def _latex_conditionals(self, x: str, z: str) -> str:
        """Return P(X|Z): a line for each value of Z."""
        head = rf"P({x} \mid {z}) & {' & '.join(map(_latex_value, self.x_values))} \\ \hline"
        lines = [
            " & ".join([f"{z}={_latex_value(value)}", *map(_latex_share, self.conditional(i))])
            for i, value in enumerate(self.z_values)
            if self.marginal_z[i]
        ]
        return _latex_array(f"c|{'c' * len(self.x_values)}", head, lines)

    def result_table(self) -> ResultTable:
        """Lay out the joint table: a line per value of Z, the marginal of X below."""
        names = [f"{self.x} = {value}" for value in self.x_values]
        columns = (
            ColumnSpec("z", title=self.z),
            *(ColumnSpec(f"p{i}", "number", title=name, formatter=_text) for i, name in enumerate(names)),
            ColumnSpec("total", "number", title=f"P({self.z})", formatter=_text),
        )
        rows = [
            (value, *group, weight)
            for value, group, weight in zip(self.z_values, self.groups, self.marginal_z, strict=True)
        ]
        rows.append((f"P({self.x})", *self.marginal_x, _sum(self.marginal_z)))
        title = f"Joint distribution of {self.x} and {self.z}"
        return ResultTable(title, columns, _plain(rows), row_name="value")

    def conditional_table(self) -> ResultTable:
        """Lay out P(X|Z): a line per value of Z, with the entropy of each."""
        columns = (
            ColumnSpec("z", title=self.z),
            *(
                ColumnSpec(f"p{i}", "number", title=f"P({self.x}={value}|{self.z})", formatter=_text)
                for i, value in enumerate(self.x_values)
            ),
            ColumnSpec("entropy", "number", title=f"H({self.x}|{self.z}), {self.unit}", formatter=_decimal),
        )
        rows = [
            (value, *self.conditional(i), self.worked(i).value)
            for i, value in enumerate(self.z_values)
            if self.marginal_z[i]
        ]
        return ResultTable("Conditional distributions", columns, _plain(rows), below=self.steps, row_name="value")

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the joint table and the conditional distributions with the working."""
        return self.result_table(), self.conditional_table()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: entropies, gain, independence, and the table."""
        values = {
            "entropy": self.entropy,
            "conditional_entropy": self.conditional_entropy,
            "gain": self.gain,
            "unit": self.unit,
            "independent": self.independent,
            "steps": list(self.steps),
        }
        return {**values, **super().to_dict()}

    @property
    def _unit(self) -> Literal["bits", "nats"]:
        return "nats" if self.unit == "nats" else "bits"

    @property
    def _floats(self) -> list[list[float]]:
        return [[float(p) for p in group] for group in self.groups]


def joint(
    table: Sequence[Sequence[float]],
    given: Literal["rows", "columns"] = "rows",
    *,
    unit: str = "bits",
    names: tuple[str, str] = ("X", "Z"),
    x_values: Sequence[Any] | None = None,
    z_values: Sequence[Any] | None = None,
) -> JointDistribution:
    """Return what follows from a joint table of two variables: marginals, conditionals, entropies, independence.

    ``table`` holds probabilities or counts; ``given`` says whether the known variable Z runs over its rows or its
    columns, as in ``conditional_entropy``. ``names`` are those of X and Z; their values are 0, 1, … by default.

    >>> print(joint([[0, 1/2, 1/4], [1/12, 1/12, 1/12]], unit="nats").steps[3])          # ID3 notes, second example
    H(X|Z) = 3/4·H(X|Z=0) + 1/4·H(X|Z=1) = 3/4·(log 3 − 2/3·log 2) + 1/4·log 3 = log 3 − 1/2·log 2 = 0.7520 nats
    """
    logarithm(unit)
    information_gain(table, given=given)  # raises for anything but a joint table
    rows = [[float(cell) for cell in row] for row in table]
    groups = rows if given == "rows" else [list(column) for column in zip(*rows, strict=True)]
    total = math.fsum(cell for group in groups for cell in group)
    cells = [[_fraction(cell, total) for cell in group] for group in groups]
    if sum(cell for group in cells for cell in group) != 1:
        cells = [[cell / total for cell in group] for group in groups]
    x_names = _value_names("x_values", x_values, len(groups[0]))
    z_names = _value_names("z_values", z_values, len(groups))
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ParameterError('must be the names of X and Z, ("X", "Z").', parameter="names", value=names)
    return JointDistribution(tuple(map(tuple, cells)), names[0], names[1], x_names, z_names, unit)


def _value_names(parameter: str, given: Sequence[Any] | None, n: int) -> tuple[str, ...]:
    names = tuple(map(str, range(n) if given is None else given))
    if len(names) != n:
        raise ParameterError(f"must be {n} names, one for each value.", parameter=parameter, value=given)
    return names


def _fraction(cell: float, total: float) -> Any:
    whole = Fraction(cell) / Fraction(total) if cell == int(cell) and total == int(total) else as_fraction(cell / total)
    return cell / total if whole is None else whole


def _sum(values: Sequence[Any]) -> Any:
    return sum(values, Fraction(0)) if all(isinstance(v, Fraction) for v in values) else math.fsum(values)


def _text(value: Any) -> str:
    exact = as_fraction(float(value))
    return str(exact) if exact is not None and exact.denominator <= 999 else format_rounded(float(value))


def _decimal(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.4f}"


def _in_product(worked: WorkedImpurity) -> str:
    """Return an entropy as a factor: in closed form, where it is short, with the parentheses it needs."""
    if not worked.exact:
        return _decimal(worked.value)
    is_sum = " " in worked.exact.replace("log₂ ", "log").replace("log ", "log")
    return f"({worked.exact})" if is_sum else worked.exact


def _after_symbol(worked: WorkedImpurity) -> str:
    return worked.text.partition(" = ")[2]


def _plain(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(float(cell) if isinstance(cell, Fraction) else cell for cell in row) for row in rows]


def _latex_value(value: str) -> str:
    return value if value.isdecimal() else rf"\text{{{escape_latex(value)}}}"


def _latex_share(share: Fraction | float) -> str:
    return latex_number(_text(share))


def _latex_array(columns: str, head: str, lines: Sequence[str]) -> str:
    body = " \\\\\n".join(lines).replace(r"\hline \\", r"\hline")
    return f"\\begin{{array}}{{{columns}}}\n{head}\n{body}\n\\end{{array}}"
