"""The core grows the same tree, node by node, as a learner in exact arithmetic (``exact.py``).

Every table of up to four rows, two columns and three values; thousands of random ones with ties, weights,
missing cells, absent levels, every split kind, criterion, limit and order; ``TREEWISE_ORACLE_TABLES=100000``
asks for more of them. A failure is made small and printed as the call that shows it, beside both trees.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import treewise as tw
from tests.oracles import exact
from tests.oracles.exact_cases import as_table, as_table_column, parameters, question_of
from tests.oracles.strategies import (
    BOOLEAN,
    Case,
    Column,
    Settings,
    cases,
    every_table,
    far_apart,
    make_case,
    many_levels,
    near_ties,
    seeded_case,
)
from treewise.data import table

TABLES = int(os.environ.get("TREEWISE_ORACLE_TABLES", "600"))
PARTS = 10  # the random tables are shared out, so that several workers can take them


# -- one case for both ---------------------------------------------------------------------------------------


def grow_both(case: Case) -> tuple[list[Facts], list[Facts], list[exact.Node], tw.Tree]:
    """Grow the case's tree with both learners, and say both in the same words."""
    nodes = exact.grow(case.problem, case.settings)
    tree = tw.grow(as_table(case), "y", **parameters(case))
    return [facts_of_oracle(case, nodes, node) for node in nodes], list(facts_of_tree(tree)), nodes, tree


