"""The tests on the way to a node, in words; of a very long way its beginning and its end.

Stands below ``paths.py``, which says them as a row meets them, and ``check.py``, which says them of leaves.
"""

from __future__ import annotations

from functools import cached_property

from treewise.tree.tree import Tree

LONGEST = 50  # tests; a longer way shows its beginning and its end, so that text stays linear in rows and leaves


class NodePaths:
    """The ways down one tree; what was said once is kept. ``missing`` says "or missing" where a branch is for both."""

    def __init__(self, tree: Tree, missing: bool = True) -> None:
        self._tree, self._missing = tree, missing
        self._words: dict[int, str] = {}

    def steps(self, node: int) -> list[int]:
        """Return the nodes on the way from below the root; of a very long way the beginning and the end.

        A negative number stands for so many that are left out.
        """
        depth, half = int(self._tree.depths[node]), LONGEST // 2
        if depth <= LONGEST:
            return list(self._tree.path(node)[1:])
        end = [node]
        while len(end) < half:
            end.append(int(self._tree.arrays.parent[end[-1]]))
        return [*self._tree.path(self._cuts[node])[1:], -(depth - 2 * half), *reversed(end)]

    def words(self, step: int) -> str:
        """Say the test that leads to a node; a negative number says how many are left out."""
        if step < 0:
            return f"… {-step:,} more tests …"
        if step not in self._words:
            self._words[step] = self._tree.condition(step) if self._missing else self._plain(step)
        return self._words[step]

    def _plain(self, step: int) -> str:
        tree = self._tree
        split, branch = tree.split_at(int(tree.arrays.parent[step])), tree.branch(step)
        assert split is not None
        assert branch is not None
        return split.condition(branch, tree.encoding_of(split.column))

    def rule(self, node: int) -> str:
        """Say the whole way to a node.

        >>> import treewise as tw
        >>> NodePaths(tw.grow("admissions", preset="id3")).rule(4)
        'GPA = 3.7 and Published = no and University = top10'
        """
        return " and ".join(map(self.words, self.steps(node))) or "all rows"

    @cached_property
    def _cuts(self) -> list[int]:
        """For each node its ancestor where a long way is cut; a node above the cut is its own."""
        cuts, parent, depth = (
            list(range(len(self._tree))),
            self._tree.arrays.parent.tolist(),
            self._tree.depths.tolist(),
        )
        for node in range(1, len(cuts)):
            if depth[node] > LONGEST // 2:
                cuts[node] = cuts[parent[node]]
        return cuts
