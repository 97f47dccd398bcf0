"""A tree grown by queries is the tree of memory, byte for byte: random tables with random options in DuckDB."""

import os
import sqlite3

import duckdb
import numpy as np
import pytest

import treewise as tw
from tests.support.random_problems import random_table
from tests.support.source_problems import countable_options
from treewise.data.relation import Relation
from treewise.data.table import read
from treewise.errors import DataError, TreewiseError
from treewise.formats.model_file.model_file import dumps
from treewise.sources import query_nodes
from treewise.train import bin_search

LONG = bool(os.environ.get("TREEWISE_LONG"))
ROWS = 3000 if LONG else 600
TABLES = int(os.environ.get("TREEWISE_QUERY_TABLES", "300" if LONG else "3"))


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        yield connection


def grow_by_queries(relation, target, **options):
    """Return the tree without its notes."""
    return tw.grow(relation, target, **options).with_(notes=())


def grow_in_memory(relation, target, **options):
    return tw.grow(relation, target, engine="memory", **options).with_(notes=())


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
            monkeypatch.setattr(bin_search, name, value)
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
            actual = grow_by_queries(relation, "y", **options)
        except DataError as error:
            assert regression, error
            assert "a million times smaller" in str(error)
            continue
        assert dumps(actual) == dumps(expected), f"table {table}: {data} {options}"


COLUMNS = """
    SELECT (random() * 8 - 4)::DOUBLE AS x, (random() * 100)::DECIMAL(8, 2) AS amount,
        CASE WHEN random() < 0.1 THEN NULL WHEN random() < 0.1 THEN 'NaN' WHEN random() < 0.02 THEN 'inf'
             ELSE round(random() * 50) / 8 END::DOUBLE AS gaps,
        (i * 7919 % 1009)::INTEGER AS whole, 9007199254740993 + i % 13 AS wide,
        DATE '2023-12-30' + (i % 70)::INTEGER AS day,
        TIMESTAMP '1969-12-31 23:59:58.5' + to_seconds(i * 977 % 5000) AS moment,
        i % 3 = 0 AS flag, ['red', 'green', 'O''Hara', '"b"', 'α'][1 + i % 5] AS "an ""odd"" name",
        ['7', '10', 'NA', '3.5'][1 + i % 4] AS digits, (['low', 'mid', 'high'][1 + i % 3])::grade AS grade,
        (i % 4)::TINYINT AS code, (i % 3)::DOUBLE AS w,
        ['yes', 'no', 'perhaps'][1 + (i * i % 7 + i % 4) % 3] AS label, round(random() * 1000) / 10 + i % 5 AS cost
    FROM range({rows}) t(i)
"""


@pytest.fixture
def relation(database):
    database.execute("SELECT setseed(0.25); CREATE TYPE grade AS ENUM ('low', 'mid', 'high')")
    database.execute("CREATE TABLE t AS " + COLUMNS.format(rows=ROWS))
    return database.table("t")


OPTIONS = [
    {"max_depth": 4},
    {"max_leaf_nodes": 12, "criterion": "gini", "sample_weight": "w", "class_weight": "balanced"},
    {"max_depth": 3, "min_samples_leaf": 40, "missing": "branch", "kinds": {"code": "nominal", "digits": "nominal"}},
    {
        "max_depth": 3,
        "categorical": "any",
        "na_values": ["7", "3"],
        "drop_missing_target": True,
        "cost": {"yes": {"no": 5}},
    },
    {"max_depth": 2, "criterion": "gain_ratio", "ignore": ["x"], "priors": [0.5, 0.25, 0.25], "ties": "random"},
]


@pytest.mark.parametrize("options", OPTIONS if LONG else OPTIONS[1:4], ids="-".join)
@pytest.mark.parametrize("target", ["label", "cost"])
def test_all_kinds_of_columns(options, target, relation, monkeypatch):
    for name, value in (("FIRST_BINS", 16), ("_FINER_BINS", 8), ("_FEW_ROWS", 60), ("_FEW_INTEGERS", 20)):
        monkeypatch.setattr(bin_search, name, value)
    if target == "cost":
        dropped = ("criterion", "class_weight", "priors", "cost")
        options = {name: value for name, value in options.items() if name not in dropped} | {"monotone": {"wide": 1}}
    ignore = ["cost" if target == "label" else "label", *options.get("ignore", ())]
    options = {**options, "ignore": ignore}
    assert dumps(grow_by_queries(relation, target, **options)) == dumps(grow_in_memory(relation, target, **options))


