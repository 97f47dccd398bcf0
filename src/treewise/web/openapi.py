"""The OpenAPI document of a service, with the columns and an example row of its default model."""

from __future__ import annotations

from typing import Any

from treewise._version import __version__
from treewise.data.column import format_datetime
from treewise.data.encoding import Encoding
from treewise.tree.arrays import LEAF
from treewise.tree.model import Model
from treewise.tree.splits import Ordinal, Threshold
from treewise.web.models import ServedModel

_MAX_LEVELS = 20  # examples of a column


def openapi(models: list[ServedModel], max_rows: int, has_token: bool) -> dict[str, Any]:
    """Return the document."""
    first = models[0].model
    example = example_row(first)
    row = {
        "type": "object",
        "description": "A row: the columns that the model tests, by name. null, or an empty text, is a missing value;"
        " other columns are not looked at. Of a tree, a column that the row's path does not test may be left out.",
        "properties": {first.encodings[i].name: _column(first.encodings[i]) for i in first.used_columns},
        "example": example,
    }
    ask = {"$ref": "#/components/schemas/Row"}
    flags = {
        "proba": "Add the probability of each class.",
        "path": "Add the nodes and conditions on the row's path (a single tree).",
        "reasons": "Add a sentence that gives the reasons (a single tree).",
    }
    parameters = [*_choice_parameters(), *(_flag(name, text) for name, text in flags.items())]
    predict = {
        "summary": "Predict one row or many",
        "operationId": "predict",
        "parameters": parameters,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"anyOf": [ask, {"type": "array", "items": ask, "minItems": 1, "maxItems": max_rows}]},
                    "examples": {"one row": {"value": example}, "two rows": {"value": [example, example]}},
                },
                "text/csv": {"schema": {"type": "string"}, "example": _csv(example)},
            },
        },
        "responses": {
            "200": {
                "description": "The prediction of the row, or of each row.",
                "content": {
                    "application/json": {
                        "schema": {
                            "anyOf": [
                                {"$ref": "#/components/schemas/Answer"},
                                {"$ref": "#/components/schemas/Answers"},
                            ]
                        }
                    },
                    "text/csv": {"schema": {"type": "string"}},
                },
            },
            **_errors("400", "404", "406", "408", "413", "415", "422", "503"),
        },
    }
    label = (
        {"type": ["string", "number", "boolean"]} if first.task == "classification" else {"type": ["number", "null"]}
    )
    answer = {
        "type": "object",
        "required": ["prediction"],
        "properties": {
            "prediction": label,
            "probabilities": {"type": "object", "additionalProperties": {"type": "number"}},
            "node": {"type": "integer", "description": "The node at which the row ends."},
            "path": {"type": "array", "items": {"type": "object"}},
            "reasons": {"type": "string"},
        },
    }
    paths: dict[str, Any] = {
        "/predict": {"post": predict},
        "/model": {"get": _get("The schema and the metadata of a model", _choice_parameters(), "404")},
        "/models": {"get": _get("The models that are served", [])},
        "/health": {"get": _get("Whether the service runs", [])},
        "/ready": {"get": _get("Whether the service takes requests", [], "503")},
        "/metrics": {"get": _get("Counts and durations for Prometheus", [], kind="text/plain")},
    }
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": f"{models[0].name}: {first.target.name}", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {
                "Row": row,
                "Answer": answer,
                "Answers": {
                    "type": "object",
                    "required": ["predictions"],
                    "properties": {"predictions": {"type": "array", "items": {"$ref": "#/components/schemas/Answer"}}},
                },
                "Error": _error_schema(),
            }
        },
    }
    if has_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        for path, operations in paths.items():
            for operation in operations.values():
                if path in ("/health", "/ready"):
                    operation["security"] = []
                else:
                    operation["responses"] |= _errors("401")
    return document


def example_row(model: Model) -> dict[str, Any]:
    """Return a row of values at which the model decides: thresholds, and levels that it knows.

    >>> import treewise as tw
    >>> example_row(tw.grow("penguins", max_leaf_nodes=4))
    {'island': 'Biscoe', 'bill_length_mm': 43.35, 'flipper_length_mm': 206.5}
    """
    tree = model.trees[0]
    cuts: dict[str, Any] = {}
    for node in range(len(tree)):
        split = tree.split_at(node) if tree.arrays.kind[node] != LEAF else None
        if isinstance(split, Threshold):
            cuts.setdefault(split.column, split.cut)
        elif isinstance(split, Ordinal):
            cuts.setdefault(split.column, None)
    row: dict[str, Any] = {}
    for i in model.used_columns:
        encoding = model.encodings[i]
        if encoding.is_categorical:
            row[encoding.name] = encoding.levels[0] if encoding.levels else None
        else:
            cut = cuts.get(encoding.name, 0)
            row[encoding.name] = format_datetime(int(cut), encoding.unit) if encoding.kind == "datetime" else cut
    return row


def _column(encoding: Encoding) -> dict[str, Any]:
    """Return what a cell of a column may be."""
    if encoding.kind in ("number", "integer"):
        return {"type": ["number", "null"], "description": "a number"}
    if encoding.kind == "datetime":
        return {"type": ["string", "null"], "description": "a date or time, such as 2024-03-31 or 2024-03-31T14:30:00"}
    if encoding.kind == "boolean":
        return {"type": ["boolean", "null"]}
    levels = ", ".join(encoding.levels[:_MAX_LEVELS]) + (", …" if len(encoding.levels) > _MAX_LEVELS else "")
    return {"type": ["string", "null"], "description": f"one of {levels}; others count as never seen"}


def _choice_parameters() -> list[dict[str, Any]]:
    texts = {"model": "The name of a model; the first by default.", "version": "Its version; the last by default."}
    return [{"name": n, "in": "query", "description": text, "schema": {"type": "string"}} for n, text in texts.items()]


def _flag(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": text, "schema": {"type": "boolean"}}


def _get(
    summary: str, parameters: list[dict[str, Any]], *errors: str, kind: str = "application/json"
) -> dict[str, Any]:
    schema = {"type": "object"} if kind == "application/json" else {"type": "string"}
    answer = {"description": summary, "content": {kind: {"schema": schema}}}
    return {"summary": summary, "parameters": parameters, "responses": {"200": answer, **_errors("400", *errors)}}


_REASONS = {
    "400": "The request is malformed.",
    "401": "The token is absent or wrong.",
    "404": "There is no such model.",
    "406": "The answer has no such format.",
    "408": "The body did not arrive in time.",
    "413": "The body has too many bytes or rows.",
    "415": "The body is neither JSON nor CSV.",
    "422": "Some rows cannot be predicted: each with its number, column and reason.",
    "503": "The service is busy, or is being stopped.",
}


def _errors(*statuses: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": _REASONS[status], "content": content} for status in statuses}


def _error_schema() -> dict[str, Any]:
    fault = {
        "type": "object",
        "properties": {"row": {"type": "integer"}, "column": {"type": "string"}, "reason": {"type": "string"}},
    }
    error = {
        "type": "object",
        "required": ["reason"],
        "properties": {
            "reason": {"type": "string"},
            "rows": {"type": "array", "items": fault, "description": "The first bad rows, numbered from 1."},
            "bad_rows": {"type": "integer", "description": "How many rows are bad."},
        },
    }
    return {"type": "object", "required": ["error"], "properties": {"error": error}}


def _csv(example: dict[str, Any]) -> str:
    from treewise._lib.result_table import write_csv

    return write_csv([list(example), ["" if cell is None else str(cell) for cell in example.values()]])
