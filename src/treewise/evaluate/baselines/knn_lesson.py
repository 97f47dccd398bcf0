"""K-nearest neighbours beside a tree (ID3 notes): error over k and over leaves, and cost over rows and columns.

``knn_curve`` shows how k controls overfitting as the number of leaves does: 1-NN and a full tree make no error on their
own rows and more on others. ``knn_scaling`` measures what prediction and storage cost as tables grow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from treewise._lib.checks import check_integer
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import safe
from treewise.errors import ParameterError
from treewise.evaluate.baselines.models import BaselineModel, NearestNeighbours, TreeModel, losses_on, pickled_size
from treewise.train.folds import assign_folds
from treewise.train.grow import grow_training_set, prepare
from treewise.train.resampling import take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions

_KS = (1, 3, 5, 9, 15, 25, 45)
_LEAVES = (2, 3, 4, 6, 8, 12, 16, 24, 32)


@dataclass(frozen=True)
class KnnPoint:
    """One model: K-NN of some k, or trees of at most some leaves; its error on its own rows and on held-out ones."""

    model: str  # "knn" or "tree"
    size: int  # k, or the largest number of leaves
    training_error: float
    error: float


@dataclass(frozen=True, repr=False)
class KnnCurve(Displayable):
    """Training and held-out error of K-NN over k, beside those of trees over their size; ``draw()`` plots both.

    >>> result = knn_curve("diagonal", ks=[1, 15], leaves=[4, 64], folds=3)
    >>> [(p.model, p.size, p.training_error == 0) for p in result.points]
    [('knn', 1, True), ('knn', 15, False), ('tree', 4, False), ('tree', 64, True)]
    """

    points: tuple[KnnPoint, ...]
    table: str
    folds: int
    measure: str

    def best(self, model: str) -> KnnPoint:
        """Return the point of least held-out error: for K-NN the largest k, for trees the smallest, of equals."""
        sign = -1 if model == "knn" else 1
        return min((p for p in self.points if p.model == model), key=lambda p: (p.error, sign * p.size))

    def result_table(self) -> ResultTable:
        """Lay out one model per line."""
        kind: Any = "share" if self.measure == "error" else "number"
        heading = " %" if self.measure == "error" else ""
        columns = (
            ColumnSpec("model"),
            ColumnSpec("size", "count", title="k or leaves"),
            ColumnSpec("training_error", kind, title=f"training {self.measure}{heading}"),
            ColumnSpec("error", kind, title=f"held-out {self.measure}{heading}"),
        )
        rows = [(p.model, p.size, p.training_error, p.error) for p in self.points]
        knn, tree = self.best("knn"), self.best("tree")
        below = (
            f"least held-out {self.measure}: K-NN with k = {knn.size}, trees with at most {tree.size} leaves",
            "A small k and many leaves follow the training rows closely: no training error, and overfitting.",
        )
        return ResultTable(f"K-NN and trees on {safe(self.table)}, {self.folds} folds", columns, rows, below=below)

    def draw(self, axes: Sequence[Axes] | None = None, **image: Unpack[ImageOptions]) -> Any:
        """Plot the two curves side by side: error over k, and over leaves. Needs matplotlib."""
        from treewise.show.plots.knn import draw_knn_curve

        return draw_knn_curve(self, axes, **image)


def knn_curve(
    data: Any,
    target: Any = None,
    *,
    ks: Sequence[int] = _KS,
    leaves: Sequence[int] = _LEAVES,
    folds: int = 5,
    random_state: int = 0,
    **options: Any,
) -> KnnCurve:
    """Return the training and held-out error of K-NN for several k, and of trees of several sizes (ID3 notes).

    Every row is held out once. Needs scikit-learn. The other options are those of ``grow``.

    >>> result = knn_curve("irrelevant", ks=[1, 5], leaves=[2], folds=3)
    >>> result.best("tree").error < result.best("knn").error             # one column matters: the tree finds it
    True
    """
    for name, sizes, least in (("ks", ks, 1), ("leaves", leaves, 2)):
        for size in sizes:
            check_integer(name, size, minimum=least)
    training_set = prepare(data, target, random_state=random_state, **options)
    number = assign_folds(training_set, folds, random_state)
    parts = [(np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in range(folds)]
    smallest = min(len(train) for train, _ in parts)
    if max(ks) > smallest:
        raise ParameterError(f"must be at most {smallest}, the rows to learn from.", parameter="ks", value=max(ks))
    points = [KnnPoint("knn", k, *_errors(training_set, parts, lambda k=k: NearestNeighbours(None, 1, k))) for k in ks]
    for size in leaves:
        points.append(KnnPoint("tree", size, *_errors(training_set, parts, lambda size=size: _tree_model(size))))
    measure = "error" if training_set.target.task == "classification" else "squared error"
    return KnnCurve(tuple(points), training_set.table_name, folds, measure)


def _tree_model(size: int) -> TreeModel:
    def grow(rows: TrainingSet) -> Tree:
        return grow_training_set(replace(rows, settings=replace(rows.settings, max_leaf_nodes=size)))

    return TreeModel(grow)


def _errors(training_set: TrainingSet, parts: Any, make: Any) -> tuple[float, float]:
    """Return the mean loss on the rows that models are fitted on, and on the rows held out."""
    own, held_out = [], []
    for train, test in parts:
        model: BaselineModel = make()
        rows = take_rows(training_set, train)
        model.fit(rows)
        own.append(losses_on(rows, model.predict(rows), None))
        others = take_rows(training_set, test)
        held_out.append(losses_on(others, model.predict(others), None))
    return float(np.concatenate(own).mean()), float(np.concatenate(held_out).mean())


# -- time and memory ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScalingPoint:
    """The cost of one model on a table of a given size."""

    rows: int
    columns: int
    model: str
    fit_seconds: float
    predict_seconds: float  # for 1,000 rows
    bytes: int


@dataclass(frozen=True, repr=False)
class KnnScaling(Displayable):
    """Time and memory of K-NN and of a tree over rows and columns.

    >>> result = knn_scaling(rows=[200, 2000], columns=[2])
    >>> tree, knn = ([p.bytes for p in result.points if p.model == name] for name in ("tree", "knn"))
    >>> knn[1] > 5 * knn[0]                                       # K-NN stores the table
    True
    """

    points: tuple[ScalingPoint, ...]

    def result_table(self) -> ResultTable:
        """Lay out one measurement per line."""
        columns = (
            ColumnSpec("rows", "count"),
            ColumnSpec("columns", "count"),
            ColumnSpec("model"),
            ColumnSpec("fit_seconds", "number", title="fit, s"),
            ColumnSpec("predict_seconds", "number", title="predict 1,000 rows, s"),
            ColumnSpec("bytes", "count", title="size, bytes"),
        )
        rows = [(p.rows, p.columns, p.model, p.fit_seconds, p.predict_seconds, p.bytes) for p in self.points]
        below = ("K-NN learns by storing all rows and compares each new row with them; a tree stores its tests.",)
        return ResultTable("Time and memory of K-NN (k = 5) and a tree", columns, rows, below=below)


def knn_scaling(
    rows: Sequence[int] = (1_000, 4_000, 16_000), columns: Sequence[int] = (2, 8, 32), seed: int = 0
) -> KnnScaling:
    """Measure K-NN and a tree on random tables: how time and memory grow with rows and columns (ID3 notes).

    Processor time on this machine, so the figures differ from run to run. Needs scikit-learn.

    >>> len(knn_scaling(rows=[100], columns=[2, 3]).points)
    4
    """
    points = []
    for n, d in [(n, min(columns)) for n in rows] + [(max(rows), d) for d in columns if d != min(columns)]:
        rng = np.random.default_rng(seed)
        x, y = rng.random((n, d)), rng.random(n)
        table = {f"x{i + 1}": x[:, i] for i in range(d)} | {"y": (x[:, 0] + 0.1 * y > 0.5).astype(int)}
        training_set = prepare(table, "y")
        new = take_rows(training_set, rng.integers(n, size=1_000))
        for name, model in (("tree", TreeModel(grow_training_set)), ("knn", NearestNeighbours(None, 1, 5))):
            start = time.process_time()
            model.fit(training_set)
            fitted = time.process_time()
            model.predict(new)
            points.append(ScalingPoint(n, d, name, fitted - start, time.process_time() - fitted, pickled_size(model)))
    return KnnScaling(tuple(points))
