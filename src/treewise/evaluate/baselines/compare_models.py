"""Compare a tree with baseline models on the same folds (ID3 notes, last page: "when might K-NN be better?").

The baselines (``models.py``) are K-nearest neighbours, a linear model and a constant. All models are fitted on and
predict the same rows, fold by fold; the result gives error, time and size of each, and a paired test against the tree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable, Style, align_columns
from treewise._lib.text import format_count, format_percent, format_share, plural, safe
from treewise.evaluate.baselines.models import (
    BaselineModel,
    TreeModel,
    describe_folds,
    find_baselines,
    losses_on,
    pickled_size,
)
from treewise.evaluate.metrics import effective_sample_size, mean_and_std
from treewise.predict.confidence_intervals import Z95, beta_share, wilson
from treewise.predict.costs import CostMatrix
from treewise.prune.grow_and_prune import CV_OPTIONS, PruningPlan, prune_grown
from treewise.prune.prune import prune
from treewise.train.folds import assign_folds
from treewise.train.grow import PRUNING, grow_prepared, grow_training_set, prepare, pruning_for
from treewise.train.honest import estimate_leaves, split_rows
from treewise.train.resampling import fold_sample_size, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.fit_info import ChangeInfo
from treewise.tree.tree import Tree

__all__ = ["ModelComparison", "ModelScore", "compare_models", "score_models"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelScore:
    """The scores of one model over all folds."""

    name: str
    losses: Floats  # of every row, when held out: 1 for a wrong class, or its cost; the squared error
    fit_seconds: float  # per fold, including model selection
    predict_seconds: float  # per fold
    bytes: float  # size of the fitted model
    about: str  # k, number of leaves, … over the folds


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Displayable):
    """A tree and baseline models on the same folds: ``print`` it, read ``scores``, or take ``to_dict()``."""

    table: str
    target: str
    n: int
    folds: int
    measure: str  # "error", "cost" or "rmse"
    scores: tuple[ModelScore, ...]
    weight: Floats | None = None  # of each row; None if all are equal

    @property
    def effective_n(self) -> float:
        """The effective sample size: the number of rows, if there are no weights."""
        return effective_sample_size(self.n, self.weight)

    def error(self, score: ModelScore) -> float:
        """Return the (weighted) error rate, the mean cost or the root mean squared error."""
        mean = float(np.average(score.losses, weights=self.weight))
        return math.sqrt(mean) if self.measure == "rmse" else mean

    @property
    def interval_n(self) -> float:
        """The sample size for intervals: smaller than that of the rows, because the models of the folds share rows."""
        return fold_sample_size(self.effective_n, self.folds)

    def interval(self, score: ModelScore) -> tuple[float, float]:
        """Return the 95 % interval: Wilson's for an error rate, the normal one for a mean cost or squared error."""
        n = self.interval_n
        if self.measure == "error":
            return wilson(self.error(score) * n, n)
        mean, std = mean_and_std(score.losses, self.weight)
        half = Z95 * std / math.sqrt(n)
        bounds = max(0.0, mean - half), mean + half
        return (math.sqrt(bounds[0]), math.sqrt(bounds[1])) if self.measure == "rmse" else bounds

    def paired_test(self, baseline: ModelScore) -> dict[str, float]:
        """Compare a baseline with the tree row by row: rows where it is better or worse, mean difference, p value.

        ``p`` is that of the sign test for error rates; for costs, squared errors and weighted rows that of the mean
        difference (normal approximation).
        """
        difference = baseline.losses - self.scores[0].losses
        better, worse = int((difference < 0).sum()), int((difference > 0).sum())
        p = sign_test(better, worse) if self.uses_sign_test else mean_test(difference, self.weight)
        loss = float(np.average(difference, weights=self.weight))
        return {"better_rows": better, "worse_rows": worse, "more_loss": loss, "p": p}

    @property
    def uses_sign_test(self) -> bool:
        """Whether the sign test applies: losses of 0 or 1, and no weights."""
        return self.measure == "error" and self.weight is None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        models = [
            {
                "model": score.name,
                self.measure: self.error(score),
                "interval": list(self.interval(score)),
                "fit_seconds": score.fit_seconds,
                "predict_seconds": score.predict_seconds,
                "bytes": score.bytes,
                "about": score.about,
                **({} if i == 0 else self.paired_test(score)),
            }
            for i, score in enumerate(self.scores)
        ]
        return {"table": self.table, "target": self.target, "n": self.n, "folds": self.folds, "models": models}

    def result_table(self) -> ResultTable:
        """Return the models as a result table, the tree first."""
        in_percent = self.measure == "error"
        formatter = format_share if in_percent else lambda value: f"{value:,.{self.decimals}f}"
        headings = (
            ColumnSpec("model"),
            ColumnSpec(self.measure, "number", "error %" if in_percent else None, formatter),
            ColumnSpec("low", "number", only="data"),
            ColumnSpec("high", "number", only="data"),
            ColumnSpec("interval", "number", "95 % interval", str, only="text"),
            ColumnSpec("fit_seconds", "number", "fit", _format_seconds),
            ColumnSpec("predict_seconds", "number", "predict", _format_seconds),
            ColumnSpec("bytes", "number", "size", _format_bytes),
            ColumnSpec("about", title=""),
        )
        rows = []
        for score in self.scores:
            low, high = self.interval(score)
            between = f"{formatter(low)} to {formatter(high)}"
            rows.append(
                (
                    score.name,
                    self.error(score),
                    low,
                    high,
                    between,
                    score.fit_seconds,
                    score.predict_seconds,
                    score.bytes,
                    score.about,
                )
            )
        return ResultTable(
            self.title, headings, rows, below=tuple(map(self._test_line, self.scores[1:])), row_name="model"
        )

    @property
    def title(self) -> str:
        """The heading: table, target, rows and folds."""
        weight_text = "" if self.weight is None else f" of weight {format_count(float(self.weight.sum()))}"
        return (
            f"{safe(self.table)}, column {safe(self.target)}: {plural(self.n, 'row')}{weight_text}, {self.folds} folds"
        )

    def to_text(self, width: int | None = None, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return a table of the models, and a line per baseline with the paired test."""
        rows = [
            ["", {"error": "error %"}.get(self.measure, self.measure), "95 % interval", "fit", "predict", "size", ""]
        ]
        for score in self.scores:
            low, high = self.interval(score)
            if self.measure == "error":
                error, between = format_share(self.error(score)), f"{format_percent(low)} to {format_percent(high)}"
            else:
                digits = self.decimals
                error, between = f"{self.error(score):,.{digits}f}", f"{low:,.{digits}f} to {high:,.{digits}f}"
            times = _format_seconds(score.fit_seconds), _format_seconds(score.predict_seconds)
            rows.append([score.name, error, between, *times, _format_bytes(score.bytes), score.about])
        table = align_columns(rows, right=range(1, len(rows[0]) - 1), gap="   ")
        return "\n".join([emphasis(self.title), table, *map(self._test_line, self.scores[1:])])

    @property
    def decimals(self) -> int:
        """Decimals of a cost or RMSE: two significant digits of the half-width of the tree's interval."""
        low, high = self.interval(self.scores[0])
        return max(0, 1 - math.floor(math.log10((high - low) / 2))) if high > low else 4

    def _test_line(self, baseline: ModelScore) -> str:
        """Return a line with the paired test of a baseline and the tree."""
        result = self.paired_test(baseline)
        better, worse, p = int(result["better_rows"]), int(result["worse_rows"]), result["p"]
        if better == worse == 0:
            return f"{baseline.name} and the tree do equally well on every row"
        winner = "the tree does better" if result["more_loss"] > 0 else f"{baseline.name} does better"
        conclusion = winner if p < 0.05 else "no clear difference"
        p_value = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        test = "sign test" if self.uses_sign_test else "test of the mean difference"
        rows = f"{baseline.name} is better than the tree on {plural(better, 'row')} and worse on {worse:,}"
        return f"{rows}: {conclusion} ({test}, {p_value})"


def compare_models(
    data: Any,
    target: Any = None,
    models: Sequence[str] | str | None = None,
    *,
    folds: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> ModelComparison:
    """Compare a tree with baseline models on the same folds (ID3 notes: "when might K-NN be better?").

    >>> import treewise as tw
    >>> comparison = tw.compare_models("penguins", models="majority", folds=5, max_leaf_nodes=4)
    >>> [(score.name, round(comparison.error(score), 2)) for score in comparison.scores]
    [('tree', 0.07), ('majority', 0.56)]

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``, which grows the tree of every fold.
    models : ``"knn"`` (``"knn=1"`` for a given k), ``"logistic"`` and ``"majority"``; for regression ``"knn"``,
        ``"linear"`` and ``"mean"``. Default: all. K-NN and the linear models are scikit-learn's, on one-hot categories
        and scaled numbers.
    folds : the number of folds, stratified by class; every row is held out once.
    random_state : the seed of the folds and of random ties.
    n_jobs : the number of threads, for the tree and for K-NN.
    progress : a function that is called with the share that is done.
    """
    pruning_options = {name: options.pop(name) for name in PRUNING if name in options}
    pruning = pruning_for(options.get("preset"), **pruning_options)
    training_set = prepare(data, target, random_state=random_state, **options)

    def grow(rows: TrainingSet) -> Tree:
        return grow_prepared(rows, pruning, n_jobs)

    return score_models(
        training_set, grow, models, folds=folds, random_state=random_state, n_jobs=n_jobs, progress=progress
    )


def score_models(
    training_set: TrainingSet,
    grow: Callable[[TrainingSet], Tree],
    models: Sequence[str] | str | None = None,
    *,
    folds: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> ModelComparison:
    """Compare models on a prepared training set; ``grow`` grows the tree of each fold."""
    task, classes = training_set.target.task, training_set.target.classes
    defaults = ("knn", "linear", "mean") if task == "regression" else ("knn", "logistic", "majority")
    kinds = find_baselines(defaults if models is None else models, task)
    number = assign_folds(training_set, folds, random_state)
    costs = training_set.fit_options.cost
    cost = None if costs is None else CostMatrix.of(costs, classes)
    records = {name: _FoldRecord(np.zeros(len(training_set))) for name in ("tree", *kinds)}
    for fold in range(folds):
        train, held_out = np.flatnonzero(number != fold), np.flatnonzero(number == fold)
        models_of_fold: list[BaselineModel] = [TreeModel(grow), *(kind(cost, n_jobs) for kind in kinds.values())]
        for i, (record, model) in enumerate(zip(records.values(), models_of_fold, strict=True), start=1):
            record.add(model, take_rows(training_set, train), take_rows(training_set, held_out), held_out, cost)
            if progress is not None:
                progress((fold + i / len(records)) / folds)
    scores = tuple(record.score(name, training_set) for name, record in records.items())
    measure = "rmse" if task == "regression" else "error" if cost is None else "cost"
    name, target = training_set.table_name, training_set.target.name
    return ModelComparison(name, target, len(training_set), folds, measure, scores, row_weights(training_set))


def row_weights(training_set: TrainingSet) -> Floats | None:
    """Return the weight of each row; None if all are equal."""
    if training_set.weight.min() == training_set.weight.max():
        return None
    return np.ldexp(np.asarray(training_set.weight, np.float64), -training_set.weight_scale)


@dataclass
class _FoldRecord:
    """The measurements of one model over the folds so far."""

    losses: Floats
    fit: float = 0.0
    predict: float = 0.0
    bytes: int = 0
    facts: tuple[float, ...] = ()
    about: str = ""

    def add(
        self, model: BaselineModel, train: TrainingSet, test: TrainingSet, rows: Any, cost: CostMatrix | None
    ) -> None:
        """Fit a model on one part and predict the other."""
        start = time.perf_counter()
        model.fit(train)
        fitted = time.perf_counter()
        predicted = model.predict(test)
        self.predict += time.perf_counter() - fitted
        self.fit += fitted - start
        self.losses[rows] = losses_on(test, predicted, cost)
        self.bytes += pickled_size(model)
        self.facts += (model.fact,)
        self.about = model.about

    def score(self, name: str, training_set: TrainingSet) -> ModelScore:
        """Return the averages over the folds."""
        k = len(self.facts)
        folds_text = describe_folds(self.about, self.facts, training_set)
        return ModelScore(name, self.losses, self.fit / k, self.predict / k, self.bytes / k, folds_text)


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided p value of the sign test.

    >>> round(sign_test(0, 5), 4), sign_test(3, 3)
    (0.0625, 1.0)
    """
    fewer, n = min(better, worse), better + worse
    if n == 0 or better == worse:
        return 1.0
    return min(1.0, 2 * beta_share(0.5, n - fewer, fewer + 1))


def mean_test(differences: Floats, weight: Floats | None = None) -> float:
    """Return the two-sided p value of a mean difference of 0 (normal approximation)."""
    mean, std = mean_and_std(differences, weight)
    if std == 0:
        return float(differences[0] == 0)
    return 2 * NormalDist().cdf(-abs(mean) * math.sqrt(effective_sample_size(len(differences), weight)) / std)


def _format_seconds(value: float) -> str:
    """Format a duration.

    >>> _format_seconds(0.0123), _format_seconds(4.56), _format_seconds(0.0000123)
    ('12.3 ms', '4.56 s', '<0.1 ms')
    """
    if value < 0.00005:
        return "<0.1 ms"
    return f"{1000 * value:.1f} ms" if value < 1 else f"{value:.3g} s"


def _format_bytes(value: float) -> str:
    """Format a number of bytes.

    >>> _format_bytes(14), _format_bytes(12_345), _format_bytes(45_600_000)
    ('14 B', '12.3 kB', '45.6 MB')
    """
    if value < 1000:
        return f"{value:.0f} B"
    return f"{value / 1e6:.1f} MB" if value >= 1e6 else f"{value / 1e3:.1f} kB"


Grow = Callable[[TrainingSet], Tree]
Change = Callable[[Tree, TrainingSet], Tree]


def grow_like(tree: Tree, n_jobs: int | None = None) -> tuple[Grow, list[str]]:
    """Return a function that grows a tree like this one on other rows, and the steps that cannot be repeated.

    Pruning is repeated unless it depends on a validation table, on given nodes or on subtree raising.

    >>> import treewise as tw
    >>> from treewise.train.grow import prepare
    >>> grow, skipped = grow_like(tw.grow("penguins", max_depth=4, pruning="pessimistic"))
    >>> grow(prepare("penguins", max_depth=4)) == tw.grow("penguins", max_depth=4, pruning="pessimistic"), skipped
    (True, [])
    """
    steps, skipped, honest = [], [], tree.fit_info.honest
    for change in tree.fit_info.changes:
        # Settings and costs come with the training set, rounded thresholds hardly move rows, and honest estimation is
        # repeated below.
        if change.action in ("with_cost", "round_thresholds") or (change.action == "estimate" and honest is not None):
            continue
        repeat = _repeat_change(change, n_jobs)
        if repeat is None:
            skipped.append(str(change.method or change.action))
        else:
            steps.append(repeat)

    def grow(rows: TrainingSet) -> Tree:
        structure, leaves = (rows, None) if honest is None else split_rows(rows, honest.share)
        regrown = grow_training_set(structure, n_jobs=n_jobs)
        for repeat in steps:
            regrown = repeat(regrown, structure)
        if leaves is not None and honest is not None:
            regrown = estimate_leaves(regrown, leaves, honest.share, rows)
        return regrown

    return grow, skipped


def _repeat_change(change: ChangeInfo, n_jobs: int | None) -> Change | None:
    """Return a function that repeats a change on another tree; None if that is impossible."""
    method, options = change.method, dict(change.options)
    if change.action != "prune" or method == "reduced_error" or "at" in options or "raising" in options:
        return None
    if "folds" in options:
        by_folds = {name: options[name] for name in CV_OPTIONS if name in options}
        return lambda tree, rows: prune_grown(tree, rows, PruningPlan("cv", by_folds), n_jobs=n_jobs)
    return lambda tree, _: prune(tree, method, **options)
