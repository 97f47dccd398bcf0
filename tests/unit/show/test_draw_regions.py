"""Region plots: areas partition the plane and agree with ``predict``; the figures."""

import math

import numpy as np
import pytest
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import treewise as tw
from tests.support.figures import all_texts
from tests.support.hostile_table import hostile_table
from treewise.show.mpl_helpers import figure_bytes
from treewise.show.regions.models import PredictorRegions, TreeRegions, _cell_centres
from treewise.show.regions.plane import make_plane
from treewise.tree.regions.region import Interval


def random_table(seed, n=80):
    """A column of every kind, with missing cells, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2024-01-01") + rng.integers(0, 60, n)
    columns = {
        "number": [None if rng.random() < 0.1 else float(v) for v in rng.integers(0, 12, n) / 4],
        "wide": [2**60 + int(v) for v in rng.integers(0, 9, n)],
        "day": [d.item() for d in day],
        "flag": [bool(v) for v in rng.integers(0, 2, n)],
        "town": [None if rng.random() < 0.1 else str(v) for v in rng.choice(["Bari", "Rome", "Turin", "Wien"], n)],
        "size": [str(v) for v in rng.choice(["S", "M", "L"], n)],
    }
    y = [str(v) for v in rng.choice(["a", "b", "c"], n)]
    return tw.read({**columns, "y": y})


PAIRS = [("number", "town"), ("town", "size"), ("wide", "day"), ("flag", "number"), ("size", "wide")]


def cells_of(axis, tree, rng):
    """Some cells of a column: levels; or numbers at random, at thresholds and next to them."""
    encoding = axis.encoding
    if encoding.is_categorical:
        return [str(level) for level in rng.choice(encoding.levels, 12)]
    place = tree.columns.index(axis.name)
    a = tree.arrays
    if encoding.kind == "number":
        cuts = [float(c) for c in a.cut[a.column == place]]
        near = [v for c in cuts for v in (c, math.nextafter(c, -math.inf), math.nextafter(c, math.inf))]
        return [*near, *rng.uniform(axis.low, axis.high, 8).tolist()][:20]
    cuts = [int(c) for c in a.cut_int[a.column == place]]
    near = [v for c in cuts for v in (c, c + 1)]
    inside = rng.integers(int(axis.low), int(axis.high), 8)
    return [*near, *(axis.origin + int(v) for v in inside)][:20]


def as_cell(axis, value):
    """A value of an axis as somebody would write it into a row."""
    encoding = axis.encoding
    if encoding.kind == "datetime":
        return encoding.format(value)
    return value == "true" if encoding.kind == "boolean" else value


@pytest.mark.parametrize("splits", ["subset", "multiway", "one_value", "any"])
@pytest.mark.parametrize("seed", range(3))
def test_areas_partition_the_plane_and_agree_with_apply(seed, splits):
    table = random_table(seed)
    rng = np.random.default_rng(100 + seed)
    tree = tw.grow(table, "y", categorical=splits, kinds={"size": ["S", "M", "L"]}, min_samples_leaf=3)
    for x, y in PAIRS:
        plane = make_plane([tree], table, x, y, {"town": None} if "town" not in (x, y) else None)
        areas, asked = plane.areas(tree)
        assert not {x, y} & set(asked)
        points = [(vx, vy) for vx in cells_of(plane.x, tree, rng) for vy in cells_of(plane.y, tree, rng)]
        rows = {name: [plane.fixed.get(name)] * len(points) for name in tree.columns}
        rows[x] = [as_cell(plane.x, vx) for vx, _ in points]
        rows[y] = [as_cell(plane.y, vy) for _, vy in points]
        for (vx, vy), node in zip(points, tree.apply(rows).tolist(), strict=True):
            assert [area.node for area in areas if area.contains(vx, vy)] == [node], (x, vx, y, vy)


@pytest.mark.parametrize("seed", range(3))
def test_rectangles_tile_what_is_shown(seed):
    table = random_table(seed)
    tree = tw.grow(table, "y", max_leaf_nodes=12)
    for x, y in PAIRS:
        plane = make_plane([tree], table, x, y, None)
        covered = sum(
            (x1 - x0) * (y1 - y0)
            for area in plane.areas(tree)[0]
            for x0, x1 in plane.x.intervals(area.x)
            for y0, y1 in plane.y.intervals(area.y)
        )
        whole = (plane.x.high - plane.x.low) * (plane.y.high - plane.y.low)
        assert covered == pytest.approx(whole, rel=1e-6)


def test_rows_that_stay_at_a_node_have_their_area():
    tree = tw.grow("admissions", preset="id3", columns=["University", "Published"])
    table = tw.read(
        {"University": ["top10", "nowhere", "top30"], "Published": ["no", "yes", "yes"], "Class": list("PNP")}
    )
    wide = tree.with_(encodings=tuple(tw.Encoding(e.name, e.kind, (*e.levels, "nowhere")) for e in tree.encodings))
    plane = make_plane([wide], table, "University", "Published", None)
    assert [a.node for a in plane.areas(wide)[0] if "nowhere" in a.x and "yes" in a.y] == [0]
    assert tree.apply({"University": "nowhere", "Published": "yes"}) == 0


def test_what_is_held_by_default_and_by_wish():
    table = tw.read({
        "a": [1.0, 2.0, 3.0, 4.0, None], "b": [1, 2, 3, 4, 5], "c": ["u", "u", "v", "v", "v"], "d": [None] * 5,
        "y": ["p", "q", "p", "q", "p"],
    })  # fmt: skip
    text = "c = u\n  d <= 1 -> p\n  d > 1\n    a <= 2\n      b <= 2 -> p\n      b > 2 -> q\n    a > 2 -> q\nc = v -> q"
    tree = tw.parse(text, target="y").refit(table)
    assert dict(make_plane([tree], table, "b", "c", None).fixed) == {"d": None, "a": 2.0}
    assert dict(make_plane([tree], table, "b", "a", None).fixed) == {"c": "v", "d": None}
    assert dict(make_plane([tree], table, "b", "c", {"a": 2.5, "d": 0}).fixed) == {"d": 0, "a": 2.5}


def test_only_held_columns_that_matter_are_reported():
    tree = tw.grow("penguins", max_leaf_nodes=8)
    ax = tree.draw_regions("penguins", "bill_length_mm", "flipper_length_mm")
    message = ax.get_title(loc="left").replace("\u00a0", " ")
    assert "fixed: island = Biscoe, bill_depth_mm = 17.3" in message.replace("\n", " ")
    ax = tree.draw_regions(
        "penguins", "bill_length_mm", "flipper_length_mm", fixed={"island": None, "bill_depth_mm": 15}
    )
    assert "island missing" in ax.get_title(loc="left").replace("\u00a0", " ")


# -- pictures ---------------------------------------------------------------------------------------------------------


def test_thresholds_stand_on_the_axes():
    ax = tw.grow("outlier").draw_regions("outlier", "x1", "x2")
    assert {label.get_text() for label in ax.get_xticklabels()} >= {"4", "7.5"}
    assert {label.get_text() for label in ax.get_yticklabels()} >= {"2.5", "3.5"}
    assert ax.get_xlabel(), ax.get_ylabel() == ("x1", "x2")


def test_levels_are_bands():
    ax = tw.grow("penguins", max_leaf_nodes=8).draw_regions("penguins", "island", "bill_length_mm")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["Biscoe", "Dream", "Torgersen"]
    assert ax.get_xlim() == (-0.5, 2.5)


def test_the_notes_example_side_by_side():
    tree = tw.grow("outlier")
    pruned = tree.prune("reduced_error", validation="outlier_validation")
    axes = tw.draw_regions([tree, pruned], "outlier_validation", "x1", "x2")
    assert axes.shape == (2,)
    for ax, each in zip(axes, (tree, pruned), strict=True):
        wrong = each.evaluate("outlier_validation").errors
        assert f"{wrong} of 10 rows of outlier_validation wrong" in ax.get_title(loc="left")


def test_figure_8_5_is_one_call():
    axes = tw.draw_regions_grid("noisy")
    assert axes.shape == (3, 4)
    heads = [ax.get_title(loc="left").splitlines()[0] for ax in axes[:, 0]]
    assert heads == [
        "max_depth = 1 · 2 leaves",
        "min_samples_split = 100 · 3 leaves",
        "min_samples_leaf = 50 · 3 leaves",
    ]
    for bad, message in {
        "max_depth": 'vary="max_depth": must be a dict of parameter → values',
        (): "must be a dict of parameter → values",
    }.items():
        with pytest.raises(tw.ParameterError, match=message):
            tw.draw_regions_grid("noisy", vary=bad)
    with pytest.raises(tw.ParameterError, match="vary: the parameters have different numbers of values"):
        tw.draw_regions_grid("noisy", vary={"max_depth": [1, 2], "min_samples_leaf": [3]})
    with pytest.raises(tw.ParameterError, match="max_depth is varied and cannot be given as well"):
        tw.draw_regions_grid("noisy", vary={"max_depth": [1, 2]}, max_depth=3)


def test_rows_that_other_columns_lead_elsewhere_are_hollow():
    tree = tw.grow("penguins", max_leaf_nodes=8)
    table = tw.datasets.penguins()
    plane = make_plane([tree], table, "bill_length_mm", "flipper_length_mm", None)
    areas, _ = plane.areas(tree)
    x, y = (axis.positions(table) for axis in plane.axes)
    own = tree.apply(table)
    there = ~np.isnan(x) & ~np.isnan(y)
    off = sum(next(a.node for a in areas if a.contains(x[i], y[i])) != own[i] for i in np.flatnonzero(there))
    ax = tree.draw_regions(table, "bill_length_mm", "flipper_length_mm")
    assert int(ax.get_title(loc="left").split("hollow: ")[1].split()[0]) == off


def test_any_other_model_is_asked_on_a_grid():
    table = tw.datasets.noisy()
    X, y = np.column_stack([table["x1"].values, table["x2"].values]), table["y"].values
    knn = KNeighborsClassifier(5).fit(X, y)
    tree = tw.grow(table, "y", max_depth=2)
    axes = tw.draw_regions({"tree": tree, "5-NN": knn, "rule": lambda X: X[:, 0] > X[:, 1]}, table, "x1", "x2")
    wrong = int((knn.predict(X) != y).sum())
    assert axes[1].get_title(loc="left").splitlines() == [
        "5-NN · KNeighborsClassifier", f"{wrong} of 200 rows of noisy wrong"
    ]  # fmt: skip
    plane = make_plane([tree], table, "x1", "x2", None, ["x1", "x2"])
    (up, across), message = PredictorRegions("", knn, ("x1", "x2")).predict_grid(plane, (0, 1))
    grid = np.stack(np.meshgrid(_cell_centres(plane.x), _cell_centres(plane.y)), axis=-1).reshape(-1, 2)
    assert up * across == len(grid)
    assert message.class_index.tolist() == knn.predict(grid).tolist()
    assert message.probability.tolist() == knn.predict_proba(grid).max(axis=1).tolist()


def test_models_of_dataframes_and_of_more_columns():
    frame = tw.datasets.penguins().to_pandas().dropna()
    names = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm"]
    knn = KNeighborsClassifier(3).fit(frame[names], frame["species"])
    ax = tw.draw_regions(knn, frame, "bill_length_mm", "bill_depth_mm", target="species")
    assert "fixed: flipper_length_mm" in ax.get_title(loc="left")
    with pytest.raises(
        tw.ParameterError, match=r"^KNeighborsClassifier was fitted on 3 columns without names: columns="
    ):
        tw.draw_regions(KNeighborsClassifier(3).fit(frame[names].to_numpy(), frame["species"]), frame, *names[:2])


def test_an_estimator_is_its_tree():
    frame = tw.datasets.penguins().to_pandas()
    names = ["bill_length_mm", "flipper_length_mm"]
    fitted = tw.TreeClassifier(max_depth=2).fit(frame[names], frame["species"])
    ax = tw.draw_regions(fitted, frame, *names, target="species")
    assert "tree of 4 leaves" in ax.get_title(loc="left")


def test_numbers_have_a_scale():
    table = tw.datasets.penguins()
    tree = tw.grow(table, "body_mass_g", max_leaf_nodes=6, drop_missing_target=True)
    ax = tree.draw_regions(table, "flipper_length_mm", "bill_length_mm")
    assert [each.get_ylabel() for each in ax.figure.axes] == ["bill_length_mm", "body_mass_g"]
    assert "RMSE" in ax.get_title(loc="left")
    knn = KNeighborsRegressor(3).fit([[0, 0], [1, 1], [2, 2]], [0.5, 1.5, 2.5])
    data = {"a": [0, 1, 2], "b": [0, 1, 2], "y": [0.5, 1.5, 2.5]}
    figure_bytes(tw.draw_regions(knn, data, "a", "b", target="y").figure, "svg")


def test_a_table_without_answers_has_plain_points():
    tree = tw.grow("outlier")
    ax = tree.draw_regions(tw.datasets.outlier().drop(["y"]), "x1", "x2")
    assert "wrong" not in ax.get_title(loc="left")
    number = tw.grow("penguins", "body_mass_g", max_depth=2, drop_missing_target=True)
    without = tw.datasets.penguins().drop(["body_mass_g"])
    figure_bytes(number.draw_regions(without, "flipper_length_mm", "bill_length_mm").figure, "svg")


def test_a_tree_written_by_hand_knows_the_table_s_levels():
    tree = tw.parse(
        "island = Dream -> Chinstrap\notherwise\n    bill_length_mm <= 43 -> Adelie\n    otherwise -> Gentoo"
    )
    ax = tree.draw_regions("penguins", "bill_length_mm", "island")
    assert "wrong" in ax.get_title(loc="left")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Dream", "Biscoe", "Torgersen"]


def test_draws_on_given_axes_and_leaves_the_rest_alone():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    tree = tw.grow("outlier")
    assert tree.draw_regions("outlier", "x1", "x2", ax=right) is right
    assert not left.has_data()
    axes = tw.draw_regions([tree, tree], "outlier", "x1", "x2", ax=[left, right])
    assert axes.tolist() == [left, right]
    with pytest.raises(tw.ParameterError, match=r"^ax: 1 axes were given for 2 models\. Give one for each\.$"):
        tw.draw_regions([tree, tree], "outlier", "x1", "x2", ax=left)


def test_a_tree_beside_its_regions():
    tree = tw.grow("seven_points")
    ax = tree.draw_regions("seven_points", "x1", "x2", with_tree=True)
    (left,) = ax.get_figure(root=True).subfigs[0].axes
    assert {"x1?", "x2?"} <= {text.get_text() for text in left.texts}
    figure_bytes(ax.get_figure(root=True), "svg")
    for models, where in (([tree, tree], None), (lambda X: X[:, 0], None), (tree, Figure().add_subplot())):
        with pytest.raises(tw.ParameterError, match=r"^with_tree: this is for one tree, on a figure of its own\."):
            tw.draw_regions(models, "seven_points", "x1", "x2", with_tree=True, ax=where)


def test_files_are_written_whole_and_are_the_same_every_time(tmp_path):
    tree = tw.grow("penguins", max_leaf_nodes=5)
    for name in ("a.svg", "b.svg"):
        tree.draw_regions("penguins", "bill_length_mm", "island", path=tmp_path / name)
    assert tmp_path.joinpath("a.svg").read_bytes() == tmp_path.joinpath("b.svg").read_bytes()
    with pytest.raises(tw.ParameterError, match=r"a\.jpg: a picture ends in \.png, \.svg or \.pdf\.$"):
        tree.draw_regions("penguins", "bill_length_mm", "island", path=tmp_path / "a.jpg")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.svg", "b.svg"]


def test_many_rows_are_thinned_and_that_is_reported():
    rng = np.random.default_rng(0)
    table = tw.read({"a": rng.normal(size=5000), "b": rng.normal(size=5000), "y": rng.integers(0, 2, 5000)})
    ax = tw.grow(table, "y", max_depth=2).draw_regions(table, "a", "b")
    assert ax.get_title(loc="left").splitlines()[-1] == "3,000 of 5,000 rows shown"
    assert sum(len(each.get_offsets()) for each in ax.collections if isinstance(each, PathCollection)) == 3000


def test_regions_keep_their_classes_in_greyscale():
    """Areas of each class have their own hatching, as in pictures of trees; the first class has none."""
    table = tw.datasets.penguins()
    tree = tw.grow(table, max_leaf_nodes=5)
    ax = tree.draw_regions(table, "flipper_length_mm", "island", fixed={"bill_length_mm": 50})
    hatched = [each for each in ax.collections if isinstance(each, PolyCollection) and each.get_hatch()]
    assert {each.get_hatch() for each in hatched} == {"//", "||"}
    near = KNeighborsClassifier(1).fit([[0, 0], [1, 1]], ["a", "b"])
    points = {"x1": [0, 1], "x2": [0, 1], "y": ["a", "b"]}
    axes = tw.draw_regions(near, points, "x1", "x2", target="y")
    assert [c.hatches for c in axes.collections if getattr(c, "hatches", None)] == [["//"]]


def test_names_and_levels_are_shown_as_they_are():
    table, (a, b, c) = hostile_table()
    tree = tw.grow(table, "_t$", max_depth=4)
    for x, y in ((a, b), (a, c)):
        ax = tree.draw_regions(table, x, y)
        texts = all_texts(ax)
        assert x in texts
        assert "_t$ = _no$1$" in texts
        figure_bytes(ax.figure, "svg")
    assert "$x_1^2$" in all_texts(tree.draw_regions(table, a, c))


def test_odd_values():
    table = tw.read({"a": [1.0, math.inf, -math.inf, 2.0], "b": [5.0, 5.0, 5.0, 5.0], "y": ["p", "q", "p", "q"]})
    ax = tw.grow(table, "y").draw_regions(table, "a", "b")
    assert "2 rows not shown: missing or off the axes" in ax.get_title(loc="left")
    assert all(map(math.isfinite, (*ax.get_xlim(), *ax.get_ylim())))
    figure_bytes(ax.figure, "png")


def test_rows_of_few_values_lie_beside_each_other_but_never_beyond_a_threshold():
    table = tw.read({"a": [1, 2, 3] * 20, "b": [0.5 * i for i in range(60)], "y": ["p", "q", "q"] * 20})
    tree = tw.grow(table, "y")
    for cut, moved in ((1.5, True), (2.1, False)):
        tree = tw.parse(f"a <= {cut} -> p\na > {cut} -> q", target="y").refit(table)
        ax = tw.draw_regions(tree.with_(encodings=(*tree.encodings, tw.Encoding("b", "number"))), table, "a", "b")
        points = [each for each in ax.collections if isinstance(each, PathCollection)]
        at = np.concatenate([np.asarray(each.get_offsets())[:, 0] for each in points])
        assert (len(set(at.tolist())) > 3) == moved
        assert np.abs(at - at.round()).max() <= 0.2
        assert ((at <= cut) == (at.round() <= cut)).all()


def test_a_column_that_is_mostly_missing_is_held_missing():
    table = tw.read({"a": [1, 2, 3, 4], "b": [4, 3, 2, 1], "c": ["u", None, None, None], "y": list("pqpq")})
    tree = tw.parse("c = u\n  a <= 2 -> p\n  a > 2 -> q\nc != u or missing\n  b <= 2 -> p\n  b > 2 -> q", target="y")
    assert dict(make_plane([tree.refit(table)], table, "a", "b", None).fixed) == {"c": None}


def test_large_trees_are_drawn():
    rng = np.random.default_rng(1)
    table = tw.read({"a": rng.random(4000), "b": rng.random(4000), "y": rng.integers(0, 2, 4000)})
    tree = tw.grow(table, "y")
    assert tree.n_leaves > 800
    figure_bytes(tree.draw_regions(table, "a", "b").figure, "png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x1", "x1"), r'^x and y are both "x1": a plane has two columns\.$'),
        (("x1", "x9"), r'^the models have no column "x9"\..* Columns: x1, x2\.$'),
    ],
)
def test_bad_columns(arguments, message):
    with pytest.raises(tw.TreewiseError, match=message):
        tw.grow("outlier").draw_regions("outlier", *arguments)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        (
            {"island": "Drem"},
            r'^fixed: "island" is never "Drem"\. Did you mean "Dream"\? Levels: Biscoe, Dream, Torgersen\.$',
        ),
        ({"isle": "Dream"}, r'^fixed: no column "isle"\. Did you mean "island"\?'),
        ({"bill_length_mm": 3}, r'^fixed: column "bill_length_mm" is an axis of the picture\. Leave it out\.$'),
        ([("island", "Dream")], r"^fixed=\[\('island', 'Dream'\)\]: must be a dict of column → value"),
    ],
)
def test_bad_fixed_values(fixed, message):
    tree = tw.grow("penguins", max_leaf_nodes=8)
    with pytest.raises(tw.TreewiseError, match=message):
        tree.draw_regions("penguins", "bill_length_mm", "flipper_length_mm", fixed=fixed)


def test_bad_models():
    tree = tw.grow("outlier")
    number = tw.grow("penguins", "body_mass_g", max_depth=1, drop_missing_target=True)
    for models, message in (
        ([], r"^models: 0 were given\. Give from 1 to 60\.$"),
        ([tree, [tree]], r"^models: mixes models and lists of models\."),
        ([[tree, tree], [tree]], r"^models: the rows of the grid have different lengths\."),
        (3, r"^cannot draw 3: expected a treewise tree or an object with .predict\.$"),
        ([tree, number], r"^some trees predict classes and some numbers: "),
        (lambda X: X, r"shape \(57600, 2\) for 57,600 rows|shape \(10000, 2\) for 10,000 rows"),
    ):
        with pytest.raises(tw.ParameterError, match=message):
            tw.draw_regions(models, "outlier", "x1", "x2", target="y")


def test_columns_that_cannot_be_axes():
    many = tw.read({"a": [f"l{i}" for i in range(60)], "b": list(range(60)), "y": ["p", "q"] * 30})
    tree = tw.grow(many, "y", max_depth=2)
    with pytest.raises(
        tw.DataError, match=r'^column "a" has 60 levels; an axis shows up to 40\. Choose another column\.$'
    ):
        tree.draw_regions(many, "a", "b")
    with pytest.raises(
        tw.DataError, match=r'^column "b" has no number in the table: there is nothing to draw along it\.$'
    ):
        tw.grow({"a": [1, 2], "b": [1, 2], "y": [0, 1]}, "y").draw_regions({"a": [1], "b": [None], "y": [0]}, "a", "b")


def test_the_whole_axis_where_a_tree_does_not_know_it():
    table = tw.datasets.outlier()
    one = tw.grow(table, "y", columns=["x1"])
    other = tw.grow(table, "y")
    plane = make_plane([one, other], table, "x1", "x2", None)
    assert all(area.y == Interval(missing=False) for area in plane.areas(one)[0])
    assert TreeRegions("", one).thresholds(plane.y) == []
    figure_bytes(tw.draw_regions([one, other], table, "x1", "x2")[0].figure, "svg")
