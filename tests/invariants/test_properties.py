"""Properties that hold for every table: invariances of training, prediction and model files.

Hypothesis draws the tables (``tests/support/random_tables.py``). The tests follow the order of ``docs/reliability.md``:
what a tree must be (A), what must not change it (B), prediction and files (D). ``tests/oracles`` also compares every
split with an independent learner in exact arithmetic, which no property can replace.
"""

import datetime
import io
import math
import pickle
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import treewise as tw
from tests.support.random_tables import CELLS, RandomTable, limit_examples, random_tables
from treewise import _core
from treewise.formats.model_file.model_file import dumps, loads
from treewise.tree.splits import midpoint

STRUCTURE = ("parent", "kind", "column", "missing", "other", "code_start", "codes", "stop")
COUNTS = ("rows", "missing_rows", "weight", "label", "value", "count_start", "count_class", "count_weight")


def agree(one, other, *names):
    """Check that arrays of two trees are equal to the bit; those of the other task are None in both."""
    for name in names:
        a, b = getattr(one.arrays, name), getattr(other.arrays, name)
        assert (a is None) == (b is None)
        assert a is None or a.tobytes() == b.tobytes(), name


# -- A. what a tree must be -------------------------------------------------------------------------------------------


@limit_examples()
@given(random_tables())
def test_leaves_predict_the_majority_of_their_rows(table):
    """Training rows dropped through the tree give every node the weight, counts and value that it states."""
    tree = table.grow()
    again = tree.refit(table.data) if "sample_weight" not in table.options else None
    ends = tree.apply(table.data)
    weight = np.array(table.options.get("sample_weight", [1] * len(table)), float)
    through = defaultdict(list)
    for row, end in enumerate(ends):
        for node in tree.path(int(end)):
            through[node].append(row)
    for node in tree:
        rows = through[node.id]
        assert node.rows == len(rows)
        if not rows:
            continue
        assert node.weight == weight[rows].sum()
        if tree.task == "classification":
            counted = Counter()
            for row in rows:
                counted[table.data["y"][row]] += weight[row]
            assert {label: count for label, count in node.counts.items() if count} == counted
    if again is not None:
        agree(tree, again, *COUNTS, "impurity", "gain", "spread")


@limit_examples()
@given(random_tables())
def test_gains_impurities_and_probabilities_are_in_range(table):
    tree = table.grow()
    classes = len(tree.classes) if tree.task == "classification" else 0
    least = table.options.get("min_samples_leaf", 1)
    most = {"entropy": math.log2(max(classes, 1)), "gini": 1 - 1 / max(classes, 1), "error": 1 - 1 / max(classes, 1)}
    for node in tree:
        assert node.impurity >= 0
        assert node.impurity <= most.get(tree.criterion, math.inf) + 1e-12
        assert node.gain >= 0
        if node.parent is not None:
            assert node.rows >= least or node.stop == "no_rows"
        if classes:
            shares = tree.probabilities(node.id)
            assert (shares >= 0).all()
            assert abs(math.fsum(shares) - 1) <= classes * 2.0**-52
            assert tree.prediction(node.id) == tree.classes[int(np.argmax(shares))]  # the first of equals


@limit_examples()
@given(random_tables(limits=False, criteria=("entropy", "gini", "error", "gain_ratio"), task="classification"))
def test_a_full_tree_errs_only_where_rows_cannot_be_told_apart(table):
    tree = table.grow()
    weight = table.options.get("sample_weight", [1] * len(table))
    alike = defaultdict(Counter)
    for *cells, y, w in zip(*table.columns.values(), table.data["y"], weight, strict=True):
        alike[tuple(cells)][y] += w
    unavoidable = sum(sum(ys.values()) - max(ys.values()) for ys in alike.values())
    wrong = tree.predict(table.data) != np.array(table.data["y"])
    assert np.array(weight)[wrong].sum() == unavoidable


@limit_examples()
@given(random_tables(limits=False, criteria=("squared_error", "absolute_error"), task="regression"))
def test_a_full_tree_of_numbers_says_every_number_exactly(table):
    numbered = table.replacing(x0=[float(i) for i in range(len(table))])  # all rows can be told apart
    assert numbered.grow().predict(numbered.data).tolist() == table.data["y"]


