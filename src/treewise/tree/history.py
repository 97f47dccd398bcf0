"""A step of a model's history: a plain mapping, stored as it is in model files, with a text form.

The history is a log for people. Growing, editing and pruning each append a step; ``print(tree.history[-1])`` shows a
pruning as a table of its decisions. Code that needs a fact about a model uses ``model.fit_info`` (``fit_info.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from treewise._lib.result_table import align_columns
from treewise._lib.text import clip, format_count, format_rounded, plural, safe

_MAX_LINES = 30  # of the table of decisions
_MAX_TEST_WIDTH = 40
_NUMBERS = ["before", "after"]  # the headings of the two numbers, unless a step has others
_NUMBER_COLUMNS = (0, 1, 3, 4, 5)
_NOT_OPTIONS = ("method", "table", "majority", "errors", "training_errors", "stopped")  # results of an ensemble
# recorded in addition to the settings
_ROLES = ("sample_weight", "class_weight", "priors", "cost", "groups", "time", "exposure")
_METHOD_DEFAULTS: dict[str, dict[str, Any]] = {  # implied by the method of an ensemble, and not shown
    "extra_trees": {"bootstrap": False, "splitter": "random"},
    "bagging": {"max_samples": 1.0},
}
_DECISION_TYPES: dict[str, Any] = {
    "node": int,
    "now": int | None,
    "test": str,
    "rows": int,
    "before": int | float | None,
    "after": int | float | None,
    "cut": bool,
    "why": str,
}


class HistoryStep(dict[str, Any]):
    """One step: ``did``, the name of the action, and its facts.

    ``str`` returns a line, and for a pruning the table of its decisions.

    >>> print(HistoryStep(did="grow", rows=12, settings={"criterion": "entropy"}))
    grow(criterion="entropy") on 12 rows
    """

    def __repr__(self) -> str:
        return f"<{describe_step(self)}>"  # its decisions may be thousands

    def __str__(self) -> str:
        return "\n".join(decision_lines(self)) if "decisions" in self and is_pruning(self) else describe_step(self)


def describe_step(step: Mapping[str, Any]) -> str:
    """Describe a step in one line, as the call that made it.

    >>> describe_step({"did": "prune", "method": "gain", "options": {"threshold": 0.01}, "leaves": [6, 3]})
    'prune("gain", threshold=0.01): 6 → 3 leaves'
    >>> forest = {"method": "forest", "n_estimators": 9}
    >>> describe_step({"did": "grow", "ensemble": forest, "settings": {"max_depth": 2}})
    'forest(n_estimators=9, max_depth=2)'
    >>> describe_step({"did": "grow", "sample_weight": "w", "rows": 12}), describe_step({"sample_weight_array": True})
    ('grow(sample_weight="w") on 12 rows', 'made(sample_weight=…)')
    """
    if step.get("did") == "edit" and is_edit(step):
        before, after = step.get("leaves", (0, 0))
        return describe_edit(step) + (describe_outcome(step) if before != after else "")
    action = step.get("ensemble", {}).get("method", "optimal" if "optimal" in step else step.get("did", "made"))
    options = {**_growing_options(step), **step.get("optimal", {}), **step.get("options", {})}
    options |= {name: step[name] for name in ("search", *_ROLES) if step.get(name)}
    arguments = [json.dumps(step["method"])] if "method" in step else []
    arguments += [f"{name}={_format_option(value)}" for name, value in options.items()]
    arguments += ["sample_weight=…"] * bool(step.get("sample_weight_array"))
    return f"{action}({', '.join(arguments)})" + describe_outcome(step)


def describe_outcome(step: Mapping[str, Any]) -> str:
    """Describe what a step was applied to and what came of it: what follows the call.

    >>> describe_outcome({"did": "prune", "method": "gain", "leaves": [6, 3]})
    ': 6 → 3 leaves'
    """
    text = f" on {plural(step['rows'], 'row')}" if "rows" in step else ""
    if "imitates" in step:
        text += f", imitating {safe(step['imitates'])}"
    if "leaves" in step and is_pruning(step):
        before, after = step["leaves"]
        text += f": {before:,} → {plural(after, 'leaf', 'leaves')}"
    return text


def describe_edit(step: Mapping[str, Any]) -> str:
    """Describe an edit of ``Editor`` in a few words, without its node.

    >>> describe_edit({"edit": "split", "what": "age <= 65"}), describe_edit({"edit": "prune"})
    ('split by age <= 65', 'prune')
    >>> describe_edit({"edit": "regrow", "call": {"limits": {"max_depth": 2}}}), describe_edit({"edit": "start"})
    ('regrow (max_depth=2)', 'edited by hand, from a single leaf')
    """
    verb, subject, call = str(step.get("edit")), safe(step.get("what", "")), step.get("call", {})
    if verb == "start":
        return "edited by hand, from a single leaf"
    if verb == "regrow" and call.get("limits"):
        return f"regrow ({', '.join(f'{name}={_format_option(value)}' for name, value in call['limits'].items())})"
    link = {"split": " by ", "relabel": " as "}.get(verb, " ")
    return f"{verb}{link}{subject}" if subject else verb


def _growing_options(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a step and, for an ensemble, the options that differ from the defaults of its method.

    A history omits ``bootstrap`` where it is True, which for extra-trees is not the default.

    >>> _growing_options({"ensemble": {"method": "extra_trees"}, "settings": {"splitter": "random"}})
    {'bootstrap': True}
    """
    ensemble = step.get("ensemble", {})
    method = ensemble.get("method")
    defaults = _METHOD_DEFAULTS.get(method, {}) if isinstance(method, str) else {}
    options = {name: value for name, value in ensemble.items() if name not in _NOT_OPTIONS}
    if method == "extra_trees":
        options.setdefault("bootstrap", True)
    options |= step.get("settings", {})
    # by repr, because 1 (a row) is not 1.0 (all rows)
    implied = {name for name, value in defaults.items() if repr(options.get(name)) == repr(value)}
    return {name: value for name, value in options.items() if name not in implied}


