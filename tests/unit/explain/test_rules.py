"""Rules: every row satisfies exactly one, that of its leaf; statistics agree with the counts."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import treewise as tw
from tests.support.handmade_trees import OFFICIALS, chain
from tests.support.random_tables import limit_examples, random_tables
from treewise.predict.confidence_intervals import student_half_width, wilson

UNSEEN = "Nowhere"


def odd_rows(data, tree, n, seed):
    """Rows of the table's own cells, cuts and their neighbours, levels never seen and missing values."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        row = {}
        for encoding in tree.encodings:
            cells = [None, *data[encoding.name]]
            here = [s for s in map(tree.split_at, range(len(tree))) if s is not None and s.column == encoding.name]
            if encoding.kind == "number":
                cuts = [s.cut for s in here if s.kind == "threshold"]
                cells += [math.nan, math.inf, -math.inf, *cuts]
                cells += [math.nextafter(c, to) for c in cuts for to in (math.inf, -math.inf)]
            elif encoding.kind == "integer":
                cells += [s.cut + step for s in here if s.kind == "threshold" for step in (0, 1)]
            elif encoding.kind == "nominal":
                cells.append(UNSEEN)
            row[encoding.name] = cells[rng.integers(len(cells))]
        rows.append(row)
    return rows


@limit_examples(0.6)
@given(random_tables())
def test_every_row_satisfies_exactly_one_rule(table):
    tree = table.grow()
    rules = tree.rules()
    every = list(rules)
    for row in odd_rows(table.data, tree, 12, len(table)):
        covering = [rule for rule in every if rule.covers(row)]
        assert [rule.node for rule in covering] == [tree.apply(row)]
        assert rules.covering(row).node == covering[0].node
        assert covering[0].prediction == tree.predict(row)


@limit_examples(0.5)
@given(random_tables())
def test_figures_are_those_of_the_nodes(table):
    tree = table.grow()
    rules = tree.rules(confidence=0.9)
    assert sum(rule.rows for rule in rules) == tree[0].rows == len(table)
    assert sum(rule.is_leaf for rule in rules) == tree.n_leaves
    for rule in rules:
        node = tree[rule.node]
        if not rule.rows:
            assert rule.probability is None
            assert rule.low is None
            continue
        assert rule.share == node.rows / len(table)
        if tree.task == "regression":
            assert rule.sd == node.spread
            if tree.criterion == "absolute_error":
                assert rule.low is None
            elif node.rows > 1:
                half = student_half_width(node.spread, node.rows, 0.9)
                assert (rule.low, rule.high) == pytest.approx((node.prediction - half, node.prediction + half))
        else:
            share = node.counts.get(node.prediction, 0.0) / sum(node.counts.values())
            of_all = tree[0].counts[node.prediction] / sum(tree[0].counts.values())
            assert rule.probability == pytest.approx(share)
            assert rule.lift == pytest.approx(share / of_all)
            assert (rule.low, rule.high) == pytest.approx(wilson(share * node.rows, node.rows, 0.9))


def test_conditions_on_a_column_are_merged_and_booleans_said():
    data = {"age": [1, 2, 4, 5, 8, 9], "x3": [True, False] * 3, "y": list("aabbcc")}
    rules = tw.grow(data, "y").rules("node")
    assert [rule.text for rule in rules] == ["age <= 3", "3 < age <= 6.5", "age > 6.5"]
    bengio = tw.parse("x3 is true\n  x5 <= 3.2 -> 1\n  x5 > 3.2 -> 0\nx3 is false -> 0", target="y").rules("node")
    assert str(bengio[0]) == "if x3 is true AND x5 <= 3.2 then y = 1"


def test_rules_are_sorted_by_what_the_reader_asks():
    tree = tw.grow("penguins", max_leaf_nodes=6)
    assert [r.rows for r in tree.rules()] == sorted((r.rows for r in tree.rules()), reverse=True)
    by_probability = [r.probability for r in tree.rules("probability")]
    assert by_probability == sorted(by_probability, reverse=True)
    by_lift = [r.lift for r in tree.rules("lift", cls="Chinstrap")]
    assert by_lift == sorted(by_lift, reverse=True)
    assert [r.node for r in tree.rules("node")] == sorted(r.node for r in tree.rules())
    heavy = tw.grow("penguins", "body_mass_g", drop_missing_target=True, max_leaf_nodes=4).rules("value")
    assert [r.prediction for r in heavy] == sorted((r.prediction for r in heavy), reverse=True)


def test_of_one_class():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    rules = tree.rules("probability", cls="Gentoo")
    assert len(rules) == 4
    assert rules[0].probability == 1.0
    assert rules[-1].probability == 0.0
    assert "Gentoo %" in str(rules)
    assert str(rules[-1]).endswith("(Gentoo 0.0 % of 8 rows)")


