"""The words of the lecture notes: the glossary names commands that exist, output uses the words, slips get a hint."""

import re
from pathlib import Path

import pytest

import treewise as tw
from treewise.cli.app import VERBS

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
PAGE = GLOSSARY.read_text(encoding="utf-8").partition("## From the lecture notes")[2]
CODE = re.findall(r"`([^`]+)`", PAGE)


@pytest.mark.parametrize(
    "word",
    [
        *("AdaBoost", "axis-aligned", "conditional entropy", "counterexample", "decision boundary", "greedy"),
        *("impure node", "information gain", "minLeaf", "minParent", "overfitting", "pure", "stump", "true error"),
        *("universal learner", "validation set", "majority label", "purity", "if-then-else", "smallest tree"),
    ],
)
def test_a_student_finds_the_words_of_the_notes(word):
    assert word in PAGE


@pytest.mark.parametrize("code", dict.fromkeys(code for code in CODE if re.match(r"(tw|tree)\.\w", code)))
def test_the_functions_of_the_glossary_exist(code):
    for owner, name in re.findall(r"\b(tw|tree)\.(?!datasets)(\w+)", code):
        assert hasattr(tw if owner == "tw" else tw.Tree, name), name
    for name in re.findall(r"tw\.datasets\.(\w+)", code):
        assert hasattr(tw.datasets, name)


def test_the_verbs_and_options_of_the_glossary_exist(run):
    named = {match[1] for code in CODE if (match := re.match(r"treewise (\w+)", code))}
    assert named <= set(VERBS)
    known = "".join(run(f"{verb} --help").out for verb in ("grow", "trace", "curve", "export"))
    for option in {option for code in CODE for option in re.findall(r"--[a-z-]+", code)}:
        assert option in known, option


def test_output_says_information_gain_and_past_which_size_trees_overfit(run, capsys):
    assert "information gain is H(Y) − H(Y|Z)" in run("trace seven_points -q").out
    assert "information gain" not in run("trace seven_points --criterion gini -q").out
    printed = run("curve noisy --over max_leaf_nodes --folds 0 -q").out
    assert "overfits  past 4 leaves: training 13.0 → 1.5 %, true 11.2 → 20.9 %" in printed
    assert "overfits" not in run("curve six_points --over max_leaf_nodes --folds 3 -q").out
    alternating = {"x": [*range(60)], "y": ["ab"[i % 2] for i in range(60)]}
    tw.grow(alternating, "y").show()
    assert "the tree has memorised its table and may overfit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "ours"),
    {
        "--minLeaf 3": "--min-samples-leaf",
        "--min-parent 3": "--min-samples-split",
        "--max-leaves 3": "--max-leaf-nodes",
        "--score gini": "--criterion",
        "--seed 1": "--random-state",
        "--min_child_samples 3": "--min-samples-leaf",
        "--ntree 5": "--n-estimators",
        "--mtry 2": "--max-features",
        "--prune cv": "--pruning",
        "--criterion accuracy": '"error"',
        "--criterion infogain": '"information_gain"',
    }.items(),
)
def test_other_names_of_options_get_a_hint(run, typed, ours):
    result = run(f"grow noisy {typed}")
    assert result.code == 2
    assert "Did you mean " in result.err
    assert ours in result.err


@pytest.mark.parametrize(
    ("typed", "verb"),
    {
        **dict.fromkeys(("train", "rpart", "boosting"), "grow"),
        **dict.fromkeys(("knn", "cv"), "evaluate"),
        "entropy": "trace",
        "plot": "draw",
        "overfitting": "curve",
        "homework": "exercise",
        "grade": "check",
    }.items(),
)
def test_other_names_of_verbs_get_a_hint(run, typed, verb):
    result = run(f"{typed} noisy")
    assert result.code == 2
    assert f'no verb "{typed}". Did you mean "{verb}"?' in result.err


def test_a_hint_names_an_option_that_the_verb_has(run):
    assert "--unit" not in run("grow noisy --log nats").err
    assert "Did you mean --unit?" in run("trace noisy --log nats").err


def test_synonyms_of_criteria_are_accepted():
    for name, ours in {"misclassification": "error", "information_gain": "entropy", "gini_index": "gini"}.items():
        assert tw.grow("seven_points", criterion=name).criterion == ours


def test_the_tree_is_written_after_the_computations(run):
    tree = tw.grow("admissions", preset="id3")
    for form, heading in {"text": "The tree\n", "markdown": "### The tree", "latex": r"\subsection*{The tree}"}.items():
        printed = tree.trace("admissions").render(form, with_tree=True)
        assert printed.index("node 0" if form != "latex" else "Node 0") < printed.index(heading)
        assert ("top20" if form == "latex" else "University = top20") in printed[printed.index(heading) :]
    assert run("trace admissions --preset id3 --with-tree -q").out.rstrip().endswith(str(tree).splitlines()[-1])
    with pytest.raises(tw.ParameterError, match="give its answer away"):
        tree.trace("admissions").render(blanks=True, with_tree=True)
    with pytest.raises(tw.ParameterError, match="csv lists candidates"):
        tree.trace("admissions").render("csv", with_tree=True)
