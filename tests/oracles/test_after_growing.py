"""What is done with a tree after growing gives the same on a Dask dataframe and a database as in memory."""

import re
import warnings

import numpy as np
import pytest

import treewise as tw
from tests.support.partitions import cut, mixed_table, random_cuts
from treewise.formats.model_file.model_file import dumps
from treewise.sources import lazy

dask = pytest.importorskip("dask")
dask_frames = pytest.importorskip("dask.dataframe")
duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.filterwarnings("default")  # of other packages


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="sync"):
        yield


def in_partitions(table, cuts):
    """A Dask dataframe of unequal partitions; some are empty, or have one row."""
    delayed = [dask.delayed(part) for part in cut(table, cuts)]
    return dask_frames.from_delayed(delayed, meta=table.iloc[:0])


@pytest.fixture(params=["dask", "duckdb"])
def elsewhere(request):
    """A function that puts a table somewhere else."""
    if request.param == "dask":
        yield lambda table, rng: in_partitions(table, random_cuts(rng, len(table)))
        return
    with duckdb.connect() as database:

        def store(table, rng):
            database.register("frame", table)
            database.execute("CREATE OR REPLACE TABLE t AS FROM frame")
            return database.table("t")

        yield store


def without_fetching(call):
    """Return a result for which the rows are not fetched."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*are fetched into memory")
        return call()


def text(result):
    return dumps(result) if isinstance(result, tw.Tree) else str(result)


QUESTIONS = {
    "evaluate": lambda tree, data: tree.evaluate(data),
    "evaluate weighted": lambda tree, data: tree.evaluate(data, sample_weight="w"),
    "monitor": lambda tree, data: tree.monitor(data),
    "prune": lambda tree, data: tree.prune("reduced_error", validation=data),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_by_counts(question, seed, elsewhere):
    """Other rows than those of the training: levels that were never seen, and leaves without rows."""
    rng = np.random.default_rng(seed)
    table, new = mixed_table(seed, 300).drop(columns="size"), mixed_table(seed + 10 * 2, 250).drop(columns="size")
    options = {"sample_weight": "w"} if seed > 1 else {"missing": "branch"}
    tree = tw.grow(table, "y", min_samples_leaf=3, **options)
    for rows in (new, table):
        assert text(without_fetching(lambda: question(tree, elsewhere(rows, rng)))) == text(question(tree, rows))  # noqa: B023


@pytest.mark.parametrize("seed", range(2))
def test_handwritten_trees_say_where_missing_values_went(seed, elsewhere):
    table = mixed_table(2 + seed, 200).drop(columns="size")
    texts = ("early <= 0 -> 1\nelse -> 2", "early <= 0\n    count <= 4 -> no 0.6\n    else -> yes\nelse -> yes 0.8")
    tree = tw.parse(texts[seed])
    expected = tree.evaluate(table, "y")
    assert expected.missing
    found = str(tree.evaluate(elsewhere(table, np.random.default_rng(seed)), "y"))
    assert found == re.sub(
        r"class of rows [\d, …]+ (\d+) more", lambda rest: f"class of {int(rest[1]) + 5} rows", str(expected)
    )


FETCHING = {
    "importances": lambda model, data: model.importances(data, repeats=2),
    "evaluate": lambda model, data: model.evaluate(data),
}


@pytest.mark.parametrize("question", FETCHING.values(), ids=FETCHING)
@pytest.mark.parametrize("seed", [2, 3])
def test_what_needs_rows_fetches_them_and_warns(question, seed, elsewhere):
    """Permuted columns, and leaves of many trees: single rows matter, not the leaf they end at."""
    table = mixed_table(seed, 200).drop(columns="size")
    for model in (tw.forest(table, "y", 3), tw.grow(table, "y", max_depth=3)):
        if isinstance(model, tw.Tree) and question is FETCHING["evaluate"]:
            continue
        with pytest.warns(UserWarning, match="are fetched into memory"):
            found = question(model, elsewhere(table, np.random.default_rng(seed)))
        assert str(found) == str(question(model, table))


def test_two_trees_are_compared_on_the_same_rows(elsewhere):
    table = mixed_table(3, 200).drop(columns="size")
    one, other = (tw.grow(table, "y", max_depth=depth) for depth in (1, 3))
    with pytest.warns(UserWarning, match="are fetched into memory"):
        found = tw.evaluate_pair(one, other, elsewhere(table, np.random.default_rng(0)))
    assert str(found) == str(tw.evaluate_pair(one, other, table))


def test_weights_that_are_not_there_are_refused(elsewhere):
    table = mixed_table(3, 100).drop(columns="size")
    tree = tw.grow(table, "y", sample_weight="w", max_depth=2)
    rng, without = np.random.default_rng(0), table.drop(columns="w")
    assert dumps(tree.prune("reduced_error", validation=elsewhere(without, rng))) == dumps(
        tree.prune("reduced_error", validation=without)
    )
    with pytest.raises(tw.TreewiseError, match='no column "w"'):
        tree.evaluate(elsewhere(without, rng), sample_weight="w")
    with pytest.raises(tw.TreewiseError, match="count"):
        tree.evaluate(elsewhere(table.drop(columns="count"), rng))


def test_a_column_of_numbers_as_text_on_dask():
    table = mixed_table(3, 100).drop(columns="size")
    tree = tw.grow(table, "y", max_depth=3, na_values=["-9"])
    written = table.assign(count=table["count"].astype(str), early=table["early"].fillna(-9))
    assert str(tree.evaluate(in_partitions(written, [10, 10, 11]))) == str(tree.evaluate(written))


def test_too_many_groups_are_fetched_with_a_warning(elsewhere, monkeypatch):
    """Nearly every row of a numeric target is a group of its own: counting would fetch the table unseen."""
    monkeypatch.setattr(lazy, "_MAX_PAIRS", 20)
    table = mixed_table(3, 200)
    tree = tw.grow(table, "size", max_depth=3)
    with pytest.warns(UserWarning, match="are fetched into memory"):
        evaluated = tree.evaluate(elsewhere(table, np.random.default_rng(0)))
    assert str(evaluated) == str(tree.evaluate(table))


def test_columns_with_the_names_of_ours_are_no_groups(elsewhere):
    table = mixed_table(2, 200).rename(columns={"size": "treewise_leaf"})
    tree = tw.grow(table, "y", max_depth=3)
    with pytest.warns(UserWarning, match="are fetched into memory"):
        evaluated = tree.evaluate(elsewhere(table, np.random.default_rng(0)))
    assert str(evaluated) == str(tree.evaluate(table))
