"""Are two trees equivalent, and if not, where do they differ? Decided exactly (CS221 section 5, question 3).

One of the outlets: two trees in, a ``Comparison`` out.

    space.py       the columns either asks about, cut into cells that no test of either divides
    markers.py     … and what is missing to one of them only
    routes.py      a tree in that space; answers.py what its nodes say
    walk.py        both down at once: the parts of the space on which they differ
    merge.py       neighbouring parts put together, for readers
    rows.py        the rows of a table in the space; witness.py a row on which they differ
    difference.py  what changed in how they are built
    report.py      ``Comparison``: all of it as data and in words
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from treewise.data.encoding import Encoding
from treewise.data.table import Table
from treewise.errors import ParameterError, TreewiseError, shown
from treewise.evaluate import evaluate
from treewise.explain.compare.answers import LeafAnswers, read_answers
from treewise.explain.compare.difference import changes
from treewise.explain.compare.merge import merged
from treewise.explain.compare.report import ComparedTree, DifferingRegion, Distance, TreeComparison, TreeError
from treewise.explain.compare.routes import BranchTable
from treewise.explain.compare.rows import ComparedTable, read_rows
from treewise.explain.compare.space import InputSpace, State
from treewise.explain.compare.walk import SpaceCell, count_cases, places
from treewise.explain.compare.witness import Witness, made_up, of_the_table
from treewise.tree.arrays import UNNAMED
from treewise.tree.regions.region import Condition, Levels, Region
from treewise.tree.tree import Tree

__all__ = ["TreeComparison", "compare"]

MOST_PLACES = 5000  # parts on which the trees differ that are kept to be put together and said
MOST_LISTED = 3  # levels that are always said one by one
MOST_CHANGES = 1000  # changes of structure that are kept


def compare(
    a: Tree,
    b: Tree,
    data: Any = None,
    *,
    what: str = "prediction",
    tolerance: float = 0.0,
    complete: bool = False,
    target: str | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> TreeComparison:
    """Decide whether two trees answer every row alike, and say where they do not.

    The answer is exact, whatever their splits, and speaks of every row there could be: with missing values, with levels
    neither tree has seen, with numbers no table holds. Columns go by name; classes by label, in any order.
    Cells are read as each tree reads them: what its ``na_values`` call missing may be a value to the other.

    >>> import treewise as tw
    >>> officials = tw.parse('''
    ... GPA = 4.0
    ...     Recommendation = good -> P
    ...     Recommendation = normal
    ...         University = top10 -> N
    ...         University = top20 -> P
    ...         University = top30 -> N
    ... GPA = 3.7
    ...     Published = yes -> P
    ...     Published = no
    ...         University = top10 -> N
    ...         University = top20 -> P
    ...         University = top30 -> N
    ... GPA = 3.5 -> N''')
    >>> learned = tw.grow("admissions", preset="id3")
    >>> found = tw.compare(officials, learned, names=("officials", "learned"))
    >>> found.equivalent, found.differ_on, found.cases
    (False, 4, 36)
    >>> found.witness
    {'GPA': '4.0', 'Recommendation': 'normal', 'University': 'top10', 'Published': 'no'}
    >>> found.where[0].words
    'GPA = 4.0 and Recommendation = normal and University in {top10, top30}'
    >>> tw.compare(learned, learned).equivalent
    True

    Parameters
    ----------
    a, b : trees; from ``grow``, ``load`` or ``parse``.
    data : a table; on how many of its rows do they differ, and is one of them a witness?
    what : ``"prediction"``, or ``"probability"``: the same predictions may come with other probabilities.
    tolerance : how far two numbers, or probabilities, may lie apart and still be equal.
    complete : ask of rows without missing and never-seen values only.
    target : the column of data with the true answers, for the error of both (by default what the trees predict).
    names : what the trees are called in words.
    """
    for name, tree in zip("ab", (a, b), strict=True):
        if not isinstance(tree, Tree):
            raise ParameterError(f"{name}: {shown(tree)} is not a tree.", hint="Trees come from grow, load or parse.")
    if isinstance(names, str) or len(names) != 2:
        raise ParameterError('must be two, such as ("old", "new").', parameter="names", value=names)
    answers = read_answers(a, b, what, tolerance, names)
    space = InputSpace.of(a, b, names)
    return LeafComparer(a, b, space, answers, names, complete).comparison(data, target)


class LeafComparer:
    """Two trees in their space: what there is to be asked of them."""

    def __init__(
        self, a: Tree, b: Tree, space: InputSpace, answers: LeafAnswers, names: tuple[str, str], complete: bool
    ) -> None:
        self.trees, self.space, self.answers = (a, b), space, answers
        self.names, self.complete = names, complete
        self.routes = (BranchTable(a, space, 0, answers.of[0]), BranchTable(b, space, 1, answers.of[1]))

    def places(self, unseen: bool, missing: bool) -> Any:
        """Go through the parts of the space on which the trees differ."""
        return places(self.space, *self.routes, self.answers.differ, unseen, missing)

    def scope(self) -> tuple[bool, bool] | None:
        """Return the plainest rows on which the trees differ: (with never-seen levels, with missing values).

        None if they differ on no row: then the widest walk has found nothing.
        """
        if not self.complete:
            first = next(self.places(True, True), None)
            if first is None:
                return None
            if all(axis.usual(state) for axis, state in zip(self.space.axes, first.states, strict=True)):
                return False, False
        for unseen, missing in ((False, False), (True, False), (False, True)):
            if next(self.places(unseen, missing), None) is not None:
                return unseen, missing
            if self.complete:
                return None
        return True, True

    def comparison(self, data: Any, target: str | None) -> TreeComparison:
        """Compare, and put everything together."""
        scope = self.scope()
        rows = None if data is None else read_rows(data, *self.trees, self.space, self.answers)
        found, all_said = self.gather(scope)
        if rows is not None and not all_said and scope is not None:
            found = self.gather_rows(rows, scope) or found
        whole = self.space.everything(*(scope or (False, False)))
        where = sorted((self.where(place, whole, rows) for place in merged(found)), key=DifferingRegion.order)
        witness = self.witness(where, whole, rows)
        nodes = None if witness is None else self.nodes_of(witness, rows)
        sides = tuple(
            ComparedTree(
                name=self.names[i],
                leaves=tree.n_leaves,
                depth=tree.depth,
                node=None if nodes is None else nodes[i],
                answer=None if nodes is None else self.answers.value(self.answers.of[i][nodes[i]]),
                said="" if nodes is None else self.answers.say(self.answers.of[i][nodes[i]]),
                error=None if rows is None else error_of(tree, rows.tables[i], target, self.trees),
            )
            for i, tree in enumerate(self.trees)
        )
        within = None if rows is None else rows.complete if self.complete else rows.complete | True
        rows_differ = None if rows is None or within is None else int((rows.differ & within).sum())
        return TreeComparison(
            equivalent=scope is None and not rows_differ,
            equivalent_on_complete_rows=scope != (False, False),
            complete=self.complete,
            sides=(sides[0], sides[1]),
            witness=None if witness is None else witness.cells,
            witness_row=None if witness is None else witness.row,
            witness_needs=() if witness is None else witness.needs,
            witness_words="" if witness is None else witness.words(self.space),
            cases=self.space.cases,
            differ_on=self.differ_on(scope),
            table=None if rows is None else rows.name,
            rows=None if within is None else int(within.sum()),
            rows_differ=rows_differ,
            rows_odd=None if rows is None or scope != (False, False) else int((rows.differ & ~rows.complete).sum()),
            distance=None if rows is None else self.distance(rows, within),
            where=tuple(where),
            where_is_all=all_said,
            changes=tuple(islice(changes(*self.trees), MOST_CHANGES)),
        )

    def distance(self, rows: ComparedTable, within: Any) -> Distance | None:
        """Return how far the answers lie apart on the rows of the table; None for classes, which are equal or not."""
        apart = rows.apart[within & ~np.isnan(rows.apart)]
        if not len(apart) or (self.answers.labels and self.answers.what == "prediction"):
            return None
        return Distance(float(apart.mean()), float(apart.max()))

    def gather(self, scope: tuple[bool, bool] | None) -> tuple[list[SpaceCell], bool]:
        """Return parts on which the trees differ, and whether these are all."""
        if scope is None:
            return [], True
        found = list(islice(self.places(*scope), MOST_PLACES + 1))
        return found[:MOST_PLACES], len(found) <= MOST_PLACES

    def differ_on(self, scope: tuple[bool, bool] | None) -> int | None:
        """Return on how many possible cases the trees differ; None where these cannot be counted."""
        if self.space.cases is None:
            return None
        return count_cases(self.space, *self.routes, self.answers.differ) if scope == (False, False) else 0

    def gather_rows(self, rows: ComparedTable, scope: tuple[bool, bool]) -> list[SpaceCell]:
        """Return the parts on which the trees differ that hold rows of the table, those of most rows first."""
        within = np.flatnonzero(rows.differ & rows.allowed(*scope))
        pairs, first, counts = np.unique(
            np.stack(rows.nodes, axis=1)[within], axis=0, return_index=True, return_counts=True
        )
        found = []
        for i in np.argsort(-counts, kind="stable")[:MOST_PLACES].tolist():
            states = self.space.everything(*scope)
            nodes = pairs[i].tolist()
            cells = [int(some[within[first[i]]]) for some in rows.cells]
            for routes, node in zip(self.routes, nodes, strict=True):
                routes.follow(node, states, cells)
            found.append(SpaceCell(tuple(states), (self.answers.of[0][nodes[0]], self.answers.of[1][nodes[1]])))
        return found

    def cases_of(self, place: SpaceCell) -> int:
        """Return how many combinations of known levels a part holds."""
        total = 1
        for axis, state in zip(self.space.axes, place.states, strict=True):
            total *= axis.count(state)
        return total

    def where(self, place: SpaceCell, whole: list[State], rows: ComparedTable | None) -> DifferingRegion:
        """Say a part of the space, and what each tree answers there."""
        axes, answers = self.space.axes, self.answers
        bound = {i: axes[i].condition(state) for i, state in enumerate(place.states) if state != whole[i]}
        encodings = tuple(axis.encoding for axis in axes)
        return DifferingRegion(
            region=Region(encodings, bound),
            words=str(Region(encodings, {i: shorter(c, encodings[i]) for i, c in bound.items()})),
            answers=(answers.value(place.answers[0]), answers.value(place.answers[1])),
            said=(answers.say(place.answers[0]), answers.say(place.answers[1])),
            cases=None if self.space.cases is None else self.cases_of(place),
            rows=None if rows is None else rows.count(place.states),
            states=place.states,
        )

    def nodes_of(self, witness: Witness, rows: ComparedTable | None) -> tuple[int, int]:
        """Return the nodes at which a witness stops."""
        if rows is not None and witness.row is not None:
            return int(rows.nodes[0][witness.row - 1]), int(rows.nodes[1][witness.row - 1])
        return self.routes[0].stop(witness.states), self.routes[1].stop(witness.states)

    def witness(self, where: list[DifferingRegion], whole: list[State], rows: ComparedTable | None) -> Witness | None:
        """Return a row on which the trees differ, of the table if it has one."""
        found = None if rows is None else of_the_table(self.space, rows, self.complete)
        if found is None and where:
            found = made_up(self.space, where[0].states, whole)
            one, two = self.nodes_of(found, rows)
            assert self.answers.differ(self.answers.of[0][one], self.answers.of[1][two]), "the witness is none"
        return found


def shorter(condition: Condition, encoding: Encoding) -> Condition:
    """Let most of many levels be said by those that are left out: ``not in {Husband, Wife}``."""
    if isinstance(condition, Levels) and not condition.missing and encoding.kind != "boolean":
        many = condition.n > MOST_LISTED and 2 * condition.n > len(encoding.levels)
        return replace(condition, unseen=True) if many else condition
    return condition


def error_of(tree: Tree, table: Table, target: str | None, trees: tuple[Tree, Tree]) -> TreeError | None:
    """Return how wrong a tree is on a table; None if the table does not know the answers, or the tree has none.

    Both are judged by one column: what a grown tree predicts, else what somebody named. Where nobody did, ``evaluate``
    finds the column whose values are the classes.
    """
    names = [t.target.name for t in sorted((tree, *trees), key=lambda t: not t.history) if t.target.name != UNNAMED]
    column = target or next((name for name in names if name in table.columns), None)
    try:
        found = evaluate(tree, table, column, drop_missing_target=True)
    except TreewiseError:
        if target is not None:
            raise
        return None
    if tree.task == "classification":
        return TreeError("error", float(found.scores["error"] or 0.0), int(found.scores["errors"] or 0), found.n)
    return TreeError("rmse", float(found.scores["rmse"] or 0.0), None, found.n)
