"""The optimal pruning methods find the best of all prunings of trees with up to 12 leaves."""

import math
from fractions import Fraction

import numpy as np
import pytest

import treewise as tw
from tests.support.brute_force_pruning import leaves_of, prunings, small_tables
from treewise.prune.nested_trees import find_nested_trees
from treewise.tree.arrays import LEAF

SEEDS = range(12)


def squared(tree, valid):
    return tree.evaluate(valid).rmse ** 2 * len(valid["y"])


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_reduced_error_bottom_up_is_the_smallest_of_least_error(regression):
    cut_some = 0
    for tree, valid in small_tables(SEEDS, regression):
        pruned = tree.prune("reduced_error", validation=valid)
        trees = [tree.prune(at=sorted(cut)) for cut in prunings(tree)]
        errors = [squared(t, valid) if regression else t.evaluate(valid).errors for t in trees]
        mine = squared(pruned, valid) if regression else pruned.evaluate(valid).errors
        assert mine == pytest.approx(min(errors), rel=1e-9)
        least = [t.n_leaves for t, e in zip(trees, errors, strict=True) if e <= min(errors) * (1 + 1e-9)]
        assert pruned.n_leaves == min(least)
        cut_some += pruned.n_leaves < tree.n_leaves
    assert cut_some > len(SEEDS) / 2


def test_reduced_error_top_down_follows_the_notes():
    """For each node from the root down: T' is kept when it errs no more than T."""
    for tree, valid in small_tables(SEEDS):
        cut = set()
        for node in range(len(tree)):
            if tree.arrays.kind[node] == LEAF or any(above in cut for above in tree.path(node)[:-1]):
                continue
            now, then = tree.prune(at=sorted(cut)) if cut else tree, tree.prune(at=sorted({*cut, node}))
            if then.evaluate(valid).errors <= now.evaluate(valid).errors:
                cut.add(node)
        pruned = tree.prune("reduced_error", validation=valid, order="top-down")
        assert pruned == tree.prune(at=sorted(cut)).with_(arrays=pruned.arrays)
        assert sorted(d["node"] for d in pruned.history[-1]["decisions"] if d["cut"]) == sorted(cut)


def exact_risk(tree, node):
    """Return the errors of a node on its training rows, as a fraction of all rows."""
    counts = [Fraction(w) for w in tree.counts(node).values()]
    return (sum(counts) - max(counts, default=0)) / Fraction(float(tree.arrays.weight[0]))


def test_cost_complexity_is_the_smallest_of_least_cost_at_every_price():
    """By errors, in exact fractions; at the alphas, between them, and beyond."""
    for tree, _ in small_tables(SEEDS):
        all_cuts = prunings(tree)
        risks = [sum(exact_risk(tree, leaf) for leaf in leaves_of(tree, cut)) for cut in all_cuts]
        sizes = [len(leaves_of(tree, cut)) for cut in all_cuts]
        nested = find_nested_trees(tree, "error")
        between = (nested.alpha[1:] + nested.alpha[:-1]) / 2
        for alpha in [*nested.alpha.tolist(), *between.tolist(), 2.0]:
            price = Fraction(alpha).limit_denominator(10**6)
            costs = [r + price * n for r, n in zip(risks, sizes, strict=True)]
            best = min(zip(costs, sizes, strict=True))
            pruned = tree.prune("cost_complexity", ccp_alpha=alpha, risk="error")
            assert pruned.n_leaves == best[1]
            risk = sum(exact_risk(pruned, node.id) for node in pruned if node.is_leaf)
            assert risk + price * pruned.n_leaves == best[0]


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_the_sequence_reports_what_its_trees_are(regression):
    for tree, _ in small_tables(SEEDS, regression):
        for risk in ("impurity", "error"):
            nested = find_nested_trees(tree, risk)
            for k in range(len(nested)):
                member = tree.prune(at=np.flatnonzero(nested.cut_at(k)).tolist())
                assert member.n_leaves == nested.n_leaves[k]
                again = find_nested_trees(member, risk)
                assert again.risk[0] == pytest.approx(nested.risk[k], abs=1e-12)
                if k:
                    pruned = tree.prune("cost_complexity", ccp_alpha=float(nested.alpha[k]), risk=risk)
                    assert pruned.n_leaves == member.n_leaves


