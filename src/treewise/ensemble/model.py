"""The ensemble: an immutable value of many trees that predict together.

The counterpart of ``tree/tree.py``; what the two share is in ``tree/model.py``. The nodes of all
trees are packed (``packed_trees.py``), and a member is unpacked into an ordinary ``Tree`` on access. The methods
delegate to other modules, which are imported when used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack, overload

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer
from treewise._lib.text import plural
from treewise.data.encoding import Encoding
from treewise.ensemble.packed_trees import PackedTrees
from treewise.errors import ParameterError, brief
from treewise.tree.arrays import LEAF, Label, Target
from treewise.tree.display import Display
from treewise.tree.history import HistoryStep
from treewise.tree.model import Model
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions
    from treewise.ensemble.oob import OobPredictions
    from treewise.ensemble.predict import EnsembleAnswers, ForestPredictor
    from treewise.ensemble.rounds import Rounds, WorkedRound
    from treewise.explain.ensemble.agreement import Agreement
    from treewise.explain.ensemble.explanation import EnsembleExplanation
    from treewise.explain.ensemble.stages import Stages
    from treewise.explain.trace import Trace
    from treewise.predict.predict import EncodedRows
    from treewise.show.summary import EnsembleSummary

Method = Literal["forest", "extra_trees", "bagging", "adaboost", "gradient_boosting"]
Progress = Callable[[float], None]

METHOD_NAMES = {
    "forest": "forest",
    "extra_trees": "extra-trees",
    "bagging": "bagging",
    "adaboost": "AdaBoost",
    "gradient_boosting": "gradient boosting",  # imported models only
}
ENDED = "boosting ended"  # beginning of the note that says why there are fewer trees than requested


@dataclass(frozen=True)
class OutOfBag:
    """Out-of-bag estimate: each row is predicted only by the trees that were not grown on it.

    >>> print(OutOfBag(0.9375, 340, 344))
    out-of-bag score 0.9375 on 340 of 344 rows
    """

    score: float  # accuracy by row weights alone, without class weights; R² for regression
    rows: int  # rows that are out of bag for some tree
    of: int  # all rows

    def __str__(self) -> str:
        return f"out-of-bag score {self.score:.4g} on {self.rows:,} of {plural(self.of, 'row')}"


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(Model):
    """Many trees that predict together.

    Forests, extra-trees and bagging average the predictions of their trees; AdaBoost predicts the class with the
    largest total vote weight (``votes``). The trees of gradient boosting, imported from other libraries, add up.

    >>> import treewise as tw
    >>> trees = tw.forest("penguins", n_estimators=5)
    >>> trees
    <Ensemble forest of 5 trees · species: Adelie, Chinstrap, Gentoo · 61 leaves>
    >>> trees.task, trees.classes, trees.columns[:2], trees.na_values
    ('classification', ('Adelie', 'Chinstrap', 'Gentoo'), ('island', 'bill_length_mm'), ())
    >>> len(trees), trees[0], trees.check_number(-1)                           # a member is an ordinary tree
    (5, <Tree species: Adelie, Chinstrap, Gentoo · 228 rows · 12 leaves · depth 7>, 4)
    >>> [tree.n_leaves for tree in trees.trees[:2]]
    [12, 12]
    >>> row = {"flipper_length_mm": 190, "bill_length_mm": 50, "bill_depth_mm": 17, "body_mass_g": 4000, "sex": None,
    ...        "island": "Dream"}
    >>> trees.predict(row), trees.predict_proba(row).round(2).tolist(), trees.apply(row).shape, trees.predictor.width
    ('Chinstrap', [0.0, 1.0, 0.0], (5,), 3)
    >>> list(trees.staged_predict(row))[:2], [float(p[1]) for p in trees.staged_predict_proba(row)][:2]
    (['Chinstrap', 'Chinstrap'], [1.0, 1.0])
    >>> trees.decision_function(row)
    Traceback (most recent call last):
    treewise.errors.DataError: decision_function is for adaboost, whose trees have different vote weights; ...
    >>> trees.first(3) == tw.forest("penguins", n_estimators=3), trees.with_(notes=()).notes
    (True, ())
    """

    method: Method
    encodings: tuple[Encoding, ...]
    target: Target
    members: PackedTrees
    votes: npt.NDArray[np.float64]  # vote weight of each member
    decreases: npt.NDArray[np.float64]  # impurity decrease of each column in each member: [trees, columns]
    criterion: str = "entropy"
    empty_branch: Literal["parent", "root"] = "parent"
    history: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    oob: OutOfBag | None = None  # out-of-bag estimate
    display: Display | None = None  # the words for readers

    _pickle_compact: ClassVar[bool | None] = True

    def __post_init__(self) -> None:
        for array in (self.votes, self.decreases):
            array.flags.writeable = False

    # -- members --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.members)

    def __getitem__(self, t: int) -> Tree:
        """Return a member as an ordinary tree."""
        t = self.check_number(t)
        arrays = self.members.unpack(t, self.criterion, self.empty_branch)
        steps = (*self.history, HistoryStep(did="member", options={"tree": t}))
        return Tree(self.encodings, self.target, arrays, self.criterion, self.empty_branch, steps, display=self.display)

    def check_number(self, t: Any) -> int:
        """Return the number of a member as an int from 0 on (-1 is the last), or raise."""
        try:
            number = operator.index(t)
        except TypeError:
            raise TypeError(f"the number of a tree must be an integer, 0 to {len(self) - 1}, not {brief(t)}") from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"no tree {number}: there are trees 0 to {len(self) - 1}")
        return number % len(self)

    def __iter__(self) -> Iterator[Tree]:
        """Iterate over the trees."""
        return (self[t] for t in range(len(self)))

    @property
    def trees(self) -> Sequence[Tree]:
        """The trees as a sequence; each is unpacked on access."""
        return Trees(self)

    def divisor(self, trees: int) -> int:
        """Return what the sum over the first trees is divided by: their number, or 1 where the trees add up.

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=5).divisor(5)
        5
        """
        return 1 if self.method == "gradient_boosting" else trees

    def first(self, k: int) -> Self:
        """Return the ensemble of the first k trees, as if only k had been grown.

        The out-of-bag estimate of all trees and the note about the end of boosting are dropped.
        """
        n = as_integer(k)
        if n is None or not 1 <= n <= len(self):
            raise ParameterError(f"first({brief(k)}): must be a whole number of trees, 1 to {len(self)}.")
        if n == len(self):
            return self
        return self.with_(
            members=self.members.first(n),
            votes=self.votes[:n],
            decreases=self.decreases[:n],
            oob=None,
            notes=tuple(note for note in self.notes if not note.startswith(ENDED)),
            history=(*self.history, HistoryStep(did="first", options={"trees": n})),
        )

    # -- equality -------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Two ensembles are equal when method, columns, target, trees and votes are; history and notes do not count."""
        if not isinstance(other, Ensemble):
            return NotImplemented
        our_fields = (self.method, self.stored_encodings, self.target, self.criterion, self.empty_branch)
        their_fields = (other.method, other.stored_encodings, other.target, other.criterion, other.empty_branch)
        same_votes = np.array_equal(self.votes, other.votes) and np.array_equal(self.decreases, other.decreases)
        return our_fields == their_fields and same_votes and self.members.same_as(other.members)

    def __hash__(self) -> int:
        return hash((self.method, self.stored_encodings, self.target, self.members.start.tobytes()))

    def __repr__(self) -> str:
        leaves = plural(int(self.members.leaf_start[-1]), "leaf", "leaves")
        return f"<Ensemble {self.method} of {plural(len(self), 'tree')} · {self._target_text()} · {leaves}>"

    # -- Model protocol -------------------------------------------------------------------------------------------

    @cached_property
    def predictor(self) -> ForestPredictor:
        """The trees compiled for prediction, on first use.

        Takes eight bytes per node in addition to the packed members, and the answers of the leaves: little where they
        are pure, eight bytes each for regression.
        """
        from treewise.ensemble.predict import ForestPredictor

        return ForestPredictor(self)

    @property
    def used_columns(self) -> list[int]:
        """Positions of the columns that some split tests, in order."""
        return np.flatnonzero(self.split_counts).tolist()

    def where_used(self, column: int) -> str:
        """Return the first node that tests a column, for messages."""
        members = self.members
        node = np.flatnonzero(members.kind != LEAF)[np.flatnonzero(members.column == column)[0]]
        tree = int(np.searchsorted(members.start, node, side="right")) - 1
        return f"node {node - members.start[tree]} of tree {tree}"

    @property
    def split_counts(self) -> npt.NDArray[np.int64]:
        """The number of splits on each column, in all trees."""
        return np.bincount(self.members.column, minlength=len(self.columns))

    @property
    def impurity_decreases(self) -> npt.NDArray[np.float64]:
        """The impurity decrease of each column in each tree: trees × columns."""
        return self.decreases

    @property
    def baseline(self) -> Label | None:
        """The constant prediction without any split: the majority class of the training rows, or the mean value."""
        from treewise.ensemble.predict import baseline_of

        return baseline_of(self)

    def leaves(self, rows: EncodedRows) -> npt.NDArray[np.int32]:
        """Return the number of the node each row ends at in each tree: rows × trees."""
        return self.predictor.leaves(rows)

    def answers(self, rows: EncodedRows, estimate: Any = None, n_jobs: int = 0) -> EnsembleAnswers:
        """Return the lazily computed predictions for the rows."""
        from treewise.ensemble.predict import EnsembleAnswers

        return EnsembleAnswers(self, rows, estimate, n_jobs)

    # -- staged prediction ----------------------------------------------------------------------------------------

    def decision_function(self, data: Any) -> Any:
        """Return AdaBoost's total vote weight of each class; with two, that of the second minus that of the first."""
        from treewise.ensemble.predict import decision_function

        return decision_function(self, data)

    def staged_predict(self, data: Any) -> Iterator[Any]:
        """Yield the predictions of the first tree, the first two together, and so on, in one pass over the trees."""
        from treewise.ensemble.predict import staged_predict

        return staged_predict(self, data)

    def staged_predict_proba(self, data: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Yield the probabilities of the first tree, the first two together, and so on, in one pass."""
        from treewise.ensemble.predict import staged_predict_proba

        return staged_predict_proba(self, data)

    # -- extending, inspecting, display ---------------------------------------------------------------------------

    def extend(
        self,
        data: Any,
        n: int,
        *,
        target: Any = None,
        sample_weight: Any = None,
        n_jobs: int | None = None,
        progress: Callable[[float], None] | None = None,
        on_oob: Callable[[OobPredictions], None] | None = None,
    ) -> Ensemble:
        """Return the ensemble with n further trees, as if all had been grown at once.

        ``data`` must be the training table. Pass a target or weights again if they were given as arrays. ``on_oob`` is
        called with the out-of-bag predictions of all rows, if the ensemble was grown with ``oob_score``.

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=3).extend("penguins", 2) == tw.forest("penguins", n_estimators=5)
        True
        """
        from treewise.ensemble.grow import extend

        return extend(self, data, n, target, sample_weight, n_jobs, progress, on_oob)

    def oob_predict(self, data: Any, *, target: Any = None, sample_weight: Any = None) -> npt.NDArray[Any]:
        """Return the out-of-bag prediction of each row of the training table.

        These are class labels or values; None or NaN if no tree is out of bag for the row, or its weight is 0.

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=20).oob_predict("penguins")[:2].tolist()
        ['Adelie', 'Adelie']
        """
        from treewise.ensemble.grow import oob_predict

        return oob_predict(self, data, target, sample_weight)

    @property
    def rounds(self) -> Rounds:
        """The rounds of AdaBoost as a table: each learner, its error ε, its vote weight α, the training error.

        >>> import treewise as tw
        >>> tw.adaboost("admissions", n_estimators=5).rounds[0].learner
        'GPA = 3.5 → N, otherwise → P'
        """
        from treewise.ensemble.rounds import build_rounds

        return build_rounds(self)

    def worked_round(self, data: Any, number: int, *, target: Any = None, sample_weight: Any = None) -> WorkedRound:
        """Return one round of AdaBoost, from 1, as a worked exercise on the training table.

        Shows the weight of every row before and after, with the arithmetic; then the hardest rows. Pass a target or
        weights again if they were given as arrays.

        >>> import treewise as tw
        >>> boosted = tw.adaboost("admissions", n_estimators=5)
        >>> print(boosted.worked_round("admissions", 1).steps[0])
        ε_1 = 1/12 + 1/12 = 1/6 = 0.16667, the weight of the misclassified rows
        """
        from treewise.ensemble.rounds import worked_round

        return worked_round(self, data, number, target, sample_weight)

    def trace_round(
        self,
        data: Any,
        number: int,
        *,
        node: int | None = None,
        unit: str = "bits",
        per: str = "row",
        column: str | None = None,
        top: int | None = None,
        terms: bool = False,
        rows: bool | str | Sequence[str] = False,
        target: Any = None,
        sample_weight: Any = None,
    ) -> Trace:
        """Show why AdaBoost chose the learner of a round, from 1: every candidate, on the rows weighted by D_b.

        The options are those of ``Tree.trace``; target and weights are needed as in ``worked_round``.

        >>> import treewise as tw
        >>> trace = tw.adaboost("admissions", n_estimators=5).trace_round("admissions", 2)
        >>> trace[0].winner, trace[0].agrees, trace.notes[0]
        ('GPA', True, 'weighted by D_2, the weights of round 2 of AdaBoost, here with a sum of 20')
        """
        from treewise.explain.trace.trace import trace_round

        view = {"node": node, "unit": unit, "per": per, "column": column, "top": top, "terms": terms, "rows": rows}
        return trace_round(self, data, number, target, sample_weight, **view)

    def summary(self) -> EnsembleSummary:
        """Return a summary of a few lines: target, sizes of the trees, most used columns, parameters.

        >>> import treewise as tw
        >>> print(tw.bagging("penguins", n_estimators=20, ignore=["island"], oob_score=True).summary())
        trees   bagging of 20 trees · target species: Adelie, Chinstrap, Gentoo
        size    leaves 7 to 13, median 9 · depth 4 to 6, median 5
        unseen  error 3.5 % on 344 of 344 rows, each by the trees that have not seen it (out of bag)
        asks    flipper_length_mm 49.8 % · bill_length_mm 34.8 % · bill_depth_mm 9.6 % · body_mass_g 5.0 % · sex 0.8 %
        made    bagging(n_estimators=20, oob_score=True, criterion="entropy", ties="random") on 344 rows
        """
        from treewise.show.summary import EnsembleSummary

        return EnsembleSummary(self)

    def show(self) -> None:
        """Print the summary, and for AdaBoost the rounds.

        >>> import treewise as tw
        >>> tw.forest("xor", n_estimators=5).show()
        trees   forest of 5 trees · target y: 0, 1 (positive: 1)
        size    leaves 1 to 4, median 2 · depth 0 to 2, median 1
        asks    x2 66.7 % · x1 33.3 %
        made    forest(n_estimators=5, criterion="entropy", ties="random", max_features="sqrt") on 4 rows
        """
        print(self)
        if self.method == "adaboost":
            print(f"\n{self.rounds}")

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {**self.summary()._repr_mimebundle_(include, exclude), "text/plain": repr(self)}

    def agreement(self, data: Any, *, progress: Progress | None = None) -> Agreement:
        """Return how far the trees agree on each row: the vote weight of each class, or the spread of the values.

        Sorted by disagreement, most contested first.

        >>> import treewise as tw
        >>> result = tw.forest("penguins", n_estimators=20).agreement("penguins")
        >>> result.unanimous, len(result), result[0].row, round(result[0].share, 2)
        (290, 344, 340, 0.65)
        """
        from treewise.explain.ensemble.agreement import agreement

        return agreement(self, data, progress)

    def explain(self, row: Any) -> EnsembleExplanation:
        """Explain the prediction for one row: how far the trees agree, and the contribution of each column.

        >>> import treewise as tw
        >>> row = {"GPA": "3.7", "Recommendation": "good", "University": "top10", "Published": "no"}
        >>> print(tw.forest("admissions", n_estimators=20).explain(row).sentences[0])
        Class = N: predicted by 13 of 20 trees, mean probability 65.0 %.
        """
        from treewise.explain.ensemble.explanation import explain

        return explain(self, row)

    def stages(
        self,
        data: Any,
        target: Any = None,
        *,
        test: Any = None,
        sample_weight: Any = None,
        progress: Progress | None = None,
    ) -> Stages:
        """Return the error after one tree, two trees, … on a labelled table, and on another one, ``test``.

        For boosting, the bound on the training error is included if ``data`` is the training table and all rows have
        the same weight: it bounds no other error.

        >>> import treewise as tw
        >>> result = tw.forest("penguins", n_estimators=20).stages("penguins")
        >>> result.best.trees, [round(stage.error, 3) for stage in result[:3]]
        (5, [0.015, 0.015, 0.006])
        """
        from treewise.explain.ensemble.stages import stages

        return stages(self, data, target, test, sample_weight, progress)

    def draw_stages(
        self,
        data: Any,
        target: Any = None,
        *,
        test: Any = None,
        ax: Axes | None = None,
        **image: Unpack[ImageOptions],
    ) -> Axes:
        """Draw the error after each tree, on ``ax`` or a new figure; saved to ``path`` if given.

        Needs matplotlib (``pip install "treewise[plot]"``).

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=9).draw_stages("penguins").get_xlabel()
        'trees'
        """
        return self.stages(data, target, test=test).draw(ax, **image)

    if not TYPE_CHECKING:  # type checkers should report unknown attributes

        def __getattr__(self, name: str) -> Any:
            """Raise, with a hint for attributes that only a single tree has."""
            if name.startswith("_") or not hasattr(Tree, name):
                raise AttributeError(f"'Ensemble' object has no attribute '{name}'")
            raise AttributeError(
                f"an ensemble has no {name}; only a single tree does. Use one of its trees, ensemble[0].{name}, or"
                " distill the ensemble into one tree, treewise.distill(ensemble, data)."
            )


class Trees(Sequence[Tree]):
    """The members of an ensemble, unpacked on access."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble

    def __len__(self) -> int:
        return len(self.ensemble)

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        if isinstance(index, slice):
            return [self.ensemble[t] for t in range(len(self))[index]]
        return self.ensemble[index]
