"""Simulated customers of a bank who stay or leave: a table as analysts get it, with a known distribution.

It has what tables of customers have: a key, flags of 0 and 1, whole numbers, amounts, a number that marks "never"
(999), missing cells, and a target of 0 and 1. No customer is real.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data.table import Table, read

_COUNTRIES = ("France", "Germany", "Spain")
_NEVER = 999  # days since a call, of customers who never called


def customers(n: int = 3000, seed: int = 0) -> Table:
    """Draw n customers: who left within a year (``left`` = 1), and what was known before; the same seed, the same rows.

    >>> table = customers(500)
    >>> table.n_rows, table.target, table["left"].values.mean() < 0.35
    (500, 'left', np.True_)
    """
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.normal(41, 11, n)), 18, 85).astype(int)
    products = rng.choice([1, 2, 3], n, p=[0.5, 0.44, 0.06])
    active = rng.integers(0, 2, n)
    country = rng.choice(3, n, p=[0.5, 0.25, 0.25])
    balance = np.where(rng.random(n) < 0.3, 0.0, np.round(rng.gamma(6.0, 17_000.0, n), 2))
    days = np.where(rng.random(n) < 0.85, _NEVER, rng.integers(1, 180, n))
    left = rng.random(n) < _chance(age, products, active, country, balance)
    income = np.round(rng.gamma(4.0, 12_000.0, n), -2)
    cells: dict[str, Any] = {
        "customer_id": 100_000 + rng.permutation(n),
        "country": [_COUNTRIES[i] for i in country.tolist()],
        "age": age,
        "products": products,
        "active": active,
        "balance": balance,
        "income": np.where(rng.random(n) < 0.06, np.nan, income),
        "days_since_call": days,
        "left": left.astype(int),
    }
    title = f"{n:,} simulated customers of a bank who stay or leave"
    return replace(read(cells), name="customers", target="left", title=title)


def customers_later() -> Table:
    """Return the 1,500 customers of the year after, for a test on rows that no tree has seen."""
    return replace(customers(1500, seed=1), name="customers_later")


def _chance(age: Any, products: Any, active: Any, country: Any, balance: Any) -> npt.NDArray[np.float64]:
    """Return the probability that a customer leaves."""
    chance = np.full(len(age), 0.07)
    chance[age > 42] += 0.11
    chance[(age > 50) & (active == 0)] += 0.45
    chance[(age > 42) & (age <= 50) & (active == 0) & (products == 1)] += 0.2
    chance[(country == 1) & (balance > 90_000)] += 0.12
    chance[products == 3] += 0.55
    return np.asarray(np.clip(chance, 0.0, 0.95), np.float64)
