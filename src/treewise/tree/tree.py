"""The tree: an immutable value of nodes, splits and statistics, without any rows.

The centre of the data flow: everything that learns returns one (``train/grow.py``, ``train/edit.py``,
``formats/text_format``), everything that predicts, explains, prints or saves reads one. Its nodes and their
facts are in ``tree/structure.py``, what it shares with an ensemble in ``tree/model.py``; the methods here delegate
to code downstream, which is imported when used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from treewise.tree.arrays import LEAF, Label
from treewise.tree.editable import EditableTree

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions
    from treewise._lib.thread_pool import Progress
    from treewise.evaluate import Check
    from treewise.explain.rules import Rules
    from treewise.explain.subgroups.subgroups import Subgroups
    from treewise.explain.trace import Trace
    from treewise.explain.worked.likelihood import LeafLikelihoods
    from treewise.predict.costs import CostMatrix
    from treewise.predict.predict import EncodedRows, TreeAnswers
    from treewise.predict.single_row import RowPredictor
    from treewise.show.picture.picture import Picture
    from treewise.show.report.report import ReportPage
    from treewise.show.summary import TreeSummary


@dataclass(frozen=True, eq=False, repr=False)
class Tree(EditableTree):
    """A decision tree. Grow one with ``treewise.grow``, read one with ``treewise.load`` or ``treewise.parse``.

    >>> import treewise as tw
    >>> tree = tw.grow(tw.datasets.admissions(), target="Class", preset="id3")
    >>> tree
    <Tree Class: N, P · 12 rows · 6 leaves · depth 3>
    >>> tree[2].split
    Multiway(column='Published', missing=0, levels=('no', 'yes'), other=False)
    """

    # -- the protocol of a model ----------------------------------------------------------------------------------

    @cached_property
    def predictor(self) -> RowPredictor:
        """The tree prepared for single rows of plain cells; made on first use."""
        from treewise.predict.single_row import RowPredictor

        return RowPredictor(self)

    @property
    def used_columns(self) -> list[int]:
        """Positions of the columns that some split tests, in order."""
        return np.flatnonzero(self.split_counts).tolist()

    def where_used(self, column: int) -> str:
        """Return the first node that tests a column, for messages."""
        return f"node {int(np.flatnonzero(self.arrays.column == column)[0])}"

    @property
    def split_counts(self) -> npt.NDArray[np.int64]:
        """The number of splits on each column."""
        a = self.arrays
        return np.bincount(a.column[a.kind != LEAF], minlength=len(self.encodings))

    @property
    def impurity_decreases(self) -> npt.NDArray[np.float64]:
        """The impurity decrease of each column, per unit of the root's weight: 1 × columns."""
        a = self.arrays
        inner = np.flatnonzero(a.kind != LEAF)
        decrease = np.zeros(len(self.encodings))
        np.add.at(decrease, a.column[inner], a.gain[inner] * (a.weight[inner] / a.weight[0]))
        return decrease[None]

    @property
    def votes(self) -> npt.NDArray[np.float64]:
        """The vote weight of each tree: 1 for a single one."""
        return np.ones(1)

    @property
    def baseline(self) -> Label | None:
        """The prediction of the root; None for a tree that has seen no rows."""
        return self.prediction(0) if self.arrays.rows[0] > 0 else None

    @property
    def trees(self) -> tuple[Tree]:
        """The tree itself: the one member of this model."""
        return (self,)

    def leaves(self, rows: EncodedRows) -> npt.NDArray[np.int64]:
        """Return the number of the node each row ends at."""
        from treewise.predict.predict import check_mentioned, find_leaves

        leaves = find_leaves(self, rows.columns, len(rows))
        for i, row in enumerate(rows.given):
            check_mentioned(self, row, int(leaves[i]))
        return leaves

    def answers(self, rows: EncodedRows, estimate: Any = None, n_jobs: int = 0) -> TreeAnswers:
        """Walk the rows once and return what is predicted for them."""
        from treewise.predict.predict import TreeAnswers

        return TreeAnswers(self, rows, estimate)

    # -- predicting ---------------------------------------------------------------------------------------------

    def predict_interval(
        self, data: Any, *, confidence: float = 0.95, calibration: Any = None
    ) -> npt.NDArray[np.float64]:
        """Return the low and the high end for each row: one pair per class, or one for a number.

        Without ``calibration``, an interval for the estimate of the leaf: Wilson's for the share of a class, Student's
        for the mean. It is a confidence interval only if ``fit_info.has_independent_rows``: after
        ``grow(honest=0.5)``, or a refit on other rows. Otherwise it is a *training range*, too narrow, because its rows
        chose the splits.

        With ``calibration``, a table of rows that the tree has not seen: a prediction interval for a single number
        (split conformal), which contains ``confidence`` of such rows.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_depth=1)
        >>> tree.predict_interval({"flipper_length_mm": 190}).round(3)[0]
        array([0.635, 0.757])
        >>> tree.fit_info.has_independent_rows
        False
        """
        from treewise.evaluate.prediction_intervals import predict_row_interval
        from treewise.predict.predict import predict_interval

        if calibration is None:
            return predict_interval(self, data, confidence)
        return predict_row_interval(self, data, calibration, confidence)

    def predict_quantiles(
        self, data: Any, table: Any, quantiles: Sequence[float] = (0.1, 0.5, 0.9), sample_weight: Any = None
    ) -> npt.NDArray[np.float64]:
        """Return quantiles of the targets in each row's leaf, counted on the rows of a table: rows × quantiles.

        On the training table they are too narrow for new rows, as all figures of training rows are; rows that the tree
        has not seen give quantiles that hold. ``predict_interval(calibration=…)`` has a guarantee for intervals.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", "body_mass_g", max_depth=1, drop_missing_target=True)
        >>> tree.predict_quantiles({"species": "Gentoo"}, "penguins").tolist()
        [4400.0, 5000.0, 5700.0]
        """
        from treewise.predict.quantiles import predict_quantiles

        return predict_quantiles(self, data, table, quantiles, sample_weight)

    def interval(self, node: int, confidence: float = 0.95) -> dict[Label, tuple[float, float]] | tuple[float, float]:
        """Return the interval of the estimate at one node: of the share of each class, or of the mean.

        As ``predict_interval``, it is a training range unless ``fit_info.has_independent_rows``.

        >>> import treewise as tw
        >>> low, high = tw.grow("penguins", max_depth=1).interval(1)["Adelie"]          # 149 of 213 rows
        >>> round(low, 3), round(high, 3)
        (0.635, 0.757)
        """
        from treewise.predict.predict import node_interval

        return node_interval(self, node, confidence)

    @property
    def cost(self) -> CostMatrix | None:
        """The costs the tree predicts by; None where every mistake counts 1.

        >>> import treewise as tw
        >>> tw.grow("admissions", preset="id3").cost is None
        True
        """
        from treewise.predict.costs import cost_matrix_of

        return cost_matrix_of(self)

    def with_cost(self, cost: Any) -> Tree:
        """Return the same tree, predicting the class of least expected cost; None counts mistakes again.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_depth=1).with_cost({"Gentoo": {"Adelie": 500}})
        >>> tree[1].counts, tree[1].prediction
        ({'Adelie': 149.0, 'Chinstrap': 63.0, 'Gentoo': 1.0}, 'Chinstrap')
        """
        from treewise.predict.costs import with_cost

        return with_cost(self, cost)

    def check(
        self, data: Any, target: Any = None, *, drop_missing_target: bool = False, sample_weight: Any = None
    ) -> Check:
        """Check the tree against a table, leaf by leaf: which disagree with their rows, which no row reaches.

        Also which rows contradict each other: alike in every column the tree may ask, and of different classes. Made
        for hand-written trees; ``refit`` then corrects the leaves that disagree.

        >>> import treewise as tw
        >>> result = tw.parse("GPA = 4.0 -> P\\nGPA = 3.7 -> P\\nGPA = 3.5 -> P").check("admissions")
        >>> [leaf.rule for leaf in result.disagreeing], result.errors, result.errors_refitted
        (['GPA = 3.5'], 6.0, 2.0)
        """
        from treewise.evaluate import check

        return check(self, data, target, drop_missing_target=drop_missing_target, sample_weight=sample_weight)

    def leaf_likelihoods(self, data: Any, unit: str = "nats") -> LeafLikelihoods:
        """Return the log-likelihood ℓ(T) of a table leaf by leaf: −m·H(p) each, adding up (CS221 notes 6, section 1.2).

        >>> import treewise as tw
        >>> result = tw.grow("admissions", preset="id3", max_depth=1).leaf_likelihoods("admissions", unit="bits")
        >>> print(result.result_table().below[0])
        ℓ(T) = −4.8548 bits, the sum over the leaves
        """
        from treewise.explain.worked.likelihood import leaf_likelihoods

        return leaf_likelihoods(self, data, unit)

    # -- explaining -----------------------------------------------------------------------------------------------

    def explain(self, row: Any, *, desired: Any = None, fixed: Any = (), estimate: Any = None) -> Any:
        """Explain the prediction for a row (for each row of a table): its path, contributions and a counterfactual.

        ``desired`` is the prediction the counterfactual should reach: a class (default: any other), or for numbers a
        bound such as ``"> 30"``; ``fixed`` are columns that cannot change.

        >>> import treewise as tw
        >>> row = {"flipper_length_mm": 190, "bill_length_mm": 50, "island": "Dream"}
        >>> print(tw.grow("penguins", max_leaf_nodes=4).explain(row).sentences[1])
        It would be Adelie (96.7 %: 145 of 150 rows like that) if bill_length_mm were 43.3 (<= 43.35).
        """
        from treewise.explain.row_explanation.row_explanation import explain

        return explain(self, row, desired, fixed, estimate)

    def trace(
        self,
        data: Any,
        *,
        node: int | None = None,
        unit: str = "bits",
        per: str = "row",
        column: str | None = None,
        top: int | None = None,
        sample_weight: Any = None,
        terms: bool = False,
        rows: bool | str | Sequence[str] = False,
    ) -> Trace:
        """Show all the computations: every candidate of every node, with its arithmetic (CS221 section 5).

        ``print`` writes out all candidates where they are few, and each column's best test where they are many;
        ``.render("csv")`` lists everything, ``.render("latex", blanks=True)`` is an exercise sheet.

        >>> import treewise as tw
        >>> tree = tw.grow("admissions", preset="id3")
        >>> tree.trace("admissions", per="total")[0]["University"].formula
        '12 − [5·H(3/5) + 3·H(2/3) + 4·H(1/4)]'

        Parameters
        ----------
        data : a table with the tree's columns and its target; it need not be the one the tree was grown on.
        node : this node only; by default all.
        unit : of entropy, ``"bits"`` or ``"nats"``.
        per : gains per ``"row"`` of the node, or in ``"total"`` (the notes' m·H).
        column : write out this column alone, every test of it.
        top : the best few columns of each node only.
        sample_weight : a weight for each row: the name of a column, or an array.
        terms : write out every impurity term by term, −5/7·log 5/7 − 2/7·log 2/7.
        rows : list the rows of each node: by number (True), by a column, or by names given for all rows ("abcd").
        """
        from treewise.explain.trace import trace

        view: dict[str, Any] = {"unit": unit, "per": per, "column": column, "top": top, "terms": terms, "rows": rows}
        return trace(self, data, node=node, sample_weight=sample_weight, **view)

    def rules(
        self,
        sort: str = "support",
        *,
        cls: Any = None,
        min_support: float = 0,
        confidence: float = 0.95,
    ) -> Rules:
        """List the tree as rules, one per leaf, with one condition per column, coverage and probability.

        Every row satisfies exactly one rule. ``print`` the rules, or use ``to_frame()``, ``to_csv()`` or
        ``to_markdown()``; ``rules.covering(row)`` returns the rule of a row, ``rule.covers(row)`` checks one.

        >>> import treewise as tw
        >>> rules = tw.grow("penguins", max_leaf_nodes=3).rules(sort="probability")
        >>> rules[0]
        if flipper_length_mm <= 206.5 AND bill_length_mm <= 43.35 then species = Adelie (96.7 % of 150 rows)
        >>> rules.to_frame().select("prediction", "rows").rows()
        [('Adelie', 150), ('Gentoo', 131), ('Chinstrap', 63)]
        >>> rules.covering({"flipper_length_mm": 181, "bill_length_mm": 39.1}).prediction
        'Adelie'

        Parameters
        ----------
        sort : ``"support"`` (rows), ``"probability"``, ``"lift"`` or ``"node"``; for regression ``"support"``,
            ``"value"`` or ``"node"``.
        cls : the class whose probability and lift are reported; by default the one each rule predicts.
        min_support : leave out rules of fewer rows, or of a smaller share of the rows.
        confidence : of the intervals (Wilson; Student for means).
        """
        from treewise.explain.rules import rules

        return rules(self, sort, cls, min_support, confidence)

    def subgroups(
        self,
        data: Any,
        cls: Any = None,
        *,
        test: Any = None,
        target: Any = None,
        min_support: float = 0,
        confidence: float = 0.95,
        drop_missing_target: bool = False,
        permutations: int | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Subgroups:
        """Find subgroups: nodes, inner ones included, whose share of a class (or mean) differs from the rest.

        Each group has exact counts, an interval, and a p-value adjusted for the number of groups compared; redundant
        groups are left out (``.all_groups`` has them). On the training rows, by which the groups were chosen,
        differences are overstated and there are no p-values, unless ``permutations`` of the target repeat the whole
        search. ``test``, a held-out table, shows which groups are confirmed.

        >>> import treewise as tw
        >>> groups = tw.grow("outlier", max_leaf_nodes=3).subgroups("outlier", test="outlier_validation")
        >>> groups[0], groups[0].test.confirmed
        (x1 <= 4: star 0.0 % of 8 rows, against 91.7 % of 12 others, True)

        Parameters
        ----------
        data, target, drop_missing_target : the rows and their labels, as for ``evaluate``.
        cls : the class whose share is compared; by default the positive one of two, else the one a node predicts.
        test : held-out rows on which the groups are tested.
        min_support : the minimum number of rows of a group, or share of all rows.
        confidence : of the intervals; a group is listed if its adjusted p-value is below 1 - confidence.
        permutations : on the training rows, how many times the tree is grown and pruned on permuted targets, such as
            200; the p-value of a group is the share of these searches whose best group is as extreme.
        random_state, n_jobs, progress : of the permutations: seed, threads, a callback that receives the share done.
        """
        from treewise.explain.subgroups.permuted_search import PermutedSearch
        from treewise.explain.subgroups.subgroups import subgroups

        options: dict[str, Any] = {"min_support": min_support, "confidence": confidence}
        if permutations is not None:
            options["search"] = PermutedSearch(permutations, random_state, n_jobs, progress)
        return subgroups(self, data, cls, test=test, target=target, drop_missing_target=drop_missing_target, **options)

    # -- showing --------------------------------------------------------------------------------------------------

    def summary(self) -> TreeSummary:
        """Summarise the tree: its size, why its leaves stopped, the columns it needs and how it was made.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_depth=3, min_samples_leaf=10)
        >>> tree.summary().stops
        {'pure': 2, 'max_depth': 3, 'min_samples_leaf': 1}
        """
        from treewise.show.summary import TreeSummary

        return TreeSummary(self)

    def show(
        self,
        max_lines: int = 60,
        max_depth: int | None = None,
        node: int = 0,
        width: int | None = None,
        *,
        bars: bool = False,
        data: Any = None,
    ) -> None:
        """Print the tree, bounded: same-class subtrees folded, long lists shortened, with a header and notes.

        With ``bars`` each line ends with a small bar of its classes, or of where its number lies; with ``data``, a
        table with the numbers that are predicted, in a small histogram of these.

        >>> import treewise as tw
        >>> tw.grow("admissions", preset="id3", max_depth=1).show(bars=True)
        Class: N, P · 12 rows · 3 leaves · depth 1 · training error 16.7 %
                         predicts   rows      P    % P  ░ N  █ P
        0  all rows                   12      6   50.0  ░░░░░░██████
        1  ├─ GPA = 3.5  → N           4      0    0.0  ░░░░░░░░░░░░
        2  ├─ GPA = 3.7  → P           5      3   60.0  ░░░░░███████
        3  └─ GPA = 4.0  → P           3      3  100.0  ████████████
        """
        from treewise.show.text_tree.text_tree import read_samples, show_text

        options: dict[str, Any] = {"bars": bars or data is not None, "samples": read_samples(self, data)}
        print(show_text(self.displayed, max_lines=max_lines, max_depth=max_depth, node=node, width=width, **options))

    def draw(
        self,
        path: str | PathLike[str] | None = None,
        *,
        node: int = 0,
        max_depth: int | None = None,
        max_leaves: int = 60,
        direction: str = "down",
        highlight: Any = None,
        data: Any = None,
        show: Sequence[str] = (),
        unit: str = "bits",
        questions: bool = False,
        rows: bool | str | Sequence[str] = False,
        beside: Sequence[str] = (),
        fragment: bool = False,
        size: str | Sequence[float] | None = None,
        font_size: float | None = None,
        dpi: int | None = None,
    ) -> Picture:
        """Draw the tree as ``.svg`` or ``.tex``, which need nothing, or ``.png`` or ``.pdf`` (``treewise[plot]``).

        Returns the picture; a notebook shows it. Each box shows all facts about its node as a tooltip.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_leaf_nodes=4)
        >>> tree.draw(direction="right", highlight={"flipper_length_mm": 190, "bill_length_mm": 40})
        <Picture 881 × 379>
        >>> tree.draw(size="13.33x7.5", show=["impurity", "gain"], questions=True)                # a slide, in inches
        <Picture 1280 × 720>

        Parameters
        ----------
        path : a file, written atomically; without it the picture is only returned.
        node : draw from this node down.
        max_depth : maximum number of levels; deeper nodes are folded into "+ n more leaves".
        max_leaves : maximum number of leaf boxes; of a larger tree the nodes with the most rows are drawn, with a note.
        direction : ``"down"`` or ``"right"``.
        highlight : a single row (a dict of cells, a list, or the number of a row of ``data``), whose path is lit.
        data : a table with the tree's columns and its target, for small histograms in the boxes.
        show : further lines of the boxes: ``"counts"``, ``"impurity"`` (H, Gini, …) and ``"gain"``, per row of the
            node, in ``unit`` (``"bits"`` or ``"nats"``) where it is an entropy.
        questions : ask "Is x1 ≤ 0.5?" with the answers Y and N, as the ID3 notes do.
        rows : list the rows of ``data`` in the boxes, instead of histograms: by their numbers (True), by the values of
            a column, or by names given for all rows, such as ``"abcd"``.
        beside : what stands beside the tree: ``"table"``, the rows of ``data``, and ``"code"``, the tree as Python
            (chapter 8, figure 8.1).
        fragment : of LaTeX, write only the ``forest``, to be included in a document of your own.
        size : width and height in inches, (16, 9) or ``"16x9"``; the tree is drawn as large as it fits.
        font_size : of ordinary text, in points; all else is scaled with it.
        dpi : resolution of a PNG (default 192).
        """
        from treewise.show.picture.picture import draw

        options: dict[str, Any] = {"max_depth": max_depth, "max_leaves": max_leaves, "direction": direction}
        options |= {
            "show": show,
            "unit": unit,
            "questions": questions,
            "rows": rows,
            "beside": beside,
            "fragment": fragment,
        }
        options |= {"size": size, "font_size": font_size, "dpi": dpi}
        return draw(self, path, node=node, highlight=highlight, data=data, **options)

    def draw_steps(
        self,
        path: str | PathLike[str] | None = None,
        *,
        pruned: Tree | None = None,
        data: Any = None,
        x: str | None = None,
        y: str | None = None,
        across: int | None = None,
        max_steps: int = 12,
        **options: Any,
    ) -> Picture:
        """Draw the growth of the tree step by step, as a strip; ``"growth.html"`` writes a page with a slider.

        A node that is not split yet is impure, in a dashed frame; it has no colour, because it is not a leaf.

        >>> import treewise as tw
        >>> tw.grow("six_points").draw_steps()
        <Picture 871 × 392>

        Parameters
        ----------
        path : a file: ``.svg``, ``.png``, ``.pdf``, ``.tex``, or ``.html`` for a page that works without a network.
        pruned : a pruned version of this tree: after the growth, its cuts follow one by one, from below.
        data : the training table. The page also shows its rows in the plane of two columns and the candidates of the
            next split; with ``rows`` a strip lists them in the boxes.
        x, y : the columns of the plane on the page; by default the first two that the tree tests.
        across : how many steps stand beside each other in a strip (default 4).
        max_steps : of a longer growth the first steps and the last one are drawn.
        options : as for ``draw``: ``rows``, ``show``, ``questions``, ``direction``, ``size``, ``font_size``, ``dpi`` …
        """
        from treewise.show.picture.steps import draw_steps

        return draw_steps(self, path, pruned=pruned, data=data, x=x, y=y, across=across, max_steps=max_steps, **options)

    def draw_regions(
        self,
        data: Any,
        x: str,
        y: str,
        *,
        fixed: Mapping[str, Any] | None = None,
        target: str | None = None,
        numbers: bool | None = None,
        with_tree: bool = False,
        rows: bool | str | Sequence[str] = False,
        ax: Axes | None = None,
        **image: Unpack[ImageOptions],
    ) -> Axes:
        """Draw the decision regions over two columns, exactly, with the rows of a table (``treewise.draw_regions``).

        Other columns are fixed at their median or most frequent value in ``data`` unless ``fixed`` gives their value;
        ``with_tree`` draws the tree beside it. Needs matplotlib (``pip install "treewise[plot]"``); draws on ``ax``,
        or on a figure of its own, and returns the axes. ``path`` writes the figure: ``.png``, ``.svg`` or ``.pdf``;
        ``size`` is in inches, ``font_size`` in points, ``dpi`` the resolution of a PNG.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_leaf_nodes=4)
        >>> ax = tree.draw_regions("penguins", "bill_length_mm", "flipper_length_mm", fixed={"island": "Dream"})
        >>> [label.get_text() for label in ax.get_yticklabels()]                      # the range, and the threshold
        ['172', '206.5', '231']
        """
        from treewise.show.regions.regions import draw_regions

        options: dict[str, Any] = {"numbers": numbers, "with_tree": with_tree, "rows": rows, "ax": ax, **image}
        axes: Axes = draw_regions(self, data, x, y, fixed=fixed, target=target, **options)
        return axes

    def report(
        self,
        path: str | PathLike[str] | None = None,
        data: Any = None,
        *,
        test: Any = None,
        rows: str = "none",
        computations: bool | None = None,
        title: str | None = None,
        target: Any = None,
        test_target: Any = None,
    ) -> ReportPage | None:
        """Write a self-contained, interactive HTML report; without a path, return it, and a notebook shows it.

        >>> import treewise as tw, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = pathlib.Path(folder) / "report.html"
        ...     tw.grow("penguins", max_leaf_nodes=4).report(page, "penguins")
        ...     page.read_text(encoding="utf-8")[:15]
        '<!doctype html>'

        Parameters
        ----------
        path : the file, written atomically; None returns the report, which a notebook shows and ``.save(path)`` writes.
        data : the table the tree was grown on; another one is recognised and treated as ``test``. Without it, the page
            shows the tree alone.
        test : a table it has not seen: the errors on it are the ones to expect.
        rows : which rows of ``data`` are in the file: ``"none"``, ``"sample"`` or ``"all"``.
        computations : every node's candidates; by default where the table is small enough.
        title : the heading of the page.
        target, test_target : the answers of the two tables, where these have no column of the target's name: arrays, or
            the name of another column.
        """
        from treewise.show.report.report import ReportOptions, report

        return report(self, path, data, test, ReportOptions(rows, computations, title, target, test_target))

    def __str__(self) -> str:
        from treewise.show.text_tree.text_tree import render_tree

        return render_tree(self.displayed)

    def to_frame(self) -> Any:
        """Return the nodes as a polars dataframe, one row per node.

        >>> import treewise as tw
        >>> tw.grow("penguins", max_depth=1).to_frame().select("node", "parent", "condition", "rows").rows()[1]
        (1, 0, 'flipper_length_mm <= 206.5', 213)
        """
        from treewise.formats.export.node_table import node_table

        return node_table(self).to_frame()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from treewise.show.notebook import mime_bundle

        return mime_bundle(self.displayed)
