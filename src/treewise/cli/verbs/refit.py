"""``treewise refit``: keep the splits of a tree, and recompute its nodes on a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.inputs import read_model_and_data
from treewise.cli.output import check_model_ending, check_output, dump_tree, remark, write_output
from treewise.cli.param_types import in_options
from treewise.cli.records import print_model_record, refuse_json_beside_model
from treewise.cli.render import print_tree
from treewise.cli.verb import (
    format_option,
    na_option,
    output_option,
    quiet_option,
    take_text_options,
    target_option,
    text_options,
    tree_option,
    verb,
    weight_option,
    whole_option,
)


@verb(
    "refit",
    "MODEL DATA [-o MODEL] [options]",
    examples=(
        "treewise refit stnordaf.txt admissions -o officials.json",
        "treewise refit model.json new.csv -o model.json",
    ),
    about="Gives a tree written by hand counts and probabilities at every node, so that it can be pruned. A"
    " leaf without rows keeps its class. treewise evaluate shows beforehand what will change.",
)
@click.argument("model")
@click.argument("data")
@tree_option
@target_option("the one the tree predicts")
@na_option
@text_options
@weight_option
@output_option("Save the tree as a model file (.json), or as text to edit (.txt).")
@format_option("text", "json")
@whole_option
@quiet_option
def command(
    model: str,
    data: str,
    member: int | None,
    target: str | None,
    na_values: Sequence[str],
    sample_weight: str | None,
    output: str | None,
    form: str,
    show_all: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Recompute, show, save."""
    from treewise.train.target import adopt_target

    check_output(output, data)
    refuse_json_beside_model(form, output)
    check_model_ending(output)
    loaded, table = read_model_and_data(model, data, na_values, target, take_text_options(options), member)
    tree = adopt_target(loaded.tree, table, target).refit(table, sample_weight=sample_weight)
    if output is not None:  # before the page, whose reader may leave early
        write_output(dump_tree(tree, output), output)
    for note in () if quiet else tree.notes:
        remark("note", in_options(note))
    if output == "-":
        return None
    if form == "json":
        return print_model_record(tree, output)
    print_tree(tree, show_all)
    if output is not None and not quiet:
        remark("", f"saved {safe(output)}")
    return None
