"""Folds of cross-validation: stratified by class, whole groups, or forward in time; repeated with other seeds.

``make_folds`` is used by pruning (``prune/cross_validation.py``) and by validation curves, ``assign_folds`` by
everything that holds out every row exactly once. Which rule applies follows from the training set: its ``time`` and
``groups`` are columns (or arrays) named by the user. All rules depend on the seed and on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer, check_integer
from treewise._lib.text import plural, safe
from treewise.errors import DataError, Param, ParameterError
from treewise.train.training_set import TrainingSet

Ints = npt.NDArray[np.int64]

DEFAULT_FOLDS = 10
_MOST_REPEATS = 1000


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows that grow a tree, and those that it is evaluated on."""

    training: Ints
    held_out: Ints


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of every repeat, one after the other: ``repeats`` times ``count`` of them."""

    folds: tuple[Fold, ...]
    repeats: int
    kind: str  # "stratified", "random", "groups", "time" or "given"

    @property
    def count(self) -> int:
        """The number of folds in one repeat."""
        return len(self.folds) // self.repeats

    @property
    def has_exchangeable_rows(self) -> bool:
        """Whether rows may be taken as independent of each other: not within groups, not along time."""
        return self.kind not in ("groups", "time")

    def __str__(self) -> str:
        kind = {"groups": " of whole groups", "time": " forward in time"}.get(self.kind, "")
        times = f", repeated {self.repeats} times" if self.repeats > 1 else ""
        return f"{self.count} folds{kind}{times}"


def make_folds(training_set: TrainingSet, folds: Any = None, repeats: int = 1, random_state: int = 0) -> Folds:
    """Return the folds: a number of them, or as given by one fold number per row.

    >>> from treewise.train.grow import prepare
    >>> table = {"x": [1, 2, 3, 4, 5, 6], "who": list("aabbcc"), "when": [1, 2, 3, 4, 5, 6], "y": list("nnyyny")}
    >>> [fold.held_out.tolist() for fold in make_folds(prepare(table, "y", groups="who"), 3).folds]
    [[4, 5], [0, 1], [2, 3]]
    >>> [(f.training.tolist(), f.held_out.tolist()) for f in make_folds(prepare(table, "y", time="when"), 2).folds]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    check_integer("repeats", repeats, minimum=1, maximum=_MOST_REPEATS)
    if folds is not None and as_integer(folds) is None:
        return _given_folds(training_set, folds, repeats)
    if training_set.time is not None:
        if training_set.groups is not None:
            raise ParameterError(
                Param("groups") + " and " + Param("time") + " cannot be combined.", hint="Give one of them."
            )
        if repeats > 1:
            raise ParameterError(
                "there is one order of time, so repeats would be equal.", parameter="repeats", hint="Leave it out."
            )
        return Folds(tuple(_forward_folds(training_set, _count(training_set, folds))), 1, "time")
    count = _count(training_set, folds)
    numbers = [assign_folds(training_set, count, random_state + repeat) for repeat in range(repeats)]
    is_stratified = training_set.target.task == "classification"
    kind = "groups" if training_set.groups is not None else "stratified" if is_stratified else "random"
    return Folds(tuple(fold for number in numbers for fold in _by_number(number)), repeats, kind)


def assign_folds(training_set: TrainingSet, folds: Any = DEFAULT_FOLDS, random_state: int = 0) -> Ints:
    """Return the fold in which each row is held out: at random, stratified by class, all rows of a group together."""
    count = _check_count(training_set, folds)
    check_integer("random_state", random_state, minimum=0, maximum=2**64 - 1)
    if training_set.time is not None:
        raise ParameterError(
            "folds forward in time do not hold out every row, which is needed here.",
            parameter="time",
            hint="Leave it out.",
        )
    n = len(training_set)
    rng = np.random.default_rng(random_state)
    if training_set.groups is not None:
        return _assign_groups(training_set, count, rng)
    order = rng.permutation(n)
    if training_set.target.task == "classification":
        order = order[np.argsort(training_set.y[order], kind="stable")]  # dealt out class by class
    numbers = np.empty(n, np.int64)
    numbers[order] = np.arange(n) % count
    return numbers


def _count(training_set: TrainingSet, folds: Any) -> int:
    """Return the number of folds; by default 10, or what a small table allows."""
    if folds is not None:
        return _check_count(training_set, folds)
    n_units = len(training_set)
    if training_set.groups is not None:
        n_units = int(training_set.groups.max(initial=-1)) + 1
    elif training_set.time is not None:
        n_units = len(np.unique(training_set.time)) - 1
    return _check_count(training_set, max(2, min(DEFAULT_FOLDS, n_units)))


def _check_count(training_set: TrainingSet, folds: Any) -> int:
    """Return a number of folds; raise where the table has too few rows for it."""
    count = as_integer(folds)
    if count is None or count < 2:
        raise ParameterError("must be a whole number, 2 or more.", parameter="folds", value=folds)
    if len(training_set) < count:
        raise DataError(
            f"{training_set.table_name} has {plural(len(training_set), 'usable row')}: too few for {count} folds.",
            hint="Give more, or " + Param("folds", len(training_set)) + ".",
        )
    return count