@limit_examples(5)
@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
@example(1.0, math.nextafter(1.0, 2))
@example(-1.7e308, 1.7e308)
@example(5e-324, 1e-323)
@example(-math.inf, math.inf)
@example(-0.0, 5e-324)
def test_a_threshold_lies_between_its_neighbours(a, b):
    a, b = min(a, b), max(a, b)
    if a == b:
        return
    t = midpoint(a, b)
    assert a <= t < b
    assert math.copysign(1, t) > 0 or t  # never -0.0
    assert t == _core.midpoint(a, b)
    tree = tw.grow({"x": [a, b, b], "y": ["p", "q", "q"]}, "y")
    assert tree[0].split.cut == t
    assert tree.predict({"x": [a, b]}).tolist() == ["p", "q"]


@limit_examples()
@given(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-(2**63) + 1, 2**63 - 1))
@example(-(2**63) + 1, 2**63 - 1)
@example(2**63 - 2, 2**63 - 1)
@example(2**53, 2**53 + 1)
def test_whole_numbers_of_64_bits_are_told_apart(a, b):
    if a == b:
        return
    data = {"x": [a, b], "y": ["p", "q"]}
    tree = tw.grow(data, "y")
    assert tree.predict(data).tolist() == ["p", "q"]
    assert min(a, b) <= tree[0].split.cut < max(a, b)


# -- B. what must not change a tree -----------------------------------------------------------------------------------


@limit_examples()
@given(random_tables(), st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_rows_changes_no_byte(table, random, by_chance):
    more = {"ties": "random", "random_state": 7} if by_chance else {}
    order = list(range(len(table)))
    random.shuffle(order)
    assert dumps(table.grow(**more)) == dumps(table.rows(order).grow(**more))


@limit_examples()
@given(random_tables(limits=False))
def test_the_order_of_columns_changes_only_ties(table):
    """The best gain is the best gain, wherever its column stands."""
    turned = RandomTable({**dict(reversed(table.columns.items())), "y": table.data["y"]}, table.options)
    one, other = table.grow(), turned.grow()
    assert one[0].gain == other[0].gain
    assert one[0].impurity == other[0].impurity


@limit_examples()
@given(
    random_tables(("few",)), st.lists(st.floats(allow_nan=False), min_size=5, max_size=5, unique_by=lambda v: v + 0.0)
)
@example(RandomTable({"x1": [0.0, 1.0, 2.0, 3.0, 4.0], "y": list("abcab")}), [1 + i * 2**-52 for i in range(5)])
@example(RandomTable({"x1": [0.0, 1.0, 2.0, 3.0, 4.0], "y": list("abcab")}), [math.exp(i) for i in range(5)])
@example(RandomTable({"x1": [0.0, 1.0, 2.0, 3.0, 4.0], "y": list("abcab")}), [i**3 * 1e300 for i in range(5)])
def test_a_strictly_increasing_transform_keeps_the_partition(table, image):
    image = sorted(image)
    moved = table.replacing(**{n: [c if c is None else image[int(c)] for c in cs] for n, cs in table.columns.items()})
    one, other = table.grow(), moved.grow()
    agree(one, other, *STRUCTURE, *COUNTS, "impurity", "gain")
    assert one.apply(table.data).tolist() == other.apply(moved.data).tolist()


@limit_examples()
@given(random_tables(("few",)))
def test_whole_numbers_dates_and_floats_in_the_same_order_give_the_same_tree(table):
    start = np.datetime64("2024-02-28")
    one = table.grow()
    for change in (lambda v: 2**62 + int(v), lambda v: start + int(v), lambda v: -(2**63) + 1 + int(v)):
        moved = table.replacing(**{n: [c if c is None else change(c) for c in cs] for n, cs in table.columns.items()})
        agree(one, moved.grow(), *STRUCTURE, *COUNTS, "impurity", "gain")


@limit_examples()
@given(random_tables(("few",), weights=False))
def test_mirrored_columns_gain_the_same(table):
    turned = table.replacing(**{n: [c if c is None else -c for c in cs] for n, cs in table.columns.items()})
    assert table.grow()[0].gain == turned.grow()[0].gain


@limit_examples()
@given(random_tables(limits=False, weights=False), st.integers(2, 4))
def test_every_row_k_times_is_the_same_tree(table, k):
    if table.options["criterion"] == "c45":
        return  # its price for a threshold, log2(cuts)/n, falls with the number of rows
    free = {"selection": "gain", "min_level_rows": 1}  # more rows are more evidence for a set of many levels
    one, many = table.grow(**free), table.rows([i for i in range(len(table)) for _ in range(k)]).grow(**free)
    agree(one, many, *STRUCTURE, "cut", "cut_int", "label", "value")
    assert (one.arrays.rows * k).tolist() == many.arrays.rows.tolist()
    assert one.arrays.gain == pytest.approx(many.arrays.gain, abs=1e-12)


@limit_examples()
@given(random_tables(limits=False, weights=False), st.integers(-30, 30))
def test_scaling_all_weights_by_a_power_of_two_is_the_same_tree(table, power):
    one, other = table.grow(), table.grow(sample_weight=[2.0**power] * len(table))
    agree(one, other, *STRUCTURE, "cut", "cut_int", "rows", "label", "value")
    assert (one.arrays.weight * 2.0**power).tolist() == other.arrays.weight.tolist()


@limit_examples(2)
@given(random_tables(limits=False, weights=False), st.data())
def test_an_integer_weight_is_the_row_repeated_and_zero_is_no_row(table, draw):
    if table.options["criterion"] == "c45":
        return  # its price for a threshold counts rows, so that weights may be in any unit
    weight = draw.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)).filter(any))
    repeated = table.rows([i for i in range(len(table)) for _ in range(weight[i])])
    if not repeated.is_usable():
        return
    free = {"selection": "gain", "min_level_rows": 1}  # the price and the pooling of levels count rows
    weighted, plain = table.grow(sample_weight=weight, **free), repeated.grow(**free)
    agree(weighted, plain, *STRUCTURE, "cut", "cut_int", "weight", "impurity", "gain", "label", "value", "count_weight")
    assert weighted.encodings == plain.encodings
    assert weighted.classes == plain.classes


