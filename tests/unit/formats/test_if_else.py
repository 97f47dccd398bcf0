"""Nested if and else: textbook examples, identical predictions, any depth."""

import re

import numpy as np
import pytest

import treewise as tw
from tests.support.handmade_trees import OFFICIALS, chain


def code_of(tree):
    return [line for line in tree.export("if-else").splitlines() if not line.startswith("#")]


def test_the_example_of_the_lecture_and_of_chapter_8():
    tree = tw.parse("x1 <= 3\n  x2 <= 3 -> 0\n  x2 > 3 -> 1\nx1 > 3 -> 0", target="y")
    assert code_of(tree) == [
        "if x1 <= 3:",
        "    if x2 <= 3:",
        "        predict 0",
        "    else:",
        "        predict 1",
        "else:",
        "    predict 0",
    ]
    either = tw.parse("X1 = 1 -> 1\nX1 = 0\n  X2 = 1 -> 1\n  X2 = 0 -> 0", target="f")
    assert code_of(either)[:4] == ["if X1 = 1:", "    predict 1", "else if X1 = 0:", "    if X2 = 1:"]


def test_what_has_no_branch_of_its_own_has_an_else():
    lines = tw.grow("food", preset="id3", columns=["Hunger"]).export("if-else").splitlines()
    assert lines[1:] == [
        "if Hunger = full:",
        "    predict n  # 1 of 1 row",
        "else if Hunger = hungry:",
        "    predict y  # 3 of 4 rows",
        "else if Hunger = starving:",
        "    predict y  # 1 of 1 row",
        "else:  # Hunger = can-eat",
        "    predict y  # no rows",
    ]
    lines = tw.grow("admissions", preset="id3").export("if-else").splitlines()
    assert lines[-4:] == [
        "else if GPA = 4.0:",
        "    predict P  # 3 of 3 rows",
        "else:  # GPA never seen",
        "    predict N  # 6 of 12 rows",
    ]


def read_back(tree):
    """Turn the lines into the outline that ``parse`` reads: it is the same but for four words."""
    words = []
    for line in code_of(tree):
        line = re.sub(r"  # .*", "", line).rstrip(":")
        line = re.sub(r"^( *)(?:else if|if) ", r"\1", line)
        if line.strip().startswith("predict "):
            words[-1] += " -> " + line.strip().removeprefix("predict ")
        else:
            words.append(line)
    return tw.parse("\n".join(words), target=tree.target.name)


@pytest.mark.parametrize(
    ("table", "how"),
    [
        ("penguins", {"max_leaf_nodes": 9, "ignore": ["sex"]}),
        ("noisy", {"max_depth": 6}),
        ("outlier", {}),
    ],
)
def test_who_follows_the_lines_comes_to_the_same_answer(table, how):
    data = tw.read(table)
    whole = np.ones(len(data), bool)
    for name in data.columns:
        whole &= ~data[name].is_missing()
    data = data.take(whole)
    tree = tw.grow(data, data.target, **how)
    assert read_back(tree).predict(data).tolist() == tree.predict(data).tolist()


def test_missing_values_are_reported():
    tree = tw.grow({"x": [1, 2, None, 9], "y": list("aaab")}, "y")
    assert "if x <= 5.5 or missing:" in code_of(tree)
    assert "a missing value" not in tree.export("if-else")
    sure = tw.grow({"x": [1, 2, 3, 9], "y": list("aaab")}, "y")
    assert '# a missing value takes the branch with more rows, unless another one says "or missing"' in sure.export(
        "if-else"
    )


def test_an_else_that_takes_missing_values_is_reported():
    tree = tw.grow({"x": [1, 9, 9, None], "y": list("abbb")}, "y")
    assert "else:  # x > 5 or missing" in code_of(tree)


def test_numbers_and_a_tree_of_one_leaf():
    tree = tw.grow({"x": [1, 2, 3, 4], "y": [1.5, 1.5, 2.5, 3.5]}, "y", max_depth=0)
    assert code_of(tree) == ["predict 2.25  # 4 rows"]
    assert code_of(tw.parse(OFFICIALS))[0].startswith("if ")


def test_an_else_far_from_its_if_reports_what_it_stands_for():
    tree = tw.grow("noisy", max_leaf_nodes=40)
    far = [line for line in tree.export("if-else").splitlines() if line.strip().startswith("else:  #")]
    assert 0 < len(far) < tree.n_leaves / 2


def test_deep_trees_go_on_in_blocks():
    tree = chain(3000)
    lines = code_of(tree)
    assert max(map(len, lines)) < 200
    assert len(lines) < 5 * len(tree)
    sent = [int(n) for line in lines for n in re.findall(r"continue at node (\d+)", line)]
    assert sent == [int(n) for line in lines for n in re.findall(r"^node (\d+):$", line)]
    assert sum("predict" in line for line in lines) == tree.n_leaves


def test_names_stay_on_their_line():
    tree = tw.grow({"a\nb -> #": [1, 2], "y": ["p\x1b[0m", "q"]}, "y")
    lines = tree.export("if-else").splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == 4
    assert all(line.isprintable() for line in lines)
