"""SQL in databases that take long to start, and are more to install than the other engines: in .ci/nightly."""

import os

import pytest

import treewise as tw
from tests.support import mysql
from tests.support.export_models import MODELS
from tests.support.exports import _found, check
from tests.support.handmade_trees import chain
from tests.support.hostile_names import BATCHES, table

pytestmark = pytest.mark.skipif(not os.environ.get("TREEWISE_LONG"), reason="TREEWISE_LONG=1 runs servers")


@pytest.fixture(
    scope="module", params=["mysql", "mariadb", "spark", "zetasql", "sqlglot sqlserver", "sqlglot snowflake"]
)
def engine(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param in ("mysql", "mariadb") and "MYSQL_HOST" not in os.environ:
            with mysql.server(request.param) as variables:
                for name, value in (variables or {}).items():
                    patch.setenv(name, value)
                yield _found(request.param)
        else:
            yield _found(request.param)


@pytest.mark.parametrize("model", MODELS)
def test_models(engine, model):
    check(MODELS[model](), engine, 100_000)


def test_a_chain_of_tests(engine):
    """Deep trees are one CASE with many conditions."""
    check(chain(100_000), engine, 40, outputs="leaf")


@pytest.mark.parametrize("names", BATCHES, ids=lambda names: ascii(names[0])[:8])
def test_hostile_names_and_labels(engine, names):
    names = [name.replace("\0", "0") for name in names]
    cells, target = table(names)
    try:
        check(tw.grow(cells, target, max_depth=3, categorical="multiway"), engine, 100)
    except tw.ParameterError as error:
        assert "does not allow" in str(error) or "puts in a variable" in str(error)


def test_labels_that_look_like_variables(engine):
    tree = tw.grow({"c": ["${env:HOME}", "$x", "${x}", "b"] * 5, "y": ["${env:HOME}", "b", "${x}", "b"] * 5}, "y")
    check(tree, engine, 100)
