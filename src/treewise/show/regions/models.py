"""Models whose regions are drawn: a tree with exact areas, or any other fitted model, evaluated on a grid.

Both kinds predict on the plane (``plane.py``) and on the rows of a table. Predictions are indices into the classes of
the picture, or numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table
from treewise.errors import Param, ParameterError, brief
from treewise.predict.predict import answering_nodes, encode_columns, find_leaves
from treewise.show.regions.plane import Floats, Plane, PlaneArea, PlaneAxis, thresholds
from treewise.train.target import adopt_classes, adopt_levels, resolve_handwritten_task, restore_levels
from treewise.tree.arrays import Label
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
_GRID_CELLS = 240  # along a numeric axis
_BATCH_ROWS = 10_000  # rows predicted in one call


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for rows or positions: class index and probability, or a number; -1 and NaN mean none."""

    class_index: Ints
    probability: Floats
    value: Floats

    @classmethod
    def for_classes(cls, class_index: Any, probability: Any) -> Predictions:
        """Return predictions of classes."""
        return cls(np.asarray(class_index, np.int64), np.asarray(probability, np.float64), np.empty(0))

    @classmethod
    def for_numbers(cls, value: Any) -> Predictions:
        """Return predictions of numbers."""
        return cls(np.empty(0, np.int64), np.empty(0), np.asarray(value, np.float64))


@dataclass(frozen=True, eq=False)
class RegionModel(ABC):
    """A model with its title."""

    title: str

    @property
    @abstractmethod
    def description(self) -> str:
        """The model in a few words."""

    @abstractmethod
    def predict_rows(self, table: Table, classes: Sequence[Label]) -> Predictions:
        """Predict the rows of a table."""


@dataclass(frozen=True, eq=False)
class TreeRegions(RegionModel):
    """A treewise tree."""

    tree: Tree

    @property
    def description(self) -> str:
        """The number of leaves."""
        return plural(self.tree.n_leaves, "leaf", "leaves")

    def adapt_to(self, table: Table, target: Column | None) -> TreeRegions:
        """Give a tree written by hand the levels of a table, and the type and classes of its target."""
        tree = adopt_levels(self.tree, table)
        tree = tree.with_(encodings=restore_levels(tree.encodings, table))  # an axis may have no split
        if target is not None:
            tree = adopt_classes(resolve_handwritten_task(tree, target), target)
        return replace(self, tree=tree)

    def predict_nodes(self, nodes: Ints, classes: Sequence[Label]) -> Predictions:
        """Return the predictions of nodes."""
        tree = self.tree
        answering = answering_nodes(tree, nodes)
        if tree.task == "regression":
            return Predictions.for_numbers(tree.arrays.value[answering])
        indices = np.array([class_indices(classes)[label_key(label)] for label in tree.classes] + [-1], np.int64)
        labels = tree.arrays.label[answering]
        pairs = zip(answering.tolist(), labels, strict=True)
        return Predictions.for_classes(indices[labels], [tree.probabilities(node)[label] for node, label in pairs])

    def find_leaves(self, table: Table) -> Ints:
        """Return the leaf of each row."""
        return find_leaves(self.tree, encode_columns(self.tree, table), len(table))

    def predict_rows(self, table: Table, classes: Sequence[Label]) -> Predictions:
        """Predict by the leaf of each row."""
        leaves, inverse = np.unique(self.find_leaves(table), return_inverse=True)
        predictions = self.predict_nodes(leaves, classes)
        return replace(predictions, **{name: part[inverse] for name, part in vars(predictions).items() if len(part)})

    def predict_areas(
        self, plane: Plane, classes: Sequence[Label]
    ) -> tuple[tuple[PlaneArea, ...], Predictions, tuple[str, ...]]:
        """Return the areas, the prediction in each, and the fixed columns that matter."""
        areas, relevant = plane.areas(self.tree)
        return areas, self.predict_nodes(np.array([area.node for area in areas], np.int64), classes), relevant

    def thresholds(self, axis: PlaneAxis) -> list[float]:
        """Return the thresholds on an axis, those nearest the root first."""
        return thresholds(self.tree, axis)


@dataclass(frozen=True, eq=False)
class PointsAlone(RegionModel):
    """No model: the rows alone."""

    @property
    def description(self) -> str:
        """Nothing."""
        return ""

    def predict_rows(self, table: Table, classes: Sequence[Label]) -> Predictions:
        """Predict nothing."""
        return Predictions.for_classes(np.full(len(table), -1), np.full(len(table), np.nan))


