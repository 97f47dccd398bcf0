"""Monitoring: the index, its parts, its intervals and its verdict, against the definition and on rows that change."""

import json

import numpy as np
import polars as pl
import pytest

import treewise as tw
from treewise.data import row_batches
from treewise.evaluate.monitor import psi_of_counts


@pytest.fixture(scope="module")
def credit():
    """A tree of numbers and towns, and a function that draws new rows."""

    def draw(n, seed, shift=0.0):
        rng = np.random.default_rng(seed)
        x = rng.normal(shift, 1, n)
        town = rng.choice(["Rome", "Bari", "Milan"], n, p=[0.5, 0.3, 0.2])
        y = np.where((x > 0) ^ (town == "Rome"), "good", "bad")
        return pl.DataFrame({"x": np.where(rng.random(n) < 0.05, np.nan, x), "town": town, "y": y})

    return tw.grow(draw(4000, 0), target="y", max_leaf_nodes=6), draw


def test_psi_is_that_of_the_definition_and_its_parts_add_up(credit):
    tree, draw = credit
    data = draw(3000, 1, shift=0.5)
    report = tree.monitor(data)
    before = [leaf.training_rows + 0.5 for leaf in report.leaves]
    after = [leaf.rows + 0.5 for leaf in report.leaves]
    raw = psi_of_counts(before, after)
    bias = (len(before) - 1) * (1 / 4000 + 1 / 3000)
    assert report.psi == pytest.approx(raw - bias)
    assert sum(leaf.psi for leaf in report.leaves) == pytest.approx(raw)
    assert sum(column.psi for column in report.columns) == pytest.approx(raw)
    assert report.columns[0].column == "x"
    ends = tree.apply(data)
    assert {leaf.node: leaf.rows for leaf in report.leaves} == dict(
        zip(*map(list, np.unique(ends, return_counts=True)), strict=True)
    )


def test_verdicts(credit):
    tree, draw = credit
    assert tree.monitor(draw(3000, 2)).verdict == "no sign of a change"
    assert tree.monitor(draw(30_000, 3, shift=0.15)).verdict == "a small change"
    assert tree.monitor(draw(3000, 4, shift=1.5)).verdict == "a moderate change"
    report = tree.monitor(draw(3000, 5, shift=3).filter(town="Rome"))
    assert report.verdict == "a large change"
    assert "Most of it at the splits on" in report.sentences[1]


def test_figures_hold_where_nothing_has_changed(credit):
    """The share of false alarms is that of the confidence, and the interval has the true index, 0."""
    _, draw = credit
    alarms, starred, covered, n = 0, 0, 0, 150
    tree = tw.grow(draw(4000, 0), target="y", max_leaf_nodes=6)
    for seed in range(n):
        fresh = tree.refit(draw(1500, 1000 + seed))  # counts of other rows than those that chose the splits
        report = fresh.monitor(draw(1000, 5000 + seed))
        alarms += report.verdict != "no sign of a change"
        starred += any(leaf.is_changed for leaf in report.leaves)
        covered += report.interval[0] == 0
    assert 1 <= alarms <= 17  # 7.5 expected; 0.999 of a binomial
    assert starred <= 17
    assert covered >= 133


def test_missing_values_and_new_levels(credit):
    tree, draw = credit
    data = draw(2000, 6).with_columns(
        pl.when(pl.int_range(2000) % 4 == 0).then(None).otherwise("x").alias("x"),
        pl.when(pl.int_range(2000) < 100).then(pl.lit("Oslo")).otherwise("town").alias("town"),
    )
    report = tree.monitor(data)
    text = str(report)
    assert 'town: never-seen "Oslo" in 100 rows.' in text
    assert "x: missing in" in text
    missing = next(column for column in report.columns if column.column == "x")
    assert 0.2 < missing.missing < 0.35
    assert missing.training_missing == pytest.approx(0.05, abs=0.02)


def test_files_and_batches_give_the_same(credit, tmp_path, monkeypatch):
    tree, draw = credit
    data = draw(1000, 7, shift=0.3)
    expected = tree.monitor(data).to_dict()
    data.fill_nan(None).write_csv(tmp_path / "a.csv")
    monkeypatch.setattr(row_batches, "_CSV_BYTES", 500)
    assert tree.monitor(str(tmp_path / "a.csv")).to_dict() == expected
    assert tree.monitor(data.iter_slices(100)).to_dict() == expected
    json.dumps(expected, allow_nan=False)


def test_what_cannot_be_monitored(credit):
    _, draw = credit
    with pytest.raises(tw.DataError, match="written by hand"):
        tw.parse("x <= 1: a\nx > 1: b\n").monitor({"x": [1]})
    with pytest.raises(tw.DataError, match="this is an ensemble"):
        tw.forest(draw(100, 0), target="y", n_estimators=2).monitor(draw(10, 0))
    leaf = tw.grow({"x": [1, 2], "y": ["a", "a"]}, target="y")
    assert leaf.monitor({"x": [5]}).psi == 0
    with pytest.raises(tw.DataError, match="no rows"):
        leaf.monitor(iter([]))
