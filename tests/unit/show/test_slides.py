"""Pictures for slides: sizes, steps of growth, trees side by side, points alone, candidate boundaries."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import treewise as tw
from tests.support.hostile_names import BATCHES, table
from treewise.data.table import read
from treewise.errors import ColumnError, DataError, ParameterError
from treewise.show.picture.node_boxes import NodeBoxes
from treewise.show.picture.plane_scene import plane_picture
from treewise.show.picture.scene import BoxShape, TextShape

SLIDE = "13.33x7.5"


def pixels(content):
    return Image.open(io.BytesIO(content)).size


def texts(picture):
    return [shape.text for shape in picture.scene.shapes() if isinstance(shape, TextShape)]


# -- size, font size, resolution ------------------------------------------------------------------------------

CHARTS = {
    "regions": lambda **image: tw.grow("outlier").draw_regions("outlier", "x1", "x2", **image),
    "grid": lambda **image: tw.draw_regions_grid("noisy", vary={"max_depth": [1, 2]}, **image)[0, 0],
    "points": lambda **image: tw.draw_points("four_points", **image),
    "boundaries": lambda **image: tw.candidates("seven_points").draw_boundaries(**image),
    "gain": lambda **image: tw.candidates("seven_points").draw("x1", **image),
    "curve": lambda **image: tw.curve("outlier", over="max_depth", folds=2).draw(**image),
    "confusion": lambda **image: tw.grow("outlier").evaluate("outlier").draw(**image),
    "roc": lambda **image: tw.grow("outlier").evaluate("outlier").draw("roc", **image),
    "importances": lambda **image: tw.grow("outlier").importances().draw(**image),
    "stages": lambda **image: tw.bagging("outlier", n_estimators=2).draw_stages("outlier", **image),
    "impurity": tw.draw_impurity,
    "boosting": tw.draw_boosting_weights,
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_has_a_size_a_font_size_and_a_resolution(name, tmp_path):
    CHARTS[name](path=tmp_path / "chart.png", size=SLIDE, font_size=20, dpi=40)
    assert pixels((tmp_path / "chart.png").read_bytes()) == (533, 300)


def test_vector_formats_have_the_size_too(tmp_path):
    for ending in ("svg", "pdf"):
        CHARTS["impurity"](path=tmp_path / f"chart.{ending}", size=(8, 4), font_size=16)
    root = ElementTree.fromstring((tmp_path / "chart.svg").read_text(encoding="utf-8"))
    assert (root.get("width"), root.get("height")) == ("576.00pt", "288.00pt")
    assert root.get("viewBox") == "0 0 360 180"  # at 10 points, and magnified
    assert b"/MediaBox [ 0 0 576 288 ]" in (tmp_path / "chart.pdf").read_bytes()


def test_without_options_a_chart_is_what_it_was(tmp_path):
    plain, styled = tw.draw_impurity(), tw.draw_impurity(dpi=150)
    assert plain.figure.get_size_inches().tolist() == styled.figure.get_size_inches().tolist() == [5.2, 3.8]


def test_size_and_axes_exclude_each_other():
    import matplotlib.figure

    ax = matplotlib.figure.Figure().add_subplot()
    with pytest.raises(ParameterError, match="for a figure of its own"):
        tw.draw_impurity(ax=ax, size=SLIDE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "wide"}, "width and height in inches"),
        ({"size": (0, 3)}, "width and height in inches"),
        ({"size": (float("nan"), 3)}, "width and height in inches"),
        ({"font_size": 0}, "points from 1 to 200"),
        ({"font_size": True}, "points from 1 to 200"),
        ({"dpi": 1.5}, "whole number from 10 to 2400"),
        ({"size": (4, 3), "font_size": 40}, r"up to [\d.]+ points fit"),
    ],
)
def test_wrong_sizes(options, message):
    with pytest.raises(ParameterError, match=message):
        tw.grow("seven_points").draw(**options)


def test_a_tree_fills_a_slide():
    tree = tw.grow("seven_points")
    picture = tree.draw(size=(16, 9), dpi=40)
    assert pixels(picture.to_bytes("png")) == (640, 360)
    assert ElementTree.fromstring(picture.svg).get("width") == "1536"
    page = next(shape for shape in picture.scene.shapes() if isinstance(shape, BoxShape))
    assert (page.width, page.height) == (picture.scene.width, picture.scene.height)
    small = tree.draw(size=SLIDE, font_size=10)
    assert small.scene.scale == pytest.approx(10 / 8.25)
    assert tree.draw(font_size=16.5).scene.scale == 2


# -- boxes ----------------------------------------------------------------------------------------------------


def test_boxes_with_counts_impurity_and_gain_in_nats():
    shown = texts(tw.grow("seven_points").draw(show=["counts", "impurity", "gain"], unit="nats"))
    assert "dot 2 · star 5" in shown
    assert "H = 0.5983 nats" in shown
    assert "gain = 0.3255 nats" in shown


def test_boxes_show_what_the_criterion_measures():
    assert "G = 0.4082" in texts(tw.grow("seven_points", criterion="gini").draw(show="impurity"))
    mass = tw.grow("penguins", "body_mass_g", max_depth=1, drop_missing_target=True)
    assert any(text.startswith("Var = ") for text in texts(mass.draw(show="impurity")))


def test_questions_are_answered_by_yes_and_no():
    shown = texts(tw.grow("seven_points").draw(questions=True))
    assert "Is x2 ≤ 0.5?" in shown
    assert shown.count("Y") == shown.count("N") == 2
    many = texts(tw.grow("admissions", preset="id3").draw(questions=True))
    assert "GPA?" in many
    assert "= 3.7" in many


def test_rows_are_listed_in_the_boxes():
    shown = texts(tw.grow("four_points").draw(data="four_points", rows="abcd"))
    assert [text for text in ("a b c d", "a b", "c d", "a", "b") if text not in shown] == []
    with pytest.raises(ParameterError, match="needs their table"):
        tw.grow("four_points").draw(rows=True)


# -- steps ----------------------------------------------------------------------------------------------------


def test_an_unfinished_node_is_not_coloured_as_a_leaf():
    start, *_, last = tw.grow("seven_points").steps()
    from treewise.show.picture.node_selection import SelectedNode

    box = NodeBoxes(start).box(SelectedNode(0, -1))
    assert (box.heading, box.swatch, box.is_folded) == ("impure", None, True)
    assert all(NodeBoxes(last).box(SelectedNode(node.id, -1)).swatch for node in last if node.is_leaf)


def test_growth_and_pruning_as_a_strip():
    full = tw.grow("outlier")
    pruned = full.prune("reduced_error", validation="outlier_validation")
    shown = texts(full.draw_steps(pruned=pruned))
    captions = [text for text in shown if text.startswith(("start", "split", "pruned"))]
    assert captions == [
        *("start", "split 1: x1 ≤ 4", "split 2: x2 ≤ 3.5", "split 3: x2 ≤ 2.5", "split 4: x1 ≤ 7.5"),
        *("pruned at x2 > 2.5", "pruned at x2 ≤ 3.5", "pruned at x1 > 4"),
    ]
    assert shown.count("impure") == 4


def test_a_long_growth_is_shortened():
    tree = tw.grow("noisy", max_leaf_nodes=40)
    captions = [t for t in texts(tree.draw_steps(max_steps=5)) if t.startswith(("start", "split", "…"))]
    assert captions[0] == "start"
    assert captions[-1] == "… the whole tree, after 39 splits"
    assert len(captions) == 5
    assert len(texts(tw.grow("noisy", max_depth=0).draw_steps())) > 0


def test_a_tree_that_is_no_pruned_version():
    with pytest.raises(ParameterError, match="not a pruned version"):
        tw.grow("outlier").draw_steps(pruned=tw.grow("six_points"))


@pytest.mark.parametrize("names", BATCHES[:2])
def test_the_page_escapes_names_and_makes_no_request(names, tmp_path):
    cells, target = table(names)
    data = read(cells, name=target)
    tree = tw.grow(data, target, max_depth=2)
    tree.draw_steps(tmp_path / "growth.html", data=data)
    page = (tmp_path / "growth.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    body = page[page.index("<body>") :]
    assert re.findall(r"<(script|img|iframe|object|link|a|style)\b", body) == ["script"]
    assert not re.search(r"(src|href|srcset|xlink)\s*=\s*\"", re.sub(r">[^<]*<", "><", body))


def test_the_log_likelihood_rises_with_every_split(tmp_path):
    from treewise.show.picture.steps import list_steps
    from treewise.show.picture.steps_page import _likelihoods

    tree = tw.grow("admissions", preset="id3")
    steps = [step.tree for step in list_steps(tree, None, 12)]
    _, values = _likelihoods(steps, "nats")
    assert values == sorted(values)
    assert values == pytest.approx([step.log_likelihood("admissions") for step in steps])
    tree.draw_steps(tmp_path / "growth.html", data="admissions", x="GPA", y="University")
    page = (tmp_path / "growth.html").read_text(encoding="utf-8")
    assert page.count("<section ") == 4
    assert ">-12.000<" in page  # bits, of 12 rows of which half are positive
    tw.grow("penguins", "body_mass_g", max_depth=2, drop_missing_target=True).draw_steps(tmp_path / "r.html")


# -- several trees --------------------------------------------------------------------------------------------


def test_trees_side_by_side_share_their_colours():
    typed = tw.parse("x1 <= 4 -> star\nx1 > 4 -> dot", target="y")
    tree = tw.grow("outlier")
    picture = tw.draw_trees({"typed": typed, "grown": tree})
    builders = [builder for _, builder in picture.panels]
    assert {builder.tree.classes for builder in builders} == {tree.classes}
    assert builders[0].tree.prediction(1) == "star"


def test_table_code_and_tree_in_one_picture():
    tree = tw.parse(
        "if x1 == 1:\n    return 1\nelse:\n    if x2 == 1:\n        return 1\n    else:\n        return 0", target="y"
    )
    shown = texts(tree.draw(data="or", beside=["table", "code"]))
    assert "if x1 == 1:" in shown
    assert shown.count("return 1") == 2
    with pytest.raises(ParameterError, match="data"):
        tree.draw(beside="table")


def test_several_panels_in_latex_keep_their_captions_and_what_stands_beside():
    steps = tw.grow("outlier").draw_steps(across=2).tikz
    assert re.findall(r"\\textbf\{((?:split|start).*?)\}\\\\\[1ex\]", steps) == [
        *("start", r"split 1: x1 $\le$ 4", r"split 2: x2 $\le$ 3.5", r"split 3: x2 $\le$ 2.5", r"split 4: x1 $\le$ 7.5")
    ]
    assert [row.count(r"\begin{forest}") for row in steps.split(r"\\[2ex]")] == [2, 2, 1]
    options = {"kinds": {"x1": "nominal", "x2": "nominal"}, "categorical": "one_value"}
    beside = tw.grow("or", **options).draw(data="or", beside=["table", "code"]).tikz
    assert r"\textbf{x1} & \textbf{x2} & \textbf{y} \\ \hline" in beside
    assert r"{0} & {1} & {1} \\" in beside
    assert r"\texttt{~~~~if~x1~==~0:}" in beside
    assert beside.count(r"\begin{tabular}[t]{@{}l@{}}") == 4  # three panels, and the code


def test_ordered_levels_that_are_numbers_are_drawn_without_quotes():
    tree = tw.grow("admissions", categorical="ordinal", max_depth=1)
    assert 'GPA > "3.5"' in str(tree)  # as text it is read back
    assert {"= 3.5", "> 3.5"} <= set(texts(tree.draw()))


def test_rows_listed_by_number_say_so():
    shown = texts(tw.grow("seven_points").draw(data="seven_points", rows=True))
    assert {"rows 1 2 3 4 5 6 7", "rows 1 2", "row 3"} <= set(shown)
    assert "a b" in texts(tw.grow("four_points").draw(data="four_points", rows="abcd"))


def test_the_plane_of_the_page_has_signs_names_and_candidates_across_the_area_of_a_node():
    from treewise.show.picture.plane_scene import plane_picture
    from treewise.show.picture.scene import LineShape, PathShape, TextShape

    tree, data = tw.grow("four_points"), read("four_points")
    first = next(step for step in tree.steps() if step.n_leaves == 2)  # x1 <= 0.5 is done; a and b are impure
    plane = plane_picture([tree], data, (None, None), "abcd")
    parts = plane.scene(first, first.trace(data)[1]).parts
    assert [part.text for part in parts if isinstance(part, TextShape)][:4] == list("abcd")
    assert sum(isinstance(part, PathShape) for part in parts) == 1  # the triangle of class 1
    (candidate,) = (part for part in parts if isinstance(part, LineShape) and part.width == 2.2)
    left, y, right, other = candidate.segments[0]
    area = next(area for area in plane.plane.areas(first)[0] if area.node == 1)
    assert (left, right) == tuple(map(plane._across, plane.plane.x.intervals(area.x)[0]))
    assert y == other == plane._up(0.5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("or", {"kinds": {"x1": "nominal", "x2": "nominal"}, "categorical": "one_value"}),
        ("admissions", {"preset": "id3"}),
        ("outlier", {}),
        ("food", {"preset": "id3"}),
        ("penguins", {"max_leaf_nodes": 9}),
        ("noisy", {"max_depth": 30}),
    ],
)
def test_the_code_in_python_predicts_what_the_tree_does(name, options):
    tree, rows = tw.grow(name, **options), read(name)
    code = tree.export("if-else", language="python")
    scope = {}
    exec(code, scope)
    head = re.search(r"^def (\w+)\((.*)\):", code, re.MULTILINE)
    frame = rows.to_polars()
    columns = {re.sub(r"\W+", "_", column).strip("_"): column for column in tree.columns}
    arguments = [columns[argument.strip()] for argument in head[2].split(",")]
    expected = tree.predict(rows)
    for place, row in enumerate(frame.select(arguments).iter_rows()):
        cells = [float(cell) if re.fullmatch(r"[\d.]+", str(cell)) else cell for cell in row]
        assert scope[head[1]](*cells) == expected[place], row


# -- points and boundaries ------------------------------------------------------------------------------------


def test_points_alone_are_signs_with_names():
    ax = tw.draw_points("four_points", rows="abcd")
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c", "d"]
    assert [ax.get_title(loc=side) for side in ("left", "center", "right")] == ["", "", ""]
    assert len(ax.get_legend().get_texts()) == 2
    from treewise.show.palette import class_markers

    assert class_markers(["dot", "star"]) == ["o", "*"]
    assert len(set(map(str, class_markers(["star", "a", "b", "dot"])))) == 4


def test_points_of_one_column_are_refused():
    with pytest.raises(DataError, match="fewer than two columns"):
        tw.draw_points({"x": [1, 2], "y": [0, 1]}, target="y")


def test_training_and_validation_panels_share_axes():
    axes = tw.grow("outlier").draw_regions(["outlier", "outlier_validation"], "x1", "x2")
    assert axes.shape == (2,)
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert axes[0].get_ylim() == axes[1].get_ylim()
    titles = [ax.get_title(loc="left").splitlines()[1] for ax in axes]
    assert titles == ["0 of 20 rows of outlier wrong", "2 of 10 rows of outlier_validation wrong"]


def test_boundaries_of_all_candidates_with_their_gains():
    node = tw.candidates("seven_points", unit="nats", rows="abcdefg")
    ax = node.draw_boundaries()
    shown = {text.get_text() for text in ax.texts}
    assert {"0.2121", "0.2022", "0.3255", "0.1175", "a", "g"} <= shown
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == ["0.3255"]
    x = sorted(line.get_xdata()[0] for line in ax.lines if line.get_xdata()[0] == line.get_xdata()[1])
    assert x == [0.5, 1.5]


def test_boundaries_need_numeric_columns_and_impure_rows():
    with pytest.raises(ColumnError, match="categorical"):
        tw.candidates("penguins").draw_boundaries("island")
    with pytest.raises(DataError, match="alike"):
        tw.grow("outlier").trace("outlier")[1].draw_boundaries()


def test_gain_is_constant_between_data_values():
    line = tw.candidates("seven_points").draw("x2").lines[0]
    x, y = np.array(line.get_xdata()), np.array(line.get_ydata())
    assert x.tolist() == [0, 1, 1, 2]  # edges at the data values
    assert y[0] == y[1] != y[2] == y[3]


def test_regions_keep_their_classes_in_grey_print():
    ax = tw.grow("outlier").draw_regions("outlier", "x1", "x2")
    hatched = [collection.get_hatch() for collection in ax.collections if collection.get_hatch()]
    assert hatched == ["//"]  # the second class; the first has none


def test_rows_of_one_cell_lie_beside_each_other_on_the_page():
    data = tw.read("admissions")
    plane = plane_picture([tw.grow(data, preset="id3")], data, ("GPA", "Published"))
    assert len(set(zip(plane.x.tolist(), plane.y.tolist(), strict=True))) == 12
    levels = [axis.positions(data) for axis in plane.plane.axes]
    assert [np.round(axis).tolist() for axis in (plane.x, plane.y)] == [axis.tolist() for axis in levels]
    points = tw.datasets.four_points()
    plane = plane_picture([tw.grow(points)], points, ("x1", "x2"))
    assert plane.x.tolist() == [0, 0, 1, 2]  # numbers stay where they are


def test_a_leaf_shows_the_probability_it_was_typed_with():
    picture = tw.parse("Like = y -> yes 0.75\nLike = n -> no").draw()
    assert "75.0 %" in texts(picture)
    assert r"75.0 \%" in picture.tikz
    assert not any("%" in text for text in texts(tw.parse("Like = y -> yes\nLike = n -> no").draw()))