@limit_examples()
@given(random_tables(weights=False), st.data())
def test_a_row_of_weight_0_is_absent_from_the_file_too(table, draw):
    kept = draw.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table)).filter(any))
    rest = table.rows([i for i, keep in enumerate(kept) if keep])
    if not rest.is_usable():
        return
    with_zeros = table.grow(sample_weight=[1.0 if keep else 0.0 for keep in kept])
    assert nodes_of(with_zeros) == nodes_of(rest.grow(sample_weight=[1.0] * len(rest)))


def nodes_of(tree):
    """Return the part of a file that says what the tree is: everything but the history, which tells how it was made."""
    return dumps(tree.with_(history=(), notes=()))


@limit_examples()
@given(random_tables(task="classification"), st.lists(st.text(min_size=1), min_size=3, max_size=3, unique=True))
def test_classes_may_be_called_otherwise_in_the_same_order(table, names):
    names = dict(zip(["maybe", "no", "yes"], sorted(name.strip() or "-" for name in names), strict=True))
    if len(set(names.values())) < 3 or any(looks_like_data(name) for name in names.values()):
        return
    one, other = table.grow(), table.replacing(y=[names[label] for label in table.data["y"]]).grow()
    agree(one, other, *STRUCTURE, *COUNTS, "cut", "cut_int", "impurity", "gain")
    assert [names[label] for label in one.predict(table.data)] == list(other.predict(table.data))


def looks_like_data(text):
    """Tell whether a text would be read as a number, or sorted as one."""
    return any(letter.isdigit() for letter in text) or text.strip().lower() in ("nan", "inf", "infinity", "-", ".", "?")


@limit_examples()
@given(random_tables(("few", "float"), task="classification", criteria=("entropy", "gini")))
def test_classes_in_another_order_change_no_split_on_numbers(table):
    names = {"maybe": "z", "no": "y", "yes": "x"}
    one, other = table.grow(), table.replacing(y=[names[label] for label in table.data["y"]]).grow()
    agree(one, other, *(name for name in STRUCTURE if name != "stop"), "cut", "rows", "impurity", "gain")


