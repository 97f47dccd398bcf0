"""Methods of ``Tree`` that edit, prune and replay it, and those that list the rows of its nodes.

``tree/tree.py`` derives ``Tree`` from this class. Trees are immutable: each method returns a new one. The work is done
downstream (``train/edit.py``, ``prune/``), which is imported when used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from treewise.tree.flat_view import FlatView

if TYPE_CHECKING:
    from treewise.explain.stability.result import Stability
    from treewise.prune.cp_table import CpTable
    from treewise.tree.tree import Tree


class EditableTree(FlatView):
    """The editing half of ``Tree``, which alone is instantiated.

    >>> import treewise as tw
    >>> isinstance(tw.grow("xor"), EditableTree)
    True
    """

    @property
    def _tree(self) -> Tree:
        return cast("Tree", self)

    def split(self, node: int, condition: str, data: Any, *, sample_weight: Any = None) -> Tree:
        """Split a leaf by hand and re-estimate the tree on a table; returns a new tree.

        Missing values go where the condition says (``"x1 <= 0.5 or missing"``), else where they gain most, or with the
        heavier branch if there are none. ``sample_weight`` is as in ``refit``.

        >>> import treewise as tw
        >>> data = tw.datasets.four_points()
        >>> tree = tw.grow(data, "y", max_depth=0).split(0, "x1 <= 0.5", data)      # "suppose we pick x1 <= 0.5"
        >>> tree.n_leaves
        2
        """
        from treewise.train.edit import split_leaf

        return split_leaf(self._tree, node, condition, data, sample_weight)

    def with_split(self, node: int, condition: str) -> Tree:
        """Replace the test of an inner node and keep everything else: subtrees, tests and predictions of the leaves.

        A small change of a tree may change its predictions almost everywhere, which is why trees are not learned by
        gradients (chapter 8). The first branch takes the rows that meet the condition. Counts of rows are dropped;
        ``refit`` counts again.

        >>> import treewise as tw
        >>> tree = tw.grow("six_points")
        >>> swapped = tree.with_split(0, "x2 <= 1.5")
        >>> tree.condition(1), swapped.condition(1), swapped.n_leaves
        ('x1 <= 0.5', 'x2 <= 1.5', 3)
        """
        from treewise.train.edit import replace_split

        return replace_split(self._tree, node, condition)

    def rows(self, data: Any, node: int = 0) -> npt.NDArray[np.int64]:
        """Return the rows of a table that pass through a node, counted from 1: S_l of CS221 notes 6, R_s of chapter 8.

        The rows of all leaves are disjoint and cover the table.

        >>> import treewise as tw
        >>> tree = tw.grow("admissions", preset="id3")
        >>> tree.rows("admissions", 3), tree.rows("admissions", 8)
        (array([5, 7, 8]), array([1, 2, 3]))
        """
        from treewise.predict.predict import rows_of_node

        return rows_of_node(self._tree, data, node)

    def refit(self, data: Any, *, sample_weight: Any = None) -> Tree:
        """Keep the splits and re-estimate every node's statistics on a table; returns a new tree.

        ``sample_weight`` is a column or an array; without it a weight column the tree was grown with is used again.

        >>> import treewise as tw
        >>> tree = tw.parse("x1 <= 0.5 -> 1\\nx1 > 0.5 -> 0", target="y").refit(tw.datasets.four_points())
        >>> tree[1].counts
        {0: 1.0, 1: 1.0}
        """
        from treewise.train.edit import refit

        return refit(self._tree, data, sample_weight)

    def round_thresholds(self, data: Any, share: float = 0.0, *, sample_weight: Any = None) -> Tree:
        """Replace each threshold by the roundest number that moves no row of a table, the training table.

        With ``share``, at most this share of a node's rows change branch, and every node is counted again.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_depth=1)
        >>> tree.condition(1), tree.round_thresholds("penguins").condition(1)
        ('flipper_length_mm <= 206.5', 'flipper_length_mm <= 206')
        >>> tree.round_thresholds("penguins", 0.05).condition(1)
        'flipper_length_mm <= 205'
        """
        from treewise.train.grow import prepare_like
        from treewise.train.round_thresholds import read_share, round_thresholds

        allowed = read_share(share)
        return round_thresholds(self._tree, prepare_like(self._tree, data, sample_weight), allowed or 0.0)

    def prune(self, method: str | None = None, **options: Any) -> Tree:
        """Cut subtrees that are not worth their leaves; returns a new tree, whose ``history[-1]`` says why.

        ``"cv"`` chooses the size by cross-validation on ``data=``, the training table: by ``loss=`` (``"error"``,
        ``"cost"``, ``"log_loss"``, ``"brier"``, ``"auc"``; ``"squared_error"``, ``"absolute_error"``,
        ``"poisson_deviance"``), ``rule=`` (``"1se"`` or ``"best"``), ``folds=``, ``repeats=``, ``groups=``, ``time=``,
        ``random_state=``.
        ``"reduced_error"`` (validation=), ``"gain"`` (threshold=, measure=), ``"cost_complexity"`` (ccp_alpha=, risk=),
        ``"pessimistic"`` (confidence=, raising=, data=), ``"mdl"``, ``"collapse"``; or without a method
        ``max_leaf_nodes=``, ``max_depth=``, ``at=[nodes]``.

        >>> import treewise as tw
        >>> tree = tw.grow("outlier").prune("reduced_error", validation="outlier_validation")
        >>> print(tree)
                       predicts   rows   star  % star
        0  all rows                 20     11    55.0
        1  ├─ x1 <= 4  → dot         8      0     0.0
        2  └─ x1 > 4   → star       12     11    91.7
        """
        from treewise.prune import prune

        return prune(self._tree, method, **options)

    @property
    def cp_table(self) -> CpTable:
        """The trees nested in this one, as rpart's ``printcp`` lists them; with held-out errors where these chose it.

        >>> import treewise as tw
        >>> print(tw.grow("penguins", max_leaf_nodes=4).cp_table)
        cp table of species: errors relative to those of the root, 0.55814 per row
              cp  nsplit  leaves  rel_error
           0.625       0       1     1.0000
         0.28125       1       2     0.3750
        0.026042       2       3     0.0938
               0       3       4     0.0677
        """
        from treewise.prune.cp_table import cp_table

        return cp_table(self._tree)

    def stability(self, data: Any, resamples: int = 100, **options: Any) -> Stability:
        """Measure how stable the structure is, on the table the tree was grown on: ``treewise.stability`` for a tree.

        It is grown and pruned again, by its own settings, on bootstrap samples of the table. ``random_state=``,
        ``n_jobs=`` and ``progress=`` are as in ``treewise.stability``.

        >>> import treewise as tw
        >>> result = tw.grow("penguins", max_leaf_nodes=4).stability("penguins", 20)
        >>> result.tree == tw.grow("penguins", max_leaf_nodes=4)
        True
        """
        from treewise.explain.stability.stability import stability_like

        return stability_like(self._tree, data, resamples, **options)

    def steps(self) -> Iterator[Tree]:
        """Iterate over the growth one split at a time, from the root alone to the whole tree.

        >>> import treewise as tw
        >>> [t.n_leaves for t in tw.grow("admissions", preset="id3").steps()]
        [1, 3, 4, 6]
        """
        from treewise.train.edit import replay_growth

        return replay_growth(self._tree)