def test_only_groups_are_fetched(relation, monkeypatch):
    """Every query is an aggregate, and none returns as many groups as the table has rows."""
    texts, fetched = [], []

    def refuse(*_, **__):
        raise AssertionError("rows are fetched")

    fetch = Relation._fetch

    def count(self, frame):
        actual = fetch(self, frame)
        fetched.append(len(actual))
        return actual

    monkeypatch.setattr(Relation, "_fetch", count)
    for name in ("df", "pl", "fetchall", "fetchnumpy"):
        monkeypatch.setattr(type(relation), name, refuse)
    few = relation.project("flag, code, day, digits, whole // 20 AS tens, label")
    assert tw.grow(few, "label", max_depth=3, show_queries=texts.append).n_leaves > 2
    assert len(texts) == len(fetched)
    assert all(n == 1 or "GROUP BY" in text for n, text in zip(fetched, texts, strict=True))
    assert max(fetched) < ROWS


def test_queries_can_be_run_again(relation, database):
    """What is printed is SQL."""
    texts = []
    tw.grow(relation, "cost", max_depth=2, ignore=["label"], show_queries=texts.append)
    for text in texts:
        assert database.execute(text).fetchall()


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("x, NULL::INTERVAL AS t, label", {}, 'column "t" holds'),
        ("x, label", {"sample_weight": "label"}, "not a column of numbers"),
        ("x, x - 4 AS w, label", {"sample_weight": "w"}, "is negative in"),
        (
            "x, amount + x + random() + 9 AS w, label FROM t, range(4)",
            {"sample_weight": "w"},
            "more than 1,000 different values",
        ),
        ("x, nullif(label, 'no') AS label", {}, 'target "label" is missing in'),
        ("x, 'a' AS label", {"target": "z"}, 'no column "z"'),
        ("x, gaps AS label", {"drop_missing_target": True}, "is infinite"),
        ("x, label", {"na_values": ["no"]}, 'target "label" is missing in'),
        ("x, x::VARCHAR AS label", {}, "numbers written as text"),
        ("x, x::VARCHAR AS label", {"task": "regression"}, "numbers written as text"),
        ('x AS "*", label', {}, 'column "\\*" cannot be named'),
        ("x, label FROM t LIMIT 0", {}, "has no rows with a target"),
        ("random() AS x, label FROM t", {}, "the table has changed since it was first read"),
        (
            "x, CASE WHEN random() < 0.5 THEN 'a' ELSE 'b' END AS label FROM t",
            {},
            "has changed since it was first read",
        ),
        ("x, label, hash(x)::VARCHAR || random() AS name FROM t, range(40)", {}, "more than 20,000 different values"),
    ],
)
def test_refusals(columns, options, message, relation, database):
    options = dict(options)
    source = "" if " FROM " in columns else " FROM t"
    with pytest.raises(TreewiseError, match=message):
        grow_by_queries(database.sql(f"SELECT {columns}{source}"), options.pop("target", "label"), **options)


@pytest.mark.parametrize(
    "label", ["label", "label::answer", "CASE WHEN flag THEN ' no ' ELSE label END"], ids=["text", "enum", "spaces"]
)
def test_markers_in_the_target_are_missing(label, relation, database):
    """Labels that equal one of ``na_values`` are missing, as they are in memory."""
    database.execute("CREATE TYPE answer AS ENUM ('yes', 'no', 'perhaps')")
    few = database.sql(f"SELECT x, whole, {label} AS label FROM t")
    options = {"max_depth": 2, "na_values": ["no", "4"], "drop_missing_target": True, "class_weight": "balanced"}
    actual = grow_by_queries(few, "label", **options)
    assert actual.classes == ("perhaps", "yes")
    assert dumps(actual) == dumps(grow_in_memory(few, "label", **options))


NAMES = r"""a"b|"; DROP TABLE t; --|o'hara|bin|target|value|rows|low|high|single|weight|given|node|select|x y|α|a\b
|%s|{x}|$1|?|a.b|COLUMNS(*)| lead|Case|low_0|rowid|""|a;b|--|/*|count(*)|high_digit|rest|upper|rows_sum|__duckdb_s0"""
TEXTS = r"""a|b'c|d"e|'; DROP TABLE t; --|\|%|_|😀|NaN| lead|NULL||$1|A"""


