"""What the nodes of two trees answer, in numbers that can be compared: a class, probabilities, or a value.

Stands beside ``routes.py``. Classes are compared by their labels, in whatever order either tree has them; a node that
has nothing to say (an inner one of a hand-written tree) answers differently from every other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.text import format_percent, format_rounded, safe
from treewise.errors import ParameterError, listing
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities, node_values
from treewise.predict.predict import answering_nodes
from treewise.tree.tree import Tree

SILENT = -1  # no answer
WHAT = ("prediction", "probability")


@dataclass(frozen=True, eq=False)
class LeafAnswers:
    """The different answers of two trees; a node's is a place in ``vectors``."""

    vectors: list[tuple[float, ...]]
    of: tuple[list[int], list[int]]  # each node's answer, in either tree
    labels: tuple[Any, ...]  # classes: a label each; () for numbers
    what: str
    tolerance: float = 0.0

    def differ(self, one: int, two: int) -> bool:
        """Tell whether two answers are further apart than the tolerance."""
        return one != two and not self.distance(one, two) <= self.tolerance

    def distance(self, one: int, two: int) -> float:
        """Return how far two answers lie apart (two classes: 1, or more), NaN where one is none."""
        if one == two or SILENT in (one, two):
            return 0.0 if one == two else math.nan
        pairs = zip(self.vectors[one], self.vectors[two], strict=True)
        return max(abs(x - y) for x, y in pairs)

    def value(self, answer: int) -> Any:
        """Return an answer as data: a label, a value, or the probability of each class."""
        if answer == SILENT:
            return None
        vector = self.vectors[answer]
        if not self.labels:
            return vector[0]
        return self.labels[int(vector[0])] if self.what == "prediction" else dict(zip(self.labels, vector, strict=True))

    def say(self, answer: int) -> str:
        """Say an answer in a few letters; of two probabilities, that of the positive class."""
        value = self.value(answer)
        if value is None:
            return "no answer"
        if isinstance(value, dict):
            most = list(value.items())[1:] if len(value) == 2 else [(k, v) for k, v in value.items() if v > 0]
            return ", ".join(f"{safe(k)} {format_percent(v)} %" for k, v in most)
        if not self.labels:
            return format_rounded(value)
        return safe(value)


def read_answers(a: Tree, b: Tree, what: str, tolerance: float, names: tuple[str, str]) -> LeafAnswers:
    """Number the answers of two trees; refuse trees whose answers cannot be compared."""
    if what not in WHAT:
        raise ParameterError(f'what="{safe(what)}": must be one of {", ".join(WHAT)}.')
    if not 0 <= tolerance < float("inf"):
        raise ParameterError(f"tolerance={tolerance}: must be 0 or more, and finite.")
    if a.task != b.task:
        said = {"classification": "classes", "regression": "numbers"}
        raise ParameterError(
            f"{names[0]} predicts {said[a.task]} and {names[1]} {said[b.task]}: they cannot be compared."
        )
    if a.task == "regression" and what == "probability":
        raise ParameterError('what="probability" is for classes; these trees predict numbers. Leave it out.')
    if tolerance and a.task == "classification" and what == "prediction":
        raise ParameterError(
            'tolerance is for numbers and probabilities; classes are equal or not. Leave it out, or what="probability".'
        )
    labels = tuple(dict.fromkeys((*a.classes, *b.classes)))
    if a.task == "classification" and not set(a.classes) & set(b.classes):
        raise ParameterError(
            f"{names[0]} predicts {listing(list(map(safe, a.classes)))} and {names[1]}"
            f" {listing(list(map(safe, b.classes)))}: they have no class in common."
        )
    numbers: dict[tuple[float, ...], int] = {}
    found = [numbered(vectors_of(tree, labels, what), numbers) for tree in (a, b)]
    return LeafAnswers(list(numbers), (found[0], found[1]), labels, what, tolerance)


def vectors_of(tree: Tree, labels: tuple[Any, ...], what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what each node answers to a row that stops there, one line a node; NaN where it has nothing to say."""
    nodes = np.arange(len(tree))
    speakers = answering_nodes(tree, nodes)
    if tree.task == "regression":
        return np.asarray(node_values(tree, speakers, LeafProbabilities()), np.float64)[:, None]
    own = tree.arrays.label[speakers]
    place = np.array([labels.index(c) for c in tree.classes], np.int64)
    if what == "prediction":
        return np.where(own >= 0, place[own], np.nan)[:, None]
    result = np.zeros((len(tree), len(labels)))
    result[:, place] = class_probabilities(tree, speakers, LeafProbabilities())
    result[own < 0] = np.nan
    return result


def numbered(vectors: np.ndarray[Any, np.dtype[np.float64]], numbers: dict[tuple[float, ...], int]) -> list[int]:
    """Give equal answers equal numbers, across trees."""
    silent = np.isnan(vectors).any(axis=1).tolist()
    lines = map(tuple, vectors.tolist())
    return [SILENT if s else numbers.setdefault(v, len(numbers)) for s, v in zip(silent, lines, strict=True)]
