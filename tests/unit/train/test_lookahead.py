"""``grow(search="lookahead")``: never worse than greedy on the training rows, and what it refuses."""

import numpy as np
import pytest

import treewise as tw


def table_of(seed, n=150):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(1)
    noise = rng.normal(size=n)
    table = {f"x{i}": [None if rng.random() < 0.05 else v for v in x[:, i].tolist()] for i in range(3)}
    table["city"] = [None if rng.random() < 0.05 else str(c) for c in rng.choice(["Bari", "Rome", "Turin"], n)]
    table["w"] = rng.integers(1, 4, n).tolist()
    table["y"] = [("no", "yes")[c] for c in (x[:, 0] * x[:, 1] + 0.3 * noise > 0).astype(int)]
    table["z"] = (x[:, 0] * x[:, 1] + 0.3 * noise).tolist()
    return table


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("target", "ignore"), [("y", ["z", "w"]), ("z", ["y", "w"])])
def test_it_is_never_worse_than_greedy(seed, target, ignore):
    table = table_of(seed)
    options = {"max_depth": 2 + seed % 3, "ignore": ignore, "sample_weight": "w" if seed % 2 else None}
    greedy = tw.grow(table, target, **options)
    tree = tw.grow(table, target, search="lookahead", **options)
    weight = table["w"] if seed % 2 else None
    before, after = (t.evaluate(table, sample_weight=weight) for t in (greedy, tree))
    name = "error" if target == "y" else "rmse"
    assert getattr(after, name) <= getattr(before, name) + 1e-9
    assert tree.depth <= options["max_depth"]
    assert any(note.startswith("look-ahead: ") for note in tree.notes)


def test_it_sees_what_greedy_growth_does_not():
    greedy, tree = (tw.grow("distractor", max_depth=2, search=search) for search in ("greedy", "lookahead"))
    assert (greedy.evaluate("distractor").error, tree.evaluate("distractor").error) == (0.25, 0)
    assert tree.notes[-1] == "look-ahead: another root; training error 0.25 → 0, beside the greedy tree"
    assert 'search="lookahead"' in str(tree.history[0])
    assert "x1" in str(tree.trace("distractor")[0])


def test_it_does_not_depend_on_the_order_of_rows_or_threads():
    table = table_of(1)
    backwards = {name: cells[::-1] for name, cells in table.items()}
    trees = [
        tw.grow(data, "y", ignore=["z", "w"], max_depth=4, search="lookahead", n_jobs=jobs)
        for data, jobs in ((table, 1), (table, 3), (backwards, 2))
    ]
    assert len({str(tree) for tree in trees}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_samples_leaf": 5}, "min_samples_leaf"),
        ({"max_leaf_nodes": 4}, "max_leaf_nodes"),
        ({"pruning": "cv"}, "grown greedily"),
        ({"search": "widely"}, "search"),
    ],
)
def test_what_it_refuses(options, message):
    with pytest.raises(tw.ParameterError, match=message):
        tw.grow("penguins", "species", **{"search": "lookahead", **options})


def test_everywhere_by_the_same_name(run):
    completed = run("grow distractor --search lookahead --max-depth 2")
    assert completed.code == 0
    assert "another root" in completed.err + completed.out
    x, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert tw.TreeClassifier(max_depth=2, search="lookahead").fit(x, y).score(x, y) == 1
