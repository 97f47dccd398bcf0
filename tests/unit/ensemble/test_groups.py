"""Samples of whole groups: out-of-bag rows, orders of the table, the command line and the estimators."""

import numpy as np
import pytest

import treewise as tw
from tests.support.errors import assert_refused
from treewise.ensemble.params import BaggingParams
from treewise.train.grow import prepare


@pytest.fixture(scope="module")
def patients():
    """Forty patients of six visits; an identifier-like reading tells the patient, the target is drawn per patient."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(40), 6)
    sick = rng.integers(0, 2, 40)[who]
    return {
        "who": [f"p{i}" for i in who],
        "reading": rng.normal(size=40)[who] + 1e-4 * rng.normal(size=240),
        "age": rng.normal(size=240),
        "y": np.where(sick, "sick", "well"),
    }


def test_out_of_bag_scores_leak_through_groups_unless_they_are_drawn_whole(patients):
    """The target depends on the patient alone, so new patients are predicted no better than by chance."""
    leaking, honest = (
        tw.forest(patients, "y", n_estimators=40, oob_score=True, max_features=1.0, **options).oob.score
        for options in ({"columns": ["reading"]}, {"columns": ["reading"], "groups": "who"})
    )
    assert leaking > 0.95
    assert honest < 0.7


@pytest.mark.parametrize("grow", [tw.forest, tw.extra_trees, tw.bagging])
def test_every_row_of_a_group_is_in_the_sample_or_out_of_it(grow, patients):
    options = {"bootstrap": True} if grow is tw.extra_trees else {}
    trees = grow(patients, "y", n_estimators=5, groups="who", oob_score=True, **options)
    assert "who" not in trees.columns
    assert [int(trees[t][0].rows) % 6 for t in range(5)] == [0] * 5
    extended = grow(patients, "y", n_estimators=3, groups="who", oob_score=True, **options).extend(patients, n=2)
    assert str(extended.oob) == str(trees.oob)
    predicted = trees.oob_predict(patients)
    is_out = [answer is not None for answer in predicted]
    assert trees.oob.rows == sum(is_out) < 240
    assert trees.oob.score == pytest.approx(np.mean(predicted[is_out] == patients["y"][is_out]))


def test_samples_do_not_depend_on_the_order_of_the_rows(patients):
    order = np.random.default_rng(0).permutation(240)
    shuffled = {name: np.asarray(values)[order] for name, values in patients.items()}
    samples = [BaggingParams("bagging", 3).samples(prepare(each, "y", groups="who")) for each in (patients, shuffled)]
    for tree in range(3):
        assert samples[0].counts(tree)[order].tolist() == samples[1].counts(tree).tolist()


def test_a_share_of_the_groups(patients):
    samples = BaggingParams("bagging", 3, bootstrap=False, max_samples=0.25).samples(
        prepare(patients, "y", groups="who")
    )
    counts = samples.counts(0)
    assert counts.sum() == 60
    assert set(counts.reshape(40, 6).sum(axis=1).tolist()) == {0, 6}


def test_groups_are_named_and_are_as_many_as_are_drawn(patients):
    def refused(words, **options):
        assert_refused(lambda: tw.forest(patients, "y", n_estimators=2, **options), words, error=tw.TreewiseError)

    refused("groups: must be the name of a column", groups=np.arange(240))
    refused("has 40 groups that count. Give at most 40", groups="who", max_samples=41)
    refused("must be a whole number of groups", groups="who", max_samples=0)
    refused('"whom"', groups="whom")
    refused("time: is for folds, and forest uses none", time="age")
    for name, value in (("groups", "who"), ("time", "age")):
        with pytest.raises(tw.ParameterError, match=f"{name}: .*, and adaboost uses none. Leave it out"):
            tw.adaboost(patients, "y", n_estimators=2, **{name: value})


def test_the_command_line_and_the_estimators(patients, run, tmp_path):
    rows = zip(*patients.values(), strict=True)
    (tmp_path / "visits.csv").write_text(
        "\n".join([",".join(patients), *(",".join(map(str, row)) for row in rows)]), encoding="utf-8"
    )
    words = "--ensemble forest --n-estimators 30 --groups who --oob-score -o m.json"
    result = run(f"grow visits.csv --target y {words}")
    assert "each by the trees that have not seen its group (out of bag)" in result.out
    forest = tw.forest(str(tmp_path / "visits.csv"), "y", n_estimators=30, groups="who", oob_score=True)
    assert tw.load(tmp_path / "m.json").oob == forest.oob
    assert tw.load(tmp_path / "m.json").fit_info.fit_options.groups == "who"
    x = [dict(zip(patients, row, strict=True)) for row in zip(*patients.values(), strict=True)]
    y = [row.pop("y") for row in x]
    model = tw.ForestClassifier(n_estimators=30, groups="who", oob_score=True).fit(x, y)
    assert model.oob_score_ == pytest.approx(forest.oob.score)
