"""Ensemble predictions equal a loop over the members to the last bit, for any input type, stride and thread count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.ensembles import ensemble_of
from tests.support.random_tables import RandomTable, limit_examples, random_tables
from treewise import _core
from treewise.ensemble import predict as voting
from treewise.ensemble.predict import compile_forest, derived_predictions
from treewise.predict.predict import label_array, to_core_columns

METHODS = ("forest", "adaboost")


def some_trees(table: RandomTable, **more: object) -> list[tw.Tree]:
    """Grow trees that differ on one table: by depth, by criterion's rivals, by ties."""
    ways = ({}, {"max_depth": 1}, {"max_depth": 2, "ties": "random"}, {"min_samples_leaf": 2}, {"max_depth": 0})
    trees = []
    for way in ways:
        try:
            trees.append(table.grow(**{**more, **way}))
        except tw.ParameterError:  # with another limit of the table's own
            continue
    return trees


def by_a_loop(ensemble, data, trees=None):
    """What the trees say one by one, added up in their order: classes by shares or votes, or values."""
    members = list(ensemble)[:trees]
    if ensemble.task == "regression":
        total = 0.0
        for tree in members:
            total = total + tree.predict(data)
        return total / len(members)
    total = np.zeros((len(members[0].predict(data)), len(ensemble.classes)))
    for tree, say in zip(members, ensemble.votes.tolist(), strict=False):
        if ensemble.method == "adaboost":
            total += say * (tree.predict(data)[:, None] == label_array(ensemble.classes))
        else:
            total += tree.predict_proba(data)
    return total if ensemble.method == "adaboost" else total / len(members)


def rows_like(table: RandomTable, draw) -> dict[str, list]:
    """Other rows for the table's columns: cells from any row, some missing, some levels never seen."""
    n = draw(st.integers(1, 40))
    actual = {}
    for name, cells in table.columns.items():
        known = st.sampled_from(cells + [None] * any(cell is None for cell in cells))
        if all(cell is None or isinstance(cell, str) for cell in cells):
            known |= st.sampled_from(["Oslo", "Paris", "Rome"])
        values = draw(st.lists(known | st.none(), min_size=n, max_size=n))
        if all(value is None for value in values):
            values[0] = next(cell for cell in cells if cell is not None)
        actual[name] = values
    return actual


@given(random_tables(), st.sampled_from(["parent", "root"]), st.sampled_from(METHODS), st.data())
@limit_examples(2.0)
def test_answers_are_those_of_a_loop_over_the_trees(table, empty_branch, method, data):
    trees = some_trees(table, empty_branch=empty_branch)
    if trees[0].task == "regression":
        method = "forest"
    ensemble = ensemble_of(trees, method)
    if method == "adaboost":
        ensemble = ensemble.with_(votes=np.random.default_rng(1).random(len(trees)) + 0.1)
    rows = rows_like(table, data.draw)
    expected = by_a_loop(ensemble, rows)
    np.testing.assert_array_equal(ensemble.apply(rows), np.column_stack([tree.apply(rows) for tree in ensemble]))
    if ensemble.task == "regression":
        np.testing.assert_array_equal(ensemble.predict(rows), expected)
    else:
        labels = [ensemble.classes[i] for i in np.argmax(expected, axis=1)]
        assert ensemble.predict(rows).tolist() == labels
        total = expected.sum(axis=1, keepdims=True) if method == "adaboost" else 1.0
        np.testing.assert_array_equal(ensemble.predict_proba(rows), expected / total)
    singles = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
    assert [ensemble.predict(row) for row in singles] == ensemble.predict(rows).tolist()
    for k, staged in enumerate(ensemble.staged_predict(rows), 1):
        np.testing.assert_array_equal(staged, ensemble.first(k).predict(rows))


RNG = np.random.default_rng(3)
N = 700
TABLE = {
    "double": RNG.normal(size=N),
    "short": RNG.normal(size=N).astype(np.float32),
    "gaps": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N).round(1)),
    "large": 2**60 + RNG.integers(0, 40, N),
    "when": np.datetime64("2024-01-01T00:00:00", "ns") + RNG.integers(0, 10**9, N),
    "town": RNG.choice(["Bari", "Rome", "Oslo", "Turin"], N),
    "many": RNG.choice([f"level {i:02}" for i in range(45)], N),
    "flag": RNG.random(N) < 0.5,
}
SCORE = (
    TABLE["double"] + TABLE["short"] + np.nan_to_num(TABLE["gaps"]) + TABLE["large"] % 3 + (TABLE["town"] == "Rome")
    + TABLE["flag"] + (TABLE["many"] > "level 30") + TABLE["when"].astype(np.int64) % 1000 / 500
)  # fmt: skip
KINDS = np.array(["low", "middle", "high"])[np.digitize(SCORE, [1.5, 3.5])]
ALL_KINDS = {"categorical": "any", "missing": "branch"}