def _format_option(value: Any) -> str:
    """Write the value of an option as Python would, but numbers with five digits at most.

    >>> _format_option(0.0123456), _format_option(1.0), _format_option(1), _format_option(False)
    ('0.012346', '1.0', '1', 'False')
    """
    if isinstance(value, bool):
        return str(value)
    if not isinstance(value, float):
        return safe(json.dumps(value, ensure_ascii=False, default=str))
    text = f"{value:.5g}"
    return f"{text}.0" if text.lstrip("-").isdigit() else text  # 1.0, a share of the rows, is not 1, a number of rows


def is_pruning(step: Mapping[str, Any]) -> bool:
    """Return whether a step, which may come from a file, has the fields of a pruning with the right types."""
    leaves, facts, decisions = step.get("leaves"), step.get("facts", []), step.get("decisions", [])
    if not (isinstance(leaves, list) and len(leaves) == 2 and all(type(n) is int for n in leaves)):
        return False
    if not (isinstance(facts, list) and all(isinstance(fact, str) for fact in facts) and isinstance(decisions, list)):
        return False
    headings = step.get("headings", _NUMBERS)
    if not (isinstance(headings, list) and len(headings) == 2 and all(isinstance(text, str) for text in headings)):
        return False
    if type(step.get("looked_at", 0)) is not int or not isinstance(step.get("measure", ""), str):
        return False
    return all(map(_is_decision, decisions))


_EDITS = ("start", "split", "prune", "regrow", "merge", "relabel", "lock", "unlock", "forbid", "first", "adopt")
_EDIT_TEXTS = ("node", "what", "reason")
_EDIT_LOSSES = ("before", "after", "touched_before", "touched_after")  # of all rows, and of those at the node
_MAX_EDIT_TEXT = 100_000  # characters
_CALL_TYPES: dict[str, Any] = {
    "split": dict, "limits": dict, "branches": list, "label": str | int | float | bool, "column": str,
    "splits": list,
}  # fmt: skip


def is_edit(step: Mapping[str, Any]) -> bool:
    """Return whether a step, which may come from a file, has the fields of an edit with the right types."""
    if step.get("edit") not in _EDITS:
        return False
    texts = [step.get(name, "") for name in _EDIT_TEXTS]
    if not all(isinstance(text, str) and len(text) <= _MAX_EDIT_TEXT for text in texts):
        return False
    path, call = step.get("path", []), step.get("call", {})
    numbers = [path, call.get("branches", []) if isinstance(call, Mapping) else []]
    if not all(isinstance(part, list) and all(type(n) is int and n >= 0 for n in part) for part in numbers):
        return False
    if not isinstance(call, Mapping):
        return False
    if not all(name in _CALL_TYPES and isinstance(value, _CALL_TYPES[name]) for name, value in call.items()):
        return False
    if "leaves" in step and not _are_numbers(step["leaves"], 2):
        return False
    return all(_are_losses(step.get(when, {})) for when in _EDIT_LOSSES) and _has_valid_call(step, call)


