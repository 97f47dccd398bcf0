"""Exporters of scikit-learn models on the same rows: how often the exported model answers otherwise than the original.

    python -m benchmarks.exports [--rows N] [--model NAME] [--tool NAME]

Fits trees and forests of scikit-learn on data with missing values and exports them with every tool that is installed
(skl2onnx, treelite, tl2cgen, m2cgen, sklearn2pmml with jpmml_evaluator, orbital), and with treewise, after
``from_sklearn``. Each export then answers rows whose values lie at the thresholds and beside them:

    present    numbers of float32, none missing
    missing    the same, one cell in four missing
    float64    numbers of float64 one step beside a threshold, none missing

scikit-learn rounds its inputs to float32; a tool that takes float32 gets the rounded numbers. A row counts as different
if its class differs or a probability (a value) is off by more than 1e-6, relative to the largest; the second number
counts rows that differ in any bit.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import ensemble, tree  # type: ignore[import-untyped]

import treewise as tw
from treewise.formats.export.export import FORMATS
from treewise.formats.export.program import compile_model
from treewise.formats.verify.engines.registry import ENGINES, Export, NotInstalled
from treewise.formats.verify.fuzz import Rows
from treewise.formats.verify.verify import find_stamp

Predict = Callable[[np.ndarray], np.ndarray]  # rows × columns → rows × classes, or × 1
TOLERANCE = 1e-6
SECONDS = 120  # for a conversion, and for the answers to one kind of rows
N_COLUMNS = 5
OURS = {  # name → format, options, engine
    "treewise ONNX": ("onnx", {}, "onnxruntime"),
    "treewise Python": ("python", {}, "python"),
    "treewise SQL (SQLite)": ("sql", {"dialect": "sqlite"}, "sqlite"),
    "treewise SQL (DuckDB)": ("sql", {"dialect": "duckdb"}, "duckdb"),
    "treewise C": ("c", {}, "c"),
    "treewise JavaScript": ("javascript", {}, "node"),
}
MODELS = {
    "tree": tree.DecisionTreeClassifier(max_leaf_nodes=60, random_state=0),
    "extra tree": tree.ExtraTreeClassifier(max_leaf_nodes=60, random_state=0),
    "forest": ensemble.RandomForestClassifier(20, max_leaf_nodes=40, random_state=0),
    "regression tree": tree.DecisionTreeRegressor(max_leaf_nodes=60, random_state=0),
    "regression forest": ensemble.RandomForestRegressor(20, max_leaf_nodes=40, random_state=0),
}


def training_table(seed: int = 0, n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Return columns with missing values that matter, and a target of numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS)).round(2)
    y = X[:, 0] * X[:, 1] + np.where(X[:, 2] > 0.3, 1.0, 0.0) + rng.normal(size=n) / 4
    gone = rng.random(X.shape) < 0.2
    y += 1.5 * gone[:, 3] - 1.0 * gone[:, 0]
    X[gone] = np.nan
    return X.astype(np.float32).astype(np.float64), y


def fitted(name: str) -> Any:
    """Return a fitted model of scikit-learn."""
    X, y = training_table()
    return MODELS[name].fit(X, y if "regression" in name else np.digitize(y, [-0.5, 0.5, 1.5]))


def rows_beside_cuts(model: Any, n: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Return the three kinds of rows."""
    rng = np.random.default_rng(seed)
    members = getattr(model, "estimators_", [model])
    cuts = [
        np.concatenate([m.tree_.threshold[(m.tree_.feature == j) & np.isfinite(m.tree_.threshold)] for m in members])
        for j in range(N_COLUMNS)
    ]
    cuts = [each if len(each) else np.zeros(1) for each in cuts]
    chosen = np.column_stack([rng.choice(each, n) for each in cuts])
    step = rng.integers(-1, 2, chosen.shape)
    single = chosen.astype(np.float32)
    beside = np.where(step == 0, single, np.nextafter(single, np.where(step > 0, np.inf, -np.inf).astype(np.float32)))
    missing = np.where(rng.random(chosen.shape) < 0.25, np.nan, beside.astype(np.float64))
    double = np.where(step == 0, chosen, np.nextafter(chosen, np.where(step > 0, np.inf, -np.inf)))
    return {"present": beside.astype(np.float64), "missing": missing, "float64": double}


