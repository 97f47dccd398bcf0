"""Random tables for property tests: columns of every type, a target, weights and a mix of settings.

``random_tables()`` is a hypothesis strategy for a ``RandomTable``: a dict of lists with the target in "y", and options
for ``grow``. Columns have few distinct values, so that ties, empty branches and indistinguishable rows are common.

By default every run draws the same few examples; ``TREEWISE_LONG=1`` draws more, and different ones each time.
"""

import datetime
import os
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.criteria import CLASSIFICATION, REGRESSION

LONG = bool(os.environ.get("TREEWISE_LONG"))
EXAMPLES = 150 if LONG else 40

CATEGORICAL = ("subset", "multiway", "one_value", "ordinal", "any")

# Cell types: each is compared or encoded differently.
CELLS = {
    "few": st.integers(0, 4).map(float),
    "float": st.floats(allow_nan=False, width=64),
    "short": st.floats(-3, 3, width=16),
    "wide": st.integers(0, 4).map(lambda i: 2**60 + i),
    "word": st.sampled_from(["Rome", "Bari", "Oslo", "New York", "Zürich", "Łódź"]),
    "flag": st.booleans(),
    "day": st.integers(0, 5).map(lambda i: datetime.datetime(2024, 2, 27) + datetime.timedelta(days=i)),
}


def limit_examples(share: float = 1.0) -> settings:
    """Return hypothesis settings with a share of the usual number of examples."""
    return settings(max_examples=max(5, int(EXAMPLES * share)), deadline=None, derandomize=not LONG)


@dataclass(frozen=True)
class RandomTable:
    """A table and the options to grow on it."""

    data: dict[str, list[Any]]
    options: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.data["y"])

    @property
    def columns(self) -> dict[str, list[Any]]:
        return {name: cells for name, cells in self.data.items() if name != "y"}

    def grow(self, **more: Any) -> tw.Tree:
        return tw.grow(self.data, "y", **{**self.options, **more})

    def rows(self, order: list[int]) -> "RandomTable":
        """Return the table with these rows, in this order; rows may repeat, and keep their weights."""
        data = {name: [cells[i] for i in order] for name, cells in self.data.items()}
        weight = self.options.get("sample_weight")
        also = {} if weight is None else {"sample_weight": [weight[i] for i in order]}
        return RandomTable(data, {**self.options, **also})

    def is_usable(self) -> bool:
        """Tell whether every column has a non-missing value, and a Poisson target a positive one."""
        good = all(any(cell is not None for cell in cells) for cells in self.data.values())
        return good and (self.options["criterion"] != "poisson" or any(self.data["y"]))

    def replacing(self, **columns: list[Any]) -> "RandomTable":
        """Return the table with columns replaced or added."""
        return replace(self, data={**self.data, **columns})


@st.composite
def random_tables(
    draw: st.DrawFn,
    kinds: tuple[str, ...] = tuple(CELLS),
    *,
    task: str | None = None,
    criteria: tuple[str, ...] | None = None,
    limits: bool = True,
    weights: bool = True,
    missing: bool = True,
) -> RandomTable:
    """Draw a table and settings; no column is entirely missing, since its type would then be unknown."""
    n = draw(st.integers(2, 22))
    task = task or draw(st.sampled_from(["classification", "regression"]))
    data: dict[str, list[Any]] = {}
    for i in range(draw(st.integers(1, 4))):
        cell = CELLS[draw(st.sampled_from(kinds))]
        if missing and draw(st.booleans()):
            cell = cell | st.none()
        cells = draw(st.lists(cell, min_size=n, max_size=n))
        if all(value is None for value in cells):
            cells[0] = draw(cell.filter(lambda value: value is not None))
        data[f"x{i + 1}"] = cells
    y = st.sampled_from(["no", "yes", "maybe"]) if task == "classification" else st.integers(0, 9).map(lambda v: v / 2)
    data["y"] = draw(st.lists(y, min_size=n, max_size=n))
    known = [c for c in (CLASSIFICATION if task == "classification" else REGRESSION) if c in (criteria or (c,))]
    options: dict[str, Any] = {
        "task": task,
        "criterion": draw(st.sampled_from(known)),
        "categorical": draw(st.sampled_from(CATEGORICAL)),
        "missing": draw(st.sampled_from(["learn", "branch"])),
    }
    if options["criterion"] == "poisson" and not any(data["y"]):
        data["y"][0] = 1.0
    if limits and draw(st.booleans()):
        options |= draw(some_limits())
        if options["criterion"] not in CLASSIFICATION:
            options.pop("sufficient_accuracy", None)
    if weights and draw(st.booleans()):
        options["sample_weight"] = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    return RandomTable(data, options)


def some_limits() -> st.SearchStrategy[dict[str, Any]]:
    """Draw some growth limits."""
    every = {
        "max_depth": st.integers(0, 4),
        "min_samples_split": st.integers(2, 5),
        "min_samples_leaf": st.integers(1, 3),
        "max_leaf_nodes": st.integers(1, 7),
        "min_weight_fraction_leaf": st.floats(0, 0.3),
        "min_impurity_decrease": st.floats(0, 0.1),
        "sufficient_accuracy": st.floats(0.5, 1),
    }
    return st.fixed_dictionaries({}, optional=every)
