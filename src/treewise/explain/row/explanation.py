"""One prediction explained: sentences, a table of steps, contributions, and the nearest change; in every form.

The front of ``explain/row``. ``explain`` walks a row down the tree (``path.py``), looks for what would alter the
decision (``change.py``) and puts it in words (``words.py``); ``Explanation`` holds it as data and shows it as a sheet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable, to_plain
from treewise._lib.text import format_percent, format_rounded, plural, safe
from treewise.data.table import Table
from treewise.explain.row.counterfactual import (
    Counterfactual,
    check_fixed,
    check_wish,
    nearest_counterfactual,
    read_wish,
)
from treewise.explain.row.path import PathStep, RowExplanationPath, RowExplanationPaths
from treewise.explain.row.tree_context import TreeContext
from treewise.explain.row.words import change_sentence, other_sentences, sentence, together
from treewise.predict.predict import read_rows, series_as_dict
from treewise.train.true_labels import with_levels_of
from treewise.tree.arrays import Label
from treewise.tree.tree import Tree

MOST_SHOWN = 20  # rows of a table that readers are shown


class DesiredAnswer(NamedTuple):
    """What is asked of an explanation beside the path."""

    to: Any = None
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Displayable):
    """Why the tree answers a row as it does.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3")
    >>> why = tree.explain({"GPA": "3.7", "University": "top20", "Published": "no"})
    >>> print(why)
    Class = P (100.0 %: 1 of 1 row like this), because GPA is 3.7, Published is no and University is
    top20.
    Would be N (100.0 %: 4 of 4 rows like that) if GPA were 3.5.
    Recommendation was not given and is not needed.
    step  node  question            value  rows    % P  moved
       0     0  all rows                     12   50.0
       1     2  GPA = 3.7           3.7       5   60.0  +10.0
       2     3  Published = no      no        3   33.3  −26.7
       3     5  University = top20  top20     1  100.0  +66.7
    >>> why.prediction, why.base, why.answer, {name: round(part, 3) for name, part in why.contributions.items()}
    ('P', 0.5, 1.0, {'GPA': 0.1, 'Published': -0.267, 'University': 0.667})
    """

    survey: TreeContext  # of the tree; shared by the rows of a table
    way: RowExplanationPath
    wish: DesiredAnswer
    given: tuple[str, ...] | None = None  # the columns a typed row mentions; None for a row of a table
    row: int | None = None  # its number in the table, from 1

    @property
    def tree(self) -> Tree:
        """The tree that answers."""
        return self.survey.tree

    @property
    def prediction(self) -> Label:
        """The class or value predicted."""
        return self.way.prediction

    @property
    def steps(self) -> tuple[PathStep, ...]:
        """The tests the row met, in order."""
        return self.way.steps

    @property
    def node(self) -> int:
        """The node where the row ends."""
        return self.way.end

    @property
    def base(self) -> float | None:
        """What the tree answers before it asks: the share of the class predicted, or the mean, over all rows."""
        return self.way.start

    @property
    def answer(self) -> float | None:
        """The probability of the class predicted, or the value."""
        return self.base if not self.steps else self.steps[-1].after

    @cached_property
    def contributions(self) -> dict[str, float]:
        """How much the tests on each column moved the answer on this row's path; they add up to ``answer - base``.

        Empty where the tree knows too little of its inner nodes, as one written by hand does.
        """
        moved: dict[str, list[float]] = {}
        for step in self.steps:
            if step.moved is None:
                return {}
            moved.setdefault(step.column, []).append(step.moved)
        return {column: math.fsum(parts) for column, parts in moved.items()}

    @cached_property
    def change(self) -> Counterfactual | None:
        """The nearest change that would alter the decision, or make it what was wished for; None if there is none."""
        wanted = read_wish(self.tree, self.wish.to, self.prediction)
        if wanted is None or wanted(self._place):
            return None
        cells = {name: cell for name, cell in self.way.cells.items() if self.given is None or name in self.given}
        return nearest_counterfactual(self.survey, cells, wanted, self.wish.fixed)

    @property
    def _place(self) -> Any:
        return self.tree.classes.index(self.prediction) if self.tree.classes else self.prediction

    @property
    def sentence(self) -> str:
        """The answer, its grounds and its reasons, in one sentence."""
        return sentence(self.survey, self.way)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is to be said: the answer, what would alter it, and what was not needed."""
        return (self.sentence, *self._on_change(), *other_sentences(self.tree, self.way, self.given))

    def _on_change(self) -> list[str]:
        to, fixed = self.wish
        if self.change is not None:
            return change_sentence(self.tree, self.change, self.survey.estimate)
        wanted = read_wish(self.tree, to, self.prediction)
        if wanted is None or (to is None and len(self.tree.classes) < 2):
            return []
        if wanted(self._place):
            return [f"It is {safe(to)} already."]
        leaves = f" that leaves {together([safe(name) for name in fixed])} alone" if fixed else ""
        return [f"No change{leaves} would {'alter the answer' if to is None else f'make it {safe(to)}'}."]

    def result_table(self) -> ResultTable:
        """Return the steps as a table: the data, without words."""
        numbers = self.tree.task == "regression"
        what = self.tree.target.name if numbers else f"% {self.prediction}"
        write = format_rounded if numbers else format_percent
        headings = [
            ColumnSpec("step", "count"),
            ColumnSpec("node", "count"),
            ColumnSpec("question"),
            ColumnSpec("value"),
            ColumnSpec("rows", "count"),
            ColumnSpec("value_after" if numbers else "probability", "number", what, write),
            ColumnSpec("moved", "number", "moved", signed if numbers else signed_percent),
        ]
        rows: list[tuple[Any, ...]] = [(0, 0, "all rows", None, int(self.tree.arrays.rows[0]), self.base, None)]
        rows += [
            (i, step.to, step.question, step.cell.text or step.cell.odd, step.rows, step.after, step.moved)
            for i, step in enumerate(self.steps, start=1)
        ]
        if self.base is None:  # a tree written by hand knows its path alone
            headings, rows = headings[:4], [row[:4] for row in rows]
        title = "" if self.row is None else f"row {self.row:,}"
        return ResultTable(title, tuple(headings), rows, row_name="step")

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the table as readers see it, with the sentences above it."""
        return (replace(self.result_table(), above=self.sentences),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        steps = [
            {"node": s.node, "question": s.question, "column": s.column, "value": s.cell.text or None}
            | ({"odd": s.cell.odd} if s.cell.odd else {})
            | {"to": s.to, "rows": s.rows, "after": s.after, "moved": s.moved}
            for s in self.steps
        ]
        found = {
            **({} if self.row is None else {"row": self.row}),
            "target": self.tree.target.name,
            "prediction": self.prediction,
            "answer": self.answer,
            "base": self.base,
            "node": self.node,
            "sentences": list(self.sentences),
            "contributions": self.contributions,
            "steps": steps,
            "change": None if self.change is None else change_dict(self.change),
        }
        return {name: to_plain(value) for name, value in found.items()}


def change_dict(change: Counterfactual) -> dict[str, Any]:
    """Return a change as plain values."""
    moves = [{"column": m.column, "to": m.to, "condition": m.condition, "distance": m.distance} for m in change.moves]
    return {"prediction": change.prediction, "node": change.node, "distance": change.distance, "moves": moves}


def signed(value: float) -> str:
    """Write a move with its sign.

    >>> signed(2.5), signed(-0.25), signed(0.0)
    ('+2.5', '−0.25', '0')
    """
    return format_rounded(0.0) if value == 0 else f"{'+' if value > 0 else '−'}{format_rounded(abs(value))}"


def signed_percent(value: float) -> str:
    """Write a move of a share in percent with its sign.

    >>> signed_percent(0.25), signed_percent(-0.0004)
    ('+25.0', '−0.0')
    """
    return "0.0" if value == 0 else f"{'+' if value > 0 else '−'}{format_percent(abs(value))}"


class Explanations(Sequence[Explanation], Displayable):
    """The explanations of several rows, each made when it is asked for.

    >>> import treewise as tw
    >>> found = tw.grow("admissions", preset="id3").explain("admissions")
    >>> len(found), found[4].sentence
    (12, 'Class = P (100.0 %: 1 of 1 row like this), because GPA is 3.7, Published is no and University is top20.')
    """

    def __init__(
        self, ways: RowExplanationPaths, rows: Sequence[int], wish: DesiredAnswer, given: Sequence[tuple[str, ...]] = ()
    ) -> None:
        self._ways, self._rows, self._wish, self._given = ways, rows, wish, given
        self._survey = TreeContext(ways.tree, ways.estimate)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        row = self._rows[place]
        given = self._given[place] if self._given else None
        number = None if self._given and len(self) == 1 else row + 1
        return Explanation(self._survey, self._ways[row], self._wish, given, number)

    def result_table(self) -> ResultTable:
        """Return all steps as one table."""
        rows: list[tuple[Any, ...]] = []
        headings: tuple[ColumnSpec, ...] = (ColumnSpec("row", "count"),)
        for item in self:
            sheet = item.result_table()
            headings = (headings[0], *sheet.columns)
            rows += [(item.row, *line) for line in sheet.rows]
        return ResultTable("", headings, rows)

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return one table a row, for the first few."""
        shown = [sheet for item in self[:MOST_SHOWN] for sheet in item.result_tables()]
        if len(self) > MOST_SHOWN:
            shown[-1] = replace(shown[-1], below=(f"… {plural(len(self) - MOST_SHOWN, 'more row')}",))
        return tuple(shown)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {"explanations": [item.to_dict() for item in self]}


