"""Count which column is the root of trees on tables without signal, by each ``selection``, beside rpart and ctree.

    python -m benchmarks.selection [--tables 2000] [--variants]

The target is independent of a binary column, a number and a category of many levels. An unbiased choice takes each in a
third of the tables; ``selection="test"`` also says how often its root is split at ``alpha=0.05``. ``--variants`` counts
the same for gini and multiway splits, and for few levels. Peers are those of R, where they are installed (roots.R).
"""

from __future__ import annotations

import argparse
import math
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import treewise as tw

COLUMNS = ("binary", "number", "category")
SITUATIONS = [(200, 50), (1000, 50), (200, 10), (1000, 10)]  # rows, levels of the category
FEW_LEVELS = [(200, 5), (200, 6), (200, 8), *SITUATIONS]
WAYS: dict[str, dict[str, Any]] = {
    "gain": {"selection": "gain", "min_level_rows": 1},
    "priced": {"selection": "priced"},
    "test": {"selection": "test", "alpha": 1.0},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "gain": WAYS["gain"],
    "priced": WAYS["priced"],
    "priced, gini": {"selection": "priced", "criterion": "gini"},
    "gain, multiway": {**WAYS["gain"], "categorical": "multiway"},
    "priced, multiway": {"selection": "priced", "categorical": "multiway"},
}


def table_without_signal(rng: np.random.Generator, n: int, n_levels: int, regression: bool) -> dict[str, Any]:
    """Draw a table whose target is independent of a binary column, a number and a category."""
    return {
        "binary": rng.choice(["a", "b"], n),
        "number": rng.normal(size=n),
        "category": rng.choice([f"l{i}" for i in range(n_levels)], n),
        "y": rng.normal(size=n) if regression else rng.choice(["p", "q"], n),
    }


def count_roots(n_tables: int, n: int, n_levels: int, regression: bool, **options: Any) -> tuple[list[float], float]:
    """Return how often each column is the root, and how often its p-value is at most 0.05."""
    rng, roots, false_splits = np.random.default_rng([n, n_levels, regression]), Counter[str](), 0
    for _ in range(n_tables):
        tree = tw.grow(table_without_signal(rng, n, n_levels, regression), "y", max_depth=1, n_jobs=1, **options)
        root = tree[0]
        roots["" if root.split is None else root.split.column] += 1
        false_splits += root.p_value is not None and root.p_value <= 0.05
    return [roots[name] / n_tables for name in COLUMNS], false_splits / n_tables


def count_roots_in_r(n_tables: int, n: int, n_levels: int, regression: bool) -> Iterator[tuple[str, list[float]]]:
    """Yield the same shares for rpart and ctree, of tables that R draws."""
    script = str(Path(__file__).with_name("roots.R"))
    task = "numbers" if regression else "classes"
    call = ["Rscript", "--vanilla", script, *map(str, (n_tables, n, n_levels)), task]
    try:
        output = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return
    for line in output.splitlines():
        name, *shares = line.split()
        yield name, [float(share) for share in shares]


def print_roots(n_tables: int) -> None:
    """Print a Markdown table: the roots by each selection, and by rpart and ctree."""
    print(f"root column of {n_tables:,} tables without signal; ± {math.sqrt(2 / 9 / n_tables):.3f} for a third\n")
    print("| selection | target | rows | levels | binary | number | category | split at alpha = 0.05 |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for regression in (False, True):
        for n, n_levels in SITUATIONS:
            target = "numbers" if regression else "classes"
            for name, options in WAYS.items():
                shares, rate = count_roots(n_tables, n, n_levels, regression, **options)
                end = f"{rate:.3f}" if name == "test" else ""
                _print_line(f"`{name}`", target, n, n_levels, shares, end)
            for name, shares in count_roots_in_r(n_tables, n, n_levels, regression):
                _print_line(name, target, n, n_levels, shares, "")


def _print_line(name: str, target: str, n: int, n_levels: int, shares: list[float], end: str) -> None:
    cells = " | ".join(f"{share:.3f}" for share in shares)
    print(f"| {name} | {target} | {n:,} | {n_levels} | {cells} | {end} |", flush=True)


def print_variants(n_tables: int) -> None:
    """Print a Markdown table: the roots for gini and multiway splits, and for few levels."""
    print("| levels | rows | " + " | ".join(VARIANTS) + " |\n|--:|--:|" + "---|" * len(VARIANTS))
    for n, n_levels in FEW_LEVELS:
        actual = [count_roots(n_tables, n, n_levels, False, **options)[0] for options in VARIANTS.values()]
        cells = [" / ".join(f"{share:.2f}" for share in shares) for shares in actual]
        print(f"| {n_levels} | {n:,} | " + " | ".join(cells) + " |", flush=True)


def main(words: list[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection")
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--variants", action="store_true")
    arguments = parser.parse_args(words)
    (print_variants if arguments.variants else print_roots)(arguments.tables)


if __name__ == "__main__":
    main()
