"""``indicators``: a table as the 0/1 vectors that logistic regression takes (CS221 notes 6).

One component for each possible value of each discrete feature, declared levels that never occur included; numbers stay
one component. The models that a tree is compared with (``models.py``) use the same components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_choice
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.train.grow import prepare
from treewise.tree.splits import equality_text


@dataclass(frozen=True, repr=False, eq=False)
class Indicators(Displayable):
    """The vectors of a table: ``names`` of the components, and ``matrix``, one row per row of the table.

    >>> import treewise as tw
    >>> result = indicators("food")
    >>> len(result), result.n_components, result.names[:4]
    (6, 11, ('Hunger = can-eat', 'Hunger = full', 'Hunger = hungry', 'Hunger = starving'))
    >>> result[0]
    [0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0]
    """

    table: str
    names: tuple[str, ...]
    matrix: npt.NDArray[np.float64]

    @property
    def n_components(self) -> int:
        """The length of a vector."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, row: int) -> list[float]:
        """Return the vector of a row, from 0."""
        return [int(value) if value == int(value) else value for value in self.matrix[row].tolist()]

    def result_table(self) -> ResultTable:
        """Lay out one vector per row."""
        columns = (
            ColumnSpec("row", "count"),
            ColumnSpec("vector", only="text", break_at=" "),
            *(ColumnSpec(name, "number", only="data") for name in self.names),
        )
        texts = [" ".join(map(format_rounded, vector)) for vector in self.matrix.tolist()]
        rows = [(i + 1, text, *self.matrix[i].tolist()) for i, text in enumerate(texts)]
        title = f"{safe(self.table)} as vectors of {plural(self.n_components, 'component')}"
        return ResultTable(title, columns, rows, below=(f"Components: {', '.join(map(safe, self.names))}.",))


def indicators(data: Any, target: Any = None, *, binary: Literal["two", "one"] = "two", **options: Any) -> Indicators:
    """Return a table as the 0/1 vectors of logistic regression: one component for each value of a discrete feature.

    Trees need no such encoding (CS221 notes 6). ``binary="one"`` uses one component for a feature of two values, which
    says the same (the note's footnote). The other options are those of ``grow``; ``kinds`` may give levels in an order.

    >>> kinds = {"Hunger": ["starving", "hungry", "can-eat", "full"], "Like": ["y", "n"], "Healthy": ["y", "n"]}
    >>> meal = {"Hunger": ["hungry"], "Like": ["y"], "Healthy": ["y"], "Price": ["cheap"], "Eat": ["y"]}
    >>> vectors = indicators(meal, "Eat", kinds={**kinds, "Price": ["free", "cheap", "expensive"]})
    >>> vectors[0]
    [0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0]
    >>> indicators("food", binary="one").n_components
    9
    """
    check_choice("binary", binary, ("two", "one"))
    training_set = prepare(data, target, **options)
    names: list[str] = []
    parts: list[npt.NDArray[np.float64]] = []
    for encoding, values in zip(training_set.encodings, training_set.columns, strict=True):
        codes = level_codes(encoding, values) if encoding.is_categorical else []
        if binary == "one" and len(codes) == 2:
            codes = codes[1:]
        names += [_component_name(encoding, code) for code in codes] or [safe(encoding.name)]
        parts.append(match_codes(values, codes) if codes else values.astype(np.float64)[:, None])
    return Indicators(training_set.table_name, tuple(names), np.hstack(parts) if parts else np.zeros((0, 0)))


def level_codes(encoding: Encoding, values: npt.NDArray[Any]) -> list[int]:
    """Return the codes that have a component: every level, and missing (-1) if some values are."""
    return [*range(len(encoding.levels)), *([-1] if encode.is_missing(encoding, values).any() else [])]


def match_codes(values: npt.NDArray[Any], codes: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return 1 where a value has a code: rows × codes."""
    return np.asarray(values[:, None] == np.asarray(codes), np.float64)


def _component_name(encoding: Encoding, code: int) -> str:
    name = safe(encoding.name)
    return f"{name} missing" if code < 0 else equality_text(name, encoding.levels[code], encoding)
