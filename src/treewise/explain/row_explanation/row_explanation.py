"""Explain the prediction for a row: sentences, a table of steps, contributions and the nearest counterfactual.

``explain`` follows a row through the tree (``path.py``) and finds what would change the prediction
(``counterfactual.py``); ``Explanation`` holds both as data and describes them in sentences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable, to_plain
from treewise._lib.text import format_count, format_percent, format_rounded, format_signed, format_spread, plural, safe
from treewise.data.encoding import Encoding
from treewise.data.table import Table
from treewise.explain.row_explanation.counterfactual import (
    CellChange,
    Counterfactual,
    CounterfactualRequest,
    check_request,
    nearest_counterfactual,
    parse_desired,
)
from treewise.explain.row_explanation.path import (
    MAX_LISTED,
    MISSING,
    NEVER_SEEN,
    DecisionPath,
    DecisionPaths,
    PathStep,
    TreeContext,
    displayed_path,
    shorten_levels,
)
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities, nodes_with_counts
from treewise.predict.predict import read_model_rows, series_as_dict
from treewise.show.node_stats import is_weighted
from treewise.train.target import adopt_levels
from treewise.tree.arrays import Label
from treewise.tree.display import class_of_label
from treewise.tree.regions.region import Condition, Levels, describe_bounds, unconstrained
from treewise.tree.splits import quote
from treewise.tree.tree import Tree

_MAX_SHOWN = 20  # rows of a table that are displayed


def explain(tree: Tree, data: Any, desired: Any = None, fixed: Any = (), estimate: Any = None) -> Any:
    """Explain the prediction for a single row; for a table, for each of its rows (``Tree.explain``)."""
    data = series_as_dict(tree, data)
    table, is_single = read_model_rows(tree, data)
    if not is_single:
        return explain_rows(tree, table, range(len(table)), desired, fixed, estimate)
    given = tuple(map(str, data)) if isinstance(data, Mapping) else tree.columns
    tree.leaves(tree.encode(data))  # raises where the path tests a column that the row omits
    return explain_typed(tree, table, [given], desired, fixed, estimate)[0]


def explain_rows(
    tree: Tree, table: Table, rows: Sequence[int], desired: Any = None, fixed: Any = (), estimate: Any = None
) -> Explanations:
    """Explain some rows of a table, by index; a hand-written tree takes the levels of the table."""
    tree = adopt_levels(tree, table)
    return Explanations(DecisionPaths(tree, table, estimate), rows, check_request(tree, desired, fixed))


def explain_typed(
    tree: Tree,
    table: Table,
    given: Sequence[tuple[str, ...]],
    desired: Any = None,
    fixed: Any = (),
    estimate: Any = None,
) -> Explanations:
    """Explain rows that were typed; ``given`` are the columns of each."""
    paths = DecisionPaths(tree, table, estimate)
    return Explanations(paths, range(len(table)), check_request(tree, desired, fixed), given)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Displayable):
    """Why the tree makes its prediction for a row.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3")
    >>> explanation = tree.explain({"GPA": "3.7", "University": "top20", "Published": "no"})
    >>> print(explanation)
    Class = P (100.0 %: 1 of 1 row like this), because GPA is 3.7, Published is no and University is
    top20.
    It would be N (100.0 %: 4 of 4 rows like that) if GPA were 3.5.
    Recommendation was not given and is not needed.
    step  node  condition           value  rows    % P  change
       0     0  all rows                     12   50.0
       1     2  GPA = 3.7           3.7       5   60.0   +10.0
       2     3  Published = no      no        3   33.3   -26.7
       3     5  University = top20  top20     1  100.0   +66.7
    >>> explanation.prediction, explanation.base, explanation.output
    ('P', 0.5, 1.0)
    >>> {column: round(value, 3) for column, value in explanation.contributions.items()}
    {'GPA': 0.1, 'Published': -0.267, 'University': 0.667}
    """

    context: TreeContext  # of the tree; shared by the rows of a table
    path: DecisionPath
    request: CounterfactualRequest
    given: tuple[str, ...] | None = None  # the columns of a typed row; None for a row of a table
    row: int | None = None  # its number in the table, from 1

    @property
    def tree(self) -> Tree:
        """The tree that makes the prediction."""
        return self.context.tree

    @property
    def prediction(self) -> Label:
        """The predicted class or value."""
        return self.path.prediction

    @property
    def steps(self) -> tuple[PathStep, ...]:
        """The splits on the path of the row, in order."""
        return self.path.steps

    @property
    def node(self) -> int:
        """The node at which the row stops."""
        return self.path.leaf

    @property
    def base(self) -> float | None:
        """The output of the root: the share of the predicted class, or the mean, over all rows."""
        return self.path.base

    @property
    def output(self) -> float | None:
        """The probability of the predicted class, or the value."""
        return self.base if not self.steps else self.steps[-1].after

    @cached_property
    def contributions(self) -> dict[str, float]:
        """How much the splits on each column changed the output on this path; they add up to ``output - base``.

        Empty if the inner nodes have no statistics, as in a hand-written tree.
        """
        parts: dict[str, list[float]] = {}
        for step in self.steps:
            if step.contribution is None:
                return {}
            parts.setdefault(step.column, []).append(step.contribution)
        return {column: math.fsum(some) for column, some in parts.items()}

    @cached_property
    def counterfactual(self) -> Counterfactual | None:
        """The nearest change of the row that would lead to another, or the desired, prediction; None if none does."""
        is_desired = parse_desired(self.tree, self.request.desired, self.prediction)
        if is_desired is None or is_desired(self._label):
            return None
        cells = {name: cell for name, cell in self.path.cells.items() if self.given is None or name in self.given}
        return nearest_counterfactual(self.context, cells, is_desired, self.request.fixed)

    @property
    def _label(self) -> Any:
        return self.tree.classes.index(self.prediction) if self.tree.classes else self.prediction

    @cached_property
    def displayed(self) -> Explanation:
        """The explanation in the words of the tree's display."""
        tree, display = self.tree, self.tree.display
        if display is None or display.is_applied:
            return self
        displayed = tree.displayed
        desired, fixed = self.request
        return replace(
            self,
            context=TreeContext(displayed, self.context.estimate),
            path=displayed_path(self.path, tree, displayed),
            request=CounterfactualRequest(
                desired if tree.task == "regression" or desired is None else display.label(_class_named(tree, desired)),
                tuple(map(display.name, fixed)),
            ),
            given=None if self.given is None else tuple(map(display.name, self.given)),
        )

    @property
    def sentence(self) -> str:
        """The prediction, its support and its reasons, in one sentence."""
        if self.displayed is not self:
            return self.displayed.sentence
        return _reason_sentence(self.context, self.path)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The prediction, what would change it, and which columns were not needed."""
        if self.displayed is not self:
            return self.displayed.sentences
        return (self.sentence, *self._counterfactual_sentences(), *_notes(self.tree, self.path, self.given))

    def _counterfactual_sentences(self) -> list[str]:
        desired, fixed = self.request
        if self.counterfactual is not None:
            return _describe_counterfactual(self.tree, self.counterfactual, self.context.estimate)
        is_desired = parse_desired(self.tree, desired, self.prediction)
        if is_desired is None or (desired is None and len(self.tree.classes) < 2):
            return []
        if is_desired(self._label):
            return [f"It is already {safe(desired)}."]
        keeping = f" that keeps {_join_words([safe(name) for name in fixed])} fixed" if fixed else ""
        effect = "change the prediction" if desired is None else f"make it {safe(desired)}"
        return [f"No change{keeping} would {effect}."]

    def result_table(self) -> ResultTable:
        """Return the steps as a table."""
        is_regression = self.tree.task == "regression"
        title = self.tree.target.name if is_regression else f"% {self.prediction}"
        write = format_rounded if is_regression else format_percent
        columns = [
            ColumnSpec("step", "count"),
            ColumnSpec("node", "count"),
            ColumnSpec("condition"),
            ColumnSpec("value"),
            ColumnSpec("rows", "count"),
            ColumnSpec("value_after" if is_regression else "probability", "number", title, write),
            ColumnSpec("contribution", "number", "change", format_signed if is_regression else _format_signed_percent),
        ]
        rows: list[tuple[Any, ...]] = [(0, 0, "all rows", None, int(self.tree.arrays.rows[0]), self.base, None)]
        rows += [
            (i, s.child, s.condition, s.cell.text or s.cell.status, s.rows, s.after, s.contribution)
            for i, s in enumerate(self.steps, start=1)
        ]
        if self.base is None:  # a hand-written tree has no statistics
            columns, rows = columns[:4], [row[:4] for row in rows]
        return ResultTable("" if self.row is None else f"row {self.row:,}", tuple(columns), rows, row_name="step")

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the table as it is displayed, with the sentences above it."""
        return (replace(self.result_table(), above=self.sentences),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        steps = [
            {"node": s.node, "condition": s.condition, "column": s.column, "value": s.cell.text or None}
            | ({"status": s.cell.status} if s.cell.status else {})
            | {"child": s.child, "rows": s.rows, "after": s.after, "contribution": s.contribution}
            for s in self.steps
        ]
        result = {
            **({} if self.row is None else {"row": self.row}),
            "target": self.tree.target.name,
            "prediction": self.prediction,
            "output": self.output,
            "base": self.base,
            "node": self.node,
            "sentences": list(self.sentences),
            "contributions": self.contributions,
            "steps": steps,
            "counterfactual": None if self.counterfactual is None else _counterfactual_dict(self.counterfactual),
        }
        return {name: to_plain(value) for name, value in result.items()}


def _class_named(tree: Tree, desired: Any) -> Label:
    """Return the class that was named by its text or its label."""
    return next(cls for cls in tree.classes if str(cls) == str(class_of_label(tree, desired)))


def _counterfactual_dict(counterfactual: Counterfactual) -> dict[str, Any]:
    changes = [
        {"column": c.column, "value": c.value, "condition": c.condition, "distance": c.distance}
        for c in counterfactual.changes
    ]
    return {
        "prediction": counterfactual.prediction,
        "node": counterfactual.node,
        "distance": counterfactual.distance,
        "changes": changes,
    }


def _format_signed_percent(value: float) -> str:
    return format_signed(value, format_percent)


class Explanations(Sequence[Explanation], Displayable):
    """The explanations of several rows, each made on access.

    >>> import treewise as tw
    >>> explanations = tw.grow("admissions", preset="id3").explain("admissions")
    >>> len(explanations), explanations[4].sentence
    (12, 'Class = P (100.0 %: 1 of 1 row like this), because GPA is 3.7, Published is no and University is top20.')
    """

    def __init__(
        self,
        paths: DecisionPaths,
        rows: Sequence[int],
        request: CounterfactualRequest,
        given: Sequence[tuple[str, ...]] = (),
    ) -> None:
        self._paths, self._rows, self._request, self._given = paths, rows, request, given
        self._context = TreeContext(paths.tree, paths.estimate)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        row = self._rows[i]
        given = self._given[i] if self._given else None
        number = None if self._given and len(self) == 1 else row + 1
        return Explanation(self._context, self._paths[row], self._request, given, number)

    def result_table(self) -> ResultTable:
        """Return all steps as one table."""
        rows: list[tuple[Any, ...]] = []
        columns: tuple[ColumnSpec, ...] = (ColumnSpec("row", "count"),)
        for explanation in self:
            table = explanation.result_table()
            columns = (columns[0], *table.columns)
            rows += [(explanation.row, *line) for line in table.rows]
        return ResultTable("", columns, rows)

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return one table per row, for the first few."""
        tables = [table for explanation in self[:_MAX_SHOWN] for table in explanation.displayed.result_tables()]
        if len(self) > _MAX_SHOWN:
            tables[-1] = replace(tables[-1], below=(f"… {plural(len(self) - _MAX_SHOWN, 'more row')}",))
        return tuple(tables)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {"explanations": [explanation.to_dict() for explanation in self]}


# -- sentences ------------------------------------------------------------------------------------------------


def _reason_sentence(context: TreeContext, path: DecisionPath) -> str:
    tree = context.tree
    conditions = {tree.columns[column]: condition for column, condition in context.conditions_at(path.leaf).items()}
    for step in path.steps[-1:]:  # if the row stays at a node, its split puts no condition on the column
        conditions.setdefault(step.column, unconstrained(tree.encoding_of(step.column)))
    reasons = [_reason(tree, column, condition, path) for column, condition in conditions.items()]
    prediction = describe_prediction(tree, path.answering, path.prediction, context.estimate, "like this")
    return f"{safe(tree.target.name)} = {prediction}, because {_join_words(reasons) or 'the tree has no split'}."


def _reason(tree: Tree, column: str, condition: Condition, path: DecisionPath) -> str:
    """Describe the value of one column, and the condition it satisfies."""
    name, cell = safe(column), path.cells[column]
    limits = _condition_limits(condition, tree.encoding_of(column))
    if cell.status == MISSING:
        return f"{name} is missing (treated like {limits})" if limits else f"{name} is missing"
    if cell.status == NEVER_SEEN:
        unknown = "never seen in training" if tree.arrays.rows[0] > 0 else "not mentioned in the tree"
        stays = any(step.stays and step.column == column for step in path.steps)
        treated = "" if stays or not limits else f", treated like {limits}"
        return f"{name} is {cell.text} ({unknown}{treated})"
    value = quote(cell.value) if isinstance(cell.value, str) else cell.text
    is_only_level = isinstance(condition, Levels) and condition.n == 1
    return f"{name} is {value}" if is_only_level or limits in ("", value) else f"{name} is {value} ({limits})"


def _condition_limits(condition: Condition, encoding: Encoding) -> str:
    """Return a condition without the column's name, ``> 1.5``, ``in {Bari, Rome}``, with long lists shortened."""
    if isinstance(condition, Levels) and condition.n > MAX_LISTED:
        n_excluded = len(encoding.levels) - condition.n
        negate = n_excluded < condition.n
        codes = [code for code in range(len(encoding.levels)) if condition.holds(code) != negate]
        if encoding.kind != "ordered" and codes:
            return f"{'not ' if negate else ''}in {shorten_levels([encoding.levels[code] for code in codes])}"
    return describe_bounds(condition, encoding)


def _notes(tree: Tree, path: DecisionPath, given: Sequence[str] | None) -> list[str]:
    """Describe a row that stays at an inner node, and columns that were not given and are not needed."""
    notes = []
    if path.steps and (last := path.steps[-1]).stays:
        node = "the root" if path.answering != path.leaf else f"node {path.leaf}, which splits on it"
        notes.append(f"The tree has no branch for this {safe(last.column)}; the prediction is that of {node}.")
    if given is not None:
        absent = [safe(name) for name in tree.columns if name not in given]
        if absent:
            verb = "was not given and is" if len(absent) == 1 else "were not given and are"
            notes.append(f"{join_or_count(absent, 'column')} {verb} not needed.")
    return notes


def _describe_counterfactual(tree: Tree, counterfactual: Counterfactual, estimate: LeafProbabilities) -> list[str]:
    prediction = describe_prediction(tree, counterfactual.answering, counterfactual.prediction, estimate, "like that")
    changes = _join_words([_describe_change(tree, change) for change in counterfactual.changes])
    unscaled = [change for change in counterfactual.changes if change.scale in ("thresholds", "none")]
    return [f"It would be {prediction} if {changes}.", *(_scale_note(tree, change) for change in unscaled)]


def _describe_change(tree: Tree, change: CellChange) -> str:
    if tree.encoding_of(change.column).is_categorical:
        return f"{safe(change.column)} were {quote(change.text)}"
    limits = f" ({change.limits})" if change.limits not in ("", change.text) else ""
    return f"{safe(change.column)} were {change.text}{limits}"


def _scale_note(tree: Tree, change: CellChange) -> str:
    """Explain the scale of a number's distance if it is not the interquartile range."""
    quartiles = tree.quartiles.get(change.column)
    reason = "is unknown" if quartiles is None else "is 0" if quartiles[0] == quartiles[1] else "is infinite"
    scaling = "scaled by the range of its thresholds" if change.scale == "thresholds" else "not scaled"
    return f"(The distance in {safe(change.column)} is {scaling}: its interquartile range {reason}.)"


def describe_prediction(
    tree: Tree, node: int, prediction: Label, estimate: LeafProbabilities, where: str = "there"
) -> str:
    """Describe the prediction of a node with its support: ``P (60.0 %: 3 of 5 rows like this)``."""
    view, has_weights = tree[node], is_weighted(tree)
    rows = plural(view.rows, "row") + (f" of weight {format_count(view.weight)}" if has_weights else "")
    source = int(nodes_with_counts(tree)[node])
    if tree.task == "regression":
        assert isinstance(prediction, float)
        if source != node:
            return f"{format_rounded(prediction)} (from node {source}: no training row {where})"
        sd = f", sd {format_spread(view.spread)}" if view.rows > 1 else ""
        return format_rounded(prediction) + (f" ({rows} {where}{sd})" if view.rows else "")
    text, counts = safe(prediction), tree.counts(source)
    if not counts:
        return text
    right, total = counts.get(prediction, 0.0), sum(counts.values())
    share = f"{format_percent(right / total)} %"
    if estimate != LeafProbabilities():
        probability = class_probabilities(tree, np.array([node]), estimate)[0, tree.classes.index(prediction)]
        share = f"{format_percent(probability)} % by {estimate}"
    if source != node:
        return f"{text} ({share}, from node {source}: no training row {where})"
    if has_weights:
        return f"{text} ({share}: weight {format_count(right)} of {format_count(total)} {where})"
    rows = f"{format_count(right)} of {format_count(total)} {'row' if total == 1 else 'rows'}"
    return f"{text} ({share}: {rows} {where})"


def _join_words(parts: Sequence[str]) -> str:
    """Join parts of a sentence.

    >>> _join_words(["a is 1"]), _join_words(["a is 1", "b is 2", "c is 3"])
    ('a is 1', 'a is 1, b is 2 and c is 3')
    """
    *first, last = parts or [""]
    return f"{', '.join(first)} and {last}" if first else last


def join_or_count(names: Sequence[str], noun: str) -> str:
    """Join a few names, or count many.

    >>> join_or_count(["a", "b"], "column"), join_or_count(list("abcdefg"), "column")
    ('a and b', '7 columns')
    """
    return _join_words(names) if len(names) <= MAX_LISTED else plural(len(names), noun)
