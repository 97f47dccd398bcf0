"""Trees in other notations: if and else, scikit-learn, rpart, Weka; probabilities in leaves; slips that are refused."""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import treewise as tw
from tests.support.handmade_trees import OFFICIALS, chain
from treewise.tree.splits import Threshold

# -- if and else -------------------------------------------------------------------------------------------

OUTLINE = tw.parse("x1 <= 3\n  x2 <= 3 -> 0\n  x2 > 3 -> 1\nx1 > 3 -> 0")


@pytest.mark.parametrize(
    "text",
    [
        "If (x1 <= 3)\n then if (x2 <= 3)\n then predict 0\n else predict 1\n else predict 0",
        "if x1 <= 3 then if x2 <= 3 then predict 0 else predict 1 else predict 0",
        "if x1 <= 3:\n    if x2 <= 3:\n        return 0\n    else:\n        return 1\nelse:\n    return 0",
        "if (x1 <= 3) {\n  if (x2 <= 3) { return 0; } else { return 1; }\n} else {\n  return 0;\n}",
        "IF x1 ≤ 3 THEN\n  IF x2 ≤ 3 THEN 0\n  ELSE 1\nELSE 0",
        "if x1 > 3: predict 0\nelif x2 > 3: predict 1\nelse: predict 0",
        "Is x1 <= 3?\n  Is x2 <= 3? -> 0\n  else -> 1\nelse -> 0",
        "if x1 <= 3\n  if x2 <= 3 -> 0\n  else -> 1\nelse -> 0",
    ],
)
def test_the_nested_rule_in_many_spellings(text):
    points = {"x1": [3, 3, 4, 0, 9], "x2": [3, 4, 4, 99, 0]}
    assert tw.parse(text).predict(points).tolist() == OUTLINE.predict(points).tolist()
    if "> 3" not in text:
        assert tw.parse(text) == OUTLINE


GROWN = [
    ("admissions", {"preset": "id3"}),
    ("food", {"preset": "id3"}),
    ("penguins", {}),
    ("penguins", {"categorical": "multiway", "min_samples_leaf": 2}),
    ("noisy", {"max_depth": 7}),
    ("outlier", {}),
]


@pytest.mark.parametrize(("table", "how"), GROWN)
def test_the_export_is_read_back(table, how):
    """With the same tests, classes and predictions, also for missing values and levels without a branch."""
    data = tw.read(table)
    tree = tw.grow(data, **how)
    back = tw.parse(tree.export("if-else"))
    assert (back.target, len(back)) == (tree.target, len(tree))
    assert back.predict(data).tolist() == tree.predict(data).tolist()
    hidden = {name: [None] for name in tree.columns}
    assert back.predict(hidden).tolist() == tree.predict(hidden).tolist()
    unseen = {e.name: ["elsewhere" if e.kind == "nominal" else None] for e in tree.encodings}
    assert back.predict(unseen).tolist() == tree.predict(unseen).tolist()


def test_exports_of_typed_numeric_and_deep_trees_are_read_back():
    typed = tw.parse(OFFICIALS)
    assert tw.parse(typed.export("if-else")) == typed
    numbers = tw.grow("penguins", "body_mass_g", max_depth=3, drop_missing_target=True)
    back = tw.parse(numbers.export("if-else"))
    assert back.task == "regression"
    np.testing.assert_allclose(back.predict("penguins"), numbers.predict("penguins"), rtol=1e-4)
    deep = chain(300)
    assert tw.parse(deep.export("if-else")).n_leaves == deep.n_leaves


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("if x <= 1: predict a", "line 1: this if has no else"),
        ("if x <= 1:\n  predict a\nelse:\n  predict b\nelse:\n  predict c", 'line 5: "else" without an if'),
        ("if x <= 1:\n  predict a\n  predict b\nelse:\n  predict c", "line 3: .*nothing is left to predict"),
        ("if x <= 1:\n  predict\nelse:\n  predict c", "line 2: nothing is predicted"),
        ("if x <= 1:\n  predict a\nif y <= 1:\n  predict b", 'line 3: "if" where an else is expected: line 1'),
        ("if x <= 1:\n  predict a\nelse:\n  foo b", 'line 4: cannot read "foo b" here'),
    ],
)
def test_broken_code_names_its_line(text, message):
    with pytest.raises(tw.ParseError, match=message):
        tw.parse(text)


# -- other programs ----------------------------------------------------------------------------------------


