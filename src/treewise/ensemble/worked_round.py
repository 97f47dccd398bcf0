"""One round of AdaBoost as a worked exercise: every row's weight before and after, with the arithmetic written out.

Stands on ``boosting.py``, whose rounds it goes through again on the table they were grown on. Where the weights are in
exact proportion (``reweighing.py``) and their denominators are small, they are written as fractions, as on paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, plural, safe
from treewise.ensemble.adaboost import BoostingRun
from treewise.ensemble.adaboost_update import Distribution, WeightUpdate
from treewise.ensemble.grow import same_problem
from treewise.ensemble.model import Ensemble
from treewise.ensemble.params import AdaBoostParams, recipe_of
from treewise.ensemble.rounds import in_words, z_of
from treewise.ensemble.weak_learners import said_by
from treewise.errors import ParameterError
from treewise.tree.arrays import Label

Floats = npt.NDArray[np.float64]

_LARGEST = 9999  # common denominator that is written
_MOST_TERMS = 8  # of a sum that is written out
_HARDEST = 10


@dataclass(frozen=True, eq=False, repr=False)
class WorkedRound(Displayable):
    """A round, row by row: what was said, and the weights D_b and D_{b+1}.

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
    rows: npt.NDArray[np.int64]  # numbers in the table, from 1
    truth: npt.NDArray[np.int64]  # numbers of classes
    said: npt.NDArray[np.int64]
    mistakes: npt.NDArray[np.int64]  # how often each row was wrong so far, this round included
    before: Distribution
    after: Distribution | None  # None: the last round, for there is nothing to weigh anew
    reckoning: WeightUpdate
    vote: float
    stopped: str = ""

    @property
    def error(self) -> float:
        """ε_b."""
        return float(self.reckoning.error)

    @property
    def weights(self) -> Floats:
        """D_b, one a row."""
        return self.before.shares

    @property
    def next_weights(self) -> Floats | None:
        """D_{b+1}, one a row; None where there is no further round."""
        return None if self.after is None else self.after.shares

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which rows the learner gets wrong."""
        return np.not_equal(self.said, self.truth)

    # -- shown ----------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Lay out every row."""
        b, after = self.number, self.next_weights
        headings = (
            ColumnSpec("row", "count"),
            ColumnSpec("truth", "label", title=safe(self.target)),
            ColumnSpec("said", "label"),
            ColumnSpec("wrong", "flag"),
            ColumnSpec("weight", "number", title=f"D_{b}"),
            ColumnSpec("next_weight", "number", title=f"D_{b + 1}"),
            ColumnSpec("how", only="text", title=f"how D_{b + 1} comes about"),
        )
        rows = [
            (
                int(self.rows[i]),
                self.classes[self.truth[i]],
                self.classes[self.said[i]],
                bool(self.wrong[i]),
                float(self.weights[i]),
                None if after is None else float(after[i]),
                self.how(i),
            )
            for i in range(len(self.rows))
        ]
        title = f"Round {b} of AdaBoost for {safe(self.target)}: {self.learner}"
        return ResultTable(title, headings, rows, above=self.steps, below=self.outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold: what the round comes to, and every row."""
        z = z_of(self.error, self.vote, self.reckoning.n_classes)
        found = {"round": self.number, "learner": self.learner, "error": self.error, "vote": self.vote, "z": z}
        return {**found, **super().to_dict()}

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return every row, and the hardest ones."""
        return (self.result_table(),) if self.after is None else (self.result_table(), self.hardest())

    def hardest(self) -> ResultTable:
        """Lay out the rows of largest weight after the round."""
        shares = self.next_weights
        assert shares is not None
        order = np.argsort(-shares, kind="stable")[:_HARDEST]
        headings = (
            ColumnSpec("row", "count"),
            ColumnSpec("truth", "label", title=safe(self.target)),
            ColumnSpec("mistakes", "count", title="times wrong"),
            ColumnSpec("weight", "number", title=f"D_{self.number + 1}"),
            ColumnSpec("times_equal", "number", title="times an equal share"),
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
        return ResultTable(f"The hardest rows after {plural(self.number, 'round')}", headings, rows)

    # -- the arithmetic, in words ---------------------------------------------------------------------------------

    @property
    def as_fractions(self) -> bool:
        """Whether all weights are exact, and short when written as fractions."""
        return all(d.exact and d.total // d.common <= _LARGEST for d in (self.before, self.after or self.before))

    def said_share(self, units: int, whole: Distribution) -> str:
        """Write a weight."""
        share = Fraction(units, whole.total)
        return f"{share}" if self.as_fractions else format_rounded(float(share))

    @property
    def epsilon(self) -> str:
        """ε as it is written in formulas."""
        return self.said_share(self.reckoning.wrong, self.before)

    @property
    def right_share(self) -> str:
        """1 − ε as it is written in formulas."""
        return self.said_share(self.reckoning.total - self.reckoning.wrong, self.before)

    @property
    def steps(self) -> tuple[str, ...]:
        """How ε, α and z come about."""
        b, at = self.number, np.flatnonzero(self.wrong)
        if self.after is None and self.reckoning.perfect:
            return (f"ε_{b} = 0: no row is said wrongly.",)
        terms = [self.said_share(int(self.before.units[i]), self.before) for i in at[:_MOST_TERMS]]
        added = f"the sum of D_{b} over {plural(len(at), 'row')}" if len(at) > _MOST_TERMS else " + ".join(terms)
        values = [added, self.epsilon, format_rounded(self.error)]
        found = [f"ε_{b} = {' = '.join(dict.fromkeys(values))}, the weight of the rows it gets wrong"]
        if self.after is None:
            return tuple(found)
        rate = "" if self.reckoning.learning_rate == 1.0 else f"{self.reckoning.learning_rate:g} · "
        odds = f"log({_bracketed(self.right_share)}/{_bracketed(self.epsilon)})"
        odds = odds if self.reckoning.n_classes == 2 else f"({odds} + log {self.reckoning.n_classes - 1})"
        found.append(f"α_{b} = {rate}½ {odds} = {format_rounded(self.vote)}, its vote")
        if self.reckoning.n_classes == 2 and not rate:
            under = f"{_bracketed(self.epsilon)} · {_bracketed(self.right_share)}"
            found.append(f"z_{b} = 2 √({under}) = {format_rounded(self.reckoning.z)}")
        else:
            found.append(f"z_{b} = (1 − ε) e^−α + ε e^α = {format_rounded(self.reckoning.z)}")
        found.append(f"D_{b + 1} = D_{b} · e^−α/z where it is right, D_{b} · e^α/z where it is wrong{self.simplified}")
        return tuple(found)

    @property
    def simplified(self) -> str:
        """What the update comes to where the learning rate is 1."""
        if self.reckoning.learning_rate != 1.0:
            return ""
        k = self.reckoning.n_classes
        wrong = "D/(2 ε)" if k == 2 else f"{k - 1} D/({k} ε)"
        return f", which is D/({k} (1 − ε)) and {wrong}"

    def how(self, i: int) -> str:
        """Write out the update of one row."""
        if self.after is None:
            return ""
        old = self.said_share(int(self.before.units[i]), self.before)
        new = self.said_share(int(self.after.units[i]), self.after)
        k, wrong = self.reckoning.n_classes, bool(self.wrong[i])
        if self.reckoning.learning_rate != 1.0:
            return f"{old} · {format_rounded(self.reckoning.factors[wrong])} = {new}"
        over = old if not wrong or k == 2 else f"{k - 1} · {old}"
        return f"{over} / ({k} · {self.epsilon if wrong else self.right_share}) = {new}"

    @property
    def outcome(self) -> tuple[str, ...]:
        """What the notes show: the mistakes now weigh one half."""
        if self.after is None:
            return (self.stopped,) if self.stopped else ()
        k = self.reckoning.n_classes
        if self.reckoning.learning_rate != 1.0:
            share = self.after.units[self.wrong].sum() / self.after.total
            return (f"The rows it gets wrong now weigh {format_rounded(float(share))} of 1.",)
        why = "as much as the others" if k == 2 else "so that it would do no better than chance"
        return (f"The rows it gets wrong now weigh {k - 1}/{k} of all, {why}: the next one has to look elsewhere.",)


def _bracketed(said: str) -> str:
    """Put a fraction in brackets.

    >>> _bracketed("3/20"), _bracketed("0.15")
    ('(3/20)', '0.15')
    """
    return f"({said})" if "/" in said else said


def worked_round(
    ensemble: Ensemble, data: Any, number: int, target: Any = None, sample_weight: Any = None
) -> WorkedRound:
    """Go through the rounds again up to this one, and write it out (``Ensemble.worked_round``)."""
    if ensemble.method != "adaboost":
        raise ParameterError(f"this ensemble ({ensemble.method}) was not boosted, so it has no rounds.")
    b = as_integer(number)
    if b is None or not 1 <= b <= len(ensemble):
        raise ParameterError(f"must be the number of a round, 1 to {len(ensemble)}.", parameter="number", value=number)
    training_set = same_problem(ensemble, data, sample_weight, target, call="worked_round")
    run = BoostingRun(training_set, recipe_of(ensemble, AdaBoostParams, "worked_round"), 1)
    mistakes = np.zeros(len(training_set), np.int64)
    for t, said in enumerate(said_by(ensemble, training_set)):
        before, found = run.weights, run.reckon(said)
        run.count(said, found)
        mistakes += said != training_set.y
        if t + 1 == b:
            break
    return WorkedRound(
        number=b,
        learner=in_words(ensemble[b - 1]),
        target=training_set.target.name,
        classes=training_set.target.classes,
        rows=np.asarray(training_set.rows) + 1,
        truth=training_set.y.astype(np.int64),
        said=said.astype(np.int64),
        mistakes=mistakes,
        before=before,
        after=None if run.stopped else run.weights,
        reckoning=found,
        vote=run.kept.votes[-1],
        stopped=run.stopped,
    )
