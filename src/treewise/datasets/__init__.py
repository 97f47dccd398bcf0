"""Built-in tables: those of the lecture notes, samples of a known distribution, and the Palmer penguins.

Every function returns a ``Table`` with a title and a default target. ``treewise data`` lists ``NAMES``, each of which
can be given as DATA on the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from treewise.data.table import Table, read
from treewise.datasets.customers import customers, customers_later
from treewise.datasets.sampler import Sampler, noisy, sampler
from treewise.datasets.textbook import (
    admissions,
    diagonal,
    distractor,
    food,
    four_points,
    irrelevant,
    no_guidance,
    or_table,
    outlier,
    outlier_validation,
    seven_points,
    seven_rows,
    six_points,
    specialised,
    xor,
)
from treewise.errors import ParameterError, did_you_mean

__all__ = [
    "NAMES",
    "TRUTHS",
    "Sampler",
    "admissions",
    "customers",
    "customers_later",
    "diagonal",
    "distractor",
    "food",
    "four_points",
    "irrelevant",
    "load",
    "no_guidance",
    "noisy",
    "or_table",
    "outlier",
    "outlier_validation",
    "penguins",
    "sampler",
    "seven_points",
    "seven_rows",
    "six_points",
    "specialised",
    "xor",
]


def penguins() -> Table:
    """Return 344 penguins of three species from the Palmer Archipelago: sizes, island, sex, 19 cells missing.

    Collected by Kristen Gorman and the Palmer Station Antarctica LTER (Gorman, Williams and Fraser 2014,
    PLoS ONE 9(3): e90081); simplified by Horst, Hill and Gorman (2020, the R package palmerpenguins).
    Licence: CC0 1.0, no rights reserved.

    >>> penguins().n_rows, penguins().target
    (344, 'species')
    """
    table = read(Path(__file__).with_name("penguins.csv"))
    title = "344 penguins of three species: sizes, island, sex; 19 cells missing (Palmer Station LTER, CC0)"
    return replace(table, name="penguins", target="species", title=title)


NAMES: Mapping[str, Callable[[], Table]] = {
    "food": food,
    "admissions": admissions,
    "six_points": six_points,
    "four_points": four_points,
    "seven_points": seven_points,
    "xor": xor,
    "or": or_table,
    "seven_rows": seven_rows,
    "outlier": outlier,
    "outlier_validation": outlier_validation,
    "no_guidance": no_guidance,
    "specialised": specialised,
    "distractor": distractor,
    "diagonal": diagonal,
    "irrelevant": irrelevant,
    "noisy": noisy,
    "penguins": penguins,
    "customers": customers,
    "customers_later": customers_later,
}
TRUTHS: Mapping[str, Callable[[], Sampler]] = {"noisy": sampler}  # the known distribution of a table


def load(name: str) -> Table:
    """Return a built-in table by name.

    >>> load("admissions").n_rows
    12
    >>> load("admision")
    Traceback (most recent call last):
    treewise.errors.ParameterError: no built-in table "admision". Did you mean "admissions"? There are: ...
    """
    if name not in NAMES:
        hint = did_you_mean(name, NAMES)
        raise ParameterError(f'no built-in table "{name}".', hint=f"{hint} There are: {', '.join(NAMES)}.")
    return NAMES[name]()
