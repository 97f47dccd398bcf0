"""Trees built from nested descriptions, and random trees for property tests.

    build_tree(columns, target, node(split, child, child))    an inner node with its split and one child per branch
    build_tree(columns, target, leaf("P", {"N": 1, "P": 3}))  a leaf with its class (or value) and counts

Statistics of inner nodes are the sums of their leaves'. ``trees()`` is a hypothesis strategy: every kind of split and
column, missing branches, unusual names, weights, up to nine classes, regression, leaves without rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from treewise.data.encoding import INT64_MAX, Encoding
from treewise.tree.arrays import KIND_NUMBERS, LEAF, STOPS, Arrays, Target
from treewise.tree.splits import Multiway, OneValue, Ordinal, Split, Subset, Threshold
from treewise.tree.tree import Tree

OFFICIALS = """\
GPA = 4.0
    Recommendation = good -> P
    Recommendation = normal
        University = top10 -> N
        University = top20 -> P
        University = top30 -> N
GPA = 3.7
    Published = yes -> P
    Published = no
        University = top10 -> N
        University = top20 -> P
        University = top30 -> N
GPA = 3.5 -> N
"""  # the admission officials' own tree, CS221 section 5
N_P = Target("Class", "classification", ("N", "P"))


@dataclass
class NodeSpec:
    """Description of one node."""

    split: Split | None = None
    children: list[NodeSpec] = field(default_factory=list)
    prediction: Any = None
    counts: dict[Any, float] = field(default_factory=dict)
    rows: int | None = None
    missing_rows: int = 0
    stop: str = "pure"
    spread: float = 0.0


def leaf(prediction: Any, counts: dict[Any, float] | None = None, rows: int | None = None, **more: Any) -> NodeSpec:
    return NodeSpec(None, [], prediction, counts or {}, rows, **more)


def node(split: Split, *children: NodeSpec, missing_rows: int = 0) -> NodeSpec:
    return NodeSpec(split, list(children), missing_rows=missing_rows)


def build_tree(columns: list[Encoding], target: Target, root: NodeSpec, **more: Any) -> Tree:
    """Return the tree of a nested description."""
    nodes, parents, todo = [], [], [(root, -1)]
    while todo:
        made, parent = todo.pop()
        todo.extend((child, len(nodes)) for child in reversed(made.children))
        nodes.append(made)
        parents.append(parent)
    add_up(nodes, parents)
    return Tree(tuple(columns), target, fill(columns, target, nodes, parents), **more)


def add_up(nodes: list[NodeSpec], parents: list[int]) -> None:
    for made in nodes:
        made.counts = dict(made.counts)
        if made.rows is None:
            made.rows = 0 if made.children else int(sum(made.counts.values()))
    for i in range(len(nodes) - 1, 0, -1):
        above = nodes[parents[i]]
        above.rows += nodes[i].rows
        for label, weight in nodes[i].counts.items():
            above.counts[label] = above.counts.get(label, 0) + weight


def fill(columns: list[Encoding], target: Target, nodes: list[NodeSpec], parents: list[int]) -> Arrays:
    names = [c.name for c in columns]
    places = {label: i for i, label in enumerate(target.classes)}
    classes = target.task == "classification"
    codes = [levels_of(m.split, columns[names.index(m.split.column)]) if m.split else [] for m in nodes]
    counts = [sorted((places[label], w) for label, w in m.counts.items()) if classes else [] for m in nodes]

    def cut(m: NodeSpec, kind: type) -> Any:
        actual = isinstance(m.split, Threshold) and isinstance(m.split.cut, kind)
        return m.split.cut if actual else 0

    def label(m: NodeSpec) -> int:
        if m.prediction is not None:
            return places[m.prediction]
        return max(places[c] for c in m.counts) if m.counts else -1

    return Arrays(
        parent=np.array(parents, np.int64),
        kind=np.array([KIND_NUMBERS[m.split.kind] if m.split else LEAF for m in nodes], np.uint8),
        column=np.array([names.index(m.split.column) if m.split else -1 for m in nodes], np.int32),
        cut=np.array([cut(m, float) for m in nodes], np.float64),
        cut_int=np.array([cut(m, int) for m in nodes], np.int64),
        missing=np.array([m.split.missing if m.split else -1 for m in nodes], np.int32),
        other=np.array([other_of(m.split) for m in nodes], np.int32),
        code_start=np.cumsum([0, *map(len, codes)], dtype=np.int64),
        codes=np.array([code for some in codes for code in some], np.int32),
        stop=np.array([0 if m.split else STOPS.index(m.stop) for m in nodes], np.uint8),
        rows=np.array([m.rows for m in nodes], np.int64),
        missing_rows=np.array([min(m.missing_rows, m.rows) for m in nodes], np.int64),
        weight=np.array([sum(m.counts.values()) if classes else m.rows for m in nodes], np.float64),
        impurity=np.array([math.nan if m.split else 0.25 for m in nodes], np.float64),
        gain=np.array([1 / 3 if m.split else 0.0 for m in nodes], np.float64),
        label=np.array([label(m) for m in nodes] if classes else [], np.int32),
        count_start=np.cumsum([0, *map(len, counts)], dtype=np.int64),
        count_class=np.array([c for some in counts for c, _ in some], np.int32),
        count_weight=np.array([w for some in counts for _, w in some], np.float64),
        value=np.array([] if classes else [math.nan if m.split else m.prediction for m in nodes], np.float64),
        spread=np.array([] if classes else [m.spread for m in nodes], np.float64),
    )


def levels_of(split: Split, encoding: Encoding) -> list[int]:
    if isinstance(split, Threshold):
        return []
    levels = (split.level,) if isinstance(split, Ordinal | OneValue) else split.levels
    return [encoding.levels.index(level) for level in levels]


def other_of(split: Split | None) -> int:
    return len(split.levels) if isinstance(split, Multiway) and split.other else -1


def chain(depth: int) -> Tree:
    """Return a tree of the greatest depth: each split separates one row of alternating classes."""
    below = leaf("P", {"P": 1})
    for i in range(depth):
        label = "NP"[i % 2]
        below = node(Threshold("x", depth - i - 0.5), leaf(label, {label: 1}), below)
    return build_tree([Encoding("x", "number")], N_P, below)


# -- random trees ------------------------------------------------------------------------------------------

ODD = [
    "", " ", "a b", " lead", "trail ", "a  b", '"', 'say "hi"', "'", "->", "a -> b", "→", "#", "a # b", "#1",
    ":", "a: b", "new\nline", "\x1b[31mred", "tab\t", "\\", "C:\\new", "{a, b}", "a, b", "}", "🌲", "東京",
    "naïve", "e\u0301", "3.5", "-1", "+1", "1e5", "2020-01-01", "nan", "inf", "true", "True", "otherwise",
    "x otherwise", "missing", "a or missing", "or missing", "present", "is", "in", "a in {b}", "a = b", "<=",
    "a <= 3", "<", "a < b", "...", "…", "…  7 leaves", "├─ x", "|", "| x", "`- x", "- x", "all rows", "–",
    "order a: b < c", "classes", "classes: a, b", "rows", "%", "predicts", "sd", "weight", "?", "0", "A", "B",
    "0  all rows", "\u2028", "\ud800", "⟦0⟧",
]  # fmt: skip

texts = st.one_of(st.sampled_from(ODD), st.text(max_size=6))
counts_of_rows = st.integers(0, 2000)


@st.composite
def encodings(draw: Any) -> list[Encoding]:
    """A few columns of every kind with unusual names."""
    names = draw(st.lists(texts, min_size=1, max_size=5, unique=True))
    actual = []
    for name in names:
        kind = draw(st.sampled_from(["number", "integer", "datetime", "boolean", "nominal", "ordered"]))
        levels: tuple[str, ...] = ()
        if kind == "boolean":
            levels = ("false", "true")
        elif kind in ("nominal", "ordered"):
            levels = tuple(draw(st.lists(texts, min_size=2, max_size=5, unique=True)))
        unit = draw(st.sampled_from(["D", "s", "ms", "us", "ns"])) if kind == "datetime" else ""
        actual.append(Encoding(name, kind, levels, unit))
    return actual


@st.composite
def splits(draw: Any, encoding: Encoding) -> Split:
    """Any split of a column, with missing values in any branch or in their own, or a presence test."""
    name, levels = encoding.name, encoding.levels
    if encoding.kind == "number":
        cut: Any = draw(st.one_of(st.floats(allow_nan=False), st.integers(-9, 9).map(float), st.just(math.inf))) + 0.0
        actual: Split = Threshold(name, cut)
    elif not encoding.is_categorical:
        wide = st.one_of(st.integers(-(2**63) + 1, INT64_MAX), st.just(INT64_MAX), st.integers(-99, 99))
        actual = Threshold(name, draw(wide))
    else:
        kind = draw(st.sampled_from(["ordinal", "one_value", "subset", "multiway", "presence"]))
        some = tuple(draw(st.permutations(levels)))[: draw(st.integers(1, len(levels)))]
        if kind == "presence":
            return Subset(name, (), missing=0)
        if kind == "ordinal":
            actual = Ordinal(name, draw(st.sampled_from(levels[:-1])))
            if encoding.kind != "boolean" and draw(st.integers(0, 3)) == 0:
                return Ordinal(name, levels[-1], missing=1)
        elif kind == "one_value":
            actual = OneValue(name, some[0])
        elif kind == "subset":
            actual = Subset(name, some)
        else:
            other = len(some) < len(levels) and (len(some) == 1 or draw(st.booleans()))
            actual = Multiway(name, some, other=other)
            if actual.own_branches == 1:
                return replace(actual, missing=1)
    return replace(actual, missing=draw(st.integers(0, actual.own_branches)))


@st.composite
def targets(draw: Any) -> Target:
    if draw(st.integers(0, 4)) == 0:
        return Target(draw(texts), "regression")
    number = draw(st.sampled_from([1, 2, 2, 3, 6, 7, 9]))
    floats = st.sampled_from([0.5, 1.5, -2.25, 1e20, 3.0, 4.0, 1e-9, 7.5, 8.5])
    kinds: list[Any] = [texts, st.integers(-5, 50), floats, *([st.booleans()] if number <= 2 else [])]
    labels = draw(st.sampled_from(kinds))
    classes = draw(st.lists(labels, min_size=number, max_size=number, unique=True))
    return Target(draw(texts), "classification", tuple(classes))


@st.composite
def trees(draw: Any, max_inner: int = 6) -> Tree:
    """A random tree: a few leaves are split one after another."""
    columns, target = draw(encodings()), draw(targets())
    seen_rows, weighted = draw(st.booleans()), draw(st.booleans())
    root = NodeSpec()
    leaves = [root]
    for _ in range(draw(st.integers(0, max_inner))):
        at = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        at.split = draw(splits(draw(st.sampled_from(columns))))
        at.missing_rows = draw(st.integers(0, 2)) if seen_rows else 0
        at.children = [NodeSpec() for _ in range(at.split.n_branches)]
        leaves.extend(at.children)
    for made in leaves:
        made.stop = draw(st.sampled_from(STOPS[1:]))
        if target.task == "regression":
            made.prediction = draw(st.floats(-1e6, 1e6))
            made.rows = draw(counts_of_rows) if seen_rows else 0
            made.spread = draw(st.floats(0, 1e6))
            continue
        made.prediction = draw(st.sampled_from(target.classes))
        if seen_rows:
            weights = st.floats(0.001, 5000) if weighted else st.integers(1, 2000)
            some = draw(st.lists(st.sampled_from(target.classes), max_size=3, unique=True))
            made.counts = {label: draw(weights) for label in some}
            if weighted:
                made.rows = draw(st.integers(1, 2000)) if some else 0
    return build_tree(columns, target, root, notes=("a note",), history=({"did": "grow", "rows": 3},))
