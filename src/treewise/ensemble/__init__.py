"""Many trees as one model: forests, extra-trees, bagging, boosting.

Stands above the tree: members grow, predict and explain themselves as any tree does; here is what many of them are
together.

    members.py    the nodes of all trees, packed: only what cannot be derived, in narrow arrays
    opening.py    one of them as an ordinary tree's arrays, with everything derived again
    units.py      what bags of rows are drawn from, the same for any order of rows
    model.py      ``Ensemble``: the value, and the doors to all one can do with it
"""

from __future__ import annotations

from treewise.ensemble.members import Members
from treewise.ensemble.model import Ensemble

__all__ = ["Ensemble", "Members"]