def explain(tree: Tree, data: Any, to: Any = None, fixed: Any = (), estimate: Any = None) -> Any:
    """Explain the prediction for a single row; for a table, for each of its rows."""
    data = series_as_dict(tree, data)
    table, single = read_rows(tree, data)
    wish = DesiredAnswer(to, check_fixed(tree, fixed))
    if not single:
        return explain_rows(tree, table, range(len(table)), wish, estimate)
    given = tuple(map(str, data)) if isinstance(data, Mapping) else tree.columns
    tree.leaves(tree.encode(data))  # raises where the path tests a column that the row omits
    return explain_typed(tree, table, [given], wish, estimate)[0]


def explain_rows(
    tree: Tree, table: Table, rows: Sequence[int], wish: DesiredAnswer, estimate: Any = None
) -> Explanations:
    """Explain some rows of a table, by their numbers from 0; a tree written by hand knows the levels of the table."""
    tree = with_levels_of(tree, table)
    check_wish(tree, wish.to)
    return Explanations(RowExplanationPaths(tree, table, estimate), rows, wish)


def explain_typed(
    tree: Tree, table: Table, given: Sequence[tuple[str, ...]], wish: DesiredAnswer, estimate: Any = None
) -> Explanations:
    """Explain rows that were typed, of each of which some columns are given."""
    check_wish(tree, wish.to)
    return Explanations(RowExplanationPaths(tree, table, estimate), range(len(table)), wish, given)
