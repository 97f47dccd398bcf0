"""Convert the X and y of scikit-learn's ``fit`` and ``predict`` to tables.

Below ``estimators``. In scikit-learn, X is an array without names or a dataframe with them, and y is a separate array;
treewise has one table with named columns. Columns are matched by name if both sides have names, else by position.
Errors about shapes keep scikit-learn's wording, since people search for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse  # type: ignore[import-untyped]
from sklearn.exceptions import DataConversionWarning  # type: ignore[import-untyped]

from treewise._lib.text import format_exact, plural, safe
from treewise.data import encoding as encode
from treewise.data.column import LazyColumns
from treewise.data.table import Column, Table, parse_na_values, read
from treewise.errors import ColumnError, DataError, Param, ParameterError, did_you_mean, join_few
from treewise.train.column_roles import _target_name
from treewise.tree.arrays import Target

Array = npt.NDArray[Any]
_LARGEST_WHOLE = 2**53  # floats represent integers exactly up to here
_FOR_BOTH_TASKS = ("Tree", "Forest", "ExtraTrees", "Bagging")  # ways of growing with a classifier and a regressor


# -- X ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FeatureTable:
    """The columns of X in ``fit``: their names in order, whether X had names, and missing markers."""

    names: tuple[str, ...]
    named: bool
    na_values: tuple[str, ...] = ()


def read_features(X: Any, na_values: Any) -> tuple[Table, FeatureTable]:
    """Read the X of ``fit``."""
    X, has_columns = _check_features(X)
    table = read(X, name="X")
    return table, FeatureTable(tuple(table.columns), has_columns and _has_text_names(X), parse_na_values(na_values))


def _check_features(X: Any) -> tuple[Any, bool]:
    """Return X, as an array where it has no columns, and whether its columns have names; refuse other shapes."""
    if issparse(X):
        _check_shape(X)
        return X, False
    if isinstance(X, (list, tuple)) and X:
        if all(isinstance(row, Mapping) for row in X):
            return X, True
        if all(isinstance(row, (list, tuple, np.ndarray)) for row in X):
            return X, False
        X = np.asarray(X)
    elif not _is_table(X) and hasattr(X, "__array__"):
        X = X if isinstance(X, np.ndarray) else np.asarray(X)
    if not isinstance(X, np.ndarray) or X.dtype.names is not None:
        return X, True
    _check_shape(X)
    return X, False


def _check_shape(X: Any) -> None:
    """Refuse an array or a sparse matrix that is no table of real numbers."""
    _refuse_complex(X, "X")
    if X.ndim != 2:
        raise DataError(
            f"X is an array with {plural(X.ndim, 'dimension')}; a table has two, rows and columns. Reshape your data:"
            " X.reshape(-1, 1) is one column, X.reshape(1, -1) one row."
        )
    if 0 in X.shape:
        empty_axis = "feature" if X.shape[1] == 0 else "sample"
        raise DataError(f"X has 0 {empty_axis}(s) (shape={X.shape}) while a minimum of 1 is required.")


def _refuse_complex(array: Array, name: str) -> None:
    """Refuse complex numbers, which have no order."""
    if array.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} is an array of {array.dtype}, and trees compare by order.")


def _is_table(X: Any) -> bool:
    """Tell whether an object has named columns, by its type: accessing ``columns`` may compute a lazy frame."""
    return isinstance(X, (Mapping, Table)) or hasattr(type(X), "columns")


def _has_text_names(X: Any) -> bool:
    """Tell whether all names are strings; scikit-learn ignores the integer names of a pandas frame."""
    if isinstance(X, Mapping):
        return all(isinstance(name, str) for name in X)
    return not hasattr(type(X), "iloc") or all(isinstance(name, str) for name in X.columns)


def read_new_features(X: Any, features: FeatureTable, needed: Sequence[str], estimator: str) -> Table:
    """Read the X of ``predict``: by name where both have names, else by position."""
    X, has_columns = _check_features(X)
    if has_columns:
        table = read(X, name="X", na_values=features.na_values)
        missing = [name for name in needed if name not in table.columns]
        if not missing:
            return table
        if features.named:
            raise ColumnError(
                f'X has no column "{safe(missing[0])}", which {estimator} was fitted with.'
                f"{did_you_mean(missing[0], table.columns)} (Extra columns are fine; order does not matter.)"
            )
        _check_width(len(table.columns), features, estimator)
        if _has_text_names(X):
            warn(
                f"X has feature names, but {estimator} was fitted without feature names; columns are taken by position."
            )
        return _rename_columns(table, features.names)
    _check_width(X.shape[1] if issparse(X) else len(X[0]), features, estimator)
    if features.named:
        warn(
            f"X does not have valid feature names, but {estimator} was fitted with feature names; columns are taken by"
            " position."
        )
    return _rename_columns(read(X, name="X", na_values=features.na_values), features.names)


def _check_width(width: int, features: FeatureTable, estimator: str) -> None:
    """Refuse a different number of columns than in ``fit``."""
    if width != len(features.names):
        raise DataError(
            f"X has {width} features, but {estimator} is expecting {len(features.names)} features as input"
            f" ({join_few([safe(name) for name in features.names])})."
        )


def _rename_columns(table: Table, names: Sequence[str]) -> Table:
    """Return the table with its columns renamed."""
    columns = {new: partial(_rename, table.columns, old, new) for old, new in zip(table.columns, names, strict=True)}
    return replace(table, columns=LazyColumns(columns, table.n_rows))


def _rename(columns: Mapping[str, Column], old: str, new: str) -> Column:
    """Return a column under a new name."""
    return replace(columns[old], name=new)


def warn(message: str, category: type[Warning] = UserWarning, stacklevel: int = 5) -> None:
    """Warn, pointing at the line that called the estimator."""
    warnings.warn(message, category, stacklevel=stacklevel)


# -- y ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TargetClasses:
    """The sorted classes of y, as NumPy values and as labels of the tree; and y as a column."""

    values: Array
    labels: tuple[str | int | bool, ...]
    column: Column

    def names(self) -> dict[object, str]:
        """Return the name of each class, by its value (1, 1.0 and true are equal) and by its name."""
        return {key: str(label) for label in self.labels for key in (label, str(label))}


def _read_y(y: Any, estimator: str) -> tuple[Array, Column]:
    """Read y as a one-dimensional array and as a column."""
    if y is None:
        raise DataError(f"{estimator} requires y to be passed, but the target y is None.")
    if _is_table(y) or (isinstance(y, (list, tuple)) and y and all(isinstance(row, Mapping) for row in y)):
        table = read(y, name="y")
        if len(table.columns) != 1:
            names = join_few([safe(name) for name in table.columns])
            raise DataError(f"y should be a 1d array or one column; it has {len(table.columns)}: {names}.")
        y = table.to_polars().to_series()
    name = getattr(y, "name", None)
    array = _flatten(y)
    column = read({"y": array}, name="y")["y"]
    return array, replace(column, name=name if isinstance(name, str) and name else "y")


def _flatten(y: Any) -> Array:
    """Return y as a one-dimensional array; a single column is flattened, with scikit-learn's warning."""
    if hasattr(y, "toarray"):
        raise DataError("y is a sparse matrix. Pass y.toarray().ravel().")
    if isinstance(y, (list, tuple)):
        array = np.array(y, object)  # as they are: NumPy would turn ["a", nan] into text
    elif isinstance(y, np.ma.MaskedArray):
        array = y.data.astype(object)
        array[np.ma.getmaskarray(y)] = None
    else:
        array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ),"
            " for example using ravel().",
            DataConversionWarning,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(
            f"y should be a 1d array, one value a row; its shape is {array.shape}. Trees here have one target: for"
            " several, sklearn.multioutput fits one tree each."
        )
    _refuse_complex(array, "y")
    return array


