"""Subgroups: how many tables without any effect have a group with a corrected p-value below 0.05."""

from __future__ import annotations

from collections.abc import Iterator

import treewise as tw
from benchmarks.coverage.leaves import draw_table
from benchmarks.coverage.measured import Measured

_PERMUTATIONS = 99


def subgroup_p_values(tables: int) -> Iterator[Measured]:
    """Measure p-values on the training rows, by permutation of the whole search, and on held-out rows."""
    for regression in (False, True):
        permuted = held_out = 0
        for seed in range(tables):
            train, other = (draw_table(200, seed + shift, regression, signal=0.0) for shift in (0, 10**6))
            tree = tw.grow(train, "y", max_leaf_nodes=6, min_samples_leaf=5, n_jobs=1)
            permuted += len(tree.subgroups(train, permutations=_PERMUTATIONS, random_state=seed, n_jobs=1)) > 0
            held_out += len(tree.subgroups(other)) > 0
        task = "means" if regression else "shares"
        situation = "200 rows without effect, 6 leaves"
        figure = f"p < 0.05 for {task}, {_PERMUTATIONS} permutations of the search"
        yield Measured("subgroups", figure, situation, permuted / tables, tables, "p-value")
        yield Measured("subgroups", f"p < 0.05 for {task}, other rows", situation, held_out / tables, tables, "p-value")