def grown(target, many=5, **options):
    """Trees that differ, as those of a forest do: each grown on a draw of the rows."""
    rng = np.random.default_rng(8)
    return ensemble_of([tw.grow(TABLE, target, sample_weight=rng.integers(0, 3, N), **options) for _ in range(many)])


ENSEMBLES = {
    "subset": grown(KINDS),
    "any kind, missing in branches": grown(KINDS, **ALL_KINDS),
    "multiway": grown(KINDS, categorical="multiway", max_depth=4),
    "leaves of many": grown(KINDS, min_samples_leaf=9),
    "two classes": grown(SCORE > 2, min_samples_leaf=4),
    "eight classes": grown(np.digitize(SCORE, np.arange(0.0, 7.0)), min_samples_leaf=4),
    "numbers": grown(SCORE),
    "medians": grown(SCORE, criterion="absolute_error", max_depth=4),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_table_of_all_kinds(name):
    ensemble = ENSEMBLES[name]
    expected = by_a_loop(ensemble, TABLE)
    actual = ensemble.predict(TABLE) if ensemble.task == "regression" else ensemble.predict_proba(TABLE)
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(ensemble.apply(TABLE), np.column_stack([tree.apply(TABLE) for tree in ensemble]))


@pytest.mark.parametrize("name", ENSEMBLES)
def test_neither_threads_nor_parts_nor_order_matter(name):
    ensemble = ENSEMBLES[name]
    ready = ensemble.predictor
    rows = ensemble.encode(TABLE)
    columns, n = rows.columns, len(rows)
    whole = ready.sums(columns, n, n_jobs=1)
    order = np.random.default_rng(0).permutation(n)
    for n_jobs in (1, 2, 5):
        np.testing.assert_array_equal(ready.sums(columns, n, n_jobs=n_jobs), whole)
        np.testing.assert_array_equal(
            ready.compiled.leaves(to_core_columns(ensemble.encodings, columns), n, n_jobs), ensemble.apply(TABLE)
        )
        shuffled = [None if values is None else values[order] for values in columns]
        np.testing.assert_array_equal(ready.sums(shuffled, n, n_jobs=n_jobs), whole[order])
    for size in (1, 3, 64, 333):
        for first in range(0, n, size)[:5]:
            part = [None if values is None else values[first : first + size] for values in columns]
            np.testing.assert_array_equal(ready.sums(part, min(size, n - first)), whole[first : first + size])
    backwards = [None if values is None else values[::-1] for values in columns]
    np.testing.assert_array_equal(ready.sums(backwards, n), whole[::-1])


def test_floats_doubles_and_strides_are_compared_as_they_are():
    rng = np.random.default_rng(4)
    wide = rng.normal(size=(600, 8))
    short = wide.astype(np.float32)
    y = (wide[:, 0] + wide[:, 1] > 0).astype(int)
    for x in (short, wide, np.asfortranarray(wide), wide[::2, ::-1], np.repeat(short, 2, axis=1)[:, ::2]):
        labels = y[:: len(y) // len(x)]
        trees = [tw.grow(x, labels, max_depth=d, min_samples_leaf=m) for d, m in ((None, 1), (6, 3), (3, 1))]
        ensemble = ensemble_of(trees)
        for rows in (x, short[:, : x.shape[1]], wide[:, : x.shape[1]], x.astype(np.float64), x[:1], x[:7]):
            np.testing.assert_array_equal(ensemble.predict_proba(rows), by_a_loop(ensemble, rows))


def test_cells_that_become_their_threshold_as_floats_are_compared_exactly():
    """A double and its threshold may be one float: then the exact numbers decide."""
    near = 1.0 + np.arange(-40, 41) * 2.0**-50
    x = {"x": np.concatenate([near, [1e300, -1e300, 1e-310, -1e-310, np.inf, -np.inf]])}
    y = np.where(np.arange(len(x["x"])) % 2, "odd", "even")
    ensemble = ensemble_of([tw.grow(x, y), tw.grow(x, y, max_depth=3)])
    cuts = np.asarray(ensemble.members.cut, np.float64)
    assert len(np.unique(cuts[np.abs(cuts) < 2].astype(np.float32))) < len(np.unique(cuts)) - 5
    np.testing.assert_array_equal(ensemble.predict_proba(x), by_a_loop(ensemble, x))
    assert ensemble.predict(x).tolist() == y.tolist()
    between = {"x": np.unique(np.concatenate([np.nextafter(x["x"], np.inf), np.nextafter(x["x"], -np.inf)]))}
    np.testing.assert_array_equal(ensemble.predict_proba(between), by_a_loop(ensemble, between))
    large = {"n": 2**62 + np.arange(200)}
    classes = np.where(np.arange(200) % 2, "odd", "even")
    assert ensemble_of([tw.grow(large, classes)]).predict(large).tolist() == classes.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_zeros_infinities_and_the_smallest_numbers_keep_their_order(kind):
    """Floats are compared as whole numbers: of either sign, zero of both, and next to each other."""
    few = np.array([-np.inf, -3.0e38, -1.0, -1.5e-45, -0.0, 0.0, 1.5e-45, 1.0, 3.0e38, np.inf], np.float32)
    with np.errstate(over="ignore"):
        all_near = [few, np.nextafter(few, np.float32(np.inf)), np.nextafter(few, np.float32(-np.inf))]
    x = np.concatenate([*all_near, -few]).astype(kind)[:, None]
    for cut in sorted({*x[np.isfinite(x)].tolist()} - {float(x[np.isfinite(x)].max())}):
        ensemble = ensemble_of([tw.grow(x, x[:, 0] <= cut), tw.grow(x, x[:, 0] < 0.5)])
        assert ensemble.first(1).predict(x).tolist() == (x[:, 0] <= cut).tolist()
        holed = np.where(np.arange(len(x)) % 3 == 0, np.copysign(np.nan, -1), x[:, 0])[:, None].astype(kind)
        for rows in (x, holed, holed[:1], holed[4:5], x[:3]):
            np.testing.assert_array_equal(ensemble.predict_proba(rows), by_a_loop(ensemble, rows))


@pytest.mark.parametrize("n_classes", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("max_depth", [0, 5])
def test_any_number_of_classes_rows_and_trees(n_classes, max_depth):
    """Few classes have a share each, many are listed; trees may be leaves, which ask for no column."""
    rng = np.random.default_rng(n_classes)
    x, y = rng.normal(size=(300, 3)), np.arange(300) % n_classes
    trees = [
        tw.grow(x, y, task="classification", max_depth=max_depth, sample_weight=rng.integers(1, 4, 300))
        for _ in range(11)
    ]
    ensemble = ensemble_of(trees)
    for rows in (x[:1], x[:7], x[:9], x[:257], x):
        np.testing.assert_array_equal(ensemble.predict_proba(rows), by_a_loop(ensemble, rows))
        np.testing.assert_array_equal(ensemble.apply(rows), np.column_stack([tree.apply(rows) for tree in trees]))


def test_whole_numbers_at_the_ends_of_their_range_and_missing():
    whole = np.array([-(2**63) + 1, -(2**62), -1, 0, 1, 2**53 + 1, 2**62, 2**63 - 1])
    y = np.arange(len(whole)) % 2
    ensemble = ensemble_of([tw.grow({"n": whole}, y), tw.grow({"n": whole}, y, max_depth=2)])
    assert ensemble.first(1).predict({"n": whole}).tolist() == y.tolist()
    for rows in (whole.tolist(), [*whole.tolist(), None], [None, 5], [2**63 - 2, -(2**62) + 1]):
        np.testing.assert_array_equal(ensemble.predict_proba({"n": rows}), by_a_loop(ensemble, {"n": rows}))


def test_rows_that_stay_get_the_answer_of_the_node_they_stay_at():
    """A level never seen stays at a multiway test: at the root, or at one of the nodes below."""
    rng = np.random.default_rng(12)
    town, hue, shape = (rng.choice(list(levels), 400) for levels in ("ab", "xyz", "mno"))
    y = np.where(rng.random(400) < 0.2, "other", np.char.add(np.where(town == "a", hue, shape), town))
    table = {"town": town, "hue": hue, "shape": shape}
    ensemble = ensemble_of([tw.grow(table, y, categorical="multiway", max_depth=d) for d in (2, 3)])
    rows = {
        "town": ["?", "a", "b", "a", "b", "a"],
        "hue": ["x", "?", "x", "y", "?", "z"],
        "shape": ["m", "m", "?", "?", "o", "n"],
    }
    stay = ensemble.apply(rows)
    inner = [[bool(tree.split_at(node)) for node in nodes] for tree, nodes in zip(ensemble, stay.T, strict=True)]
    assert len({*stay[:, 0].tolist()}) > 3
    assert np.sum(inner) > 5
    np.testing.assert_array_equal(ensemble.predict_proba(rows), by_a_loop(ensemble, rows))
    assert len(np.unique(ensemble.predict_proba(rows), axis=0)) > 3


def test_numbers_that_a_test_has_no_room_for():
    """With room for three numbers of answers and questions the rest stand elsewhere; nothing else changes."""
    for name in ("any kind, missing in branches", "eight classes", "numbers"):
        ensemble = ENSEMBLES[name]
        rows = ensemble.encode(TABLE)
        columns, n = rows.columns, len(rows)
        members, encodings = ensemble.members, ensemble.encodings
        nodes, labels, message = derived_predictions(ensemble)
        cramped = _core.CompiledForest(
            vars(members), [len(e.levels) if e.is_categorical else -1 for e in encodings],
            [e.kind in ("integer", "datetime") for e in encodings], np.ones(len(ensemble)), len(ensemble.classes),
            nodes, labels, message.ravel(), max_number=3,
        )  # fmt: skip
        sums = np.zeros((n, ensemble.predictor.width))
        cramped.add(to_core_columns(encodings, columns), n, ensemble.predictor.output, 0, len(ensemble), sums)
        np.testing.assert_array_equal(sums, ensemble.predictor.sums(columns, n))
        assert cramped.nbytes <= ensemble.predictor.compiled.nbytes + 4 * len(members.kind) + 1000


def test_one_row_is_answered_as_the_table_is():
    rows = [{name: cells[i] for name, cells in TABLE.items()} for i in range(N)]
    for name in ("subset", "any kind, missing in branches", "eight classes", "numbers"):
        ensemble = ENSEMBLES[name]
        whole = ensemble.predict(TABLE).tolist()
        for i in range(0, N, 50):
            row = {**rows[i], "gaps": None if np.isnan(TABLE["gaps"][i]) else float(TABLE["gaps"][i])}
            assert ensemble.predict(row) == whole[i]
            assert ensemble.predict(list(row.values())) == whole[i]
    plain = RNG.normal(size=(300, 4))
    ensemble = ensemble_of([tw.grow(plain, plain[:, 0] * plain[:, 1] > 0, max_depth=d) for d in (2, 4, None)])
    short = ensemble.predictor
    for row in plain[:20]:
        assert short.row_sums(row.tolist()) is not None, "the short way must know plain numbers"
        assert ensemble.predict(row.tolist()) == ensemble.predict(row[None, :]).item()
        assert ensemble.predict(row[None, :]).shape == (1,)
        np.testing.assert_array_equal(ensemble.predict_proba(row[None, :])[0], ensemble.predict_proba(row.tolist()))
        np.testing.assert_array_equal(ensemble.predict_proba(row[None, :]), by_a_loop(ensemble, row[None, :]))


def test_stages_are_the_first_trees():
    for name in ("subset", "numbers"):
        ensemble = ENSEMBLES[name]
        stages = list(ensemble.staged_predict(TABLE))
        assert len(stages) == len(ensemble)
        for k, found in enumerate(stages, 1):
            np.testing.assert_array_equal(found, ensemble.first(k).predict(TABLE))
    ensemble = ENSEMBLES["subset"]
    for k, found in enumerate(ensemble.staged_predict_proba(TABLE), 1):
        np.testing.assert_array_equal(found, ensemble.first(k).predict_proba(TABLE))
    row = {name: cells[0] for name, cells in TABLE.items()}
    assert [*ensemble.staged_predict(row)] == [stage[0] for stage in ensemble.staged_predict(TABLE)]


def test_votes_and_margins():
    ensemble = ENSEMBLES["subset"].with_(method="adaboost", votes=np.array([0.5, 0.25, 1.0, 2.0, 0.125]))
    message = by_a_loop(ensemble, TABLE)
    np.testing.assert_array_equal(ensemble.decision_function(TABLE), message)
    two = ensemble_of([tw.grow(TABLE, SCORE > 2, max_depth=d) for d in (1, 2, 3)], "adaboost")
    margin = two.decision_function(TABLE)
    assert margin.shape == (N,)
    assert ((margin > 0) == two.predict(TABLE)).all()


@pytest.mark.parametrize("name", ["subset", "eight classes", "numbers"])
def test_only_the_trees_that_count_for_a_row_speak(name):
    ensemble = ENSEMBLES[name]
    rows = ensemble.encode(TABLE)
    columns, n = rows.columns, len(rows)
    counts = np.random.default_rng(2).random((len(ensemble), n)) < 0.4
    counts[1] = False
    found, many = voting.masked_means(ensemble, columns, n, np.packbits(counts, axis=1, bitorder="little"))
    np.testing.assert_array_equal(many, counts.sum(axis=0))
    total = np.zeros((n, ensemble.predictor.width))
    for tree, here in zip(ensemble, counts, strict=True):
        message = tree.predict(TABLE)[:, None] if name == "numbers" else tree.predict_proba(TABLE)
        total[here] += message[here]
    np.testing.assert_array_equal(found[many > 0], total[many > 0] / many[many > 0][:, None])
    assert np.isnan(found[many == 0]).all()
    assert (many == 0).any()


def test_a_program_takes_eight_bytes_a_node_and_its_answers():
    """Pure leaves share the answers; of numbers each leaf has its own, eight bytes."""
    x = RNG.normal(size=(4000, 6))
    for y, each in ((RNG.integers(0, 2, 4000), 8.5), (x[:, 0] + RNG.normal(size=4000), 12.5)):
        ensemble = ensemble_of([tw.grow(x, y) for _ in range(3)])
        assert ensemble.predictor.compiled.nbytes <= each * int(ensemble.members.start[-1]) + 1000


def test_unpredictable_rows_are_reported():
    ensemble = ENSEMBLES["subset"]
    without = {name: cells for name, cells in TABLE.items() if name != "double"}
    with pytest.raises(
        tw.ColumnError, match=r'^the table has no column "double", which node \d+ of tree \d tests\. \(Extra'
    ):
        ensemble.predict(without)
    row = {name: cells[0] for name, cells in without.items()}
    with pytest.raises(tw.ColumnError, match=r'^the row has no column "double", which node \d+ of tree \d tests'):
        ensemble.predict(row)
    with pytest.raises(tw.DataError, match=r"^the row has 2 values; the trees were given 8 columns"):
        ensemble.predict([1, 2])
    with pytest.raises(tw.DataError, match=r"^predict_proba is for classification; these trees predict numbers"):
        ENSEMBLES["numbers"].predict_proba(TABLE)
    with pytest.raises(
        tw.DataError, match=r"^decision_function is for adaboost, whose trees have different vote weights; in forest"
    ):
        ensemble.decision_function(TABLE)
    refusing = ensemble_of([tw.grow({"x": [1.0, 2.0], "y": ["a", "b"]}, "y", missing="error")])
    for rows in ({"x": [None, 1.0]}, {"x": None}):
        with pytest.raises(tw.DataError, match=r'"x" is missing in row 1 .* the trees were grown with missing="error"'):
            refusing.predict(rows)


def test_a_row_needs_only_what_its_paths_ask_for():
    data = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": ["p", "p", "q", "r"]}
    ensemble = ensemble_of([tw.grow(data, "y"), tw.grow(data, "y", max_depth=1)])
    assert ensemble.predict({"a": 0}) == "p"
    with pytest.raises(tw.ColumnError, match='the row has no column "b", which node 2 of tree 0 tests'):
        ensemble.predict({"a": 1})


def test_arrays_that_are_no_trees_are_refused():
    ensemble = ENSEMBLES["numbers"]
    good = vars(ensemble.members)
    whole = (
        [len(e.levels) if e.is_categorical else -1 for e in ensemble.encodings],
        [e.kind in ("integer", "datetime") for e in ensemble.encodings],
        np.ones(len(ensemble)), 0, np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0),
    )  # fmt: skip
    assert compile_forest(ensemble).nbytes > 0
    for name, bad in {
        "kind": good["kind"][:-1],
        "column": np.full_like(good["column"], 100),
        "start": np.array([0, len(good["kind"])]),
        "value": good["value"][1:],
        "missing": good["missing"][1:],
    }.items():
        with pytest.raises((ValueError, IndexError)):
            _core.CompiledForest({**good, name: np.ascontiguousarray(bad)}, *whole)
    rows = ensemble.encode(TABLE)
    columns, n = rows.columns, len(rows)
    wrapped, sums = to_core_columns(ensemble.encodings, columns), np.zeros((n, 1))
    voter = ensemble.predictor.compiled
    for call in (
        lambda: voter.add(wrapped[1:], n, _core.Output.values, 0, 1, sums),
        lambda: voter.add(wrapped, n, _core.Output.probabilities, 0, 1, sums),
        lambda: voter.add(wrapped, n, _core.Output.values, 0, 99, sums),
        lambda: voter.add(wrapped, n, _core.Output.values, 0, 1, sums[1:]),
        lambda: voter.add(wrapped, n, _core.Output.values, 0, 1, sums, mask=np.zeros((1, 1), np.uint8)),
        lambda: voter.predict_row([1.0], [], _core.Output.values),
    ):
        with pytest.raises(ValueError, match=r"."):
            call()


def test_neighbouring_floats_are_told_apart():
    """The threshold between two neighbouring floats is none, and the nearest may be the larger one."""
    x = (1.0 + np.arange(64) * 2.0**-23).astype(np.float32)[:, None]
    classes = np.where(np.arange(64) % 2, "odd", "even")
    ensemble = ensemble_of([tw.grow(x, classes), tw.grow(x[::-1], classes[::-1], max_depth=9)])
    assert ensemble.predict(x).tolist() == classes.tolist()
    assert ensemble.predict(x.astype(np.float64)).tolist() == classes.tolist()


def test_a_level_never_seen_has_no_place_in_an_order():
    """It goes with the missing values, wherever these go."""
    size = ["S", "S", "M", "M", "L", "L", None, None]
    for y in ("aabbbbaa", "aabbbbbb"):
        tree = tw.grow({"size": size, "y": list(y)}, "y", kinds={"size": ["S", "M", "L"]})
        ensemble = ensemble_of([tree])
        for rows in ({"size": ["XL", None, "S", "L"]}, {"size": ["XL"]}):
            np.testing.assert_array_equal(ensemble.apply(rows)[:, 0], tree.apply(rows))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-900, 0, 660, 1023])
