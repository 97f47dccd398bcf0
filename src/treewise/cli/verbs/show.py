"""``treewise show``: a tree as text, whole or bounded, or what a model file is and needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import grow_source
from treewise.cli.inputs import LoadedModel, is_model, take_model
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import print_text, remark, write_output
from treewise.cli.param_types import in_options
from treewise.cli.records import ensemble_rounds, node_records
from treewise.cli.render import MAX_LINES, json_text, print_styled, screen_width, tree_text
from treewise.cli.verb import (
    SHOWN,
    all_option,
    format_option,
    option,
    take_text_options,
    text_options,
    tree_option,
    verb,
)

if TYPE_CHECKING:
    from treewise.train.training_set import TrainingSet
    from treewise.tree.tree import Tree


@verb(
    "show",
    "MODEL [options]\nDATA --target COLUMN [options]",
    examples=(
        "treewise show model.json --summary",
        "treewise show model.json --node 4 --max-depth 2",
        "treewise show model.json --log",
        "treewise show penguins --target species --max-leaf-nodes 4",
    ),
    about="MODEL is a saved tree (.json) or one written by hand (.txt). Given a table, the tree is grown"
    " first, with the options of treewise grow. For a MODEL, --max-depth limits the levels shown.",
)
@click.argument("source", metavar="MODEL")
@tree_option
@option(
    "--summary",
    is_flag=True,
    section=SHOWN,
    help="Print the size of the model, the columns it needs and how it was made.",
)
@option("--log", is_flag=True, section=SHOWN, help="Print the edits made with treewise explore or tw.Editor, and why.")
@all_option("line")
@option("--node", type=int, metavar="N", default=0, section=SHOWN, help="Start at this node.")
@option(
    "--bars/--no-bars",
    default=None,
    section=SHOWN,
    help="Draw a bar of the class distribution, or of the value, after each line (default: on a colour"
    " terminal with room for it).",
)
@format_option("text", "json")
@grow_options
@text_options
def command(
    source: str,
    member: int | None,
    summary: bool,
    log: bool,
    show_all: bool,
    node: int,
    bars: bool | None,
    form: str,
    **options: Any,
) -> None:
    """Show a tree."""
    from treewise.show.text_tree.text_tree import missing_value_notes

    text_format = take_text_options(options)
    grow_params, shown_depth = take_grow_options(options), None
    if is_model(source, grow_params):
        shown_depth = grow_params.pop("max_depth", None)  # of a tree that is grown: how many levels to show
        model, training_set = take_model(source, grow_params, member), None
    else:
        training_set, model = grow_source(source, grow_params, text_format, member, quiet=summary)
    if model.ensemble is not None:
        model.refuse_for_ensemble(node=node or None, bars=bars, max_depth=shown_depth, log=log or None)
        return _show_ensemble(model, show_all, form)
    tree = model.tree
    if log:
        from treewise.edit.log import EditLog

        edits = EditLog.of(tree)
        if form == "json":
            write_output(json_text(edits.to_dict()), None)
        else:
            print_styled(edits.to_text(screen_width()))
    elif form == "json":
        write_output(json_text(_summary_dict(model) if summary else _tree_dict(tree)), None)
    elif summary:
        print_text(_summary_text(model))
    else:
        for note in missing_value_notes(tree):
            remark("note", note)
        print_styled(_render_tree(tree, training_set, show_all, node, shown_depth, bars))
    return None


def _show_ensemble(model: LoadedModel, show_all: bool, form: str) -> None:
    """Print the summary of an ensemble; for AdaBoost also its rounds."""
    from treewise.cli.render import show_rounds

    ensemble = model.required_ensemble
    if form == "json":
        write_output(json_text({**_summary_dict(model), **ensemble_rounds(ensemble)}), None)
    else:
        print_text(_summary_text(model))
        show_rounds(ensemble, show_all)


def _render_tree(
    tree: Tree, training_set: TrainingSet | None, show_all: bool, node: int, depth: int | None, bars: bool | None
) -> str:
    """Render the tree: whole for a file or a pipe, within bounds on a terminal."""
    unbounded = show_all or not sys.stdout.isatty()
    if depth is None and node == 0 and unbounded:
        return tree_text(tree, bool(bars), training_set)
    lines = None if unbounded else MAX_LINES
    bounds: dict[str, Any] = {"max_lines": lines, "max_depth": depth, "node": node, "width": screen_width()}
    return in_options(tree_text(tree, bars, training_set, **bounds))


# -- the summary ----------------------------------------------------------------------------------------


def _summary_text(model: LoadedModel) -> str:
    """Describe a model in a few lines: its size, the columns it needs, and its history."""
    facts, saved = [], model.saved
    if saved:
        facts += [f"format {saved['format']}", f"treewise {saved['treewise']}"]
    if model.content:
        facts.append(f"sha256 {model.sha256[:12]}…")
    (_, first), *rest = model.model.summary().lines()
    lines = [(safe(model.name), " · ".join([*facts, first])), *rest]
    width = max(len(head) for head, _ in lines)
    return "\n".join(f"{head:<{width}}  {body}" for head, body in lines)


def _summary_dict(model: LoadedModel) -> dict[str, Any]:
    """Return the summary as plain values."""
    sha256 = model.sha256 if model.content else None
    return {"model": model.name, **model.saved, "sha256": sha256, **model.model.summary().to_dict()}


def _tree_dict(tree: Tree) -> dict[str, Any]:
    """Return the tree as plain values."""
    return {"target": tree.target.name, "task": tree.task, "classes": list(tree.classes), "nodes": node_records(tree)}
