"""What the C++ core offers (bind/module.cpp and bind_*.cpp)."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

class Column:
    def __init__(self, array: npt.NDArray[Any], n_levels: int = 0, kinds: Sequence[int] = ()) -> None: ...

class Criterion(Enum):
    entropy = 0
    gini = 1
    error = 2
    squared_error = 3
    absolute_error = 4
    poisson = 5

class Rule(Enum):
    gain = 0
    ratio = 1
    c45 = 2

class Target:
    def __init__(
        self,
        y: npt.NDArray[Any],
        raw: npt.NDArray[np.float64],
        weight: npt.NDArray[np.int64],
        n_classes: int,
        scale: int,
        weight_scale: int,
        top: int | None = None,
    ) -> None: ...

class Tuning:
    plain: bool
    bounds: bool
    drawn: bool
    drawn_rows: int
    subtract: bool
    cluster_cells: int
    cluster_rows: int
    counted_rows: int

class Settings:
    criterion: Criterion
    rule: Rule
    by_branches: bool
    missing_branch: bool
    empty_from_root: bool
    random_ties: bool
    random_cuts: bool
    max_features: int
    seed: int
    max_depth: int
    max_leaf_nodes: int
    min_samples_split: int
    min_samples_leaf: int
    min_leaf_weight: int
    min_impurity_decrease: float
    accuracy_over: int
    accuracy_under: int
    n_jobs: int
    quartiles: bool
    tuning: Tuning

class Plan:
    def __init__(
        self,
        seed: int,
        drawn: int,
        replace: bool,
        units: npt.NDArray[np.uint32],
        weight: npt.NDArray[np.int64],
        weight_scale: int,
        columns_drawn: int,
        replace_columns: bool,
    ) -> None: ...
    def limit_shares(self, split: tuple[int, int], leaf: tuple[int, int], leaf_weight: tuple[int, int]) -> None: ...

Arrays = dict[str, npt.NDArray[Any]]

def forest(
    columns: Sequence[Column],
    target: Target,
    settings: Settings,
    plan: Plan,
    first: int,
    trees: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[list[Arrays], npt.NDArray[np.float64]]: ...
def bag(plan: Plan, tree: int, columns: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
def grow(
    columns: Sequence[Column], target: Target, settings: Settings, progress: Callable[[float], None] | None = None
) -> dict[str, Any]: ...  # arrays, and "quartiles" as below if the settings ask for them
def estimate(
    tree: Arrays, parent: npt.NDArray[np.int64], columns: Sequence[Column], target: Target, settings: Settings
) -> Arrays: ...
def estimate_at(
    tree: Arrays,
    parent: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    target: Target,
    settings: Settings,
) -> Arrays: ...
def quartiles(columns: Sequence[Column], weight: npt.NDArray[np.int64]) -> list[tuple[float, float] | None]: ...
def leaves(tree: Arrays, columns: Sequence[Column], n_rows: int) -> npt.NDArray[np.int64]: ...
def shapley(
    tree: Arrays,
    columns: Sequence[Column],
    n_rows: int,
    share: npt.NDArray[np.float64],
    stay: npt.NDArray[np.float64],
    speaker: npt.NDArray[np.int64],
    said: npt.NDArray[np.float64],
    n_outputs: int,
) -> npt.NDArray[np.float64]: ...
def fold_up(
    parent: npt.NDArray[np.int64],
    as_leaf: npt.NDArray[np.float64],
    own: npt.NDArray[np.float64],
    slack: float,
    rounding: float,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]: ...
def merge_up(
    parent: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    mean: npt.NDArray[np.float64],
    about: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def crossings(
    parent: npt.NDArray[np.int64], risk: npt.NDArray[np.float64], tie: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]: ...

class Stumps:
    def __init__(self, columns: Sequence[Column], target: Target, settings: Settings) -> None: ...
    @staticmethod
    def cover(columns: Sequence[Column], target: Target, settings: Settings) -> bool: ...
    def grow(
        self, weight: npt.NDArray[np.int64], weight_scale: int, min_leaf_weight: int, seed: int
    ) -> tuple[Arrays, npt.NDArray[np.uint8]]: ...

Classes = npt.NDArray[np.uint8] | npt.NDArray[np.int32]

def mistakes(truth: Classes, said: Classes, weight: npt.NDArray[np.int64], n_jobs: int) -> int: ...
def weigh_anew(
    truth: Classes, said: Classes, weight: npt.NDArray[np.int64], right: float, wrong: float, n_jobs: int
) -> npt.NDArray[np.int64]: ...
def vote(
    truth: Classes,
    said: Classes,
    weight: npt.NDArray[np.int64],
    vote: float,
    scores: npt.NDArray[np.float64],
    n_jobs: int,
) -> int: ...
def midpoint(a: float, b: float) -> float: ...
def nlogn(n: int) -> float: ...
def winner(offers: list[list[int]], random: bool, node: int) -> int: ...

class Said(Enum):
    shares = 0
    votes = 1
    values = 2

class Voter:
    def __init__(
        self,
        members: Arrays,
        n_levels: Sequence[int],
        integer: Sequence[bool],
        votes: npt.NDArray[np.float64],
        n_classes: int,
        derived: npt.NDArray[np.int64],
        derived_label: npt.NDArray[np.int32],
        derived_said: npt.NDArray[np.float64],
        most: int | None = None,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def asked(self) -> list[int]: ...
    def add(
        self,
        columns: Sequence[Column],
        n_rows: int,
        said: Said,
        first: int,
        last: int,
        sums: npt.NDArray[np.float64],
        counted: npt.NDArray[np.uint8] | None = None,
        n_jobs: int = 0,
    ) -> None: ...
    def ends(self, columns: Sequence[Column], n_rows: int, n_jobs: int = 0) -> npt.NDArray[np.int32]: ...
    def row(self, numbers: Sequence[float], integers: Sequence[int], said: Said) -> list[float]: ...
    def first_asking(self, columns: Sequence[Column], which: Sequence[int]) -> tuple[int, int] | None: ...
