"""The tables of the lecture notes, small enough to check by hand.

Each function returns a ``Table`` with its title, default target and the kinds of its columns (including levels that
never occur). Where the notes show only a figure, the points are those implied by its counts and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from treewise.data.table import Column, KindSpec, Table
from treewise.errors import ParameterError


def food() -> Table:
    """Return what a roommate ate (CS221 notes 6, table 1): four discrete features, six meals.

    Hunger has a fourth level, can-eat, that no row shows; Price has an order.

    >>> print(food().title)
    what a roommate ate: hunger, taste, health and price (CS221 notes 6)
    >>> sorted(food().kinds["Hunger"])
    ['can-eat', 'full', 'hungry', 'starving']
    """
    return _table(
        "food",
        "what a roommate ate: hunger, taste, health and price (CS221 notes 6)",
        """
        Hunger    Like  Healthy  Price      Eat
        full      y     n        free       n
        starving  n     y        expensive  y
        hungry    n     y        free       y
        hungry    n     y        expensive  y
        hungry    n     n        cheap      y
        hungry    n     n        expensive  n
        """,
        kinds={
            "Hunger": frozenset({"starving", "hungry", "can-eat", "full"}),
            "Price": ("free", "cheap", "expensive"),
        },
    )


def admissions() -> Table:
    """Return twelve applicants to St. Nordaf (CS221 section 5), accepted (P) or rejected (N).

    The grade averages are names of groups there (a branch each), not quantities.

    >>> admissions().n_rows, admissions().target, admissions().kinds
    (12, 'Class', {'GPA': 'nominal'})
    """
    return _table(
        "admissions",
        "twelve applicants to St. Nordaf, accepted (P) or rejected (N) (CS221 section 5)",
        """
        GPA  University  Published  Recommendation  Class
        4.0  top10       yes        good            P
        4.0  top10       no         good            P
        4.0  top20       no         normal          P
        3.7  top10       yes        good            P
        3.7  top20       no         good            P
        3.7  top30       yes        good            P
        3.7  top30       no         good            N
        3.7  top10       no         good            N
        3.5  top20       yes        normal          N
        3.5  top10       no         normal          N
        3.5  top30       yes        normal          N
        3.5  top30       no         good            N
        """,
        kinds={"GPA": "nominal"},
    )


def six_points() -> Table:
    """Return the six points that two trees fit without error, one of them smaller (ID3 notes).

    >>> six_points()["y"].labels
    ('-', '+')
    """
    return _table(
        "six_points",
        "six points that two trees fit, one smaller than the other (ID3 notes)",
        """
        x1  x2  y
        0   0   +
        0   1   +
        0   2   +
        1   0   -
        1   1   -
        1   2   +
        """,
        order={"y": ("-", "+")},
    )


def four_points() -> Table:
    """Return the small example with three candidate rules, split by hand (ID3 notes).

    >>> four_points()["y"].values.tolist()
    [1, 0, 0, 0]
    """
    return _table(
        "four_points",
        "the small example with three candidate rules (ID3 notes)",
        """
        x1  x2  y
        0   0   1
        0   1   0
        1   0   0
        2   0   0
        """,
    )


def seven_points() -> Table:
    """Return the seven points whose four gains are worked out (ID3 notes): two dots, five stars.

    >>> seven_points()["y"].labels
    ('dot', 'star')
    """
    return _table(
        "seven_points",
        "two dots and five stars, with four candidate rules (ID3 notes)",
        """
        x1  x2  y
        0   0   dot
        1   0   dot
        2   0   star
        1   1   star
        2   1   star
        1   2   star
        2   2   star
        """,
    )


def xor() -> Table:
    """Return the four points on which no single test helps and two do (ID3 notes).

    >>> xor()["y"].values.tolist()
    [0, 1, 1, 0]
    """
    title = "exclusive or: no first test gains, yet two tests solve it (ID3 notes)"
    return _truth_table("xor", title, 2, lambda x: x[0] != x[1])


def or_table(n: int = 2) -> Table:
    """Return the truth table of ``x1 or … or xn`` (chapter 8, figure 8.1), which n + 1 leaves represent.

    >>> or_table()["y"].values.tolist(), or_table(5).n_rows
    ([0, 1, 1, 1], 32)
    """
    if not 1 <= n <= 16:
        raise ParameterError("the or table has 2^n rows; n must be from 1 to 16.", parameter="n", value=n)
    return _truth_table("or", f"the truth table of or on {n} inputs (chapter 8, figure 8.1)", n, any)


def seven_rows() -> Table:
    """Return seven rows of three binary features (chapter 8, example 8-2).

    Rows 2 and 6 have the same features and different classes: no tree tells them apart.

    >>> seven_rows()["Y"].values.tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    return _table(
        "seven_rows",
        "seven rows, three binary features and a class (chapter 8, example 8-2)",
        """
        X1  X2  X3  Y
        0   0   0   0
        1   1   0   0
        0   1   1   0
        0   0   1   1
        1   0   0   1
        1   1   0   1
        1   1   1   1
        """,
    )


def outlier() -> Table:
    """Return twenty points in two clear regions, with one lone dot among the stars (ID3 notes).

    A full tree gives the lone dot, the last row, a region of its own. See ``outlier_validation``.

    >>> outlier().n_rows, outlier()["y"].labels
    (20, ('dot', 'star'))
    """
    dots = [(1, 2), (1, 5), (2, 1), (2, 3), (2, 6), (3, 2), (3, 4), (3, 7)]
    stars = [(5, 1), (5, 4), (6, 2), (6, 6), (7, 5), (7, 7), (8, 1), (8, 3), (9, 2), (9, 5), (9, 7)]
    lone = [(7, 3)]
    title = "two clear regions, and one lone dot among the stars (ID3 notes)"
    return _points("outlier", title, [(dots, "dot"), (stars, "star"), (lone, "dot")])


