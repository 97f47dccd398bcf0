"""How long does one exact tree take, beside scikit-learn's?   python -m benchmarks.one_tree [--rows N] [--repeat K]

Both get the same NumPy array and the same limits and run in turn; the best of several runs counts. scikit-learn uses
one thread and so, today, do we.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import treewise as tw


def score(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """A smooth surface with interactions: x0 and six terms that switch on and off."""
    total = x[:, 0].copy()
    for _ in range(6):
        a, b = rng.integers(0, x.shape[1], 2)
        total += rng.normal() * np.sin(2 * x[:, a]) * (x[:, b] > rng.normal() / 2)
    return total


def best_of(repeat: int, *work: Callable[[], object]) -> list[float]:
    """Time each piece of work in turn, several times over; return the best of each."""
    best = [float("inf")] * len(work)
    for _ in range(repeat):
        for i, run in enumerate(work):
            start = time.process_time()
            run()
            best[i] = min(best[i], time.process_time() - start)
    return best


def main() -> None:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(asked.rows, asked.columns)).astype(np.float32)
    surface = score(rng, x)
    y = (surface + 0.7 * rng.normal(size=asked.rows) > 0).astype(int)
    cases = [
        ("two classes, gini, depth 8", "gini", y, {"max_depth": 8}),
        ("two classes, entropy, depth 8", "entropy", y, {"max_depth": 8}),
        ("two classes, gini, min leaf 20", "gini", y, {"min_samples_leaf": 20}),
        ("numbers, depth 10", "squared_error", surface, {"max_depth": 10}),
    ]
    print(f"{asked.rows:,} rows x {asked.columns} columns, CPU seconds, best of {asked.repeat}")
    print(f"{'':32}{'treewise':>10}{'scikit-learn':>14}{'ratio':>8}")
    for name, criterion, target, limits in cases:
        peer = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
        ours, theirs = best_of(
            asked.repeat,
            lambda t=target, c=criterion, k=limits: tw.grow(x, t, criterion=c, **k),
            lambda t=target, c=criterion, k=limits, p=peer: p(criterion=c, random_state=0, **k).fit(x, t),
        )
        print(f"{name:32}{ours:10.2f}{theirs:14.2f}{theirs / ours:7.1f}x")


if __name__ == "__main__":
    main()
