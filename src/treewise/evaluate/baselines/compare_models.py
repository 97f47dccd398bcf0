"""Is a tree the right model? (ID3 notes, last page.) A tree beside K-nearest neighbours, a linear model and a constant.

A front, beside the estimators. All models learn from and answer for the same rows, fold by fold, so that the data
answer the question: error, time, and what each has to remember.

features.py   a table as numbers only
models.py     the models, behind the same three calls
recipe.py     how a tree was made, to be done again on other rows
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
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
    facts_in_words,
    find_baselines,
    losses_on,
    size_of,
)
from treewise.predict.confidence_intervals import beta_share, wilson
from treewise.predict.costs import CostMatrix
from treewise.prune.grow_and_prune import CV_OPTIONS, PruningPlan, prune_grown
from treewise.prune.prune import prune
from treewise.train.grow import PRUNING, grow_prepared, grow_training_set, prepare, pruning_for
from treewise.train.resampling import fold_numbers, part
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

__all__ = ["ModelComparison", "ModelScore", "compare_models", "score_models"]

Floats = npt.NDArray[np.float64]
Z95 = 1.96


@dataclass(frozen=True, eq=False)
class ModelScore:
    """How one model did over all folds."""

    name: str
    losses: Floats  # of every row, when it was held out: 1 for a wrong class, or its cost; the squared error
    fit_seconds: float  # a fold, choices included
    predict_seconds: float  # a fold
    bytes: float  # what it remembers
    about: str  # how it came out


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Displayable):
    """A tree and its rivals on the same folds. ``print`` it, look at ``outcomes``, or take ``to_dict()``."""

    table: str
    target: str
    n: int
    folds: int
    measure: str  # "error", "cost" or "rmse"
    outcomes: tuple[ModelScore, ...]
    weight: Floats | None = None  # of each row, where they weigh differently

    @property
    def effective(self) -> float:
        """How many rows of equal weight would tell as much: the rows, without weights."""
        return effective_sample_size(self.n, self.weight)

    def error(self, outcome: ModelScore) -> float:
        """Return the share of wrong rows, the cost a row, or the root mean squared error; weighted rows by weight."""
        mean = float(np.average(outcome.losses, weights=self.weight))
        return math.sqrt(mean) if self.measure == "rmse" else mean

    def interval(self, outcome: ModelScore) -> tuple[float, float]:
        """Return the 95 % interval: Wilson's of an error, the normal one of a mean cost or mean squared error."""
        if self.measure == "error":
            return wilson(self.error(outcome) * self.effective, self.effective)
        mean, spread = mean_and_spread(outcome.losses, self.weight)
        half = Z95 * spread / math.sqrt(self.effective)
        ends = max(0.0, mean - half), mean + half
        return (math.sqrt(ends[0]), math.sqrt(ends[1])) if self.measure == "rmse" else ends

    def duel(self, rival: ModelScore) -> dict[str, float]:
        """Compare a rival with the tree row by row: where it does better, where worse, how likely that is by chance.

        ``p`` is the sign test's for errors; for costs, squared errors and rows of different weight that of the mean
        difference (normal).
        """
        more = rival.losses - self.outcomes[0].losses
        better, worse = int((more < 0).sum()), int((more > 0).sum())
        p = sign_test(better, worse) if self.by_signs else mean_test(more, self.weight)
        loss = float(np.average(more, weights=self.weight))
        return {"better_rows": better, "worse_rows": worse, "more_loss": loss, "p": p}

    @property
    def by_signs(self) -> bool:
        """Whether counting better and worse rows is all there is to compare."""
        return self.measure == "error" and self.weight is None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        models = [
            {
                "model": o.name,
                self.measure: self.error(o),
                "interval": list(self.interval(o)),
                "fit_seconds": o.fit_seconds,
                "predict_seconds": o.predict_seconds,
                "bytes": o.bytes,
                "about": o.about,
                **({} if i == 0 else self.duel(o)),
            }
            for i, o in enumerate(self.outcomes)
        ]
        return {"table": self.table, "target": self.target, "n": self.n, "folds": self.folds, "models": models}

    def result_table(self) -> ResultTable:
        """Return the models, the tree first."""
        in_percent = self.measure == "error"
        written = format_share if in_percent else lambda value: f"{value:,.{self.decimals}f}"
        headings = (
            ColumnSpec("model"),
            ColumnSpec(self.measure, "number", "error %" if in_percent else None, written),
            ColumnSpec("low", "number", only="data"),
            ColumnSpec("high", "number", only="data"),
            ColumnSpec("interval", "number", "95 % interval", str, only="text"),
            ColumnSpec("fit_seconds", "number", "fit", seconds),
            ColumnSpec("predict_seconds", "number", "predict", seconds),
            ColumnSpec("bytes", "number", "size", memory),
            ColumnSpec("about", title=""),
        )
        rows = []
        for o in self.outcomes:
            low, high = self.interval(o)
            between = f"{written(low)} to {written(high)}"
            rows.append((o.name, self.error(o), low, high, between, o.fit_seconds, o.predict_seconds, o.bytes, o.about))
        return ResultTable(
            self.title, headings, rows, below=tuple(map(self._verdict, self.outcomes[1:])), row_name="model"
        )

    @property
    def title(self) -> str:
        """What was compared on which rows."""
        weighed = "" if self.weight is None else f" of weight {format_count(float(self.weight.sum()))}"
        return f"{safe(self.table)}, column {safe(self.target)}: {plural(self.n, 'row')}{weighed}, {self.folds} folds"

    def to_text(self, width: int | None = None, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the models under each other, and who does better."""
        rows = [
            ["", {"error": "error %"}.get(self.measure, self.measure), "95 % interval", "fit", "predict", "size", ""]
        ]
        for o in self.outcomes:
            low, high = self.interval(o)
            if self.measure == "error":
                said, between = format_share(self.error(o)), f"{format_percent(low)} to {format_percent(high)}"
            else:
                digits = self.decimals
                said, between = f"{self.error(o):,.{digits}f}", f"{low:,.{digits}f} to {high:,.{digits}f}"
            times = seconds(o.fit_seconds), seconds(o.predict_seconds)
            rows.append([o.name, said, between, *times, memory(o.bytes), o.about])
        table = align_columns(rows, right=range(1, len(rows[0]) - 1), gap="   ")
        return "\n".join([emphasis(self.title), table, *map(self._verdict, self.outcomes[1:])])

    @property
    def decimals(self) -> int:
        """How many decimals a cost or a deviation has: those of two digits of the tree's interval."""
        low, high = self.interval(self.outcomes[0])
        return max(0, 1 - math.floor(math.log10((high - low) / 2))) if high > low else 4

    def _verdict(self, rival: ModelScore) -> str:
        """Say whether the data prefer a rival to the tree."""
        found = self.duel(rival)
        better, worse, more, p = int(found["better_rows"]), int(found["worse_rows"]), found["more_loss"], found["p"]
        if better == worse == 0:
            return f"{rival.name} and the tree do equally well on every row"
        which = "the tree does better" if more > 0 else f"{rival.name} does better"
        clear = which if p < 0.05 else "no clear difference"
        chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        test = "sign test" if self.by_signs else "test of the mean difference"
        rows = f"{rival.name} is better than the tree on {plural(better, 'row')} and worse on {worse:,}"
        return f"{rows}: {clear} ({test}, {chance})"


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
    """Compare a tree with other models on the same folds (ID3 notes: "when might K-NN be better?").

    >>> import treewise as tw
    >>> found = tw.compare_models("penguins", models="majority", folds=5, max_leaf_nodes=4)
    >>> [(o.name, round(found.error(o), 2)) for o in found.outcomes]
    [('tree', 0.07), ('majority', 0.56)]

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``, which grows the tree of every fold.
    models : ``"knn"``, ``"logistic"`` and ``"majority"``; for numbers ``"knn"``, ``"linear"`` and ``"mean"``. By
        default all of them. All but the last are scikit-learn's, on indicators for categories and scaled numbers.
    folds : every row is held out once, in one of so many folds; classes are spread evenly over them.
    random_state : the seed of the folds, and of random ties.
    n_jobs : threads, for the tree and for K-NN.
    progress : is told the share that is done.
    """
    asked = {name: options.pop(name) for name in PRUNING if name in options}
    wanted = pruning_for(options.get("preset"), **asked)
    training_set = prepare(data, target, random_state=random_state, **options)

    def grow(rows: TrainingSet) -> Tree:
        return grow_prepared(rows, wanted, n_jobs)

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
    """Compare on a prepared training set; ``grow`` makes the tree of every fold from its rows."""
    task, classes = training_set.target.task, training_set.target.classes
    usual = ("knn", "linear", "mean") if task == "regression" else ("knn", "logistic", "majority")
    kinds = find_baselines(usual if models is None else models, task)
    number = fold_numbers(training_set, folds, random_state)
    given = training_set.asked.get("cost")
    cost = None if given is None else CostMatrix.of(given, classes)
    found = {name: FoldRecord(np.zeros(len(training_set))) for name in ("tree", *kinds)}
    for fold in range(folds):
        train, held_out = np.flatnonzero(number != fold), np.flatnonzero(number == fold)
        models_of_fold: list[BaselineModel] = [TreeModel(grow), *(kind(cost, n_jobs) for kind in kinds.values())]
        for i, (record, model) in enumerate(zip(found.values(), models_of_fold, strict=True), start=1):
            record.add(model, part(training_set, train), part(training_set, held_out), held_out, cost)
            if progress is not None:
                progress((fold + i / len(found)) / folds)
    outcomes = tuple(record.outcome(name, training_set) for name, record in found.items())
    measure = "rmse" if task == "regression" else "error" if cost is None else "cost"
    name, target = training_set.table_name, training_set.target.name
    return ModelComparison(name, target, len(training_set), folds, measure, outcomes, row_weights(training_set))


def row_weights(training_set: TrainingSet) -> Floats | None:
    """Return what each row weighs; None where all weigh the same."""
    if training_set.weight.min() == training_set.weight.max():
        return None
    return np.ldexp(np.asarray(training_set.weight, np.float64), -training_set.weight_scale)


@dataclass
class FoldRecord:
    """What was found of a model so far."""

    losses: Floats
    fit: float = 0.0
    predict: float = 0.0
    bytes: int = 0
    facts: tuple[float, ...] = ()
    about: str = ""

    def add(
        self, model: BaselineModel, train: TrainingSet, test: TrainingSet, rows: Any, cost: CostMatrix | None
    ) -> None:
        """Fit on one part, answer for the other."""
        start = time.perf_counter()
        model.fit(train)
        fitted = time.perf_counter()
        said = model.predict(test)
        self.predict += time.perf_counter() - fitted
        self.fit += fitted - start
        self.losses[rows] = losses_on(test, said, cost)
        self.bytes += size_of(model)
        self.facts += (model.fact,)
        self.about = model.about

    def outcome(self, name: str, training_set: TrainingSet) -> ModelScore:
        """Return the averages over the folds."""
        k = len(self.facts)
        words = facts_in_words(self.about, self.facts, training_set)
        return ModelScore(name, self.losses, self.fit / k, self.predict / k, self.bytes / k, words)


def sign_test(better: int, worse: int) -> float:
    """Return how often a fair coin would be as lopsided as this, on either side.

    >>> round(sign_test(0, 5), 4), sign_test(3, 3)
    (0.0625, 1.0)
    """
    fewer, n = min(better, worse), better + worse
    if n == 0 or better == worse:
        return 1.0
    return min(1.0, 2 * beta_share(0.5, n - fewer, fewer + 1))


def mean_test(differences: Floats, weight: Floats | None = None) -> float:
    """Return how often chance alone would make a mean of so many differences as far from 0 as this, on either side."""
    mean, spread = mean_and_spread(differences, weight)
    if spread == 0:
        return float(differences[0] == 0)
    return 2 * NormalDist().cdf(-abs(mean) * math.sqrt(effective_sample_size(len(differences), weight)) / spread)


def effective_sample_size(n: int, weight: Floats | None) -> float:
    """Return how many rows of equal weight would tell as much as these n (Kish 1965).

    >>> effective_sample_size(2, None), effective_sample_size(2, np.array([3.0, 1.0]))
    (2, 1.6)
    """
    return n if weight is None else float(weight.sum() ** 2 / (weight**2).sum())


def mean_and_spread(values: Floats, weight: Floats | None) -> tuple[float, float]:
    """Return the mean and the standard deviation, of weighted rows the weighted ones.

    >>> mean_and_spread(np.array([0.0, 1.0]), np.array([3.0, 1.0]))                  # as of 0, 0, 0 and 1
    (0.25, 0.4330127018922193)
    """
    mean = float(np.average(values, weights=weight))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=weight)))


