"""A tree grown by queries is the tree of memory, byte for byte: random tables with random options in DuckDB."""

import os

import duckdb
import numpy as np
import pytest

from tests.oracles.test_sources import countable_options
from tests.support.random_problems import random_table
from treewise.data.relation import Relation
from treewise.data.table import read
from treewise.errors import DataError
from treewise.formats.model_file.model_file import dumps
from treewise.sources.queries import QuerySource
from treewise.train import bucket_search
from treewise.train.grow import grow_training_set, prepare, read_options, record_cost
from treewise.train.grow_source import grow_on

TABLES = int(os.environ.get("TREEWISE_QUERY_TABLES", "300" if os.environ.get("TREEWISE_LONG") else "12"))


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        yield connection


def grow_by_queries(relation, target, **options):
    """Return the tree without its notes."""
    roles, settings, cost = read_options(target, options)
    source = QuerySource.of(Relation.of(relation), roles, settings)
    source.summary = record_cost(source.summary, cost)
    return grow_on(source).with_(notes=())


def grow_in_memory(relation, target, **options):
    return grow_training_set(prepare(relation, target, **options)).with_(notes=())


def table_in(database, data):
    frame = read(data).to_polars()
    database.register("frame", frame.to_arrow())
    database.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM frame")
    return database.table("t")


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("few", [1, 4], ids=["values", "bins"])
def test_queries_give_the_tree_of_memory(regression, few, monkeypatch, database):
    if few > 1:
        for name, value in (("FIRST_BINS", few), ("_FINER_BINS", 2), ("_FEW_ROWS", 3), ("_FEW_INTEGERS", 2)):
            monkeypatch.setattr(bucket_search, name, value)
    for table in range(TABLES):
        rng = np.random.default_rng([table, regression, few])
        data, n = random_table(rng, regression)
        options = countable_options(rng, data, n, regression)
        if "sample_weight" in options:
            data["w"], options["sample_weight"] = options["sample_weight"], "w"
        if not regression and rng.random() < 0.3:
            options["class_weight"] = "balanced" if rng.random() < 0.5 else {sorted(data["y"])[0]: 2.5}
        relation = table_in(database, data)
        expected = grow_in_memory(relation, "y", **options)
        try:
            found = grow_by_queries(relation, "y", **options)
        except DataError as error:
            assert regression, error
            assert "a million times smaller" in str(error)
            continue
        assert dumps(found) == dumps(expected), f"table {table}: {data} {options}"