def expected(model: Any, rows: np.ndarray) -> np.ndarray:
    """Return what scikit-learn answers: probabilities, or values."""
    actual = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)[:, None]
    return np.asarray(actual, np.float64)


# -- treewise ---------------------------------------------------------------------------------------------------------


def our_exports(model: Any) -> Iterator[tuple[str, Predict]]:
    """Yield every format of treewise that runs here."""
    imported = tw.from_sklearn(model)
    program = compile_model(imported)
    for name, (form, options, engine) in OURS.items():
        if form not in FORMATS or engine not in ENGINES:
            continue
        try:
            ENGINES[engine].find()
        except NotInstalled as reason:
            print(f"{name}: not run, {reason}", file=sys.stderr)
            continue
        content = imported.export(form, **options)
        export = Export(content, find_stamp(content), program)

        def predict(X: np.ndarray, export: Export = export, engine: str = engine) -> np.ndarray:
            columns = [X[:, j] for j in imported.used_columns]
            result = ENGINES[engine].run(export, Rows([column.tolist() for column in columns], columns))
            if result.probabilities is not None:
                return np.array(result.probabilities, np.float64)
            return np.array(result.prediction, np.float64)[:, None]

        yield name, predict


# -- the others -------------------------------------------------------------------------------------------------------


def with_skl2onnx(model: Any, _folder: Path) -> Predict:
    """Convert with the default options: float32 inputs, the form its documentation recommends."""
    import onnxruntime
    from skl2onnx import to_onnx

    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    converted = to_onnx(model, np.zeros((1, N_COLUMNS), np.float32), options=options)
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])

    def predict(X: np.ndarray) -> np.ndarray:
        return np.asarray(session.run(None, {"X": X.astype(np.float32)})[-1]).reshape(len(X), -1)

    return predict


def with_treelite(model: Any, _folder: Path) -> Predict:
    """Import into Treelite and predict with its reference library."""
    import treelite

    converted = treelite.sklearn.import_model(model)
    return lambda X: np.asarray(treelite.gtil.predict(converted, X.astype(np.float64))).reshape(len(X), -1)


def with_tl2cgen(model: Any, folder: Path) -> Predict:
    """Compile to C."""
    import tl2cgen
    import treelite

    library = folder / "model.so"
    tl2cgen.export_lib(treelite.sklearn.import_model(model), toolchain="gcc", libpath=library, verbose=False)
    predictor = tl2cgen.Predictor(library)

    def predict(X: np.ndarray) -> np.ndarray:
        return np.asarray(predictor.predict(tl2cgen.DMatrix(X, dtype="float64"))).reshape(len(X), -1)

    return predict


def with_m2cgen(model: Any, _folder: Path) -> Predict:
    """Generate Python."""
    import m2cgen

    module: dict[str, Any] = {"inf": float("inf")}  # a threshold of infinity is written as the name inf
    exec(m2cgen.export_to_python(model), module)
    return lambda X: np.array([module["score"](row) for row in X.tolist()], np.float64).reshape(len(X), -1)


def with_sklearn2pmml(model: Any, folder: Path) -> Predict:
    """Convert to PMML and evaluate with JPMML, by the same authors; no answer is NaN."""
    from jpmml_evaluator import make_evaluator
    from sklearn2pmml import make_pmml_pipeline, sklearn2pmml

    names = [f"x{j + 1}" for j in range(N_COLUMNS)]
    pipeline = make_pmml_pipeline(model, active_fields=names, target_fields=["y"])
    with contextlib.redirect_stdout(io.StringIO()):
        sklearn2pmml(pipeline, str(folder / "model.pmml"))
    evaluator = make_evaluator(str(folder / "model.pmml"))
    wanted = [f"probability({label})" for label in getattr(model, "classes_", [])] or ["y"]

    def predict(X: np.ndarray) -> np.ndarray:
        rows = [[None if np.isnan(cell) else cell for cell in row] for row in X.tolist()]
        actual = [evaluator.evaluate(dict(zip(names, row, strict=True))) for row in rows]
        answers = [[row.get(name) for name in wanted] for row in actual]
        return np.array([[np.nan if each is None else each for each in row] for row in answers])

    return predict


