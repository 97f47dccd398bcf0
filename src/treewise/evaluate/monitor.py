"""How new rows spread over a tree compared with the rows it was grown on: ``Tree.monitor``.

A tree keeps how many training rows each node has, and no row. So new rows can be compared at its leaves, without the
training table. The population stability index (PSI) adds up (q − p)·ln(q / p) over the leaves, p and q being a leaf's
share of the training rows and of the new ones. It is Jeffreys' divergence, KL(q‖p) + KL(p‖q), and both parts follow the
chain rule: at each node the divergence of its branches, weighted by the node's share. Summed over the nodes that test a
column this is the column's part, and the parts add up to the whole:

    PSI = Σ_nodes  q(n)·KL(q(branch | n) ‖ p(branch | n)) + p(n)·KL(p(branch | n) ‖ q(branch | n))

If nothing has changed, PSI is about (1/n + 1/m)·χ² with as many degrees of freedom as there are leaves, less one
(Yurdakul 2018): that is the size of chance, and its mean is subtracted. Half a row is added to every leaf, so that an
empty one has a logarithm. Intervals are from resampled counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_percent, plural, safe
from treewise.data import encoding as encode
from treewise.data.frames import is_dask_frame, iterate_batches
from treewise.data.row_batches import Piece, open_rows
from treewise.errors import DataError, join_few
from treewise.predict.batches import encode_batch, map_pieces, plan_for
from treewise.predict.confidence_intervals import check_confidence, upper_share, wilson
from treewise.predict.predict import EncodedRows
from treewise.sources.lazy import map_partitions
from treewise.train.chi_square import log_tail
from treewise.tree.arrays import LEAF
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_RESAMPLES = 2000
_MODERATE, _LARGE = 0.1, 0.25  # the customary bounds of PSI (Siddiqi 2006)
_MAX_NAMED = 1000  # rows whose new levels are named


@dataclass
class _Counts:
    """Counts of new rows, added up batch by batch."""

    n_rows: int
    ends: Ints  # rows that end at each node
    missing: Ints  # rows at each node whose tested column is missing
    unseen: dict[int, int] = field(default_factory=dict)  # column → rows with a level that was never seen
    labels: dict[int, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Tree, rows: EncodedRows) -> _Counts:
        """Count some rows."""
        leaves = tree.leaves(rows)
        counts = cls(len(rows), np.bincount(leaves, minlength=len(tree)), np.zeros(len(tree), np.int64))
        ends = tree.arrays.ends
        for i in tree.used_columns:
            encoding, values = tree.encodings[i], rows.columns[i]
            assert values is not None
            if (is_missing := encode.is_missing(encoding, values)).any():
                at = np.sort(leaves[is_missing])
                for node in np.flatnonzero((tree.arrays.column == i) & (tree.arrays.kind != LEAF)).tolist():
                    counts.missing[node] = np.searchsorted(at, ends[node]) - np.searchsorted(at, node)
            if encoding.is_categorical and len(at := np.flatnonzero(values == encode.UNSEEN)):
                counts.unseen[i] = len(at)
                column = rows.table[encoding.name]
                counts.labels[i] = {column.format_cell(row) for row in at[:_MAX_NAMED].tolist()}
        return counts

    def shifted(self, _: int) -> _Counts:
        """Return the same: nothing is numbered."""
        return self

    def add(self, other: _Counts) -> None:
        """Add the counts of further rows."""
        self.n_rows += other.n_rows
        self.ends += other.ends
        self.missing += other.missing
        for i, n in other.unseen.items():
            self.unseen[i] = self.unseen.get(i, 0) + n
            self.labels.setdefault(i, set()).update(other.labels[i] if len(self.labels[i]) < _MAX_NAMED else ())


@dataclass(frozen=True)
class LeafShift:
    """A leaf: its rows in training and now, their shares, an interval of the change, and its part of PSI.

    The intervals of all leaves hold together: each has a higher confidence (Bonferroni).
    """

    node: int
    training_rows: int
    rows: int
    training_share: float
    share: float
    interval: tuple[float, float]
    psi: float
    conditions: tuple[str, ...]

    @property
    def is_changed(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return not self.interval[0] <= 0 <= self.interval[1]


@dataclass(frozen=True)
class ColumnShift:
    """A column that the tree tests: its part of PSI, its missing values where it is tested, and its new levels."""

    column: str
    psi: float
    training_missing: float  # share of the rows at nodes that test the column
    missing: float
    missing_change: tuple[float, float]  # interval of the difference of the two shares
    unseen_rows: int
    unseen_levels: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Displayable):
    """How new rows spread over the leaves compared with the training rows.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", target="species", max_leaf_nodes=4)
    >>> found = tree.monitor("penguins")                                # the training rows themselves
    >>> found.psi, found.verdict
    (0.0, 'no sign of a change')
    >>> biscoe = tw.datasets.penguins().to_polars().filter(island="Biscoe")
    >>> found = tree.monitor(biscoe)
    >>> round(found.psi, 2), found.verdict, found.columns[0].column
    (0.8, 'a large change', 'flipper_length_mm')
    """

    tree: Tree
    n_rows: int
    psi: float  # less what chance adds on average, and at least 0
    interval: tuple[float, float]
    chance: float  # PSI that chance alone exceeds once in twenty (at a confidence of 0.95)
    p_value: float
    confidence: float
    leaves: tuple[LeafShift, ...]
    columns: tuple[ColumnShift, ...]
    stopped_rows: int  # that end at an inner node, without a branch for their value

    @property
    def verdict(self) -> str:
        """The conclusion as a short phrase."""
        if self.p_value > 1 - self.confidence:
            return "no sign of a change"
        if self.psi < _MODERATE:
            return "a small change"
        return "a moderate change" if self.psi < _LARGE else "a large change"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict with its figures, and what to look at."""
        low, high = self.interval
        name = f"{100 * self.confidence:g} %"
        lines = [
            f"{self.verdict[0].upper()}{self.verdict[1:]}: PSI {_format_psi(self.psi)} ({name} interval"
            f" {_format_psi(low)} to {_format_psi(high)}) over {plural(len(self.leaves), 'leaf', 'leaves')};"
            f" chance alone gives up to {_format_psi(self.chance)}."
        ]
        if self.p_value <= 1 - self.confidence and self.columns and self.psi > 0:
            first = self.columns[0]
            total = sum(column.psi for column in self.columns) or 1.0
            share = format_percent(first.psi / total)
            lines.append(f"Most of it at the splits on {safe(first.column)} ({share} %).")
        for column in self.columns:
            if column.unseen_rows:
                labels = join_few(list(column.unseen_levels), limit=3)
                lines.append(f"{safe(column.column)}: never-seen {labels} in {plural(column.unseen_rows, 'row')}.")
            low, high = column.missing_change
            if not low <= 0 <= high:
                lines.append(
                    f"{safe(column.column)}: missing in {format_percent(column.missing)} % of the rows that it decides,"
                    f" in training in {format_percent(column.training_missing)} %."
                )
        if self.stopped_rows:
            lines.append(f"{plural(self.stopped_rows, 'row')} stop before a leaf: no branch is for their value.")
        return tuple(lines)

    @property
    def displayed(self) -> Monitoring:
        """The same with the display names of the tree."""
        if self.tree.display is None or self.tree.display.is_applied:
            return self
        return _monitoring(self.tree.displayed, self._counts, self.confidence)

    _counts: Any = None

    def result_table(self) -> ResultTable:
        """Return the leaves, those that changed most first."""
        columns = (
            ColumnSpec("node", "count"),
            ColumnSpec("training_rows", "count", "training rows"),
            ColumnSpec("rows", "count"),
            ColumnSpec("training_share", "share", "training %"),
            ColumnSpec("share", "share", "now %"),
            ColumnSpec("change", "text", "change, points", only="text"),
            ColumnSpec("change_low", "share", only="data"),
            ColumnSpec("change_high", "share", only="data"),
            ColumnSpec("psi", "number", "PSI", formatter=_format_psi),
            ColumnSpec("conditions", "text", "leaf", break_at=" AND "),
        )
        rows = [
            (
                leaf.node,
                leaf.training_rows,
                leaf.rows,
                leaf.training_share,
                leaf.share,
                f"{_points(leaf.interval[0])} to {_points(leaf.interval[1])}" + (" *" if leaf.is_changed else ""),
                *leaf.interval,
                leaf.psi,
                " AND ".join(leaf.conditions) or "all rows",
            )
            for leaf in self.leaves
        ]
        name = f"change: {100 * self.confidence:g} % intervals that hold for all leaves together"
        below = (f"{name}; * excludes 0" if any(leaf.is_changed for leaf in self.leaves) else name,)
        return ResultTable("Leaves", columns, rows, below=below, row_name="leaf")

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the verdict with the columns, and the leaves."""
        specs = (
            ColumnSpec("column", "label"),
            ColumnSpec("psi", "number", "PSI", formatter=_format_psi),
            ColumnSpec("training_missing", "share", "missing in training %"),
            ColumnSpec("missing", "share", "missing now %"),
            ColumnSpec("unseen_rows", "count", "rows of new levels"),
        )
        rows = [(c.column, c.psi, c.training_missing, c.missing, c.unseen_rows) for c in self.columns]
        title = f"{plural(self.n_rows, 'row')} compared with {plural(int(self.tree.arrays.rows[0]), 'training row')}"
        return ResultTable(title, specs, rows, above=self.sentences, row_name="column"), self.result_table()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        columns = self.result_tables()[0]
        return {
            "verdict": self.verdict,
            "psi": self.psi,
            "psi_low": self.interval[0],
            "psi_high": self.interval[1],
            "chance": self.chance,
            "p_value": self.p_value,
            "rows": self.n_rows,
            "training_rows": int(self.tree.arrays.rows[0]),
            "stopped_rows": self.stopped_rows,
            "sentences": list(self.sentences),
            "columns": columns.records(),
            "leaves": self.result_table().records(),
        }


def _format_psi(value: float) -> str:
    return f"{value:.3f}" if value == 0 or abs(value) >= 0.0005 else "<0.001" if value > 0 else "0.000"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def monitor(tree: Model, data: Any, confidence: float = 0.95) -> Monitoring:
    """Compare new rows with what the tree keeps of its training rows."""
    confidence = check_confidence(confidence)
    if not isinstance(tree, Tree):
        raise DataError(
            "the leaves of a single tree are compared, and this is an ensemble.",
            hint="Take one of its trees, or distill it into one.",
        )
    if not tree.arrays.rows[0] > 0:
        raise DataError("the tree keeps no counts of training rows to compare with: it was written by hand. Refit it.")
    counts = _Counts(0, np.zeros(len(tree), np.int64), np.zeros(len(tree), np.int64))
    tables = iterate_batches(data)
    if is_dask_frame(data):
        for part in map_partitions(data, _count_partition, tree):
            counts.add(part)
    elif tables is not None:
        for table in tables:
            counts.add(_Counts.of(tree, tree.encode(table)))
    else:

        def work(piece: Piece, first_row: int) -> _Counts:
            batch = piece.read(first_row)
            return _Counts.of(tree, encode_batch(tree, batch, is_first=piece.is_first_of_file).rows)

        for _, part in map_pieces(work, open_rows(data, plan_for(tree, markers=tree.na_values)).pieces):
            counts.add(part)
    if not counts.n_rows:
        raise DataError("there are no rows to compare. Give at least one.")
    return _monitoring(tree, counts, confidence)


def _count_partition(part: Any, tree: Tree) -> _Counts:
    """Count the rows of a partition of a Dask dataframe."""
    nothing = _Counts(0, np.zeros(len(tree), np.int64), np.zeros(len(tree), np.int64))
    return _Counts.of(tree, tree.encode(part)) if len(part) else nothing


def _monitoring(tree: Tree, counts: _Counts, confidence: float) -> Monitoring:
    a = tree.arrays
    leaves = np.flatnonzero((a.kind == LEAF) | (counts.ends > 0))  # also inner nodes at which rows stop
    training = np.where(a.kind == LEAF, a.rows, 0)[leaves]
    now = counts.ends[leaves]
    p, q = _shares(training), _shares(now)
    parts = (q - p) * np.log(q / p)
    n, m, df = int(training.sum()), counts.n_rows, len(leaves) - 1
    bias = df * (1 / n + 1 / m)
    psi = 0.0 if df == 0 else max(0.0, float(parts.sum()) - bias)
    each = 1 - (1 - confidence) / len(leaves)
    pairs = zip(training.tolist(), now.tolist(), strict=True)
    changes = [_difference(before, n, after, m, each) for before, after in pairs]
    order = np.argsort(-parts, kind="stable").tolist()
    shifts = tuple(
        LeafShift(
            int(leaves[i]),
            int(training[i]),
            int(now[i]),
            int(training[i]) / n,
            int(now[i]) / m,
            changes[i],
            float(parts[i]),
            tuple(tree.condition(node) for node in tree.path(int(leaves[i]))[1:]),
        )
        for i in order
    )
    columns = _column_shifts(tree, counts, leaves, p, q, confidence)
    stopped = int(counts.ends[a.kind != LEAF].sum())
    ends = _interval(p, q, n, m, psi, bias, confidence)
    return Monitoring(
        tree,
        m,
        psi,
        ends,
        _chance(df, n, m, confidence),
        _p_value(training, now),
        confidence,
        shifts,
        columns,
        stopped,
        _counts=counts,
    )


def _difference(hits: int, n: int, hits_now: int, n_now: int, confidence: float) -> tuple[float, float]:
    """Return Newcombe's interval (1998, method 10) of the difference of two shares, the second less the first.

    >>> [round(end, 4) for end in _difference(48, 80, 56, 70, 0.95)]      # his example (a), 56/70 less 48/80
    [0.0524, 0.3339]
    """
    p, q = hits / n if n else 0.0, hits_now / n_now if n_now else 0.0
    (p_low, p_high), (q_low, q_high) = wilson(hits, n, confidence), wilson(hits_now, n_now, confidence)
    return q - p - math.hypot(q - q_low, p_high - p), q - p + math.hypot(q_high - q, p - p_low)


def _shares(rows: Ints) -> Floats:
    smoothed = rows + 0.5
    return np.asarray(smoothed / smoothed.sum(), np.float64)


def _column_shifts(
    tree: Tree, counts: _Counts, leaves: Ints, p: Floats, q: Floats, confidence: float
) -> tuple[ColumnShift, ...]:
    """Return the part of each column, by the chain rule, from the smoothed shares of the leaves."""
    a = tree.arrays
    reach = {}
    for name, shares in (("p", p), ("q", q)):
        at_node = np.zeros(len(tree) + 1)
        at_node[leaves] = shares
        total = np.concatenate([[0.0], np.cumsum(at_node)])
        reach[name] = total[a.ends] - total[np.arange(len(tree))]  # a subtree is a range of nodes
    part = np.zeros(len(tree.columns))
    for node in range(1, len(tree)):
        _add_branch(part, int(a.column[a.parent[node]]), reach, int(a.parent[node]), reach["p"][node], reach["q"][node])
    for i, node in enumerate(leaves.tolist()):
        if a.kind[node] != LEAF:  # rows that stop are a branch of their own
            _add_branch(part, int(a.column[node]), reach, node, p[i], q[i])
    below = np.concatenate([[0], np.cumsum(counts.ends)])
    rows_at = below[a.ends] - below[np.arange(len(tree))]
    shifts = []
    for i in tree.used_columns:
        tests = (a.column == i) & (a.kind != LEAF)
        n_before, n_now = int(a.rows[tests].sum()), int(rows_at[tests].sum())
        missing = int(counts.missing[tests].sum())
        shifts.append(
            ColumnShift(
                tree.columns[i],
                float(part[i]),
                int(a.missing_rows[tests].sum()) / n_before if n_before else 0.0,
                missing / n_now if n_now else 0.0,
                _difference(int(a.missing_rows[tests].sum()), n_before, missing, n_now, confidence),
                counts.unseen.get(i, 0),
                tuple(sorted(counts.labels.get(i, ()))),
            )
        )
    return tuple(sorted(shifts, key=lambda shift: -shift.psi))


def _add_branch(part: Floats, column: int, reach: dict[str, Floats], node: int, p: float, q: float) -> None:
    """Add what a branch contributes at a node: (q − p)·ln of the ratio of the branch's conditional shares."""
    if p > 0 and q > 0:
        part[column] += (q - p) * math.log((q / reach["q"][node]) / (p / reach["p"][node]))


