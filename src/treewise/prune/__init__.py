"""Pruning: a grown tree in, a smaller one out, with the reasons.

Above ``train/edit.py``, which cuts, and below the outlets. ``tree.prune(method, …)`` comes here.

front.py             what was asked → the method → a new tree, with the decisions at the end of its history
in_growth.py         ``pruning=``, ``validation=`` and ``ccp_alpha=`` of ``treewise.grow``
methods.py           the methods by name: a new one is a new file and one line there
decision.py           what a method returns; the walk from the leaves up that several share
risk.py              what a node costs as a leaf: impurity or error
seen.py              what a table says of every node: its rows there, and how the node errs on them
sequence.py          cost complexity: the nested sequence of trees, with their alphas
cross_validation.py  … which of them errs least on rows held out; cp_table.py lists them as rpart does
raising.py           C4.5's subtree raising
own_rows.py          the table a tree was grown on, given again, for folds and raising
reduced_error.py gain.py cost_complexity.py pessimistic.py mdl.py collapse.py by_size.py      one method each
"""

from treewise.prune.nested_trees import NestedTrees, find_nested_trees
from treewise.prune.prune import prune

__all__ = ["NestedTrees", "find_nested_trees", "prune"]
