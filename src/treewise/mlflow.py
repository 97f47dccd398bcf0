"""MLflow flavour: log, save and load models as their JSON file, which contains no code (no pickle).

``treewise.mlflow`` has MLflow's own functions for a flavour, and ``mlflow.pyfunc.load_model`` reads what they write.
Needs MLflow (``pip install "treewise[mlflow]"``), of which mlflow-skinny is enough.

    with mlflow.start_run():
        treewise.mlflow.log_model(tree, name="tree", input_example=table.head())
    tree = treewise.mlflow.load_model("models:/tree/1")
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treewise._version import __version__
from treewise.data.encoding import Encoding
from treewise.errors import PackageError, ParameterError
from treewise.formats.model_file.model_file import load
from treewise.tree.model import Model

FLAVOR_NAME = "treewise"
_FILE = "model.json"
_OUTPUTS = ("predictions", "probabilities", "leaves")

__all__ = ["FLAVOR_NAME", "get_default_pip_requirements", "load_model", "log_model", "save_model"]


def get_default_pip_requirements() -> list[str]:
    """Return what an environment needs that answers with such a model.

    >>> get_default_pip_requirements()[0].partition("==")[0]
    'treewise'
    """
    return [f"treewise=={__version__.partition('+')[0]}"]  # without what is local to one machine


def save_model(
    model: Any,
    path: str | Path,
    mlflow_model: Any = None,
    *,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Any = None,
    extra_pip_requirements: Any = None,
    conda_env: Any = None,
    code_paths: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Save a model, or the model of a fitted estimator, as a folder in MLflow's layout.

    The parameters are those of every flavour of MLflow. The signature is by default that of the model: its columns,
    which may all have missing values, and the parameter ``output`` of predictions; False for none.
    """
    mlflow = _import_mlflow()
    from mlflow.models.model import MLMODEL_FILE_NAME
    from mlflow.models.utils import _save_example

    saved = _model_of(model)
    folder = Path(path).absolute()
    if folder.is_dir() and any(folder.iterdir()):
        raise ParameterError(f"{folder} exists already and is not empty.", parameter="path")
    folder.mkdir(parents=True, exist_ok=True)
    description = mlflow.models.Model() if mlflow_model is None else mlflow_model
    _save_example(description, input_example, str(folder))
    saved.save(folder / _FILE, complete=True)
    if signature is not False:
        description.signature = signature_of(saved) if signature is None else signature
    if metadata is not None:
        description.metadata = dict(metadata)
    if conda_env is None and pip_requirements is None:
        pip_requirements = [*get_default_pip_requirements(), *(extra_pip_requirements or [])]
        extra_pip_requirements = None
    mlflow.pyfunc.add_to_model(
        description,
        loader_module=__name__,
        data=_FILE,
        **_write_environment(folder, conda_env, pip_requirements, extra_pip_requirements),
        code=_copy_code(code_paths, folder),
    )
    description.add_flavor(
        FLAVOR_NAME,
        treewise_version=__version__,
        data=_FILE,
        target=saved.target.name,
        task=saved.task,
        classes=[str(label) for label in saved.classes],
        columns=list(saved.columns),
    )
    description.save(str(folder / MLMODEL_FILE_NAME))


def log_model(model: Any, name: str | None = None, **options: Any) -> Any:
    """Log a model, or the model of a fitted estimator, in the current run; returns MLflow's ``ModelInfo``.

    ``options`` are those of ``save_model`` and of MLflow's ``Model.log``: ``registered_model_name``, ``tags``, …
    """
    mlflow = _import_mlflow()
    return mlflow.models.Model.log(None, flavor=sys.modules[__name__], name=name, model=_model_of(model), **options)


def load_model(model_uri: str, dst_path: str | None = None) -> Model:
    """Load a logged or saved model: the same tree or ensemble, to the last bit.

    The file is validated, and runs nothing, wherever it comes from.
    """
    mlflow = _import_mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    flavors = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise ParameterError(
            f"has no flavour {FLAVOR_NAME}; it has {', '.join(flavors) or 'none'}.", parameter="model_uri"
        )
    return load(folder / flavors[FLAVOR_NAME]["data"])