def read_quantities(y: Any, estimator: str) -> Column:
    """Read y as numbers."""
    _, column = _read_y(y, estimator)
    if column.form == "bool":
        return replace(column, form="int", values=column.values.astype(np.int64))
    if column.form not in ("int", "float") and not encode.encode_classes(column)[0]:
        row = int(np.argmin(column.is_missing()))
        raise DataError(
            f"y does not hold numbers ({column.format_cell(row)} in row {row + 1:,})."
            f" {_counterpart(estimator, 'Classifier')} is for classes."
        )
    return column


def read_classes(y: Any, estimator: str) -> TargetClasses:
    """Read y as sorted classes; text stays text, even "1"."""
    array, column = _read_y(y, estimator)
    present = ~column.is_missing()
    _refuse_quantities(column, present, estimator)
    if array.dtype == object and column.form in ("int", "float", "bool"):
        array = column.values.astype(bool) if column.form == "bool" else column.values
    elif array.dtype == object and isinstance(y, (list, tuple)):
        texts = np.where(present, array, "")
        # NumPy drops a NUL at the end of a string: such classes stay Python objects.
        array = texts if any(text.endswith("\0") for text in texts) else texts.astype(str)
    values, present_codes = np.unique(array[present], return_inverse=True)
    labels = tuple(_class_label(value) for value in values)
    codes = np.full(len(array), -1, np.int32)
    codes[present] = present_codes
    return TargetClasses(
        values, labels, Column(column.name, "category", codes, labels=tuple(str(label) for label in labels))
    )


