"""The ensemble: an immutable value of many trees, and what one can do with it.

Stands where ``tree/tree.py`` stands for one tree: whatever learns many trees returns one, whatever predicts with, reads,
prints or saves them reads one. The nodes are packed (``members.py``); a member that is asked for is an ordinary
``Tree``. The methods at the end are doors: their code lives beside this file and downstream, and is imported when used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer
from treewise._lib.text import plural, safe
from treewise.data.encoding import Encoding
from treewise.ensemble.explaining import Reading
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.predicting import Predicting
from treewise.ensemble.results import OutOfBag
from treewise.errors import ParameterError, shown
from treewise.tree.arrays import Target
from treewise.tree.history import Step
from treewise.tree.structure import Grown
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.ensemble.rounds import Rounds
    from treewise.ensemble.worked_round import WorkedRound
    from treewise.evaluate import Evaluation
    from treewise.show.ensemble_summary import EnsembleSummary

Method = Literal["forest", "extra_trees", "bagging", "adaboost"]
ENDED = "boosting ended"  # how the note begins that says why there are fewer trees than were asked for


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(Predicting, Reading, Grown):
    """Many trees that answer together.

    Forests, extra-trees and bagging answer with the mean of what their trees say; AdaBoost with the class that has the
    most say, ``votes`` being the say of each tree.

    >>> import treewise as tw
    >>> trees = tw.forest("penguins", n_estimators=5)
    >>> trees
    <Ensemble forest of 5 trees · species: Adelie, Chinstrap, Gentoo · 64 leaves>
    >>> trees.task, trees.classes, trees.columns[:2], trees.na_values
    ('classification', ('Adelie', 'Chinstrap', 'Gentoo'), ('island', 'bill_length_mm'), ())
    >>> len(trees), trees[0], trees.number(-1)                                 # a member is an ordinary tree
    (5, <Tree species: Adelie, Chinstrap, Gentoo · 228 rows · 12 leaves · depth 7>, 4)
    >>> [tree.n_leaves for tree in trees.trees[:2]]
    [12, 12]
    >>> trees.first(3) == tw.forest("penguins", n_estimators=3), trees.with_(notes=()).notes
    (True, ())
    """

    method: Method
    encodings: tuple[Encoding, ...]
    target: Target
    members: PackedTrees
    votes: npt.NDArray[np.float64]  # say of each member
    decreases: npt.NDArray[np.float64]  # impurity that each column took away in each member: [trees, columns]
    criterion: str = "entropy"
    empty_branch: Literal["parent", "root"] = "parent"
    history: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    oob: OutOfBag | None = None  # what was estimated on rows that each tree has not seen

    def __post_init__(self) -> None:
        for array in (self.votes, self.decreases):
            array.flags.writeable = False

    # -- its trees ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.members)

    def __getitem__(self, t: int) -> Tree:
        """Return a member, by its number, as an ordinary tree."""
        t = self.number(t)
        arrays = self.members.open(t, self.criterion, self.empty_branch)
        steps = (*self.history, Step(did="member", options={"tree": t}))
        return Tree(self.encodings, self.target, arrays, self.criterion, self.empty_branch, history=steps)

    def number(self, t: Any) -> int:
        """Return a member's number as a plain one (-1 is the last), or say which numbers there are."""
        try:
            number = operator.index(t)
        except TypeError:
            raise TypeError(f"a tree is asked for by its number, 0 to {len(self) - 1}, not {shown(t)}") from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"no tree {number}: there are trees 0 to {len(self) - 1}")
        return number % len(self)

    def __iter__(self) -> Iterator[Tree]:
        """Go through the trees."""
        return (self[t] for t in range(len(self)))

    @property
    def trees(self) -> Sequence[Tree]:
        """The trees as a sequence; each is made when it is asked for."""
        return Trees(self)

    def first(self, k: int) -> Self:
        """Return the ensemble of the first k trees: what growing k in the first place gives.

        What was estimated with all trees (``oob``) is not known of fewer, nor did boosting end with them.
        """
        many = as_integer(k)
        if many is None or not 1 <= many <= len(self):
            raise ParameterError(f"first({shown(k)}): must be a whole number of trees, 1 to {len(self)}.")
        if many == len(self):
            return self
        return self.with_(
            members=self.members.first(many),
            votes=self.votes[:many],
            decreases=self.decreases[:many],
            oob=None,
            notes=tuple(note for note in self.notes if not note.startswith(ENDED)),
            history=(*self.history, Step(did="first", options={"trees": many})),
        )

    # -- as a value -----------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Two ensembles are equal when method, columns, target, trees and votes are; history and notes do not count."""
        if not isinstance(other, Ensemble):
            return NotImplemented
        mine = (self.method, self.encodings, self.target, self.criterion, self.empty_branch)
        theirs = (other.method, other.encodings, other.target, other.criterion, other.empty_branch)
        same_votes = np.array_equal(self.votes, other.votes) and np.array_equal(self.decreases, other.decreases)
        return mine == theirs and same_votes and self.members.same_as(other.members)

    def __hash__(self) -> int:
        return hash((self.method, self.encodings, self.target, self.members.start.tobytes()))

    def __repr__(self) -> str:
        what = f"{safe(self.target.name)}: {', '.join(safe(c) for c in self.classes[:4])}"
        if len(self.classes) > 4:
            what += f", … {len(self.classes)} classes"
        if self.task == "regression":
            what = f"{safe(self.target.name)}: a number"
        leaves = plural(int(self.members.leaf_start[-1]), "leaf", "leaves")
        return f"<Ensemble {self.method} of {plural(len(self), 'tree')} · {what} · {leaves}>"

    def with_(self, **changes: Any) -> Self:
        """Return the same ensemble with some fields replaced."""
        return replace(self, **changes)

    # -- doors ----------------------------------------------------------------------------------------------------

    def extend(
        self,
        data: Any,
        n: int,
        *,
        target: Any = None,
        sample_weight: Any = None,
        n_jobs: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Ensemble:
        """Return the ensemble with n further trees: what asking for all of them at once gives.

        ``data`` is the table it was grown on; another one is refused. A target or weights given as an array are to be
        given again.

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=3).extend("penguins", 2) == tw.forest("penguins", n_estimators=5)
        True
        """
        from treewise.ensemble.grow import extend

        return extend(self, data, n, target, sample_weight, n_jobs, progress)

    def evaluate(
        self,
        data: Any,
        target: Any = None,
        *,
        drop_missing_target: bool = False,
        sample_weight: Any = None,
        cost: Any = None,
    ) -> Evaluation:
        """Compare predictions with a table that knows the answers: error with its interval, confusion, log loss.

        ``cost`` is what mistakes cost (``treewise.grow``); ``sample_weight`` is a column or an array. On the rows it
        was grown on a forest is nearly always right, which says little: ``oob_score=True`` judges it by the trees that
        have not seen a row.

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=20).evaluate("penguins").errors
        0
        """
        from treewise.evaluate.evaluate_ensemble import evaluate

        options: dict[str, Any] = {"drop_missing_target": drop_missing_target, "cost": cost}
        return evaluate(self, data, target, sample_weight=sample_weight, **options)

    def oob_predict(self, data: Any, *, target: Any = None, sample_weight: Any = None) -> npt.NDArray[Any]:
        """Return for each row of the table it was grown on what the trees say that have not seen it.

        Of classes their labels, of numbers values; None or NaN where every tree has seen the row, or it does not count.

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=20).oob_predict("penguins")[:2].tolist()
        ['Adelie', 'Adelie']
        """
        from treewise.ensemble.grow import oob_predictions

        return oob_predictions(self, data, target, sample_weight)

    @property
    def rounds(self) -> Rounds:
        """The rounds of AdaBoost as a table: each learner in words, its error ε, its vote α, and how all do together.

        >>> import treewise as tw
        >>> tw.adaboost("admissions", n_estimators=5).rounds[0].learner
        'GPA = 3.5 → N, otherwise → P'
        """
        from treewise.ensemble.rounds import rounds_of

        return rounds_of(self)

    def worked_round(self, data: Any, number: int, *, target: Any = None, sample_weight: Any = None) -> WorkedRound:
        """Return one round of AdaBoost as a worked exercise, the first being 1, on the table it was grown on.

        Every row's weight before and after, with the arithmetic; then the hardest rows. A target or weights given as
        an array when growing are to be given again.

        >>> import treewise as tw
        >>> boosted = tw.adaboost("admissions", n_estimators=5)
        >>> print(boosted.worked_round("admissions", 1).steps[0])
        ε_1 = 1/12 + 1/12 = 1/6 = 0.16667, the weight of the rows it gets wrong
        """
        from treewise.ensemble.worked_round import worked_round

        return worked_round(self, data, number, target, sample_weight)

    def summary(self) -> EnsembleSummary:
        """Say in a few lines what the trees predict, how large they are, what they ask most and how they were made.

        >>> import treewise as tw
        >>> print(tw.forest("penguins", n_estimators=20, ignore=["island"], oob_score=True).summary())
        trees   forest of 20 trees · target species: Adelie, Chinstrap, Gentoo
        size    leaves 7 to 34, median 14 · depth 5 to 14, median 6.5
        unseen  error 2.9 % on 344 of 344 rows, each by the trees that have not seen it (out of bag)
        asks    flipper_length_mm 36.5 % · bill_length_mm 35.6 % · bill_depth_mm 17.5 % · body_mass_g 8.8 % · sex 1.6 %
        made    forest(n_estimators=20, oob_score=True, criterion="entropy", max_features="sqrt") on 344 rows
        """
        from treewise.show.ensemble_summary import EnsembleSummary

        return EnsembleSummary(self)

    def show(self) -> None:
        """Print what the trees are in a few lines; of boosting, its rounds too.

        >>> import treewise as tw
        >>> tw.forest("xor", n_estimators=5).show()
        trees   forest of 5 trees · target y: 0, 1 (positive: 1)
        size    leaves 1 to 4, median 2 · depth 0 to 2, median 1
        asks    x2 66.7 % · x1 33.3 %
        made    forest(n_estimators=5, criterion="entropy", max_features="sqrt") on 4 rows
        """
        print(self)
        if self.method == "adaboost":
            print(f"\n{self.rounds}")

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {**self.summary()._repr_mimebundle_(include, exclude), "text/plain": repr(self)}

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Pickle and copy as the text of a model file, which is checked when it comes back."""
        from treewise.formats.model_file.ensemble_file import dumps
        from treewise.formats.model_file.model_file import loads

        return loads, (dumps(self, compact=True),)

    def save(self, path: Any, compact: bool | None = None) -> None:
        """Save the ensemble as one JSON file, whole or not at all; ``treewise.load`` reads it back, to the last bit.

        ``compact`` packs the numbers of the nodes; by default ensembles of more than 10,000 nodes are packed.
        ``docs/format.md`` describes the file.

        >>> import treewise as tw, tempfile, pathlib
        >>> trees = tw.forest("penguins", n_estimators=5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trees.save(pathlib.Path(folder) / "forest.json")
        ...     tw.load(pathlib.Path(folder) / "forest.json") == trees
        True
        """
        from treewise.formats.model_file.ensemble_file import save

        save(self, path, compact)


class Trees(Sequence[Tree]):
    """The members of an ensemble in order, each made when it is asked for."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble

    def __len__(self) -> int:
        return len(self.ensemble)

    @overload
    def __getitem__(self, at: int) -> Tree: ...
    @overload
    def __getitem__(self, at: slice) -> list[Tree]: ...
    def __getitem__(self, at: int | slice) -> Tree | list[Tree]:
        if isinstance(at, slice):
            return [self.ensemble[t] for t in range(len(self))[at]]
        return self.ensemble[at]
