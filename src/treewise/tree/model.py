"""The model class: what a tree and an ensemble have in common, and the methods that work on either.

``Tree`` and ``Ensemble`` implement three steps, and everything else is written against them once:

    data ──encode──▶ EncodedRows ──leaves──▶ node numbers          (``apply``)
                                 └─answers─▶ Answers: classes or values, probabilities, intervals

A table is encoded once and walked once, however many of the answers are used. The methods delegate to code downstream,
which is imported when used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data.encoding import Encoding
from treewise.tree.arrays import Label, Target, Task
from treewise.tree.display import Display, apply_display, make_display
from treewise.tree.fit_info import FitInfo

if TYPE_CHECKING:
    from treewise.evaluate import Evaluation
    from treewise.evaluate.importances import Importances
    from treewise.evaluate.monitor import Monitoring
    from treewise.explain.shap import ShapValues
    from treewise.predict.predict import Answers, EncodedRows
    from treewise.predict.single_row import SingleRowPredictor
    from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]


class Model(ABC):
    """A trained or hand-written model: a ``Tree`` or an ``Ensemble``.

    >>> import treewise as tw
    >>> model = tw.grow("admissions", preset="id3")
    >>> model.task, model.classes, model.columns, model.na_values, model.fit_info.origin
    ('classification', ('N', 'P'), ('GPA', 'University', 'Published', 'Recommendation'), (), 'grown')
    >>> rows = model.encode("admissions")                                       # read and encode the table once …
    >>> model.leaves(rows)[:3].tolist(), model.answers(rows).predictions()[:3].tolist()      # … and walk it
    ([8, 8, 8], ['P', 'P', 'P'])
    >>> model.used_columns, model.split_counts.tolist(), model.impurity_decreases.round(2).tolist()
    ([0, 1, 2], [1, 1, 1, 0], [[0.6, 0.23, 0.17, 0.0]])
    >>> model.where_used(1), model.baseline, [tree.n_leaves for tree in model.trees], model.votes.tolist()
    ('node 3', 'N', [6], [1.0])
    >>> model.predictor.answer({"GPA": "4.0", "University": "top10", "Published": "no"})   # fast path for a single row
    'P'
    """

    encodings: tuple[Encoding, ...]
    target: Target
    criterion: str
    empty_branch: Literal["parent", "root"]
    history: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    display: Display | None
    if TYPE_CHECKING:  # a field of an ensemble, a property of a tree

        @property
        def votes(self) -> Floats:
            """The vote weight of each tree."""

    # -- facts ----------------------------------------------------------------------------------------------------

    @cached_property
    def fit_info(self) -> FitInfo:
        """How the model was made: origin, settings, missing markers, weights, costs, sampling."""
        return FitInfo.from_history(self.history)

    @property
    def na_values(self) -> tuple[str, ...]:
        """The texts that meant "missing" in the training table; they are read as missing in new tables too."""
        return self.fit_info.na_values

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns, in order."""
        return tuple(e.name for e in self.encodings)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes in order; with two, the second is the positive one. Empty for regression."""
        return self.target.classes

    @property
    def task(self) -> Task:
        """``classification`` or ``regression``."""
        return self.target.task

    def with_(self, **changes: Any) -> Self:
        """Return the same model with some fields replaced."""
        return replace(self, **changes)  # type: ignore[type-var]  # both kinds of model are dataclasses

    def with_display(
        self,
        labels: Mapping[Label, str] | None = None,
        display_names: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the same model with words for readers: labels of classes, names and units of columns.

        Text, pictures, rules, explanations and the report use them, write large numbers as 47,328, and show the
        threshold 2.5 of a column of whole numbers as ``<= 2``, and a test of a column of 0 and 1 as ``= 0``. What the
        model predicts, its file and its exports keep the original values and exact thresholds. Without arguments only
        numbers are reworded; ``model.with_(display=None)`` removes the words.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_depth=1).with_display(
        ...     display_names={"flipper_length_mm": "flipper"},
        ...     units={"flipper_length_mm": "mm"}, labels={"Gentoo": "gentoo"})
        >>> tree.displayed.condition(1), tree.condition(1), tree.displayed.classes[2], tree.prediction(2)
        ('flipper <= 206 mm', 'flipper_length_mm <= 206.5', 'gentoo', 'Gentoo')
        """
        return self.with_(display=make_display(self, labels, display_names, units))

    @property
    def displayed(self) -> Self:
        """The model in the words of its display, as readers see it; the model itself if it has none.

        >>> import treewise as tw
        >>> tw.grow("xor", max_depth=1, labels={1: "on"}).displayed.classes
        (0, 'on')
        """
        return apply_display(self)

    def _target_text(self) -> str:
        """The target for ``repr``: its name and first classes."""
        if self.task == "regression":
            return f"{safe(self.target.name)}: a number"
        more = f", … {len(self.classes)} classes" if len(self.classes) > 4 else ""
        return f"{safe(self.target.name)}: {', '.join(safe(c) for c in self.classes[:4])}{more}"

    # -- the protocol: what a tree and an ensemble each implement --------------------------------------------------

    @property
    @abstractmethod
    def predictor(self) -> SingleRowPredictor:
        """The model prepared for single rows of plain cells; made on first use."""

    @property
    @abstractmethod
    def used_columns(self) -> list[int]:
        """Positions of the columns that some split tests, in order."""

    @abstractmethod
    def where_used(self, column: int) -> str:
        """Return the first node that tests a column, for messages: ``node 3`` or ``node 3 of tree 0``."""

    @property
    @abstractmethod
    def split_counts(self) -> npt.NDArray[np.int64]:
        """The number of splits on each column."""

    @property
    def stored_encodings(self) -> tuple[Encoding, ...]:
        """The columns as files store them and equality compares them: without the levels of those that no split tests.

        A file of the model then names no patients or customers only because the table had a column of their names.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_depth=1)
        >>> tree.encoding_of("sex").levels, tree.stored_encodings[5].levels
        (('FEMALE', 'MALE'), ())
        """
        used = set(self.used_columns)
        return tuple(
            replace(encoding, levels=()) if encoding.kind == "nominal" and i not in used else encoding
            for i, encoding in enumerate(self.encodings)
        )

    @property
    @abstractmethod
    def impurity_decreases(self) -> Floats:
        """The impurity decrease of each column in each tree, per row: trees × columns."""

    @property
    @abstractmethod
    def baseline(self) -> Label | None:
        """The constant prediction without any split; None where it is not known."""

    @property
    @abstractmethod
    def trees(self) -> Sequence[Tree]:
        """The trees of the model; a single tree is its own only member."""

    @abstractmethod
    def leaves(self, rows: EncodedRows) -> npt.NDArray[Any]:
        """Return the number of the node each row ends at: one per row, or rows × trees."""

    @abstractmethod
    def answers(self, rows: EncodedRows, estimate: Any = None, n_jobs: int = 0) -> Answers:
        """Walk the rows once and return what is predicted for them."""

    def encode(self, data: Any) -> EncodedRows:
        """Read a table, or a single row, and encode the columns that the model tests."""
        from treewise.predict.predict import encode_rows

        return encode_rows(self, data)

    # -- prediction -----------------------------------------------------------------------------------------------

    def predict(self, data: Any, *, estimate: Any = None) -> Any:
        """Return the predicted class or value of each row of a table; for a single row (dict or list), that one.

        An ensemble averages the class probabilities, or values, of its trees; AdaBoost takes the class with the largest
        vote weight. Of equals the first class is taken. For a single tree, ``estimate`` is how the counts of a leaf
        become probabilities (``predict_proba``): the class is the one of least expected cost under them, and with
        ``"shrinkage"`` a value is shrunk towards the means above it.

        A table that stays where it is (a DuckDB relation, an Ibis table, a frame of Spark or Dask) gets its predictions
        there: the result is lazy, too; in a database all columns of the table and ``prediction``.

        >>> import treewise as tw
        >>> tree = tw.grow("admissions", preset="id3")
        >>> tree.predict(tw.datasets.admissions())[:3]
        array(['P', 'P', 'P'], dtype='<U1')
        >>> tree.predict({"GPA": 3.7, "Published": "no", "University": "top20"})
        'P'
        """
        if estimate is None and (answer := self.predictor.answer(data)) is not None:
            return answer
        if (lazy := self._predict_lazily(data, "prediction", estimate)) is not None:
            return lazy
        from treewise.predict.predict import predict

        return predict(self, data, estimate)

    def predict_batches(self, data: Any, *, estimate: Any = None) -> Iterator[npt.NDArray[Any]]:
        """Yield the predictions of one batch of rows after the other, in order, in constant memory.

        ``data`` is an iterable of tables, something that yields batches (a lazy frame of polars, a relation of DuckDB,
        a dataset or reader of Arrow, pandas' reader of chunks), or the names of files of any size, which are read in
        batches on all processors: CSV, TSV, Parquet and JSON lines, gzipped or not, a pattern or a folder of them.

        >>> import treewise as tw
        >>> tree = tw.grow("admissions", preset="id3")
        >>> batches = ({"GPA": [gpa, gpa], "University": ["top10", "top20"], "Published": ["no", "no"]}
        ...            for gpa in (3.3, 4.0))
        >>> [labels.tolist() for labels in tree.predict_batches(batches)]
        [['N', 'N'], ['P', 'P']]
        """
        from treewise.predict.batches import predict_batches

        return predict_batches(self, data, estimate)

    def _predict_lazily(self, data: Any, outputs: str, estimate: Any = None) -> Any:
        """Return predictions for a table that stays where it is; None for one that is read."""
        from treewise.data.frames import is_dask_frame
        from treewise.data.relation import is_relation

        if not is_dask_frame(data) and not is_relation(data):
            return None
        from treewise.sources.lazy import predict_lazily

        return predict_lazily(self, data, outputs, estimate)

    def predict_proba(self, data: Any, *, estimate: Any = None) -> Floats:
        """Return the probability of each class for each row, from the counts of the leaf it ends at.

        For an ensemble: the mean over its trees; for AdaBoost the normalised vote weight of each class (not
        calibrated). For a single tree, ``estimate`` is ``"maximum_likelihood"`` (the class shares, the default),
        ``"laplace"``, ``"m_estimate"`` (or ``"m_estimate=5"``) or ``"shrinkage"`` (or ``"shrinkage=25"``).

        >>> import treewise as tw
        >>> tw.grow("penguins", max_depth=1).predict_proba({"flipper_length_mm": 190}).round(3)
        array([0.7  , 0.296, 0.005])
        """
        lazy: Floats | None = self._predict_lazily(data, "probabilities", estimate)
        if lazy is not None:
            return lazy
        from treewise.predict.predict import predict_proba

        return predict_proba(self, data, estimate)

    def apply(self, data: Any) -> Any:
        """Return the number of the node each row ends at; for an ensemble one per tree: rows × trees.

        >>> import treewise as tw
        >>> tw.grow("admissions", preset="id3").apply(tw.datasets.admissions()).tolist()
        [8, 8, 8, 7, 5, 7, 6, 4, 1, 1, 1, 1]
        """
        if (lazy := self._predict_lazily(data, "leaf")) is not None:
            return lazy
        from treewise.predict.predict import apply

        return apply(self, data)

    def log_likelihood(self, data: Any, unit: str = "nats", *, estimate: Any = None) -> float:
        """Return the log-likelihood of a table under the model (CS221 notes 6, section 1).

        ``predict_proba`` explains ``estimate``; ``unit`` is ``"nats"`` or ``"bits"``.

        >>> import treewise as tw
        >>> tree = tw.grow("food", preset="id3", columns=["Hunger"])
        >>> round(tree.log_likelihood("food"), 3)                       # −4·H(3/4), the one impure leaf
        -2.249
        """
        from treewise.predict.predict import log_likelihood

        return log_likelihood(self, data, unit, estimate)

    # -- evaluation and explanation -------------------------------------------------------------------------------

    def evaluate(
        self,
        data: Any,
        target: Any = None,
        *,
        drop_missing_target: bool = False,
        sample_weight: Any = None,
        estimate: Any = None,
        cost: Any = None,
    ) -> Evaluation:
        """Compare predictions with a table whose answers are known: error with its interval, confusion, log loss.

        ``estimate`` is as in ``predict_proba``; ``cost`` is what mistakes cost (``treewise.grow``), by default what the
        tree predicts by; ``sample_weight`` is a column or an array. On its training rows a forest is nearly always
        right, which says little: grow it with ``oob_score=True`` for an estimate on rows its trees have not seen.

        >>> import treewise as tw
        >>> tw.grow("penguins", max_leaf_nodes=4).evaluate("penguins").errors
        13
        """
        from treewise.evaluate import evaluate

        options: dict[str, Any] = {"drop_missing_target": drop_missing_target, "estimate": estimate, "cost": cost}
        return evaluate(self, data, target, sample_weight=sample_weight, **options)

    def monitor(self, data: Any, *, confidence: float = 0.95) -> Monitoring:
        """Compare how new rows spread over the leaves with the training rows, whose counts the tree keeps.

        ``data`` is a table, an iterable of tables, or the names of files of any size (``predict_batches``). The result
        has the population stability index with its interval, each column's part of it, new levels, missing values and a
        verdict. For a single tree.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", target="species", max_leaf_nodes=4)
        >>> print(tree.monitor(tw.datasets.penguins().to_polars()[:150]).sentences[0])
        A large change: PSI 2.304 (95 % interval 1.507 to 2.665) over 4 leaves; chance alone gives up to 0.046.
        """
        from treewise.evaluate.monitor import monitor

        return monitor(self, data, confidence)

    def score(self, data: Any, target: Any = None, *, sample_weight: Any = None) -> float:
        """Return the accuracy on a table, for numbers R², as scikit-learn's ``score`` does; ``evaluate`` has the rest.

        >>> import treewise as tw
        >>> round(tw.grow("penguins", max_leaf_nodes=4).score("penguins"), 3)
        0.962
        """
        scores = self.evaluate(data, target, sample_weight=sample_weight).scores
        score = scores["accuracy" if self.classes else "r2"]
        return float("nan") if score is None else float(score)

    def importances(
        self,
        data: Any = None,
        target: Any = None,
        *,
        measure: str | None = None,
        repeats: int | None = None,
        random_state: int | None = None,
        sample_weight: Any = None,
        drop_missing_target: bool | None = None,
        estimate: Any = None,
        confidence: float | None = None,
        n_jobs: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Importances:
        """Return how much each column matters: impurity decrease, or on a table permutation importance.

        Without ``data``: the share of the training rows' impurity that each column's splits remove, for an ensemble
        the mean over its trees; it favours columns with many different values. With ``data``, preferably rows not used
        for training: how much worse the model gets when a column's values are shuffled.

        >>> import treewise as tw
        >>> tree = tw.grow("outlier")
        >>> [(c.column, c.splits, round(c.importance, 2)) for c in tree.importances().columns]
        [('x1', 2, 0.85), ('x2', 2, 0.15)]
        >>> [(c.column, round(c.importance, 2)) for c in tree.importances("outlier_validation").columns]
        [('x1', 0.34), ('x2', -0.03)]

        Parameters
        ----------
        data, target, sample_weight, drop_missing_target : the rows and their answers, as for ``evaluate``.
        measure : ``"error"``, ``"cost"`` (for a tree with costs, then the default) or ``"log_loss"`` (``estimate`` as
            in ``predict_proba``); for regression ``"rmse"`` or ``"mae"``.
        repeats : number of shuffles per column, 10 by default.
        random_state : seed of the shuffles; results do not depend on ``n_jobs``.
        confidence : of the interval for other rows like these, 0.95 by default.
        n_jobs, progress : number of threads; a function that is called with the finished share.
        """
        from treewise.evaluate.importances import importances

        given = {name: value for name, value in locals().items() if name not in ("self", "data", "importances")}
        return importances(self, data, **given)

    def shap(self, data: Any, *, estimate: Any = None, progress: Callable[[float], None] | None = None) -> ShapValues:
        """Return exact Shapley values: what each column adds to each prediction. With ``base`` they sum to it.

        The prediction is ``predict_proba``, or the value.

        >>> import treewise as tw
        >>> result = tw.grow("admissions", preset="id3").shap("admissions")
        >>> (result.base + result.values.sum(axis=1)).round(6)[0, 1]
        np.float64(1.0)
        """
        from treewise.explain.shap import shap

        return shap(self, data, estimate, progress)

    # -- files ----------------------------------------------------------------------------------------------------

    def save(self, path: Any, compact: bool | None = None, complete: bool = False) -> None:
        """Save the model as a JSON file, atomically; ``treewise.load`` reads it back, to the last bit.

        ``compact`` packs the node arrays: several times faster, but not readable by eye. By default models of more than
        10,000 nodes are packed. With ``complete``, the file also holds what no node needs: the levels of columns that
        no split tests, and the tests that were pruned. ``docs/format.md`` describes the file.

        >>> import treewise as tw, tempfile, pathlib
        >>> tree = tw.grow("admissions", preset="id3")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tree.save(pathlib.Path(folder) / "m.json")
        ...     tw.load(pathlib.Path(folder) / "m.json") == tree
        True
        """
        from treewise.formats.model_file.model_file import save

        save(self, path, compact, complete)

    def export(self, format: str = "text", **options: Any) -> Any:
        """Return the model in another format, with the options of that format.

        ``sql``, ``python`` and others run elsewhere and decide exactly as the model does; ``treewise.verify_export``
        proves it. ``text`` is complete, and ``treewise.parse`` reads it back; ``if-else`` is for readers. The formats
        and their options are listed in ``docs/shipping-a-tree.md``. The result is text; for a binary format bytes, for
        one of several files a dict from path to text.

        >>> import treewise as tw
        >>> print(tw.grow("penguins", max_depth=1).export("if-else"), end="")
        # species: Adelie, Chinstrap, Gentoo · 344 rows · 2 leaves · depth 1 · training error 20.9 %
        if flipper_length_mm <= 206.5:
            predict Adelie  # 149 of 213 rows
        else:  # flipper_length_mm > 206.5 or missing
            predict Gentoo  # 123 of 131 rows
        >>> tree = tw.grow("admissions", preset="id3")
        >>> tw.parse(tree.export("text")) == tree
        True
        """
        from treewise.formats.export.export import export

        return export(self, format, **options)

    def __getstate__(self) -> dict[str, str]:
        """Pickle, copy and skops keep the text of the model file, without what was cached for speed."""
        from treewise.formats.model_file.model_file import dumps

        return {"model_file": dumps(self, compact=self._pickle_compact, complete=True)}

    def __setstate__(self, state: dict[str, str]) -> None:
        """Restore the model from the text of its file, which is validated as it is read."""
        from treewise.formats.model_file.model_file import loads

        vars(self).update(vars(loads(state["model_file"])))

    _pickle_compact: ClassVar[bool | None] = None  # ensembles are always packed
