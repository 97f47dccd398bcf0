"""What the user asked of the learner, checked: criterion, split kinds, limits, ties, and the books' presets.

Stands beside ``train/criteria.py``, below everything that learns. ``Settings`` is the one place where a parameter has its
default and its range; Python, estimators and the command line all fill the same fields.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

from treewise.data.encoding import SPLIT_KINDS
from treewise.errors import ParameterError, PythonOnly, did_you_mean
from treewise.train.criteria import criterion_named

MOST = 2**63 - 1  # rows, nodes and levels are counted in 64 bits
LARGEST = sys.float_info.max

# The books' settings by name; a parameter given by the user wins over them.
PRESETS: dict[str, dict[str, Any]] = {
    "id3": {"criterion": "entropy", "categorical": "multiway"},  # Quinlan 1986; CS221 notes 6, ID3 notes
    "cart": {"criterion": "gini", "categorical": "subset"},  # Breiman, Friedman, Olshen, Stone 1984
    "c45": {"criterion": "c45", "categorical": "multiway", "min_samples_leaf": 2},  # Quinlan 1993
}
PRESET_PRUNING = {"c45": "pessimistic"}  # how a book prunes classes, unless the user says otherwise


@dataclass(frozen=True)
class Settings:
    """Everything that steers growth. ``Settings.of(...)`` fills presets and checks each value.

    >>> Settings.of(preset="id3", max_depth=3).categorical
    'multiway'
    """

    criterion: str | None = None  # None: entropy for classes, squared_error for numbers
    categorical: str = "subset"
    missing: str = "learn"
    empty_branch: Literal["parent", "root"] = "parent"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    max_leaf_nodes: int | None = None
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    sufficient_accuracy: float = 1.0
    ties: str = "first"
    random_state: int = 0
    max_features: int | float | str | None = None  # columns a node looks at, drawn at random; None: all
    splitter: str = "best"

    @classmethod
    def of(cls, preset: str | None = None, **given: Any) -> Settings:
        """Combine a preset with what the user gave (None means "not given"), and check it."""
        chosen: dict[str, Any] = {}
        if preset is not None:
            one_of("preset", preset, PRESETS)
            chosen |= PRESETS[preset]
        chosen |= {name: plain(value) for name, value in given.items() if value is not None}
        settings = cls(**chosen)
        settings.check()
        return settings

    def check(self) -> None:
        """Raise ParameterError for the first value out of range."""
        if self.criterion is not None:
            criterion_named(self.criterion)
        one_of("categorical", self.categorical, SPLIT_KINDS)
        one_of("missing", self.missing, ("learn", "branch", "error"))
        one_of("empty_branch", self.empty_branch, ("parent", "root"))
        one_of("ties", self.ties, ("first", "random"))
        one_of("splitter", self.splitter, ("best", "random"))
        features("max_features", self.max_features)
        whole("max_depth", self.max_depth, least=0, none="None for no limit")
        whole("max_leaf_nodes", self.max_leaf_nodes, least=1, none="None for no limit")
        whole("random_state", self.random_state, least=0, most=2**64 - 1)
        count_or_share("min_samples_split", self.min_samples_split, least=2)
        count_or_share("min_samples_leaf", self.min_samples_leaf, least=1)
        within("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0.0, 0.5)
        within("min_impurity_decrease", self.min_impurity_decrease, 0.0, math.inf)
        within("sufficient_accuracy", self.sufficient_accuracy, 0.0, 1.0)

    def features_of(self, columns: int) -> int:
        """Return how many of so many columns a node looks at.

        >>> [Settings(max_features=m).features_of(20) for m in (None, 3, 0.5, "sqrt", "log2")]
        [20, 3, 10, 4, 4]
        """
        wanted = self.max_features
        if wanted is None:
            return columns
        if isinstance(wanted, str):
            wanted = math.isqrt(columns) if wanted == "sqrt" else columns.bit_length() - 1
        elif isinstance(wanted, float):
            wanted = math.floor(as_written(wanted) * columns)
        return min(columns, max(1, wanted))

    def given(self) -> dict[str, Any]:
        """Return the values that differ from the defaults, for the history and for headers.

        >>> Settings.of(preset="id3").given()
        {'criterion': 'entropy', 'categorical': 'multiway'}
        """
        defaults = {f.name: f.default for f in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != defaults[name]}

    def least_rows(self, share_or_count: int | float, rows: int) -> int:
        """Turn scikit-learn's "count, or share of all rows" into a count."""
        if isinstance(share_or_count, int):
            return share_or_count
        return max(1, math.ceil(as_written(share_or_count) * rows))


def plain(value: Any) -> Any:
    """Turn NumPy's numbers into Python's, which a model file can hold; everything else stays as it is.

    >>> import numpy as np
    >>> plain(np.int64(3)), plain(np.float32(0.5)), plain("gini"), plain(True)
    (3, 0.5, 'gini', True)
    """
    if isinstance(value, bool | int | float | str):
        return value
    count = index(value)
    if count is not None:
        return count
    return float(value) if isinstance(value, Real) else value


def index(value: Any) -> int | None:
    """Return a whole number of any type as Python's; None if it is no whole number."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def as_written(share: float) -> Fraction:
    """Return a share as the decimal the user wrote: 0.07 of 100 is 7, not 7.000000000000001.

    >>> as_written(0.07) * 100
    Fraction(7, 1)
    """
    return Fraction(repr(float(share))).limit_denominator(10**17)


def one_of(name: str, value: object, known: Collection[str]) -> None:
    """Check a word against the known ones."""
    if not isinstance(value, str) or value not in known:
        raise ParameterError(
            f"must be one of {', '.join(known)}.", parameter=name, value=value, hint=did_you_mean(value, known)
        )


def whole(name: str, value: object, least: int, none: str = "", most: int | None = None) -> None:
    """Check a whole number (None allowed where ``none`` says what it means)."""
    if value is None and none:
        return
    count = index(value)
    if count is None or not least <= count <= (most or MOST):
        upto = f"from {least} to {most or MOST}" if most or (count or 0) > MOST else f"{least} or more"
        raise ParameterError(
            f"must be a whole number, {upto}" + PythonOnly(f", or {none}" if none else "") + ".",
            parameter=name,
            value=value,
        )


def count_or_share(name: str, value: object, least: int) -> None:
    """Check "at least so many rows, or this share of them"."""
    if isinstance(value, float) and 0.0 < value < 1.0:
        return
    count = index(value)
    if count is not None and least <= count <= MOST:
        return
    raise ParameterError(
        f"must be a whole number, {least} or more, or a share between 0 and 1.", parameter=name, value=value
    )


def features(name: str, value: object) -> None:
    """Check how many columns a node looks at: so many, this share of them, or scikit-learn's words."""
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2")):
        return
    count = index(value)
    if (count is not None and 1 <= count <= MOST) or (isinstance(value, float) and 0.0 < value <= 1.0):
        return
    raise ParameterError(
        'must be "sqrt" or "log2", or a whole number of columns, or a share of them above 0 and up to 1'
        + PythonOnly(", or None for the usual number")
        + ".",
        parameter=name,
        value=value,
    )


def within(name: str, value: object, low: float, high: float) -> None:
    """Check a number against a closed range."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= min(high, LARGEST):
        upto = f"between {low:g} and {high:g}" if high < math.inf else f"{low:g} or more"
        raise ParameterError(f"must be a number {upto}.", parameter=name, value=value)
