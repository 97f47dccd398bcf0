"""The parts of ``benchmarks.coverage`` by name: each takes a number of simulated tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.coverage.chosen_size import chosen_sizes, other_losses
from benchmarks.coverage.errors import error_intervals
from benchmarks.coverage.importance import importance_intervals
from benchmarks.coverage.leaves import leaf_intervals, prediction_intervals
from benchmarks.coverage.measured import Measured
from benchmarks.coverage.metrics import metric_intervals
from benchmarks.coverage.monitoring import monitoring
from benchmarks.coverage.selection_by_test import node_p_values
from benchmarks.coverage.subgroups import subgroup_p_values

PARTS: dict[str, Callable[[int], Iterator[Measured]]] = {
    "leaves": leaf_intervals,
    "prediction": prediction_intervals,
    "importance": importance_intervals,
    "subgroups": subgroup_p_values,
    "tests": node_p_values,
    "size": chosen_sizes,
    "losses": other_losses,
    "errors": error_intervals,
    "metrics": metric_intervals,
    "monitor": monitoring,
}
