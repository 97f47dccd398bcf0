"""Notebook display: one MIME bundle per result, without script."""

import json

import pytest

import treewise as tw
from tests.support.displayables import RESULTS, renderings
from tests.support.output_checks import CHECKS, check_html
from treewise.evaluate import paths


@pytest.fixture(scope="module")
def tree():
    return tw.grow("penguins", max_leaf_nodes=5)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_bundle(name, tree):
    result = RESULTS[name](tree, tw.datasets.penguins())
    bundle = result._repr_mimebundle_(include=None, exclude=None)
    assert {"text/plain", "text/html"} <= set(bundle) <= {"text/plain", "text/html", "text/markdown", "image/svg+xml"}
    assert bundle["text/plain"] == repr(result)
    assert check_html(bundle["text/html"]).strip()
    json.dumps(bundle)
    for form, text in renderings(result):
        CHECKS[form](text)


def test_a_tree_shows_its_header_and_its_text(tree):
    message = check_html(tree._repr_mimebundle_()["text/html"])
    assert "species: Adelie, Chinstrap, Gentoo · 344 rows · 5 leaves · depth 3 · training error 2.9 %" in message
    assert str(tree).splitlines()[-1] in message


def test_a_grown_tree_says_what_grow_did():
    message = check_html(tw.grow("penguins", pruning="cv")._repr_mimebundle_()["text/html"])
    assert "on new rows: cross-validated error 3.5 %" in message
    assert "folds=10" in message
    assert "13 → 8 leaves" in message


def test_charts_show_themselves():
    """A chart is SVG of our own, so it needs neither pyplot nor a script, and is part of no other figure."""
    for picture in (
        tw.grow("noisy", max_depth=3).evaluate("noisy").draw("roc"),
        tw.curve("noisy", folds=3).draw(),
        tw.grow("penguins", max_depth=2).importances().draw(),
        tw.grow("penguins", max_depth=2).draw(),
    ):
        bundle = picture._repr_mimebundle_()
        assert check_html(bundle["text/html"]).strip()
        assert bundle["image/svg+xml"].startswith("<svg")
        assert bundle["text/plain"].startswith("<")
    assert "<svg" in tw.curve("noisy", folds=3)._repr_mimebundle_()["text/html"]
    assert tw.draw_impurity()._repr_png_()[1:4] == b"PNG"
    assert (
        tw.grow("penguins", max_depth=2)
        .draw_regions("penguins", "bill_length_mm", "flipper_length_mm")
        ._repr_png_()[1:4]
        == b"PNG"
    )


def test_a_chart_on_given_axes_is_not_shown_twice():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    drawn = tw.grow("noisy", max_depth=3).evaluate("noisy").draw("roc", ax)
    assert drawn.axes is ax
    assert set(drawn._repr_mimebundle_()) == {"text/plain"}


def test_a_tree_that_has_memorised_its_table_is_reported():
    html = tw.grow({"x": list(range(40)), "y": list("ab" * 20)}, "y")._repr_mimebundle_()["text/html"]
    assert "the tree has memorised its table" in html


def test_a_written_tree_has_no_rows_to_show():
    message = check_html(tw.parse("x <= 1 -> a\nx > 1 -> b", target="y")._repr_mimebundle_()["text/html"])
    assert "y: a, b · 2 leaves · depth 1" in message
    assert "missing values take the first branch" in message


def test_a_large_tree_is_bounded():
    tree = tw.grow(tw.datasets.noisy(n=3000, noise=0.4), "y")
    assert tree.n_leaves > 300
    bundle = tree._repr_mimebundle_()
    assert len(bundle["text/html"]) < 90_000
    assert "dashed boxes stand for" in bundle["image/svg+xml"]
    assert bundle["image/svg+xml"] in bundle["text/html"]
    assert "lines shown of" in bundle["text/html"]


def test_of_a_million_paths_a_notebook_shows_some(tree):
    many = paths(tree, tw.datasets.penguins())
    html = many._repr_mimebundle_()["text/html"]
    assert html.count("<tr>") == 51
    assert "… 294 more rows" in html
    assert many.to_frame().shape == (344, 6)
    assert many.to_frame().filter(wrong=True).shape[0] == tree.evaluate("penguins").errors


def test_numbers_too():
    tree = tw.grow({"x": [1, 2, 3, 4], "y": [1.5, 2.5, 3.5, 9.5]}, "y", max_depth=1)
    evaluation = tree.evaluate({"x": [1, 2, 3, 4], "y": [1.5, 2.5, 3.5, 9.5]})
    assert check_html(evaluation._repr_mimebundle_()["text/html"]).count("rmse") == 1
    assert evaluation.to_frame()["figure"].to_list() == ["rmse", "mae", "r2"]


def test_an_evaluation_is_a_matrix_for_readers_and_pairs_for_programs(tree):
    evaluation = tree.evaluate("penguins")
    assert "| true \\\\ predicted | Adelie | Chinstrap | Gentoo | right % |" in evaluation.to_markdown()
    frame = evaluation.to_frame()
    assert frame.filter(true="Gentoo", predicted="Gentoo")["rows"].to_list() == [123]
    assert frame["rows"].sum() == 344


def test_the_cp_table_as_a_frame():
    table = tw.grow("penguins", pruning="cv").cp_table
    frame = table.to_frame()
    assert frame.columns == ["cp", "nsplit", "leaves", "rel_error", "xerror", "xstd", "mark"]
    assert frame["mark"].to_list()[table.chosen].endswith("chosen")
    assert repr(table) == str(table)
