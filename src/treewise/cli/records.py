"""The output of verbs that make or change a model with ``--format json``: its summary, notes and nodes.

``docs/json-output.md`` lists the fields of every verb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treewise.cli.output import write_output
from treewise.cli.render import json_text
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.ensemble import Ensemble
    from treewise.tree.tree import Tree


def refuse_json_beside_model(form: str, output: str | None) -> None:
    """Raise if JSON is requested and the model itself goes to standard output."""
    if form == "json" and output == "-":
        raise ParameterError("--format json and -o - both write to standard output. Name a file: -o model.json.")


def print_model_record(model: Tree | Ensemble, file: str | None) -> None:
    """Print a model that was grown, refitted or extended, and the file it was saved in."""
    from treewise.tree.tree import Tree

    body = {"nodes": node_records(model)} if isinstance(model, Tree) else ensemble_rounds(model)
    record = {"model": file, **model.summary().to_dict(), "notes": list(model.notes), **body}
    write_output(json_text(record), None)


def ensemble_rounds(ensemble: Ensemble) -> dict[str, Any]:
    """Return the rounds of AdaBoost; other ensembles have none."""
    return {"rounds": ensemble.rounds.result_table().records()} if ensemble.method == "adaboost" else {}


def node_records(tree: Tree) -> list[dict[str, Any]]:
    """Return the nodes as plain values, flat: a list of nodes that name their parent."""
    return [
        {
            "node": n.id,
            "parent": n.parent,
            "depth": n.depth,
            "condition": tree.condition(n.id),
            "asks": n.split.column if n.split else None,
            "prediction": n.prediction,
            "rows": n.rows,
            "weight": n.weight,
            "counts": {str(label): weight for label, weight in n.counts.items()},
            "stop": n.stop or None,
            **({} if n.p_value is None else {"p_value": n.p_value}),
        }
        for n in tree
    ]
