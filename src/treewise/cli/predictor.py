"""Predictions for the command line: typed rows, answers as columns and as sentences, never-seen categories.

Beneath the verbs predict, draw and explain; written against ``Model``, for trees and ensembles alike. Rows are encoded
once and routed once, however many of the answers are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from treewise._lib.text import format_percent, plural, safe
from treewise.cli.output import remark
from treewise.cli.param_types import in_options
from treewise.errors import ColumnError, did_you_mean, join_few

if TYPE_CHECKING:
    import numpy.typing as npt

    from treewise.data.table import Table
    from treewise.predict.predict import Answers, EncodedRows
    from treewise.tree.model import Model
    from treewise.tree.tree import Tree

_LEAVE_OPEN = "An unknown value can be left empty: COLUMN="
_MAX_LOOKED_AT = 1000  # rows whose never-seen categories are named


@dataclass(frozen=True)
class Predictor:
    """A model, the rows it predicts, and what to report in addition to the prediction."""

    model: Model
    rows: EncodedRows
    proba: bool = False
    interval: bool = False
    confidence: float = 0.95
    estimate: str | None = None
    calibration: Table | None = None  # rows for prediction intervals
    quantiles: Sequence[float] = ()
    leaf_rows: Table | None = None  # rows whose targets have the quantiles

    def __post_init__(self) -> None:
        from treewise.predict.predict import check_classification

        if self.proba:
            check_classification(self.model, "predict_proba")

    @cached_property
    def answers(self) -> Answers:
        """What the model answers: one walk for everything below."""
        with hint_for_typed_rows():
            return self.model.answers(self.rows, self.estimate)

    @cached_property
    def probabilities(self) -> npt.NDArray[Any] | None:
        """The class probabilities, where they are reported."""
        is_reported = self.model.classes and (self.proba or self.interval)
        return self.answers.probabilities() if is_reported else None

    @cached_property
    def ends(self) -> npt.NDArray[Any] | None:
        """The ends of the confidence intervals, where they are reported."""
        return self.answers.intervals(self.confidence) if self.interval else None

    @cached_property
    def prediction_ends(self) -> npt.NDArray[Any] | None:
        """The ends of the prediction intervals, where there are calibration rows."""
        from treewise.evaluate.prediction_intervals import prediction_intervals
        from treewise.tree.tree import Tree

        if self.calibration is None:
            return None
        assert isinstance(self.model, Tree)
        return prediction_intervals(self.model, self.answers, self.calibration, self.confidence)

    @cached_property
    def leaf_quantiles(self) -> npt.NDArray[Any] | None:
        """The quantiles of each row's leaf, where they are reported: rows × quantiles."""
        from treewise.predict.quantiles import leaf_quantiles
        from treewise.tree.tree import Tree

        if not self.quantiles:
            return None
        assert isinstance(self.model, Tree)
        assert self.answers.leaves is not None
        return leaf_quantiles(self.model, self.answers.leaves, self.leaf_rows, self.quantiles)

    def columns(self) -> dict[str, Any]:
        """Return the predictions as columns: prediction, probabilities, intervals, quantiles.

        Labels are pairs of classes and their numbers.
        """
        model, probabilities, ends = self.model, self.probabilities, self.ends
        single, quantiles = self.prediction_ends, self.leaf_quantiles
        if model.task == "regression":
            columns: dict[str, Any] = {"prediction": self.answers.values()}
            for name, pair in (("mean", ends), ("prediction", single)):
                if pair is not None:
                    columns |= {f"{name}_low": pair[:, 0], f"{name}_high": pair[:, 1]}
            if quantiles is not None:
                columns |= {f"q_{share:g}": quantiles[:, i] for i, share in enumerate(self.quantiles)}
            return columns
        columns = {"prediction": (model.classes, self.answers.class_numbers())}
        for i, label in enumerate(model.classes):
            if probabilities is not None:
                columns[f"p_{label}"] = probabilities[:, i]
            if ends is not None:
                columns |= {f"p_{label}_low": ends[:, i, 0], f"p_{label}_high": ends[:, i, 1]}
        return columns

    def sentences(self) -> list[str]:
        """Say what is predicted for each row, and why: the tests on its path, or how far the trees agree."""
        from treewise.ensemble import Ensemble
        from treewise.explain.ensemble.explanation import describe_predictions
        from treewise.tree.tree import Tree

        if isinstance(self.model, Tree):
            reasons = _tree_sentences(self.model, self.answers)
        else:
            assert isinstance(self.model, Ensemble)
            reasons = [[sentence] for sentence in describe_predictions(self.model, self.rows.table)]
        return [line for i, lines in enumerate(reasons) for line in [*lines, *self._certainty(i)]]

    def _certainty(self, row: int) -> list[str]:
        from treewise._lib.text import format_rounded

        sure, single = self.interval_name, self.prediction_ends
        if self.model.task == "regression":
            lines = []
            if self.ends is not None:
                low, high = self.ends[row].tolist()
                is_known = -float("inf") < low <= high < float("inf")
                ends = f"{format_rounded(low)} to {format_rounded(high)}" if is_known else "unknown (one row)"
                lines.append(f"{sure} of the mean: {ends}")
            if single is not None:
                low, high = single[row].tolist()
                name = f"{100 * self.confidence:g} % prediction interval of a single row"
                lines.append(f"{name}: {format_rounded(low)} to {format_rounded(high)}")
            if self.leaf_quantiles is not None:
                pairs = zip(self.quantiles, self.leaf_quantiles[row].tolist(), strict=True)
                values = "  ".join(f"{share:g}: {format_rounded(value)}" for share, value in pairs)
                lines.append(f"quantiles of the leaf  {values}")
            return lines
        if self.probabilities is None:
            return []
        parts = []
        for i, (label, share) in enumerate(zip(self.model.classes, self.probabilities[row].tolist(), strict=True)):
            between = ""
            if self.ends is not None:
                low, high = self.ends[row, i].tolist()
                between = f" ({sure} {format_percent(low)} to {format_percent(high)})"
            parts.append(f"{safe(label)} {format_percent(share)} %{between}")
        return ["  ".join(parts)]

    @property
    def interval_name(self) -> str:
        """What the ends of the leaf's share or mean are called."""
        from treewise.predict.confidence_intervals import interval_name

        return interval_name(self.model.fit_info.has_independent_rows, self.confidence)

    def notes(self) -> list[str]:
        """Note what the intervals are, and never-seen values on the path of a row, and where it ended."""
        from treewise.predict.confidence_intervals import TRAINING_RANGE, TRAINING_RANGE_NOTE

        notes = []
        if self.interval and not self.rows.given:  # a row that was typed in has them in its sentences
            of = "the mean" if self.model.task == "regression" else "each probability"
            notes.append(f"low and high: {self.interval_name} of {of} in the leaf")
        if self.interval and self.interval_name == TRAINING_RANGE:
            notes.append(TRAINING_RANGE_NOTE)
        if self.calibration is not None and not self.rows.given:
            name = f"{100 * self.confidence:g} % prediction interval"
            notes.append(
                f"prediction_low and prediction_high: {name} of a single row, from {safe(self.calibration.name)}"
            )
        if self.leaf_rows is not None and not self.rows.given:
            notes.append(f"q_…: quantiles of the targets in the leaf, among the rows of {safe(self.leaf_rows.name)}")
        notes += note_new_missing(self.model, self.rows, self.answers.leaves)
        notes += note_new_fractions(self.model, self.rows)
        return [*notes, *note_unseen_categories(self.model, self.rows, self.answers.leaves)]


