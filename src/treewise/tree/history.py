"""A step of a tree's history: a plain mapping, as a model file keeps it, that says itself in words.

Stands below the tree, which keeps a tuple of steps. Whoever makes or changes a tree writes one (``train/grow.py``,
``train/edit.py``, ``prune``); ``print(tree.history[-1])`` shows a pruning as a table of its decisions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from treewise._lib.result_table import align_columns
from treewise._lib.text import clip, format_count, format_rounded, plural, safe

MOST_LINES = 30  # of the decisions of a pruning
_WIDEST_TEST = 40
_HEADINGS = ("node", "now", "test", "rows", "before", "after", "", "why")
_NO_OPTIONS = ("method", "table", "majority", "errors", "training_errors", "stopped")  # of many trees: how it went
_USUAL: dict[str, dict[str, Any]] = {  # what a way of growing many trees does unless told otherwise: not said
    "extra_trees": {"bootstrap": False, "splitter": "random"},
    "bagging": {"max_samples": 1.0},
}
_RIGHT = (0, 1, 3, 4, 5)  # columns of numbers
_KINDS: dict[str, Any] = {
    "node": int,
    "now": int | None,
    "test": str,
    "rows": int,
    "before": int | float | None,
    "after": int | float | None,
    "cut": bool,
    "why": str,
}


class Step(dict[str, Any]):
    """One step: ``did`` and its facts. ``str`` gives a line, or for a pruning its decisions as a table.

    >>> print(Step(did="grow", rows=12, settings={"criterion": "entropy"}))
    grow(criterion="entropy") on 12 rows
    """

    def __str__(self) -> str:
        return "\n".join(table_lines(self)) if "decisions" in self and is_pruning(self) else in_words(self)


def in_words(step: Mapping[str, Any]) -> str:
    """Say a step in one line.

    >>> in_words({"did": "prune", "method": "gain", "options": {"threshold": 0.01}, "leaves": [6, 3]})
    'prune("gain", threshold=0.01): 6 → 3 leaves'
    >>> in_words({"did": "grow", "ensemble": {"method": "forest", "n_estimators": 9}, "settings": {"max_depth": 2}})
    'forest(n_estimators=9, max_depth=2)'
    >>> in_words({"did": "grow", "sample_weight": "w", "rows": 12}), in_words({"sample_weight_array": True})
    ('grow(sample_weight="w") on 12 rows', 'made(sample_weight=…)')
    """
    did = step.get("ensemble", {}).get("method", step.get("did", "made"))
    options = {**_options_of_many(step), **step.get("options", {})}
    options |= {name: step[name] for name in ("sample_weight", "class_weight", "priors", "cost") if step.get(name)}
    said = [json.dumps(step["method"])] if "method" in step else []
    said += [f"{name}={_option_in_words(value)}" for name, value in options.items()]
    said += ["sample_weight=…"] * bool(step.get("sample_weight_array"))
    words = f"{did}({', '.join(said)})"
    if "rows" in step:
        words += f" on {plural(step['rows'], 'row')}"
    if "imitates" in step:
        words += f", imitating {safe(step['imitates'])}"
    if "leaves" in step and is_pruning(step):
        before, after = step["leaves"]
        words += f": {before:,} → {plural(after, 'leaf', 'leaves')}"
    return words


def _options_of_many(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings, and what differs from what the way of growing many trees does by itself, if it is one.

    A history leaves bootstrap out where it is True, which of extra-trees is the exception.

    >>> _options_of_many({"ensemble": {"method": "extra_trees"}, "settings": {"splitter": "random"}})
    {'bootstrap': True}
    """
    many = step.get("ensemble", {})
    method = many.get("method")
    usual = _USUAL.get(method, {}) if isinstance(method, str) else {}
    said = {name: value for name, value in many.items() if name not in _NO_OPTIONS}
    if method == "extra_trees":
        said.setdefault("bootstrap", True)
    said |= step.get("settings", {})
    same = {name for name, value in usual.items() if repr(said.get(name)) == repr(value)}  # 1 row is not 1.0 of all
    return {name: value for name, value in said.items() if name not in same}


def _option_in_words(value: Any) -> str:
    """Write the value of an option as it is given; a price of five digits is precise enough to read.

    >>> _option_in_words(0.0123456), _option_in_words(1.0), _option_in_words(1), _option_in_words(False)
    ('0.012346', '1.0', '1', 'False')
    """
    if isinstance(value, bool):
        return str(value)
    if not isinstance(value, float):
        return safe(json.dumps(value, ensure_ascii=False, default=str))
    said = f"{value:.5g}"
    return f"{said}.0" if said.lstrip("-").isdigit() else said  # a share of 1.0 is not 1 row


def is_pruning(step: Mapping[str, Any]) -> bool:
    """Tell whether a step, perhaps from a file, holds what the table of a pruning shows."""
    leaves, facts, listed = step.get("leaves"), step.get("facts", []), step.get("decisions", [])
    if not (isinstance(leaves, list) and len(leaves) == 2 and all(type(n) is int for n in leaves)):
        return False
    if not (isinstance(facts, list) and all(isinstance(line, str) for line in facts) and isinstance(listed, list)):
        return False
    if type(step.get("looked_at", 0)) is not int or not isinstance(step.get("measure", ""), str):
        return False
    return all(isinstance(each, dict) and each.keys() == _KINDS.keys() and _fits(each) for each in listed)


def _fits(decision: Mapping[str, Any]) -> bool:
    """Tell whether every entry of a decision is of its kind."""
    return all(isinstance(decision[name], kind) for name, kind in _KINDS.items())


def decision_table(step: Mapping[str, Any], decisions: list[dict[str, Any]]) -> list[str]:
    """Lay out some decisions, below what their numbers are."""
    return [
        f"before and after: {step['measure']}",
        *align_columns([_HEADINGS, *map(cells, decisions)], _RIGHT).splitlines(),
    ]


def table_lines(step: Mapping[str, Any], whole: bool = False) -> list[str]:
    """Lay out the decisions of a pruning: what was done, then a line for each node that was looked at.

    Of many only those at nodes that are still there, unless all are asked for.
    """
    decisions = step["decisions"]
    lines = [in_words(step), *step.get("facts", ())]
    many = len(decisions) > MOST_LINES and not whole
    there = [decision for decision in decisions if decision["now"] is not None]
    shown = there[:MOST_LINES] if many else decisions
    if shown:
        lines += decision_table(step, shown)
    left = step.get("looked_at", len(decisions)) - len(shown)
    if left > 0:
        where = ", below nodes that were cut" if len(shown) >= len(there) else ""
        lines.append(f"… {plural(left, 'more decision')}{where}")
    return lines


def cells(decision: Mapping[str, Any]) -> list[str]:
    """Write one decision as the cells of a row."""
    now = decision["now"]
    return [
        str(decision["node"]),
        "–" if now is None else str(now),
        clip(safe(decision["test"]), _WIDEST_TEST),
        format_count(decision["rows"]),
        said(decision["before"]),
        said(decision["after"]),
        "cut" if decision["cut"] else "kept",
        decision["why"],
    ]


def said(statistic: float | None) -> str:
    """Write a statistic; there may be none."""
    return "–" if statistic is None else format_rounded(statistic)
