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
    whole: bool,
    node: int,
    bars: bool | None,
    form: str,
    **options: Any,
) -> None:
    """Show a tree."""
    from treewise.show.text_tree.text_tree import missing_value_notes

    text_form = take_text_options(options)
    asked, shown_depth = take_grow_options(options), None
    if is_model(source, asked):
        shown_depth = asked.pop("max_depth", None)  # of a tree that is grown: how many levels to show
        model, training_set = take_model(source, asked, member), None
    else:
        training_set, model = grow_source(source, asked, text_form, member, quiet=summary)
    if model.many is not None:
        model.refuse_for_ensemble(node=node or None, bars=bars, max_depth=shown_depth)
        return _show_many(model, whole, form)
    tree = model.tree
    if form == "json":
        write_output(json_text(_summary_of(model) if summary else _nodes_of(tree)), None)
    elif summary:
        print_text(_summary_text(model))
    else:
        for note in missing_value_notes(tree):
            remark("note", note)
        print_styled(_shown_tree(tree, training_set, whole, node, shown_depth, bars))
    return None


def _show_many(model: LoadedModel, whole: bool, form: str) -> None:
    """Say what many trees are; of boosting, its rounds."""
    from treewise.cli.render import show_rounds

    if form == "json":
        rounds = {"rounds": model.trees.rounds.result_table().records()} if model.trees.method == "adaboost" else {}
        write_output(json_text({**_summary_of(model), **rounds}), None)
    else:
        print_text(_summary_text(model))
        show_rounds(model.trees, whole)


def _shown_tree(
    tree: Tree, training_set: TrainingSet | None, whole: bool, node: int, depth: int | None, bars: bool | None
) -> str:
    """Draw the tree: whole into a file or a pipe, within bounds on a screen."""
    unbounded = whole or not sys.stdout.isatty()
    if depth is None and node == 0 and unbounded:
        return tree_text(tree, bool(bars), training_set)
    lines = None if unbounded else MAX_LINES
    bounds: dict[str, Any] = {"max_lines": lines, "max_depth": depth, "node": node, "width": screen_width()}
    return in_options(tree_text(tree, bars, training_set, **bounds))


# -- the summary ----------------------------------------------------------------------------------------


def _summary_text(model: LoadedModel) -> str:
    """Say in a few lines what a model is, which columns it needs, and how it was made."""
    facts, saved = [], model.saved
    if saved:
        facts += [f"format {saved['format']}", f"treewise {saved['treewise']}"]
    if model.content:
        facts.append(f"sha256 {model.sha256[:12]}…")
    (_, first), *others = model.made.summary().lines()
    lines = [(safe(model.name), " · ".join([*facts, first])), *others]
    width = max(len(head) for head, _ in lines)
    return "\n".join(f"{head:<{width}}  {body}" for head, body in lines)


def _summary_of(model: LoadedModel) -> dict[str, Any]:
    """Return the summary as plain values."""
    sha256 = model.sha256 if model.content else None
    return {"model": model.name, **model.saved, "sha256": sha256, **model.made.summary().to_dict()}


def _nodes_of(tree: Tree) -> dict[str, Any]:
    """Return the nodes as plain values, flat: a list of nodes that name their parent."""
    nodes = [
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
        }
        for n in tree
    ]
    return {"target": tree.target.name, "task": tree.task, "classes": list(tree.classes), "nodes": nodes}
