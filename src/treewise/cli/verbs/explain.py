"""``treewise explain``: why the tree makes its prediction for a row, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import plural
from treewise.cli.growing import grow_source
from treewise.cli.inputs import LoadedModel, looks_like_model, read_data, take_model
from treewise.cli.new_values import NewValues
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output, print_text
from treewise.cli.param_types import read_names, read_row_numbers
from treewise.cli.predictor import hint_for_typed_rows, read_typed, remark_on_typed
from treewise.cli.render import present, result_options
from treewise.cli.verb import (
    SHOWN,
    TABLE,
    TextOptions,
    estimate_option,
    option,
    row_option,
    take_text_options,
    text_options,
    tree_option,
    verb,
)
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.ensemble import Ensemble
    from treewise.explain.row_explanation.row_explanation import Explanations
    from treewise.explain.shap import ShapValues
    from treewise.tree.model import Model
    from treewise.tree.tree import Tree

_MAX_ROWS = 20  # of a table that are explained unless some are selected


@verb(
    "explain",
    "MODEL --row 'COLUMN=VALUE, …' [options]\nMODEL DATA --rows N,N… [options]\n"
    "DATA --target COLUMN --rows N,N… [options]",
    examples=(
        "treewise grow admissions --preset id3 -o model.json && treewise explain model.json admissions --rows 1,5",
        "treewise explain model.json --row 'GPA=3.7, University=top20, Published=no'",
        "treewise explain penguins --target species --max-depth 3 --rows 17 --desired Gentoo --fixed island,sex",
    ),
    about="Prints the path as a sentence and as a table: the condition of each step, the row's value, the number of"
    " training rows, the probability of the predicted class (or the value) and how the step changed it. Also prints the"
    " nearest counterfactual: the fewest columns to change, then the smallest distance, where numbers are measured in"
    " interquartile ranges and a changed category counts 1. Given a table, the tree is grown first, with the options of"
    " treewise grow.",
)
@click.argument("source", metavar="MODEL")
@click.argument("data", required=False)
@tree_option
@row_option
@option("--rows", type=read_row_numbers, metavar="N,N…", section=TABLE, help="Rows of DATA, by number from 1.")
@option(
    "--desired",
    metavar="CLASS",
    section=SHOWN,
    help="The prediction the counterfactual should reach; for numbers '> 30' or '<= 12.5'.",
)
@option(
    "--fixed",
    type=read_names,
    multiple=True,
    metavar="COLUMN",
    section=SHOWN,
    help="A column that cannot change; repeat it, or separate by commas.",
)
@option("--shap", is_flag=True, section=SHOWN, help="Print the Shapley values of the columns instead.")
@estimate_option
@result_options
@grow_options
@text_options
def command(
    source: str,
    data: str | None,
    member: int | None,
    typed: Sequence[dict[str, Any]],
    rows: list[int] | None,
    desired: str | None,
    fixed: Sequence[list[str]],
    shap: bool,
    estimate: str | None,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Explain rows."""
    check_output(output, source, data)
    if shap and (desired is not None or fixed):
        raise ParameterError(
            "--desired and --fixed are for the counterfactual, which --shap does not compute: leave them out."
        )
    grow_params = take_grow_options(options)
    grows = not looks_like_model(source)
    if source == "-":  # a table if it has a target and its own rows are requested, else a model
        grows = "target" in grow_params and data is None and not typed
    if (typed and (rows is not None or data is not None)) or not (typed or grows or data is not None):
        hint = " (Of a table on standard input, name the --target.)" if source == "-" else ""
        raise ParameterError(
            f"give either --row 'COLUMN=VALUE, …', or DATA and the numbers of its rows, --rows 1,5.{hint}"
        )
    model, table = _model_and_table(source, data, grows, grow_params, take_text_options(options), member)
    if model.ensemble is not None:
        model.refuse_for_ensemble(desired=desired, fixed=fixed, estimate=estimate)
        _explain_by_ensemble(model.ensemble, table, typed, rows, shap, form, output)
        return remark_on_typed(model.ensemble, typed, _typed_notes(model.ensemble, typed))
    tree = model.tree
    if shap:
        present(_shapley(tree, table, typed, rows, estimate), form, output)
    else:
        result = _explain(tree, table, typed, rows, (desired, [name for names in fixed for name in names], estimate))
        present(result[0] if len(result) == 1 else result, form, output)
    return remark_on_typed(tree, typed, _typed_notes(tree, typed))


