"""Benchmark results as Markdown tables and a chart."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.peers import LEARNERS

Found = Mapping[str, Mapping[str, Mapping[str, float]]]  # workload → library → what was measured
OURS = "treewise"
DISTRIBUTIONS = {"scikit-learn": "scikit-learn", "LightGBM": "lightgbm", "XGBoost": "xgboost"}


def format_seconds(value: float) -> str:
    """Format seconds with three significant digits.

    >>> seconds(41.27), seconds(0.01234)
    ('41.3', '0.0123')
    """
    return f"{value:.3g}"


def times_table(found: Found, what: Mapping[str, str]) -> str:
    """Return a table with one row per workload and library, with the ratio of its wall time to treewise's."""
    sized = any("kept" in m for libraries in found.values() for m in libraries.values())
    lines = [
        "| workload | library | wall s | CPU s | times ours | peak MB | nodes | held out |"
        + " model MB | file MB |" * sized,
        "|---|---|--:|--:|--:|--:|--:|--:|" + "--:|--:|" * sized,
    ]
    for workload, libraries in found.items():
        ours = libraries.get(OURS, {}).get("wall")
        for name, m in libraries.items():
            ratio = f"{m['wall'] / ours:.1f}" if ours else ""
            held = f"{m['quality']:.4f}" if "quality" in m else f"one row {m['one_row_us']:.1f} µs"
            first = f"{workload}: {what[workload]}" if name == next(iter(libraries)) else ""
            lines.append(
                f"| {first} | {name} | {format_seconds(m['wall'])} | {format_seconds(m['cpu'])} | {ratio}"
                f" | {m['peak']:.0f}"
                f" | {int(m['nodes']):,} | {held} |" + sizes(m) * sized
            )
    return "\n".join(lines)


def sizes(m: Mapping[str, float]) -> str:
    """Format the model size in memory and on disk, if measured."""
    return f" {m['kept']:.0f} | {m['file']:.0f} |" if "kept" in m else "  |  |"


def growth_table(growth: Mapping[str, Mapping[int, float]]) -> str:
    """Return a table of the time by number of rows, also per row and log2(rows)."""
    lines = ["| tree | rows | wall s | ns per row / log2(rows) |", "|---|--:|--:|--:|"]
    for name, times in growth.items():
        for rows, wall in times.items():
            lines.append(f"| {name} | {rows:,} | {format_seconds(wall)} | {wall / rows / math.log2(rows) * 1e9:.1f} |")
    return "\n".join(lines)


def describe_machine(libraries: Sequence[str], threads: int) -> str:
    """Describe the machine and the library versions."""
    versions = []
    for name in libraries:
        try:
            versions.append(f"{name} {version(DISTRIBUTIONS.get(name, name))}")
        except PackageNotFoundError:
            versions.append(f"{name} (from its source)")
    return f"{platform.machine()}, {threads} threads, Python {platform.python_version()}; {', '.join(versions)}."


def draw_times(found: Found, growth: Mapping[str, Mapping[int, float]], path: Path) -> None:
    """Draw the times of every library, and the time by number of rows, if measured."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    parts = [(times_panel, found, 3), (growth_panel, growth, 2)]
    drawn = [(panel, measured, width) for panel, measured, width in parts if measured]
    if not drawn:
        return
    widths = [width for _, _, width in drawn]
    figure, axes = plt.subplots(
        1, len(drawn), figsize=(2.4 * sum(widths), 4.5), width_ratios=widths, layout="constrained", squeeze=False
    )
    for (panel, measured, _), axis in zip(drawn, axes[0], strict=True):
        panel(axis, measured)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def times_panel(axis: Any, found: Found) -> None:
    """Draw the time of every library on every workload."""
    names = [learner.name for learner in LEARNERS if any(learner.name in libraries for libraries in found.values())]
    width = 0.8 / max(1, len(names))
    for i, name in enumerate(names):
        places = [k + i * width for k, libraries in enumerate(found.values()) if name in libraries]
        axis.bar(places, [m[name]["wall"] for m in found.values() if name in m], width, label=name)
    axis.set(yscale="log", ylabel="seconds, wall", title="One tree (W9: a million predictions)")
    axis.set_xticks([k + 0.4 - width / 2 for k in range(len(found))], list(found), rotation=30, ha="right")
    axis.legend(fontsize=8)


def growth_panel(axis: Any, growth: Mapping[str, Mapping[int, float]]) -> None:
    """Draw the time of treewise by number of rows, with an n log n guide."""
    for name, times in growth.items():
        line = axis.loglog(list(times), list(times.values()), marker="o", label=name)[0]
        rows, first = list(times), next(iter(times.items()))
        guide = [first[1] * n * math.log2(n) / (first[0] * math.log2(first[0])) for n in rows]
        axis.loglog(rows, guide, ":", color=line.get_color(), label=f"{name}: n log n")
    axis.set(xlabel="rows", ylabel="seconds, wall", title="treewise, 20 columns")
    axis.legend(fontsize=8)
