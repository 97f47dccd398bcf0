"""AdaBoost: trees grown one after another, each on row weights updated by the errors of the previous one.

Builds on ``train/grow.py``; ``rounds.py`` displays the rounds. The weak learner is any tree that ``grow`` can grow, by
default a stump:

    D_1 = equal weights, or those given
    in each round b:   h_b = a tree grown with the weights D_b, or on rows sampled by them
                       ε_b = the weight of its errors;  α_b its vote weight;  D_{b+1} the weights of the next round

and the class with the largest total vote weight is predicted. Boosting ends early in two cases. A learner without
errors leaves nothing to reweight: it is kept, with a vote weight of 1 more than the sum of all before it, so that it
decides alone, as with its infinite α. A learner that is no better than chance (ε ≥ 1 − 1/K) is discarded, since the
next one would be the same; if it is the first, it is the whole ensemble.

CS221 section 5, part 2 defines the update for two classes; SAMME (Zhu, Zou, Rosset and Hastie 2009) generalises it to K
classes:

    ε = the weight of the misclassified rows, of a total weight of 1    error of the learner
    α = ½·(log((1 − ε)/ε) + log(K − 1))                                 vote weight; for K = 2, the α of CS221
    z = (1 − ε)·e^−α + ε·e^α                                            normaliser of the new weights
    D' = D·e^−α/z if correct, D·e^α/z if wrong                          for K = 2: D/(2·(1 − ε)) and D/(2·ε)

The α of SAMME is twice this one: halving all vote weights changes no prediction, and keeps one formula for any K. A
learning rate multiplies α. Rows that the ensemble misclassifies have Σ α·[wrong] ≥ Σ α·[correct], so the product of
all z bounds the training error.

Weights are integers with a sum of about 2^52, so ε is a quotient of integers, independent of the order of the rows and
of the number of threads. On small tables they are in exact proportion for many rounds, as on paper; once the
proportions need too large numbers, the next weights are rounded to units of 2^-52, and to at least one. After the
update (with a learning rate of 1) the misclassified rows have (K − 1)/K of the weight, exactly or up to that rounding:
each row is off by at most one unit, both in the errors and in the total, so n rows by 2n units, plus a few for the
factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.checks import decimal_fraction
from treewise._lib.rng import mix64
from treewise._lib.text import format_percent, plural
from treewise._version import __version__
from treewise.ensemble.grow import perfect_column_notes, prepare_ensemble, table_record
from treewise.ensemble.model import ENDED, Ensemble
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.params import AdaBoostParams, recorded_params
from treewise.errors import Param, ParameterError, brief
from treewise.train.canonical_rows import GOLDEN, canonical_rows, mix64_array
from treewise.train.grow import (
    OnPrepared,
    Progress,
    _out_of_memory,
    core_columns,
    core_settings,
    core_target,
    grow_training_set,
    resolve_n_jobs,
)
from treewise.train.resampling import take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF, Arrays
from treewise.tree.history import HistoryStep

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Classes = npt.NDArray[np.uint8] | npt.NDArray[np.int32]  # class numbers of rows

WEIGHT_BITS = 52
MAX_EXACT_SUM = 2**32  # largest sum of integer weights that are kept in exact proportion
_FACTOR_UNITS = 8  # bound on the error, in units, of rounding the two factors to doubles
_MAX_ATTEMPTS = 10  # samples drawn in a round until the learner is better than chance
_UNUSED_BITS = np.uint64(11)  # of 64 random bits


def adaboost(
    data: Any,
    target: Any = None,
    n_estimators: int = 50,
    *,
    max_depth: int | None = 1,
    learning_rate: float = 1.0,
    resample: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    **options: Any,
) -> Ensemble:
    """Boost trees on a table: AdaBoost for two classes, SAMME for more.

    >>> import treewise as tw
    >>> boosted = tw.adaboost("admissions", n_estimators=5)
    >>> boosted
    <Ensemble adaboost of 5 trees · Class: N, P · 10 leaves>
    >>> boosted.votes.round(3)
    array([0.805, 0.867, 0.462, 0.676, 0.62 ])

    ``boosted.rounds`` is the table of the rounds, ``boosted.worked_round(data, 1)`` writes one out row by row.

    Parameters
    ----------
    data, target : as in ``grow``; the target must be classes.
    n_estimators : maximum number of trees; boosting ends earlier after a learner without errors, or if none is better
        than chance, and ``notes`` says so. The first k trees are those of ``n_estimators=k``.
    max_depth : depth limit of each tree; 1 grows stumps, None sets no limit.
    learning_rate : multiplies every vote weight: smaller steps, more trees. Above 0, at most 10.
    resample : grow each tree on a sample of as many rows as the table has, drawn with replacement by the weights of the
        round, instead of weighting the rows.
    random_state : seed of these samples and of random ties. Each round has its own seed, derived from this and its
        number.
    n_jobs : number of threads: None or -1 for all processors. The ensemble does not depend on it.
    progress : called after every round with the fraction of rounds that are done.
    on_prepared : called with the prepared training set before the trees are grown.
    **options : those of ``grow``: criterion, categorical, kinds, missing, limits … except pruning and cost.
        ``sample_weight``, ``class_weight`` and ``priors`` set the weights of the first round.
    """
    params = AdaBoostParams("adaboost", n_estimators, learning_rate, resample)
    options = {**options, "max_depth": max_depth, "random_state": random_state}
    training_set = prepare_ensemble(data, target, options, adaboost)
    if on_prepared is not None:
        on_prepared(training_set)
    return boost_training_set(training_set, params, progress, n_jobs)


def boost_training_set(
    training_set: TrainingSet, params: AdaBoostParams, progress: Progress | None = None, n_jobs: int | None = None
) -> Ensemble:
    """Boost trees on a prepared training set."""
    if training_set.settings.selection == "test":
        raise ParameterError(
            "boosting reweights the rows, and reweighted rows cannot be tested.",
            parameter="selection",
            value="test",
            hint="Leave it out; a forest or a single tree can be grown by tests.",
        )
    if training_set.target.task == "regression":
        raise ParameterError(
            f"AdaBoost predicts classes, and {brief(training_set.target.name)} is numeric.",
            hint="Give classes, or grow a forest for regression; "
            + Param("task", "classification")
            + " treats each distinct number as a class.",
        )
    run = BoostingRun(training_set, params, resolve_n_jobs(n_jobs))
    for fraction in run.rounds():
        if progress:
            progress(fraction)
    return run.ensemble()


def extend_adaboost(
    ensemble: Ensemble, training_set: TrainingSet, n: int, n_jobs: int | None = None, progress: Progress | None = None
) -> Ensemble:
    """Return the ensemble with up to n further trees, as if all had been grown at once."""
    params = replace(recorded_params(ensemble, AdaBoostParams, "extend"), n_estimators=len(ensemble) + n)
    run = BoostingRun(training_set, params, resolve_n_jobs(n_jobs))
    run.replay(ensemble)
    for fraction in run.rounds():
        if progress:
            progress(fraction)
    return run.ensemble(ensemble)


# -- rounds -----------------------------------------------------------------------------------------------------------


@dataclass
class _KeptRounds:
    """Results of the rounds so far, one entry per round; ``trees`` has only those grown in this run."""

    trees: list[Arrays]
    votes: list[float]
    errors: list[float]
    training_errors: list[float]


class BoostingRun:
    """State of boosting between rounds: the current weights and the results so far."""

    def __init__(self, training_set: TrainingSet, params: AdaBoostParams, n_jobs: int) -> None:
        self.training_set, self.params, self.n_jobs = training_set, params, n_jobs
        self.truth: Classes = training_set.y  # type: ignore[assignment]  # class numbers: bytes, or int32 past 256
        self.n_classes = len(training_set.target.classes)
        self.weights = self.first = Distribution.of(np.ascontiguousarray(training_set.weight))
        self.scores = np.zeros((len(training_set), self.n_classes))
        self.kept = _KeptRounds([], [], [], [])
        self.stopped = ""

    @property
    def number(self) -> int:
        """The number of the next round, from 0."""
        return len(self.kept.votes)

    def rounds(self) -> Iterator[float]:
        """Boost until there are enough trees or boosting ends; yield the fraction of rounds that are done."""
        last, first = self.params.n_estimators, self.number
        learn = _make_learner(self.training_set, self.params.resample, self.n_jobs)
        while self.number < last and not self.stopped:
            self._round(learn)
            yield (self.number - first) / (last - first)

    def _round(self, learn: Learner) -> None:
        for attempt in range(_MAX_ATTEMPTS if self.params.resample else 1):
            tree, predicted = learn(self.weights, self.number, attempt)
            update = self.weight_update(predicted)
            if not update.no_better_than_chance or update.is_perfect:
                break
        if self.number and update.no_better_than_chance and not update.is_perfect:
            self.stopped = self._chance_reason(update)
            return
        self.kept.trees.append(tree)
        self.record(predicted, update)

    def weight_update(self, predicted: Classes) -> WeightUpdate:
        """Return the weight update that follows from the predictions of a learner."""
        params = self.params
        return self.weights.weight_update(self.truth, predicted, self.n_classes, params.learning_rate, self.n_jobs)

    def record(self, predicted: Classes, update: WeightUpdate) -> None:
        """Record the vote weight and errors of a learner, and set the weights of the next round."""
        truth, kept = self.truth, self.kept
        if update.is_perfect:
            vote = 1.0 + sum(kept.votes)
            subject = f"The learner of round {self.number + 1}"
            self.stopped = f"{subject} makes no mistake: nothing is left to weigh anew, and it decides alone."
        elif update.no_better_than_chance:
            vote, self.stopped = 1.0, self._chance_reason(update)
        else:
            vote = update.vote
        wrong = _core.add_vote(truth, predicted, self.first.units, vote, self.scores, self.n_jobs)
        kept.votes.append(vote)
        kept.errors.append(float(update.error))
        kept.training_errors.append(wrong / self.first.total)
        if not self.stopped:
            self.weights = self.weights.next(truth, predicted, update, self.n_jobs)

    def _chance_reason(self, update: WeightUpdate) -> str:
        chance = format_percent(1 - 1 / self.n_classes)
        depth = self.training_set.settings.max_depth
        deeper = "" if depth is None else f" Trees deeper than {depth} may."
        if self.number == 0:
            return (
                f"The first tree gets {format_percent(float(update.error))} % wrong, "
                f"no better than chance ({chance} %): it is"
                f" all there is, for boosting needs learners that do better.{deeper}"
            )
        return f"After {plural(self.number, 'tree')} none does better than chance ({chance} % wrong) any more.{deeper}"

    def replay(self, ensemble: Ensemble) -> None:
        """Repeat the rounds of an ensemble without growing its trees."""
        for predicted in member_predictions(ensemble, self.training_set):
            self.record(predicted, self.weight_update(predicted))

    def ensemble(self, before: Ensemble | None = None) -> Ensemble:
        """Return the trees as an ensemble, following those of ``before`` if the run continues one."""
        training_set, kept = self.training_set, self.kept
        members = PackedTrees.of(kept.trees) if kept.trees else None
        decreases = np.array([_impurity_decreases(tree, len(training_set.columns)) for tree in kept.trees])
        if before is not None:
            decreases = decreases.reshape(len(kept.trees), len(training_set.columns))
            decreases = np.concatenate([before.decreases, decreases])
            members = before.members.concat(members) if members else before.members
        criterion = training_set.settings.criterion
        assert criterion is not None
        assert members is not None
        notes = list(training_set.notes) if before is None else [n for n in before.notes if not n.startswith(ENDED)]
        notes += [n for n in perfect_column_notes(training_set, members, self.n_jobs) if n not in notes]
        ended = f"{ENDED} after {plural(self.number, 'tree')} of {self.params.n_estimators:,}: {self.stopped}"
        return Ensemble(
            "adaboost",
            training_set.encodings,
            training_set.target,
            members,
            np.array(kept.votes),
            decreases,
            criterion,
            training_set.settings.empty_branch,
            history=(self._step(),),
            notes=(*notes, *([ended] if self.stopped else [])),
        )

    def _step(self) -> HistoryStep:
        """Return the record of the parameters and the rounds for the history."""
        training_set, kept = self.training_set, self.kept
        rounds = {"errors": kept.errors, "training_errors": kept.training_errors, "stopped": self.stopped}
        record = {
            "did": "grow",
            "ensemble": {**self.params.history_record(), **table_record(training_set), **rounds},
            "treewise": __version__,
            "rows": len(training_set),
            "settings": training_set.settings.non_default_values(),
        }
        return HistoryStep({**training_set.fit_options.to_step(), **record})


# -- weight update ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightUpdate:
    """Weight of the errors of a learner, and the vote weight and reweighting factors that follow.

    >>> two = WeightUpdate(wrong=2, total=12, n_classes=2)
    >>> two.error, round(two.vote, 4), round(two.z, 4), two.factors
    (Fraction(1, 6), 0.8047, 0.7454, (0.6, 3.0))
    """

    wrong: int
    total: int
    n_classes: int
    learning_rate: float = 1.0

    @property
    def error(self) -> Fraction:
        """ε: the weight of the misclassified rows as a fraction of the total."""
        return Fraction(self.wrong, self.total)

    @property
    def is_perfect(self) -> bool:
        """Whether the learner makes no errors."""
        return self.wrong == 0

    @property
    def no_better_than_chance(self) -> bool:
        """Whether ε ≥ 1 − 1/K, the error of guessing at random."""
        return self.wrong * self.n_classes >= self.total * (self.n_classes - 1)

    @property
    def vote(self) -> float:
        """α; infinite without errors."""
        if self.is_perfect:
            return math.inf
        odds = Fraction((self.total - self.wrong) * (self.n_classes - 1), self.wrong)
        return self.learning_rate * math.log1p(odds - 1) / 2

    @property
    def z(self) -> float:
        """Normaliser of the new weights; 0 without errors."""
        if self.is_perfect:
            return 0.0
        alpha = self.vote
        return float(1 - self.error) * math.exp(-alpha) + float(self.error) * math.exp(alpha)

    @property
    def factors(self) -> tuple[float, float]:
        """Factors of the weight of a correctly classified row and of a misclassified one."""
        if self.learning_rate == 1.0:
            right = Fraction(self.total, self.n_classes * (self.total - self.wrong))
            wrong = Fraction((self.n_classes - 1) * self.total, self.n_classes * self.wrong)
            return float(right), float(wrong)
        odds = float(Fraction(self.total - self.wrong, self.wrong)) * math.exp(
            -2 * self.vote
        )  # correct to wrong, updated
        return odds / (1 + odds) / float(1 - self.error), 1 / (1 + odds) / float(self.error)


@dataclass(frozen=True, eq=False)
class Distribution:
    """Row weights D of a round, as fixed-point integers.

    >>> start = Distribution.of(np.ones(4, np.int64))
    >>> start.shares, start.exact
    (array([0.25, 0.25, 0.25, 0.25]), True)
    >>> truth, predicted = np.array([0, 0, 1, 1], np.uint8), np.array([0, 0, 1, 0], np.uint8)
    >>> update = start.weight_update(truth, predicted)
    >>> update.error, start.next(truth, predicted, update).shares.round(6)
    (Fraction(1, 4), array([0.166667, 0.166667, 0.166667, 0.5     ]))
    """

    units: Ints  # weight of each row
    common_factor: int  # of all units, which are in exact proportion; 0 if they were rounded

    @classmethod
    def of(cls, weight: Ints) -> Distribution:
        """Return D_1 from the weights of the training rows."""
        exact = _in_proportion(weight)
        if exact is not None:
            return exact
        return cls(_rounded(weight.astype(np.float64) * (2.0**WEIGHT_BITS / int(weight.sum()))), 0)

    @cached_property
    def total(self) -> int:
        """Sum of all units."""
        return int(self.units.sum())

    @property
    def exact(self) -> bool:
        """Whether the weights have not been rounded."""
        return self.common_factor > 0

    @property
    def shares(self) -> Floats:
        """D itself, with a sum of 1."""
        shares: Floats = self.units / self.total
        return shares

    def weight_update(
        self, truth: Classes, predicted: Classes, n_classes: int = 2, learning_rate: float = 1.0, n_jobs: int = 1
    ) -> WeightUpdate:
        """Return the update that follows from the predictions of a learner."""
        wrong = _core.error_weight(truth, predicted, self.units, n_jobs)
        return WeightUpdate(wrong, self.total, n_classes, learning_rate)

    def next(self, truth: Classes, predicted: Classes, update: WeightUpdate, n_jobs: int = 1) -> Distribution:
        """Return the weights of the next round."""
        after = self._next_exact(truth, predicted, update) if self.exact and update.learning_rate == 1.0 else None
        if after is None:
            scale = 2.0**WEIGHT_BITS / update.total
            right, wrong = update.factors
            after = Distribution(_core.reweight(truth, predicted, self.units, right * scale, wrong * scale, n_jobs), 0)
        if update.learning_rate == 1.0:  # CS221 section 5, 2: the misclassified rows now have half of the weight
            error = after.weight_update(truth, predicted, n_jobs=n_jobs).error
            expected = Fraction(update.n_classes - 1, update.n_classes)
            tolerance = Fraction(2 * len(after.units) + _FACTOR_UNITS, 2**WEIGHT_BITS)
            assert abs(error - expected) <= (0 if after.exact else tolerance)
        return after

    def _next_exact(self, truth: Classes, predicted: Classes, update: WeightUpdate) -> Distribution | None:
        """Return the next weights in exact proportion, or None if the numbers get too large.

        Correct rows are multiplied by ε, misclassified ones by (K − 1)·(1 − ε), reduced to lowest terms.
        """
        wrong, right = update.wrong // self.common_factor, (update.total - update.wrong) // self.common_factor
        divisor = math.gcd(wrong, (update.n_classes - 1) * right)
        if update.n_classes * right * wrong // divisor > 2**62:
            return None
        factors = np.array([wrong // divisor, (update.n_classes - 1) * right // divisor])
        return _in_proportion(self.units // self.common_factor * factors[(truth != predicted).astype(np.intp)])


def _in_proportion(weight: Ints) -> Distribution | None:
    """Scale integers by a common factor to a sum near 2^52; return None if they are too large for that."""
    reduced = weight // np.gcd.reduce(weight)
    total = int(reduced.sum())
    if total > MAX_EXACT_SUM:
        return None
    return Distribution(reduced * (2**WEIGHT_BITS // total), 2**WEIGHT_BITS // total)


def _rounded(units: Floats) -> Ints:
    return np.maximum(1, np.rint(units)).astype(np.int64)  # no weight becomes 0


# -- weak learners ----------------------------------------------------------------------------------------------------

Learner = Callable[[Distribution, int, int], tuple[Arrays, Classes]]  # weights, round, attempt → tree, predictions


def _make_learner(training_set: TrainingSet, resample: bool, n_jobs: int) -> Learner:
    """Return the function that grows the tree of a round and predicts all rows with it.

    Stumps are grown on columns that the core sorts once (``src/core/forest/``): the same trees, many times as fast.
    """
    if resample:
        return _resampling_learner(training_set, n_jobs)
    columns, target, settings = core_columns(training_set), core_target(training_set), core_settings(training_set)
    settings.n_jobs = n_jobs
    if not _core.StumpGrower.supports(columns, target, settings):
        return _weighting_learner(training_set, n_jobs)
    try:
        stumps = _core.StumpGrower(columns, target, settings)
    except MemoryError:
        raise _out_of_memory(training_set) from None
    share = decimal_fraction(training_set.settings.min_weight_fraction_leaf)

    def grow(weights: Distribution, number: int, _: int) -> tuple[Arrays, Classes]:
        min_leaf_weight = math.ceil(share * weights.total)
        seed = _round_seed(training_set, number)
        arrays, predicted = stumps.grow(weights.units, WEIGHT_BITS, min_leaf_weight, seed)
        return Arrays(**arrays), predicted

    return grow


def _weighting_learner(training_set: TrainingSet, n_jobs: int) -> Learner:
    columns = core_columns(training_set)

    def grow(weights: Distribution, number: int, _: int) -> tuple[Arrays, Classes]:
        weighted = replace(_with_round_seed(training_set, number), weight=weights.units, weight_scale=WEIGHT_BITS)
        tree = grow_training_set(weighted, None, n_jobs, keep_quartiles=False).arrays
        return tree, _predict_classes(tree, training_set, columns)

    return grow


def _resampling_learner(training_set: TrainingSet, n_jobs: int) -> Learner:
    """Grow trees on rows sampled with replacement by the weights of the round; a row drawn twice has weight 2."""
    columns, order = core_columns(training_set), canonical_rows(training_set).row

    def grow(weights: Distribution, number: int, attempt: int) -> tuple[Arrays, Classes]:
        key = mix64(_round_seed(training_set, number), attempt)
        counts = _draw_counts(weights, order, key)
        rows = np.flatnonzero(counts)
        sample = replace(take_rows(_with_round_seed(training_set, number), rows), weight=counts[rows], weight_scale=0)
        tree = grow_training_set(sample, None, n_jobs, keep_quartiles=False).arrays
        return tree, _predict_classes(tree, training_set, columns)

    return grow


def _draw_counts(weights: Distribution, canonical: npt.NDArray[np.uint32], key: int) -> Ints:
    """Return how often each row is drawn, in as many draws as there are canonical rows.

    The weights are laid end to end in canonical order; each draw is a point on that line and selects the row whose
    weight covers it.

    >>> weights = Distribution.of(np.array([1, 1, 6]))
    >>> _draw_counts(weights, np.arange(3, dtype=np.uint32), key=0).tolist()
    [1, 0, 2]
    """
    order = canonical[np.append(True, canonical[1:] != canonical[:-1])]  # repeated rows once
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64
        random = mix64_array(np.arange(len(canonical), dtype=np.uint64) * GOLDEN + np.uint64(key)) >> _UNUSED_BITS
    points = np.minimum(random * 2.0**-53 * weights.total, weights.total - 1).astype(np.int64)
    rows = np.searchsorted(np.cumsum(weights.units[order]), points, side="right")
    return np.bincount(order[rows], minlength=len(weights.units))


def _round_seed(training_set: TrainingSet, number: int) -> int:
    return mix64(training_set.settings.random_state, number)


def _with_round_seed(training_set: TrainingSet, number: int) -> TrainingSet:
    return replace(
        training_set, settings=replace(training_set.settings, random_state=_round_seed(training_set, number))
    )


def _predict_classes(tree: Arrays, training_set: TrainingSet, columns: list[_core.Column]) -> Classes:
    labels = tree.label[_core.find_leaves(tree.for_core, columns, len(training_set))]
    return labels.astype(np.uint8) if len(training_set.target.classes) <= 256 else labels


def member_predictions(ensemble: Ensemble, training_set: TrainingSet) -> Iterator[Classes]:
    """Yield the class numbers that each tree of an ensemble predicts for the training rows."""
    columns = core_columns(training_set)
    for t in range(len(ensemble)):
        tree = ensemble.members.unpack(t, ensemble.criterion, ensemble.empty_branch)
        yield _predict_classes(tree, training_set, columns)


def _impurity_decreases(tree: Arrays, n_columns: int) -> Floats:
    """Return the impurity decrease of the splits on each column, per unit of the weight of the root."""
    inner = np.flatnonzero(tree.kind != LEAF)
    decrease = tree.gain[inner] * (tree.weight[inner] / tree.weight[0])
    return np.bincount(tree.column[inner], decrease, n_columns).astype(np.float64)