def seconds(value: float) -> str:
    """Write a time in the unit that suits it.

    >>> seconds(0.0123), seconds(4.56), seconds(0.0000123)
    ('12.3 ms', '4.56 s', '<0.1 ms')
    """
    if value < 0.00005:
        return "<0.1 ms"
    return f"{1000 * value:.1f} ms" if value < 1 else f"{value:.3g} s"


def memory(value: float) -> str:
    """Write a number of bytes in the unit that suits it.

    >>> memory(14), memory(12_345), memory(45_600_000)
    ('14 B', '12.3 kB', '45.6 MB')
    """
    if value < 1000:
        return f"{value:.0f} B"
    return f"{value / 1e6:.1f} MB" if value >= 1e6 else f"{value / 1e3:.1f} kB"


Grow = Callable[[TrainingSet], Tree]
Change = Callable[[Tree, TrainingSet], Tree]


def grow_like(tree: Tree, n_jobs: int | None = None) -> tuple[Grow, list[str]]:
    """Return what grows a tree like this one on some rows, and the steps of its history that cannot be repeated.

    >>> import treewise as tw
    >>> from treewise.train.grow import prepare
    >>> grow, left_out = grow_like(tw.grow("penguins", max_depth=4, pruning="pessimistic"))
    >>> grow(prepare("penguins", max_depth=4)) == tw.grow("penguins", max_depth=4, pruning="pessimistic"), left_out
    (True, [])
    """
    changes, left_out = [], []
    for step in tree.history:
        if step.get("did") in ("grow", "with_cost"):  # the settings and the costs come with the training set
            continue
        change = again(step, n_jobs)
        if change is None:
            left_out.append(str(step.get("method") or step.get("did")))
        else:
            changes.append(change)

    def grow(rows: TrainingSet) -> Tree:
        made = grow_training_set(rows, n_jobs=n_jobs)
        for change in changes:
            made = change(made, rows)
        return made

    return grow, left_out


def again(step: Mapping[str, Any], n_jobs: int | None) -> Change | None:
    """Return a step as something to do with another tree; None where it was about this tree or a table."""
    method, options = step.get("method"), dict(step.get("options", {}))
    if step.get("did") != "prune" or method == "reduced_error" or "at" in options or "raising" in options:
        return None
    if "folds" in options:
        by_folds = {name: options[name] for name in CV_OPTIONS if name in options}
        return lambda tree, rows: prune_grown(tree, rows, PruningPlan("cv", by_folds), n_jobs=n_jobs)
    return lambda tree, _: prune(tree, method, **options)
