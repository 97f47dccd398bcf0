"""Curves and charts: the data drawn, the axes returned, and no side effects."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import rcParams
from matplotlib.figure import Figure
from sklearn.metrics import average_precision_score, brier_score_loss, precision_recall_curve, roc_auc_score, roc_curve

import treewise as tw
from tests.support.ensembles import ensemble_of
from tests.support.figures import all_texts
from tests.support.hostile_table import hostile_table
from treewise.cli import render
from treewise.evaluate.ranking import Ranking
from treewise.evaluate.residuals import Residuals
from treewise.show.mpl_helpers import figure_bytes, image_format, label_text, save_figure
from treewise.show.picture.scene import TextShape, text_width
from treewise.show.plots import evaluation as plots

NOISY = tw.grow("noisy", max_depth=3)


def every_picture():
    """Yield a name and a function that draws, for each picture there is."""
    evaluation = NOISY.evaluate("noisy")
    for what in plots.EVALUATIONS:
        yield what, lambda ax=None, what=what: evaluation.draw(what, ax).axes
    curve = tw.curve("noisy", folds=3, values=[1, 2, 4, 8])
    yield "curve", lambda ax=None: curve.draw(ax).axes
    yield "impurity", lambda ax=None: tw.draw_impurity(ax=ax)
    root = tw.candidates("penguins")
    yield "gains", lambda ax=None: root.draw("bill_length_mm", ax)
    many = ensemble_of([tw.grow("noisy", max_depth=depth) for depth in (1, 2, 3)])
    yield "stages", lambda ax=None: many.draw_stages("noisy", test="noisy", ax=ax)
    yield "gains of categories", lambda ax=None: root.draw("island", ax)


PICTURES = dict(every_picture())


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_draws_on_the_axes_it_is_given_and_returns_them(draw):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert draw(right) is right
    assert right.has_data() or right.texts
    assert not left.has_data()
    assert figure.axes == [left, right]


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_the_same_picture_is_the_same_file_and_no_style_is_touched(draw):
    before = dict(rcParams)
    one, other = (figure_bytes(draw().figure, "svg") for _ in range(2))
    assert one == other
    assert dict(rcParams) == before


@pytest.mark.parametrize(("form", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_forms_of_files(form, head):
    one, other = (figure_bytes(tw.draw_impurity().figure, form) for _ in range(2))
    assert one == other
    assert one.startswith(head)


def test_pyplot_is_not_loaded():
    code = (
        "import io, sys, treewise as tw\n"
        "tw.draw_impurity().figure.savefig(io.BytesIO())\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")


def test_a_notebook_shows_the_figure():
    figure = tw.draw_impurity().figure
    assert figure._repr_png_() == figure_bytes(figure, "png", dpi=110)


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ImportError, match=r'^pictures need matplotlib, which is not installed: pip install "treewise\[plot\]"\.$'
    ):
        tw.draw_impurity()


def test_axes_must_be_axes():
    with pytest.raises(tw.ParameterError, match=r"^ax=3: must be an Axes of matplotlib, as plt.subplots\(\)"):
        tw.draw_impurity(ax=3)


# -- names are data -------------------------------------------------------------------------------------------------


def test_hostile_names_are_shown_as_they_are():
    table, (a, b, c) = hostile_table()
    tree = tw.grow(table, "_t$", max_depth=3)
    evaluation = tree.evaluate(table)
    for what in plots.EVALUATIONS:
        texts = all_texts(evaluation.draw(what).axes)
        assert "_t$" in texts
        assert "_no$1$" in texts
    assert "_t$" in all_texts(tw.curve(table, "_t$", folds=2, values=[1, 2]).draw().axes)
    root = tree.trace(table)[0]
    for name in (a, b):
        assert name in all_texts(root.draw(name))
    assert "$x_1^2$" in all_texts(tw.candidates(table, "_t$", kinds={c: "one_value"}, min_level_rows=1).draw(c))


def test_text():
    assert label_text("a\nb$" + "y" * 99, 10) == "a\\nb\\$yyyy…"


# -- the numbers ----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 4)), min_size=2, max_size=40))
def test_ranking_is_scikit_learns(rows):
    chance, truth, weight = (np.array(column) for column in zip(*rows, strict=True))
    chance, weight = chance / 6, weight.astype(float)
    ranking = Ranking.of("yes", chance, truth, weight)
    assert ranking.brier == pytest.approx(brier_score_loss(truth, chance, sample_weight=weight, pos_label=True))
    if not truth.any() or truth.all():
        assert ranking.auc is None
        return
    assert ranking.auc == pytest.approx(roc_auc_score(truth, chance, sample_weight=weight))
    assert ranking.average_precision == pytest.approx(average_precision_score(truth, chance, sample_weight=weight))
    across, up, _ = roc_curve(truth, chance, sample_weight=weight, drop_intermediate=False)
    np.testing.assert_allclose(ranking.roc, [across, up], atol=1e-12)
    precision, recall, _ = precision_recall_curve(truth, chance, sample_weight=weight)
    np.testing.assert_allclose(ranking.precision_recall, [precision[-2::-1], recall[-2::-1]], atol=1e-12)
    bins = ranking.bins(3)
    assert len(bins) <= 3 or len(bins) == len(ranking.probability)
    assert sum(b.weight for b in bins) == pytest.approx(weight.sum())
    assert sum(b.weight * b.observed for b in bins) == pytest.approx(weight[truth].sum())
    assert all(b.interval[0] <= b.observed <= b.interval[1] for b in bins)


def test_weight_two_is_the_row_twice():
    chance, truth = np.array([0.2, 0.2, 0.9]), np.array([False, True, True])
    doubled = Ranking.of(1, chance, truth, np.array([2.0, 1.0, 1.0]))
    twice = Ranking.of(1, chance[[0, 0, 1, 2]], truth[[0, 0, 1, 2]])
    assert (doubled.auc, doubled.brier) == (twice.auc, twice.brier)


def test_the_tree_itself_is_a_corner_of_the_roc_curve():
    evaluation = NOISY.evaluate("noisy")
    line, _, own = evaluation.draw("roc").axes.lines
    corners = set(zip(line.get_xdata().round(12), line.get_ydata().round(12), strict=True))
    assert (round(own.get_xdata()[0], 12), round(own.get_ydata()[0], 12)) in corners
    assert f"AUC {evaluation.ranking.auc:.3f}" in evaluation.draw("roc").axes.get_title(loc="left")


def test_a_table_without_one_of_the_classes_can_be_drawn():
    table = tw.datasets.noisy()
    only = NOISY.evaluate(table.take(table["y"].values == 0))
    assert only.ranking.auc is None
    for what in plots.EVALUATIONS:
        figure_bytes(only.draw(what).axes.figure, "svg")
    assert "AUC is undefined" in only.draw("roc").axes.get_title(loc="left")


def test_the_curve_draws_its_points_and_marks_its_choices():
    curve = tw.curve("noisy", folds=3)
    ax = curve.draw().axes
    drawn = {tuple(line.get_ydata()) for line in ax.lines}
    for name in ("training", "validation", "true"):
        assert tuple(100 * getattr(point, name) for point in curve.points) in drawn
    marks = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if len(line.get_xdata()) == 1]
    chosen = [(point.leaves, 100 * point.validation) for point in (curve.best, curve.one_se)]
    assert marks == chosen[::-1]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"best, {curve.describe_point(curve.best)}" in texts
    assert f"one standard error, {curve.describe_point(curve.one_se)}" in texts


@pytest.mark.parametrize(
    "options", [{"over": "rows", "folds": 3}, {"over": "max_depth", "folds": 2}, {"folds": 0}, {"over": "ccp_alpha"}]
)
def test_every_curve_can_be_drawn(options):
    ax = tw.curve("noisy", **options).draw().axes
    figure_bytes(ax.figure, "svg")
    assert ax.get_xlabel() == {"rows": "rows", "max_depth": "max_depth"}.get(options.get("over"), "leaves")


def test_a_curve_of_numbers_and_one_of_a_single_point():
    assert tw.curve("penguins", "body_mass_g", drop_missing_target=True, folds=2).draw().axes.get_ylabel() == "rmse"
    figure_bytes(tw.curve({"x": [1, 1, 1, 1], "y": [0, 0, 1, 1]}, "y", folds=2).draw().axes.figure, "svg")


def test_figure_8_4():
    ax = tw.draw_impurity(["entropy", "gini", "error"])
    for line, formula in zip(ax.lines, (tw.entropy, lambda c: 2 * tw.gini(c), lambda c: 2 * min(c)), strict=True):
        p, y = line.get_data()
        assert [formula([1 - q, q]) for q in p] == list(y)
        assert (y[0], y[100], y[-1]) == (0, 1, 0)
    with pytest.raises(tw.ParameterError, match='criteria="ginni": must be one of entropy, gini, error'):
        tw.draw_impurity(["ginni"])


def test_gains_are_those_of_the_trace():
    root = tw.candidates("penguins")
    column = root["bill_length_mm"]
    ax = root.draw("bill_length_mm")
    drawn = {line.get_ydata()[i] for line in ax.lines[:2] for i in range(0, len(line.get_ydata()), 2)}
    assert drawn == {t.gain for t in column.tests if t.candidate.split.kind != "presence"}
    assert list(ax.lines[2].get_xdata()) == [column.best.candidate.split.cut] * 2
    bars = root.draw("island").patches
    assert sorted(bar.get_width() for bar in bars) == sorted(t.gain for t in root["island"].tests)


def test_between_two_values_the_gain_is_constant():
    root = tw.candidates({"x": [1, 2, 4, 7], "y": [0, 1, 1, 0]}, "y")
    steps, markers, _ = root.draw("x").lines
    gains = [t.gain for t in root["x"].tests]
    assert list(steps.get_xdata()) == [1, 2, 2, 4, 4, 7]
    assert list(steps.get_ydata()) == [gain for gain in gains for _ in range(2)]
    assert list(markers.get_xdata()) == [1.5, 3, 5.5]
    assert list(markers.get_ydata()) == gains


def test_the_tree_s_own_split_is_marked_where_it_is_another_one():
    table = tw.datasets.seven_points()
    tree = tw.grow(table, max_depth=0).split(0, "x1 <= 1.5", table)
    labels = [text.get_text() for text in tree.trace(table)[0].draw("x1").get_legend().get_texts()]
    assert labels == ["every threshold", "best: x1 <= 0.5", "split of the tree: x1 <= 1.5"]
    assert "x2" in tree.trace(table)[0].draw().get_xlabel()  # the column that would win


def test_thresholds_that_the_limits_forbid_are_marked():
    root = tw.candidates("seven_points", min_samples_leaf=3)
    labels = [text.get_text() for text in root.draw("x1").get_legend().get_texts()]
    assert "a branch would be too small" in labels


def test_drawing_errors_are_reported():
    table = tw.datasets.admissions()
    trace = tw.grow(table, preset="id3").trace(table)
    with pytest.raises(tw.DataError, match=r"^node 1 has no split to draw: all its rows are of one class\.$"):
        trace[1].draw()
    with pytest.raises(tw.DataError, match=r'^column "GPA" has no split to draw at node 2: '):
        trace[2].draw("GPA")
    with pytest.raises(tw.ColumnError, match=r'no column "gpa" at node 0\. Did you mean "GPA"\?'):
        trace[0].draw("gpa")
    evaluation = tw.grow("penguins", max_depth=2).evaluate("penguins")
    with pytest.raises(
        tw.ParameterError, match=r'^what="roc": this is for two classes, and there are 3\. There is "confusion"\.$'
    ):
        evaluation.draw("roc")
    with pytest.raises(tw.ParameterError, match='what="rok": must be one of confusion, roc'):
        evaluation.draw("rok")
    labels = [f"c{i}" for i in range(41)] * 2
    many = tw.grow({"x": list(range(82)), "y": labels}, "y", max_depth=1).evaluate({"x": list(range(82)), "y": labels})
    with pytest.raises(tw.DataError, match=r"^a matrix of 41 classes could not be read; up to 40 are drawn\."):
        many.draw()


def test_classes_the_tree_does_not_know_have_their_row():
    table = tw.read({"x": [1, 2, 3], "y": ["a", "b", "z"]})
    evaluation = tw.grow(table.head(2), "y").evaluate(table)
    assert [label.get_text() for label in evaluation.draw().axes.get_yticklabels()] == ["a", "b", "z"]
    assert evaluation.ranking.others.sum() == 2


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_are_written_whole_or_not_at_all(tmp_path):
    figure = tw.draw_impurity().figure
    save_figure(figure, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == figure_bytes(figure, "svg")
    with pytest.raises(tw.ParameterError, match=r"^cannot draw .*a\.gif: a picture ends in \.png, \.svg or \.pdf\.$"):
        save_figure(figure, tmp_path / "a.gif")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_figure(figure, tmp_path / "nowhere" / "a.png")
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]
    assert image_format("x.PDF") == "pdf"


def test_the_command_line_knows_the_same_pictures():
    assert render.EVALUATIONS == plots.EVALUATIONS
    assert render.REGRESSION_EVALUATIONS == plots.REGRESSION_EVALUATIONS
    assert all(image_format(f"x{ending}") for ending in render.PICTURE_ENDINGS)


def test_importances_are_bars_with_their_intervals():
    tree = tw.grow("penguins", max_leaf_nodes=6)
    importances = tree.importances()
    ax = importances.draw().axes
    requested = [c for c in importances.columns if c.splits]
    assert [bar.get_width() for bar in ax.patches] == [100 * c.importance for c in requested]
    assert [label.get_text() for label in ax.get_yticklabels()] == [c.column for c in requested]
    shuffled = tree.importances("penguins", repeats=3)
    ax = shuffled.draw(2).axes
    ends = [tuple(line.get_xdata()) for line in ax.lines[:2]]
    assert ends == [(100 * c.low, 100 * c.high) for c in shuffled.columns[:2]]
    assert len(ax.patches) == 2
    assert "the first 2 of" in ax.get_title(loc="left")


def test_texts_of_a_chart_stay_inside_it_and_apart():
    """The same texts as on matplotlib axes, within the picture, and no smaller than 12 pixels."""
    for picture in (NOISY.evaluate("noisy").draw(what) for what in plots.EVALUATIONS):
        for shape in picture.scene.shapes():
            if isinstance(shape, TextShape):
                assert shape.size >= 12
                half = {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor]
                left = shape.x - half * text_width(shape.text, shape.size, shape.bold)
                assert left >= 0
                assert left + text_width(shape.text, shape.size, shape.bold) <= picture.scene.width
                assert shape.y <= picture.scene.height


def test_residuals_are_those_of_the_rows():
    table = tw.datasets.penguins()
    tree = tw.grow(table, "body_mass_g", max_leaf_nodes=30, drop_missing_target=True)
    evaluation = tree.evaluate(table, drop_missing_target=True)
    truth = np.array(table.to_polars()["body_mass_g"].to_list(), float)
    predicted = np.asarray(tree.predict(table))[~np.isnan(truth)]
    truth = truth[~np.isnan(truth)]
    assert sum(evaluation.residuals.counts) + evaluation.residuals.outside == len(truth) == 342
    assert sum(group.weight for group in evaluation.residuals.groups) == 342
    assert len(evaluation.residuals.groups) <= 20
    few = tree.prune(max_leaf_nodes=5).evaluate(table, drop_missing_target=True).residuals
    assert few.is_by_value
    coarse = np.asarray(tree.prune(max_leaf_nodes=5).predict(table))[: len(table)]
    known = ~np.isnan(np.array(table.to_polars()["body_mass_g"].to_list(), float))
    for group in few.groups:
        rows = truth[np.isclose(coarse[known], group.predicted)]
        assert group.quantiles == tuple(np.quantile(rows, [0.05, 0.25, 0.5, 0.75, 0.95], method="inverted_cdf"))
    weighted = Residuals.of(truth, predicted, np.full(len(truth), 2.0))
    assert weighted.counts == tuple(2 * n for n in evaluation.residuals.counts)
    for what in plots.REGRESSION_EVALUATIONS:
        assert evaluation.draw(what).svg.startswith("<svg")
        assert evaluation.draw(what).axes.has_data()
    with pytest.raises(tw.ParameterError, match='what="roc": must be one of predicted, residuals'):
        evaluation.draw("roc")


def test_residuals_of_extreme_values():
    tree = tw.grow({"x": [1, 2, 3, 4], "y": [-1e308, 1e308, 0.0, 1.0]}, "y", task="regression")
    residuals = Residuals.of(np.array([-1e308, 1e308]), np.array([1e308, -1e308]), None)
    assert residuals.outside + sum(residuals.counts) == 2
    assert tree.evaluate({"x": [1, 2], "y": [0.0, 0.0]}).draw("residuals").svg.startswith("<svg")


def test_importances_that_cannot_be_drawn():
    with pytest.raises(tw.DataError, match=r"^the tree uses no column, so there are no importances to draw\.$"):
        tw.grow("penguins", max_depth=0).importances().draw()
    with pytest.raises(tw.ParameterError, match=r"^max_columns=0: must be a whole number, 1 or more\.$"):
        tw.grow("penguins", max_depth=1).importances().draw(0)


def test_many_trees_are_called_so():
    evaluation = tw.forest("outlier", n_estimators=3).evaluate("outlier")
    ax = evaluation.draw("roc").axes
    assert "predictions of the ensemble" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert "the rows the trees were grown on" in ax.get_title(loc="left") + ax.get_title()
    assert "those they were grown on" in evaluation.draw("confusion").axes.get_title(loc="left")
