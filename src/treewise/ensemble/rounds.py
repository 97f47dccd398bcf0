"""The rounds of AdaBoost: a table of all of them, and one written out row by row as a worked exercise.

Complements ``model.py``, whose history records the rounds; ``adaboost.py`` writes it. A worked round repeats the
rounds on the training table. Weights that are in exact proportion and have small denominators are written as fractions,
as on paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, plural, safe
from treewise.ensemble.adaboost import BoostingRun, Distribution, WeightUpdate, member_predictions
from treewise.ensemble.grow import prepare_same_table
from treewise.ensemble.model import Ensemble
from treewise.ensemble.params import AdaBoostParams, recorded_params
from treewise.errors import ParameterError
from treewise.tree.arrays import Label
from treewise.tree.splits import shorten_for_cell
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

_MAX_ROUNDS, _LAST_ROUNDS = 20, 5  # printed, and how many of these are the last ones
_MAX_BRANCHES = 4  # of a learner that is written on one line
_NO_BOUND = "–"
NO_BOUND_LEGEND = f"{_NO_BOUND}: a product of 1 or more bounds nothing."
_MAX_DENOMINATOR = 9999  # common denominator of weights written as fractions
_MAX_TERMS = 8  # of a sum that is written out
_HARDEST = 10
_SLIGHT = 1.5  # ratio of the two factors below which the weights hardly change


@dataclass(frozen=True)
class Round:
    """One round: a learner grown with the weights D_b, its error and its vote weight.

    >>> import treewise as tw
    >>> first = tw.adaboost("admissions", n_estimators=3).rounds[0]
    >>> first.learner, first.error, round(first.vote, 4), round(first.z, 4), first.training_error
    ('GPA = 3.5 → N, otherwise → P', 0.16666666666666666, 0.8047, 0.7454, 0.16666666666666666)
    """

    number: int  # from 1
    learner: str  # described on one line
    error: float  # ε_b: error weighted by D_b
    vote: float  # α_b
    z: float  # normaliser of the new weights
    training_error: float  # of all learners so far together, weighted by D_1
    bound: float  # on the training error: the product of all z so far


@dataclass(frozen=True, repr=False)
class Rounds(Displayable, Sequence[Round]):
    """The rounds in order: a sequence that is displayed as a table.

    >>> import treewise as tw
    >>> print(tw.adaboost("admissions", n_estimators=3).rounds)
    AdaBoost for Class: 3 rounds
    round  learner                             error ε   vote α        z  training error %  at most %
        1  GPA = 3.5 → N, otherwise → P        0.16667  0.80472  0.74536              16.7       74.5
        2  GPA = 4.0 → P, otherwise → N           0.15   0.8673  0.71414              25.0       53.2
        3  Published = yes → P, otherwise → N  0.28431  0.46158  0.90217               8.3       48.0
    ε: error of the learner, weighted by the weights of the round; α = ½ log((1 − ε)/ε); z = 2 √(ε(1 −
    ε)). The training error is that of all learners so far, voting; it is at most the product of their
    z.
    """

    rounds: tuple[Round, ...]
    target: str
    n_classes: int
    learning_rate: float = 1.0
    stopped: str = ""  # why boosting ended early
    has_weights: bool = False  # whether the weights of the first round differ
    is_boosted: bool = True  # else there are no rounds

    def __len__(self) -> int:
        return len(self.rounds)

    @overload
    def __getitem__(self, at: int) -> Round: ...
    @overload
    def __getitem__(self, at: slice) -> Self: ...
    def __getitem__(self, at: int | slice) -> Round | Self:
        if isinstance(at, slice):
            return replace(self, rounds=self.rounds[at], stopped="")
        return self.rounds[at]

    def __iter__(self) -> Iterator[Round]:
        return iter(self.rounds)

    def result_table(self) -> ResultTable:
        """Lay out one round per line."""
        columns = (
            ColumnSpec("round", "count"),
            ColumnSpec("learner", break_at=", "),
            ColumnSpec("error", "number", title="error ε"),
            ColumnSpec("vote", "number", title="vote α"),
            ColumnSpec("z", "number"),
            ColumnSpec("training_error", "share", title="training error %"),
            ColumnSpec("bound", "share", title="at most %", formatter=format_bound),
        )
        rows = [(r.number, r.learner, r.error, r.vote, r.z, r.training_error, r.bound) for r in self.rounds]
        if not self.is_boosted:
            return ResultTable(
                f"{safe(self.target)}: these trees were not boosted, so there are no rounds", columns, rows
            )
        title = f"AdaBoost for {safe(self.target)}: {plural(len(self), 'round')}"
        below = tuple(line for line in (self.legend, self.unbounded, self.fixed_votes, self.stopped) if line)
        return ResultTable(
            title, columns, rows, below=below, row_name="round", max_rows=_MAX_ROUNDS, last_rows=_LAST_ROUNDS
        )

    @property
    def legend(self) -> str:
        """Definition of the columns, as formulas."""
        if self.n_classes == 1:
            return "There is only one class, so the learner makes no errors: ε = 0, and its vote α is set to 1."
        rate = "" if self.learning_rate == 1.0 else f"{self.learning_rate:g} · "
        if self.n_classes == 2:
            vote = f"{rate}½ log((1 − ε)/ε)"
        else:
            vote = f"{rate}½ (log((1 − ε)/ε) + log {self.n_classes - 1})"
        z = "2 √(ε(1 − ε))" if self.n_classes == 2 and not rate else "(1 − ε) e^−α + ε e^α"
        rows = ", weighted as in round 1" if self.has_weights else ""
        return (
            f"ε: error of the learner, weighted by the weights of the round; α = {vote}; z = {z}. The training error"
            f" is that of all learners so far, voting{rows}; it is at most the product of their z."
        )

    @property
    def unbounded(self) -> str:
        """Explanation of a missing bound; empty if every round has one."""
        return NO_BOUND_LEGEND if any(r.bound >= 1 for r in self.rounds) else ""

    @property
    def fixed_votes(self) -> str:
        """How a vote is set if the formula gives none; empty if it gives all."""
        if self.n_classes == 1:
            return ""
        if any(r.error == 0 for r in self.rounds):
            return "For ε = 0 the formula is undefined: α is 1 more than the sum of all previous votes."
        if any(_no_better_than_chance(r.error, self.n_classes) for r in self.rounds):
            return "The only learner is no better than chance, so the formula gives no vote above 0: α is set to 1."
        return ""


def build_rounds(ensemble: Ensemble) -> Rounds:
    """Return the rounds of an ensemble: errors from its history, votes and learners from the ensemble itself.

    An ensemble of another method has none; a history without the errors of the rounds raises.
    """
    if ensemble.method != "adaboost":
        return Rounds((), ensemble.target.name, len(ensemble.classes), is_boosted=False)
    info = ensemble.fit_info.ensemble
    options = {} if info is None else info.options
    errors, training_errors = (_read_errors(options.get(name), len(ensemble)) for name in ("errors", "training_errors"))
    rate, stopped = options.get("learning_rate", 1.0), options.get("stopped", "")
    if errors is None or training_errors is None or not isinstance(rate, int | float) or not isinstance(stopped, str):
        raise ParameterError("the history of this ensemble does not record the errors of its rounds.")
    rounds, bound = [], 1.0
    for t, (error, vote) in enumerate(zip(errors, ensemble.votes.tolist(), strict=True)):
        z = _normaliser(error, vote, len(ensemble.classes))
        bound *= z
        rounds.append(Round(t + 1, describe_learner(ensemble[t]), error, vote, z, training_errors[t], bound))
    is_complete = len(options["errors"]) == len(ensemble)
    return Rounds(
        tuple(rounds),
        ensemble.target.name,
        len(ensemble.classes),
        float(rate),
        stopped if is_complete else "",
        has_weights=ensemble.fit_info.has_weights,
    )


def _read_errors(errors: Any, n: int) -> list[float] | None:
    """Return the first n errors from a history, which may come from any file; None if they are not valid."""
    if not isinstance(errors, list) or len(errors) < n:
        return None
    is_valid = all(isinstance(x, int | float) and 0 <= x <= 1 for x in errors[:n])
    return [float(x) for x in errors[:n]] if is_valid else None


def _normaliser(error: float, vote: float, n_classes: int) -> float:
    """Return z of a round; 0 without errors, 1 if the learner is no better than chance."""
    if error == 0 or _no_better_than_chance(error, n_classes):
        return 0.0 if error == 0 else 1.0
    return (1 - error) * math.exp(-vote) + error * math.exp(vote)


def _no_better_than_chance(error: float, n_classes: int) -> bool:
    """Return whether a learner errs at least as often as random guessing.

    Both sides are quotients, rounded once: in doubles 1 − 1/3 is slightly more than 2/3.

    >>> _no_better_than_chance(2 / 3, 3), _no_better_than_chance(0.66, 3)
    (True, False)
    """
    k = max(2, n_classes)
    return error >= (k - 1) / k


def format_bound(bound: float) -> str:
    """Format a bound in percent; 100 % or more is not a bound.

    >>> format_bound(0.5), format_bound(1.5), format_bound(0.0)
    ('50.0', '–', '0.0')
    """
    return _NO_BOUND if bound >= 1 else f"{100 * bound:.1f}"


def describe_learner(tree: Tree) -> str:
    """Describe a learner on one line: a stump by its branches, a larger tree by its first column and its size.

    >>> import treewise as tw
    >>> describe_learner(tw.grow("admissions", max_depth=1)), describe_learner(tw.grow("admissions", preset="id3"))
    ('GPA = 3.5 → N, otherwise → P', 'GPA first, 6 leaves')
    """
    branches, split = tree.children(0), tree.split_at(0)
    if split is None:
        return f"always {safe(tree.prediction(0))}"
    if tree.depth > 1 or len(branches) > _MAX_BRANCHES:
        return f"{safe(split.column)} first, {plural(tree.n_leaves, 'leaf', 'leaves')}"
    if len(labels := {safe(tree.prediction(node)) for node in branches}) == 1:
        test = shorten_for_cell(tree.condition(branches[0]), split) if len(branches) == 2 else safe(split.column)
        return f"always {labels.pop()} ({test} only changes the probability)"
    parts = [f"{shorten_for_cell(tree.condition(node), split)} → {safe(tree.prediction(node))}" for node in branches]
    if len(branches) == 2:
        parts[1] = f"otherwise → {safe(tree.prediction(branches[1]))}"
    return ", ".join(parts)


# -- worked round -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class WorkedRound(Displayable):
    """One round, row by row: predictions, and the weights D_b and D_{b+1} with their arithmetic.

    >>> import treewise as tw
    >>> boosted = tw.adaboost("admissions", n_estimators=3)
    >>> second = boosted.worked_round("admissions", 2)
    >>> second.error, second.weights[:3].tolist(), second.next_weights[:3].round(4).tolist()
    (0.15, [0.05, 0.05, 0.05], [0.0294, 0.0294, 0.0294])
    """

    number: int  # b, from 1
    learner: str
    target: str
    classes: tuple[Label, ...]
    rows: npt.NDArray[np.int64]  # row numbers in the table, from 1
    truth: npt.NDArray[np.int64]  # class numbers
    predicted: npt.NDArray[np.int64]
    mistakes: npt.NDArray[np.int64]  # how often each row was misclassified so far, this round included
    before: Distribution
    after: Distribution | None  # None: boosting ended with this round
    update: WeightUpdate
    vote: float
    stopped: str = ""

    @property
    def error(self) -> float:
        """ε_b."""
        return float(self.update.error)

    @property
    def weights(self) -> Floats:
        """D_b, one weight per row."""
        return self.before.shares

    @property
    def unit_weights(self) -> Floats:
        """Weights in proportion to D_b: whole numbers where D_b are fractions of a small denominator, else D_b."""
        if not self.as_fractions:
            return self.weights
        return (self.before.units // self.before.common_factor).astype(np.float64)

    @property
    def next_weights(self) -> Floats | None:
        """D_{b+1}, one weight per row; None if boosting ended with this round."""
        return None if self.after is None else self.after.shares

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which rows the learner misclassifies."""
        return np.not_equal(self.predicted, self.truth)

    # -- tables ---------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Lay out every row."""
        b, after = self.number, self.next_weights
        columns = (
            ColumnSpec("row", "count"),
            ColumnSpec("truth", "label", title=safe(self.target)),
            ColumnSpec("predicted", "label"),
            ColumnSpec("wrong", "flag"),
            ColumnSpec("weight", "number", title=f"D_{b}"),
            ColumnSpec("next_weight", "number", title=f"D_{b + 1}"),
            ColumnSpec("how", only="text", title=f"update to D_{b + 1}"),
        )
        rows = [
            (
                int(self.rows[i]),
                self.classes[self.truth[i]],
                self.classes[self.predicted[i]],
                bool(self.wrong[i]),
                float(self.weights[i]),
                None if after is None else float(after[i]),
                self.describe_update(i),
            )
            for i in range(len(self.rows))
        ]
        title = f"Round {b} of AdaBoost for {safe(self.target)}: {self.learner}"
        return ResultTable(title, columns, rows, above=self.steps, below=self.outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-serialisable values: the result of the round, and every row."""
        z = _normaliser(self.error, self.vote, self.update.n_classes)
        summary = {"round": self.number, "learner": self.learner, "error": self.error, "vote": self.vote, "z": z}
        return {**summary, **super().to_dict()}

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the tables of all rows and of the hardest ones."""
        return (self.result_table(),) if self.after is None else (self.result_table(), self.hardest())

    def hardest(self) -> ResultTable:
        """Lay out the rows with the largest weights after the round."""
        shares = self.next_weights
        assert shares is not None
        order = np.argsort(-shares, kind="stable")[:_HARDEST]
        columns = (
            ColumnSpec("row", "count"),
            ColumnSpec("truth", "label", title=safe(self.target)),
            ColumnSpec("mistakes", "count", title="times wrong"),
            ColumnSpec("weight", "number", title=f"D_{self.number + 1}"),
            ColumnSpec("times_equal", "number", title="times the mean weight"),
        )
        rows = [
            (
                int(self.rows[i]),
                self.classes[self.truth[i]],
                int(self.mistakes[i]),
                float(shares[i]),
                float(shares[i] * len(shares)),
            )
            for i in order
        ]
        return ResultTable(f"The hardest rows after {plural(self.number, 'round')}", columns, rows)

    # -- arithmetic as text ---------------------------------------------------------------------------------------

    @property
    def as_fractions(self) -> bool:
        """Whether all weights are exact fractions with small denominators."""
        return all(
            d.exact and d.total // d.common_factor <= _MAX_DENOMINATOR for d in (self.before, self.after or self.before)
        )

    def _weight_text(self, units: int, total: Distribution) -> str:
        share = Fraction(units, total.total)
        return f"{share}" if self.as_fractions else format_rounded(float(share))

    def weight_text(self, i: int) -> str:
        """Return D_b of a row, as a fraction where that is short."""
        return self._weight_text(int(self.before.units[i]), self.before)

    def next_weight_text(self, i: int) -> str:
        """Return D_{b+1} of a row; "" if boosting ended with this round."""
        return "" if self.after is None else self._weight_text(int(self.after.units[i]), self.after)

    @property
    def effect(self) -> str:
        """The effect of ε on the weights, as a sentence (CS221 section 5); "" if boosting ended."""
        if self.after is None:
            return ""
        right, wrong = self.update.factors
        extent = "hardly changes the weights" if wrong < _SLIGHT * right else "shifts much weight to the mistakes"
        return (
            f"ε = {format_rounded(self.error)} multiplies the weight of a mistake by {format_rounded(wrong)}"
            f" and that of a correct row by {format_rounded(right)}; it {extent}."
        )

    def render(self, format: str = "text", blanks: bool = False) -> str:
        """Return the round as text, Markdown or LaTeX; ``blanks`` leaves the results to be filled in.

        >>> import treewise as tw
        >>> first = tw.adaboost("admissions", n_estimators=2).worked_round("admissions", 1)
        >>> print(first.render(blanks=True).splitlines()[1])
        ε_1 = _____
        """
        from treewise.ensemble.round_documents import render_round

        return render_round(self, format, blanks)

    @property
    def error_text(self) -> str:
        """ε, as a fraction where that is short."""
        return self._weight_text(self.update.wrong, self.before)

    @property
    def accuracy_text(self) -> str:
        """1 − ε, as a fraction where that is short."""
        return self._weight_text(self.update.total - self.update.wrong, self.before)

    @property
    def steps(self) -> tuple[str, ...]:
        """Computation of ε, α and z."""
        b, at = self.number, np.flatnonzero(self.wrong)
        if self.after is None and self.update.is_perfect:
            return (f"ε_{b} = 0: no row is misclassified.",)
        terms = [self._weight_text(int(self.before.units[i]), self.before) for i in at[:_MAX_TERMS]]
        added = f"the sum of D_{b} over {plural(len(at), 'row')}" if len(at) > _MAX_TERMS else " + ".join(terms)
        values = [added, self.error_text, format_rounded(self.error)]
        lines = [f"ε_{b} = {' = '.join(dict.fromkeys(values))}, the weight of the misclassified rows"]
        if self.after is None:
            return tuple(lines)
        rate = "" if self.update.learning_rate == 1.0 else f"{self.update.learning_rate:g} · "
        odds = f"log({_bracketed(self.accuracy_text)}/{_bracketed(self.error_text)})"
        odds = odds if self.update.n_classes == 2 else f"({odds} + log {self.update.n_classes - 1})"
        lines.append(f"α_{b} = {rate}½ {odds} = {format_rounded(self.vote)}, its vote weight")
        if self.update.n_classes == 2 and not rate:
            product = f"{_bracketed(self.error_text)} · {_bracketed(self.accuracy_text)}"
            lines.append(f"z_{b} = 2 √({product}) = {format_rounded(self.update.z)}")
        else:
            lines.append(f"z_{b} = (1 − ε) e^−α + ε e^α = {format_rounded(self.update.z)}")
        lines.append(f"D_{b + 1} = D_{b} · e^−α/z if correct, D_{b} · e^α/z if wrong{self._simplified}")
        return tuple(lines)

    @property
    def _simplified(self) -> str:
        if self.update.learning_rate != 1.0:
            return ""
        k = self.update.n_classes
        wrong = "D/(2 ε)" if k == 2 else f"{k - 1} D/({k} ε)"
        return f", which is D/({k} (1 − ε)) and {wrong}"

    def describe_update(self, i: int) -> str:
        """Write out the weight update of one row."""
        if self.after is None:
            return ""
        old = self._weight_text(int(self.before.units[i]), self.before)
        new = self._weight_text(int(self.after.units[i]), self.after)
        k, wrong = self.update.n_classes, bool(self.wrong[i])
        if self.update.learning_rate != 1.0:
            return f"{old} · {format_rounded(self.update.factors[wrong])} = {new}"
        numerator = old if not wrong or k == 2 else f"{k - 1} · {old}"
        return f"{numerator} / ({k} · {self.error_text if wrong else self.accuracy_text}) = {new}"

    @property
    def outcome(self) -> tuple[str, ...]:
        """Total weight of the misclassified rows after the round: one half, as CS221 shows, for two classes."""
        if self.after is None:
            return (self.stopped,) if self.stopped else ()
        k = self.update.n_classes
        if self.update.learning_rate != 1.0:
            share = self.after.units[self.wrong].sum() / self.after.total
            return (f"The misclassified rows now have {format_rounded(float(share))} of the total weight.",)
        reason = "as much as the others" if k == 2 else "so this learner would do no better than chance"
        return (f"The misclassified rows now have {k - 1}/{k} of the total weight, {reason}.",)


def _bracketed(text: str) -> str:
    """Put a fraction in parentheses.

    >>> _bracketed("3/20"), _bracketed("0.15")
    ('(3/20)', '0.15')
    """
    return f"({text})" if "/" in text else text


def worked_round(
    ensemble: Ensemble, data: Any, number: int, target: Any = None, sample_weight: Any = None
) -> WorkedRound:
    """Repeat the rounds up to this one and write it out (``Ensemble.worked_round``)."""
    if ensemble.method != "adaboost":
        raise ParameterError(f"this ensemble ({ensemble.method}) was not boosted, so it has no rounds.")
    b = as_integer(number)
    if b is None or not 1 <= b <= len(ensemble):
        raise ParameterError(f"must be the number of a round, 1 to {len(ensemble)}.", parameter="number", value=number)
    training_set = prepare_same_table(ensemble, data, sample_weight, target, call="worked_round")
    run = BoostingRun(training_set, recorded_params(ensemble, AdaBoostParams, "worked_round"), 1)
    mistakes = np.zeros(len(training_set), np.int64)
    for t, predicted in enumerate(member_predictions(ensemble, training_set)):
        before, update = run.weights, run.weight_update(predicted)
        run.record(predicted, update)
        mistakes += predicted != training_set.y
        if t + 1 == b:
            break
    return WorkedRound(
        number=b,
        learner=describe_learner(ensemble[b - 1]),
        target=training_set.target.name,
        classes=training_set.target.classes,
        rows=np.asarray(training_set.rows) + 1,
        truth=training_set.y.astype(np.int64),
        predicted=predicted.astype(np.int64),
        mistakes=mistakes,
        before=before,
        after=None if run.stopped else run.weights,
        update=update,
        vote=run.kept.votes[-1],
        stopped=run.stopped,
    )
