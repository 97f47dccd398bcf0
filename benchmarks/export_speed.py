"""Speed of exports beside other tools, and beside the model's own ``predict``.

    python -m benchmarks.export_speed [--rows N] [--part numpy|c|sql]

    numpy   the NumPy module and predict, on one million rows; the aim is a third of predict's speed
    c       a forest of scikit-learn in compiled C, by treewise and by tl2cgen (if it is installed), one thread
    sql     a tree of scikit-learn in DuckDB on ten million rows, by treewise and by orbital (if it is installed)

Prints CPU seconds, the best of several runs; the answers of treewise's exports are compared with the model's.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import treewise as tw

N_COLUMNS = 10
NAMES = [f"x{i}" for i in range(N_COLUMNS)]


def make_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of float32 numbers and two classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, N_COLUMNS)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=n) * 0.5 > 0).astype(int)


def cpu_seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return float(best)


def compile_seconds(run: Callable[[], Any]) -> float:
    """Return the CPU seconds of the processes that a call starts."""
    start = os.times()
    run()
    end = os.times()
    return end.children_user + end.children_system - start.children_user - start.children_system


def report(name: str, seconds: float, rows: int) -> None:
    print(f"{name:<34} {seconds:8.3f} s   {seconds / rows * 1e9:8.1f} ns per row")


def numpy_part(n: int) -> None:
    x, y = make_rows(n)
    columns = {name: x[:, i].astype(np.float64) for i, name in enumerate(NAMES)}
    tree = tw.grow({**{name: v[:200_000] for name, v in columns.items()}, "y": y[:200_000]}, "y", max_depth=10)
    module: dict[str, Any] = {}
    exec(tree.export("numpy"), module)
    assert (module["apply"](columns) == tree.apply(columns)).all()
    report("predict", cpu_seconds(lambda: tree.predict(columns)), n)
    report("NumPy export", cpu_seconds(lambda: module["predict"](columns)), n)


def c_part(n: int) -> None:
    from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped]

    x, y = make_rows(n)
    model = RandomForestClassifier(50, max_depth=10, random_state=0).fit(x[:20_000], y[:20_000])
    forest = tw.from_sklearn(model, feature_names=NAMES)
    doubles = x.astype(np.float64)
    expected = forest.predict_proba({name: doubles[:, i] for i, name in enumerate(NAMES)})
    for form in ("code", "table"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "model.h").write_text(forest.export("c", form=form), encoding="utf-8")
            cells = ", ".join(f"x[i * {N_COLUMNS} + {j}]" for j in range(N_COLUMNS))
            (folder / "loop.c").write_text(
                '#include "model.h"\nvoid run(int64_t n, const double *x, double *p) {\n'
                f"  for (int64_t i = 0; i < n; ++i) {{ model_row row = {{{cells}}};"
                " model_predict_proba(&row, p + 2 * i); }\n}\n",
                encoding="utf-8",
            )
            command = ["cc", "-std=c99", "-O3", "-shared", "-fPIC", "-o", folder / "loop.so", folder / "loop.c"]
            compiled = compile_seconds(lambda command=command: subprocess.run(command, check=True))  # type: ignore[misc]
            run, found = ctypes.CDLL(str(folder / "loop.so")).run, np.empty((n, 2))
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in (doubles, found)]
            seconds = cpu_seconds(lambda run=run, pointers=pointers: run(ctypes.c_int64(n), *pointers))  # type: ignore[misc]
            assert (found == expected).all()
            report(f"treewise C, {form} ({compiled:.0f} s to compile)", seconds, n)
    if importlib.util.find_spec("tl2cgen") is None or importlib.util.find_spec("treelite") is None:
        print("tl2cgen: not installed, not run")
        return
    import tl2cgen  # type: ignore[import-not-found]
    import treelite  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as name:
        imported, path = treelite.sklearn.import_model(model), f"{name}/model.so"
        compiled = compile_seconds(lambda: tl2cgen.export_lib(imported, toolchain="gcc", libpath=path))
        predictor, rows = tl2cgen.Predictor(f"{name}/model.so", nthread=1), tl2cgen.DMatrix(x, dtype="float32")
        report(f"tl2cgen ({compiled:.0f} s to compile)", cpu_seconds(lambda: predictor.predict(rows)), n)


def sql_part(n: int) -> None:
    import duckdb
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]

    x, y = make_rows(100_000)
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(x, y)
    connection = duckdb.connect()
    numbers = ", ".join(f"(random() * 6 - 3)::FLOAT::DOUBLE AS {name}" for name in NAMES)
    connection.execute(f"CREATE TABLE data AS SELECT {numbers} FROM range({n})")
    tree = tw.from_sklearn(model, feature_names=NAMES)
    ours = tree.export("sql", dialect="duckdb", outputs=("prediction", "probabilities"))
    shares = "sum(probability_0), sum(probability_1)"
    queries = {
        "treewise SQL, class": f"SELECT sum(prediction) FROM ({ours})",
        "treewise SQL, class and shares": f"SELECT sum(prediction), {shares} FROM ({ours})",
    }
    if importlib.util.find_spec("orbital") is None:
        print("orbital: not installed, not run")
    else:
        import orbital  # type: ignore[import-not-found]
        import orbital.types  # type: ignore[import-not-found]

        features = {name: orbital.types.DoubleColumnType() for name in NAMES}
        parsed = orbital.parse_pipeline(make_pipeline(model), features=features)
        text = orbital.export_sql("data", parsed, dialect="duckdb")
        shares = 'sum("output_probability.0"), sum("output_probability.1")'
        queries["orbital SQL, class"] = f"SELECT sum(output_label::INT) FROM ({text})"
        queries["orbital SQL, class and shares"] = f"SELECT sum(output_label::INT), {shares} FROM ({text})"
    for name, query in queries.items():
        report(name, cpu_seconds(lambda query=query: connection.execute(query).fetchall(), 3), n)  # type: ignore[misc]


PARTS: dict[str, tuple[Callable[[int], None], int]] = {
    "numpy": (numpy_part, 1_000_000),
    "c": (c_part, 50_000),
    "sql": (sql_part, 10_000_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="rows of each part")
    parser.add_argument("--part", choices=PARTS)
    options = parser.parse_args()
    for name, (run, rows) in PARTS.items():
        if options.part in (None, name):
            print(f"\n{name}: {options.rows or rows:,} rows")
            run(options.rows or rows)


if __name__ == "__main__":
    main()