@limit_examples()
@given(random_tables(task="regression", criteria=("squared_error", "absolute_error"), limits=False), st.integers(-8, 8))
def test_targets_scaled_by_a_power_of_two_scale_the_answers(table, power):
    one, other = table.grow(), table.replacing(y=[v * 2.0**power for v in table.data["y"]]).grow()
    agree(one, other, *STRUCTURE, "cut", "cut_int", "rows", "weight")
    assert (one.predict(table.data) * 2.0**power).tolist() == other.predict(table.data).tolist()


@limit_examples()
@given(
    random_tables(task="regression", criteria=("squared_error", "absolute_error"), limits=False),
    st.integers(-1000, 1000),
)
def test_targets_moved_by_a_constant_move_the_answers(table, shift):
    one, other = table.grow(), table.replacing(y=[v + shift for v in table.data["y"]]).grow()
    agree(one, other, *STRUCTURE, "cut", "cut_int", "rows", "weight")
    assert (one.predict(table.data) + shift).tolist() == pytest.approx(other.predict(table.data).tolist(), abs=1e-9)


@limit_examples()
@given(random_tables(criteria=("entropy", "gini", "error", "gain_ratio", "squared_error", "absolute_error")), st.data())
def test_a_column_that_says_nothing_new_changes_nothing(table, draw):
    first = table.data["x1"]
    more = draw.draw(st.sampled_from([[1.0] * len(table), [None] * len(table), ["same"] * len(table), list(first)]))
    one, other = table.grow(), RandomTable({**table.columns, "more": more, "y": table.data["y"]}, table.options).grow()
    agree(one, other, *STRUCTURE, *COUNTS, "cut", "cut_int", "impurity", "gain")


@limit_examples()
@given(random_tables(("word",), missing=False), st.sampled_from(["subset", "one_value", "ordinal"]))
def test_a_level_that_never_occurs_changes_no_answer(table, kind):
    declared = {name: {*cells, "never"} for name, cells in table.columns.items()}
    one, other = table.grow(categorical=kind), table.grow(categorical=kind, kinds=declared)
    assert one.apply(table.data).tolist() == other.apply(table.data).tolist()
    agree(one, other, "parent", "kind", "column", *COUNTS, "impurity", "gain")


@limit_examples()
@given(random_tables(("word", "few")), st.sampled_from([str.upper, lambda word: f"<{word}>", lambda word: word * 3]))
def test_categories_may_be_called_otherwise_in_the_same_order(table, change):
    words = sorted({c for cs in table.columns.values() for c in cs if isinstance(c, str)})
    if sorted(words, key=change) != words:
        return
    moved = table.replacing(
        **{n: [change(c) if isinstance(c, str) else c for c in cs] for n, cs in table.columns.items()}
    )
    one, other = table.grow(), moved.grow()
    agree(one, other, *STRUCTURE, *COUNTS, "cut", "impurity", "gain")
    assert one.apply(table.data).tolist() == other.apply(moved.data).tolist()


@limit_examples()
@given(
    random_tables(("word",), limits=False, criteria=("entropy", "gini", "squared_error")),
    st.randoms(use_true_random=False),
)
def test_the_order_of_a_dtypes_categories_does_not_matter(table, random):
    frame = pd.DataFrame({"y": table.data["y"]})
    for name, cells in table.columns.items():
        levels = sorted({cell for cell in cells if cell is not None})
        random.shuffle(levels)
        frame[name] = pd.Categorical(cells, levels)
    frame = frame[[*table.columns, "y"]]
    options = {**table.options, "categorical": random.choice(["subset", "multiway", "one_value"])}
    one, other = tw.grow(frame, "y", **options), table.grow(categorical=options["categorical"])
    assert one[0].gain == other[0].gain  # equally good splits go by the declared order
    levels = {e.name: set(e.levels) for e in one.encodings}
    assert levels == {e.name: set(e.levels) for e in other.encodings}


