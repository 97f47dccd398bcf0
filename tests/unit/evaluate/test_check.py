"""Checking a tree against a table: leaves, contradictions, and the effect of refitting."""

import json
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.handmade_trees import OFFICIALS


@pytest.fixture
def wrong():
    return tw.parse(OFFICIALS.replace("GPA = 3.5 -> N", "GPA = 3.5 -> P"))


def test_a_wrong_leaf_is_found_and_mended(wrong):
    report = wrong.check("admissions")
    assert [(e.node, e.rule, e.prediction, e.majority, e.rows, e.agreeing) for e in report.disagreeing] == [
        (13, "GPA = 3.5", "P", "N", 4, 0.0)
    ]
    assert (report.errors, report.errors_refitted, report.least_errors) == (4, 0, 0)
    assert not report.sound
    again = wrong.refit("admissions").check("admissions")
    assert again.sound
    assert again.errors == 0


def test_words(wrong):
    text = wrong.check("admissions").to_text(width=None)
    lines = text.splitlines()
    assert lines[0] == "Checked against admissions, column Class: 12 rows"
    assert lines[1].split() == ["node", "leaf", "predicts", "rows", "majority", "%", "right"]
    assert lines[3].split()[-4:] == ["N", "0", "–", "empty"]
    assert lines[10].split() == ["13", "GPA", "=", "3.5", "P", "4", "N", "0.0", "disagrees"]
    assert lines[11:] == [
        "1 leaf does not predict the majority of its rows (node 13). refit corrects this: 4 → 0 of 12 wrong.",
        "2 of 9 leaves have no rows (nodes 4, 6): the table cannot tell whether they are right.",
        "No contradictions: no rows are equal in GPA, Recommendation, University, Published and differ in class.",
    ]


def test_contradictions_are_rows_no_tree_can_tell_apart():
    data = {"x": [1, 1, 2, 2, None, None], "z": ["a", "a", "a", "b", "b", "b"], "y": ["P", "N", "P", "P", "N", "P"]}
    report = tw.parse("x <= 1\n  z = a -> P\n  z = b -> N\nx > 1 or missing -> P").check(data)
    assert [(c.rows, c.cells, c.counts, c.node) for c in report.contradictions] == [
        ((1, 2), {"x": "1", "z": "a"}, {"P": 1.0, "N": 1.0}, 2),
        ((5, 6), {"x": "missing", "z": "b"}, {"P": 1.0, "N": 1.0}, 4),
    ]
    assert report.least_errors == 2
    assert report.conclusions[-1] == (
        "2 contradictions: rows equal in x, z with different classes."
        " Any tree over these columns gets at least 2 of 6 wrong."
    )
    lines = str(report).splitlines()
    assert lines[lines.index("Contradictions") + 2].split() == ["1,", "2", "x", "1,", "z", "a", "1", "N,", "1", "P"]


def test_rows_without_a_branch_are_listed_where_evaluate_refuses():
    tree = tw.parse("GPA = 4.0 -> P\nGPA = 3.7 -> P")
    report = tree.check("admissions")
    assert report.unanswered == (9, 10, 11, 12)
    assert 'Rows 9, 10, 11, 12 match no branch: add one, or "otherwise".' in report.conclusions
    assert [e.finding for e in report.leaves] == ["no answer", "", ""]
    with pytest.raises(tw.DataError, match="row 9 of admissions stops at node 0"):
        tree.evaluate("admissions")


def test_ties_and_costs_are_no_disagreement():
    data = {"x": [1, 1, 2, 2, 2], "y": ["a", "b", "a", "a", "b"]}
    report = tw.parse("x <= 1 -> b\nx > 1 -> a").check(data)
    assert report.sound
    assert [e.majority for e in report.leaves] == ["b", "a"]
    dear = tw.parse("x <= 1 -> b\nx > 1 -> a", target="y").refit(data).with_cost({"b": {"a": 5}})
    assert [(e.prediction, e.majority) for e in dear.check(data).leaves] == [("b", "b"), ("b", "b")]
    assert dear.check(data).sound
    assert [e.node for e in dear.with_cost(None).with_cost({"a": {"b": 9}}).check(data).disagreeing] == []


def test_weights_count_and_missing_answers_are_refused():
    data = {"x": [1, 1, 2], "y": ["a", "b", "b"], "w": [1.0, 3.0, 0.0]}
    report = tw.parse("x <= 1 -> a\nx > 1 -> b").check(data, sample_weight="w")
    assert (report.n, report.weight, report.errors, report.least_errors) == (2, 4.0, 3.0, 1.0)
    assert [e.finding for e in report.leaves] == ["disagrees", "empty"]
    data["y"][2] = None
    with pytest.raises(tw.DataError, match=r"is missing in 1 row"):
        tw.parse("x <= 1 -> a\nx > 1 -> b").check(data)
    assert tw.parse("x <= 1 -> a\nx > 1 -> b").check(data, drop_missing_target=True).n == 2