def test_export_text_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.array(["low", "mid", "top"])[(X[:, 0] > 0).astype(int) + (X[:, 1] + X[:, 0] > 1)]
    theirs = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    data = {f"x {i}": X[:, i] for i in range(3)}
    for show_weights in (False, True):
        text = export_text(theirs, feature_names=list(data), class_names=list(theirs.classes_), decimals=17,
                           show_weights=show_weights)  # fmt: skip
        tree = tw.parse(text)
        assert tree.predict(data).tolist() == theirs.predict(X).tolist()
        if show_weights:
            np.testing.assert_allclose(tree.predict_proba(data), theirs.predict_proba(X), atol=1e-8)
    with pytest.raises(tw.ParseError, match=r"line \d+: this is an abbreviated view"):
        tw.parse(export_text(theirs, max_depth=1))
    numbers = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
    tree = tw.parse(export_text(numbers, feature_names=list(data), decimals=17))
    np.testing.assert_allclose(tree.predict(data), numbers.predict(X))


RPART = """\
n= 81

node), split, n, loss, yval, (yprob)
      * denotes terminal node

 1) root 81 17 absent (0.79012346 0.20987654)
   2) Start>=8.5 62  6 absent (0.90322581 0.09677419)
     4) Start>=14 29  0 absent (1.00000000 0.00000000) *
     5) Start< 14 33  6 absent (0.81818182 0.18181818) *
   3) Start< 8.5 19  8 present (0.42105263 0.57894737)
     6) ward=a,b 12 4 absent (0.66666667 0.33333333) *
     7) ward=c 7 0 present (0.00000000 1.00000000) *
"""


def test_what_rpart_prints():
    tree = tw.parse(RPART, target="Kyphosis")
    assert tree.classes == ("absent", "present")
    assert str(tree).splitlines()[1:] == [
        "1  ├─ Start < 8.5",
        "2  │  ├─ ward in {a, b}        → absent 0.66666667",
        "3  │  └─ ward = c              → present",
        "4  └─ Start >= 8.5 or missing",
        "5     ├─ Start < 14            → absent 0.81818182",
        "6     └─ Start >= 14           → absent",
    ]
    cells = {"Start": [9, 14, 1, 1], "ward": ["a", "a", "b", "c"]}
    assert tree.predict(cells).tolist() == ["absent", "absent", "absent", "present"]
    numbers = "n= 4\n\nnode), split, n, deviance, yval\n      * denotes terminal node\n\n1) root 4 9 3\n"
    tree = tw.parse(numbers + "  2) x< 2 2 1 1.5 *\n  3) x>=2 2 1 4.5 *\n")
    assert (tree.task, tree.predict({"x": [1, 2]}).tolist()) == ("regression", [1.5, 4.5])
    with pytest.raises(tw.ParseError, match="line 7: node 4 has no parent: node 2 is missing"):
        tw.parse(numbers + "  4) x< 2 2 1 1.5 *\n")


WEKA = """\
J48 pruned tree
------------------

outlook = sunny
|   humidity <= 75: yes (2.0)
|   humidity > 75: no (3.0/1.0)
outlook = overcast: yes (4.0)
outlook = rainy: no (2.0)

Number of Leaves  : 	4

Size of the tree : 	6
"""


def test_what_weka_prints_with_counts():
    tree = tw.parse(WEKA)
    assert tree.classes == ("no", "yes")
    assert [tree.probabilities(n.id).tolist() for n in tree if n.is_leaf] == [
        [0, 1],
        [pytest.approx(2 / 3), pytest.approx(1 / 3)],
        [0, 1],
        [1, 0],
    ]
    arrows = tw.parse("GPA = 4.0 -> P (3)\nGPA = 3.7 -> N (2/1)\nGPA = 3.5 -> N (4)")
    assert arrows.classes == ("N", "P")
    assert arrows.probabilities(2).tolist() == [0.5, 0.5]


# -- probabilities and signs -------------------------------------------------------------------------------


def test_leaves_with_probabilities():
    tree = tw.parse("Like = y -> yes 0.75\nLike = n\n  Price = free -> yes 0.4\n  else -> no", target="Eat")
    assert tree.predict_proba({"Like": ["y", "n", "n"], "Price": ["free", "free", "cheap"]}).tolist() == [
        [0.25, 0.75],
        [0.6, 0.4],
        [1.0, 0.0],
    ]
    assert tree.predict({"Like": ["y", "n"], "Price": ["free", "free"]}).tolist() == ["yes", "no"]
    assert tw.parse(str(tree), target="Eat") == tree == tw.parse(tree.export("text"))
    assert tw.parse(tree.export("if-else")) == tree
    percent = tw.parse("Like = y -> yes 75 %\nLike = n -> no")
    assert percent.probabilities(1).tolist() == [0.25, 0.75]