# How else a table may come in; each function takes a dict of lists, and an empty folder.
def parquet(data, folder):
    pl.DataFrame(data, strict=False).write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def pandas(data, _):
    """Make a frame whose whole numbers are not turned into floats where one is missing."""
    wide = {name for name, cells in data.items() if any(isinstance(c, int) and c > 2**53 for c in cells)}
    return pd.DataFrame({name: pd.array(cells, "Int64") if name in wide else cells for name, cells in data.items()})


def csv(data, folder):
    frame = pl.DataFrame(data, strict=False)
    floats = [name for name in frame.columns if frame[name].dtype.is_float()]
    # repr reads back to the bit, whatever polars' writer does
    frame = frame.with_columns(pl.Series(n, [None if v is None else repr(v) for v in data[n]]) for n in floats)
    frame.write_csv(folder / "t.csv")
    return folder / "t.csv"


LIBRARIES = {
    "pandas": pandas,
    "pandas' own types": lambda data, _: pandas(data, _).convert_dtypes(),
    "pandas on Arrow": lambda data, _: pa.table(data).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda data, _: pl.DataFrame(data, strict=False),
    "a lazy frame of polars": lambda data, _: pl.LazyFrame(data, strict=False),
    "Arrow": lambda data, _: pa.table(data),
    "a list of dicts": lambda data, _: [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)],
    "CSV": csv,
    "Parquet": parquet,
}


