"""What came out, as a table in Markdown and a picture: times beside treewise's, and how time grows with rows."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.peers import LEARNERS

Found = Mapping[str, Mapping[str, Mapping[str, float]]]  # workload → library → what was measured
OURS = "treewise"
DISTRIBUTIONS = {"scikit-learn": "scikit-learn", "LightGBM": "lightgbm", "XGBoost": "xgboost"}


def seconds(value: float) -> str:
    """Write a time with three digits.

    >>> seconds(41.27), seconds(0.01234)
    ('41.3', '0.0123')
    """
    return f"{value:.3g}"


def table(found: Found, what: Mapping[str, str]) -> str:
    """Write one row a workload and library, with the ratio of its wall time to ours."""
    lines = [
        "| workload | library | wall s | CPU s | times ours | peak MB | nodes | held out |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for workload, libraries in found.items():
        ours = libraries.get(OURS, {}).get("wall")
        for name, m in libraries.items():
            ratio = f"{m['wall'] / ours:.1f}" if ours else ""
            held = f"{m['quality']:.4f}" if "quality" in m else f"one row {m['one_row_us']:.1f} µs"
            first = f"{workload}: {what[workload]}" if name == next(iter(libraries)) else ""
            lines.append(
                f"| {first} | {name} | {seconds(m['wall'])} | {seconds(m['cpu'])} | {ratio} | {m['peak']:.0f}"
                f" | {int(m['nodes']):,} | {held} |"
            )
    return "\n".join(lines)


def growth_table(growth: Mapping[str, Mapping[int, float]]) -> str:
    """Write how long each number of rows took, and per row and its logarithm."""
    lines = ["| tree | rows | wall s | ns a row, over log2(rows) |", "|---|--:|--:|--:|"]
    for name, times in growth.items():
        for rows, wall in times.items():
            lines.append(f"| {name} | {rows:,} | {seconds(wall)} | {wall / rows / math.log2(rows) * 1e9:.1f} |")
    return "\n".join(lines)


def machine(libraries: Sequence[str], threads: int) -> str:
    """Say where this was measured."""
    versions = []
    for name in libraries:
        try:
            versions.append(f"{name} {version(DISTRIBUTIONS.get(name, name))}")
        except PackageNotFoundError:
            versions.append(f"{name} (from its source)")
    return f"{platform.machine()}, {threads} threads, Python {platform.python_version()}; {', '.join(versions)}."


def picture(found: Found, growth: Mapping[str, Mapping[int, float]], path: Path) -> None:
    """Draw the times of every library as multiples of ours, and ours against the number of rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), width_ratios=[3, 2], layout="constrained")
    names = [one.name for one in LEARNERS if any(one.name in libraries for libraries in found.values())]
    width = 0.8 / max(1, len(names))
    for i, name in enumerate(names):
        places = [k + i * width for k, libraries in enumerate(found.values()) if name in libraries]
        left.bar(places, [m[name]["wall"] for m in found.values() if name in m], width, label=name)
    left.set(yscale="log", ylabel="seconds, wall", title="One tree (W9: a million predictions)")
    left.set_xticks([k + 0.4 - width / 2 for k in range(len(found))], list(found), rotation=30, ha="right")
    left.legend(fontsize=8)
    for name, times in growth.items():
        line = right.loglog(list(times), list(times.values()), marker="o", label=name)[0]
        rows, first = list(times), next(iter(times.items()))
        guide = [first[1] * n * math.log2(n) / (first[0] * math.log2(first[0])) for n in rows]
        right.loglog(rows, guide, ":", color=line.get_color(), label=f"{name}: n log n")
    right.set(xlabel="rows", ylabel="seconds, wall", title="treewise, 20 columns")
    if growth:
        right.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
