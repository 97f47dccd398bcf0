"""``treewise distill``: one tree that says what a teacher says, and how faithful it is."""

from __future__ import annotations

from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.inputs import looks_like_model, read_data, read_model
from treewise.cli.messages import in_options
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_place, deliver, remark, say
from treewise.cli.render import present, say_styled
from treewise.cli.shared_options import quiet_option, take_text_options, text_options, tree_option, whole_option
from treewise.cli.tables import json_text
from treewise.cli.verb import JUDGES, format_option, option, output_option, verb
from treewise.cli.verbs.grow import check_ending, drawn, written_form


@verb(
    "distill",
    "TEACHER DATA [-o MODEL] [options]",
    examples=(
        "treewise grow penguins -o full.json && treewise distill full.json penguins --max-leaf-nodes 5 -o tree.json",
        "treewise distill full.json yours.csv --test new.csv --max-depth 4 -o tree.json",
        "treewise distill island penguins --max-leaf-nodes 4",
    ),
    about="TEACHER is a MODEL, of many trees or one, or a column of DATA with what somebody did. The tree is grown on"
    " the teacher's answers, with the options of treewise grow; DATA needs no true ones. How often both say the same is"
    " counted on rows the tree has not seen. A limit (--max-leaf-nodes, --max-depth) keeps it small enough to read.",
)
@click.argument("teacher")
@click.argument("data")
@tree_option
@option("--test", metavar="DATA", section=JUDGES, help="Rows the tree has not seen (default: folds of DATA).")
@option("--folds", type=int, metavar="N", section=JUDGES, help="How many folds (default 10); 0 for none.")
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
    whole: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Ask the teacher, grow, compare, show, save."""
    from treewise.cli.progress import bar
    from treewise.explain.distill.distill import distill

    check_place(output, teacher, data, test)
    check_ending(output)
    text, asked = take_text_options(options), take_grow_options(options)
    who: Any = read_model(teacher, member=member).made if looks_like_model(teacher) or teacher == "-" else teacher
    na_values = asked.pop("na_values", ())
    table = read_data(data, na_values, text)
    if isinstance(asked.get("validation"), str):
        asked["validation"] = read_data(asked["validation"], na_values, text)
    other = None if test is None else read_data(test, na_values, text)
    with bar("distill") as progress:
        found = distill(who, table, test=other, folds=folds, progress=progress, **asked)
    if output is not None:  # before the page, whose reader may leave early
        deliver(written_form(found.tree, output), output)
    for note in () if quiet else found.tree.notes:
        remark("note", in_options(note))
    if output == "-":
        return
    if form == "json":
        deliver(json_text(found.to_dict()), None)
    else:
        present(found)
        say("")
        say_styled(drawn(found.tree, whole))
    if output is not None and not quiet:
        remark("", f"saved {safe(output)}")