def description_length(tree):
    """Return the message of ``mdl.py``'s page, written out with exact binomials."""
    k, total = len(tree.classes), 0.0
    for node in tree:
        total += 1
        if node.is_leaf:
            n, wrong = round(node.weight), round(node.weight - max(node.counts.values(), default=0))
            total += math.log2(k) + math.log2(n + 1) + math.log2(math.comb(n, wrong)) + wrong * math.log2(max(k - 1, 1))
            continue
        levels = len(tree.encoding_of(node.split.column).levels)
        tests = {"threshold": node.rows - 1, "subset": 2 ** (levels - 1), "multiway": 1}[node.split.kind]
        total += math.log2(len(tree.columns)) + math.log2(tests)
    return total


def test_mdl_is_the_shortest_description():
    for tree, _ in small_tables(SEEDS):
        pruned = tree.prune("mdl")
        lengths = {tree.prune(at=sorted(cut)).n_leaves: [] for cut in prunings(tree)}
        for cut in prunings(tree):
            member = tree.prune(at=sorted(cut))
            lengths[member.n_leaves].append(description_length(member))
        assert description_length(pruned) == pytest.approx(min(map(min, lengths.values())), rel=1e-9)
        assert pruned.history[-1]["bits"] == pytest.approx([description_length(tree), description_length(pruned)])


def test_gain_follows_the_chapter():
    """From the leaves up, again and again: children that are leaves and gain too little go."""
    for tree, _ in small_tables(SEEDS):
        for measure, threshold in (("accuracy", 0.05), ("criterion", 0.1)):
            now = tree
            while True:
                weak = [
                    node.id
                    for node in now
                    if not node.is_leaf
                    and all(now[child].is_leaf for child in node.children)
                    and gain_of(now, node, measure) < threshold
                ]
                if not weak:
                    break
                now = now.prune(at=weak)
            pruned = tree.prune("gain", threshold=threshold, measure=measure)
            assert pruned == now.with_(arrays=pruned.arrays)
            assert len(pruned) == len(now)
            assert all(node.stop == "pruned(gain)" for node in pruned if now[node.id].stop == "by_hand")


def gain_of(tree, node, measure):
    if measure == "criterion":
        return node.gain
    right = sum(max(tree[child].counts.values(), default=0) for child in node.children)
    return (right - max(node.counts.values())) / node.weight


def test_collapse_keeps_every_prediction_and_leaves_nothing_to_merge():
    for tree, valid in small_tables(SEEDS):
        pruned = tree.prune("collapse")
        assert pruned.predict(valid).tolist() == tree.predict(valid).tolist()
        same = [cut for cut in prunings(tree) if len(cut) == 1 and one_voice(tree, *cut)]
        assert pruned.n_leaves == min(
            (tree.prune(at=sorted(c)).n_leaves for c in covering(same)), default=tree.n_leaves
        )


def one_voice(tree, node):
    below = [n for n in tree if n.is_leaf and node in tree.path(n.id)]
    return len({n.prediction for n in below}) == 1


def covering(cuts):
    return [frozenset().union(*cuts)] if cuts else []


def test_a_tree_written_by_hand_collapses_too():
    tree = tw.parse("a <= 1\n    b <= 1 -> x\n    b > 1 -> x\na > 1 -> y")
    assert str(tree.prune("collapse")) == str(tw.parse("a <= 1 -> x\na > 1 -> y"))
    numbers = tw.parse("a <= 1\n    b <= 1 -> 0.5\n    b > 1 -> 0.5\na > 1 -> 2.5", task="regression")
    assert numbers.prune("collapse").predict({"a": 0, "b": 3}) == 0.5
