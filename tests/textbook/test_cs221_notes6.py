"""CS221 notes 6, number by number: the food table, leaf probabilities, log-likelihood, greedy growth."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw


@pytest.fixture(scope="module")
def food():
    return tw.datasets.food()


@pytest.fixture(scope="module")
def tree(food):
    return tw.grow(food, "Eat", preset="id3")


# -- The domain ----------------------------------------------------------------------------------------


def test_the_one_hot_vector_would_have_eleven_entries(tree):
    levels = {encoding.name: set(encoding.levels) for encoding in tree.encodings}
    assert levels["Hunger"] == {"starving", "hungry", "can-eat", "full"}
    assert levels["Price"] == {"free", "cheap", "expensive"}
    assert sum(map(len, levels.values())) == 11


def test_figure_1_says_yes_to_a_liked_food_when_hungry():
    figure = tw.parse("""
        Hunger = starving -> Yes
        Hunger = hungry
            Like = y -> Yes
            Like = n -> No
        Hunger = can-eat -> No
        Hunger = full -> No
    """)
    x = {"Hunger": "hungry", "Like": "y", "Healthy": "y", "Price": "cheap"}
    assert figure.predict([x]).tolist() == ["Yes"]
    leaf = int(figure.apply([x])[0])
    assert [figure.condition(node) for node in figure.path(leaf)] == ["all rows", "Hunger = hungry", "Like = y"]


# -- 1.1 Assigning probabilities to leaves -------------------------------------------------------------


def test_root_leaf_is_the_share_of_positives(food):
    root = tw.grow(food, "Eat", max_depth=0)
    assert root[0].counts == {"n": 2, "y": 4}
    assert root.predict_proba(food)[:, 1].tolist() == pytest.approx([4 / 6] * 6)
    assert root.log_likelihood(food) == pytest.approx(4 * math.log(4 / 6) + 2 * math.log(2 / 6))
    assert root.log_likelihood(food) == pytest.approx(-3.8191, abs=5e-5)


def test_leaf_probabilities_of_a_tree_on_hunger(food):
    tree = tw.grow(food, "Eat", preset="id3", columns=["Hunger"])
    eats = {tree.condition(n.id): tree.probabilities(n.id)[1] for n in tree if n.is_leaf and n.rows}
    assert eats == {
        "Hunger = full": 0.0,
        "Hunger = starving": 1.0,
        "Hunger = hungry": pytest.approx(3 / 4),
    }


def test_log_likelihood_is_minus_m_times_entropy_over_the_leaves(food):
    tree = tw.grow(food, "Eat", preset="id3", columns=["Hunger"])
    by_rows = 3 * math.log(3 / 4) + math.log(1 / 4)
    leaves = [n for n in tree if n.is_leaf and n.rows]
    by_leaves = sum(-n.rows * tw.entropy(list(n.counts.values()), "nats") for n in leaves)
    assert by_rows == pytest.approx(-2.2493, abs=5e-5)
    assert by_leaves == pytest.approx(by_rows)
    assert tree.log_likelihood(food) == pytest.approx(by_rows)
    assert tree.log_likelihood(food, unit="bits") == pytest.approx(-4 * 0.81128, abs=5e-5)


def test_likelihood_is_the_product_over_rows(food, cells):
    tree = tw.grow(food, "Eat", preset="id3", columns=["Hunger"])
    p = tree.predict_proba(food)[:, 1]
    y = [int(label == "y") for label in cells(food, "Eat")]
    product = math.prod(pi**yi * (1 - pi) ** (1 - yi) for pi, yi in zip(p, y, strict=True))
    assert product == pytest.approx((3 / 4) ** 3 * (1 / 4))
    assert math.exp(tree.log_likelihood(food)) == pytest.approx(product)


def test_what_the_tree_holds_impossible_has_likelihood_zero(tree, food):
    surprise = {"Hunger": ["full"], "Like": ["y"], "Healthy": ["n"], "Price": ["free"], "Eat": ["y"]}
    assert tree.log_likelihood(surprise) == -math.inf


# -- 1.2 Learning the tree structure -------------------------------------------------------------------


def test_gains_at_the_root(food):
    root = tw.candidates(food, "Eat", preset="id3")
    gains = {name: column.gain for name, column in root.candidates.items()}
    assert gains == {
        "Hunger": pytest.approx(0.37744, abs=5e-6),
        "Like": pytest.approx(0.31669, abs=5e-6),
        "Healthy": pytest.approx(0.45915, abs=5e-6),
        "Price": pytest.approx(0.12581, abs=5e-6),
    }
    assert root.winner == "Healthy"


def test_the_learned_tree_predicts_every_meal_with_certainty(tree, food, mistakes):
    leaves = {" and ".join(map(tree.condition, tree.path(n.id)[1:])): n.prediction for n in tree if n.is_leaf}
    assert leaves == {
        "Healthy = n and Price = free": "n",
        "Healthy = n and Price = cheap": "y",
        "Healthy = n and Price = expensive": "n",
        "Healthy = y": "y",
    }
    assert mistakes(tree, food) == 0
    assert tree.log_likelihood(food) == 0


def test_growth_picks_a_leaf_and_splits_it(tree):
    steps = list(tree.steps())
    assert (len(steps[0]), steps[0].n_leaves) == (1, 1)
    assert steps[-1] == tree
    assert len(steps) == 1 + sum(not node.is_leaf for node in tree)
    for before, after in pairwise(steps):
        assert sum(not n.is_leaf for n in after) == sum(not n.is_leaf for n in before) + 1


@pytest.mark.parametrize("table", ["food", "admissions", "seven_points", "seven_rows", "outlier", "penguins"])
def test_each_splits_information_gain_is_the_log_likelihood_it_adds(table):
    data = tw.datasets.load(table)
    tree = tw.grow(data, data.target, preset="id3")
    steps = list(tree.steps())
    for before, after in pairwise(steps):
        split = [n for n in after if not n.is_leaf]
        known = sum(n.rows * n.gain for n in before if not n.is_leaf)
        added = sum(n.rows * n.gain for n in split) - known
        risen = after.log_likelihood(data, unit="bits") - before.log_likelihood(data, unit="bits")
        assert risen == pytest.approx(added, abs=1e-9)


def test_the_entropy_function_of_figure_3():
    def h(p):
        return tw.entropy([p, 1 - p])

    assert h(0.5) == 1
    assert h(0.0) == h(1.0) == 0
    rising = [h(i / 100) for i in range(51)]
    assert all(a < b for a, b in pairwise(rising))
    assert [h(1 - i / 100) for i in range(51)] == pytest.approx(rising)


counts = st.integers(0, 200)


@settings(deadline=None)
@given(positives=st.lists(counts, min_size=2, max_size=5), negatives=st.lists(counts, min_size=5, max_size=5))
def test_gain_needs_only_the_leaf_and_its_children(positives, negatives):
    children = [[n, p] for n, p in zip(negatives, positives, strict=False) if n + p]
    if not children:
        return
    leaf = [sum(column) for column in zip(*children, strict=True)]
    by_hand = sum(leaf) * tw.entropy(leaf) - sum(sum(child) * tw.entropy(child) for child in children)
    assert tw.information_gain(leaf, children, per="total") == pytest.approx(by_hand, abs=1e-9)


# -- When to stop splitting ----------------------------------------------------------------------------


def test_stops_when_all_examples_agree(tree):
    assert {n.stop for n in tree if n.is_leaf} == {"pure"}
    assert {float(tree.probabilities(n.id)[1]) for n in tree if n.is_leaf} == {0.0, 1.0}


@pytest.mark.parametrize(("default", "eats", "answer"), [("parent", 1 / 3, "n"), ("root", 4 / 6, "y")])
def test_a_branch_without_examples_takes_the_parents_or_the_overall_share(food, default, eats, answer):
    tree = tw.grow(food, "Eat", preset="id3", columns=["Hunger", "Healthy"], empty_branch=default)
    can_eat = {"Hunger": "can-eat", "Healthy": "n"}
    leaf = tree[int(tree.apply([can_eat])[0])]
    assert (leaf.stop, leaf.rows, leaf.counts) == ("no_rows", 0, {})
    assert tree[leaf.parent].counts == {"n": 2, "y": 1}
    assert tree.predict_proba([can_eat])[0, 1] == pytest.approx(eats)
    assert tree.predict([can_eat]).tolist() == [answer]


def test_at_the_root_the_two_defaults_are_the_same(food):
    for default in ("parent", "root"):
        tree = tw.grow(food, "Eat", preset="id3", columns=["Hunger"], empty_branch=default)
        assert tree.predict_proba([{"Hunger": "can-eat"}])[0, 1] == pytest.approx(4 / 6)


def test_stops_when_no_attribute_is_left(food):
    tree = tw.grow(food, "Eat", preset="id3", columns=["Hunger", "Like"])
    hungry = tree[int(tree.apply([{"Hunger": "hungry", "Like": "n"}])[0])]
    assert (hungry.stop, hungry.counts) == ("no_candidate", {"n": 1, "y": 3})
    assert tree.probabilities(hungry.id)[1] == pytest.approx(3 / 4)


def test_footnote_3_holds_for_one_branch_per_value_and_not_for_thresholds():
    data = {"x": [1, 2, 3], "y": ["a", "b", "a"]}
    multiway = tw.grow(data, "y", preset="id3", kinds={"x": "nominal"})
    threshold = tw.grow(data, "y")
    assert [n.split.column for n in multiway if n.split] == ["x"]
    assert [n.split.column for n in threshold if n.split] == ["x", "x"]


# -- 2 Summary: two uses -------------------------------------------------------------------------------


def test_a_tree_imitates_any_teacher_it_watches():
    def pilot(height, speed):
        return "climb" if height < 30 and speed >= 20 else "dive" if speed < 8 else "hold"

    seen = [(height, speed) for height in range(0, 60, 5) for speed in range(0, 40, 4)]
    data = {
        "height": [height for height, _ in seen],
        "speed": [speed for _, speed in seen],
        "move": [pilot(*reading) for reading in seen],
    }
    tree = tw.grow(data, "move")
    assert tree.predict(data).tolist() == data["move"]
    assert tree.n_leaves == 4


def test_a_leaf_discovers_a_class_of_high_risk_nobody_named():
    # Ten women of each kind; risk is 1 in 10, but 7 in 10 for those small and past term.
    kinds = [(height, week) for height in ("small", "tall") for week in (36, 38, 40, 42)]
    risk = {kind: 7 if kind == ("small", 42) else 1 for kind in kinds}
    data = {
        "height": [height for height, _ in kinds for _ in range(10)],
        "week": [week for _, week in kinds for _ in range(10)],
        "emergency": [i < risk[kind] for kind in kinds for i in range(10)],
    }
    tree = tw.grow(data, "emergency", max_depth=2)
    actual = max((n for n in tree if n.is_leaf), key=lambda n: tree.probabilities(n.id)[1])
    assert {tree.condition(i) for i in tree.path(actual.id)[1:]} == {"week > 41", "height = small"}
    assert tree.probabilities(actual.id)[1] == pytest.approx(0.7)
