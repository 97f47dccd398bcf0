"""Counts of a service, in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
_Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counters by name and labels, and one histogram of durations by path.

    >>> metrics = Metrics()
    >>> metrics.add("treewise_rows_total", 3, model="credit")
    >>> metrics.observe("/predict", 0.002)
    >>> [line for line in metrics.text().splitlines() if "credit" in line or "_count" in line]
    ['treewise_rows_total{model="credit"} 3', 'treewise_request_seconds_count{path="/predict"} 1']
    """

    help: ClassVar = {
        "treewise_requests_total": "Requests answered, by path and status.",
        "treewise_rows_total": "Rows predicted, by model and version.",
        "treewise_bad_rows_total": "Rows refused, by model and version.",
        "treewise_predictions_total": "Predictions, by model, version and class.",
        "treewise_reloads_total": "Model files read again, by model, version and outcome.",
    }

    def __init__(self) -> None:
        self._counts: dict[str, Counter[_Labels]] = {name: Counter() for name in self.help}
        self._durations: dict[str, tuple[list[int], float]] = {}

    def add(self, name: str, count: int = 1, /, **labels: str) -> None:
        """Add to a counter."""
        self._counts[name][tuple(labels.items())] += count

    def observe(self, path: str, seconds: float) -> None:
        """Add a duration to the histogram."""
        counts, total = self._durations.get(path) or ([0] * (len(_BUCKETS) + 1), 0.0)
        counts[bisect_left(_BUCKETS, seconds)] += 1
        self._durations[path] = counts, total + seconds

    def text(self, gauges: Iterable[tuple[str, str, dict[str, str], float]] = ()) -> str:
        """Return everything; ``gauges`` are (name, help, labels, value) of the moment."""
        lines = []
        for name, counts in self._counts.items():
            lines += [f"# HELP {name} {self.help[name]}", f"# TYPE {name} counter"]
            lines += [f"{name}{_braces(labels)} {count}" for labels, count in sorted(counts.items())]
        lines += ["# HELP treewise_request_seconds Duration of requests.", "# TYPE treewise_request_seconds histogram"]
        for path, (buckets, total) in sorted(self._durations.items()):
            n = 0
            for bound, count in zip((*_BUCKETS, "+Inf"), buckets, strict=True):
                n += count
                lines.append(f"treewise_request_seconds_bucket{_braces((('path', path), ('le', str(bound))))} {n}")
            lines.append(f"treewise_request_seconds_sum{_braces((('path', path),))} {total:.6f}")
            lines.append(f"treewise_request_seconds_count{_braces((('path', path),))} {n}")
        known: set[str] = set()
        for name, text, gauge_labels, value in gauges:
            if name not in known:
                known.add(name)
                lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
            lines.append(f"{name}{_braces(tuple(gauge_labels.items()))} {value:g}")
        return "\n".join(lines) + "\n"


def _braces(labels: _Labels) -> str:
    def escape(value: str) -> str:
        return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    return "{" + ",".join(f'{key}="{escape(value)}"' for key, value in labels) + "}" if labels else ""