@pytest.mark.parametrize("library", LIBRARIES)
@limit_examples(0.5)
@given(table=random_tables())
def test_the_library_changes_no_byte(table, library, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    assert dumps(tw.grow(LIBRARIES[library](table.data, folder), "y", **table.options)) == dumps(table.grow())


@limit_examples()
@given(random_tables(("few",), missing=False))
def test_the_layout_of_numbers_changes_no_byte(table):
    x = np.array(list(table.columns.values())).T
    options, y = table.options, table.data["y"]
    expected = dumps(tw.grow(x, y, **options))
    forms = [x.astype(kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", ">f8", ">i4")]
    forms += [np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], np.repeat(x, 3, axis=0)[::3], x[::-1][::-1]]
    forms += [x.tolist(), np.ma.masked_invalid(x), pd.DataFrame(x).to_numpy(), x.astype(object)]
    frozen = x.copy()
    frozen.setflags(write=False)
    for form in (*forms, frozen):
        assert dumps(tw.grow(form, y, **options)) == expected


@limit_examples()
@given(random_tables(("few",), limits=False, weights=False, criteria=("entropy", "gini", "squared_error")))
def test_learning_where_missing_values_go_is_never_worse_than_a_number_for_them(table):
    learned = table.grow(missing="learn")[0].gain
    for number in (-1000.0, 1000.0):
        filled = table.replacing(**{n: [number if c is None else c for c in cs] for n, cs in table.columns.items()})
        assert filled.grow(missing="learn")[0].gain <= learned + 1e-12


@limit_examples()
@given(random_tables())
def test_growing_twice_and_step_by_step_is_the_same(table):
    tree = table.grow()
    assert dumps(tree) == dumps(table.grow())
    last = list(tree.steps())[-1]
    agree(tree, last, *STRUCTURE, *COUNTS)


# -- D. prediction and files ------------------------------------------------------------------------------------------


def probes(tree, table):
    """Return rows at and beside every threshold, and at the ends of every type, one column changed at a time."""
    edges = [-math.inf, -1.7976931348623157e308, -5e-324, -0.0, 0.0, 5e-324, 1.7976931348623157e308, math.inf]
    rows = [{name: cells[i] for name, cells in table.columns.items()} for i in range(len(table))]
    for name in table.columns:
        encoding = tree.encoding_of(name)
        values = [None]
        cuts = [
            node.split.cut for node in tree if node.split and node.split.column == name and hasattr(node.split, "cut")
        ]
        if encoding.kind == "number":
            values += [v for c in cuts for v in (math.nextafter(c, -math.inf), c, math.nextafter(c, math.inf))] + edges
        elif encoding.kind == "integer":
            values += [v for c in cuts for v in (c - 1, c, c + 1) if abs(v) < 2**63]
        elif encoding.kind == "nominal":
            values += [*encoding.levels, "never seen"]
        rows += [{**rows[0], name: value} for value in values]
    return rows


def as_compared(cell, encoding):
    """Say a cell as splits do: true and false are levels with these names, a date is a count of its column's units."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return int(np.datetime64(cell, encoding.unit).astype(int)) if isinstance(cell, datetime.datetime) else cell


def walked(tree, row):
    """Walk one row down by the splits alone."""
    row = {name: as_compared(cell, tree.encoding_of(name)) for name, cell in row.items()}
    node = 0
    while tree[node].split:
        split = tree[node].split
        branch = split.branch(row[split.column], tree.encoding_of(split.column))
        if branch is None:
            break
        node = tree[node].children[branch]
    return node


@limit_examples()
@given(random_tables())
def test_prediction_is_walking_the_rules_at_every_threshold_and_beside_it(table):
    tree = table.grow()
    for row in probes(tree, table):
        actual = tree.apply(row)
        assert actual == walked(tree, row)
        assert tree.predict(row) == tree.prediction(actual)


@limit_examples()
@given(random_tables(tuple(set(CELLS) - {"day"})))
def test_the_printed_rules_read_back_answer_the_same_at_every_threshold(table):
    tree = table.grow()
    printed = tw.parse(tree.export("text"))
    for row in probes(tree, table):
        assert printed.apply(row) == tree.apply(row)
        assert printed.predict(row) == tree.predict(row)


@limit_examples()
@given(random_tables(), st.randoms(use_true_random=False))
def test_rows_are_answered_alone_together_in_parts_and_in_any_order(table, random):
    tree = table.grow()
    columns = table.columns
    whole = tree.predict(columns).tolist()
    leaves = tree.apply(columns).tolist()
    order = list(range(len(table)))
    random.shuffle(order)
    turned = table.rows(order).columns
    assert tree.predict(turned).tolist() == [whole[i] for i in order]
    alone = [{name: cells[i] for name, cells in columns.items()} for i in range(len(table))]
    assert [tree.predict(row) for row in alone] == whole
    assert [tree.apply(row) for row in alone] == leaves
    cut = random.randrange(len(table))
    parts = [rows for rows in (list(range(cut)), list(range(cut, len(table)))) if rows]
    assert [v for rows in parts for v in tree.predict(table.rows(rows).columns).tolist()] == whole
    assert [tree.prediction(leaf) for leaf in leaves] == whole
    if tree.task == "classification":
        shares = tree.predict_proba(columns)
        assert [tree.classes[i] for i in shares.argmax(axis=1)] == whole
        assert shares.tobytes() == np.array([tree.probabilities(leaf) for leaf in leaves]).tobytes()


@limit_examples()
@given(random_tables())
def test_what_is_saved_loaded_and_saved_again_is_the_same_to_the_byte(table):
    tree = table.grow()
    for compact in (False, True):
        text = dumps(tree, compact=compact)
        parsed = loads(text)
        assert dumps(parsed, compact=compact) == text
        assert parsed == tree
        assert parsed.predict(table.columns).tolist() == tree.predict(table.columns).tolist()
        for row in probes(tree, table):
            assert parsed.apply(row) == tree.apply(row)
    assert dumps(pickle.loads(pickle.dumps(tree))) == dumps(tree)


@limit_examples(0.5)
@given(random_tables(task="classification"))
def test_the_estimator_answers_as_the_tree(table):
    options = {name: value for name, value in table.options.items() if name not in ("task", "sample_weight")}
    frame = pl.DataFrame(table.columns, strict=False)
    weight = table.options.get("sample_weight")
    model = tw.TreeClassifier(**options).fit(frame, table.data["y"], sample_weight=weight)
    agree(model.tree_, table.grow(), *STRUCTURE, *COUNTS, "cut", "cut_int", "impurity", "gain")
    paths = model.decision_path(frame)
    assert [int(row.indices.max()) for row in paths] == model.apply(frame).tolist()
    stream = io.BytesIO(pickle.dumps(model))
    assert pickle.load(stream).predict(frame).tolist() == model.predict(frame).tolist()
