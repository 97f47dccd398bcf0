"""Lessons: what they compute is what the specification, the trace, ``grow`` and ``optimal`` compute."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.hostile_names import NAMES
from tests.support.lessons import grown_at_random, hostile_table, table_of_three
from treewise.workbench.lesson.page import lesson_data


def small_table(rng, n, with_missing):
    def cells(values):
        column = rng.choice(values, n).astype(object)
        if with_missing:
            column[rng.random(n) < 0.15] = None
        return column.tolist()

    numbers = [1.0, 2.0, 3.0, 4.0]
    return {
        "a": cells(numbers),
        "b": cells(numbers),
        "c": cells(["x", "y", "z"]),
        "t": rng.choice(list("pqr"), n).tolist(),
    }


@pytest.mark.parametrize(
    "options", [{"preset": "id3"}, {"criterion": "gini"}, {"criterion": "error"}, {"per": "total"}]
)
def test_the_arithmetic_is_that_of_the_trace(options):
    per = options.pop("per", "row")
    lesson = tw.lesson("admissions", per=per, **options)
    tree = tw.grow("admissions", **options)
    trace = tree.trace("admissions", per=per)
    seen, stack = 0, [(0, 0)]
    while stack:
        node, number = stack.pop()
        situation, traced = lesson.situations[number], trace[node]
        if tree.split_at(node) is None:
            continue
        seen += 1
        offered = {test.label: test for test in situation.tests}
        for column in traced.columns.values():
            for test in column.tests:
                own = offered[test.label]
                assert (own.gain, own.formula, own.arithmetic) == (test.gain, test.formula, test.arithmetic)
        taken = situation.tests[situation.winner]
        assert taken.label == traced.chosen.label
        stack += zip(tree.children(node), taken.branches, strict=True)
    assert seen >= 3


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), with_missing=st.booleans())
def test_the_best_tree_of_every_size_is_the_optimal_one(seed, with_missing):
    rng = np.random.default_rng(seed)
    table = small_table(rng, 14, with_missing)
    lesson = tw.lesson(table, "t", max_depth=2, selection="gain", budget=5_000)
    assert lesson.situations.limits.tests is None
    for tree in lesson.trees[1:]:
        best = tw.optimal(table, "t", max_depth=2, max_leaf_nodes=tree.leaves)
        assert tree.lost == round(best.objective * 14)
        assert lesson.grade(tree.choices).lost == tree.lost
        greedy = tw.grow(table, "t", max_depth=2, max_leaf_nodes=tree.leaves, selection="gain")
        wrong = sum(a != b for a, b in zip(greedy.predict(table), table["t"], strict=True))
        assert tree.greedy_lost == wrong
        grade = lesson.grade(tree.greedy_choices)
        assert (grade.lost, grade.best_splits) == (wrong, grade.splits)


@pytest.mark.parametrize("options", [{}, {"criterion": "gini"}, {"target": "body_mass_g", "drop_missing_target": True}])
def test_with_fewer_tests_the_best_trees_can_still_be_grown(options):
    options = {"target": "species", "max_depth": 2, "budget": 60, **options}
    lesson = tw.lesson("penguins", **options)
    assert lesson.situations.limits.tests is not None
    assert "the tests of the best trees" in lesson.scope
    table = {name: options[name] for name in ("target", "drop_missing_target") if name in options}
    for tree in lesson.trees:
        assert tree.is_proven
        if tree.leaves > 1:
            best = tw.optimal("penguins", max_depth=2, max_leaf_nodes=tree.leaves, **table)
            weight = lesson.situations[0].weight
            assert tree.lost == pytest.approx(best.objective * weight, rel=1e-6)
        assert lesson.grade(tree.choices).is_best


@pytest.mark.parametrize(
    "options", [{"preset": "id3"}, {"missing": "branch"}, {"criterion": "gain_ratio"}, {"categorical": "any"}]
)
def test_no_tree_beats_the_best_one(options):
    rng = np.random.default_rng(3)
    lesson = tw.lesson(small_table(rng, 30, with_missing=True), "t", **options)
    draw = random.Random(1)
    for _ in range(300):
        grade = lesson.grade(grown_at_random(lesson, draw))
        assert grade.lost >= grade.best_lost
        assert grade.greedy_lost >= grade.best_lost
        assert grade.given_up >= -1e-12 or options.get("criterion") == "gain_ratio"


@pytest.mark.parametrize("budget", [1, 2, 5, 17, 300])
def test_every_budget_is_kept_and_stated(budget):
    lesson = tw.lesson("penguins", "species", budget=budget)
    assert lesson.situations.n_searched <= budget + 40  # the tests of the best trees come besides
    assert lesson.situations.limits.depth is not None
    assert f"depth {lesson.situations.limits.depth}" in lesson.scope
    for situation in lesson.situations.items:
        assert bool(situation.tests) != bool(situation.stop)
        for test in situation.tests:
            branches = [lesson.situations[branch] for branch in test.branches]
            assert sum(branch.rows for branch in branches) == situation.rows
            assert len(test.conditions) == len(branches) >= 2
        if situation.tests:
            assert situation.tests[situation.winner].is_best
            assert max(test.score for test in situation.tests) == pytest.approx(situation.tests[situation.winner].score)


def test_what_a_lesson_cannot_do_is_said():
    wide = {"t": [0, 1] * 20, "a": list(range(40)), "name": [f"n{i % 15}" for i in range(40)]}
    assert tw.lesson(wide, "t", preset="id3").notes[-1] == "left out, with more than 12 branches: name"
    for options, message in (
        ({"pruning": "cv"}, "the student decides"),
        ({"monotone": {"a": 1}}, "every test of every node"),
        ({"preset": "c45"}, "two steps"),
        ({"ties": "random"}, "by their gain"),
        ({"budget": 0}, "1 to 100,000"),
        ({"units": {"a": "cm"}}, "as it is"),
    ):
        with pytest.raises(tw.ParameterError, match=message):
            tw.lesson(wide, "t", **options)
    with pytest.raises(tw.DataError, match="up to 2,000"):
        tw.lesson("customers")
    lesson = tw.lesson("admissions", preset="id3")
    for choices in ([99], [-1], [0, 0, 0, 0, 0]):
        with pytest.raises(tw.ParameterError, match="no test"):
            lesson.grade(choices)


def table_of_sets(levels):
    """A table of two columns, whose target is whether just one of them is in a set of levels."""
    rng = np.random.default_rng(0)
    c, d = (rng.choice(list(levels), 300) for _ in range(2))
    differ = np.isin(c, list(levels[::2])) ^ np.isin(d, list(levels[: len(levels) // 2]))
    return {"c": c.tolist(), "d": d.tolist(), "t": np.where(differ, "p", "q").tolist()}


def test_nothing_is_proven_about_sets_that_are_not_searched():
    """Three sets divide these rows without an error; a lesson does not offer every set of ten levels."""
    lesson = tw.lesson(table_of_sets("abcdefghij"), "t", max_depth=2)
    assert lesson.trees[3].lost > 0
    assert [tree.is_proven for tree in lesson.trees] == [True, False, False, False]
    assert "The levels of c, d are divided by their share of q, not into every set." in lesson.scope
    few = tw.lesson(table_of_sets("abcdefgh"), "t", max_depth=2)
    assert (few.trees[3].lost, few.trees[3].is_proven) == (0, True)
    assert "by their share of q or as in the best trees, not into every set." in few.scope
    assert "divided by" not in tw.lesson("penguins", "species", max_depth=2, budget=40).scope


def test_what_is_proven_is_proven_of_a_depth():
    lesson = tw.lesson(table_of_three(), "t", max_depth=2)
    grade = lesson.grade(lesson.trees[3].choices)
    assert (grade.is_proven, grade.max_depth) == (True, 2)
    assert grade.best_lost > tw.optimal(table_of_three(), "t", max_depth=3, max_leaf_nodes=4).objective == 0
    assert tw.lesson(table_of_three(), "t").grade([None]).max_depth is None


def test_weights_count(tmp_path):
    table = {"a": [1, 2, 3, 4], "t": ["p", "p", "q", "q"], "w": [1, 5, 1, 1]}
    lesson = tw.lesson(table, "t", sample_weight="w")
    assert lesson.situations[0].lost == 2
    assert [tree.lost for tree in lesson.trees] == [2, 0]


def test_hostile_names_are_data():
    lesson = tw.lesson(hostile_table(NAMES[-8:] + NAMES[:12]), "the target", preset="id3", budget=30)
    page = lesson.to_html()
    assert page.count("</script>") == 2
    assert "onerror=alert" not in page
    assert lesson_data(lesson)["id"] == lesson.id


def test_the_command_writes_the_page(run, tmp_path):
    done = run("explore admissions --preset id3 --per total --lesson -o lesson.html")
    assert done.code == 0
    assert "every test of every column" in done.err
    assert (tmp_path / "lesson.html").read_text() == tw.lesson("admissions", preset="id3", per="total").to_html()
    assert run("explore admissions --lesson").code == 0
    assert (tmp_path / "admissions.lesson.html").exists()
    assert "leave MODEL and --fresh out" in run("explore admissions model.json --lesson").err
    assert "is for lessons" in run("explore admissions --unit nats").err