def test_numbers_of_any_size_have_a_mean(power):
    """The sum of what trees say may be too large a number where their mean is none: the same in any power of two."""
    x = np.arange(60.0)
    plain = np.where(x < 30, 1.9, 1.2) - x / 1000
    trees = [tw.grow({"x": x, "y": plain * 2.0**power}, "y", max_depth=depth) for depth in range(1, 8)]
    unit, forest, one = 2.0**power, ensemble_of(trees), {"x": 3.5}
    table = {"x": x, "y": plain * unit}
    mean = np.mean([tree.predict(table) / unit for tree in trees], axis=0)
    np.testing.assert_allclose(forest.predict(table) / unit, mean, rtol=1e-14)
    assert forest.predict(one) == forest.predict({"x": [3.5]})[0] == list(forest.staged_predict(one))[-1]
    agreement = forest.agreement(table)
    assert agreement.predictions == forest.predict(table).tolist()
    np.testing.assert_allclose(
        agreement.sd / unit, np.std([t.predict(table) / unit for t in trees], axis=0), atol=1e-14
    )
    assert agreement.low.tolist() == np.min([tree.predict(table) for tree in trees], axis=0).tolist()
    off = np.sqrt(np.mean((mean - plain) ** 2))
    assert forest.stages(table)[-1].error / unit == pytest.approx(off, rel=1e-9)
    assert forest.evaluate(table).rmse / unit == pytest.approx(off, rel=1e-9)
    shap = forest.shap(one)
    assert (shap.base + shap.values.sum()) / unit == pytest.approx(forest.predict(one) / unit)
    seen = np.packbits(np.ones((7, 60), bool), axis=1, bitorder="little")
    message, many = voting.masked_means(forest, [x], 60, seen)
    assert (message[:, 0].tolist(), set(many.tolist())) == (forest.predict(table).tolist(), {7})
