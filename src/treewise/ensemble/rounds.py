"""The rounds of boosting as a table: what each learner says, how wrong it is, what its vote is.

Stands beside ``model.py``, whose history keeps how the rounds went; ``boosting.py`` writes it. ``worked.py`` writes one
of them out row by row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, overload

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import plural, safe
from treewise.errors import ParameterError
from treewise.tree.splits import in_a_cell
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.ensemble.model import Ensemble

MOST_ROUNDS, LAST_ROUNDS = 20, 5  # that are printed, and how many of these are the last ones
_MOST_BRANCHES = 4  # of a learner that are said in a line
_NO_BOUND = "–"
UNBOUNDED = f"{_NO_BOUND}: a product of 1 or more bounds nothing."


@dataclass(frozen=True)
class Round:
    """One round: a learner grown on the weights D_b, and what follows from its mistakes.

    >>> import treewise as tw
    >>> first = tw.adaboost("admissions", n_estimators=3).rounds[0]
    >>> first.learner, first.error, round(first.vote, 4), round(first.z, 4), first.training_error
    ('GPA = 3.5 → N, otherwise → P', 0.16666666666666666, 0.8047, 0.7454, 0.16666666666666666)
    """

    number: int  # from 1
    learner: str  # in words
    error: float  # ε_b: its mistakes, weighed by D_b
    vote: float  # α_b
    z: float  # what the new weights are divided by
    training_error: float  # of all learners so far together, weighed by D_1
    bound: float  # the product of all z so far, which that cannot exceed


@dataclass(frozen=True, repr=False)
class Rounds(Displayable, Sequence[Round]):
    """The rounds in order: a sequence of ``Round``, and a table where it is shown.

    >>> import treewise as tw
    >>> print(tw.adaboost("admissions", n_estimators=3).rounds)
    AdaBoost for Class: 3 rounds
    round  learner                             error ε   vote α        z  training error %  at most %
        1  GPA = 3.5 → N, otherwise → P        0.16667  0.80472  0.74536              16.7       74.5
        2  GPA = 4.0 → P, otherwise → N           0.15   0.8673  0.71414              25.0       53.2
        3  Published = yes → P, otherwise → N  0.28431  0.46158  0.90217               8.3       48.0
    ε: what the learner gets wrong, weighed by the round's weights; α = ½ log((1 − ε)/ε); z = 2 √(ε(1 −
    ε)). The training error is that of all learners so far, voting; it is at most the product of their
    z.
    """

    rounds: tuple[Round, ...]
    target: str
    n_classes: int
    learning_rate: float = 1.0
    stopped: str = ""  # why there are no more
    weighed: bool = False  # whether the rows of the first round do not weigh the same
    boosted: bool = True  # else there were no rounds

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
        """Lay the rounds out, one a line."""
        headings = (
            ColumnSpec("round", "count"),
            ColumnSpec("learner", break_at=", "),
            ColumnSpec("error", "number", title="error ε"),
            ColumnSpec("vote", "number", title="vote α"),
            ColumnSpec("z", "number"),
            ColumnSpec("training_error", "share", title="training error %"),
            ColumnSpec("bound", "share", title="at most %", formatter=at_most),
        )
        rows = [(r.number, r.learner, r.error, r.vote, r.z, r.training_error, r.bound) for r in self.rounds]
        if not self.boosted:
            return ResultTable(
                f"{safe(self.target)}: these trees were not boosted, so there are no rounds", headings, rows
            )
        title = f"AdaBoost for {safe(self.target)}: {plural(len(self), 'round')}"
        below = tuple(said for said in (self.legend, self.unbounded, self.set_votes, self.stopped) if said)
        return ResultTable(
            title, headings, rows, below=below, row_name="round", max_rows=MOST_ROUNDS, last_rows=LAST_ROUNDS
        )

    @property
    def legend(self) -> str:
        """What the columns are, as formulas."""
        if self.n_classes == 1:
            return "There is one class only, so the learner gets nothing wrong: ε = 0, and its vote α is set to 1."
        rate = "" if self.learning_rate == 1.0 else f"{self.learning_rate:g} · "
        if self.n_classes == 2:
            vote = f"{rate}½ log((1 − ε)/ε)"
        else:
            vote = f"{rate}½ (log((1 − ε)/ε) + log {self.n_classes - 1})"
        z = "2 √(ε(1 − ε))" if self.n_classes == 2 and not rate else "(1 − ε) e^−α + ε e^α"
        rows = ", the rows weighed as in round 1" if self.weighed else ""
        return (
            f"ε: what the learner gets wrong, weighed by the round's weights; α = {vote}; z = {z}. The training error"
            f" is that of all learners so far, voting{rows}; it is at most the product of their z."
        )

    @property
    def unbounded(self) -> str:
        """What no bound means; empty where every round has one."""
        return UNBOUNDED if any(r.bound >= 1 for r in self.rounds) else ""

    @property
    def set_votes(self) -> str:
        """How a vote is set where the formula gives none; empty where it gives every one."""
        if self.n_classes == 1:
            return ""
        if any(r.error == 0 for r in self.rounds):
            return "Where ε = 0 the formula gives no number: α is 1 more than all votes before it together."
        if any(_no_better_than_chance(r.error, self.n_classes) for r in self.rounds):
            return "Where the only learner is no better than chance, the formula gives no vote above 0: α is set to 1."
        return ""


def rounds_of(ensemble: Ensemble) -> Rounds:
    """Return the rounds of a boosted ensemble: errors from its history, votes and learners from itself.

    An ensemble that was not boosted has none; one whose history does not say how the rounds went is refused.
    """
    if ensemble.method != "adaboost":
        return Rounds((), ensemble.target.name, len(ensemble.classes), boosted=False)
    info = ensemble.fit_info.ensemble
    made = {} if info is None else info.options
    errors, together = (_figures(made.get(name), len(ensemble)) for name in ("errors", "training_errors"))
    rate, stopped = made.get("learning_rate", 1.0), made.get("stopped", "")
    if errors is None or together is None or not isinstance(rate, int | float) or not isinstance(stopped, str):
        raise ParameterError("the history of this ensemble does not say how its rounds went.")
    found, bound = [], 1.0
    for t, (error, vote) in enumerate(zip(errors, ensemble.votes.tolist(), strict=True)):
        z = z_of(error, vote, len(ensemble.classes))
        bound *= z
        found.append(Round(t + 1, in_words(ensemble[t]), error, vote, z, together[t], bound))
    about = (ensemble.target.name, len(ensemble.classes), float(rate))
    ended = len(made["errors"]) == len(ensemble)
    return Rounds(tuple(found), *about, stopped if ended else "", weighed=has_weights(ensemble))


def has_weights(ensemble: Ensemble) -> bool:
    """Tell whether the rows an ensemble was grown on did not weigh the same, by its history."""
    return ensemble.fit_info.has_weights


def _figures(listed: Any, many: int) -> list[float] | None:
    """Return the first so many shares of a list from a history, which may come from any file; None: it is no such."""
    if not isinstance(listed, list) or len(listed) < many:
        return None
    fine = all(isinstance(x, int | float) and 0 <= x <= 1 for x in listed[:many])
    return [float(x) for x in listed[:many]] if fine else None


def z_of(error: float, vote: float, n_classes: int) -> float:
    """Return what a round's new weights are divided by; 0 without mistakes, 1 where the learner is a mere guess."""
    if error == 0 or _no_better_than_chance(error, n_classes):
        return 0.0 if error == 0 else 1.0
    return (1 - error) * math.exp(-vote) + error * math.exp(vote)