def _has_valid_call(step: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Return whether the arguments of an edit are those of its verb."""
    needed = {
        "split": "split",
        "merge": "branches",
        "relabel": "label",
        "forbid": "column",
        "first": "column",
        "adopt": "splits",
    }
    name = needed.get(step["edit"])
    if name is not None and name not in call:
        return False
    if step["edit"] == "adopt":
        return _are_splits_of_a_tree(call["splits"])
    return step["edit"] != "split" or _is_split(call["split"])


def _are_splits_of_a_tree(splits: list[Any]) -> bool:
    """Return whether splits in pre-order, None for leaves, make a tree."""
    n_open = 1
    for split in splits:
        if n_open == 0 or not (split is None or (isinstance(split, Mapping) and _is_split(split))):
            return False
        n_open += -1 if split is None else _n_branches(split) - 1
    return n_open == 0


def _n_branches(split: Mapping[str, Any]) -> int:
    n_own: int = len(split["levels"]) + split["other"] if split["kind"] == "multiway" else 2
    return n_own + int(split["missing"] == n_own)


def _is_split(split: Mapping[str, Any]) -> bool:
    kinds = {"threshold": "cut", "ordinal": "level", "one_value": "level", "subset": "levels", "multiway": "levels"}
    types = {
        "cut": int | float,
        "level": str,
        "levels": list,
        "other": bool,
        "missing": int,
        "kind": str,
        "column": str,
    }
    kind = split.get("kind")
    if kind not in (*kinds, "presence") or type(split.get("missing")) is not int or "column" not in split:
        return False
    extra = {kinds[kind]} if kind in kinds else set()
    extra |= {"other"} if kind == "multiway" else set()
    if split.keys() != {"kind", "column", "missing"} | extra:
        return False
    if not all(isinstance(value, types[name]) for name, value in split.items()) or isinstance(split.get("cut"), bool):
        return False
    return all(isinstance(level, str) for level in split.get("levels", []))


def _are_losses(losses: Any) -> bool:
    if not isinstance(losses, Mapping) or not losses.keys() <= {"training", "validation"}:
        return False
    return all(_are_numbers(loss, 3) for loss in losses.values())


def _are_numbers(values: Any, n: int) -> bool:
    return isinstance(values, list) and len(values) == n and all(type(v) in (int, float) for v in values)


def _is_decision(decision: Any) -> bool:
    if not isinstance(decision, dict) or decision.keys() != _DECISION_TYPES.keys():
        return False
    return all(isinstance(decision[name], type_) for name, type_ in _DECISION_TYPES.items())


def without_pruned_tests(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a step without the tests of nodes that it removed: a file of the pruned tree does not tell them.

    >>> kept = {"node": 0, "now": 0, "test": "age <= 40", "cut": False}
    >>> cut = {"node": 1, "now": 1, "test": "name = Ann", "cut": True}
    >>> below = {"node": 2, "now": None, "test": "name = Bob", "cut": True}
    >>> [d["test"] for d in without_pruned_tests({"decisions": [kept, cut, below]})["decisions"]]
    ['age <= 40', '']
    """
    if "decisions" not in step:
        return step
    remaining = [decision for decision in step["decisions"] if decision["now"] is not None]
    return {**step, "decisions": [{**one, "test": ""} if one["cut"] else one for one in remaining]}


# -- the decisions of a pruning ---------------------------------------------------------------------------------------


def decision_lines(step: Mapping[str, Any], show_all: bool = False) -> list[str]:
    """Return the description of a pruning, its facts, and its decisions as a table.

    A long list is reduced to nodes that still exist, unless ``show_all``.
    """
    decisions = step["decisions"]
    remaining = [decision for decision in decisions if decision["now"] is not None]
    is_reduced = len(decisions) > _MAX_LINES and not show_all
    shown_decisions = remaining[:_MAX_LINES] if is_reduced else decisions
    lines = [describe_step(step), *step.get("facts", ()), *_decision_table(step, shown_decisions)]
    n_more = step.get("looked_at", len(decisions)) - len(shown_decisions)
    if n_more > 0:
        place_text = ", below nodes that were cut" if len(shown_decisions) >= len(remaining) else ""
        lines.append(f"… {plural(n_more, 'more decision')}{place_text}")
    return lines


def cut_lines(step: Mapping[str, Any], option_for_all: str) -> list[str]:
    """Return ``decision_lines`` reduced to the nodes that became leaves; ``option_for_all`` shows the others.

    After subtree raising all decisions are listed, because a node may also have disappeared by raising.
    """
    if step.get("options", {}).get("raising"):
        return decision_lines(step)
    cuts = [decision for decision in step["decisions"] if decision["cut"] and decision["now"] is not None]
    shown_cuts = cuts[:_MAX_LINES]
    lines = [describe_step(step), *step.get("facts", ()), *_decision_table(step, shown_cuts)]
    n_more = step["looked_at"] - len(shown_cuts)
    if n_more:
        more = f"… {plural(n_more, 'more decision')}" if shown_cuts else f"nothing is cut; {plural(n_more, 'decision')}"
        lines.append(f"{more}: {option_for_all}")
    return lines


def _decision_table(step: Mapping[str, Any], decisions: Sequence[Mapping[str, Any]]) -> list[str]:
    if not decisions:
        return []
    first, second = map(safe, step.get("headings", _NUMBERS))
    rows = [["node", "now", "test", "rows", first, second, "", "why"], *map(_decision_cells, decisions)]
    return [f"{first} and {second}: {step['measure']}", *align_columns(rows, _NUMBER_COLUMNS).splitlines()]


def _decision_cells(decision: Mapping[str, Any]) -> list[str]:
    current_node = decision["now"]
    return [
        str(decision["node"]),
        "–" if current_node is None else str(current_node),
        clip(safe(decision["test"]), _MAX_TEST_WIDTH) or "–",
        format_count(decision["rows"]),
        _format_statistic(decision["before"]),
        _format_statistic(decision["after"]),
        "cut" if decision["cut"] else "kept",
        decision["why"],
    ]


def _format_statistic(statistic: float | None) -> str:
    return "–" if statistic is None else format_rounded(statistic)
