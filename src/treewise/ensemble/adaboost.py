"""AdaBoost: trees grown one after another, each on the rows weighed by the mistakes of the one before.

Stands on ``train/grow.py`` and ``adaboost_update.py``, which has the arithmetic of a round (CS221 section 5,
part 2); the
rounds are shown by ``rounds.py`` and ``worked_round.py``. The learner is any tree that ``grow`` can grow, by default a
stump:

    D_1 = equal weights, or those given
    in each round b:   h_b = a tree grown with the weights D_b, or on rows drawn by them
                       ε_b = the weight of its mistakes;  α_b its vote;  D_{b+1} the weights of the next round

and a row is given the class with the most votes. It ends early in two ways. A learner without a mistake leaves nothing
to weigh anew: it is kept, with a vote of 1 more than all before it together, so that it decides alone, as with its
infinite α. A learner that is no better than chance (ε ≥ 1 − 1/K) is not kept, and another one would be the same; but
where it is the first, it is the whole ensemble: what one tree can say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise import _core
from treewise._lib.text import format_percent, plural
from treewise._version import __version__
from treewise.ensemble.adaboost_update import Classes, Distribution, WeightUpdate
from treewise.ensemble.grow import kept_of, problem_of_many, too_good
from treewise.ensemble.model import ENDED, Ensemble
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.params import AdaBoostParams, recipe_of
from treewise.ensemble.weak_learners import Learner, decreases, learner, said_by
from treewise.errors import Param, ParameterError, brief
from treewise.train.grow import OnPrepared, Progress, resolve_n_jobs
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Arrays
from treewise.tree.history import Step

_DRAWS = 10  # samples tried where the learner of one is no better than chance


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
    """Boost trees on a table by AdaBoost: the notes' for two classes, SAMME for more.

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
    n_estimators : how many trees at most; a learner without mistakes, or none better than chance, ends it sooner, and
        ``notes`` says so. The first k of them are what ``n_estimators=k`` gives.
    max_depth : of each tree; 1 is a stump, None is no limit.
    learning_rate : multiplies every vote: smaller steps, more trees. Above 0, at most 10.
    resample : grow each tree on as many rows as there are, drawn with replacement by the weights of the round, instead
        of weighing the rows.
    random_state : the seed of those draws, and of random ties. Round b draws by a seed of its own, made of this and b.
    n_jobs : how many threads: None or -1 for one a processor. The ensemble is the same.
    progress : is called after every round with the share of rounds that are done.
    on_prepared : is called with the prepared training set before the trees are grown.
    **options : those of ``grow``: criterion, categorical, kinds, missing, limits … but for pruning and cost.
        ``sample_weight``, ``class_weight`` and ``priors`` set the weights of the first round.
    """
    recipe = AdaBoostParams("adaboost", n_estimators, learning_rate, resample)
    options = {**options, "max_depth": max_depth, "random_state": random_state}
    training_set = problem_of_many(data, target, options, adaboost)
    if on_prepared is not None:
        on_prepared(training_set)
    return boost(training_set, recipe, progress, n_jobs)


def boost(
    training_set: TrainingSet, recipe: AdaBoostParams, progress: Progress | None = None, n_jobs: int | None = None
) -> Ensemble:
    """Boost trees on a prepared training set."""
    if training_set.target.task == "regression":
        raise ParameterError(
            f"AdaBoost predicts classes, and {brief(training_set.target.name)} is numbers.",
            hint="Give classes, or grow a forest for numbers; "
            + Param("task", "classification")
            + " takes each different number for a class.",
        )
    run = BoostingRun(training_set, recipe, resolve_n_jobs(n_jobs))
    for done in run.rounds():
        if progress:
            progress(done)
    return run.ensemble()


@dataclass
class _KeptRounds:
    """What the rounds so far have made; one entry a round."""

    trees: list[Arrays]
    votes: list[float]
    errors: list[float]
    training_errors: list[float]


class BoostingRun:
    """The rounds of one boosting: the weights as they stand, and what was kept."""

    def __init__(self, training_set: TrainingSet, recipe: AdaBoostParams, n_jobs: int) -> None:
        self.training_set, self.recipe, self.n_jobs = training_set, recipe, n_jobs
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
        """Go on until there are enough trees, or no more are to be had; yields the share of rounds that are done."""
        asked, begun = self.recipe.n_estimators, self.number
        learn = learner(self.training_set, self.recipe.resample, self.n_jobs)
        while self.number < asked and not self.stopped:
            self.round(learn)
            yield (self.number - begun) / (asked - begun)

    def round(self, learn: Learner) -> None:
        """Grow one learner and take its mistakes into account."""
        for attempt in range(_DRAWS if self.recipe.resample else 1):
            tree, said = learn(self.weights, self.number, attempt)
            found = self.reckon(said)
            if not found.no_better_than_chance or found.perfect:
                break
        if self.number and found.no_better_than_chance and not found.perfect:
            self.stopped = self.no_hope(found)
            return
        self.kept.trees.append(tree)
        self.count(said, found)

    def reckon(self, said: Classes) -> WeightUpdate:
        """Weigh what was said of the rows."""
        return self.weights.reckon(self.truth, said, self.n_classes, self.recipe.learning_rate, self.n_jobs)

    def count(self, said: Classes, found: WeightUpdate) -> None:
        """Let a learner vote, and weigh the rows for the next one."""
        truth, kept = self.truth, self.kept
        if found.perfect:
            vote = 1.0 + sum(kept.votes)
            which = f"The learner of round {self.number + 1}"
            self.stopped = f"{which} makes no mistake: nothing is left to weigh anew, and it decides alone."
        elif found.no_better_than_chance:
            vote, self.stopped = 1.0, self.no_hope(found)
        else:
            vote = found.vote
        wrong = _core.add_vote(truth, said, self.first.units, vote, self.scores, self.n_jobs)
        kept.votes.append(vote)
        kept.errors.append(float(found.error))
        kept.training_errors.append(wrong / self.first.total)
        if not self.stopped:
            self.weights = self.weights.next(truth, said, found, self.n_jobs)

    def no_hope(self, found: WeightUpdate) -> str:
        """Say why a learner ends it."""
        chance = format_percent(1 - 1 / self.n_classes)
        depth = self.training_set.settings.max_depth
        deeper = "" if depth is None else f" Trees deeper than {depth} may."
        if self.number == 0:
            return (
                f"The first tree gets {format_percent(float(found.error))} % wrong, "
                f"no better than chance ({chance} %): it is"
                f" all there is, for boosting needs learners that do better.{deeper}"
            )
        return f"After {plural(self.number, 'tree')} none does better than chance ({chance} % wrong) any more.{deeper}"

    # -- going on, and the end ------------------------------------------------------------------------------------

    def replay(self, ensemble: Ensemble) -> None:
        """Go through the rounds of an ensemble again, without growing its trees."""
        for said in said_by(ensemble, self.training_set):
            self.count(said, self.reckon(said))

    def ensemble(self, begun: Ensemble | None = None) -> Ensemble:
        """Return what was grown, after the trees of the ensemble that it was begun with."""
        training_set, kept = self.training_set, self.kept
        members = PackedTrees.of(kept.trees) if kept.trees else None
        taken = np.array([decreases(tree, len(training_set.columns)) for tree in kept.trees])
        if begun is not None:
            taken = np.concatenate([begun.decreases, taken.reshape(len(kept.trees), len(training_set.columns))])
            members = begun.members.joined(members) if members else begun.members
        criterion = training_set.settings.criterion
        assert criterion is not None
        assert members is not None
        ended = f"{ENDED} after {plural(self.number, 'tree')} of {self.recipe.n_estimators:,}: {self.stopped}"
        return Ensemble(
            "adaboost",
            training_set.encodings,
            training_set.target,
            members,
            np.array(kept.votes),
            taken,
            criterion,
            training_set.settings.empty_branch,
            history=(self.step(),),
            notes=(
                *training_set.notes,
                *too_good(training_set, members, self.n_jobs),
                *([ended] if self.stopped else []),
            ),
        )

    def step(self) -> Step:
        """Return what the history keeps: how it was grown, and how the rounds went."""
        went = {"errors": self.kept.errors, "training_errors": self.kept.training_errors, "stopped": self.stopped}
        asked = {**self.recipe.given(), **kept_of(self.training_set), **went}
        settings, rows = self.training_set.settings.given(), len(self.training_set)
        made = {"did": "grow", "ensemble": asked, "treewise": __version__, "rows": rows, "settings": settings}
        return Step({**self.training_set.fit_options.to_step(), **made})


def more_rounds(
    ensemble: Ensemble, training_set: TrainingSet, n: int, n_jobs: int | None = None, progress: Progress | None = None
) -> Ensemble:
    """Return the ensemble with up to n further trees, on its own training set: what asking for all at once gives."""
    recipe = replace(recipe_of(ensemble, AdaBoostParams, "extend"), n_estimators=len(ensemble) + n)
    run = BoostingRun(training_set, recipe, resolve_n_jobs(n_jobs))
    run.replay(ensemble)
    for done in run.rounds():
        if progress:
            progress(done)
    return run.ensemble(ensemble)
