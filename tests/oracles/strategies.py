"""Tables and settings for the oracle tests, from a seed or from hypothesis.

A ``Case`` is all that both learners are given: the oracle's ``Problem`` and ``Settings``, and what treewise
is told beside them. ``any_case(choose)`` draws one by choosing from lists again and again; ``choose`` is a
seeded generator's (thousands of tables, fast) or hypothesis's (fewer, but it finds the smallest failing one).
Values are few, so that equal gains, empty branches and indistinguishable rows are common.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

from hypothesis import strategies as st

from tests.oracles.exact import Column, Problem, Settings
from treewise.train.criteria import CRITERIA

Choose = Callable[[Sequence[Any]], Any]

CLASSIFICATION = ("entropy", "gini", "error", "gain_ratio")
REGRESSION = ("squared_error", "absolute_error", "poisson")
assert {*CLASSIFICATION, *REGRESSION, "c45"} == {c.name for c in CRITERIA.values()}, "a new criterion needs an oracle"
CATEGORICAL = ("subset", "multiway", "one_value", "ordinal", "any")
ALL_KINDS = ("ordinal", "one_value", "subset", "multiway")
BOOLEAN = ("false", "true")  # the levels of a column of booleans
EXTREMES = (
    -math.inf,
    -1.7e308,
    -0.0,
    0.0,
    5e-324,
    0.1,
    0.2,
    math.nextafter(0.2, 1),
    0.3,
    1e16,
    1.7e308,
    math.inf,
)


@dataclass(frozen=True)
class Case:
    """One table with one set of settings, for both learners."""

    problem: Problem  # its weights are sample weight times class weight
    settings: Settings
    sample_weight: tuple[int, ...]
    class_weight: dict[str, int] | None = None
    categorical: str = "subset"  # what treewise is told for all columns; those that differ are named apart

    def labels(self) -> list[Any]:
        """Return the target as it came in: class labels, or numbers."""
        problem = self.problem
        return [problem.classes[int(y)] for y in problem.y] if problem.classes else list(problem.y)

    def keeping(self, rows: Sequence[int], columns: Sequence[Column]) -> Case:
        """Return the case with some of its rows and columns."""
        return make_case(
            [replace(column, values=[column.values[i] for i in rows]) for column in columns],
            [self.labels()[i] for i in rows],
            self.settings,
            sample_weight=[self.sample_weight[i] for i in rows],
            class_weight=self.class_weight,
            categorical=self.categorical,
        )


def make_case(
    columns: Sequence[Column],
    y: Sequence[Any],
    settings: Settings,
    *,
    sample_weight: Sequence[int] | None = None,
    class_weight: dict[str, int] | None = None,
    categorical: str = "subset",
) -> Case:
    """Complete a case: text in y means classes, and "any" anywhere makes gains be taken per branch."""
    weights = tuple(sample_weight) if sample_weight is not None else (1,) * len(y)
    kinds_compete = categorical == "any" or any(len(column.kinds) > 1 for column in columns)
    settings = replace(settings, per_branch=kinds_compete)
    if not isinstance(y[0], str):
        return Case(Problem(tuple(columns), y, weights), settings, weights, None, categorical)
    classes = tuple(sorted({label for label, weight in zip(y, weights, strict=True) if weight}))
    codes = [classes.index(label) if label in classes else 0 for label in y]  # a row of weight 0 says nothing
    factors = {label: (class_weight or {}).get(label, 1) for label in classes}
    total = [weight * factors[classes[code]] for weight, code in zip(weights, codes, strict=True)]
    problem = Problem(tuple(columns), codes, total, classes)
    return Case(problem, settings, weights, factors if class_weight else None, categorical)


# -- one case, by choosing -----------------------------------------------------------------------------------


def any_case(choose: Choose) -> Case:
    """Draw a table and settings."""
    n = choose((1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 12, 12, 15, 20, 30))
    classes = choose((0, 0, 2, 2, 2, 3, 4))
    categorical = choose(CATEGORICAL)
    weighted = classes and choose((False, False, False, True))
    return make_case(
        [any_column(choose, f"x{i + 1}", n, categorical) for i in range(choose((1, 2, 2, 3, 4)))],
        [f"c{choose(range(classes))}" for _ in range(n)] if classes else any_target(choose, n),
        any_settings(choose, CLASSIFICATION if classes else REGRESSION),
        sample_weight=any_weights(choose, n),
        class_weight={f"c{i}": choose((1, 2, 3)) for i in range(classes)} if weighted else None,
        categorical=categorical,
    )


def any_column(choose: Choose, name: str, n: int, categorical: str) -> Column:
    """Draw a column: numbers, numbers at the edges of float64, wide integers, or categories."""
    sort = choose(("number",) * 3 + ("extreme", "wide", "boolean") + ("category",) * 4)
    missing = choose((0, 0, 0, 1, 2, 4))  # in fifths
    gone = [missing > choose(range(5)) for _ in range(n)] if missing else [False] * n
    if sort in ("category", "boolean"):
        size = choose((1, 2, 2, 3, 3, 4, 5, 6, 12))
        levels = BOOLEAN if sort == "boolean" else tuple("abcdefghijkl"[:size])
        here = levels if choose((True, True, False)) else levels[:: choose((1, 2, 3))]
        requested = choose((categorical, categorical, choose(CATEGORICAL)))
        values = hide(gone, [choose(here) for _ in range(n)])
        return Column(name, values, levels, ALL_KINDS if requested == "any" else (requested,))
    if sort == "extreme":
        return Column(name, hide(gone, [choose(EXTREMES) for _ in range(n)]))
    if sort == "wide" and not all(gone):
        start = choose((2**53, 2**62, -(2**62)))
        values = [start + choose((0, 1, 2, 5)) for _ in range(n)]
        values[gone.index(False)] = start + 3  # one value past 2^53 makes the column wide
        return Column(name, hide(gone, values), wide=True)
    values = choose(((0, 1), (0, 1, 2), (0, 1, 2, 3, 4, 5), (-1.5, 0.1, 0.25, 42.3, 42.4)))
    return Column(name, hide(gone, [choose(values) for _ in range(n)]))


def hide(gone: Sequence[bool], values: Sequence[Any]) -> list[Any]:
    """Put None where a value is missing."""
    return [None if hidden else value for hidden, value in zip(gone, values, strict=True)]


def any_target(choose: Choose, n: int) -> list[float]:
    """Draw numbers to be predicted: 0 or more (Poisson), exact in binary, with many equal ones."""
    values = choose(((0, 1), (0, 1, 2, 3), (0.0, 0.5, 1.25, 7.0), (1, 2, 4, 8, 16), tuple(range(30))))
    return [float(choose(values)) for _ in range(n)]


def any_weights(choose: Choose, n: int) -> list[int]:
    """Draw integer weights, at least one of them above 0."""
    values = choose(((1,), (1,), (1,), (1, 2), (0, 1, 1), (0, 1, 2, 3), (1, 7, 40)))
    weights = [choose(values) for _ in range(n)]
    return weights if any(weights) else [*weights[:-1], 1]


def any_settings(choose: Choose, criteria: Sequence[str]) -> Settings:
    """Draw a criterion, an order, and every other time some limits."""
    limited = choose((False, True))

    def sometimes(value: Any, *others: Any) -> Any:
        return choose((value,) * (3 * len(others)) + others) if limited else value

    settings = Settings(
        criterion=choose(criteria),
        missing=choose(("learn", "learn", "branch")),
        empty_branch=sometimes("parent", "root"),
        max_depth=sometimes(None, 0, 1, 2, 3),
        min_samples_split=sometimes(2, 3, 5),
        min_samples_leaf=sometimes(1, 2, 3),
        max_leaf_nodes=choose((None, None, None, 2, 3, 4, 5, 7)),
        min_weight_fraction_leaf=sometimes(0.0, 0.0625, 0.1, 0.25),
        min_impurity_decrease=sometimes(0.0, 0.03125, 0.125, 0.25),
        sufficient_accuracy=sometimes(1.0, 0.6, 0.75, 0.9),
        selection=choose(("gain", "priced")),
        min_level_rows=choose((1, 1, 2, 3)),
    )
    if settings.criterion in ("gain_ratio", "poisson"):  # the one takes no price, the other is not written down here
        settings = replace(settings, selection="gain")
    numbers = settings.criterion not in CLASSIFICATION
    return replace(settings, sufficient_accuracy=1.0) if numbers else settings  # which have no majority


def seeded_case(seed: int) -> Case:
    """Draw the case of a seed."""
    return any_case(random.Random(seed).choice)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case that hypothesis can make smaller."""
    return any_case(lambda options: draw(st.sampled_from(options)))