def with_orbital(model: Any, _folder: Path) -> Predict:
    """Convert to SQL and run it in DuckDB."""
    import duckdb
    import orbital
    import orbital.types
    import polars as pl
    from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]

    names = [f"x{j + 1}" for j in range(N_COLUMNS)]
    pipeline = Pipeline([("model", model)])
    parsed = orbital.parse_pipeline(pipeline, features={name: orbital.types.DoubleColumnType() for name in names})
    query = orbital.export_sql("data", parsed, dialect="duckdb")

    def predict(X: np.ndarray) -> np.ndarray:
        data = pl.DataFrame({n: X[:, j] for j, n in enumerate(names)}).fill_nan(None)  # noqa: F841 - read by DuckDB
        actual = duckdb.sql(query).pl()
        wanted = [name for name in actual.columns if "probability" in name] or actual.columns[-1:]
        return actual.select(wanted).to_numpy().astype(np.float64)

    return predict


TOOLS: dict[str, tuple[str, Callable[[Any, Path], Predict]]] = {
    "skl2onnx": ("skl2onnx", with_skl2onnx),
    "treelite": ("treelite", with_treelite),
    "tl2cgen": ("tl2cgen", with_tl2cgen),
    "m2cgen": ("m2cgen", with_m2cgen),
    "sklearn2pmml": ("sklearn2pmml", with_sklearn2pmml),
    "orbital": ("orbital", with_orbital),
}


def version_of(package: str) -> str:
    """Return the installed version of a package."""
    from importlib.metadata import version

    return version(package)


# -- comparing --------------------------------------------------------------------------------------------------------


def differences(found: np.ndarray, truth: np.ndarray) -> tuple[int, int]:
    """Return the number of rows that differ by more than the tolerance or in class, and in any bit."""
    if found.shape != truth.shape:
        raise ValueError(f"{found.shape} answers instead of {truth.shape}")
    exact = ~((found == truth) | (np.isnan(found) & np.isnan(truth))).all(axis=1)
    scale = np.abs(truth).max()
    near = (np.abs(found - truth) <= TOLERANCE * scale).all(axis=1)
    if truth.shape[1] > 1:
        near &= (found.argmax(axis=1) == truth.argmax(axis=1)) | ~exact
    return int((~near).sum()), int(exact.sum())


def measure(names: list[str], tools: list[str], n: int) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield model, tool, and for each kind of row the differences as text."""
    for name in names:
        model = fitted(name)
        rows = rows_beside_cuts(model, n)
        truth = {kind: expected(model, each) for kind, each in rows.items()}
        with tempfile.TemporaryDirectory() as folder:
            for tool, predict in exports_of(model, tools, Path(folder)):
                cells = {}
                for kind, each in rows.items():
                    try:
                        with time_limit(SECONDS):
                            cells[kind] = "{:,} ({:,})".format(*differences(predict(each), truth[kind]))
                    except Exception as error:
                        cells[kind] = f"error: {type(error).__name__}"
                        print(f"{name}, {tool}, {kind}: {error}", file=sys.stderr)
                yield name, tool, cells


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after some seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not finished after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def exports_of(model: Any, tools: list[str], folder: Path) -> Iterator[tuple[str, Predict]]:
    """Yield each installed tool's export of a model; one that fails is named with its error."""
    for tool in tools:
        package, convert = TOOLS[tool]
        if importlib.util.find_spec(package) is None:
            print(f"{tool}: not installed", file=sys.stderr)
            continue
        try:
            with warnings.catch_warnings(), time_limit(SECONDS):
                warnings.simplefilter("ignore")
                predict = convert(model, folder)
        except Exception as error:
            print(f"{tool}: cannot export a {type(model).__name__}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        yield f"{tool} {version_of(package)}", predict
    yield from our_exports(model)


def main(arguments: list[str] | None = None) -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--tool", action="append", choices=TOOLS)
    given = parser.parse_args(arguments)
    names, tools = given.model or list(MODELS), given.tool or list(TOOLS)
    print(f"Rows that differ, of {given.rows:,} of each kind; in brackets those that differ in any bit.\n")
    print("| model | exported by | present | missing | float64 |\n|---|---|---|---|---|")
    for name, tool, cells in measure(names, tools, given.rows):
        print(f"| {name} | {tool} | {cells['present']} | {cells['missing']} | {cells['float64']} |", flush=True)


if __name__ == "__main__":
    main()