@pytest.mark.parametrize("seed", range(60 if LONG else 4))
def test_hostile_names_and_values(seed, database):
    """Names of tables and columns, and texts, are quoted; extreme numbers are counted as they are."""
    rng, texts = np.random.default_rng(seed), TEXTS.split("|")
    table, *names = rng.choice(NAMES.split("|"), 6, replace=False).tolist()
    n = 150
    numbers = [0.0, -0.0, 1.5, float("nan"), 1e308, -1e308, 5e-324, float("inf"), 2.0**53 + 2, None]
    whole = [2**63 - 1, 1 - 2**63, 2**53 + 1, 2**53, 0, 5]
    cells = [
        rng.choice(texts, n).tolist(),
        rng.choice(numbers, n).tolist(),
        [whole[i] for i in rng.integers(0, len(whole), n)],
        rng.integers(0, 9, n).tolist(),
        rng.choice(texts[:6], n).tolist() if seed % 2 else rng.choice([1.5, 2.25, -3.0, 0.1], n).tolist(),
    ]
    quoted, *columns = ('"' + name.replace('"', '""') + '"' for name in (table, *names))
    types = ["VARCHAR", "DOUBLE", "BIGINT", "INTEGER", "VARCHAR" if seed % 2 else "DOUBLE"]
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(columns, types, strict=True))
    database.execute(f"CREATE TABLE {quoted} ({declared})")
    database.executemany(f"INSERT INTO {quoted} VALUES (?, ?, ?, ?, ?)", list(zip(*cells, strict=True)))
    relation, target = database.table(quoted), names[-1]
    options = {"max_depth": 3, "na_values": ["5", 'd"e', "\\"] if seed % 3 else [], "drop_missing_target": True}
    assert dumps(grow_by_queries(relation, target, **options)) == dumps(grow_in_memory(relation, target, **options))
    assert database.execute(f"SELECT count(*) FROM {quoted}").fetchone() == (n,)


@pytest.mark.parametrize("target", ["label", "x"])
def test_models_are_used_where_the_rows_are(relation, target):
    """Predictions are relations; an evaluation and pruning need counts by leaf. Nothing warns: no row is fetched."""
    relation = relation.project("* EXCLUDE (digits)")  # numbers as text need to be read
    fetched = tw.read(relation)
    full = tw.grow(relation, target, max_depth=5, drop_missing_target=True)
    tree = full.prune("reduced_error", validation=relation)
    assert tree == full.prune("reduced_error", validation=fetched)
    assert values_of(tree.predict(relation), "prediction") == tree.predict(fetched).tolist()
    assert values_of(tree.apply(relation), "leaf") == tree.apply(fetched).tolist()
    if target == "label":
        shares = tree.predict_proba(relation)
        for k, column in enumerate(tree.predict_proba(fetched).T.tolist()):
            assert values_of(shares, f"probability_{k}") == column
    else:
        assert values_of(tree.predict(relation, estimate="shrinkage"), "prediction") == pytest.approx(
            tree.predict(fetched, estimate="shrinkage")
        )
    assert str(tree.evaluate(relation, drop_missing_target=True)) == str(
        tree.evaluate(fetched, drop_missing_target=True)
    )


def values_of(relation, column):
    """Return a column of a lazy table."""
    return [value for (value,) in relation.project(f'"{column}"').fetchall()]


def test_models_warn_when_they_fetch(relation):
    """Where rows are needed they are fetched, with a warning; ``read`` fetches without one."""
    few = relation.project("x, whole, label")
    tree = tw.grow(few, "label", max_depth=2)
    with pytest.warns(UserWarning, match=r'fetched into memory.*export\("sql"\)') as warned:
        tree.refit(few)
    assert warned[0].filename == __file__
    forest = tw.forest(tw.read(few), "label", n_estimators=3, max_depth=4, random_state=1)
    with pytest.warns(UserWarning, match="fetched into memory"):
        forest.evaluate(few)
    assert values_of(forest.predict(few), "prediction") == forest.predict(tw.read(few)).tolist()
    with pytest.raises(DataError, match=r'no column "(x|whole)", which the model tests'):
        tree.predict(relation.project("label"))
    with pytest.warns(UserWarning, match="fetched into memory"):
        tw.grow(relation, "label", columns=["digits"], max_depth=1).predict(relation)
    with_markers = tw.grow(few, "label", max_depth=2, na_values=["7"])  # which the export does not know
    with pytest.warns(UserWarning, match="fetched into memory"):
        assert with_markers.predict(few).tolist() == with_markers.predict(tw.read(few)).tolist()


