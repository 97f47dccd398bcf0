"""Interface of the C++ core (src/core/bind)."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

build: str  # compiler, processor and checks

class Column:
    def __init__(
        self, array: npt.NDArray[Any], n_levels: int = 0, kinds: Sequence[int] = (), ordered: bool = False
    ) -> None: ...
    def constrain(self, monotone: int, groups: int, feature_cost: float, feature_cost_bit: int) -> None: ...

class Target:
    def __init__(
        self,
        y: npt.NDArray[Any],
        raw: npt.NDArray[np.float64],
        weight: npt.NDArray[np.int64],
        n_classes: int,
        scale: int,
        weight_scale: int,
        max_exponent: int | None = None,
    ) -> None: ...

class _Fields:  # attributes: the lists in src/core/problem/settings.hpp; others raise AttributeError
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class Tuning(_Fields): ...

class Settings(_Fields):
    tuning: Tuning

class SamplingPlan:
    def __init__(
        self,
        seed: int,
        n_samples: int,
        replace: bool,
        units: npt.NDArray[np.uint32],
        group_ends: npt.NDArray[np.uint32],
        weight: npt.NDArray[np.int64],
        weight_scale: int,
        n_columns: int,
        replace_columns: bool,
    ) -> None: ...
    def set_limit_fractions(
        self, split: tuple[int, int], leaf: tuple[int, int], leaf_weight: tuple[int, int]
    ) -> None: ...

Arrays = dict[str, npt.NDArray[Any]]

def grow_forest(
    columns: Sequence[Column],
    target: Target,
    settings: Settings,
    plan: SamplingPlan,
    first: int,
    n_trees: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[list[Arrays], npt.NDArray[np.float64]]: ...
def draw_sample(
    plan: SamplingPlan, tree: int, columns: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
def grow(
    columns: Sequence[Column], target: Target, settings: Settings, progress: Callable[[float], None] | None = None
) -> dict[str, Any]: ...  # arrays, and "quartiles" as below if the settings ask for them
def refit(
    tree: Arrays, parent: npt.NDArray[np.int64], columns: Sequence[Column], target: Target, settings: Settings
) -> Arrays: ...
def refit_at_nodes(
    tree: Arrays,
    parent: npt.NDArray[np.int64],
    end_nodes: npt.NDArray[np.int64],
    target: Target,
    settings: Settings,
) -> Arrays: ...
def quartiles(columns: Sequence[Column], weight: npt.NDArray[np.int64]) -> list[tuple[float, float] | None]: ...
def find_leaves(
    tree: Arrays, columns: Sequence[Column], n_rows: int, start: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]: ...
def rows_by_node(
    nodes: npt.NDArray[np.int64], n_nodes: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
def count_bins(
    columns: Sequence[Column],
    target: Target,
    order: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    column_of: npt.NDArray[np.int64],
    is_first: npt.NDArray[np.uint8],
    n_grids: npt.NDArray[np.int64],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    n_bins: npt.NDArray[np.int64],
    centre: int,
    shift: int,
    n_jobs: int,
) -> Arrays: ...
def solve_optimal(
    ranks: npt.NDArray[np.int32],
    target: npt.NDArray[np.int64],
    weight: npt.NDArray[np.int64],
    objective: str,
    n_classes: int,
    cost: Sequence[int],
    shift: int,
    scale: int,
    penalty: int,
    max_depth: int,
    max_leaves: int,
    n_threads: int,
    incumbent: int | None = None,
    max_bytes: int = 1 << 29,
    without: Sequence[str] = (),
    progress: Callable[[int | None, int], bool] | None = None,
) -> dict[str, Any]: ...
def merge_counts(parts: Sequence[Arrays], is_number: npt.NDArray[np.uint8], n_classes: int) -> Arrays: ...
def target_ranges(
    target: Target, order: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64]
) -> list[tuple[int, int, float, float] | None]: ...
def target_moments(
    target: Target,
    order: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    means: npt.NDArray[np.int64],
    shifts: npt.NDArray[np.int64],
) -> list[tuple[int, int]]: ...
def shapley(
    tree: Arrays,
    columns: Sequence[Column],
    n_rows: int,
    share: npt.NDArray[np.float64],
    stay: npt.NDArray[np.float64],
    answer_node: npt.NDArray[np.int64],
    outputs: npt.NDArray[np.float64],
    n_outputs: int,
) -> npt.NDArray[np.float64]: ...

class SortedColumns:
    def __init__(self, columns: Sequence[Column], n_rows: int, n_jobs: int = 1) -> None: ...
    def profile(
        self,
        columns: Sequence[Column],
        target: Target,
        settings: Settings,
        rows: npt.NDArray[np.uint32],
        chosen: npt.NDArray[np.int64],
        n_points: int,
    ) -> list[dict[str, Any]]: ...

class PreOrderChecker:
    def __init__(self, max_rows: float) -> None: ...
    def visit(
        self,
        is_root: npt.NDArray[np.uint8],
        branches: npt.NDArray[np.int64],
        rows: npt.NDArray[np.float64],
        missing: npt.NDArray[np.int64],
        missing_rows: npt.NDArray[np.int64],
    ) -> tuple[int, int]: ...

def prune_bottom_up(
    parent: npt.NDArray[np.int64],
    as_leaf: npt.NDArray[np.float64],
    own: npt.NDArray[np.float64],
    tolerance: float,
    rounding: float,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]: ...
def sum_moments(
    parent: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    mean: npt.NDArray[np.float64],
    about: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def weakest_link_alphas(
    parent: npt.NDArray[np.int64], risk: npt.NDArray[np.float64], tie: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]: ...

class StumpGrower:
    def __init__(self, columns: Sequence[Column], target: Target, settings: Settings) -> None: ...
    @staticmethod
    def supports(columns: Sequence[Column], target: Target, settings: Settings) -> bool: ...
    def grow(
        self, weight: npt.NDArray[np.int64], weight_scale: int, min_leaf_weight: int, seed: int
    ) -> tuple[Arrays, npt.NDArray[np.uint8]]: ...

Classes = npt.NDArray[np.uint8] | npt.NDArray[np.int32]

def error_weight(truth: Classes, predicted: Classes, weight: npt.NDArray[np.int64], n_jobs: int) -> int: ...
def reweight(
    truth: Classes, predicted: Classes, weight: npt.NDArray[np.int64], right: float, wrong: float, n_jobs: int
) -> npt.NDArray[np.int64]: ...
def add_vote(
    truth: Classes,
    predicted: Classes,
    weight: npt.NDArray[np.int64],
    vote: float,
    scores: npt.NDArray[np.float64],
    n_jobs: int,
) -> int: ...

SPLIT_KINDS: dict[str, int]  # names and numbers, as in tree/arrays.py
STOP_REASONS: dict[str, int]

def midpoint(a: float, b: float) -> float: ...
def nlogn(n: int) -> float: ...
def prepare_to_throw() -> bool: ...
def winner(candidates: list[list[int]], random: bool, node: int) -> int: ...

class Output(Enum):
    probabilities = 0
    votes = 1
    values = 2

class CompiledForest:
    def __init__(
        self,
        members: Arrays,
        n_levels: Sequence[int],
        integer: Sequence[bool],
        votes: npt.NDArray[np.float64],
        n_classes: int,
        derived: npt.NDArray[np.int64],
        derived_label: npt.NDArray[np.int32],
        derived_outputs: npt.NDArray[np.float64],
        max_number: int | None = None,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def used_columns(self) -> list[int]: ...
    def add(
        self,
        columns: Sequence[Column],
        n_rows: int,
        output: Output,
        first: int,
        last: int,
        sums: npt.NDArray[np.float64],
        mask: npt.NDArray[np.uint8] | None = None,
        n_jobs: int = 0,
    ) -> None: ...
    def leaves(self, columns: Sequence[Column], n_rows: int, n_jobs: int = 0) -> npt.NDArray[np.int32]: ...
    def predict_row(self, numbers: Sequence[float], integers: Sequence[int], output: Output) -> list[float]: ...
    def first_test_on(self, columns: Sequence[Column], which: Sequence[int]) -> tuple[int, int] | None: ...