@dataclass(frozen=True, eq=False)
class PredictorRegions(RegionModel):
    """Any other model: a fitted scikit-learn estimator, or a function from an array of columns to predictions."""

    model: Any
    columns: tuple[str, ...]

    @property
    def description(self) -> str:
        """The name of the function or class."""
        return safe(getattr(self.model, "__name__", type(self.model).__name__))

    def predict_rows(self, table: Table, classes: Sequence[Label]) -> Predictions:
        """Predict in batches; rows with a missing value get no prediction."""
        for name in self.columns:
            table[name]  # raises if there is no such column
        rows = np.flatnonzero(~np.any([table[name].is_missing() for name in self.columns], axis=0))
        batches = [
            self._predict_batch(table.take(rows[i : i + _BATCH_ROWS]), classes)
            for i in range(0, len(rows), _BATCH_ROWS)
        ]
        class_index = np.full(len(table), -1, np.int64)
        probability, value = np.full(len(table), np.nan), np.full(len(table), np.nan)
        if batches and len(batches[0].value):
            value[rows] = np.concatenate([batch.value for batch in batches])
            return Predictions.for_numbers(value)
        if batches:
            class_index[rows] = np.concatenate([batch.class_index for batch in batches])
            probability[rows] = np.concatenate([batch.probability for batch in batches])
        return Predictions.for_classes(class_index, probability)

    def predict_grid(self, plane: Plane, classes: Sequence[Label]) -> tuple[tuple[int, int], Predictions]:
        """Predict on a grid over the plane, from the lower left, row by row."""
        across, up = (_cell_centres(axis) for axis in plane.axes)
        x, y = (_axis_values(axis, grid) for axis, grid in zip(plane.axes, np.meshgrid(across, up), strict=True))
        n = len(across) * len(up)
        columns = {plane.x.name: x, plane.y.name: y}
        for name in self.columns:
            if name not in columns:
                columns[name] = [plane.fixed[name]] * n
        from treewise.data.table import read

        return (len(up), len(across)), self.predict_rows(read(columns, name="the grid"), classes)

    def _predict_batch(self, table: Table, classes: Sequence[Label]) -> Predictions:
        """Predict some rows, in the form the model was fitted on."""
        rows = self._as_fitted(table)
        indices = class_indices(classes)
        if hasattr(self.model, "predict_proba") and hasattr(self.model, "classes_"):
            probabilities = np.asarray(self.model.predict_proba(rows), np.float64)
            labels = np.asarray(self.model.classes_).tolist()
            of_model = np.array([indices.get(label_key(label), -1) for label in labels])
            return Predictions.for_classes(of_model[probabilities.argmax(axis=1)], probabilities.max(axis=1))
        output = np.asarray(self.model.predict(rows) if hasattr(self.model, "predict") else self.model(rows))
        if classes and output.shape == (len(table), len(classes)) and _are_probabilities(output):
            return Predictions.for_classes(output.argmax(axis=1), output.max(axis=1))
        if output.shape != (len(table),):
            raise ParameterError(
                f"{self.description} predicts an array of shape {output.shape} for {len(table):,} rows:"
                " expected one class or number per row, or one probability per class."
            )
        if not classes:
            return Predictions.for_numbers(output)
        return Predictions.for_classes(
            [indices.get(label_key(label), -1) for label in output.tolist()], np.ones(len(table))
        )

    def _as_fitted(self, table: Table) -> Any:
        """Return rows as a dataframe if the model has feature names or a column is text, else as an array."""
        columns = [table[name] for name in self.columns]
        if hasattr(self.model, "feature_names_in_") or any(column.is_coded for column in columns):
            from treewise.data.table import read

            return read(table, columns=self.columns).to_pandas()
        return np.column_stack([encode.encode_numbers(column) for column in columns])


def region_model(model: Any, title: str, x: str, y: str, columns: Sequence[str] | None) -> RegionModel:
    """Wrap a tree, an estimator or a function."""
    tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        return TreeRegions(title, tree)
    if not callable(model) and not hasattr(model, "predict"):
        raise ParameterError(f"cannot draw {brief(model)}: expected a treewise tree or an object with .predict.")
    names = getattr(model, "feature_names_in_", None)
    if columns is None and names is None and getattr(model, "n_features_in_", 2) != 2:
        raise ParameterError(
            f"{type(model).__name__} was fitted on {model.n_features_in_} columns without names: "
            + Param("columns", [...])
            + " says which."
        )
    fitted_on = columns if columns is not None else [x, y] if names is None else list(names)
    return PredictorRegions(title, model, tuple(map(str, fitted_on)))


def _are_probabilities(output: Floats) -> bool:
    return bool(output.min() >= 0 and np.allclose(output.sum(axis=1), 1))


def _cell_centres(axis: PlaneAxis) -> Floats:
    if axis.encoding.is_categorical:
        return np.arange(len(axis.encoding.levels), dtype=np.float64)
    step = (axis.high - axis.low) / _GRID_CELLS
    return np.asarray(axis.low + step * (np.arange(_GRID_CELLS) + 0.5), np.float64)


def _axis_values(axis: PlaneAxis, positions: Floats) -> Any:
    """Return positions on an axis as values of its column."""
    flat = positions.ravel()
    if axis.encoding.is_categorical:
        levels = np.array(axis.encoding.levels, object)[flat.astype(int)]
        return [level == "true" if axis.encoding.kind == "boolean" else level for level in levels]
    if axis.encoding.kind == "number":
        return flat
    integers = flat.astype(np.int64) + axis.origin
    return integers.astype(f"datetime64[{axis.encoding.unit}]") if axis.encoding.kind == "datetime" else integers


def class_indices(classes: Sequence[Label]) -> dict[str, int]:
    """Return the index of each class by its key."""
    return {label_key(label): index for index, label in enumerate(classes)}


def label_key(label: Any) -> str:
    """Return a text by which 1, 1.0 and NumPy's 1 are the same class."""
    is_whole = isinstance(label, float | int) and not isinstance(label, bool) and label == int(label)
    return str(int(label)) if is_whole else str(label)
