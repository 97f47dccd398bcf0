"""J48's error-based pruning, if Weka is installed.

J48 grows (``-U``: unpruned, though collapsed where a subtree errs no less), its tree is read and counted on the table;
then ``pessimistic`` must cut where J48 cuts without subtree raising (``-S``), and with ``raising`` where it does by
default. So nothing depends on how either program chooses its splits.
"""

from __future__ import annotations

import pytest

import treewise as tw
from tests.oracles.peers import JAR, Peer, random_peer_table, real, weka

pytestmark = pytest.mark.skipif(not JAR.exists(), reason="Weka is not installed (Debian: apt install weka)")


def as_tree(peer: Peer, data) -> tw.Tree:
    """Write a peer's tree in words, read it, and count it on the table."""
    if not peer.children:
        return tw.grow(data, "y", max_depth=0)
    lines = []
    open_nodes = [(peer, 0, iter(range(len(peer.children))))]
    while open_nodes:
        node, depth, rest = open_nodes[-1]
        i = next(rest, None)
        if i is None:
            open_nodes.pop()
            continue
        child = node.children[i]
        test = f"{node.column} = {node.levels[i][0]}"
        lines.append("    " * depth + test + ("" if child.children else " -> c00"))
        open_nodes.append((child, depth + 1, iter(range(len(child.children)))))
    tree = tw.parse("\n".join(lines), target="y")
    classes = tw.grow(data, "y", max_depth=0).target
    return tree.with_(target=classes).refit(data)


def shape(node, children, column):
    """Return a tree as nested tuples of the columns it asks, to be compared."""
    below = [shape(child, children, column) for child in children(node)]
    return (column(node), *below) if below else ()


def of_peer(peer):
    return shape(peer, lambda p: p.children, lambda p: p.column)


def of_tree(tree):
    return shape(0, tree.children, lambda node: tree.columns[tree.arrays.column[node]])


def compare(sheet) -> tuple[int, int]:
    """Compare both ways of pruning; return how many leaves there were before and after."""
    data = {**sheet.columns, "y": sheet.y}
    full = as_tree(weka("J48", sheet, "-U", "-M", "2"), data)
    pruned = full.prune("pessimistic")
    assert of_tree(pruned) == of_peer(weka("J48", sheet, "-S", "-M", "2"))
    raised = full.prune("pessimistic", raising=True, data=data)
    assert of_tree(raised) == of_peer(weka("J48", sheet, "-M", "2"))
    careful = full.prune("pessimistic", confidence=0.05)
    assert of_tree(careful) == of_peer(weka("J48", sheet, "-S", "-M", "2", "-C", "0.05"))
    return full.n_leaves, pruned.n_leaves


@pytest.mark.parametrize("name", ["car", "nursery", "mushroom"])
def test_real_tables(name):
    before, after = compare(real(name))
    assert after < before or name == "mushroom"


def test_drawn_tables():
    sizes = [compare(random_peer_table(seed, numbers=False)) for seed in range(6)]
    assert any(after < before for before, after in sizes)