def signature_of(model: Model) -> Any:
    """Return MLflow's signature of a model: only the columns that it tests are required.

    Signatures inferred from an example would refuse missing values in columns that have none there.
    """
    _import_mlflow()
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType

    def type_of(encoding: Encoding) -> Any:
        # MLflow refuses nullable integers for doubles, and missing cells beside true and false; levels that look like
        # numbers may be numbers in the table. The model itself checks such columns.
        if encoding.kind == "number" and not encoding.numbers:
            return DataType.double
        has_text = encoding.kind in ("nominal", "ordered") and not all(map(_is_number, encoding.levels))
        return DataType.string if has_text else AnyType()

    used = set(model.used_columns)
    columns = [ColSpec(type_of(e), e.name, required=i in used) for i, e in enumerate(model.encodings)]
    is_number = model.task == "regression" or all(isinstance(label, int | float) for label in model.classes)
    answer = ColSpec(DataType.double if is_number else DataType.string)
    output = ParamSpec("output", DataType.string, _OUTPUTS[0])
    return ModelSignature(Schema(columns), Schema([answer]), ParamSchema([output]))


def _is_number(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


class PythonFunction:
    """What ``mlflow.pyfunc`` calls: predictions for a dataframe."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def get_raw_model(self) -> Model:
        """Return the model itself."""
        return self.model

    def predict(self, data: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return the class or value of each row; ``params={"output": "probabilities"}``, ``"leaves"``: as arrays."""
        output = (params or {}).get("output", "predictions")
        if output not in _OUTPUTS:
            raise ParameterError(f"must be one of {', '.join(_OUTPUTS)}.", parameter="output", value=output)
        if output == "probabilities":
            return self.model.predict_proba(data)
        return self.model.apply(data) if output == "leaves" else self.model.predict(data)


def _load_pyfunc(path: str) -> PythonFunction:
    """Load the model for ``mlflow.pyfunc``; ``path`` is that of its file."""
    return PythonFunction(load(path))


def _import_mlflow() -> Any:
    try:
        import mlflow
        import mlflow.pyfunc
    except ImportError:
        raise PackageError('MLflow is not installed: pip install "treewise[mlflow]".') from None
    return mlflow


def _model_of(model: Any) -> Model:
    """Return a model, or that of a fitted estimator."""
    for name in ("tree_", "ensemble_"):
        model = getattr(model, name, model)
    if not isinstance(model, Model):
        raise ParameterError(
            f"is a {type(model).__name__}; expected a tree, an ensemble or a fitted estimator of treewise.",
            parameter="model",
        )
    return model


def _copy_code(code_paths: Any, folder: Path) -> Any:
    from mlflow.utils.model_utils import _validate_and_copy_code_paths

    return _validate_and_copy_code_paths(code_paths, str(folder))


def _write_environment(folder: Path, conda_env: Any, pip_requirements: Any, extra: Any) -> dict[str, str]:
    """Write MLflow's descriptions of the environment, and return their names as ``add_to_model`` takes them."""
    import yaml  # MLflow needs it
    from mlflow.utils.environment import (
        _CONDA_ENV_FILE_NAME,
        _PYTHON_ENV_FILE_NAME,
        _REQUIREMENTS_FILE_NAME,
        _process_conda_env,
        _process_pip_requirements,
        _PythonEnv,
    )

    if conda_env is None:
        environment, requirements, _ = _process_pip_requirements(None, pip_requirements, extra)
    else:
        environment, requirements, _ = _process_conda_env(conda_env)
    (folder / _CONDA_ENV_FILE_NAME).write_text(yaml.safe_dump(environment), encoding="utf-8")
    (folder / _REQUIREMENTS_FILE_NAME).write_text("\n".join(requirements), encoding="utf-8")
    _PythonEnv.current().to_yaml(str(folder / _PYTHON_ENV_FILE_NAME))
    return {"conda_env": _CONDA_ENV_FILE_NAME, "python_env": _PYTHON_ENV_FILE_NAME}
