"""Grow and prune a tree on rows that are elsewhere, by the parameters of ``grow`` (``train/grow.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise.data.frames import is_dask_frame
from treewise.errors import Param, ParameterError
from treewise.train.column_roles import ColumnRoles
from treewise.train.grow import DISPLAY, PRUNING, SEARCHES, StageProgress, pruning_for, read_options, record_cost
from treewise.train.grow_source import check_source_settings, grow_on
from treewise.train.round_thresholds import read_share
from treewise.train.settings import Settings
from treewise.train.source import Source, TrainingSummary
from treewise.train.summary import check_source_roles
from treewise.tree.tree import Tree

OpenSource = Callable[[ColumnRoles, Settings], AbstractContextManager[Source]]


def find_source(data: Any, engine: Any = None, show_queries: bool | Callable[[str], None] = False) -> OpenSource | None:
    """Return how to open a table whose rows are counted elsewhere; None for one that is read into memory."""
    from treewise.data.relation import Relation

    if isinstance(engine, str) and engine == "memory":
        return None
    on_query = _query_callback(show_queries)
    relation = Relation.of(data, on_query) if engine is None else None
    if relation is not None:
        from treewise.sources.queries import QuerySource

        return partial(QuerySource.open, relation)
    if on_query is not None:
        raise ParameterError(
            "is for tables of a database, such as a DuckDB relation.",
            parameter="show_queries",
            hint="Leave it out.",
        )
    if engine is None and not is_dask_frame(data):
        return None
    from treewise.sources.dask_source import dask_source

    return dask_source(data, engine)


def _query_callback(show_queries: object) -> Callable[[str], None] | None:
    if show_queries is None or isinstance(show_queries, bool | np.bool_):
        return partial(print, end=";\n") if show_queries else None
    if not callable(show_queries) or isinstance(show_queries, type):
        raise ParameterError(
            "must be True or a function that receives each query.", parameter="show_queries", value=show_queries
        )
    return show_queries


def fit_source(
    open_source: OpenSource,
    target: Any,
    options: Mapping[str, Any],
    *,
    on_prepared: Callable[[TrainingSummary], None] | None = None,
    on_grown: Callable[[Tree], None] | None = None,
    progress: StageProgress | None = None,
) -> Tree:
    """Grow a tree on a source; ``train.grow.fit`` explains the parameters."""
    from treewise.prune.grow_and_prune import note_no_split_left, prune_grown

    options = {
        name: value for name, value in options.items() if name not in ("n_jobs", "memory", "engine", "show_queries")
    }
    search = options.pop("search", "greedy")
    check_choice("search", search, SEARCHES)
    words = {name: options.pop(name, None) for name in DISPLAY}
    pruning = {name: options.pop(name) for name in PRUNING if name in options}
    _refuse_rows(options.pop("round_thresholds", None), search, **pruning)
    plan = pruning_for(options.get("preset"), **pruning)
    roles, settings, cost = read_options(target, options)
    stage: StageProgress = progress or (lambda _: nullcontext())
    with open_source(check_source_roles(roles), settings) as source:
        summary = source.summary = record_cost(source.summary, cost)
        check_source_settings(summary)
        if on_prepared is not None:
            on_prepared(summary)
        with stage("grow") as report:
            tree = grow_on(source, report)
    if on_grown is not None:
        on_grown(tree)
    if plan is not None:
        full_tree, tree = tree, prune_grown(tree, summary, plan)
        if tree.n_leaves == 1 and full_tree.n_leaves > 1:
            tree = tree.with_(notes=(*tree.notes, *note_no_split_left(full_tree, tree, summary, plan)))
    return tree.with_display(**words) if any(given is not None for given in words.values()) else tree


def _refuse_rows(
    round_thresholds: Any = None,
    search: str = "greedy",
    pruning: Any = None,
    validation: Any = None,
    honest: Any = None,
    ccp_alpha: float = 0,
) -> None:
    """Refuse parameters that need the rows themselves, and not sums over them."""
    del ccp_alpha
    method = pruning.get("method") if isinstance(pruning, Mapping) else pruning
    raises = isinstance(pruning, Mapping) and pruning.get("raising")
    held_out_pruning = "Use " + Param("pruning", "reduced_error") + " and " + Param("validation", "valid.csv") + "."
    held_out = "Give a table of other rows: " + Param("validation", "valid.csv") + "."
    for name, value, is_refused, hint in (
        ("round_thresholds", round_thresholds, read_share(round_thresholds) is not None, "Leave it out."),
        ("search", search, search != "greedy", "Leave it out."),
        ("honest", honest, honest is not None, "Leave it out."),
        ("validation", validation, isinstance(validation, float), held_out),
        ("pruning", pruning, method == "cv", held_out_pruning),
        ("pruning", pruning, raises, "Leave out raising."),
    ):
        if is_refused:
            rule = "needs the rows in memory, and they are elsewhere."
            raise ParameterError(rule, parameter=name, value=value, hint=hint)
