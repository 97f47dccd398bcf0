"""All the arithmetic of the notes: entropies term by term, joint tables, H(Y|Z) of every rule, ℓ(T) by leaf, codes."""

import csv
import io
import json
import math
import re
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw

LOG2, LOG3 = math.log(2), math.log(3)
counts = st.lists(st.integers(0, 60), min_size=1, max_size=6).filter(any)

# -- term by term ------------------------------------------------------------------------------------------


def test_the_entropy_of_the_seven_points_is_written_out():
    actual = tw.worked_impurity([5, 2], unit="nats")
    assert actual.text == "H(5/7, 2/7) = −5/7·log 5/7 − 2/7·log 2/7 = 0.2403 + 0.3579 = 0.5983 nats"
    assert actual.exact == "log 7 − 5/7·log 5 − 2/7·log 2"
    assert r"-\tfrac{5}{7} \log \tfrac{5}{7} - \tfrac{2}{7} \log \tfrac{2}{7}" in actual.latex


def test_a_fair_coin_and_a_sure_thing():
    coin = tw.worked_impurity([1 / 2, 1 / 2], unit="nats").text
    assert coin == "H(1/2, 1/2) = −1/2·log 1/2 − 1/2·log 1/2 = 0.3466 + 0.3466 = log 2 = 0.6931 nats"
    assert tw.worked_impurity([1, 0], unit="nats").text == "H(1, 0) = −1·log 1 − 0·log 0 = 0 + 0 = 0 nats"
    assert tw.worked_impurity([4]).text == "H(1) = −1·log₂ 1 = 0 bits"  # one term: the result alone
    assert tw.worked_impurity([4]).latex.endswith("& = -1 \\log_2 1 \\\\\n& = 0\\ \\text{bits}")
    for k in (2, 3, 5, 7):
        assert tw.worked_impurity([1] * k, unit="nats").exact == f"log {k}"


def test_the_terms_of_example_8_1_and_gini_likewise():
    actual = tw.worked_impurity([3, 4])
    assert [round(term, 4) for term in actual.terms] == [0.5239, 0.4613]
    assert actual.text.endswith("= 0.5239 + 0.4613 = 0.9852 bits")
    gini = tw.worked_impurity([3, 4], "gini")
    assert (gini.exact, round(gini.value, 3)) == ("24/49", 0.490)
    assert gini.text == "G(3/7, 4/7) = 1 − (3/7)² − (4/7)² = 1 − 0.1837 − 0.3265 = 24/49 = 0.4898"


def evaluate_form(text):
    """Evaluate a closed form with Python's own arithmetic."""
    python = text.replace("−", "-").replace("·", "*")
    python = re.sub(r"log₂ (\d+)", r"math.log2(\1)", python)
    return eval(re.sub(r"log (\d+)", r"math.log(\1)", python), {"math": math})


@settings(max_examples=60, deadline=None)
@given(counts, st.sampled_from(["bits", "nats"]))
def test_terms_and_closed_forms_add_up_to_the_entropy(some, unit):
    actual = tw.worked_impurity(some, unit=unit)
    assert math.fsum(actual.terms) == pytest.approx(tw.entropy(some, unit), abs=1e-12)
    if actual.exact:
        assert evaluate_form(actual.exact) == pytest.approx(tw.entropy(some, unit), abs=1e-12)
    for kind, value in (("gini", tw.gini(some)), ("error", 1 - max(some) / sum(some))):
        assert evaluate_form(tw.worked_impurity(some, kind).exact) == pytest.approx(value, abs=1e-12)


# -- joint tables ------------------------------------------------------------------------------------------


def test_the_first_joint_table_with_its_working():
    joint = tw.joint([[1 / 3, 1 / 3], [1 / 3, 0]], given="columns", unit="nats")
    assert [str(p) for p in joint.marginal_z] == ["2/3", "1/3"]
    assert [[str(p) for p in joint.conditional(z)] for z in (0, 1)] == [["1/2", "1/2"], ["1", "0"]]
    assert joint.conditional_entropy == pytest.approx(2 / 3 * LOG2)
    assert joint.exact_conditional_entropy == "2/3·log 2"
    text = str(joint)
    assert "H(X|Z) = 2/3·H(X|Z=0) + 1/3·H(X|Z=1) = 2/3·log 2 + 1/3·0 = 2/3·log 2 = 0.4621 nats" in text
    assert "independent: no, P(X=0, Z=0) = 1/3, and P(X)·P(Z) = 2/3·2/3 = 4/9" in text
    assert joint.gain == pytest.approx(LOG3 - 2 / 3 * LOG2 - 2 / 3 * LOG2)  # knowing Z reduces our uncertainty