def _typed_notes(model: Model, typed: Sequence[dict[str, Any]]) -> list[str]:
    return NewValues.of(model, read_typed(model, typed)).unseen_notes(model) if typed else []


def _model_and_table(
    source: str,
    data: str | None,
    grows: bool,
    grow_params: dict[str, Any],
    text_format: TextOptions,
    member: int | None,
) -> tuple[LoadedModel, Table | None]:
    """Read the model, or grow it on the table; and read the table whose rows are to be explained, if there is one."""
    if grows:
        if data is not None:
            raise ParameterError("one table is enough: its tree is grown, and its rows are explained.")
        table = read_data(source, grow_params.get("na_values", ()), text_format)
        return grow_source(table, grow_params, text_format, member)[1], table
    na_values, target = grow_params.pop("na_values", ()), grow_params.pop("target", None)
    model = take_model(source, grow_params, member, target)
    return model, None if data is None else read_data(data, na_values, text_format)


def _explain(
    tree: Tree,
    table: Table | None,
    typed: Sequence[dict[str, Any]],
    rows: list[int] | None,
    request: tuple[Any, Any, Any],
) -> Explanations:
    """Explain typed rows, or the chosen rows of the table; ``request`` is (desired, fixed, estimate)."""
    from treewise.explain.row_explanation.row_explanation import explain_rows, explain_typed

    if typed:
        return explain_typed(tree, read_typed(tree, typed).table, [tuple(row) for row in typed], *request)
    assert table is not None
    return explain_rows(tree, table, _select_rows(table, rows), *request)


def _shapley(
    tree: Tree, table: Table | None, typed: Sequence[dict[str, Any]], rows: list[int] | None, estimate: str | None
) -> ShapValues:
    """Return the Shapley values of the rows instead."""
    import numpy as np

    from treewise.explain.shap import check_all_mentioned

    if typed:
        with hint_for_typed_rows():
            for row in typed:
                check_all_mentioned(tree, row)
        return tree.shap(typed[0] if len(typed) == 1 else list(typed), estimate=estimate)
    assert table is not None
    result = tree.shap(table.take(np.array(_select_rows(table, rows), np.int64)), estimate=estimate)
    return replace(result, values=result.values[0]) if len(result.values) == 1 else result


def _explain_by_ensemble(
    trees: Ensemble,
    table: Table | None,
    typed: Sequence[dict[str, Any]],
    rows: list[int] | None,
    shap: bool,
    form: str | None,
    output: str | None,
) -> None:
    """Explain rows by an ensemble: how far its trees agree, and what each column adds."""
    import numpy as np

    numbers = range(len(typed)) if table is None else _select_rows(table, rows)
    selected = read_typed(trees, typed).table if table is None else table.take(np.array(numbers, np.int64))
    if shap:
        result = trees.shap(selected)
        return present(replace(result, values=result.values[0]) if len(selected) == 1 else result, form, output)
    if len(selected) > 1 and (output is not None or form not in (None, "text")):
        raise ParameterError(
            "for an ensemble, a file or a format other than text takes one row: --rows 1; --shap takes several."
        )
    for i, number in enumerate(numbers):
        if i:
            print_text("")
        if len(selected) > 1:
            print_text(f"row {number + 1:,}")
        present(trees.explain(selected.take(np.array([i]))), form, output)
    return None


def _select_rows(table: Table, rows: list[int] | None) -> Sequence[int]:
    """Return the indices of the selected rows; by default all of a small table."""
    if rows is None:
        if len(table) > _MAX_ROWS:
            raise ParameterError(f"{table.name} has {plural(len(table), 'row')}: say which, as in --rows 1,5.")
        return range(len(table))
    for row in rows:
        if not 1 <= row <= len(table):
            raise ParameterError(f"--rows {row}: {table.name} has rows 1 to {len(table):,}.")
    return [row - 1 for row in rows]
