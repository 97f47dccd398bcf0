"""The summary of a table from facts about its parts is the summary of the whole table in memory."""

import numpy as np
import pytest

from tests.support.random_problems import random_table
from tests.support.source_problems import countable_options
from treewise.data.column_sample import join_samples, sample_column
from treewise.data.table import read
from treewise.errors import DataError, ParameterError
from treewise.sources.memory import summarise
from treewise.train import summary as summary_module
from treewise.train.grow import prepare, read_options, record_cost
from treewise.train.summary import (
    TargetFacts,
    build_summary,
    check_source_roles,
    needs_values,
    summarise_target,
)

SAME = ("encodings", "split_kinds", "target", "target_scale", "target_top", "weight_scale", "settings", "fit_options",
        "n_rows", "root", "low", "high")  # fmt: skip


def summary_of_parts(data, cuts, target, **options):
    """Return the summary made of samples and facts of the parts of a table, cut at these rows."""
    roles, settings, cost = read_options(target, options)
    roles = check_source_roles(roles)
    table = read(data, na_values=roles.na_values)
    parts = [table.take(rows) for rows in np.split(np.arange(len(table)), cuts) if len(rows)]

    def weight_of(part):
        return part[roles.sample_weight].values.astype(float) if roles.sample_weight else np.ones(len(part))

    about = summarise_target(
        TargetFacts.join([TargetFacts.of(part[target], weight_of(part)) for part in parts]), roles, settings, table.name
    )
    samples, missing = {}, {}
    classes = {str(label) for i, label in enumerate(about.target.classes) if i in set(about.pairs.y.tolist())}
    for name in table.columns:
        if name in (target, roles.sample_weight):
            continue
        cells = []
        for part in parts:
            used = (weight_of(part) > 0) & ~part[target].is_missing()
            if classes:
                used &= np.array([str(label) in classes for label in part.to_polars()[target].to_list()])
            cells.append(part[name].take(np.flatnonzero(used)))
        distinct = needs_values((roles.kinds or {}).get(name))
        samples[name] = join_samples([sample_column(cell, distinct) for cell in cells if len(cell)])
        missing[name] = sum(int(cell.is_missing().sum()) for cell in cells)
    return record_cost(build_summary(about, samples, missing), cost)


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("few", [1 << 16, 3], ids=["pairs", "represented"])
def test_summary_of_parts_is_that_of_the_table(regression, few, monkeypatch):
    monkeypatch.setattr(summary_module, "MAX_PAIRS", few)
    for seed in range(60):
        rng = np.random.default_rng([seed, regression])
        data, n = random_table(rng, regression)
        options = countable_options(rng, data, n, regression)
        if "sample_weight" in options:
            data["w"], options["sample_weight"] = options["sample_weight"], "w"
        if not regression and rng.random() < 0.5:
            options["class_weight"] = "balanced" if rng.random() < 0.5 else {sorted(data["y"])[0]: 2.5}
        training_set = prepare(data, "y", **options)
        expected = summarise(training_set)
        cuts = np.sort(rng.integers(0, n + 1, 3))
        actual = summary_of_parts(data, cuts, "y", **options)
        for name in SAME:
            ours, theirs = getattr(actual, name), getattr(expected, name)
            if name == "root":
                ours, theirs = ours._replace(target_sum=0, targets=()), theirs._replace(target_sum=0, targets=())
            assert ours == theirs, f"table {seed}, {name}: {ours} {theirs} {data} {options}"
        assert actual.deviation_scale == expected.deviation_scale
        assert int(actual.weight.sum()) == int(expected.weight.sum())


def test_class_without_weight_and_missing_targets_are_left_out():
    data = {"x": [1, 2, 9, 4, 5], "y": ["a", "b", "c", None, "a"]}
    options = {"class_weight": {"c": 0}, "drop_missing_target": True}
    actual = summary_of_parts(data, [2], "y", **options)
    expected = summarise(prepare(data, "y", **options))
    assert (actual.root, actual.encodings) == (expected.root, expected.encodings)


def test_refusals_name_what_is_wrong():
    data = {"x": [1.0, None], "y": ["a", None]}
    with pytest.raises(DataError, match='target "y" is missing in 1 row'):
        summary_of_parts(data, [], "y")
    with pytest.raises(DataError, match='"x" is missing in 1 row'):
        summary_of_parts({**data, "y": ["a", "b"]}, [], "y", missing="error")
    with pytest.raises(ParameterError, match="name of a column"):
        check_source_roles(read_options(np.array([1, 2]), {})[0])
    with pytest.raises(ParameterError, match="rows are elsewhere"):
        check_source_roles(read_options("y", {"groups": "x"})[0])
    with pytest.raises(DataError, match="in some parts of the table"):
        join_samples([read({"x": cells})["x"] for cells in (["a"], [1])])