def encode_typed(model: Model, typed: Sequence[dict[str, Any]]) -> EncodedRows:
    """Encode rows typed in.

    For a tree, a column may be left out where the row's path does not test it, as in Python; an ensemble needs every
    column that some tree tests.
    """
    from treewise.data.table import read
    from treewise.predict.predict import EncodedRows, also_missing, encode_columns
    from treewise.tree.tree import Tree

    for row in () if isinstance(model, Tree) else typed:
        absent = [name for i in model.used_columns if (name := model.columns[i]) not in row]
        if absent:
            raise ColumnError(
                f'the row has no column "{safe(absent[0])}", which some of the trees use.'
                f"{did_you_mean(absent[0], row)}{also_missing(absent[1:])}",
                hint=_LEAVE_OPEN,
            )
    cells = [{**dict.fromkeys(model.columns), **row} for row in typed]
    table = read(cells, name="the row" if len(typed) == 1 else "the rows", na_values=model.na_values)
    return EncodedRows(table, encode_columns(model, table), given=tuple(typed))


def read_typed(model: Model, typed: Sequence[dict[str, Any]]) -> EncodedRows:
    """Encode rows typed in, and check that they mention every column that their paths test."""
    rows = encode_typed(model, typed)
    with hint_for_typed_rows():
        model.leaves(rows)
    return rows


@contextmanager
def hint_for_typed_rows() -> Iterator[None]:
    """Replace the hint of an error about an omitted column by how to leave a cell empty on the command line."""
    try:
        yield
    except ColumnError as error:
        raise ColumnError(error.rule, hint=_LEAVE_OPEN) from None


def remark_on_typed(model: Model, typed: Sequence[dict[str, Any]], notes: Sequence[str]) -> None:
    """Remark on typed columns that the model does not know, after the result; then write the other notes."""
    from treewise.tree.tree import Tree

    known = [*model.columns, model.target.name]
    subject = "the tree knows" if isinstance(model, Tree) else "the trees know"
    for name in dict.fromkeys(name for row in typed for name in row if name not in known):
        hint = did_you_mean(name, [column for column in model.columns if not any(row.get(column) for row in typed)])
        remark("note", f"{safe(name)}: {subject} no such column, and it is not looked at.{hint}")
    for note in notes:
        remark("note", in_options(note))


