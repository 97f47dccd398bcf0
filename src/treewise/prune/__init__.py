"""Pruning: a grown tree in, a smaller tree out, with the reasons in its history.

prune.py              ``tree.prune``: the registry of methods; applies and records a decision
grow_and_prune.py     ``pruning=``, ``validation=`` and ``ccp_alpha=`` of ``treewise.grow``
decision.py           what a method returns, and what methods share
by_size.py collapse.py cost_complexity.py gain.py mdl.py pessimistic.py reduced_error.py      one method each
nested_trees.py       the sequence of cost complexity; cp_table.py prints it as rpart does
subtree_raising.py    subtree raising of C4.5, for ``pessimistic.py``
validation_counts.py  errors of every node on a validation table
"""

from treewise.prune.nested_trees import NestedTrees, find_nested_trees
from treewise.prune.prune import prune

__all__ = ["NestedTrees", "find_nested_trees", "prune"]
