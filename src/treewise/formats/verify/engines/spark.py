"""Engine "spark": Spark SQL in a local session (``pip install pyspark``, and Java)."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from typing import Any

from treewise.data.encoding import Encoding
from treewise.errors import ParameterError
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.engines.sql_rows import ROW_NUMBER, read_outputs, source_table, to_datetime, to_tuples
from treewise.formats.verify.fuzz import Cell, EngineLimits, Rows

LIMITS = EngineLimits(datetime_step=1000)
_CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.warehouse.dir": "/nonexistent",  # no table is written
}
_VIEW = "treewise_rows"


def find() -> str:
    """Return the version of the library."""
    try:
        import pyspark
    except ImportError:
        raise NotInstalled("pip install pyspark") from None
    if shutil.which("java") is None:
        raise NotInstalled("apt install default-jre-headless")
    return f"Spark {pyspark.__version__}"


def run(export: Export, rows: Rows) -> Outputs:
    """Register the rows as a view and run the query on it; the session is kept for the next export."""
    from pyspark.sql import SparkSession

    if "." in export.stamp["table"]:
        raise ParameterError("Spark's local session has no schemas.", hint="Verify an export whose table has none.")
    builder = SparkSession.builder.master("local[1]").appName("treewise verify")
    for key, value in _CONFIG.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    tuples = to_tuples(export, rows, _convert)
    with warnings.catch_warnings():  # about the version of pandas, which takes no part
        warnings.simplefilter("ignore", FutureWarning)
        data = session.createDataFrame(tuples, _schema(export.program.inputs), verifySchema=False)
    data.createOrReplaceTempView(_VIEW)
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {source_table(export)} AS SELECT * FROM {_VIEW}")
    frame = session.sql(export.text)
    return read_outputs(export, frame.columns, frame.collect())


def _schema(inputs: Sequence[Encoding]) -> Any:
    from pyspark.sql import types

    kinds = {
        "number": types.DoubleType,
        "integer": types.LongType,
        "boolean": types.BooleanType,
        "datetime": types.TimestampNTZType,
    }
    fields = [types.StructField(e.name, kinds.get(e.kind, types.StringType)()) for e in inputs]
    return types.StructType([types.StructField(ROW_NUMBER, types.LongType()), *fields])


def _convert(cell: Cell, encoding: Encoding) -> Any:
    if cell is None:
        return None
    return to_datetime(cell) if encoding.kind == "datetime" else cell
