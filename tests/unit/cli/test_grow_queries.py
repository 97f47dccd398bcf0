"""treewise grow on a table of a database, and its queries."""

import duckdb
import pytest

import treewise as tw


@pytest.fixture
def address(tmp_path):
    with duckdb.connect(tmp_path / "file.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 7 AS a, i % 3 AS b, i % 21 < 9 AS y FROM range(84) r(i)")
    return f"duckdb:///{tmp_path}/file.db#t"


def test_grow_on_a_table_of_a_database(run, address, tmp_path):
    completed = run(f"grow {address} --target y --show-queries -o {tmp_path}/model.json")
    assert "t   84 rows · 2 columns: 2 numbers" in completed.err
    assert "GROUP BY" in completed.err
    assert "GROUP BY" not in completed.out
    tree = tw.load(tmp_path / "model.json")
    assert tree.arrays.same_as(tw.grow(address, "y", engine="memory").arrays)
    assert ";\n" in completed.err
    evaluated = run(f"evaluate {tmp_path}/model.json {address}")
    assert evaluated.code == 0
    assert "file.db#t is fetched into memory; treewise export MODEL --format sql" in evaluated.err


def test_refusals(run, address):
    completed = run(f"grow {address}x --target y")
    assert completed.code != 0
    assert "Check the address and the name of the table" in completed.err
    completed = run(f"grow {address} --target y --workers 2")
    assert "a database counts its own tables" in completed.err
    completed = run("grow admissions --target Class --show-queries")
    assert "--show-queries" in completed.err
    assert "for tables of a database" in completed.err