def _interval(p: Floats, q: Floats, n: int, m: int, psi: float, bias: float, confidence: float) -> tuple[float, float]:
    """Return the interval of PSI: the spread of resampled counts around their mean, moved to the estimate."""
    rng = np.random.default_rng(20_18)
    before = rng.multinomial(n, p, _RESAMPLES) + 0.5
    after = rng.multinomial(m, q, _RESAMPLES) + 0.5
    before /= before.sum(axis=1, keepdims=True)
    after /= after.sum(axis=1, keepdims=True)
    resampled = ((after - before) * np.log(after / before)).sum(axis=1) - 2 * bias
    top = upper_share(confidence)
    low, high = np.quantile(resampled, [1 - top, top]).tolist()
    return max(0.0, min(psi, low)), max(psi, high)


def _chance(df: int, n: int, m: int, confidence: float) -> float:
    """Return the PSI, less its mean, that chance exceeds with a probability of 1 − confidence."""
    if df == 0:
        return 0.0
    low, high = 0.0, 10.0 * df + 100.0
    for _ in range(60):  # the quantile of χ², by bisection
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(log_tail(middle, df)) > 1 - confidence else (low, middle)
    return max(0.0, (high - df) * (1 / n + 1 / m))


def _p_value(training: Ints, now: Ints) -> float:
    """Return the p-value of Pearson's test that both tables have the same shares."""
    total = training + now
    used = total > 0
    if np.count_nonzero(used) < 2:
        return 1.0
    statistic = 0.0
    for rows in (training, now):
        expected = total[used] * (rows.sum() / total.sum())
        statistic += float(((rows[used] - expected) ** 2 / expected).sum())
    return math.exp(log_tail(statistic, int(np.count_nonzero(used)) - 1)) if statistic > 0 else 1.0


def psi_of_counts(training: Sequence[int], now: Sequence[int]) -> float:
    """Return PSI, as it is written in textbooks, of two lists of counts without a zero.

    >>> round(psi_of_counts([50, 50], [60, 40]), 4)
    0.0405
    """
    p, q = np.array(training) / sum(training), np.array(now) / sum(now)
    return float(((q - p) * np.log(q / p)).sum())
