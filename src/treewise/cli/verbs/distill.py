"""``treewise distill``: grow one tree that imitates a teacher, and report its fidelity."""

from __future__ import annotations

from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import read_validation
from treewise.cli.inputs import looks_like_model, read_data, read_model
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_model_ending, check_output, dump_tree, print_text, remark, write_output
from treewise.cli.param_types import in_options
from treewise.cli.render import json_text, present, print_tree
from treewise.cli.verb import (
    VALIDATION,
    format_option,
    option,
    output_option,
    quiet_option,
    take_text_options,
    text_options,
    tree_option,
    verb,
    whole_option,
)


@verb(
    "distill",
    "TEACHER DATA [-o MODEL] [options]",
    examples=(
        "treewise grow penguins -o full.json && treewise distill full.json penguins --max-leaf-nodes 5 -o tree.json",
        "treewise distill full.json yours.csv --test new.csv --max-depth 4 -o tree.json",
        "treewise distill island penguins --max-leaf-nodes 4",
    ),
    about="TEACHER is a MODEL, an ensemble or a tree, or a column of DATA with recorded decisions. The tree"
    " is grown on the teacher's predictions, with the options of treewise grow; DATA needs no true"
    " labels. Agreement is measured on held-out rows. A limit (--max-leaf-nodes, --max-depth) keeps the"
    " tree small enough to read.",
)
@click.argument("teacher")
@click.argument("data")
@tree_option
@option("--test", metavar="DATA", section=VALIDATION, help="Held-out rows (default: cross-validation on DATA).")
@option("--folds", type=int, metavar="N", section=VALIDATION, help="Number of folds (default 10); 0 for none.")
@grow_options
@text_options
@format_option("text", "json")
@output_option("Save the tree as a model file (.json), or as text to edit (.txt).")
@whole_option
@quiet_option
def command(
    teacher: str,
    data: str,
    member: int | None,
    test: str | None,
    folds: int | None,
    form: str,
    output: str | None,
    show_all: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Predict by the teacher, grow, compare, show, save."""
    from treewise.cli.output import progress_bar
    from treewise.explain.distill.distill import distill

    check_output(output, teacher, data, test)
    check_model_ending(output)
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    teacher_model: Any = (
        read_model(teacher, member=member).model if looks_like_model(teacher) or teacher == "-" else teacher
    )
    grow_params, na_values = read_validation(grow_params, text_format), grow_params.get("na_values", ())
    table = read_data(data, na_values, text_format)
    test_table = None if test is None else read_data(test, na_values, text_format)
    with progress_bar("distill") as progress:
        result = distill(teacher_model, table, test=test_table, folds=folds, progress=progress, **grow_params)
    if output is not None:  # before the page, whose reader may leave early
        write_output(dump_tree(result.tree, output), output)
    for note in () if quiet else result.tree.notes:
        remark("note", in_options(note))
    if output == "-":
        return
    if form == "json":
        write_output(json_text(result.to_dict()), None)
    else:
        present(result)
        print_text("")
        print_tree(result.tree, show_all)
    if output is not None and not quiet:
        remark("", f"saved {safe(output)}")
