"""What came out, as a table in Markdown and a picture: times beside treewise's, and how time grows with rows."""

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


def seconds(value: float) -> str:
    """Write a time with three digits.

    >>> seconds(41.27), seconds(0.01234)
    ('41.3', '0.0123')
    """
    return f"{value:.3g}"


def table(found: Found, what: Mapping[str, str]) -> str:
    """Write one row a workload and library, with the ratio of its wall time to ours."""
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
                f"| {first} | {name} | {seconds(m['wall'])} | {seconds(m['cpu'])} | {ratio} | {m['peak']:.0f}"
                f" | {int(m['nodes']):,} | {held} |" + sizes(m) * sized
            )
    return "\n".join(lines)


def sizes(m: Mapping[str, float]) -> str:
    """Write how large a model is in memory and on disk, if that was measured."""
    return f" {m['kept']:.0f} | {m['file']:.0f} |" if "kept" in m else "  |  |"


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
    """Draw the times of every library, and ours against the number of rows, as far as they were measured."""
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
    names = [one.name for one in LEARNERS if any(one.name in libraries for libraries in found.values())]
    width = 0.8 / max(1, len(names))
    for i, name in enumerate(names):
        places = [k + i * width for k, libraries in enumerate(found.values()) if name in libraries]
        axis.bar(places, [m[name]["wall"] for m in found.values() if name in m], width, label=name)
    axis.set(yscale="log", ylabel="seconds, wall", title="One tree (W9: a million predictions)")
    axis.set_xticks([k + 0.4 - width / 2 for k in range(len(found))], list(found), rotation=30, ha="right")
    axis.legend(fontsize=8)


def growth_panel(axis: Any, growth: Mapping[str, Mapping[int, float]]) -> None:
    """Draw our time against the number of rows, with n log n beside it."""
    for name, times in growth.items():
        line = axis.loglog(list(times), list(times.values()), marker="o", label=name)[0]
        rows, first = list(times), next(iter(times.items()))
        guide = [first[1] * n * math.log2(n) / (first[0] * math.log2(first[0])) for n in rows]
        axis.loglog(rows, guide, ":", color=line.get_color(), label=f"{name}: n log n")
    axis.set(xlabel="rows", ylabel="seconds, wall", title="treewise, 20 columns")
    axis.legend(fontsize=8)
