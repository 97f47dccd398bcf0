"""``treewise prune``: prune a model and list every decision, or list its nested subtrees."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import pruning_summary
from treewise.cli.inputs import read_data, read_model
from treewise.cli.output import (
    check_model_ending,
    check_output,
    dump_tree,
    is_ascii_only,
    print_text,
    remark,
    write_output,
)
from treewise.cli.param_types import option_name, read_at, read_method
from treewise.cli.render import json_text, print_tree
from treewise.cli.verb import (
    CROSS_VALIDATION,
    LOSS_HELP,
    PRUNING,
    REPEATS_HELP,
    SHOWN,
    TO_A_SIZE,
    format_option,
    na_option,
    option,
    output_option,
    take_text_options,
    text_options,
    tree_option,
    verb,
)
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.tree.tree import Tree

_TABLES = ("validation", "data")


@verb(
    "prune",
    "MODEL [DATA] --method METHOD [options] [-o MODEL]\n"
    "MODEL --max-leaf-nodes N | --max-depth N | --at N,N,… [-o MODEL]\nMODEL --cp-table",
    examples=(
        "treewise grow outlier -o full.json && treewise prune full.json --method reduced_error"
        " --validation outlier_validation",
        "treewise grow penguins -o full.json && treewise prune full.json penguins --method cv -o model.json",
        "treewise prune model.json --cp-table",
        "treewise prune model.json --at 1",
    ),
    about="DATA is the table the tree was grown on, for the methods that need it. METHOD is cv (with DATA; the size is"
    " chosen by cross-validation), reduced_error (--validation), gain (--threshold, --measure), cost_complexity"
    " (--ccp-alpha), pessimistic (--confidence, --raising with DATA), mdl or collapse.",
)
@click.argument("model")
@click.argument("data", metavar="", required=False)
@tree_option
@option(
    "--method",
    type=read_method,
    metavar="METHOD",
    section=PRUNING,
    help="Pruning method; without one, prune to a size. Options may follow, as in grow: cv:rule=best.",
)
@option("--validation", metavar="DATA", section=PRUNING, help="For reduced_error: a table the tree has not seen.")
@option("--order", metavar="bottom-up|top-down", section=PRUNING, help="For reduced_error (default bottom-up).")
@option("--threshold", type=float, metavar="X", section=PRUNING, help="For gain: minimum gain (default 0.01).")
@option("--measure", metavar="accuracy|criterion", section=PRUNING, help="For gain: which gain (default accuracy).")
@option("--ccp-alpha", type=float, metavar="X", section=PRUNING, help="For cost_complexity: penalty per leaf.")
@option(
    "--risk",
    metavar="impurity|error",
    section=PRUNING,
    help="For cost_complexity (default impurity) and cv (default as the loss needs it).",
)
@option(
    "--confidence",
    type=float,
    metavar="X",
    section=PRUNING,
    help="For pessimistic: above 0, at most 0.5 (default 0.25, as C4.5).",
)
@option(
    "--raising", is_flag=True, default=None, section=PRUNING, help="For pessimistic: also raise subtrees; needs --data."
)
@option("--data", "data_option", metavar="DATA", section=CROSS_VALIDATION, help="The same as the argument DATA.")
@option("--loss", metavar="LOSS", section=CROSS_VALIDATION, help=f"For cv: {LOSS_HELP}")
@option("--folds", type=int, metavar="N", section=CROSS_VALIDATION, help="Number of folds (default 10).")
@option("--repeats", type=int, metavar="N", section=CROSS_VALIDATION, help=REPEATS_HELP)
@option("--groups", metavar="COLUMN", section=CROSS_VALIDATION, help="Folds hold out whole groups of rows.")
@option("--time", metavar="COLUMN", section=CROSS_VALIDATION, help="Folds go forward in time.")
@option(
    "--rule",
    metavar="1se|best",
    section=CROSS_VALIDATION,
    help="The smallest tree within one standard error of the best, or the best (default 1se).",
)
@option("--random-state", type=int, metavar="N", section=CROSS_VALIDATION, help="Seed of the folds (default 0).")
@option(
    "--max-leaf-nodes",
    type=int,
    metavar="N",
    section=TO_A_SIZE,
    help="Maximum number of leaves, in the order of growth.",
)
@option("--max-depth", type=int, metavar="N", section=TO_A_SIZE, help="Maximum depth.")
@option("--at", type=read_at, metavar="N,N,…", section=TO_A_SIZE, help="Turn these nodes into leaves.")
@na_option
@text_options
@option(
    "--cp-table",
    is_flag=True,
    section=SHOWN,
    help="Print the nested sequence of subtrees, like rpart's printcp, without pruning.",
)
@option("--all", "show_all", is_flag=True, section=SHOWN, help="Print all decisions and the whole tree.")
@format_option("text", "json")
@output_option("Save the pruned tree as a model file (.json), or as text to edit (.txt).")
@option("-q", "--quiet", is_flag=True, help="Print only the tree.")
def command(
    model: str,
    data: str | None,
    data_option: str | None,
    member: int | None,
    cp_table: bool,
    show_all: bool,
    form: str,
    output: str | None,
    quiet: bool,
    na_values: Sequence[str],
    **options: Any,
) -> None:
    """Prune a tree; print the decisions and the tree, and save it."""
    if data is not None and data_option is not None:
        raise ParameterError("DATA is given twice, as an argument and by --data. Leave one out.")
    options["data"] = data or data_option
    check_output(output, model, options["data"])
    check_model_ending(output)
    text_format = take_text_options(options)
    if isinstance(options["method"], dict):  # with options after a colon
        options |= options["method"]
    prune_options = {name: value for name, value in options.items() if value is not None}
    tree = read_model(model, member=member).tree
    if cp_table:
        _print_cp_table(tree, prune_options, form)
        return
    for name in _TABLES:
        if name in prune_options:
            prune_options[name] = read_data(prune_options[name], na_values, text_format)
    started = time.monotonic()
    pruned = tree.prune(**prune_options)
    seconds = time.monotonic() - started
    if output is not None:  # before the page, whose reader may leave early
        write_output(dump_tree(pruned, output), output)
    _show_pruned(pruned, form, show_all, quiet, seconds, to_output=output == "-")
    if output not in (None, "-") and not quiet:
        remark("", f"saved {safe(output)}")


def _show_pruned(tree: Tree, form: str, show_all: bool, quiet: bool, seconds: float, to_output: bool) -> None:
    """Print the decisions and the tree; only a remark if the model itself is written to standard output."""
    from treewise.tree.history import cut_lines, decision_lines, describe_outcome

    step, pruning = tree.history[-1], tree.fit_info.pruning
    assert pruning is not None
    if not quiet:
        is_on_page = form == "text" and not to_output
        remark("prune", f"{seconds:.1f} s" + ("" if is_on_page else f"   {pruning_summary(pruning)}"))
        for note in () if is_on_page else pruning.notes:
            remark("note", note)
    if to_output:
        return
    if form == "json":
        write_output(json_text(dict(step)), None)
        return
    if not quiet:
        _, *rest = decision_lines(step, show_all=True) if show_all else cut_lines(step, "--all")
        lines = "\n".join([_as_command(step) + describe_outcome(step), *rest])
        print_text(lines.encode("ascii", "replace").decode() if is_ascii_only(sys.stdout) else lines)
        if pruning.cp_table is not None:
            print_text("")
            print_text(str(tree.cp_table))
        print_text("")
    print_tree(tree, show_all)


def _as_command(step: Mapping[str, Any]) -> str:
    """Return a pruning with its options, as they are typed.

    >>> _as_command({"method": "pessimistic", "options": {"confidence": 0.1, "raising": True}})
    'prune --method pessimistic --confidence 0.1 --raising'
    """
    method = {"method": step["method"]} if "method" in step else {}
    options = {**method, **step.get("options", {})}
    if step.get("method") == "cv":
        options.pop("ccp_alpha", None)  # which it has chosen
    words = [f"{option_name(name)} {_typed(value)}".rstrip() for name, value in options.items()]
    return safe(" ".join(["prune", *words]))


def _typed(value: Any) -> str:
    if value is True:
        return ""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _print_cp_table(tree: Tree, prune_options: dict[str, Any], form: str) -> None:
    """Print the cp table of a model as it is."""
    if prune_options:
        raise ParameterError(
            f"--cp-table cuts nothing, so --{next(iter(prune_options)).replace('_', '-')} has no part in it."
        )
    table = tree.cp_table
    if form == "json":
        write_output(json_text({"root_error": table.root_error, "rows": [row._asdict() for row in table]}), None)
    else:
        print_text(str(table))
