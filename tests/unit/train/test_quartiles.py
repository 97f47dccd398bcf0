"""Quartiles of numeric columns: exact for any order, type and repetition of rows."""

import json
import math
import pickle

import numpy as np
import pytest

import treewise as tw
from treewise.formats.model_file.model_file import dumps, loads


def by_definition(values, weights):
    """The smallest value with at least a quarter, or three quarters, of the weight at or below it."""
    pairs = sorted((v, w) for v, w in zip(values, weights, strict=True) if v == v)
    total, ends = sum(w for _, w in pairs), []
    for part in (1, 3):
        up_to = 0
        for value, weight in pairs:
            up_to += weight
            if 4 * up_to >= part * total:
                ends.append(value + 0)  # -0.0 is 0.0
                break
    return tuple(ends)


def grown(x, weights=None):
    y = np.arange(len(x)) % 2
    return tw.grow({"x": x, "y": y}, "y", max_depth=1, sample_weight=weights)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 100, 1001])
def test_they_are_the_definition(n):
    rng = np.random.default_rng(n)
    x = rng.integers(0, max(2, n // 3), n).astype(float)
    if n > 4:
        x[rng.random(n) < 0.2] = np.nan
    assert grown(x).quartiles["x"] == by_definition(x, [1] * n)
    weights = rng.integers(1, 6, n)
    assert grown(x, weights).quartiles["x"] == by_definition(x, weights.tolist())


@pytest.mark.parametrize("weighted", [False, True])
def test_large_tables_are_counted_and_give_the_same(weighted):
    rng, n = np.random.default_rng(3), 6000
    table = {
        "spread": rng.normal(size=n).astype(np.float32),
        "gaps": np.where(rng.random(n) < 0.4, np.nan, rng.normal(size=n)),
        "few": rng.integers(-2, 3, n).astype(float),
        "heavy": np.where(rng.random(n) < 0.6, 0.5, rng.normal(size=n)),
        "skewed": np.exp(9 * rng.normal(size=n)),
        "long": 2**60 + rng.integers(0, 10**6, n),
        "same": np.full(n, 7.0),
        "rare": np.where(np.arange(n) == 17, 3.0, np.nan),
    }
    y, weights = rng.integers(0, 2, n), rng.integers(1, 9, n) if weighted else None
    definition = {
        name: by_definition(values.tolist(), weights.tolist() if weighted else [1] * n)
        for name, values in table.items()
    }
    for settings in (
        {"max_leaf_nodes": 2},  # counted in bins
        {"max_leaf_nodes": 2, "criterion": "gain_ratio"},  # sorted
        {"max_depth": 1},  # small enough for lists
    ):
        for jobs in (1, 3):
            tree = tw.grow({**table, "y": y}, "y", sample_weight=weights, n_jobs=jobs, **settings)
            assert tree.quartiles == definition
    numbers = tw.grow({**table, "y": rng.normal(size=n)}, "y", sample_weight=weights, max_leaf_nodes=2)
    assert numbers.quartiles == definition


def test_order_type_and_repetition_do_not_matter():
    rng = np.random.default_rng(0)
    x, weights = rng.integers(-50, 50, 200), rng.integers(0, 4, 200)
    y = rng.integers(0, 2, 200)
    trees = [
        tw.grow({"x": np.repeat(x, weights).astype(dtype), "y": np.repeat(y, weights)}, "y", max_depth=2)
        for dtype in (np.int64, np.float32, np.float64)
    ]
    order = rng.permutation(int(weights.sum()))
    trees.append(tw.grow({"x": np.repeat(x, weights)[order], "y": np.repeat(y, weights)[order]}, "y", max_depth=2))
    weighted = tw.grow({"x": x, "y": y}, "y", max_depth=2, sample_weight=weights)
    assert {json.dumps(tree.quartiles) for tree in (*trees, weighted)} == {json.dumps(trees[0].quartiles)}
    assert len({dumps(tree).split('"sha256"')[0] for tree in trees}) == 1


def test_kinds():
    table = {
        "n": [2**60, 2**60 + 5, 2**60 + 9, None],
        "d": np.array(["2024-01-01", "2024-01-05", "NaT", "2024-02-01"], "M8[D]"),
        "x": [-0.0, math.inf, -math.inf, 1.5],
        "gone": [math.nan] * 4,
        "c": list("abca"),
        "b": [True, False, True, False],
        "y": [0, 1, 0, 1],
    }
    actual = tw.grow(table, "y").quartiles
    assert actual == {"n": (2**60, 2**60 + 9), "d": (19723, 19754), "x": (-math.inf, 1.5)}
    assert str(actual["x"][1]) == "1.5"
    assert grown([-0.0, -0.0]).quartiles["x"] == (0.0, 0.0)
    assert math.copysign(1, grown([-0.0, -0.0]).quartiles["x"][0]) == 1


def test_they_belong_to_the_tree():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    assert tree.quartiles["bill_length_mm"] == (39.2, 48.5)
    assert loads(dumps(tree)).quartiles == tree.quartiles
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tw.parse(tree.export("text")) == tree
    assert tree.with_(quartiles={}) != tree
    assert tree.prune(max_depth=1).quartiles == tree.quartiles
    some = tw.datasets.penguins().take(np.arange(100))
    assert tree.refit(some).quartiles == tw.grow(some, "species").quartiles != tree.quartiles
    assert tree.split(2, "sex = MALE", "penguins").quartiles == tree.quartiles
    assert tw.parse("x <= 1 -> a\nx > 1 -> b").quartiles == {}


def test_files_without_them_are_format_1_and_damaged_text_is_refused():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    assert json.loads(dumps(tree))["format"] == 2
    bare = tree.with_(quartiles={})
    assert json.loads(dumps(bare))["format"] == 1
    assert loads(dumps(bare)) == bare
    text = tree.export("text")
    assert tw.parse("\n".join(line for line in text.splitlines() if not line.startswith("# quartiles"))) == bare
    with pytest.raises(tw.ParseError, match='the line "# quartiles" at the top is damaged'):
        tw.parse(text.replace("# quartiles {", '# quartiles {"zzz": [1.0, 2.0], '))
    with pytest.raises(tw.ModelFormatError, match="the tree cannot be saved: quartiles of"):
        dumps(tree.with_(quartiles={"bill_length_mm": (2.0, 1.0)}))