def _no_better_than_chance(error: float, n_classes: int) -> bool:
    """Tell whether a learner is as often wrong as a mere guess, or more.

    Both sides are quotients, rounded once: 1 − 1/3 would be a little more than 2/3.

    >>> _no_better_than_chance(2 / 3, 3), _no_better_than_chance(0.66, 3)
    (True, False)
    """
    k = max(2, n_classes)
    return error >= (k - 1) / k


def at_most(bound: float) -> str:
    """Write a bound in percent; all or more than all says nothing.

    >>> at_most(0.5), at_most(1.5), at_most(0.0)
    ('50.0', '–', '0.0')
    """
    return _NO_BOUND if bound >= 1 else f"{100 * bound:.1f}"


def in_words(tree: Tree) -> str:
    """Say a learner in a line: its branches where it is a stump, else its first test and its size.

    >>> import treewise as tw
    >>> in_words(tw.grow("admissions", max_depth=1)), in_words(tw.grow("admissions", preset="id3"))
    ('GPA = 3.5 → N, otherwise → P', 'GPA first, 6 leaves')
    """
    branches, split = tree.children(0), tree.split_at(0)
    if split is None:
        return f"always {safe(tree.prediction(0))}"
    if tree.depth > 1 or len(branches) > _MOST_BRANCHES:
        return f"{safe(split.column)} first, {plural(tree.n_leaves, 'leaf', 'leaves')}"
    if len(answers := {safe(tree.prediction(node)) for node in branches}) == 1:
        test = in_a_cell(tree.condition(branches[0]), split) if len(branches) == 2 else safe(split.column)
        return f"always {answers.pop()} ({test} only tells how surely)"
    said = [f"{in_a_cell(tree.condition(node), split)} → {safe(tree.prediction(node))}" for node in branches]
    if len(branches) == 2:
        said[1] = f"otherwise → {safe(tree.prediction(branches[1]))}"
    return ", ".join(said)