def test_the_second_joint_table_in_closed_form():
    joint = tw.joint([[0, 1 / 2, 1 / 4], [1 / 12, 1 / 12, 1 / 12]], unit="nats")
    assert [joint.worked(z).exact for z in (0, 1)] == ["log 3 − 2/3·log 2", "log 3"]
    assert joint.exact_conditional_entropy == "log 3 − 1/2·log 2"
    assert joint.conditional_entropy == pytest.approx(LOG3 - LOG2 / 2)
    assert r"\begin{align*}" in joint.to_latex()
    assert joint.to_dict()["independent"] is False


def test_independence_and_identity():
    independent = tw.joint([[1, 2], [2, 4]])
    assert independent.independent
    assert independent.gain == pytest.approx(0, abs=1e-12)
    assert independent.conditional_entropy == pytest.approx(independent.entropy)
    same = tw.joint([[1 / 4, 0], [0, 3 / 4]])  # X = Z
    assert same.conditional_entropy == 0


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=1, max_size=4)
    )
)
def test_joint_tables_agree_with_the_functions(table):
    if not any(map(any, table)):
        return
    joint = tw.joint(table)
    assert joint.gain >= 0
    assert joint.conditional_entropy == pytest.approx(tw.conditional_entropy(table))
    assert joint.independent == (joint.gain < 1e-12)
    if joint.exact_conditional_entropy:
        assert evaluate_form(joint.exact_conditional_entropy) == pytest.approx(joint.conditional_entropy, abs=1e-9)
    assert str(joint)


# -- H(Y|Z) of every candidate -----------------------------------------------------------------------------

H_AFTER = {"x1 <= 0.5": 0.3862, "x1 <= 1.5": 0.3961, "x2 <= 0.5": 0.2728, "x2 <= 1.5": 0.4807}


def test_the_conditional_entropy_of_every_rule_in_every_format():
    """The notes print 0.38, 0.39, 0.27 and 0.48, cut off."""
    root = tw.candidates("seven_points", unit="nats")
    tests = [test for column in root.columns.values() for test in column.tests]
    assert {test.words: round(test.impurity_after, 4) for test in tests} == H_AFTER
    for test in tests:
        split = [list(b.counts) for b in test.parts]
        assert test.impurity_after == pytest.approx(tw.conditional_entropy(split, unit="nats"))
    text, markdown, latex = (root.render(form) for form in ("text", "markdown", "latex"))
    for value in H_AFTER.values():
        assert f"= 0.5983 − {value:.4f}  = " in text
        assert f"| {value:.4f} |" in markdown
        assert f"& = 0.5983 - {value:.4f} " in latex
    rows = list(csv.DictReader(io.StringIO(root.render("csv"))))
    assert {row["test"]: round(float(row["impurity_after"]), 4) for row in rows} == H_AFTER
    data = json.loads(root.render("json"))
    listed = {test["test"]: round(test["impurity_after"], 4) for c in data["columns"] for test in c["tests"]}
    assert listed == H_AFTER


def test_the_best_rule_minimises_the_conditional_entropy():
    """Chapter 8: H of the node is the same for all of its splits."""
    for criterion in ("entropy", "gini"):
        root = tw.candidates("seven_rows", criterion=criterion)
        tests = [test for column in root.columns.values() for test in column.tests]
        assert min(tests, key=lambda test: test.impurity_after).words == max(tests, key=lambda test: test.gain).words
    assert [round(root[name].impurity_after, 3) for name in ("X1", "X2")] == [0.405, 0.476]  # gini


