"""Exports decide as ``predict`` does: random trees of every kind, in the engines that are installed."""

import os
import sqlite3

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import treewise as tw
from tests.support.export_models import MODELS
from tests.support.exports import RUNS, check, engine, tamed
from tests.support.handmade_trees import chain, trees
from tests.support.hostile_names import BATCHES, table
from treewise.errors import PackageError, ParameterError
from treewise.formats.export.export import FORMATS
from treewise.formats.export.sql.dialects import DIALECTS

__all__ = ["engine"]

LONG = bool(os.environ.get("TREEWISE_LONG"))


def quick(n):
    return settings(
        max_examples=n * 20 if LONG else n,
        deadline=None,
        derandomize=not LONG,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@quick(25)
@given(tree=trees())
def test_random_trees(engine, tree):
    try:
        check(tamed(tree), engine, 60)
    except ParameterError as error:  # a class label
        assert any(reason in str(error) for reason in ("NUL", "surrogate", "tests no column")), error


@pytest.mark.parametrize("model", MODELS)
def test_models(engine, model):
    try:
        check(MODELS[model](), engine, 100_000 if LONG else 400)
    except ParameterError as error:
        assert any(reason in str(error) for reason in ("tests no column", "is for a single tree")), error


@pytest.mark.parametrize("estimate", ["laplace", "shrinkage=25"])
def test_estimated_probabilities(engine, estimate):
    check(tw.grow("penguins", max_depth=3), engine, 100, estimate=estimate)


def test_rows_of_a_table(engine):
    report = check(tw.grow("penguins"), engine, 10, data="penguins")
    assert (report.runs[0].rows, report.runs[0].fuzzed) == (354, 10)


def test_a_chain_of_tests(engine):
    """Deep trees are flat code; .ci/nightly runs 100,000 levels."""
    options = {"outputs": "leaf"} if RUNS[engine][0] == "sql" else {}
    try:
        check(chain(100_000 if LONG else 3_000), engine, 40, **options)
    except ParameterError as error:
        assert "tests deep" in str(error), error


@pytest.mark.parametrize("format", FORMATS)
def test_a_deep_chain_is_written(format):
    options = {"outputs": "leaf"} if format == "sql" else {}
    try:
        exported = chain(100_000 if LONG or format == "c" else 2_000).export(format, **options)
    except PackageError as missing:
        pytest.skip(str(missing))
    except ParameterError as error:
        assert "tests deep" in str(error), error
        return
    assert sum(map(len, exported.values())) > 10_000 if isinstance(exported, dict) else len(exported) > 10_000
    if format == "c":
        assert "The trees are tables: as nested if" in exported


@pytest.mark.parametrize("names", BATCHES, ids=lambda names: names[0].encode("unicode_escape").decode()[:8])
def test_hostile_names_and_labels(engine, names):
    """Names mean the same in every format; what a target cannot hold is refused by name."""
    cells, target = table(names)
    tree = tw.grow(cells, target, max_depth=3, categorical="multiway")
    try:
        check(tree, engine, 60)
    except ParameterError as error:
        assert any("\0" in name or "\r" in name for name in names), error
        assert "NUL" in str(error) or "carriage return" in str(error)
        spelled = [name.replace("\0", "0").replace("\r", "") for name in names]
        cells, target = table(spelled)
        check(tw.grow(cells, target, max_depth=3, categorical="multiway"), engine, 60)


# -- SQL of every dialect ---------------------------------------------------------------------------------------------

SQLGLOT = {"postgresql": "postgres", "sqlserver": "tsql", "mariadb": "mysql"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("names", BATCHES, ids=lambda names: names[0].encode("unicode_escape").decode()[:8])
def test_every_dialect_is_parsed(dialect, names):
    """sqlglot reads back the same names and texts, in dialects whose engines are not here."""
    sqlglot = pytest.importorskip("sqlglot")
    names = [name.replace("\0", "0") for name in names]
    cells, target = table(names)
    tree = tw.grow(cells, target, max_depth=3, categorical="multiway")
    try:
        exported = tree.export("sql", dialect=dialect)
    except ParameterError as error:  # no such column can be there
        assert dialect in ("mysql", "mariadb", "spark"), error
        assert "U+FFFF" in str(error) or "${" in str(error), error
        return
    query = sqlglot.parse_one(exported, read=SQLGLOT.get(dialect, dialect))
    used = {tree.columns[i] for i in tree.used_columns} | ({"treewise_answer"} if DIALECTS[dialect].lookup else set())
    if dialect != "bigquery" or not any("." in name for name in used):  # there a dot separates two names
        assert {column.name for column in query.find_all(sqlglot.exp.Column)} == used
    assert [each.alias for each in query.selects[1:]] == [
        "prediction", *(f"probability_{k}" for k in range(len(tree.classes))), "leaf"
    ]  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("model", MODELS)
def test_every_dialect_of_every_model_is_parsed(dialect, model):
    sqlglot = pytest.importorskip("sqlglot")
    text = MODELS[model]().export("sql", dialect=dialect)
    assert len(sqlglot.parse(text, read=SQLGLOT.get(dialect, dialect))) == 1


@pytest.mark.parametrize("dialect", ["sqlserver", "snowflake"])
@pytest.mark.parametrize("names", BATCHES, ids=lambda names: names[0].encode("unicode_escape").decode()[:8])
def test_dialects_without_an_engine_mean_the_same(dialect, names):
    """As sqlglot understands them; .ci/nightly runs more rows and models."""
    pytest.importorskip("sqlglot")
    cells, target = table([name.replace("\0", "0") for name in names])
    check(tw.grow(cells, target, max_depth=3, categorical="multiway"), f"sqlglot {dialect}", 60)


def test_more_trees_than_one_query_adds_up():
    model = tw.forest("penguins", n_estimators=310, max_depth=1)
    query = model.export("sql", dialect="sqlite", outputs="prediction")
    assert '"treewise_sum_0_of_300"' in query
    assert tw.verify_export(model, query, rows=50).ok


# -- what is refused, and what is found ---------------------------------------------------------------------------


def test_wrong_exports_are_found(engine):
    """A cut that is off by one unit in the last place is a mismatch, with its row."""
    tree = tw.parse("x <= 206.5 -> a\nx > 206.5 -> b")
    format, options = RUNS[engine]
    written = tree.export(format, **options)
    if not isinstance(written, str):
        pytest.skip(f"{format} is not text")
    for exact, off in (("206.5", "206.50000000000003"), ("0x1.9d00000000000p+7", "0x1.9d00000000001p+7")):
        written = written.replace(exact, off)
    actual = tw.verify_export(tree, written)
    assert not actual.ok
    assert actual.runs[0].mismatches[0].row == {"x": 206.50000000000003}
    assert "prediction is 'a' instead of 'b' for {x=206.50000000000003}" in str(actual)


def test_engines_that_are_not_there_are_not_passed(monkeypatch):
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    monkeypatch.setenv("MYSQL_TCP_PORT", "1")
    for dialect in ("mysql", "mariadb"):
        with pytest.raises(ImportError, match=rf"not run.* {dialect} \((no server|pip install pymysql)"):
            tw.verify_export(tree, tree.export("sql", dialect=dialect))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ImportError, match=r"not run.*node \(no node: install Node.js\)"):
        tw.verify_export(tree, tree.export("javascript"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dialect": "postgres"}, 'dialect="postgres": must be one of .* Did you mean "postgresql"'),
        ({"outputs": "class"}, "must be some of prediction, probabilities, leaf"),
        ({"tabel": "x"}, 'format "sql" has no option tabel. Did you mean "table"'),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(ParameterError, match=words):
        tw.parse("x <= 1 -> a\nx > 1 -> b").export("sql", **options)


def test_names_that_sql_cannot_tell_apart():
    tree = tw.grow({"x": [0, 0, 1, 1], "X": [0, 1, 0, 1], "y": list("aaab")}, "y")
    with pytest.raises(ParameterError, match='columns "x" and "X" are the same name in duckdb'):
        tree.export("sql", dialect="duckdb")
    assert tree.export("sql", dialect="postgresql")
    hidden = tw.parse("leaf <= 1 -> a\nleaf > 1 -> b")
    with pytest.raises(ParameterError, match="has the name of an output column"):
        hidden.export("sql")
    assert tw.verify_export(hidden, hidden.export("sql", dialect="sqlite", prefix="tw_")).ok


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_tables_with_columns_of_such_names(dialect):
    """Other columns of the table are not mistaken for those of the query."""
    connect = {"sqlite": sqlite3.connect, "duckdb": pytest.importorskip("duckdb").connect}[dialect]
    cells = {"x": [1.0, 2, 3, 4, 1, 2, 3, 4], "y": list("aabbabab")}
    others = ["answer", "answer_0", "sum", "sum_0", "leaf_1", "probability_0", "prediction", "treewise"]
    for model in (tw.grow(cells, "y", max_depth=1), tw.forest(cells, "y", 3, random_state=1)):
        connection = connect(":memory:")
        connection.execute(f"CREATE TABLE data (x DOUBLE PRECISION, {', '.join(f'{name} INTEGER' for name in others)})")
        connection.execute(f"INSERT INTO data VALUES (1{', 2' * len(others)}), (4{', 1' * len(others)})")
        actual = connection.execute(model.export("sql", dialect=dialect, outputs="probabilities"))
        n = len(model.classes)
        assert [list(row[-n:]) for row in actual.fetchall()] == model.predict_proba({"x": [1.0, 4]}).tolist()
        connection.close()


def test_datetimes_that_sql_cannot_write():
    tree = tw.grow({"t": np.arange(4_000_001, 4_000_005).astype("M8[D]"), "y": list("aabb")}, "y")
    with pytest.raises(ParameterError, match='column "t" is compared with a datetime outside the years 1 to 9999'):
        tree.export("sql")
    assert tw.verify_export(tree, tree.export("json")).ok


def test_a_text_without_a_stamp():
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    with pytest.raises(ParameterError, match="has no line"):
        tw.verify_export(tree, tree.export("if-else"))