def test_a_written_tree_may_not_name_every_class():
    data = {"x": [1, 1, 1, 2], "y": ["c", "c", "a", "b"]}
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    report = tree.check(data, target="y")
    assert [(e.prediction, e.majority) for e in report.disagreeing] == [("a", "c")]
    assert (report.errors, report.errors_refitted, report.least_errors) == (2, 1, 1)
    mended = tree.with_(target=replace(tree.target, name="y")).refit(data)
    assert mended.classes == ("a", "b", "c")
    assert mended.evaluate(data).errors == 1
    grown = tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y").check(data)
    assert [(e.prediction, e.majority, e.finding) for e in grown.leaves] == [("a", "a", ""), ("b", "b", "")]


def test_numbers_agree_within_the_interval_of_their_mean():
    data = {"x": [1, 1, 1, 2, 2, 2], "y": [1.5, 2.5, 3.5, 10.5, 11.5, 12.5]}
    report = tw.parse("x <= 1 -> 2.5\nx > 1 -> 70").check(data, "y")
    assert [(e.prediction, e.majority, e.finding) for e in report.leaves] == [(2.5, 2.5, ""), (70.0, 11.5, "disagrees")]
    assert report.contradictions == ()
    assert (
        "1 leaf does not predict a value within the interval (95 %, Student) of the mean of its rows (node 2)."
        " refit sets the means." in (report.conclusions)
    )


def test_every_form(wrong):
    report = wrong.check("admissions")
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["leaves"][-1]["finding"] == "disagrees"
    assert report.to_frame().filter(finding="empty")["node"].to_list() == [4, 6]
    assert "<script" not in report._repr_mimebundle_()["text/html"]


def test_of_many_leaves_those_with_a_finding_come_first():
    tree = tw.grow("noisy", random_state=0)
    report = tree.check("noisy")
    assert len(report.leaves) > 40
    assert report.sound
    actual = [row[-1] for row in tree.check(tw.datasets.noisy(n=60, seed=5)).result_table().rows]
    assert actual == sorted(actual, key=["disagrees", "empty", ""].index)
    assert {"disagrees", "empty", ""} == set(actual)


LEVELS = st.sampled_from("abc")
ROWS = st.lists(st.tuples(LEVELS, LEVELS, st.sampled_from("PN")), min_size=2, max_size=12)


@st.composite
def written(draw):
    """A tree over u and v that knows every level, each leaf with any class."""
    lines = []
    for u in "abc":
        if draw(st.booleans()):
            lines += [f"u = {u}", *(f"  v = {v} -> {draw(st.sampled_from('PN'))}" for v in "abc")]
        else:
            lines.append(f"u = {u} -> {draw(st.sampled_from('PN'))}")
    return "\n".join(lines)


@given(written(), ROWS)
def test_against_counting_by_hand(text, rows):
    data = {"u": [r[0] for r in rows], "v": [r[1] for r in rows], "y": [r[2] for r in rows]}
    if len(set(data["y"])) < 2:
        data = {name: [*cells, last] for (name, cells), last in zip(data.items(), ("a", "a", "N"), strict=True)}
        data = {name: [*cells, last] for (name, cells), last in zip(data.items(), ("b", "a", "P"), strict=True)}
    tree = tw.parse(text, target="y")
    report = tree.check(data)
    ends, groups = defaultdict(Counter), defaultdict(list)
    requested = [name for name in ("u", "v") if name in tree.columns]
    for i, node in enumerate(tree.apply(data).tolist()):
        ends[node][data["y"][i]] += 1
        groups[tuple(data[name][i] for name in requested)].append(i)
    for leaf in report.leaves:
        counts = ends[leaf.node]
        assert leaf.rows == sum(counts.values())
        assert (leaf.finding == "empty") == (not counts)
        assert (leaf.finding == "disagrees") == (bool(counts) and counts[leaf.prediction] < max(counts.values()))
        assert not counts or counts[leaf.majority] == max(counts.values())
    mixed = [tuple(i + 1 for i in group) for group in groups.values() if len({data["y"][i] for i in group}) > 1]
    assert sorted(c.rows for c in report.contradictions) == sorted(mixed)
    surely_wrong = [sum(c.counts.values()) - max(c.counts.values()) for c in report.contradictions]
    assert surely_wrong == sorted(surely_wrong, reverse=True)
    assert sum(surely_wrong) == report.least_errors
    assert report.errors == tree.evaluate(data).errors
    assert report.errors_refitted == tree.refit(data).evaluate(data).errors
    full = tw.grow(data, "y", columns=requested, preset="id3") if requested else None
    assert full is None or report.least_errors == full.evaluate(data).errors


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_pure_leaves_of_numbers_agree_with_their_own_rows(scale):
    for low, high in ((0.1, 0.7), (0.3, 1 / 3)):
        rows = {"x": [0, 1] * 29, "y": [low * scale, high * scale] * 29}
        report = tw.grow(rows, "y", task="regression").check(rows)
        assert not report.disagreeing
        other = tw.grow(rows, "y", task="regression").check({"x": [0] * 9, "y": [low * scale * (1 + 1e-12)] * 9})
        assert [leaf.node for leaf in other.disagreeing] == [1]