def outlier_validation() -> Table:
    """Return ten unseen points for ``outlier``: two stars stand where the lone dot claimed a region.

    >>> outlier_validation().n_rows
    10
    """
    dots = [(1, 3), (2, 2), (2, 5), (3, 6)]
    stars = [(5, 3), (6, 3), (6, 5), (7, 1), (8, 6), (9, 3)]
    title = "ten unseen points for outlier, which contradict the lone dot (ID3 notes)"
    return _points("outlier_validation", title, [(dots, "dot"), (stars, "star")])


def no_guidance() -> Table:
    """Return eight rows where accuracy as a score gives no guidance: no first test gets a row more right (chapter 8).

    Entropy and Gini index prefer the useful column, whose one branch is pure.

    >>> no_guidance().columns.keys()
    dict_keys(['useless', 'useful', 'y'])
    """
    return _table(
        "no_guidance",
        "accuracy as a score gives no guidance here, entropy does (chapter 8)",
        """
        useless  useful  y
        0        0       N
        0        0       N
        0        1       N
        0        1       P
        1        0       N
        1        0       N
        1        1       N
        1        1       P
        """,
    )


def specialised() -> Table:
    """Return 18 rows where accuracy as a score prefers a rule for a single row to one for a group (chapter 8).

    >>> specialised().n_rows
    18
    """
    lines = ["one_row group y", "1 1 P", *["0 1 P"] * 5, *["0 1 N"] * 6, *["0 0 N"] * 6]
    title = "accuracy as a score prefers a rule for one row here (chapter 8)"
    return _table("specialised", title, "\n".join(lines))


def distractor() -> Table:
    """Return exclusive or with a column that looks useful: greedy growth starts there, and its tree is larger.

    >>> distractor().n_rows
    8
    """
    return _table(
        "distractor",
        "exclusive or with a distractor: greedy growth misses the smallest tree (ID3 notes)",
        """
        x1  x2  x3  y
        0   0   0   0
        0   0   1   0
        0   1   1   1
        0   1   1   1
        1   0   1   1
        1   0   0   1
        1   1   0   0
        1   1   0   0
        """,
    )


def diagonal(n: int = 300, seed: int = 0) -> Table:
    """Return points on either side of a slanted plane, where K-NN beats a tree of axis-aligned steps (ID3 notes).

    >>> diagonal().n_rows
    300
    """
    x = np.random.default_rng(seed).random((n, 4)).round(3)
    title = "a slanted boundary, which suits K-NN better than a tree (ID3 notes)"
    return _numbers("diagonal", title, x, (x[:, 0] + x[:, 1] > x[:, 2] + x[:, 3]).astype(np.int64))


def irrelevant(n: int = 300, seed: int = 0) -> Table:
    """Return points of twelve columns of which one matters, where a tree beats K-NN: distances count all (ID3 notes).

    >>> len(irrelevant().columns)
    13
    """
    x = np.random.default_rng(seed).random((n, 12)).round(3)
    title = "one column matters, eleven do not, which suits a tree better than K-NN (ID3 notes)"
    return _numbers("irrelevant", title, x, (x[:, 3] > 0.6).astype(np.int64))


def _numbers(name: str, title: str, x: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> Table:
    columns = {f"x{i + 1}": Column(f"x{i + 1}", "float", x[:, i].copy()) for i in range(x.shape[1])}
    return Table(name, {**columns, "y": Column("y", "int", y)}, len(x), target="y", title=title)


def _points(name: str, title: str, groups: Sequence[tuple[Sequence[tuple[int, int]], str]]) -> Table:
    lines = ["x1 x2 y", *(f"{x1} {x2} {label}" for points, label in groups for x1, x2 in points)]
    return _table(name, title, "\n".join(lines))


def _truth_table(name: str, title: str, n: int, function: Callable[[tuple[int, ...]], bool]) -> Table:
    lines = [" ".join([*(f"x{i + 1}" for i in range(n)), "y"])]
    lines += [f"{' '.join(map(str, x))} {int(function(x))}" for x in product((0, 1), repeat=n)]
    return _table(name, title, "\n".join(lines))


def _table(
    name: str,
    title: str,
    text: str,
    *,
    kinds: Mapping[str, KindSpec] | None = None,
    order: Mapping[str, tuple[str, ...]] | None = None,
) -> Table:
    """Read a table written as aligned words; the last column is the target.

    Columns of whole numbers become numbers, all others text; a column in ``order`` has its categories in that
    order.
    """
    kinds, order = kinds or {}, order or {}
    header, *rows = (line.split() for line in text.strip().splitlines())
    columns = {}
    for column, cells in zip(header, zip(*rows, strict=True), strict=True):
        if column in order:
            columns[column] = _words(column, cells, order[column], "category")
        elif all(cell.isdecimal() for cell in cells):
            columns[column] = Column(column, "int", np.array([int(cell) for cell in cells], np.int64))
        else:
            columns[column] = _words(column, cells, tuple(sorted(set(cells))), "text")
    return Table(name, columns, len(rows), kinds=kinds, target=header[-1], title=title)


def _words(name: str, cells: Sequence[str], labels: tuple[str, ...], form: Literal["text", "category"]) -> Column:
    codes = np.array([labels.index(cell) for cell in cells], np.int32)
    return Column(name, form, codes, labels=labels)