def test_probabilities_are_kept_in_files_and_judged_as_they_are(tmp_path):
    text = "x <= 1 -> a 0.5, b 0.3, c 0.2\nx > 1 -> b 0.9, a 0.1"
    tree = tw.parse(text)
    tree.save(tmp_path / "t.json")
    assert tw.load(tmp_path / "t.json") == tree
    evaluation = tree.evaluate({"x": [0, 0, 2, 2], "class": ["a", "c", "b", "b"]})
    assert evaluation.log_loss == pytest.approx(-np.log([0.5, 0.2, 0.9, 0.9]).mean())


def test_strict_signs_stay_as_they_were_written():
    tree = tw.parse("x1 < 3 -> a\nx1 >= 3\n  x1 < 5.5 -> b\n  x1 >= 5.5 -> a")
    assert tree.split_at(0) == Threshold("x1", math.nextafter(3, 0))
    assert [tree.condition(n) for n in (1, 2, 3, 4)] == ["x1 < 3", "x1 >= 3", "x1 < 5.5", "x1 >= 5.5"]
    assert [rule.text for rule in tree.rules(sort="node")][1] == "3 <= x1 < 5.5"
    assert "≥ 3" in tree.draw().svg
    assert "2.99" not in tree.draw().svg
    assert "if x1 < 3:" in tree.export("if-else")
    table = {"x1": [1, 3, 4, 6], "class": list("abba")}
    assert "x1 < 3" in str(tree.trace(table))
    assert tree.predict({"x1": [2.9, 3, 5.4999, 5.5]}).tolist() == ["a", "b", "b", "a"]
    assert tw.parse(str(tree)) == tree
    zero = tw.parse("x < 0 -> a\nx >= 0 -> b")
    assert [zero.condition(1), zero.condition(2)] == ["x < 0", "x >= 0"]


# -- slips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x <= 1 -> yes 7.5\nx > 1 -> no", 'line 1: "yes 7.5" should give each class once, with a probability'),
        ("x <= 1 -> yes 0.5, no 0.4\nx > 1 -> no", "line 1: the probabilities .* add up to 0.9, not to 1"),
        ("x <= 1 -> a 0.5\nx > 1\n  y <= 1 -> b\n  y > 1 -> c", "line 1: .* leaves 0.5 for 2 other classes"),
        ("x <= 1 -> a, b\nx > 1 -> c", 'line 1: "a, b" names several classes'),
        ("x <= 1 -> a (2/3)\nx > 1 -> b", "line 1: .* more errors than rows"),
        ("x =< 1 -> a\nx > 1 -> b", 'line 1: "x =< 1" has "=<". Write "<="'),
        (
            "a = 4.0 and b = yes -> P\nelse -> N",
            'line 1: .* continues after its value: "and b = yes"',
        ),
        ("x <= 1 -> Yes\nx > 1\n  y <= 1 -> yes\n  y > 1 -> no", 'line 3: class "yes" differs from "Yes" .line 1.'),
        ("gpa = a -> P\ngpa = b\n  GPA = c -> P\n  GPA = d -> N", 'line 3: column "GPA" differs from "gpa" .line 1.'),
    ],
)
def test_slips_are_errors_that_name_their_line(text, message):
    with pytest.raises(tw.ParseError, match=message):
        tw.parse(text)


def test_with_a_table_its_columns_are_the_only_ones():
    with pytest.raises(tw.ParseError, match=r'line 1: "gpa = 4.0" tests a column .* Did you mean "GPA"\?'):
        tw.parse("gpa = 4.0 -> P\nelse -> N", data="admissions")


def test_names_that_look_like_notation_are_quoted_and_read_back():
    odd = {"if GPA": ["a", "b", "a", "b"], "x": ["u and v = 1", "w", "w", "u and v = 1"]}
    labels = ["yes 0.75", "N (2/1)", "type 1", "a, b"]
    tree = tw.grow({**odd, "y": labels}, "y")
    back = tw.parse(str(tree))
    assert back.predict(odd).tolist() == tree.predict(odd).tolist() == labels
    assert tw.parse(tree.export("if-else")).predict(odd).tolist() == labels
