"""Which columns matter: what the splits of each gain in a tree, and what its tree loses when a column is shuffled.

Two answers to two questions; ``Importances.method`` says which one it is, and so does everything printed.

    impurity decrease   how much of the impurity of the training rows the splits on a column take away. From the tree
                        alone. It favours columns with many different values, which offer more places to cut, and a
                        column that fits noise looks useful, since nothing is tried on other rows.
    permutation         how much worse the tree does on a table when the values of a column are dealt out to its rows
                        at random (Breiman 2001). On rows the tree has not seen, that is what it owes to the column;
                        columns that say the same stand in for each other in growth, so it is about this tree.

Stands on ``evaluate``, whose tables with known answers it takes, and ``sheet.py``, which shows what was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise import encode
from treewise.costs import cost_of, losses
from treewise.criteria import criterion_named
from treewise.errors import DataError, ParameterError, listing
from treewise.estimates import Estimate, chances
from treewise.evaluate.answers import class_places
from treewise.evaluate.measure import Comparison, compared, refuse_infinite, seen_before
from treewise.explain.crew import Progress, in_threads
from treewise.growth import workers
from treewise.intervals import check_confidence
from treewise.loss_sums import size_of_numbers
from treewise.nodes import LEAF
from treewise.predict import answers_of, encoded, find_nodes, nodes_that_speak, refuse_unanswered
from treewise.settings import one_of, whole
from treewise.sheet import Heading, Sheet, Shown
from treewise.tree import Tree
from treewise.wording import figure, number, percent, plural, safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MEASURES = {"classification": ("error", "cost", "log_loss"), "regression": ("rmse", "mae")}
SAID = {"error": "error", "cost": "cost a row", "log_loss": "log loss (nats)", "rmse": "RMSE", "mae": "MAE"}
MOST_REPEATS = 100_000


@dataclass(frozen=True)
class ColumnImportance:
    """What one column is worth to a tree; ``None`` where the other of the two methods would say it."""

    column: str
    splits: int  # how many nodes ask about it
    importance: float  # its share of all decrease; or how much the measure rises when it is shuffled
    decrease: float | None = None  # of impurity, per row of the table, in the criterion's unit
    low: float | None = None  # of the rise: the interval for other rows like these
    high: float | None = None
    repeats: tuple[float, ...] = ()  # the rise of every shuffle

    @property
    def spread(self) -> float | None:
        """The standard deviation from one shuffle to the next; None for a single one."""
        if len(self.repeats) < 2:
            return None
        unit = size_of_numbers(rises := np.array(self.repeats))
        return float(np.std(rises / unit, ddof=1)) * unit


@dataclass(frozen=True, eq=False, repr=False)
class Importances(Shown):
    """The columns of a tree, the most important first. ``print`` it, go through ``columns``, or ``.to_frame()``.

    >>> import treewise as tw
    >>> found = tw.grow("penguins", max_leaf_nodes=4).importances()
    >>> found.method, found["flipper_length_mm"].splits, found["sex"].importance
    ('impurity decrease', 1, 0.0)
    """

    method: str  # "impurity decrease" or "permutation"
    target: str
    columns: tuple[ColumnImportance, ...]
    unit: str = ""  # impurity: of the decrease
    table: str = ""  # permutation: the rows it was measured on …
    n: int = 0
    measure: str = ""  # … by which measure …
    baseline: float = math.nan  # … which is this when nothing is shuffled
    repeats: int = 0
    confidence: float = 0.95
    seen: bool = False  # whether these look like the rows the tree was grown on

    def __getitem__(self, column: str) -> ColumnImportance:
        """Return one column's."""
        for each in self.columns:
            if each.column == column:
                return each
        raise KeyError(column)

    def draw(self, most: int = 20, ax: Axes | None = None) -> Axes:
        """Draw the columns that are asked about as bars, at most so many, with the intervals where there are some.

        Needs matplotlib (``pip install "treewise[plot]"``). Draws on ``ax``, or on a figure of its own, and returns the
        axes: ``.figure.savefig("importances.png")``.

        >>> import treewise as tw
        >>> len(tw.grow("penguins", max_leaf_nodes=4).importances().draw().patches)
        3
        """
        from treewise.draw.plots.importances import draw_importances

        return draw_importances(self, most, ax)

    def sheet(self) -> Sheet:
        """Return every column, as data."""
        return impurity_sheet(self) if self.method == "impurity decrease" else permutation_sheet(self)

    def sheets(self) -> tuple[Sheet, ...]:
        """Return what readers are shown: the columns that are asked about, and the names of the others."""
        whole = self.sheet()
        asked = [row for row, column in zip(whole.rows, self.columns, strict=True) if column.splits]
        others = [safe(column.column) for column in self.columns if not column.splits]
        silent = (f"Never asked about, so exactly 0: {listing(others, most=12)}.",) if others else ()
        return (replace(whole, rows=asked, below=(*silent, *whole.below)),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, every column included."""
        about: dict[str, Any] = {"method": self.method, "target": self.target}
        if self.method == "impurity decrease":
            about |= {"unit": self.unit}
        else:
            about |= {"table": self.table, "rows": self.n, "measure": self.measure, "baseline": self.baseline}
            about |= {"repeats": self.repeats, "confidence": self.confidence, "training_rows": self.seen}
        return {**about, "columns": self.sheet().records()}


def importances(tree: Tree, data: Any = None, **options: Any) -> Importances:
    """Return how much each column matters; without data from the tree alone (``Tree.importances``)."""
    given = {name: value for name, value in options.items() if value is not None}
    if data is not None:
        return on_data(tree, data, **given)
    for name in given:
        raise ParameterError(f"{name} is for importances on data: give a table too, or leave it out.")
    return of_tree(tree)


# -- impurity decrease ------------------------------------------------------------------------------------------------


def impurity_decrease(tree: Tree) -> Floats:
    """Return how much impurity the splits on each column take away, per unit of the root's weight.

    >>> import treewise as tw
    >>> impurity_decrease(tw.grow("four_points", "y")).round(3).tolist()
    [0.311, 0.5]
    """
    a = tree.arrays
    inner = np.flatnonzero(a.kind != LEAF)
    gone = np.zeros(len(tree.encodings))
    np.add.at(gone, a.column[inner], a.gain[inner] * (a.weight[inner] / a.weight[0]))
    return gone


def of_tree(tree: Tree) -> Importances:
    """Return the impurity decrease of every column, from the tree alone."""
    if not tree.arrays.rows[0] > 0:
        raise DataError("the tree was written by hand and knows no rows: tree.refit(data) first, or give data.")
    decrease = impurity_decrease(tree)
    total, splits = float(decrease.sum()), split_counts(tree)
    found = [
        ColumnImportance(name, int(splits[i]), float(decrease[i] / total) if total > 0 else 0.0, float(decrease[i]))
        for i, name in enumerate(tree.columns)
    ]
    return Importances("impurity decrease", tree.target.name, ranked(found), unit=criterion_named(tree.criterion).unit)


def split_counts(tree: Tree) -> Ints:
    """Return how many nodes ask about each column."""
    a = tree.arrays
    return np.bincount(a.column[a.kind != LEAF], minlength=len(tree.encodings))


def ranked(found: Sequence[ColumnImportance]) -> tuple[ColumnImportance, ...]:
    """Put the most important column first; of equals those that are asked about, then in the order of the table."""
    return tuple(sorted(found, key=lambda each: (-each.importance, each.splits == 0)))


# -- permutation ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trial:
    """A tree on rows with known answers, to be tried again with one column shuffled."""

    tree: Tree
    columns: Sequence[npt.NDArray[Any] | None]
    truth: npt.NDArray[Any]
    weight: Floats  # in shares of all
    measure: str
    way: Estimate
    unit: float = 1.0  # of numbers: a power of two of their size, so that squares neither overflow nor vanish

    def losses_at(self, nodes: Ints) -> Floats:
        """Return what each row loses when these nodes answer: its error, its cost, its squared error, …"""
        tree = self.tree
        speakers = nodes_that_speak(tree, nodes)
        if self.measure == "log_loss":
            chance = chances(tree, speakers, self.truth, self.way)
            if not chance.all():
                raise DataError(
                    "log_loss is infinite: a leaf gives no chance to a class that came up."
                    ' estimate="laplace" (--estimate laplace) leaves every class one.'
                )
            return np.asarray(-np.log(chance), np.float64)
        said = answers_of(tree, speakers, self.way)
        if tree.task == "regression":
            off = np.asarray(said / self.unit - self.truth / self.unit, np.float64)
            return np.abs(off) if self.measure == "mae" else off**2
        return losses(self.truth, said, tree.task, cost_of(tree) if self.measure == "cost" else None)

    def shuffled(self, column: int, seed: Sequence[int]) -> Floats:
        """Return what each row loses when the values of one column are dealt out anew."""
        values = self.columns[column]
        assert values is not None
        dealt = values[np.random.default_rng(seed).permutation(len(values))]
        columns = [dealt if i == column else other for i, other in enumerate(self.columns)]
        return self.losses_at(find_nodes(self.tree, columns, len(values)))

    def total(self, values: Floats) -> float:
        """Return the weighted mean; without the threads of a matrix product, so the same everywhere."""
        return float(np.sum(self.weight * values))

    def mean(self, losses: Floats) -> float:
        """Return the measure, in the trial's unit: a weighted mean, of squares its root."""
        mean = self.total(losses)
        return math.sqrt(mean) if self.measure == "rmse" else mean


def on_data(
    tree: Tree,
    data: Any,
    target: Any = None,
    *,
    measure: str | None = None,
    repeats: int = 10,
    random_state: int = 0,
    sample_weight: Any = None,
    drop_missing_target: bool = False,
    estimate: Any = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Importances:
    """Return how much worse a tree does on a table when a column is shuffled, for each (``Tree.importances``)."""
    whole("repeats", repeats, least=1, most=MOST_REPEATS)
    whole("random_state", random_state, least=0, most=2**64 - 1)
    check_confidence(confidence)
    threads = workers(n_jobs)
    here = compared(tree, data, target, drop_missing_target, sample_weight)
    trial = trial_of(here, measure, Estimate.of(estimate))
    before = trial.losses_at(here.nodes)
    used = np.flatnonzero(split_counts(trial.tree)).tolist()

    def work(piece: int, _: Progress) -> Floats:
        column, repeat = used[piece // repeats], piece % repeats
        return trial.shuffled(column, (random_state, column, repeat))

    done = in_threads(work, len(used) * repeats, threads, progress)
    splits = split_counts(tree)
    rises = {column: rise(trial, before, islice(done, repeats), confidence) for column in used}
    found = [
        ColumnImportance(name, int(splits[i]), **rises[i])
        if i in rises
        else ColumnImportance(name, 0, 0.0, None, 0.0, 0.0, (0.0,) * repeats)  # never asked about: nothing can change
        for i, name in enumerate(tree.columns)
    ]
    return Importances(
        "permutation",
        here.column.name,
        ranked(found),
        table=here.table.name,
        n=len(here.table),
        measure=trial.measure,
        baseline=trial.mean(before) * trial.unit,
        repeats=repeats,
        confidence=confidence,
        seen=seen_before(trial.tree, here.nodes),
    )


def trial_of(here: Comparison, measure: str | None, way: Estimate) -> Trial:
    """Make ready what is tried: the columns encoded once, the true answers, the weights."""
    tree, table = here.tree, here.table
    known = MEASURES[tree.task]
    usual = "cost" if tree.task == "classification" and cost_of(tree) is not None else known[0]
    name = usual if measure is None else measure
    one_of("measure", name, known)
    if name == "cost" and cost_of(tree) is None:
        raise ParameterError('measure="cost": the tree has no costs; tree.with_cost(…) gives it some.')
    refuse_unanswered(tree, here.nodes, table)
    truth: npt.NDArray[Any]
    unit = 1.0
    if tree.task == "regression":
        truth = encode.numbers(here.column)
        refuse_infinite(truth, here)
        unit = size_of_numbers(truth)
    else:
        truth = class_places(tree, here.column)[0]
    weight = np.ones(len(table)) if here.weight is None else here.weight / here.weight.max()
    return Trial(tree, encoded(tree, table), truth, weight / weight.sum(), name, way, unit)


def rise(trial: Trial, before: Floats, after: Iterable[Floats], confidence: float) -> dict[str, Any]:
    """Return by how much shuffles raise the measure, in the mean and each, and the interval for other rows like these.

    The interval is the normal one of a mean of differences, row by row: it covers that other rows would have come, and,
    since a row's difference is the mean over the shuffles, that other shuffles would. For the RMSE by linearisation.
    One row says nothing of others. Shuffles are added up as they come, so that there may be many.
    """
    start, each, mean_after = trial.mean(before), [], np.zeros(len(before))
    for losses_after in after:
        each.append(trial.mean(losses_after) - start)
        mean_after += losses_after
    mean_after /= len(each)
    change = mean_after - before
    if trial.measure == "rmse":
        end = math.sqrt(trial.total(mean_after))
        change = mean_after / (2 * end or 1.0) - before / (2 * start or 2 * end or 1.0)
    raised = math.fsum(each) / len(each)
    repeats = tuple(one * trial.unit for one in each)
    if len(before) < 2:
        return {"importance": raised * trial.unit, "low": None, "high": None, "repeats": repeats}
    centred = change - trial.total(change)
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(trial.total(trial.weight * centred**2))
    found = {"importance": raised, "low": raised - half, "high": raised + half}
    return {**{name: value * trial.unit for name, value in found.items()}, "repeats": repeats}


# -- shown ------------------------------------------------------------------------------------------------------------


def impurity_sheet(found: Importances) -> Sheet:
    """Lay out the impurity decrease, with its bias named."""
    unit = f" ({found.unit} a row)" if found.unit else " a row"
    headings = (
        Heading("column"),
        Heading("splits", "whole"),
        Heading("importance", "share", title="share %"),
        Heading("decrease", "number", title=f"impurity taken away{unit}"),
    )
    rows = [(c.column, c.splits, c.importance, c.decrease) for c in found.columns]
    return Sheet(
        f"Impurity decrease by column, for {safe(found.target)}",
        headings,
        rows,
        below=(
            "How much of the training rows' impurity the splits on each column take away. It favours columns with many"
            " different values, and counts fitting noise as use: to see what the tree owes to a column on rows it has"
            " not seen, give it such rows (importances(data), treewise importance MODEL DATA).",
        ),
        of="column",
    )


def permutation_sheet(found: Importances) -> Sheet:
    """Lay out the permutation importance, and say what it is measured on."""
    said = SAID[found.measure]
    in_percent = found.measure == "error"

    def write(value: float) -> str:
        return f"{100 * value + 0.0:.2f}".replace("-0.00", "0.00") if in_percent else number(float(f"{value:.4g}"))

    between = f"{100 * found.confidence:g} % interval"
    headings = (
        Heading("column"),
        Heading("splits", "whole"),
        Heading("importance", "number", title=f"rise of {said}{' (points)' if in_percent else ''}", write=write),
        Heading("interval", "number", title=between, write=str, only="words"),
        Heading("low", "number", only="data"),
        Heading("high", "number", only="data"),
        Heading("spread", "number", only="data"),
        Heading("repeats", only="data"),
    )
    rows = [
        (
            c.column,
            c.splits,
            c.importance,
            f"{write(c.low)} to {write(c.high)}" if c.low is not None and c.high is not None and c.splits else None,
            c.low,
            c.high,
            c.spread,
            c.repeats,
        )
        for c in found.columns
    ]
    start = f"{percent(found.baseline)} %" if in_percent else figure(found.baseline)
    times = "once" if found.repeats == 1 else f"{found.repeats:,} times"
    warning = (
        "These look like the rows the tree was grown on: it fits them too well, so columns that fit noise look useful"
        " here. Give rows it has not seen.",
    )
    return Sheet(
        f"Permutation importance for {safe(found.target)} on {safe(found.table)}: {plural(found.n, 'row')},"
        f" {said} {start}",
        headings,
        rows,
        above=warning * found.seen,
        below=(
            f"How much the {said} of this tree rises when a column's values are dealt out to the rows at random,"
            f" {times}. The interval is for other rows like these. It is about this tree: a column that says the same"
            " as another may not be needed here, and still tell much.",
        ),
        of="column",
    )
