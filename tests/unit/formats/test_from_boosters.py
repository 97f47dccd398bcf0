"""Models imported from LightGBM and XGBoost: the same leaves and sums on every input."""

import json

import numpy as np
import pandas as pd
import pytest

import treewise as tw
from tests.support.fuzzed_rows import fuzzed_matrix

ROWS = 3000


def table(seed=0, n=600):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = np.round(X[:, 2], 1)
    X[rng.random((n, 4)) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0], nan=2.0) + (X[:, 1] > 0.3) - np.nan_to_num(X[:, 2]) ** 2
    return X, y


def with_category(seed=0, n=600, levels=("red", "green", "blue", "grey", "pink")):
    X, y = table(seed, n)
    colour = np.random.default_rng(seed).choice(levels, n)
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(colour, categories=levels), "b": X[:, 1]})
    frame.loc[::11, "colour"] = None
    return frame, y + np.isin(colour, ["red", "grey"]) * 2.0


def cuts_of(model):
    cuts = {}
    for tree in model.trees:
        for node in tree:
            if isinstance(node.split, tw.Threshold) and np.isfinite(node.split.cut):
                cuts.setdefault(model.columns.index(node.split.column), []).append(node.split.cut)
    return cuts


def fuzz(model, **options):
    return fuzzed_matrix(cuts_of(model), len(model.columns), ROWS, np.random.default_rng(1), **options)


def fuzzed_frame(model, frame):
    rows = fuzz(model)
    values = {name: rows[:, model.columns.index(name)] for name in frame.columns}
    values["colour"] = pd.Categorical.from_codes(
        np.random.default_rng(2).integers(-1, len(frame.colour.cat.categories), ROWS), dtype=frame.colour.dtype
    )
    return pd.DataFrame(values)


class TestLightGBM:
    lgb = property(lambda self: pytest.importorskip("lightgbm"))

    def model(self, X, y, categorical_feature="auto", **options):
        options = {"n_estimators": 20, "num_leaves": 12, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, **options}
        return self.lgb.LGBMRegressor(**options).fit(X, y, categorical_feature=categorical_feature)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"n_estimators": 1},
            {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
            {"objective": "regression_l1"},
            {"objective": "huber"},
            {"use_missing": False},
            {"boosting_type": "dart"},
            {"n_estimators": 3, "min_child_samples": 10000},
        ],
        ids=str,
    )
    def test_values_are_the_same_to_the_last_bit(self, options):
        theirs = self.model(*table(), **options)
        ours = tw.from_lightgbm(theirs)
        rows = fuzz(ours, special=(np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1e-36, 1e300, -1e300))
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
        assert isinstance(ours, tw.Tree) == (theirs.booster_.num_trees() == 1)

    def test_categories_of_pandas_have_their_labels(self):
        frame, y = with_category()
        theirs = self.model(frame, y, min_data_per_group=1, cat_smooth=0.1)
        ours = tw.from_lightgbm(theirs)
        assert ours.encodings[1].levels == ("red", "green", "blue", "grey", "pink")
        rows = fuzzed_frame(ours, frame)
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
        unseen = rows.assign(colour="violet")
        expected = theirs.predict(rows.assign(colour=pd.Categorical([None] * ROWS, frame.colour.cat.categories)))
        np.testing.assert_array_equal(ours.predict(unseen), expected)  # LightGBM reads unknown categories as missing

    def test_categories_that_are_codes(self):
        X, y = table()
        X[:, 3] = np.random.default_rng(3).integers(0, 40, len(X)) * 2
        theirs = self.model(X, y + np.isin(X[:, 3], [0, 8, 70]), categorical_feature=[3], min_data_per_group=1)
        ours = tw.from_lightgbm(theirs)
        assert ours.encodings[3].levels[:3] == ("0", "2", "4")
        rows = fuzz(ours)
        rows[:, 3] = np.random.default_rng(4).choice([*range(82), np.nan], ROWS)
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))

    @pytest.mark.parametrize("options", [{}, {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}], ids=str)
    def test_two_classes_are_imported_as_the_raw_score(self, options):
        X, y = table()
        theirs = self.lgb.LGBMClassifier(n_estimators=9, verbose=-1, n_jobs=1, **options).fit(X, y > 0)
        with pytest.raises(tw.DataError, match="raw_score=True imports the sum"):
            tw.from_lightgbm(theirs)
        ours = tw.from_lightgbm(theirs, raw_score=True)
        rows = fuzz(ours)
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows, raw_score=True))

    def test_zeros_as_missing_values_are_refused_where_they_matter(self):
        X, y = table()
        X[np.random.default_rng(5).random(X.shape) < 0.4] = 0.0
        theirs = self.model(X, y, zero_as_missing=True)
        with pytest.raises(tw.DataError, match=r'column "Column_\d".*zero_as_missing'):
            tw.from_lightgbm(theirs)

    def test_what_is_no_single_sum_is_refused(self):
        X, y = table()
        several = self.lgb.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, np.digitize(y, [-1, 1]))
        with pytest.raises(tw.DataError, match="a tree per class"):
            tw.from_lightgbm(several, raw_score=True)
        linear = self.lgb.train({"linear_tree": True, "verbose": -1}, self.lgb.Dataset(np.nan_to_num(X), y), 2)
        with pytest.raises(tw.DataError, match="linear"):
            tw.from_lightgbm(linear)
        with pytest.raises(tw.DataError, match="poisson"):
            tw.from_lightgbm(self.model(X, np.abs(y), objective="poisson"))

    def test_a_saved_file_is_enough(self, tmp_path):
        theirs = self.model(*table())
        path = tmp_path / "model.txt"
        theirs.booster_.save_model(path)
        assert tw.from_lightgbm(path) == tw.from_lightgbm(str(path)) == tw.from_lightgbm(theirs.booster_)

    def test_early_stopping_imports_the_trees_that_predict(self):
        X, y = table()
        noise = np.random.default_rng(0).normal(size=len(y)) * 3
        data, valid = self.lgb.Dataset(X, y + noise), self.lgb.Dataset(X[:200], y[:200])
        options = {"verbose": -1, "num_threads": 1, "learning_rate": 0.5}
        stop = self.lgb.early_stopping(2, verbose=False)
        theirs = self.lgb.train(options, data, 80, valid_sets=[valid], callbacks=[stop])
        ours = tw.from_lightgbm(theirs)
        assert len(ours.trees) == theirs.best_iteration < 80
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


