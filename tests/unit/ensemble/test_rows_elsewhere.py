"""Ensembles of files larger than memory are those of memory; tables of databases are refused, or fetched if asked."""

import re

import numpy as np
import pytest

import treewise as tw
from tests.support.partitions import mixed_table
from tests.support.small_memory import small_memory
from treewise.data.table import read
from treewise.errors import DataError
from treewise.formats.model_file.model_file import dumps

METHODS = ("forest", "extra_trees", "bagging", "adaboost")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_larger_than_memory(method, kind, tmp_path):
    """The columns are in temporary files; also when the ensemble is extended, and its out-of-bag rows predicted."""
    table = mixed_table(3, 300).drop(columns="size")
    for i, rows in enumerate(np.array_split(np.arange(300), 3)):
        part, path = table.iloc[rows], tmp_path / f"{i}.{kind}"
        part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
    options = {"n_estimators": 5, "sample_weight": "w"}
    if method != "adaboost":
        options |= {"oob_score": True, "bootstrap": True}
    grow, files, memory = getattr(tw, method), f"{tmp_path}/*.{kind}", small_memory(*table.shape)
    stored = read(files, memory=memory)
    assert stored.store._folder is not None
    grown = grow(files, "y", memory=memory, **options)
    assert dumps(grown) == dumps(grow(read(files), "y", **options))
    assert dumps(grown.extend(stored, 2)) == dumps(grow(read(files), "y", **options | {"n_estimators": 7}))
    if method == "forest":
        assert grown.oob_predict(stored).tolist() == grown.oob_predict(read(files)).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_a_table_of_a_database_is_refused_or_fetched(method, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    table, grow = tw.datasets.penguins().to_polars(), getattr(tw, method)
    path = tmp_path / "birds.db"
    with duckdb.connect(str(path)) as database:
        arrow = table.to_arrow()
        database.register("frame", arrow)
        database.execute("CREATE TABLE birds AS FROM frame")
        relation = database.table("birds")
        with pytest.raises(DataError, match=re.escape('engine="memory" fetches the table; written as Parquet files')):
            grow(relation, "species", n_estimators=2)
        fetched = grow(relation, "species", n_estimators=2, engine="memory")
    assert fetched == grow(table, "species", n_estimators=2)
    with pytest.raises(DataError, match=f"^{method} draws or reweights rows, which a database cannot do"):
        grow(f"duckdb:///{path}#birds", "species", n_estimators=2)