def note_unseen_categories(model: Model, rows: EncodedRows, leaves: npt.NDArray[Any] | None = None) -> list[str]:
    """Note categories that the model has never seen, in columns that it tests.

    With the leaves of a tree, only rows whose path tests the column count, and the note names their leaves.
    """
    import numpy as np

    from treewise.data.encoding import UNSEEN
    from treewise.tree.tree import Tree

    notes = []
    for i, (encoding, values) in enumerate(zip(model.encodings, rows.columns, strict=True)):
        if not encoding.is_categorical or values is None or not (unseen := values == UNSEEN).any():
            continue
        destination = ""
        if isinstance(model, Tree):
            leaves = model.leaves(rows) if leaves is None else leaves
            unseen &= np.array(_tests_above(model, i))[leaves]
            ends = [str(node) for node in np.unique(leaves[unseen]).tolist()]
            destination = f" → node{'s' if len(ends) > 1 else ''} {join_few(ends, most=5)}"
        at = np.flatnonzero(unseen)
        if len(at):
            column = rows.table[encoding.name]
            labels = sorted({column.format_cell(row) for row in at[:_MAX_LOOKED_AT].tolist()})
            unseen_labels = f"never-seen {join_few(labels, most=3)} in {plural(len(at), 'row')}"
            notes.append(f"{safe(encoding.name)}: {unseen_labels}{destination}")
    return notes


def note_new_missing(model: Model, rows: EncodedRows, leaves: npt.NDArray[Any] | None) -> list[str]:
    """Note values that are missing on the path of a row through a tree, in columns that were never missing in training.

    Such rows follow the larger branch, which no training row has confirmed.
    """
    import numpy as np

    from treewise.data import encoding as encode
    from treewise.tree.tree import Tree

    if not isinstance(model, Tree) or leaves is None or not model.arrays.rows[0] > 0:
        return []
    notes, a = [], model.arrays
    for i, (encoding, values) in enumerate(zip(model.encodings, rows.columns, strict=True)):
        if values is None or np.any(a.missing_rows[a.column == i] > 0):
            continue
        missing = encode.is_missing(encoding, values) & np.array(_tests_above(model, i))[leaves]
        if missing.any():
            count_text = f"missing in {plural(int(missing.sum()), 'row')}, never in training"
            notes.append(f"{safe(encoding.name)}: {count_text}; they follow the larger branch")
    return notes


def note_new_fractions(model: Model, rows: EncodedRows) -> list[str]:
    """Note numbers that are not whole in columns of whole numbers, or not 0 or 1 in columns of these.

    ``x <= 2``, as such a column's threshold 2.5 is displayed, is not the test of 2.3.
    """
    import numpy as np

    notes = []
    for encoding, values in zip(model.encodings, rows.columns, strict=True):
        if values is None or not encoding.numbers:
            continue
        present = values[~np.isnan(values)]
        is_binary = encoding.numbers == "binary"
        is_learned = (present == 0) | (present == 1) if is_binary else np.floor(present) == present
        if not is_learned.all():
            fact = "neither 0 nor 1" if is_binary else "not a whole number"
            count_text = f"{fact} in {plural(int(np.count_nonzero(~is_learned)), 'row')}, unlike in training"
            notes.append(f"{safe(encoding.name)}: {count_text}; exact thresholds apply")
    return notes


def _tests_above(tree: Tree, column: int) -> list[bool]:
    """Whether the path to each node tests a column."""
    parent, tests = tree.arrays.parent.tolist(), (tree.arrays.column == column).tolist()
    above = [bool(tests[0])]
    for node in range(1, len(parent)):
        above.append(tests[node] or above[parent[node]])
    return above


def _tree_sentences(tree: Tree, answers: Answers) -> list[list[str]]:
    from treewise.evaluate import paths
    from treewise.explain.row_explanation.row_explanation import describe_prediction
    from treewise.predict.leaf_probabilities import LeafProbabilities
    from treewise.predict.predict import TreeAnswers

    assert isinstance(answers, TreeAnswers)
    row_sentences = []
    rows = zip(paths(tree, answers.rows.table), answers.predictions().tolist(), answers.nodes.tolist(), strict=True)
    for path, prediction, node in rows:
        *first, last = path.tests or ("all rows are the same to it",)
        because = f"{', '.join(first)} and {last}" if first else last
        estimator = LeafProbabilities.of(answers.estimate)
        lines = [
            f"{safe(tree.target.name)} = {describe_prediction(tree, node, prediction, estimator)}, because {because}."
        ]
        if path.stopping_column:
            source = "the root" if tree.empty_branch == "root" else "the node that tests it"
            lines.append(f"(Its {safe(path.stopping_column)} was never seen; the prediction is that of {source}.)")
        row_sentences.append(lines)
    return row_sentences