def _by_number(numbers: Ints) -> list[Fold]:
    return [Fold(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in np.unique(numbers)]


def _given_folds(training_set: TrainingSet, folds: Any, repeats: int) -> Folds:
    """Return folds that are given as one number per row."""
    numbers = np.asarray(folds)
    is_valid = numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) == len(training_set)
    if not is_valid or len(np.unique(numbers)) < 2:
        raise ParameterError(
            f"must be a whole number, 2 or more, or a fold number for each of the {len(training_set):,} rows.",
            parameter="folds",
            value=folds,
            hint="For folds in order of time, give " + Param("time", ...) + "." if isinstance(folds, str) else "",
        )
    if repeats > 1:
        raise ParameterError(
            "the folds are given, so repeats would be equal.", parameter="repeats", hint="Leave it out."
        )
    return Folds(tuple(_by_number(numbers.astype(np.int64))), 1, "given")


# -- whole groups -----------------------------------------------------------------------------------------------------


def _assign_groups(training_set: TrainingSet, count: int, rng: np.random.Generator) -> Ints:
    """Assign whole groups to folds so that rows, and for classification the rows of each class, are spread evenly.

    Greedy: groups come in random order, those of twice the size before the others, and each goes to the fold where the
    sum over classes of the squared share of that class grows least.
    """
    assert training_set.groups is not None
    groups = np.unique(training_set.groups, return_inverse=True)[1]  # the rows of some groups may all be elsewhere
    n_groups = int(groups.max()) + 1
    if n_groups < count:
        raise DataError(
            f"{training_set.table_name} has {plural(n_groups, 'group')}: too few for {count} folds of whole groups.",
            hint="Give " + Param("folds", n_groups) + "." if n_groups > 1 else "Folds need two groups or more.",
        )
    is_class = training_set.target.task == "classification"
    n_classes = len(training_set.target.classes) if is_class else 1
    label = training_set.y.astype(np.int64) if is_class else np.zeros(len(groups), np.int64)
    counts = np.bincount(groups * n_classes + label, minlength=n_groups * n_classes).reshape(n_groups, n_classes)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    order = rng.permutation(n_groups)
    order = order[np.argsort(-np.floor(np.log2(counts.sum(axis=1)[order])), kind="stable")]
    filled, fold_of = np.zeros((count, n_classes)), np.empty(n_groups, np.int64)
    for position, group in enumerate(order.tolist()):
        growth = (filled * shares[group]).sum(axis=1)  # half the growth of the sum of squares, up to a constant
        total = filled.sum(axis=1)
        empty = np.flatnonzero(total == 0)
        must_fill = len(empty) >= n_groups - position  # every fold needs a group
        fold = int(empty[0]) if must_fill else int(np.lexsort((total, growth))[0])
        filled[fold] += shares[group]
        fold_of[group] = fold
    return np.asarray(fold_of[groups])


# -- forward in time --------------------------------------------------------------------------------------------------


def _forward_folds(training_set: TrainingSet, count: int) -> list[Fold]:
    """Return folds that are evaluated on later rows than they are grown on (as scikit-learn's TimeSeriesSplit).

    Of ``count + 1`` blocks of about equal size, each but the first evaluates a tree grown on all blocks before it.
    Rows of the same time stay together, in the later block.
    """
    time = training_set.time
    assert time is not None
    order = np.argsort(time, kind="stable")
    sorted_time, n = time[order], len(order)
    size = n // (count + 1)
    starts = n - size * np.arange(count, 0, -1)
    starts = np.searchsorted(sorted_time, sorted_time[starts])  # to the first row of the same time
    ends = np.append(starts[1:], n)
    if size == 0 or starts[0] == 0 or np.any(starts == ends):
        n_times = len(np.unique(time))
        raise DataError(
            f"{training_set.table_name} has {plural(n_times, 'different time')} in {plural(n, 'row')}: too few for"
            f" {count} folds forward in time, whose blocks must differ in time.",
            hint="Use fewer folds.",
        )
    return [
        Fold(np.sort(order[:start]), np.sort(order[start:end]))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def check_classes(training_set: TrainingSet, folds: Folds) -> str | None:
    """Return a note on a class that some tree has not seen or some fold does not contain; None if there is none."""
    if training_set.target.task == "regression":
        return None
    counts = np.bincount(training_set.y, minlength=len(training_set.target.classes))
    rare = [int(k) for k in np.argsort(counts, kind="stable") if 0 < counts[k] < folds.count]
    if not rare:
        return None
    name = safe(training_set.target.classes[rare[0]])
    return (
        f"class {name} has {plural(int(counts[rare[0]]), 'row')}, fewer than the {folds.count} folds: some folds cannot"
        " judge it"
    )
