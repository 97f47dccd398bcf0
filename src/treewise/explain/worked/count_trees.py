"""How many trees there are: why trees are grown greedily.

"In principle we could evaluate all tree structures … the number of trees is exponential" (CS221 notes 6).
``train/optimal`` searches them where that can be done.
"""

from __future__ import annotations

from treewise._lib.checks import check_integer


def count_trees(features: int, classes: int = 2) -> int:
    """Return the number of trees over some binary features, each asked at most once on a path.

    A tree is a leaf with one of the classes, or one of the features with a tree of the others on either side.

    >>> [count_trees(n) for n in range(5)]
    [2, 6, 74, 16430, 1079779602]
    >>> len(str(count_trees(10)))                                      # digits
    627
    """
    check_integer("features", features, minimum=0)
    check_integer("classes", classes, minimum=1)
    trees = classes
    for n in range(1, features + 1):
        trees = classes + n * trees * trees
    return trees
