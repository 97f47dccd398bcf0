"""Many trees as one model: forests, extra-trees, bagging, boosting.

Stands above the tree: members grow, predict and explain themselves as any tree does; here is what many of them are
together.

    members.py    the nodes of all trees, packed: only what cannot be derived, in narrow arrays
    opening.py    one of them as an ordinary tree's arrays, with everything derived again
    bags.py       which rows and columns each tree is grown on
    recipes.py    what is asked of many trees beside the options of each
    growing.py    many trees at once, and more of them; oob.py: how good they are on rows they have not seen
    bagging.py    trees on bags of rows and of columns; forests.py: random forests and extra-trees
    boosting.py   AdaBoost; reweighing.py: the arithmetic of a round; learners.py: its trees;
                  rounds.py and worked.py: the rounds as a table, and one of them row by row
    units.py      what bags of rows are drawn from, the same for any order of rows
    results.py    small values that are kept with an ensemble
    model.py      ``Ensemble``: the value, and the doors to all one can do with it (more in predicting.py, reading.py)
    voting.py     rows → what every tree says → one answer
    evaluating.py what they predict against what a table says
    soundness.py  are these trees?
    files.py      all of it as one file, and back
"""

from __future__ import annotations

from treewise.ensemble.model import Ensemble
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.results import OutOfBag

__all__ = ["Ensemble", "OutOfBag", "PackedTrees"]
