"""The report file: contents, no executable data, and rejected input.

``tests/browser/test_report.py`` opens it.
"""

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

import numpy as np
import pytest

import treewise as tw
from tests.support.handmade_trees import chain
from tests.support.hostile_names import NAMES
from treewise.show.plots.chart import log_ticks
from treewise.show.report.facts import REASONS
from treewise.show.report.report import ReportOptions, limit_size, report_html
from treewise.show.report.sections import describe_finding
from treewise.tree.arrays import STOPS


class Reader(HTMLParser):
    """Collects the tags that are open at the end, all tags, and the texts of scripts and styles."""

    VOID = frozenset({"meta", "input", "br", "img", "link"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.blocks = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            name, attributes = self.tags[-1]
            self.blocks[name, attributes.get("type")] = self.blocks.get((name, attributes.get("type")), "") + data


def facts_in(text):
    return json.loads(Reader(text).blocks["script", "application/json"])


def hostile_table():
    names = [name for name in NAMES if name.strip() and len(name) < 300]
    table = {f"{name}{i}": (names * 2)[i : i + 12] for i, name in enumerate(names[:6])}
    return {**table, "</script>": [names[0], names[1]] * 6}


@pytest.fixture(scope="module")
def page():
    return report_html(tw.grow("penguins", max_leaf_nodes=4), "penguins", tw.datasets.penguins().head(100))


def test_it_is_well_formed_and_needs_nothing_else(page):
    actual = Reader(page)
    assert actual.open == []
    assert not {"img", "iframe", "object", "embed", "link", "base"} & {tag for tag, _ in actual.tags}
    assert all(a["href"].startswith("#") for tag, a in actual.tags if tag == "a")
    assert not any(name.startswith("on") or name in ("style", "src") for _, a in actual.tags for name in a)


def test_the_policy_allows_our_script_and_style_and_nothing_else(page):
    actual = Reader(page)
    policy = next(a["content"] for tag, a in actual.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for block in (("script", "module"), ("style", None)):
        digest = b64encode(hashlib.sha256(actual.blocks[block].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_names_stay_data():
    table = hostile_table()
    tree = tw.grow(table, "</script>")
    text = report_html(tree, table, table, ReportOptions(rows="all", title="<b>&</b>"))
    actual = Reader(text)
    assert actual.open == []
    assert [tag for tag, _ in actual.tags].count("script") == 2
    assert not {"img", "b"} & {tag for tag, _ in actual.tags}
    facts = actual.blocks["script", "application/json"]
    assert not re.search("[<>&\u2028\u2029]", facts)
    assert json.loads(facts)["target"] == "</script>"


def test_rows_are_in_the_file_only_on_request(tmp_path):
    secret = "Ms Bartholomew-Featherstonehaugh"
    table = {"id": [f"{secret} {i}" for i in range(30)], "x": list(range(30)), "y": ["a", "b"] * 15}
    tree = tw.grow(table, "y", ignore=["id"])
    assert secret not in report_html(tree, table)
    assert facts_in(report_html(tree, table))["rows"] is None
    everything = facts_in(report_html(tree, table, options=ReportOptions(rows="all")))["rows"]
    assert everything["number"] == list(range(1, 31))
    assert everything["node"] == tree.apply(table).tolist()
    assert secret not in json.dumps(everything)  # a column the tree was never given


@pytest.mark.parametrize("options", [{}, {"selection": "gain", "min_level_rows": 1}, {"selection": "test"}])
def test_without_rows_no_cell_of_few_rows_is_named(options):
    """Levels of columns that are not asked about, rare levels and exact ends of ranges are cells of rows."""
    n = 200
    table = {
        "x": [i * 1.000000123 for i in range(n)],
        "patient": [f"Secret{i}" for i in range(n)],
        "ward": ["Rome"] * 195 + ["Hiddenville"] * 5,
        "y": ["a" if i < 100 else "b" for i in range(n)],
    }
    tree = tw.grow(table, "y", **options)
    text = report_html(tree, table)
    assert "Secret" not in text
    assert "Hiddenville" not in text
    assert "Rome 195" in text
    assert "199.000024477" not in text
    assert "ward: 1 of 2 levels" in text
    assert ("patient: 100 of 200 levels" in text) == ("min_level_rows" in options)
    assert "Secret7" in report_html(tree, table, options=ReportOptions(rows="all"))


def test_texts_that_meant_missing_still_do():
    table = {"x": [-999, -999, -999, 1, 2, 3, 4, 5], "y": list("aaabbbaa")}
    tree = tw.grow(table, "y", na_values=["-999"])
    facts = facts_in(report_html(tree, table, table, ReportOptions(rows="all")))
    assert facts["rows"]["node"] == tree.apply(table).tolist()
    assert facts["test"]["rows"] == tree.arrays.rows.tolist()


def test_a_test_table_with_a_class_of_its_own():
    table = {"x": [1, 2, 3, 4], "y": list("aabb")}
    text = report_html(tw.grow(table, "y"), table, {"x": [1, 2, 4], "y": ["a", "z", "b"]})
    assert "1 row of the test table have a class the tree does not know (z)" in text
    assert facts_in(text)["test"]["rows"][0] == 2


def test_answers_beside_the_table():
    x, y = [[float(i), 0.0] for i in range(8)], ["a", "b"] * 4
    tree = tw.grow(x, y)
    text = report_html(tree, x, x, ReportOptions(target=y, test_target=y))
    assert facts_in(text)["test"]["rows"] == tree.arrays.rows.tolist()


def test_every_reason_to_stop_is_reported():
    assert set(REASONS) == set(STOPS[1:])


def test_names_that_are_patterns():
    table = {"*": [1, 2, 3, 4], "^x.*$": list("aabb"), "x": [1, 1, 1, 2], "y": list("aabb")}
    rows = facts_in(report_html(tw.grow(table, "y"), table, options=ReportOptions(rows="all")))["rows"]
    assert rows["columns"] == ["*", "^x.*$", "x", "y"]


def test_a_sample_is_spread_over_the_table():
    table = {"x": list(range(2000)), "y": [i % 2 for i in range(2000)]}
    rows = facts_in(report_html(tw.grow(table, "y", max_depth=2), table, options=ReportOptions(rows="sample")))["rows"]
    assert (len(rows["number"]), rows["number"][0], rows["sampled"]) == (500, 1, True)
    assert rows["number"][-1] == 1997


def test_the_facts_are_the_trees_own(page):
    tree, facts = tw.grow("penguins", max_leaf_nodes=4), facts_in(page)
    assert facts["nodes"]["parent"] == tree.arrays.parent.tolist()
    assert facts["nodes"]["condition"] == [tree.condition(node) for node in range(len(tree))]
    texts = [text for _, text in facts["rules"]["2"]]
    assert texts == ["flipper_length_mm <= 206.5", "bill_length_mm <= 43.35"]
    assert [tree.columns[column] for column, _ in facts["rules"]["2"]] == ["flipper_length_mm", "bill_length_mm"]
    assert facts["test"]["rows"][0] == 100
    assert facts["computations"]["0"]["candidates"][0] == {
        "split": "flipper_length_mm > 206.5 or missing",
        "gain": "0.79747",
        "won": True,
    }


def test_numbers_that_javascript_cannot_hold_are_texts():
    table = {"id": [2**60 + i for i in range(8)], "x": [float("inf"), 1.0] * 4, "y": [0, 1, 1, 0, 0, 1, 1, 0]}
    nodes = facts_in(report_html(tw.grow(table, "y"), table))["nodes"]
    assert all(isinstance(cut, str) for cut, column in zip(nodes["cut"], nodes["column"], strict=True) if column == 0)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        (
            lambda: tw.grow("outlier", max_depth=1),
            "Of the rows with x1 > 4, 91.7 % are star; of those with x1 <= 4, none.",
        ),
        (lambda: tw.grow("outlier", max_depth=0), "The tree has no split: it always predicts star (55.0 %)."),
        (lambda: tw.parse("x <= 1 -> a\nx > 1 -> b", target="y"), "The first split is on x."),
        (
            lambda: tw.grow({"x": [1, 2, 3, 4], "y": [1.5, 2.5, 30.0, 31.0]}, "y", max_depth=1, task="regression"),
            "y is on average 30.5 where x > 2.5, 2 where x <= 2.5.",
        ),
    ],
)
def test_the_answer_in_a_sentence(tree, sentence):
    assert describe_finding(tree()) == sentence


def test_regression_and_a_tree_by_hand():
    table = {"x": [1.0, 2.0, 3.0, 4.0, None], "y": [1.5, 2.5, 30.0, 31.0, 2.0]}
    assert "Test RMSE" in report_html(tw.grow(table, "y", max_depth=1), table, table)
    by_hand = tw.parse("x <= 2.5 -> 2\nx > 2.5 -> 30", target="y", task="regression")
    assert facts_in(report_html(by_hand, table))["nodes"]["rows"][0] == 5


def test_a_tree_too_large_to_draw_is_cut_and_the_page_is_reported():
    tree = chain(7000)
    assert limit_size(tree).n_leaves <= 5000
    table = {"x": [1.0, 2.0], "y": tree.classes[:2]}
    assert "leaves. This page draws it pruned to" in report_html(tree, table, options=ReportOptions(computations=False))


def test_invalid_arguments_are_refused(tmp_path):
    tree = tw.grow("penguins", max_depth=1)
    with pytest.raises(tw.ParameterError, match=r'^rows="some": must be one of none, sample, all. Did you mean'):
        tree.report(tmp_path / "r.html", "penguins", rows="some")
    with pytest.raises(tw.ColumnError, match='no column "species"'):
        tree.report(tmp_path / "r.html", {"flipper_length_mm": [1.0]})
    assert list(tmp_path.iterdir()) == []


def test_points_are_drawn_only_with_the_rows():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    assert 'class="point"' not in report_html(tree, "penguins")
    shown = report_html(tree, "penguins", options=ReportOptions(rows="all"))
    assert shown.count('class="point"') == 342  # two rows lack both numbers
    assert "Predictions over flipper_length_mm and bill_length_mm where island = Biscoe" in shown


def test_rows_without_an_answer_are_treated_as_when_it_was_grown():
    table = {"x": [1, 2, 3, 4], "w": [1, 1, 2, 1], "y": ["a", "b", "b", None]}
    tree = tw.grow(table, "y", drop_missing_target=True, sample_weight="w")
    assert "weight 0 of 4 wrong" in report_html(tree, table)


def test_round_numbers_for_the_axis():
    assert log_ticks(1, 15) == [1, 2, 5, 10, 15]


def test_computations_have_a_bounded_cost(monkeypatch):
    from treewise.explain.trace.trace import Trace

    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=4000), "z": rng.normal(size=4000), "y": rng.choice(["a", "b"], 4000)}
    tree = tw.grow(data, "y")
    monkeypatch.setattr(Trace, "__getitem__", lambda *_: pytest.fail("a node was traced"))
    html = report_html(tree, data)
    assert "The other candidates were not computed: the table is large." in html


def test_a_table_that_is_not_the_training_table_is_a_test_table():
    train, other = tw.datasets.noisy(200, seed=1), tw.datasets.noisy(150, seed=2)
    tree = tw.grow(train, "y", max_depth=2)
    page = report_html(tree, other)
    facts = json.loads(re.search(r'id="facts">(.*?)</script>', page, re.S)[1])
    assert facts["computations"] is None
    assert "this is another table" in facts["computations_note"]
    assert facts["test"] is not None
    assert "<h3>Test table</h3>" in page
    assert "<h3>Training table</h3>" not in page
    assert "error 14.0 %: 21 of 150 rows wrong; 95 % interval 9.3 to 20.5 % (Wilson)" in page
    assert "<td>recall of" in page
    same = report_html(tree, train)
    assert "<h3>Training table</h3>" in same
    assert "<h3>Test table</h3>" not in same


def test_two_tables_of_which_neither_is_the_training_table():
    train, other, test = (tw.datasets.noisy(150, seed=seed) for seed in (1, 2, 3))
    page = report_html(tw.grow(train, "y", max_depth=2), other, test)
    assert "<h3>Test table</h3>" in page
    assert "<h3>Other table</h3>" in page
    assert "<h3>Training table</h3>" not in page


def test_without_a_table_the_page_shows_the_tree():
    tree = tw.grow("penguins", pruning="cv")
    page = tree.report()
    assert "Cross-validated error" in page.html
    assert facts_in(page.html)["rows"] is None
    assert "sandbox=" in page._repr_html_()
    assert Reader(page.html).open == []
    with pytest.raises(tw.ParameterError, match=r'^rows="all": these need the table that the tree was grown on'):
        tree.report(rows="all")
    with pytest.raises(tw.ParameterError, match=r"^path=.*must be the name of a file, or None"):
        tree.report(tw.datasets.penguins())


def test_the_error_to_expect_comes_first():
    table = tw.datasets.noisy(seed=1)
    tree = tw.grow(table, "y", pruning="cv")
    tile = re.search(r"<dt>(.*?)</dt><dd><strong>(.*?)</strong>", report_html(tree, table))
    assert tile[1] == "Cross-validated error"
    tile = re.search(r"<dt>(.*?)</dt><dd><strong>(.*?)</strong>", report_html(tree, table, tw.datasets.noisy(seed=2)))
    assert tile.groups() == ("Test error", f"{100 * tree.evaluate(tw.datasets.noisy(seed=2)).error:.1f} %")
    page = report_html(tw.grow(table, "y"), table)
    assert "<dt>Training error</dt>" in page
    assert "the error on new rows is unknown" in page


def test_training_ranges_are_rounded_outwards():
    table = {"x": [1.2345678, 250898.09, 3.0, 4.0], "y": list("abab")}
    column = facts_in(report_html(tw.grow(table, "y"), table))["columns"][0]
    assert column["range"] == {"low": 1.23, "high": 251000.0, "text": "1.23 to 251,000"}
    assert column["never_missing"]


def test_a_report_names_the_file_of_its_model(tmp_path):
    """What is signed: the checksum is that of the file, also of a tree with words for readers."""
    tree = tw.grow("xor").with_display(labels={1: "yes"})
    tree.save(tmp_path / "model.json")
    sha256 = hashlib.sha256((tmp_path / "model.json").read_bytes()).hexdigest()
    assert f"<td>sha256 {sha256}</td>" in report_html(tree, "xor")
    assert f"<td>sha256 {sha256}</td>" in report_html(tw.load(tmp_path / "model.json"))


def test_a_single_leaf_has_no_form_and_no_ranking():
    table = tw.datasets.noisy(200, seed=1)
    page = report_html(tw.grow(table, "y", max_depth=0), table)
    assert 'class="workspace single"' in page
    assert [title for title in ("Confusion matrix", "ROC curve", "Importances") if title in page] == [
        "Confusion matrix"
    ]
    assert "worse than the baseline" not in page


def test_numbers_have_the_baseline_beside_the_error():
    table = tw.datasets.noisy(200, seed=1)
    page = report_html(tw.grow(table, "x1", max_depth=2), table)
    assert "<dt>Baseline RMSE</dt>" in page
    assert "<td>RMSE</td>" in page