def _class_label(value: Any) -> str | int | bool:
    """Return the label of a class in the tree: 1 for 1.0, text for other types."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float):
        return int(plain)
    return plain if isinstance(plain, (bool, int, str)) else str(value)


def _refuse_quantities(column: Column, present: npt.NDArray[np.bool_], estimator: str) -> None:
    """Refuse fractional numbers as classes."""
    if column.form != "float":
        return
    with np.errstate(invalid="ignore"):
        is_integer = (column.values == np.rint(column.values)) & (np.abs(column.values) <= _LARGEST_WHOLE)
    fractional = present & ~is_integer
    if fractional.any():
        row = int(np.argmax(fractional))
        raise DataError(
            f"y is a continuous target ({format_exact(float(column.values[row]))} in row {row + 1:,}), not classes."
            f" Use {_counterpart(estimator, 'Regressor')}, or make classes of it first."
        )


def _counterpart(estimator: str, kind: str) -> str:
    """Name the estimator of the other task; AdaBoost has none, so a forest is named.

    >>> _counterpart("BaggingClassifier", "Regressor"), _counterpart("AdaBoostClassifier", "Regressor")
    ('BaggingRegressor', 'ForestRegressor')
    """
    stem = estimator.removesuffix("Classifier").removesuffix("Regressor")
    other = "Forest" if stem == "AdaBoost" else "Tree"
    return f"{stem if stem in _FOR_BOTH_TASKS else other}{kind}"


def with_target(table: Table, column: Column) -> Table:
    """Return X with y as a further column under an unused name, which is ``target``."""
    if len(column) != len(table):
        raise DataError(
            f"y has {plural(len(column), 'value')}, X has {plural(len(table), 'row')}. They must go together."
        )
    name = _target_name(table, column.name)
    columns = {column_name: partial(table.columns.__getitem__, column_name) for column_name in table.columns}
    together = LazyColumns({**columns, name: replace(column, name=name)}, len(table))
    return replace(table, columns=together, target=name)


def read_weights(sample_weight: Any, n_rows: int) -> Any:
    """Return the weights as an array (None and column names stay); one number is the weight of every row.

    Weights that are all zero are refused, with the message that scikit-learn's own checks expect.
    """
    if sample_weight is None or isinstance(sample_weight, str):
        return sample_weight
    weights = np.asanyarray(sample_weight)
    if weights.ndim == 0 and weights.dtype.kind in "iuf":
        weights = np.full(n_rows, weights)
    if weights.ndim == 1 and weights.dtype.kind in "biuf" and not weights.any():
        raise DataError(Param("sample_weight") + " is zero in every row; there is nothing to learn from.")
    return weights


def read_monotonic_cst(signs: Any, monotone: Any, features: FeatureTable) -> dict[str, Any]:
    """Return ``monotonic_cst`` as ``monotone`` has it: signs by name; scikit-learn's are by position, or by name.

    >>> read_monotonic_cst([0, -1], None, FeatureTable(("age", "dose"), True))
    {'dose': -1}
    """
    if monotone is not None:
        raise ParameterError(
            "is another name of " + Param("monotone") + "; give one of them.", parameter="monotonic_cst"
        )
    if isinstance(signs, Mapping):
        return dict(signs)
    given = np.asarray(signs)
    if given.ndim != 1 or len(given) != len(features.names):
        raise ParameterError(
            f"has shape {given.shape}, but X has {plural(len(features.names), 'feature')}.",
            hint="Give one of -1, 0, 1 for each feature, or a dict of column → sign.",
            parameter="monotonic_cst",
        )
    return {name: sign for name, sign in zip(features.names, given.tolist(), strict=True) if sign != 0}


def validation_table(
    pair: Any, features: FeatureTable, target: Target, estimator: str, parameter: str = "validation"
) -> Any:
    """Read validation or calibration data: a pair (X, y) becomes a table with the target; a share of rows stays."""
    takes_share = parameter == "validation"
    if pair is None or (takes_share and isinstance(pair, (int, float, np.number))):
        return pair
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        or_share = ", or a share between 0 and 1" if takes_share else ""
        raise ParameterError(f"must be a pair (X, y) that fit has not seen{or_share}.", parameter=parameter)
    X, y = pair
    column = read_classes(y, estimator).column if target.task == "classification" else read_quantities(y, estimator)
    table = read_new_features(X, features, features.names, estimator)
    return with_target(replace(table, name=parameter), replace(column, name=target.name))
