"""Sizes chosen by cross-validation: every loss against trees grown by hand, one answer everywhere, its honest error."""

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score

import treewise as tw
from tests.support.errors import assert_refused
from tests.support.noisy_table import noisy_split_table
from treewise.predict.leaf_probabilities import default_smoothing
from treewise.prune.choice_error import estimate_choice_error, estimate_tail_index
from treewise.prune.cross_validation import CrossValidation, cross_validate
from treewise.prune.losses import LOSSES
from treewise.train.folds import make_folds
from treewise.train.grow import grow_training_set, prepare
from treewise.train.resampling import take_rows


@pytest.fixture(scope="module")
def noisy():
    return noisy_split_table(seed=5, rows=240, columns=3, wrong=0.2)


def take(data, rows):
    return {name: np.asarray(values)[rows] for name, values in data.items()}


def loss_by_hand(tree, data, loss):
    """The loss of a tree on held-out rows, by scikit-learn or by definition."""
    truth = np.asarray(data["y"])
    if loss == "error":
        return float(np.mean(tree.predict(data) != truth))
    if loss == "squared_error":
        return float(np.mean((tree.predict(data) - truth) ** 2))
    if loss == "absolute_error":
        return float(np.mean(np.abs(tree.predict(data) - truth)))
    if loss == "poisson_deviance":
        return mean_poisson_deviance(truth, tree.predict(data))
    probabilities = tree.predict_proba(data, estimate=default_smoothing(tree))
    if loss == "auc":
        return 1 - roc_auc_score(truth == tree.classes[-1], probabilities[:, -1])
    if loss == "log_loss":
        return log_loss(truth, probabilities, labels=list(tree.classes))
    one_hot = truth[:, None] == np.array(tree.classes)
    return float(np.mean(((probabilities - one_hot) ** 2).sum(axis=1))) / (2 if len(tree.classes) == 2 else 1)


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "cost"])
def test_every_loss_is_that_of_trees_grown_without_the_fold(noisy, loss):
    data = noisy if LOSSES[loss].task == "classification" else {**noisy, "y": noisy["x1"] + (noisy["y"] == "yes")}
    criterion = "poisson" if loss == "poisson_deviance" else None
    if criterion:
        data = {**data, "y": np.maximum(0, np.rint(2 * data["y"]))}
    training_set = prepare(data, "y", criterion=criterion, task=LOSSES[loss].task)
    tree = grow_training_set(training_set)
    actual = cross_validate(tree, training_set, CrossValidation(loss=loss, folds=3, random_state=2))
    folds = make_folds(training_set, 3, random_state=2)
    risk, alphas = LOSSES[loss].risk, actual.nested.alpha
    for place in (0, len(actual.sequence_index) // 2, len(actual.sequence_index) - 1):
        entry = actual.sequence_index[place]
        price = math.sqrt(alphas[entry] * alphas[entry + 1]) if entry + 1 < len(alphas) else 1e9
        by_hand = 0.0
        for fold in folds.folds:
            small = grow_training_set(take_rows(training_set, fold.training))
            small = small.prune("cost_complexity", ccp_alpha=price, risk=risk)
            by_hand += loss_by_hand(small, take(data, fold.held_out), loss) * len(fold.held_out) / 240
        assert actual.losses.mean[place] == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "log_loss"},
        {"loss": "auc", "rule": "best"},
        {"loss": "brier", "repeats": 2, "folds": 4},
        {"loss": "error", "rule": "best", "repeats": 3},
    ],
)
def test_one_answer_in_growth_after_it_in_the_curve_and_in_the_table(noisy, options):
    tree = tw.grow(noisy, "y", pruning={"method": "cv", **options})
    assert tree == tw.grow(noisy, "y").prune("cv", data=noisy, **options)
    curve = tw.curve(noisy, "y", **{name: value for name, value in options.items() if name != "rule"})
    point = curve.best if options.get("rule") == "best" else curve.one_se
    assert point.leaves == tree.n_leaves
    row = tree.cp_table[tree.cp_table.chosen]
    assert row.leaves == tree.n_leaves
    assert point.validation == pytest.approx(row.xerror * tree.cp_table.root_error)
    assert point.standard_error == pytest.approx(row.xstd * tree.cp_table.root_error)
    assert tw.grow(noisy, "y", **curve.grow_options(point)) == tree


def test_a_loss_of_probabilities_keeps_splits_that_change_no_class():
    rng = np.random.default_rng(0)
    x = rng.random(2000)
    data = {"x": x, "y": np.where(rng.random(2000) < np.where(x < 0.5, 0.05, 0.35), "yes", "no")}
    assert tw.grow(data, "y", pruning="cv", min_samples_leaf=50).n_leaves == 1
    for loss in ("log_loss", "brier", "auc"):
        assert tw.grow(data, "y", pruning={"method": "cv", "loss": loss}, min_samples_leaf=50).n_leaves >= 2