def near_ties(seed: int, criterion: str) -> Case:
    """Draw a case of very unequal weights that differ in the last bits, so that gains do too."""
    choose = random.Random(seed).choice
    n = choose((4, 5, 6))
    y = [choose("nppp") for _ in range(n)] if criterion in CLASSIFICATION else any_target(choose, n)
    columns = [Column(f"x{i + 1}", [choose((0, 1, 2)) for _ in range(n)]) for i in range(3)]
    weights = [choose((2**5, 2**26)) + choose((0, 0, 1, 2)) for _ in range(n)]
    return make_case(columns, y, Settings(criterion, max_depth=1), sample_weight=weights)


# Targets that do not fit side by side in 61 bits: each of the first beside one, or some, of the second.
FAR_APART = (
    (tuple(map(float, range(1, 12))), (1e30,)),
    ((0.5, 1.0, 1.5, 3.0), (2.0**90, -(2.0**90))),
    ((1e-300, 2e-300, 3e-300, 7e-300), (1.0,)),
    ((5e-324, 1e-323, 3e-323), (1.0, 1e300)),
    ((1e-5, 2e-5, 3e-5), (1e8, 1e25)),
)


def far_apart(seed: int, criterion: str) -> Case:
    """Draw numbers to be predicted of very different size, which some column tells apart."""
    choose = random.Random(seed).choice
    small, huge = choose(FAR_APART)
    n = choose((4, 6, 8, 12))
    big = [choose((False, False, False, True)) for _ in range(n)]
    y = [choose(huge) if b else choose(small) for b in big]
    columns = [Column("x1", [float(b) for b in big]), *(any_column(choose, f"x{i}", n, "subset") for i in (2, 3))]
    return make_case(columns, y, Settings(criterion), sample_weight=any_weights(choose, n))


def many_levels(seed: int) -> Case:
    """Draw three classes and more than ten levels, too many for a subset search to try all divisions."""
    choose = random.Random(seed).choice
    levels = tuple("abcdefghijklmn")
    columns = [
        Column("x1", [choose((*levels, None)) for _ in range(50)], levels, ("subset",)),
        Column("x2", [choose((0, 1, 2)) for _ in range(50)]),
    ]
    y = [choose(("c0", "c1", "c1", "c2")) for _ in range(50)]
    return make_case(columns, y, Settings("gini", max_depth=2))


# -- every small table ---------------------------------------------------------------------------------------


def every_table(n: int, values: Sequence[Any]) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """List all tables of n rows, two columns and two classes, up to the order of rows, as (x1, x2, y)."""
    rows = [(a, b, label) for a in values for b in values for label in ("n", "p")]
    for table in combinations_with_replacement(rows, n):
        yield tuple(zip(*table, strict=True))
