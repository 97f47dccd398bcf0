"""What is drawn on a plane: a tree, whose areas are exact, or any other fitted model, which is asked on a grid.

Stands between ``plane.py`` and ``panel.py``. Both kinds answer the same questions: what is said where on the plane, and
what is said of the rows of a table. Answers are places among the classes of the picture, or numbers.
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
from treewise.errors import Param, ParameterError, shown
from treewise.predict.predict import answering_nodes, encode_columns, find_leaves
from treewise.show.regions.plane import Floats, Plane, PlaneArea, PlaneAxis, thresholds
from treewise.train.true_labels import as_compared, with_levels_of
from treewise.tree.arrays import Label
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
FINENESS = 240  # cells of the grid along an axis of numbers
AT_ONCE = 10_000  # rows a model is asked about at a time


@dataclass(frozen=True, eq=False)
class GridAnswers:
    """What is said of some rows or places: which class and how probable it is, or which number; -1, NaN: nothing."""

    place: Ints
    chance: Floats
    value: Floats

    @classmethod
    def of_classes(cls, place: Any, chance: Any) -> GridAnswers:
        """Make those of classes."""
        return cls(np.asarray(place, np.int64), np.asarray(chance, np.float64), np.empty(0))

    @classmethod
    def of_numbers(cls, value: Any) -> GridAnswers:
        """Make those of numbers."""
        return cls(np.empty(0, np.int64), np.empty(0), np.asarray(value, np.float64))


@dataclass(frozen=True, eq=False)
class RegionModel(ABC):
    """A model with its title."""

    title: str

    @property
    @abstractmethod
    def about(self) -> str:
        """What it is, in a few words."""

    @abstractmethod
    def on_rows(self, table: Table, classes: Sequence[Label]) -> GridAnswers:
        """Answer for the rows of a table."""


@dataclass(frozen=True, eq=False)
class TreeRegions(RegionModel):
    """A tree of ours."""

    tree: Tree

    @property
    def about(self) -> str:
        """How many leaves it has."""
        return plural(self.tree.n_leaves, "leaf", "leaves")

    def for_rows(self, table: Table, target: Column | None) -> TreeRegions:
        """Let a tree written by hand know the levels of a table, and whether its numbers are classes."""
        tree = with_levels_of(self.tree, table)
        return replace(self, tree=tree if target is None else as_compared(tree, target))

    def at_nodes(self, nodes: Ints, classes: Sequence[Label]) -> GridAnswers:
        """Return what some nodes say."""
        tree = self.tree
        speakers = answering_nodes(tree, nodes)
        if tree.task == "regression":
            return GridAnswers.of_numbers(tree.arrays.value[speakers])
        own = np.array([places_of(classes)[key(label)] for label in tree.classes] + [-1], np.int64)
        labels = tree.arrays.label[speakers]
        chances = [tree.probabilities(node)[label] for node, label in zip(speakers.tolist(), labels, strict=True)]
        return GridAnswers.of_classes(own[labels], chances)

    def nodes(self, table: Table) -> Ints:
        """Return where rows end."""
        return find_leaves(self.tree, encode_columns(self.tree, table), len(table))

    def on_rows(self, table: Table, classes: Sequence[Label]) -> GridAnswers:
        """Walk the rows down the tree."""
        reached, at = np.unique(self.nodes(table), return_inverse=True)
        said = self.at_nodes(reached, classes)
        return replace(said, **{name: part[at] for name, part in vars(said).items() if len(part)})

    def on_plane(
        self, plane: Plane, classes: Sequence[Label]
    ) -> tuple[tuple[PlaneArea, ...], GridAnswers, tuple[str, ...]]:
        """Return the areas, what is said in each, and the held columns that matter."""
        areas, asked = plane.areas(self.tree)
        return areas, self.at_nodes(np.array([area.node for area in areas], np.int64), classes), asked

    def cuts(self, axis: PlaneAxis) -> list[float]:
        """Return the thresholds on an axis, the most important first."""
        return thresholds(self.tree, axis)


@dataclass(frozen=True, eq=False)
class PredictorRegions(RegionModel):
    """Anything that predicts: a fitted model of scikit-learn, or a function from an array of columns to answers."""

    model: Any
    columns: tuple[str, ...]

    @property
    def about(self) -> str:
        """What kind of model it is."""
        return safe(getattr(self.model, "__name__", type(self.model).__name__))

    def on_rows(self, table: Table, classes: Sequence[Label]) -> GridAnswers:
        """Ask the model about the rows, some at a time; rows without a value for it are not answered."""
        for name in self.columns:
            table[name]  # says what is wrong
        there = ~np.any([table[name].is_missing() for name in self.columns], axis=0)
        rows = np.flatnonzero(there)
        parts = [self.ask(table.take(rows[i : i + AT_ONCE]), classes) for i in range(0, len(rows), AT_ONCE)]
        place, chance = np.full(len(table), -1, np.int64), np.full(len(table), np.nan)
        value = np.full(len(table), np.nan)
        if parts and len(parts[0].value):
            value[rows] = np.concatenate([p.value for p in parts])
            return GridAnswers.of_numbers(value)
        if parts:
            place[rows] = np.concatenate([p.place for p in parts])
            chance[rows] = np.concatenate([p.chance for p in parts])
        return GridAnswers.of_classes(place, chance)

    def on_grid(self, plane: Plane, classes: Sequence[Label]) -> tuple[tuple[int, int], GridAnswers]:
        """Ask the model on a grid of the plane, from the lower left, row by row."""
        across, up = (centres(axis) for axis in plane.axes)
        x, y = (axis_cells(axis, at) for axis, at in zip(plane.axes, np.meshgrid(across, up), strict=True))
        n = len(across) * len(up)
        columns = {plane.x.name: x, plane.y.name: y}
        for name in self.columns:
            if name not in columns:
                columns[name] = [plane.held[name]] * n
        from treewise.data.table import read

        return (len(up), len(across)), self.on_rows(read(columns, name="the grid"), classes)

    def ask(self, table: Table, classes: Sequence[Label]) -> GridAnswers:
        """Ask the model about some rows, in the form it was fitted on."""
        rows = self.as_fitted(table)
        place = places_of(classes)
        if hasattr(self.model, "predict_proba") and hasattr(self.model, "classes_"):
            chances = np.asarray(self.model.predict_proba(rows), np.float64)
            own = np.array([place.get(key(label), -1) for label in np.asarray(self.model.classes_).tolist()])
            best = chances.argmax(axis=1)
            return GridAnswers.of_classes(own[best], chances.max(axis=1))
        said = np.asarray(self.model.predict(rows) if hasattr(self.model, "predict") else self.model(rows))
        if classes and said.shape == (len(table), len(classes)) and are_shares(said):
            return GridAnswers.of_classes(said.argmax(axis=1), said.max(axis=1))
        if said.shape != (len(table),):
            raise ParameterError(
                f"{self.about} answers {said.shape} for {len(table):,} rows: it must be one class or number a row,"
                " or one probability a class."
            )
        if not classes:
            return GridAnswers.of_numbers(said)
        return GridAnswers.of_classes([place.get(key(label), -1) for label in said.tolist()], np.ones(len(table)))

    def as_fitted(self, table: Table) -> Any:
        """Return rows as a dataframe, where the model knows names or a column is text; else as an array."""
        plain = [table[name] for name in self.columns]
        if hasattr(self.model, "feature_names_in_") or any(column.is_coded for column in plain):
            from treewise.data.table import read

            return read(table, columns=self.columns).to_pandas()
        return np.column_stack([encode.encode_numbers(column) for column in plain])


def drawn(model: Any, title: str, x: str, y: str, columns: Sequence[str] | None) -> RegionModel:
    """Recognise what is to be drawn."""
    tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        return TreeRegions(title, tree)
    if not callable(model) and not hasattr(model, "predict"):
        raise ParameterError(f"{shown(model)} cannot be drawn: it is no tree, and has no predict.")
    names = getattr(model, "feature_names_in_", None)
    if columns is None and names is None and getattr(model, "n_features_in_", 2) != 2:
        raise ParameterError(
            f"{type(model).__name__} was fitted on {model.n_features_in_} columns without names: "
            + Param("columns", [...])
            + " says which."
        )
    chosen = columns if columns is not None else [x, y] if names is None else list(names)
    return PredictorRegions(title, model, tuple(map(str, chosen)))


def are_shares(said: Floats) -> bool:
    """Tell probabilities from other numbers."""
    return bool(said.min() >= 0 and np.allclose(said.sum(axis=1), 1))


def centres(axis: PlaneAxis) -> Floats:
    """Return the middles of the cells along an axis."""
    if axis.encoding.is_categorical:
        return np.arange(len(axis.encoding.levels), dtype=np.float64)
    step = (axis.high - axis.low) / FINENESS
    return np.asarray(axis.low + step * (np.arange(FINENESS) + 0.5), np.float64)


def axis_cells(axis: PlaneAxis, places: Floats) -> Any:
    """Return places on an axis as cells of its column."""
    flat = places.ravel()
    if axis.encoding.is_categorical:
        words = np.array(axis.encoding.levels, object)
        return [word == "true" if axis.encoding.kind == "boolean" else word for word in words[flat.astype(int)]]
    if axis.encoding.kind == "number":
        return flat
    whole = flat.astype(np.int64) + axis.origin
    return whole.astype(f"datetime64[{axis.encoding.unit}]") if axis.encoding.kind == "datetime" else whole


def places_of(classes: Sequence[Label]) -> dict[str, int]:
    """Return the place of each class, by what it is called."""
    return {key(label): place for place, label in enumerate(classes)}


def key(label: Any) -> str:
    """Write a class so that 1, 1.0 and NumPy's 1 are the same."""
    whole = isinstance(label, float | int) and not isinstance(label, bool) and label == int(label)
    return str(int(label)) if whole else str(label)