def test_groups_keep_copies_of_a_row_from_judging_it():
    rng = np.random.default_rng(1)
    n = 80
    single = {"x": rng.random(n), "z": rng.random(n), "y": rng.choice(["a", "b"], n)}
    copies = {name: np.repeat(values, 3) for name, values in single.items()}
    copies["id"] = np.repeat(np.arange(n), 3)
    leaky = tw.grow(copies, "y", ignore=["id"], pruning={"method": "cv", "rule": "best"})
    honest = tw.grow(copies, "y", groups="id", pruning={"method": "cv", "rule": "best"})
    assert leaky.fit_info.cross_validated.value < 0.1 < 0.35 < honest.fit_info.cross_validated.value
    assert honest.fit_info.cross_validated.kind == "groups"
    assert "id" not in honest.columns
    pruned = tw.grow(copies, "y", groups="id").prune("cv", data=copies, rule="best")
    assert pruned == honest
    assert 'groups="id"' in str(honest.summary())
    lacking = {name: values for name, values in copies.items() if name != "id"}
    assert_refused(lambda: tw.grow(copies, "y", groups="id").prune("cv", data=lacking), "id", error=tw.ColumnError)


def test_time_judges_by_later_rows(noisy):
    data = {**noisy, "day": np.arange(240)}
    tree = tw.grow(data, "y", time="day", pruning={"method": "cv", "folds": 4})
    assert tree.fit_info.cross_validated.kind == "time"
    assert "4 folds forward in time" in tree.fit_info.pruning.facts[-1]
    backwards = take(data, np.arange(240)[::-1])
    assert tw.grow(backwards, "y", time="day", pruning={"method": "cv", "folds": 4}).cp_table.rows == tree.cp_table.rows


def test_repeats_judge_no_more_rows(noisy):
    once, thrice = (tw.grow(noisy, "y", pruning={"method": "cv", "repeats": r}) for r in (1, 3))
    assert thrice.cp_table[0].xstd == pytest.approx(once.cp_table[0].xstd, rel=0.05)
    assert thrice.fit_info.cross_validated.repeats == 3


def test_each_fold_is_judged_at_the_choice_of_the_others(noisy):
    training_set = prepare(noisy, "y")
    actual = cross_validate(grow_training_set(training_set), training_set, CrossValidation(folds=4))
    loss, weight = actual.losses.loss, actual.losses.weight
    total = 0.0
    for fold in range(4):
        others = [other for other in range(4) if other != fold]
        mean = loss[others].sum(axis=0) / weight[others].sum()
        total += loss[fold, np.flatnonzero(mean <= mean.min() * (1 + 1e-12))[-1]]
    estimate = estimate_choice_error(actual.losses, "best", actual.loss)
    assert estimate.value == pytest.approx(total / 240)
    assert estimate.value >= actual.losses.mean.min() - 1e-12
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1


def test_a_stable_tree_has_a_narrower_interval_than_an_unstable_one():
    """Half an interval in standard errors of the rows: more where the sizes compete with each other."""
    rng = np.random.default_rng(0)
    x = {f"x{i}": rng.normal(size=600) for i in range(5)}
    clear = (x["x0"] > 0) & (x["x1"] > -0.5)
    slope = 1 / (1 + np.exp(-2 * (x["x0"] + x["x1"])))
    multiples = {}
    for name, share in (("clear", np.where(clear, 0.9, 0.1)), ("slope", slope)):
        data = {**x, "y": np.where(rng.random(600) < share, "b", "a")}
        actual = tw.grow(data, "y", pruning="cv").fit_info.cross_validated
        half = (actual.high - actual.low) / 2
        multiples[name] = half / math.sqrt(actual.value * (1 - actual.value) / 600)
    assert 1.9 < multiples["clear"] < 2.6 < multiples["slope"] < 4


def test_a_tree_hardly_better_than_its_root_may_be_due_to_chance():
    rng = np.random.default_rng(4)
    data = {f"x{i}": rng.normal(size=300) for i in range(8)} | {"y": rng.choice(["a", "b"], 300)}
    tree = tw.grow(data, "y", pruning={"method": "cv", "rule": "best"})
    assert tree.n_leaves > 1
    assert tree.fit_info.cross_validated.value < tree.cp_table.root_error
    assert tree.fit_info.cross_validated.high > tree.cp_table.root_error + 0.05


