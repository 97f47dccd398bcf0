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

from treewise._lib.text import format_percent, safe
from treewise.cli.new_values import NewValues
from treewise.cli.output import remark
from treewise.cli.param_types import in_options
from treewise.errors import ColumnError, did_you_mean

if TYPE_CHECKING:
    import numpy.typing as npt

    from treewise.data.table import Table
    from treewise.predict.predict import Answers, EncodedRows
    from treewise.tree.model import Model
    from treewise.tree.tree import Tree

_LEAVE_OPEN = "An unknown value can be left empty: COLUMN="


@dataclass(frozen=True)
class Extras:
    """The outputs besides the prediction; what they need of other tables is computed once."""

    model: Model
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
        self.residual_ranges, self.node_quantiles  # noqa: B018 - before anything is predicted

    @cached_property
    def residual_ranges(self) -> npt.NDArray[Any] | None:
        """The ends of the residuals at each node, where there are calibration rows."""
        if self.calibration is None:
            return None
        from treewise.evaluate.prediction_intervals import residual_ranges
        from treewise.tree.tree import Tree

        assert isinstance(self.model, Tree)
        return residual_ranges(self.model, self.calibration, self.confidence)

    @cached_property
    def node_quantiles(self) -> npt.NDArray[Any] | None:
        """The quantiles of each node, where they are reported: nodes × quantiles."""
        if not self.quantiles:
            return None
        import numpy as np

        from treewise.predict.quantiles import leaf_quantiles
        from treewise.tree.tree import Tree

        assert isinstance(self.model, Tree)
        return leaf_quantiles(self.model, np.arange(len(self.model)), self.leaf_rows, self.quantiles)

    @property
    def interval_name(self) -> str:
        """The name of the interval of the leaf's share or mean."""
        from treewise.predict.confidence_intervals import interval_name

        return interval_name(self.model.fit_info.has_independent_rows, self.confidence)

    def notes(self, is_typed: bool = False) -> list[str]:
        """Note what the intervals are; a row that was typed in has them in its sentences."""
        from treewise.predict.confidence_intervals import TRAINING_RANGE, TRAINING_RANGE_NOTE

        notes = []
        if self.interval and not is_typed:
            of = "the mean" if self.model.task == "regression" else "each probability"
            notes.append(f"low and high: {self.interval_name} of {of} in the leaf")
        if self.interval and self.interval_name == TRAINING_RANGE:
            notes.append(TRAINING_RANGE_NOTE)
        if self.calibration is not None and not is_typed:
            name = f"{100 * self.confidence:g} % prediction interval"
            notes.append(
                f"prediction_low and prediction_high: {name} of a single row, from {safe(self.calibration.name)}"
            )
        if self.leaf_rows is not None and not is_typed:
            notes.append(f"q_…: quantiles of the targets in the leaf, among the rows of {safe(self.leaf_rows.name)}")
        return notes


@dataclass(frozen=True)
class Predictor:
    """A model, rows it predicts, and what to report in addition to the prediction."""

    model: Model
    rows: EncodedRows
    extras: Extras

    @cached_property
    def answers(self) -> Answers:
        """The predictions of the rows, which are routed once."""
        with hint_for_typed_rows():
            return self.model.answers(self.rows, self.extras.estimate)

    @cached_property
    def probabilities(self) -> npt.NDArray[Any] | None:
        """The class probabilities, where they are reported."""
        is_reported = self.model.classes and (self.extras.proba or self.extras.interval)
        return self.answers.probabilities() if is_reported else None

    @cached_property
    def ends(self) -> npt.NDArray[Any] | None:
        """The ends of the confidence intervals, where they are reported."""
        return self.answers.intervals(self.extras.confidence) if self.extras.interval else None

    @cached_property
    def prediction_ends(self) -> npt.NDArray[Any] | None:
        """The ends of the prediction intervals, where there are calibration rows."""
        ranges = self.extras.residual_ranges
        return None if ranges is None else self.answers.values()[:, None] + ranges[self.answers.leaves]

    @cached_property
    def leaf_quantiles(self) -> npt.NDArray[Any] | None:
        """The quantiles of each row's leaf, where they are reported: rows × quantiles."""
        quantiles = self.extras.node_quantiles
        return None if quantiles is None else quantiles[self.answers.leaves]

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
                columns |= {f"q_{share:g}": quantiles[:, i] for i, share in enumerate(self.extras.quantiles)}
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

        sure, single = self.extras.interval_name, self.prediction_ends
        if self.model.task == "regression":
            lines = []
            if self.ends is not None:
                low, high = self.ends[row].tolist()
                is_known = -float("inf") < low <= high < float("inf")
                ends = f"{format_rounded(low)} to {format_rounded(high)}" if is_known else "unknown (one row)"
                lines.append(f"{sure} of the mean: {ends}")
            if single is not None:
                low, high = single[row].tolist()
                name = f"{100 * self.extras.confidence:g} % prediction interval of a single row"
                lines.append(f"{name}: {format_rounded(low)} to {format_rounded(high)}")
            if self.leaf_quantiles is not None:
                pairs = zip(self.extras.quantiles, self.leaf_quantiles[row].tolist(), strict=True)
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

    def new_values(self) -> NewValues:
        """Return what the model has never seen in these rows."""
        return NewValues.of(self.model, self.rows, self.answers.leaves)

    def notes(self) -> list[str]:
        """Note what the intervals are, and never-seen values on the path of a row, and where it ended."""
        return [*self.extras.notes(bool(self.rows.given)), *self.new_values().notes(self.model)]


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
