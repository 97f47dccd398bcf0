"""``leaf_likelihoods``: the log-likelihood ℓ(T) of a tree as a sum over its leaves (CS221 notes 6, section 1.2).

A leaf with m rows, a share p of them positive, contributes −m·H(p) where p was counted on the same rows. On other rows
it contributes Σ log P(class of the row), which is less: the p of the leaf is not their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_count, format_rounded, safe
from treewise.data.table import read
from treewise.errors import ParameterError
from treewise.predict.predict import encode_table
from treewise.train.criteria import entropy, logarithm
from treewise.train.target import encode_known_classes
from treewise.tree.arrays import LEAF, Label
from treewise.tree.tree import Tree


@dataclass(frozen=True)
class LeafLikelihood:
    """One leaf: its rows by class, their entropy, and what they contribute to ℓ(T)."""

    node: int
    rule: str
    counts: tuple[int, ...]
    entropy: float  # H of the shares of these rows
    log_likelihood: float

    @property
    def rows(self) -> int:
        """m, the rows that reach the leaf."""
        return sum(self.counts)


@dataclass(frozen=True, repr=False)
class LeafLikelihoods(Displayable):
    """The leaves of a tree with their contributions, which add up to ``total``, ℓ(T).

    >>> import treewise as tw
    >>> result = tw.grow("food", preset="id3", columns=["Hunger"]).leaf_likelihoods("food")
    >>> [(leaf.rule, leaf.rows, round(leaf.log_likelihood, 3)) for leaf in result.leaves if leaf.rows]
    [('Hunger = full', 1, 0.0), ('Hunger = hungry', 4, -2.249), ('Hunger = starving', 1, 0.0)]
    >>> round(result.total, 3)
    -2.249
    """

    leaves: tuple[LeafLikelihood, ...]
    classes: tuple[Label, ...]
    unit: str
    table: str

    @property
    def total(self) -> float:
        """ℓ(T): the sum over the leaves."""
        return math.fsum(leaf.log_likelihood for leaf in self.leaves)

    @property
    def is_fitted(self) -> bool:
        """Whether every leaf contributes −m·H(p): its probabilities are the shares of these rows."""
        return all(math.isclose(leaf.log_likelihood, -leaf.rows * leaf.entropy, abs_tol=1e-9) for leaf in self.leaves)

    def result_table(self) -> ResultTable:
        """Lay out one leaf per line, with the sum below."""
        positive = f"m+ ({safe(self.classes[1])})" if len(self.classes) == 2 else "classes"
        columns = (
            ColumnSpec("node", "count", title="leaf"),
            ColumnSpec("rule"),
            ColumnSpec("rows", "count", title="m"),
            ColumnSpec("counts", "number", title=positive, formatter=str),
            ColumnSpec("entropy", "number", title="H(p)", formatter=_decimal),
            ColumnSpec(
                "log_likelihood", "number", title="−m·H(p)" if self.is_fitted else "Σ log P", formatter=_decimal
            ),
        )
        rows = [
            (leaf.node, leaf.rule, leaf.rows, self._count_text(leaf), leaf.entropy, leaf.log_likelihood)
            for leaf in self.leaves
        ]
        terms = [_decimal(leaf.log_likelihood) for leaf in self.leaves if leaf.log_likelihood]
        added = " + ".join(f"({term})" if term.startswith("−") else term for term in terms)
        total = f"{_decimal(self.total)} {self.unit}"
        below = [f"ℓ(T) = {added} = {total}" if 1 < len(terms) <= 8 else f"ℓ(T) = {total}, the sum over the leaves"]
        if not self.is_fitted:
            below.append(
                "The probabilities of some leaves are not the shares of these rows, so Σ log P is below −m·H(p)."
            )
        return ResultTable(f"Log-likelihood of {safe(self.table)}, leaf by leaf", columns, rows, below=tuple(below))

    def _count_text(self, leaf: LeafLikelihood) -> str:
        if len(self.classes) == 2:
            return format_count(leaf.counts[1])
        return " ".join(format_count(n) for n in leaf.counts)


def leaf_likelihoods(tree: Tree, data: Any, unit: str = "nats") -> LeafLikelihoods:
    """Return the contribution of each leaf to the log-likelihood of a table (``Tree.leaf_likelihoods``)."""
    log = logarithm(unit)
    if tree.task != "classification":
        raise ParameterError("leaf_likelihoods is for classes; this tree predicts numbers.", hint="Use evaluate.")
    table = read(data, na_values=tree.na_values)
    truth = encode_known_classes(table[tree.target.name], tree.target, table.name)
    reached = tree.leaves(encode_table(tree, table))
    k = len(tree.classes)
    counts = np.zeros((len(tree), k), np.int64)
    np.add.at(counts, (reached, truth), 1)
    leaves = []
    for node in range(len(tree)):
        if tree.arrays.kind[node] != LEAF and not counts[node].any():
            continue
        own, shares = counts[node].tolist(), tree.probabilities(node).tolist()
        terms = (n * log(p) if p > 0 else -math.inf for n, p in zip(own, shares, strict=True) if n)
        impurity = entropy(own, "nats" if unit == "nats" else "bits") if any(own) else 0.0
        rule = " and ".join(tree.condition(step) for step in tree.path(node)[1:]) or "all rows"
        leaves.append(LeafLikelihood(node, rule, tuple(own), impurity, math.fsum(terms) + 0.0))
    return LeafLikelihoods(tuple(leaves), tree.classes, unit, table.name)


def _decimal(value: float) -> str:
    text = "0" if value == 0 else f"{value:.4f}" if math.isfinite(value) else format_rounded(value)
    return text.replace("-", "−")