def test_heavy_tails_have_a_note_and_normal_noise_has_none():
    rng = np.random.default_rng(0)
    x = {"x": rng.normal(size=600), "z": rng.normal(size=600)}
    notes = []
    for noise in (rng.standard_normal(600), rng.standard_t(2, 600)):
        tree = tw.grow({**x, "y": 2 * (x["x"] > 0) + noise}, "y", pruning="cv")
        notes.append([note for note in tree.fit_info.pruning.notes if "tail index" in note])
        predicted = tree.predict(x)
        index, end = estimate_tail_index((2 * (x["x"] > 0) + noise - predicted) ** 2)
        assert (end < 2) == bool(notes[-1]) == any(f"(tail index {index:.1f};" in note for note in notes[-1])
    assert [len(found) for found in notes] == [0, 1]


def test_without_errors_in_few_groups_the_interval_counts_groups():
    group = np.repeat(np.arange(12), 10)
    data = {"x": np.arange(120) % 10, "group": group, "y": np.where(np.arange(120) % 10 < 5, "a", "b")}
    by_group = tw.grow(data, "y", groups="group", pruning="cv").fit_info.cross_validated
    by_row = tw.grow(data, "y", ignore=["group"], pruning="cv").fit_info.cross_validated
    assert by_group.value == by_row.value == 0
    assert by_group.high > 0.2 > 0.05 > by_row.high


def test_no_errors_are_no_certainty():
    data = {"x": np.arange(60.0), "y": np.where(np.arange(60) < 30, "a", "b")}
    actual = tw.grow(data, "y", pruning="cv").fit_info.cross_validated
    assert actual.low <= actual.value < actual.high
    assert actual.high > 0.05


def test_the_figure_is_in_the_model_until_the_tree_changes(noisy, tmp_path):
    tree = tw.grow(noisy, "y", pruning="cv")
    actual = tree.fit_info.cross_validated
    tree.save(tmp_path / "m.json")
    assert tw.load(tmp_path / "m.json").fit_info.cross_validated == actual
    assert tree.prune(at=0).fit_info.cross_validated is None
    assert tree.refit(noisy).fit_info.cross_validated is None
    assert tree.prune("collapse").prune("collapse").fit_info.cross_validated in (None, actual)


def test_costs_are_a_loss_of_their_own(noisy):
    priced = tw.grow(noisy, "y", cost={"yes": {"no": 5}}, pruning="cv")
    assert priced.fit_info.cross_validated.loss == "cost"
    assert "cost per row" in priced.fit_info.pruning.facts[-1]
    errors = tw.grow(noisy, "y", cost={"yes": {"no": 5}}, pruning={"method": "cv", "loss": "error"})
    assert errors.fit_info.cross_validated.loss == "error"


def test_options_that_do_not_apply_are_refused(noisy):
    def refused(words, data=noisy, **options):
        options = {"method": "cv", **options}
        assert_refused(lambda: tw.grow(data, "y", pruning=options), words, error=tw.TreewiseError)

    refused('loss="cost" needs cost=', loss="cost")
    refused("is for regression", loss="squared_error")
    refused("is for two classes, and this tree has 3", {"x": range(9), "y": list("abcabcabc")}, loss="auc")
    numbers = {"x": np.arange(40.0), "y": np.arange(40.0) ** 1.5}
    refused("is for classification", numbers, loss="log_loss")
    refused("repeats=1.5", repeats=1.5)
    rare = {"x": np.arange(30.0), "y": ["a"] * 27 + ["b"] * 3}
    refused("holds rows of one class only, so it has no AUC. Use fewer folds", rare, loss="auc")


def test_numbers_are_written_as_people_write_them():
    tree = tw.grow("penguins", "body_mass_g", drop_missing_target=True, pruning="cv")
    assert "cross-validated RMSE 317 ± 28 (95 % interval); root alone 801" in tree.fit_info.pruning.facts[-1]


def test_estimators_take_groups_and_time_as_columns_of_x():
    who = np.repeat(np.arange(30), 4)
    X = [{"x": float(x), "who": int(g)} for x, g in zip(np.random.default_rng(0).random(120), who, strict=True)]
    model = tw.TreeClassifier(pruning="cv", groups="who").fit(X, np.where(who % 2, "a", "b"))
    assert model.tree_.columns == ("x",)
    assert model.tree_.fit_info.cross_validated.kind == "groups"
    assert len(model.predict(X)) == 120
    forward = tw.TreeRegressor(pruning={"method": "cv", "folds": 3}, time="who").fit(X, who * 1.5)
    assert forward.tree_.fit_info.cross_validated.kind == "time"