def test_rare_rules_are_left_out_and_counted():
    tree = tw.grow("penguins", max_leaf_nodes=6)
    some = tree.rules(min_support=10)
    assert [r.rows for r in some] == [139, 123, 59, 11]
    assert "2 rules below the minimum support are left out (12 rows in total)" in str(some)
    assert len(tree.rules(min_support=0.1)) == 3
    with pytest.raises(tw.ParameterError, match="the row stops at node 6, whose rule is not among these 4"):
        some.covering({"flipper_length_mm": 190, "bill_length_mm": 50, "island": "Biscoe"})


def test_levels_never_seen_have_rules_that_readers_are_told_of():
    tree = tw.grow("admissions", preset="id3")
    rules = tree.rules()
    odd = [rule for rule in rules if not rule.is_leaf]
    assert [(rule.node, rule.text, rule.prediction) for rule in odd] == [
        (0, "GPA never seen", "N"),
        (2, "GPA = 3.7 AND Published never seen", "P"),
        (3, "GPA = 3.7 AND Published = no AND University never seen", "N"),
    ]
    assert "3 more rules for unseen levels" in str(rules)
    assert "never seen AND" not in str(rules)
    assert len(rules.to_frame()) == 9


def test_leaves_that_no_row_can_reach_have_no_rule():
    tree = tw.parse("x <= 1\n  x <= 2 -> a\n  x > 2 -> b\nx > 1 -> c")
    rules = tree.rules()
    assert [rule.text for rule in rules] == ["x <= 1", "x > 1"]
    assert "1 unreachable leaf is left out" in str(rules)


def test_a_tree_written_by_hand_has_rules_without_figures():
    rules = tw.parse(OFFICIALS).rules()
    text = str(rules)
    assert "prob" not in text
    assert "interval" not in text
    assert all(rule.rows == 0 and rule.probability is None for rule in rules)
    assert rules.to_frame()["probability"].null_count() == len(rules)


def test_missing_values_are_reported_of_columns_that_had_some():
    tree = tw.grow("penguins", max_leaf_nodes=3)
    words = [rule.text for rule in tree.rules("node")]
    assert words[-1] == "flipper_length_mm > 206.5 or missing"
    assert words[0] == "flipper_length_mm <= 206.5 AND bill_length_mm <= 43.35"  # bills were missing nowhere here
    assert 'unless a rule says "or missing"' in str(tree.rules())


def test_every_form():
    rules = tw.grow("penguins", max_leaf_nodes=4).rules()
    frame = rules.to_frame()
    assert frame.schema["prediction"] == pl.String
    assert frame["rows"].to_list() == [150, 123, 63, 8]
    assert pl.read_csv(rules.to_csv().encode())["probability"].to_list() == frame["probability"].to_list()
    assert rules.to_dict()["rules"][0]["rule"] == rules[0].text
    assert rules.to_markdown().count("\n| ") == 6
    assert rules[:2].to_frame().shape[0] == 2
    assert rules[-1].node == 5
    assert "<script" not in rules._repr_mimebundle_()["text/html"]
    with pytest.raises(IndexError):
        rules[4]


def test_deep_and_large_trees_cost_what_is_read():
    tree = chain(30_000)
    rules = tree.rules()
    assert len(rules) == 30_001
    assert rules[0].text.count("x") == 1
    text = str(rules)
    assert "… 29,951 more rules" in text
    assert len(text.splitlines()) < 70
    assert len(rules.to_csv().splitlines()) == 30_002


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"sort": "size"}, 'sort="size": must be one of "support", "probability", "lift", "node" for classification.'),
        ({"sort": "value"}, 'sort="value": must be one of "support"'),
        ({"cls": "Gento"}, 'cls="Gento": "species" has no such class. Did you mean "Gentoo"? Its classes: Adelie,'),
        ({"min_support": -1}, "min_support=-1: must be a whole number, 0 or more, or a share above 0 and up to 1.0"),
        ({"confidence": 95}, "confidence=95: must be a number between 0 and 1"),
    ],
)
def test_invalid_requests_are_refused(asked, message):
    with pytest.raises(tw.ParameterError) as error:
        tw.grow("penguins", max_depth=1).rules(**asked)
    assert message in str(error.value)


def test_numbers_have_no_class():
    tree = tw.grow({"x": [1, 2], "y": [0.5, 1.5]}, "y", max_depth=0)
    with pytest.raises(tw.ParameterError, match="the tree predicts numbers, which have no classes"):
        tree.rules(cls="a")


def test_hostile_names_stay_data():
    tree = tw.grow({"a\nb|<i>": [1, 2, 3, 4], "y": ["<p>", "<p>", "\x1b[1m", "\x1b[1m"]}, "y")
    rules = tree.rules()
    assert all(line.isprintable() for line in str(rules).splitlines())
    assert "<i>" not in rules.to_html()
    assert rules.to_frame()["prediction"].to_list() == ["<p>", "\x1b[1m"]