class TestXGBoost:
    xgb = property(lambda self: pytest.importorskip("xgboost"))

    def model(self, X, y, **options):
        options = {"n_estimators": 12, "max_depth": 4, "n_jobs": 1, **options}
        return self.xgb.XGBRegressor(**options).fit(X, y)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"base_score": 0.0},
            {"objective": "reg:absoluteerror"},
            {"tree_method": "exact"},
            {"num_parallel_tree": 3},
        ],
        ids=str,
    )
    def test_sums_agree_up_to_float32_and_leaves_exactly(self, options):
        theirs = self.model(*table(), **options)
        ours = tw.from_xgboost(theirs)
        rows = fuzz(ours)
        np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=3e-6, atol=3e-6)
        assert_same_leaves(theirs.apply(rows), ours.apply(rows)[:, len(ours) - theirs.apply(rows[:1]).shape[1] :])

    def test_a_single_tree_is_the_same_to_the_last_bit(self):
        theirs = self.model(*table(), n_estimators=1, max_depth=6)
        ours = tw.from_xgboost(theirs)
        assert isinstance(ours, tw.Tree)
        rows = fuzz(ours)
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows).astype(float))

    @pytest.mark.parametrize("onehot", [1, 99])
    def test_categories_have_their_labels(self, onehot):
        frame, y = with_category()
        theirs = self.model(frame, y, enable_categorical=True, max_cat_to_onehot=onehot, n_estimators=1)
        ours = tw.from_xgboost(theirs)
        assert ours.encodings[1].levels == ("red", "green", "blue", "grey", "pink")
        rows = fuzzed_frame(ours, frame)
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows).astype(float))

    def test_two_classes_are_imported_as_the_margin(self):
        X, y = table()
        theirs = self.xgb.XGBClassifier(n_estimators=9, max_depth=3, n_jobs=1).fit(X, y > 0)
        with pytest.raises(tw.DataError, match="output_margin=True"):
            tw.from_xgboost(theirs)
        ours = tw.from_xgboost(theirs, output_margin=True)
        rows = fuzz(ours)
        np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows, output_margin=True), rtol=3e-6, atol=3e-6)
        assert any("cover" in note for note in ours.notes)

    def test_the_margin_of_a_single_tree_is_the_same_to_the_last_bit(self):
        X, y = table()
        for cut in (-1.2, -0.7, -0.3, 0.1, 0.6, 1.1):  # the constant is the logarithm of a share, in float32
            theirs = self.xgb.XGBClassifier(n_estimators=1, max_depth=3, n_jobs=1).fit(X, y > cut)
            ours = tw.from_xgboost(theirs, output_margin=True)
            np.testing.assert_array_equal(ours.predict(X), theirs.predict(X, output_margin=True).astype(float))

    def test_files_early_stopping_and_refusals(self, tmp_path):
        X, y = table()
        theirs = self.model(X, y)
        path = tmp_path / "model.json"
        theirs.save_model(path)
        assert tw.from_xgboost(path) == tw.from_xgboost(theirs.get_booster()) == tw.from_xgboost(theirs)
        stopped = self.xgb.XGBRegressor(n_estimators=80, early_stopping_rounds=2, n_jobs=1, learning_rate=0.9)
        noise = np.random.default_rng(0).normal(size=len(y)) * 3
        stopped.fit(X, y + noise, eval_set=[(X[:200], y[:200])], verbose=False)
        np.testing.assert_allclose(tw.from_xgboost(stopped).predict(X), stopped.predict(X), rtol=3e-6, atol=3e-6)
        with pytest.raises(tw.DataError, match="3 outputs"):
            tw.from_xgboost(self.xgb.XGBClassifier(n_estimators=2).fit(X, np.digitize(y, [-1, 1])))
        with pytest.raises(tw.DataError, match="dart"):
            tw.from_xgboost(self.model(X, y, booster="dart"))
        with pytest.raises(tw.DataError, match="count:poisson"):
            tw.from_xgboost(self.model(X, np.abs(y), objective="count:poisson"))