# -- the same words ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Facts:
    """All that is compared of a node."""

    path: tuple[int, ...]
    question: exact.Question | None
    stop: str
    rows: int
    missing_rows: int
    weight: float
    counts: dict[str, float]
    prediction: Any
    impurity: float
    gain: float
    spread: float

    def differs(self, other: Facts, near: float) -> list[str]:
        """Name the facts in which two nodes differ by more than rounding."""
        pairs = [(f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return [name for name, mine, theirs in pairs if mine != theirs and not nearly(mine, theirs, near)]

    def __str__(self) -> str:
        what = f"stop={self.stop}" if self.question is None else str(self.question)
        numbers = f"impurity={self.impurity:.9g} gain={self.gain:.9g} spread={self.spread:.9g}"
        known = f"rows={self.rows} missing={self.missing_rows} weight={self.weight:g} counts={self.counts}"
        return f"{self.path}  {what}  {known}  says {self.prediction!r}  {numbers}"


def nearly(a: Any, b: Any, near: float) -> bool:
    """Tell whether two numbers are the same up to rounding."""
    if not (isinstance(a, float) and isinstance(b, float)):
        return False
    return math.isclose(a, b, rel_tol=1e-11, abs_tol=near)


def smallest_difference(case: Case, node: exact.Node) -> float:
    """Return what is as good as 0 at a node: 10^-12 of its largest target (1 for classes), or the least double."""
    largest = 1 if case.problem.classes else max((abs(case.problem.y[row]) for row in node.rows), default=0)
    return max(1e-12 * largest, math.ulp(0.0))


def facts_of_oracle(case: Case, nodes: list[exact.Node], node: exact.Node) -> Facts:
    """Say what the oracle found at a node; a node without rows answers as its parent or the root does."""
    criterion = case.settings.criterion
    requested = node
    if not node.rows:
        above = () if case.settings.empty_branch == "root" else node.path[:-1]
        requested = next(other for other in nodes if other.path == above)
    seen = case.problem if requested.stop == "pure" else case.problem.with_node_scale(requested.rows)
    message = exact.prediction(seen, requested.rows, criterion)
    problem = case.problem.with_node_scale(node.rows)
    weight = problem.weight(node.rows)
    counts = zip(problem.classes, problem.counts(node.rows), strict=True) if problem.classes else ()
    gain = exact.in_units(node.gain, criterion) if node.question else 0
    return Facts(
        path=node.path,
        question=node.question,
        stop=node.stop,
        rows=len(node.rows),
        missing_rows=node.missing_rows,
        weight=float(weight),
        counts={label: float(count) for label, count in counts if count},
        prediction=message if problem.classes else float(message),
        impurity=exact.impurity(problem, node.rows, criterion) if weight else 0.0,
        gain=float(exact.DIGITS.divide(gain, exact.Decimal(weight))) if node.question else 0.0,
        spread=0.0 if problem.classes or not weight else exact.deviation(problem, node.rows),
    )


def facts_of_tree(tree: tw.Tree) -> Iterator[Facts]:
    """Say what treewise found at each node."""
    paths: list[tuple[int, ...]] = []
    for node in tree.nodes:
        paths.append(() if node.parent is None else (*paths[node.parent], node.branch))
        yield Facts(
            path=paths[-1],
            question=None if node.split is None else question_of(node.split),
            stop=node.stop,
            rows=node.rows,
            missing_rows=node.missing_rows,
            weight=node.weight,
            counts=dict(node.counts),
            prediction=node.prediction,
            impurity=node.impurity,
            gain=node.gain,
            spread=node.spread,
        )


# -- the comparison ------------------------------------------------------------------------------------------


def disagreement(case: Case) -> str:
    """Return both trees and where they first differ, or "" if they are the same tree."""
    try:
        oracle, grown, nodes, _ = grow_both(case)
    except tw.TreewiseError as error:
        return f"treewise refuses: {error}"
    for i in range(max(len(oracle), len(grown))):
        near = smallest_difference(case, nodes[i]) if i < len(nodes) else 0.0
        wrong = oracle[i].differs(grown[i], near) if i < min(len(oracle), len(grown)) else ["number of nodes"]
        if wrong:
            both = ["oracle:", *map(str, oracle), "treewise:", *map(str, grown)]
            return "\n".join([f"node {i} differs in {', '.join(wrong)}", *both])
    return ""


def check(case: Case) -> None:
    """Assert that both learners grow the same tree; else show a small case in which they do not."""
    if disagreement(case):
        small = smaller(case, lambda candidate: bool(disagreement(candidate)))
        pytest.fail(f"{disagreement(small)}\n{as_python(small)}", pytrace=False)


def smaller(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Leave out rows, columns and settings as long as the case still fails."""
    improved = True
    while improved:
        improved = False
        for candidate in simpler(case):
            if fails(candidate):
                case, improved = candidate, True
                break
    return case


def simpler(case: Case) -> Iterator[Case]:
    """List the cases that are simpler by one thing."""
    rows, columns = range(len(case.sample_weight)), case.problem.columns
    if len(columns) > 1:
        for column in columns:
            yield case.keeping(rows, [other for other in columns if other is not column])
    if len(rows) > 1:
        for row in rows:
            if sum(case.sample_weight) > case.sample_weight[row]:
                yield case.keeping([other for other in rows if other != row], columns)
    for name, value in asdict(Settings(criterion=case.settings.criterion)).items():
        if name != "per_branch" and getattr(case.settings, name) != value:
            yield replace(case, settings=replace(case.settings, **{name: value}))
    if set(case.sample_weight) != {1}:
        yield replace(case, sample_weight=(1,) * len(rows)).keeping(rows, columns)
    if case.class_weight:
        yield replace(case, class_weight=None).keeping(rows, columns)


def as_python(case: Case) -> str:
    """Write a case as the call that grows it; levels that do not occur are declared beside it."""
    data = {column.name: list(column.values) for column in case.problem.columns} | {"y": case.labels()}
    message = ", ".join(f"{name}={value!r}" for name, value in parameters(case).items() if value is not None)
    levels = {column.name: column.levels for column in case.problem.columns if column.levels}
    return f"tw.grow({data!r}, 'y', {message})" + (f"   # levels {levels}" if levels else "")


# -- the oracle alone, by hand -------------------------------------------------------------------------------


APPLICANTS = """
4.0 top10 yes good   P
4.0 top10 no  good   P
4.0 top20 no  normal P
3.7 top10 yes good   P
3.7 top20 no  good   P
3.7 top30 yes good   P
3.7 top30 no  good   N
3.7 top10 no  good   N
3.5 top20 yes normal N
3.5 top10 no  normal N
3.5 top30 yes normal N
3.5 top30 no  good   N
"""


def test_the_oracle_grows_the_tree_of_cs221_section_5() -> None:
    *cells, y = zip(*(line.split() for line in APPLICANTS.strip().splitlines()), strict=True)
    names = ("GPA", "University", "Published", "Recommendation")
    columns = [
        Column(name, values, tuple(sorted(set(values))), ("multiway",))
        for name, values in zip(names, cells, strict=True)
    ]
    case = make_case(columns, y, Settings(), categorical="multiway")
    nodes = exact.grow(case.problem, case.settings)
    assert [(node.path, node.question.column if node.question else node.stop) for node in nodes] == [
        ((), "GPA"),
        ((0,), "pure"),
        ((1,), "Published"),
        ((1, 0), "University"),
        ((1, 0, 0), "pure"),
        ((1, 0, 1), "pure"),
        ((1, 0, 2), "pure"),
        ((1, 1), "pure"),
        ((2,), "pure"),
    ]
    assert float(exact.in_units(nodes[0].gain, "entropy")) == pytest.approx(7.145, abs=5e-4)


@pytest.mark.parametrize(
    ("criterion", "branches", "gain"),
    [
        ("entropy", ([0, 1], [2, 3]), 0.0),
        ("entropy", ([0, 3], [1, 2]), 4.0),
        ("gini", ([0, 3], [1, 2]), 2.0),
        ("error", ([0], [1, 2, 3]), 1.0),
        ("squared_error", ([0, 1], [2, 3]), 0.0),
        ("squared_error", ([0, 3], [1, 2]), 1.0),
        ("absolute_error", ([0, 3], [1, 2]), 2.0),
        ("poisson", ([0, 1], [2, 3]), 0.0),
        ("poisson", ([0, 3], [1, 2]), 4 * math.log(4 / 3) + 2 * math.log(2 / 3)),
    ],
)
def test_the_oracles_gains_by_hand(criterion: str, branches: Sequence[list[int]], gain: float) -> None:
    classes = ("-", "+") if criterion in ("entropy", "gini", "error") else ()
    y = [0, 1, 1, 0] if classes else [1, 2, 2, 1]
    problem = exact.Problem((), y, [1] * 4, classes)
    actual = exact.total_gain(problem, [0, 1, 2, 3], list(branches), criterion)
    assert float(exact.in_units(actual, criterion)) == pytest.approx(gain)


# -- both learners -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["entropy", "gini", "error", "gain_ratio"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_small_table_of_numbers(n: int, criterion: str) -> None:
    for i, (x1, x2, y) in enumerate(every_table(n, (0, 1, 2))):
        if n < 4 or criterion == "entropy" or i % 4 == 0:
            check(make_case([Column("x1", x1), Column("x2", x2)], y, Settings(criterion)))


@pytest.mark.parametrize("missing", ["learn", "branch"])
def test_every_small_table_with_missing_cells(missing: str) -> None:
    for x1, x2, y in every_table(3, (0, 1, None)):
        check(make_case([Column("x1", x1), Column("x2", x2)], y, Settings(missing=missing)))


@pytest.mark.parametrize("kind", ["subset", "multiway", "one_value", "ordinal", "any"])
def test_every_small_table_of_categories(kind: str) -> None:
    kinds = ("ordinal", "one_value", "subset", "multiway") if kind == "any" else (kind,)
    for x1, x2, y in every_table(3, ("a", "b", None)):
        columns = [Column("x1", x1, ("a", "b"), kinds), Column("x2", x2, ("a", "b", "c"), kinds)]
        check(make_case(columns, y, Settings(), categorical=kind))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_every_small_table_with_numbers_to_predict(criterion: str) -> None:
    for x1, x2, labels in every_table(3, (0, 1, 2)):
        y = [{"n": 0.0, "p": 3.0}[label] + x for label, x in zip(labels, x2, strict=True)]
        check(make_case([Column("x1", x1), Column("x2", x2)], y, Settings(criterion)))


@pytest.mark.parametrize("part", range(PARTS))
def test_random_tables(part: int) -> None:
    for seed in range(part, TABLES, PARTS):
        check(seeded_case(seed))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_small_numbers_beside_huge_ones(criterion: str) -> None:
    for seed in range(60):
        check(far_apart(seed, criterion))


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cases())
def test_tables_that_hypothesis_thinks_of(case: Case) -> None:
    assert not disagreement(case), f"{disagreement(case)}\n{as_python(case)}"


@pytest.mark.parametrize("criterion", ["gini", "error", "squared_error", "absolute_error"])
def test_random_gains_that_differ_beyond_double_precision(criterion: str) -> None:
    for seed in range(5):
        check(near_ties(seed, criterion))


@pytest.mark.parametrize(
    ("criterion", "y", "weights"),
    [
        ("gini", "nppp", (32, 32, 2**26 + 1, 34)),
        ("gini", "npn", (2**44, 2**20, 2**44 + 1)),
        ("squared_error", (1.0, 0.0, 0.0, 0.0), (32, 2**26, 2**26 + 2, 34)),
    ],
)
def test_gains_that_differ_beyond_double_precision(criterion: str, y: Sequence[Any], weights: Sequence[int]) -> None:
    x = (2, 0, 2, 1) if len(y) == 4 else (0, 1, 2)
    check(make_case([Column("x1", x)], y, Settings(criterion, max_depth=1), sample_weight=weights))


@pytest.mark.parametrize(
    ("positives", "rows", "limit"),
    [
        (7, 100, {"min_weight_fraction_leaf": 0.07}),
        (14, 25, {"sufficient_accuracy": 0.56}),
        (7, 20, {"criterion": "gini", "min_impurity_decrease": 0.455}),
        (5, 20, {"criterion": "squared_error", "min_impurity_decrease": 0.1875}),
        (8, 16, {"min_impurity_decrease": 1.0}),
    ],
)
def test_limits_met_exactly(positives: int, rows: int, limit: dict[str, Any]) -> None:
    """0.07 of 100 is 7: what a limit means is the number as written, not the double next to it times 100."""
    x = [0] * positives + [1] * (rows - positives)
    y: Sequence[Any] = "p" * positives + "n" * (rows - positives)
    if limit.get("criterion") == "squared_error":
        y = [float(label == "p") for label in y]
    check(make_case([Column("x1", x)], y, Settings(**limit)))


def test_more_levels_than_a_subset_search_can_try() -> None:
    for seed in range(20):
        check(many_levels(seed))


def test_equal_entropies_of_unequal_branches() -> None:
    """(1,3)|(2,1) and (0,1)|(3,3) leave the same entropy: 3^3·2^2 / 4^4·3^3 = 3^6 / 6^6."""
    ties = [(3, 4, (1, 3), (0, 1)), (3, 7, (1, 6), (0, 3)), (5, 11, (2, 7), (0, 1)), (6, 10, (2, 7), (1, 0))]
    ties += [(n, n, (k, k), (1, 1)) for n in range(4, 12) for k in range(2, n // 2 + 1)]  # gains of exactly 0
    for a, b, *splits in ties:
        first, second = ([0] * k + [1] * (a - k) + [0] * m + [1] * (b - m) for k, m in splits)
        for x1, x2 in ((first, second), (second, first)):
            case = make_case([Column("x1", x1), Column("x2", x2)], "n" * a + "p" * b, Settings(max_depth=1))
            assert exact.grow(case.problem, case.settings)[0].question.column == "x1"
            check(case)


# -- rows through the finished tree --------------------------------------------------------------------------


def test_rows_reach_the_nodes_the_oracle_sends_them_to() -> None:
    for seed in range(300):
        case = seeded_case(seed)
        tree = tw.grow(as_table(case), "y", **parameters(case))
        probes = probing(case.problem.columns)
        cells = zip(*(column.values for column in probes.values()), strict=True)
        rows = [dict(zip(probes, row, strict=True)) for row in cells]
        expected = [exact.reach(as_oracle_nodes(tree), case.problem.columns, row) for row in rows]
        data = table.Table("probes", {n: as_table_column(n, c) for n, c in probes.items()}, len(rows))
        assert tree.apply(data).tolist() == expected, as_python(case)
        assert list(tree.predict(data)) == [tree[node].prediction for node in expected], as_python(case)


def as_oracle_nodes(tree: tw.Tree) -> list[exact.Node]:
    """Say a grown tree as the oracle says its own, as far as sending rows down it needs."""
    nodes: list[exact.Node] = []
    for node in tree.nodes:
        nodes.append(exact.Node((node.id,), [], node.split and question_of(node.split)))
        if node.parent is not None:
            nodes[node.parent].children.append(nodes[-1])
    return nodes


def probing(columns: Sequence[Column]) -> dict[str, Column]:
    """Add rows to the training rows: missing everywhere, never-seen levels, values beyond the ends."""
    probes = {}
    for column in columns:
        beyond: tuple[Any, ...] = (-(2**63) + 1, 2**63 - 1) if column.wide else (-math.inf, math.inf)
        if column.levels is not None:
            beyond = column.levels[-2:] if column.levels == BOOLEAN else ("never seen", "zz")
        probes[column.name] = replace(column, values=[*column.values, None, *beyond])
    return probes


def test_a_row_of_weight_0_is_absent_with_its_class_and_its_level() -> None:
    data = {"x": ["a", "b", "b", "c"], "y": ["n", "p", "n", "q"]}
    with_it = tw.grow(data, "y", categorical="multiway", sample_weight=[1, 1, 1, 0])
    without = tw.grow({name: cells[:3] for name, cells in data.items()}, "y", categorical="multiway")
    assert with_it == without