def test_addresses(tmp_path):
    """A wrong address is refused in one sentence, and makes no file."""
    with duckdb.connect(tmp_path / "f.db") as file:
        file.execute("CREATE TABLE birds AS SELECT i AS x, i > 5 AS y FROM range(10) r(i)")
    assert tw.grow(f"duckdb:///{tmp_path}/f.db#birds", "y").n_leaves == 2
    for address, message in (
        (f"duckdb:///{tmp_path}/f.db#bird", "bird does not exist. Check"),
        (f"duckdb:///{tmp_path}/f.db", "duckdb:///file.db#table"),
        (f"duckdb:///{tmp_path}/g.db#birds", 'no file ".*g.db". A path that is absolute has four slashes'),
    ):
        with pytest.raises(DataError, match=message):
            tw.grow(address, "y")
    assert [path.name for path in tmp_path.iterdir()] == ["f.db"]


def test_deep_trees_are_refused(database, monkeypatch):
    """A query has no room for a hundred levels."""
    monkeypatch.setattr(query_nodes, "DEEPEST", 6)
    database.execute("CREATE TABLE t AS SELECT i AS x, (i % 2 = 0) AS y FROM range(100) r(i)")
    assert grow_by_queries(database.table("t"), "y", max_depth=6).depth == 6
    with pytest.raises(DataError, match="6 levels deep"):
        grow_by_queries(database.table("t"), "y")


@pytest.mark.filterwarnings("ignore:The 'future.infer_string'")  # Ibis with pandas 3
def test_sqlite_by_ibis(tmp_path):
    """The same tree in SQLite, by Ibis."""
    rng = np.random.default_rng(3)
    n = 400
    data = {"x": rng.normal(size=n).round(2), "n": rng.integers(0, 40, n), "t": rng.choice(list("abc"), n).tolist()}
    data["y"] = np.where(data["x"] + data["n"] / 20 + rng.normal(size=n) > 1, "u", "v").tolist()
    data["z"] = (data["x"] * 3 + rng.normal(size=n)).round(3)
    data = {name: np.asarray(values).tolist() for name, values in data.items()}
    ibis = pytest.importorskip("ibis")
    with sqlite3.connect(tmp_path / "t.db") as file:
        file.execute("CREATE TABLE t (x REAL, n INTEGER, t TEXT, y TEXT, z REAL)")
        file.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", zip(*data.values(), strict=True))
    with pytest.raises(DataError, match=r"no table .s. in .*Tables: t\."):
        tw.grow(f"sqlite:///{tmp_path}/t.db#s", "y")
    with pytest.raises(DataError, match="no file"):
        tw.grow(f"sqlite:///{tmp_path}/new.db#t", "y")
    assert not (tmp_path / "new.db").exists()
    relation = ibis.sqlite.connect(tmp_path / "t.db").table("t")
    for target, other in (("y", "z"), ("z", "y")):
        options = {"max_depth": 4, "min_samples_leaf": 3, "ignore": [other]}
        actual = grow_by_queries(relation, target, **options)
        assert dumps(actual) == dumps(grow_in_memory(data, target, **options))
        assert actual.predict(relation).execute()["prediction"].tolist() == actual.predict(data).tolist()
        assert str(actual.evaluate(relation)) == str(actual.evaluate(data))


@pytest.mark.skipif(not LONG, reason="Spark takes half a minute; TREEWISE_LONG=1")
@pytest.mark.filterwarnings("ignore")  # of PySpark, about pandas and sockets
def test_spark():
    """The same trees in Spark."""
    sql = pytest.importorskip("pyspark.sql")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1"}
    session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    try:
        penguins = tw.datasets.penguins().to_polars().drop_nulls()
        frame = session.createDataFrame(penguins.to_arrow())
        for target, options in (("species", {"na_values": ["Dream"]}), ("body_mass_g", {})):
            options = {"max_leaf_nodes": 3, "columns": ["island", "bill_length_mm", "flipper_length_mm"], **options}
            actual = grow_by_queries(frame, target, **options)
            assert dumps(actual) == dumps(grow_in_memory(penguins, target, **options))
            if "na_values" not in options:
                predicted = [row.prediction for row in actual.predict(frame).collect()]
                assert sorted(predicted) == sorted(actual.predict(penguins).tolist())
                assert str(actual.evaluate(frame)) == str(actual.evaluate(penguins))
    finally:
        session.stop()