def assert_same_leaves(theirs, ours):
    """Two numberings of leaves are the same up to names: rows are together in one exactly if in the other."""
    for own, other in zip(ours.T, theirs.T, strict=True):
        pairs = set(zip(own.tolist(), other.tolist(), strict=True))
        assert len(pairs) == len(set(own.tolist())) == len(set(other.tolist()))


@pytest.mark.parametrize("call", [tw.from_lightgbm, tw.from_xgboost])
def test_what_is_no_model_is_refused_in_words(call, tmp_path):
    with pytest.raises(tw.ParameterError, match="cannot import a int"):
        call(3)
    with pytest.raises(tw.ModelFormatError, match="cannot read"):
        call(tmp_path / "absent.txt")
    (tmp_path / "other.json").write_text(json.dumps({"learner": {}}))
    with pytest.raises(tw.ModelFormatError, match="not a model in"):
        call(tmp_path / "other.json")


BOOSTED = "\n".join(
    ["tree", "num_class=1", "num_tree_per_iteration=1", "objective=regression", "feature_names=a b"]
    + ["feature_infos=[0:9] [0:9]", ""]
    + [
        f"Tree={t}\nnum_leaves=2\nsplit_feature={t}\nthreshold={t + 2.5}\ndecision_type=10\nleft_child=-1\n"
        f"right_child=-2\nleaf_value={t + 1} {t + 4}\nleaf_count=30 70\n"
        for t in range(2)
    ]
    + ["end of trees"]
)


def test_everything_works_on_trees_that_add_up(tmp_path):
    model = tw.from_lightgbm(BOOSTED, target="price")
    assert (len(model), model.method, model.task) == (2, "gradient_boosting", "regression")
    assert "gradient_boosting of 2 trees" in repr(model)
    row = {"a": 1, "b": 9}
    assert model.predict(row) == 1 + 5
    assert list(model.staged_predict(row)) == [1, 6]
    assert model.first(1).predict(row) == 1
    assert model.baseline == pytest.approx(0.3 * 1 + 0.7 * 4 + 0.3 * 2 + 0.7 * 5)
    shap = model.shap(row)
    assert shap.base + shap.values.sum() == pytest.approx(6)
    assert "the sum of 2 trees" in model.explain(row).sentences[0]
    model.save(tmp_path / "m.json")
    assert tw.load(tmp_path / "m.json") == model
    assert tw.load(tmp_path / "m.json").predict(row) == 6
    data = {"a": [1, 2, 3, 4, None], "b": [1, 9, 2, 8, 3], "price": [3, 6, 6, 9, 5]}
    assert model.evaluate(data, "price").rmse < 2
    assert len(model.stages(data, "price")) == 2
    assert len(model.agreement(data)) == 5
    assert model.importances().columns[0].splits == 1
    assert "a <= 2.5" in str(model[0])
    assert tw.distill(model, data, max_depth=2)
    with pytest.raises(tw.ParameterError, match="how it was grown"):
        model.extend(data, 1, target="price")