def test_terms_are_written_on_request(run):
    tree = tw.grow("seven_points")
    line = "H(5/7) = −5/7·log 5/7 − 2/7·log 2/7 = 0.2403 + 0.3579 = 0.5983 nats"
    assert line not in tree.trace("seven_points", unit="nats").render()
    trace = tree.trace("seven_points", unit="nats", terms=True)
    assert line in trace.render()
    assert "- H(5/7) = −5/7·log 5/7" in trace.render("markdown")
    assert r"H\bigl(\tfrac{5}{7}\bigr) & = -\tfrac{5}{7} \log \tfrac{5}{7}" in trace.render("latex")
    assert json.loads(trace.render("json"))[0]["terms"]["H(5/7)"]["text"].endswith("0.5983 nats")
    assert line in run("trace seven_points --unit nats --terms -q").out
    assert "0.2403" not in trace.render(blanks=True)
    gini = tw.grow("seven_rows", criterion="gini").trace("seven_rows", terms=True).render()
    assert "G(4/7) = 1 − (4/7)² − (3/7)² = 1 − 0.3265 − 0.1837 = 24/49 = 0.4898" in gini


# -- ℓ(T) leaf by leaf -------------------------------------------------------------------------------------


def test_the_log_likelihood_is_a_sum_over_the_leaves():
    tree = tw.grow("admissions", preset="id3", max_depth=1)
    actual = tree.leaf_likelihoods("admissions", unit="bits")
    assert [round(leaf.log_likelihood, 4) for leaf in actual.leaves] == [0, -4.8548, 0]
    for leaf in actual.leaves:
        assert leaf.log_likelihood == pytest.approx(-leaf.rows * leaf.entropy)
    assert actual.total == pytest.approx(tree.log_likelihood("admissions", unit="bits"))
    assert actual.is_fitted
    assert "−m·H(p)" in str(actual)
    grown = tw.grow("penguins")
    for unit in ("nats", "bits"):
        assert grown.leaf_likelihoods("penguins", unit).total == pytest.approx(grown.log_likelihood("penguins", unit))


def test_on_other_rows_leaves_contribute_less_than_their_own_entropy():
    tree = tw.grow("outlier", max_depth=1)
    actual = tree.leaf_likelihoods("outlier_validation")
    assert not actual.is_fitted
    assert all(leaf.log_likelihood <= -leaf.rows * leaf.entropy + 1e-12 for leaf in actual.leaves)
    assert "Σ log P" in str(actual)


# -- rows of a node ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["admissions", "penguins", "outlier", "food"])
def test_the_rows_of_the_leaves_are_disjoint_and_cover_the_table(table):
    tree = tw.grow(table)
    members = [tree.rows(table, node.id).tolist() for node in tree if node.is_leaf]
    assert sorted(chain.from_iterable(members)) == list(range(1, len(tw.read(table)) + 1))
    for node in tree:
        assert len(tree.rows(table, node.id)) == node.rows
        below = sorted(chain.from_iterable(tree.rows(table, child).tolist() for child in node.children))
        assert node.is_leaf or below == tree.rows(table, node.id).tolist()


def test_points_have_names_in_the_trace(run, tmp_path):
    points = tw.datasets.four_points()
    tree = tw.grow(points, max_depth=0).split(0, "x1 <= 0.5", points)
    trace = tree.trace(points, rows="abcd")
    assert trace[1].row_names == ("a", "b")  # "now v1, containing a, b, is impure"
    assert "rows a, b\n" in str(trace)
    assert json.loads(trace.render("json"))[1]["row_names"] == ["a", "b"]
    assert "rows 5, 7, 8\n" in run("trace admissions --preset id3 --rows -q").out
    tmp_path.joinpath("t.csv").write_text("name,x,y\na,1,0\nb,2,1\nc,3,1\n")
    assert "rows b, c\n" in run("trace t.csv --target y --ignore name --row-names name -q").out
    with pytest.raises(tw.ParameterError, match="rows: names 3 rows, and four_points has 4"):
        tree.trace(points, rows=["a", "b", "c"])


# -- the average number of bits ----------------------------------------------------------------------------


def test_a_code_for_the_average_number_of_bits():
    code = tw.huffman_code({"a": 1 / 2, "b": 1 / 4, "c": 1 / 8, "d": 1 / 8})
    assert code.words == {"a": "0", "b": "10", "c": "110", "d": "111"}
    assert code.mean_bits == code.entropy == 1.75
    assert code.decode(code.encode("abacad")) == list("abacad")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=2, max_size=9))
def test_huffman_s_code_is_within_one_bit_of_the_entropy(weights):
    code = tw.huffman_code(weights)
    assert code.entropy <= code.mean_bits + 1e-9
    assert code.mean_bits < code.entropy + 1
    words = sorted(code.words.values())
    assert not any(b.startswith(a) for a, b in pairwise(words))
    values = list(range(len(weights)))
    assert code.decode(code.encode(values)) == values
