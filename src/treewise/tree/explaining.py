"""What a tree can be asked about itself and about rows: doors to ``explain/``.

Stands between ``tree/structure.py`` and ``tree/tree.py``, whose ``Tree`` inherits these methods. Their code lives downstream and
is imported when used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from treewise.tree.structure import Structure

if TYPE_CHECKING:
    from treewise.evaluate.importances import Importances
    from treewise.explain.rules import Rules
    from treewise.explain.shap import ShapValues
    from treewise.explain.subgroups.subgroups import Subgroups
    from treewise.explain.trace import Trace
    from treewise.tree.tree import Tree


@dataclass(frozen=True, eq=False, repr=False)
class Explaining(Structure):
    """The part of a tree that answers questions; only a ``Tree`` is ever made.

    >>> import treewise as tw
    >>> isinstance(tw.grow("xor"), Explaining)
    True
    """

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

        return explain(as_tree(self), row, desired, fixed, estimate)

    def shap(self, data: Any, *, estimate: Any = None) -> ShapValues:
        """Return what each column adds to each answer: exact Shapley values, which add up to it with ``base``.

        >>> import treewise as tw
        >>> found = tw.grow("admissions", preset="id3").shap("admissions")
        >>> (found.base + found.values.sum(axis=1)).round(6)[0, 1]
        np.float64(1.0)
        """
        from treewise.explain.shap import shap

        return shap(as_tree(self), data, estimate)

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
        """
        from treewise.explain.trace import trace

        return trace(
            as_tree(self), data, node=node, unit=unit, per=per, column=column, top=top, sample_weight=sample_weight
        )

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
        """Say which columns matter: by what their splits gain, or on a table by what the tree loses without them.

        Without ``data`` it is the impurity decrease, of the training rows, which favours columns with many different
        values. With ``data``, best of rows the tree has not seen, it is the permutation importance: how much worse the
        tree does when a column's values are dealt out to the rows at random.

        >>> import treewise as tw
        >>> tree = tw.grow("outlier")
        >>> [(c.column, c.splits, round(c.importance, 2)) for c in tree.importances().columns]
        [('x1', 2, 0.85), ('x2', 2, 0.15)]
        >>> [(c.column, round(c.importance, 2)) for c in tree.importances("outlier_validation").columns]
        [('x1', 0.34), ('x2', -0.03)]

        Parameters
        ----------
        data, target, sample_weight, drop_missing_target : the rows and their answers, as for ``evaluate``.
        measure : ``"error"``, ``"cost"`` (by the tree's costs; then the default) or ``"log_loss"``, by probabilities
            that ``estimate`` makes; for numbers ``"rmse"`` or ``"mae"``.
        repeats : how often each column is shuffled; 10 unless said.
        random_state : the seed of the shuffles; the same for any ``n_jobs``.
        confidence : of the interval for other rows like these, 0.95 unless said.
        n_jobs, progress : threads; a function that is told the share that is done.
        """
        from treewise.evaluate.importances import importances

        given = {name: value for name, value in locals().items() if name not in ("self", "data", "importances")}
        return importances(as_tree(self), data, **given)

    def rules(
        self,
        sort: str = "support",
        *,
        cls: Any = None,
        min_support: float = 0,
        confidence: float = 0.95,
    ) -> Rules:
        """Return the tree as rules, one a leaf: what is asked of each column, what is predicted, and how sure that is.

        Every row satisfies exactly one of them. ``print`` the rules, take ``to_frame()``, ``to_csv()`` or
        ``to_markdown()``; ``rules.covering(row)`` finds the one a row satisfies, ``rule.covers(row)`` asks one.

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
        sort : by ``"support"`` (rows), ``"probability"``, ``"lift"``, or in the order of the ``"node"``; rules that
            predict numbers by ``"support"``, ``"value"`` or ``"node"``.
        cls : the class whose probability and lift are meant; by default the one each rule predicts.
        min_support : leave out rules of fewer rows, or of a smaller share of them.
        confidence : of the intervals (Wilson's, of means Student's).
        """
        from treewise.explain.rules import rules

        return rules(as_tree(self), sort, cls, min_support, confidence)

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
    ) -> Subgroups:
        """Find groups worth knowing: nodes, inner ones too, whose share of a class (or mean) departs from the rest.

        Each group has exact counts, an interval, and a p-value corrected for how many were looked at; groups that
        repeat another one are left out (``.all_groups`` has them). On the rows the tree was grown on they all look too good:
        ``test``, a table it has not seen, tells which are found again.

        >>> import treewise as tw
        >>> found = tw.grow("outlier", max_leaf_nodes=3).subgroups("outlier", test="outlier_validation")
        >>> found[0], found[0].test.confirmed
        (x1 <= 4: star 0.0 % of 8 rows, against 91.7 % of 12 others, True)

        Parameters
        ----------
        data, target, drop_missing_target : the rows and their answers, as for ``evaluate``.
        cls : the class whose share is compared; by default the positive one of two, of more the one a node predicts.
        test : other rows, on which the groups are tried again.
        min_support : look at groups of so many rows, or such a share of them, only.
        confidence : of the intervals; a group is listed if its corrected p-value is below the rest to 1.
        """
        from treewise.explain.subgroups.subgroups import subgroups

        options: dict[str, Any] = {"min_support": min_support, "confidence": confidence}
        return subgroups(
            as_tree(self), data, cls, test=test, target=target, drop_missing_target=drop_missing_target, **options
        )


def as_tree(part: Explaining) -> Tree:
    """Return the tree that this is a part of: itself."""
    return cast("Tree", part)
