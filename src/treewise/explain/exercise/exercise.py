"""``exercise``: make a sheet with blanks and its key from a table, or from a random one.

A topic is a function that returns the parts of the sheet; ``TITLES`` lists them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

from treewise._lib.checks import as_integer, check_choice
from treewise._lib.text import plural, safe
from treewise.data.table import Table, read
from treewise.errors import Param, ParameterError, TreewiseError
from treewise.explain.exercise import boosting, leaves, pruning, splits
from treewise.explain.exercise.builder import SheetOptions, check_table, data_part, require_classes
from treewise.explain.exercise.random_table import random_tables
from treewise.explain.exercise.sheet import Exercise, Part, blanks_of, number_blanks
from treewise.train.target import adopt_levels, adopt_target
from treewise.tree.tree import Tree

_MAX_DRAWS = 300  # random tables that are tried
TITLES = {"split": splits.TITLE, "leaves": leaves.TITLE, "boosting": boosting.TITLE, "pruning": pruning.TITLE}


def exercise(
    data: Any = None,
    target: Any = None,
    *,
    topic: str | None = None,
    random: int | None = None,
    level: int = 1,
    nodes: int = 1,
    tree: Any = None,
    validation: Any = None,
    unit: str = "bits",
    per: str = "row",
    tolerance: float = 0.005,
    **grow_options: Any,
) -> Exercise:
    """Make an exercise sheet with its key: a table, a question and blanks.

    >>> import treewise as tw
    >>> sheet = tw.exercise("admissions", level=2, nodes=2, per="total")
    >>> [blank.prompt for blank in sheet.blanks][:3], sheet.key["1"]
    (['number of N at node 0', 'number of P at node 0', '12·H(node) at node 0'], '6')
    >>> tw.exercise(random=7, topic="boosting").render("latex").splitlines()[0]
    '\\\\documentclass[a4paper]{article}'

    Parameters
    ----------
    data, target : a table of at most 40 rows without missing values, as in ``grow``; leave both out with ``random``.
    topic : "split" (which split is best?), "leaves" (what a given tree says about the table), "boosting" (rounds of
        AdaBoost) or "pruning" (reduced-error pruning on a validation table). The default is split, leaves with
        ``tree``, and pruning with ``validation``.
    random : a seed: the table is made, with numbers that are easy to work with. Each seed is another variant.
    level : 1 leaves the results blank, 2 also the counts, 3 everything.
    nodes : the number of nodes (of rounds, for boosting) to work out.
    tree : for leaves and pruning: a tree, or the text or file of one typed by hand. Without it one is grown.
    validation : for pruning: the validation table.
    unit, per : bits or nats, per row or in total, as in ``Tree.trace``.
    tolerance : by how much an entropy or a gain per row may differ.
    **grow_options : those of ``grow``, with ``preset="id3"`` as the default; for boosting those of ``adaboost``.
    """
    topic = topic or ("pruning" if validation is not None else "split" if tree is None else "leaves")
    check_choice("topic", topic, TITLES)
    check_choice("unit", unit, ("bits", "nats"))
    check_choice("per", per, ("row", "total"))
    for name, value, maximum in (("level", level, 3), ("nodes", nodes, 99)):
        if (n := as_integer(value)) is None or not 1 <= n <= maximum:
            raise ParameterError(f"must be a whole number, 1 to {maximum}.", parameter=name, value=value)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise ParameterError("must be a number, 0 or more, less than 1.", parameter="tolerance", value=tolerance)
    if nodes > 1 and topic in ("leaves", "pruning"):
        raise ParameterError(f"is for splits and rounds; an exercise with {topic} has one tree.", parameter="nodes")
    if tree is not None and topic in ("split", "boosting"):
        raise ParameterError("is for leaves and pruning; splits and rounds are found from the table.", parameter="tree")
    if validation is not None and topic != "pruning":
        raise ParameterError("is for pruning.", parameter="validation")
    options = SheetOptions(level, nodes, unit, per, float(tolerance))
    if random is not None:
        if data is not None or tree is not None or validation is not None:
            raise ParameterError("makes the table itself.", parameter="random", hint="Leave the table or the seed out.")
        return _random_exercise(topic, random, options, grow_options)
    if data is None:
        raise ParameterError("an exercise needs a table, or a seed: " + Param("random", 7) + ".")
    table = read(data, na_values=grow_options.get("na_values", ()))
    held_out = None if validation is None else read(validation)
    return _make(topic, table, target, held_out, tree, options, grow_options)


def _make(
    topic: str,
    table: Table,
    target: Any,
    validation: Table | None,
    given: Any,
    options: SheetOptions,
    grow_options: dict[str, Any],
) -> Exercise:
    """Build the parts of one topic on a table."""
    check_table(table)
    if topic == "boosting":
        from treewise.ensemble.adaboost import adaboost

        boosted = adaboost(table, target, options.nodes, **grow_options)
        encodings, target = boosted.encodings, boosted.target.name
        parts = boosting.boosting_parts(boosted, table, options)
    else:
        tree = _tree_of(given, table, target, grow_options)
        require_classes(tree)
        encodings, target = tree.encodings, tree.target.name
        if topic == "split":
            trace = tree.trace(table, unit=options.unit, per=options.per)
            parts = splits.split_parts(tree, table, trace, options, grow_options)
        elif topic == "leaves":
            parts = leaves.leaf_parts(tree, table, options)
        else:
            if validation is None:
                raise ParameterError("pruning needs a validation table.", parameter="validation")
            check_table(validation, "validation table")
            parts = pruning.pruning_parts(tree, table, validation, options)
    titles = ("Data",) if validation is None else ("Training rows", "Validation rows")
    given_tables = (table,) if validation is None else (table, validation)
    tables = [data_part(each, encodings, target, title) for each, title in zip(given_tables, titles, strict=True)]
    parts = list(number_blanks([*tables, *parts]))
    return Exercise(TITLES[topic], topic, options.level, safe(table.name), (*parts, _rules(parts, options)))


def _tree_of(given: Any, table: Table, target: Any, grow_options: dict[str, Any]) -> Tree:
    """Return the tree that was given or typed; without one it is grown."""
    if given is None:
        from treewise.train.grow import grow

        return grow(table, target, **{"preset": "id3", **grow_options})
    if grow_options:
        raise ParameterError(
            "is given, so nothing is grown.", parameter="tree", hint=f"Leave {next(iter(grow_options))} out."
        )
    if not isinstance(given, Tree):
        from treewise.formats.text_format.parse import parse

        given = parse(given, data=table, target=target)
    return adopt_levels(adopt_target(given, table, target), table)


def _rules(parts: list[Part], options: SheetOptions) -> Part:
    """Return how answers are written and marked."""
    blanks = list(blanks_of(parts))
    sentences = []
    if any(blank.kind == "number" for blank in blanks):
        near = f"{options.tolerance:g}" + " per row" * (options.per == "total")
        near += ", weights within 2 %" * any(blank.prompt.startswith("weight D_") for blank in blanks)
        unit = f" In another unit than {options.unit} write it after the number: 0.69 nats."
        sentences.append(
            f"Numbers are decimals, rounded to three places or more, or fractions such as 3/5 (right within {near})."
            + unit * any(blank.unit for blank in blanks)
        )
    sentences.append(
        f"{plural(sum(blank.points for blank in blanks), 'point')}. What follows correctly from an earlier wrong answer"
        " is counted as right."
    )
    return Part("", tuple(sentences))


def _random_exercise(topic: str, seed: Any, options: SheetOptions, grow_options: dict[str, Any]) -> Exercise:
    """Draw tables until one makes an exercise of the topic."""
    if (n := as_integer(seed)) is None or not 0 <= n < 2**63:
        raise ParameterError("must be a whole number, 0 or more.", parameter="random", value=seed)
    last: TreewiseError | None = None
    for table, other in islice(random_tables(n), _MAX_DRAWS):
        try:
            variant = _random_variant(topic, table, other, options, dict(grow_options))
        except ParameterError as error:  # this table has too few nodes or rounds
            last = error
            continue
        if variant is not None:
            return variant
    raise last or ParameterError("found no table for this exercise.", parameter="random", value=seed)


def _random_variant(
    topic: str, table: Table, other: Table, options: SheetOptions, grow_options: dict[str, Any]
) -> Exercise | None:
    """Return the exercise on a random table; None if it is not worth doing."""
    if topic == "leaves":  # a tree that errs: grown on the one table, asked about the other
        tree = _tree_of(None, table, None, grow_options)
        return _make(topic, replace(other, name=table.name), None, None, tree, options, {})
    if topic != "pruning":
        return _make(topic, table, None, None, None, options, grow_options)
    tree = _tree_of(None, table, None, grow_options)
    n_left = tree.prune("reduced_error", validation=other).n_leaves
    if not 1 < n_left < tree.n_leaves:
        return None  # everything is cut, or nothing
    return _make(topic, table, None, other, tree, options, {})
