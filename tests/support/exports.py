"""What the tests of exports share: the engines, and trees that every engine can take."""

import os
from dataclasses import replace

import numpy as np
import pytest

import treewise as tw
from tests.support import postgres
from treewise.data.convert import TICKS_PER_DAY
from treewise.formats.verify.engines.registry import ENGINES, NotInstalled

# engine → format and options of the exports that it runs
RUNS = {
    "onnxruntime": ("onnx", {"missing": "(missing)"}),
    "onnx": ("onnx", {"missing": "(missing)"}),
    "spiffworkflow": ("dmn", {}),
    "libreoffice": ("xlsx", {}),
    "pypmml": ("pmml", {}),
    "jpmml": ("pmml", {}),
    "python": ("python", {}),
    "numpy": ("numpy", {}),
    "json": ("json", {}),
    "c": ("c", {}),
    "c table": ("c", {"form": "table"}),
    "node": ("javascript", {}),
    "rscript": ("r", {}),
    "sqlite": ("sql", {"dialect": "sqlite"}),
    "dbt": ("dbt", {"dialect": "duckdb"}),
    "duckdb": ("sql", {"dialect": "duckdb"}),
    "postgresql": ("sql", {"dialect": "postgresql"}),
    "mysql": ("sql", {"dialect": "mysql"}),
    "mariadb": ("sql", {"dialect": "mariadb"}),
    "spark": ("sql", {"dialect": "spark"}),
    "zetasql": ("sql", {"dialect": "bigquery"}),
    "sqlglot sqlserver": ("sql", {"dialect": "sqlserver"}),
    "sqlglot snowflake": ("sql", {"dialect": "snowflake"}),
}


# Slow to start or to run: tests of their own.
SLOW = (
    "libreoffice",
    "pypmml",
    "jpmml",
    "spiffworkflow",
    "mysql",
    "mariadb",
    "spark",
    "zetasql",
    "sqlglot sqlserver",
    "sqlglot snowflake",
)


@pytest.fixture(scope="module", params=[name for name in RUNS if name not in SLOW])
def engine(request):
    """Each engine in turn; one that is not installed is skipped with the reason."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "postgresql" and "PGHOST" not in os.environ:
            with postgres.server() as variables:
                for name, value in (variables or {}).items():
                    patch.setenv(name, value)
                yield _found(request.param)
        else:
            yield _found(request.param)


def _found(name):
    try:
        ENGINES[name.split()[0]].find()
    except NotInstalled as reason:
        pytest.skip(f"{name}: {reason}")
    return name


def check(model, engine, rows=200, seed=0, data=None, **options):
    """Require that an engine's export of a model agrees with it on every row."""
    format, own = RUNS[engine]
    estimate = options.get("estimate")
    exported = model.export(format, **own, **options)
    actual = tw.verify_export(
        model, exported, data, engine=engine.split()[0], rows=rows, random_state=seed, estimate=estimate
    )
    assert actual.ok, str(actual)
    assert [run.rows for run in actual.runs] >= [1]
    return actual


def tamed(tree):
    """Return the tree with plain column names, and with its datetime cuts between 1970 and 2080."""
    arrays = tree.arrays
    encodings = tuple(replace(encoding, name=f"c{i}") for i, encoding in enumerate(tree.encodings))
    cuts = arrays.cut_int.copy()
    for i, encoding in enumerate(tree.encodings):
        if encoding.kind == "datetime":
            at = (arrays.column == i) & (cuts != 2**63 - 1)
            cuts[at] = np.mod(cuts[at], 40_000 * TICKS_PER_DAY[encoding.unit])
    return tree.with_(encodings=encodings, arrays=replace(arrays, cut_int=cuts))
