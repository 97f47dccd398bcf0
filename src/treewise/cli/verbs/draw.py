"""``treewise draw``: a tree as SVG, PNG or PDF; with the path of a row, or histograms of a table in its boxes."""

from __future__ import annotations

from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import grow_source
from treewise.cli.inputs import is_model, read_data, take_model
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output, remark, write_output
from treewise.cli.param_types import read_row
from treewise.cli.predictor import note_unseen_categories, read_typed, remark_on_typed
from treewise.cli.verb import (
    SHOWN,
    choice_option,
    option,
    output_option,
    take_text_options,
    text_options,
    tree_option,
    verb,
)
from treewise.errors import ParameterError


@verb(
    "draw",
    "MODEL [DATA] [-o FILE] [options]\nDATA --target COLUMN [-o FILE] [options]",
    examples=(
        "treewise draw penguins --target species --max-leaf-nodes 4 -o tree.svg",
        "treewise draw model.json -o tree.pdf --direction right --row 'GPA=3.7, University=top20, Published=no'",
        "treewise draw model.json admissions -o tree.png",
    ),
    about="The ending of FILE chooses the format: .svg, .png or .pdf (the latter two need: pip install"
    ' "treewise[plot]"). DATA given with a MODEL adds small histograms of its rows. Given a table, the'
    " tree is grown first, with the options of treewise grow. For a MODEL, --max-depth limits the levels"
    " drawn.",
)
@click.argument("source", metavar="MODEL")
@click.argument("data", metavar="", required=False)
@tree_option
@choice_option("--direction", "down", "right", help="Direction of growth")
@option(
    "--max-leaves",
    type=int,
    metavar="N",
    default=60,
    section=SHOWN,
    help="Maximum number of boxes without children (default 60).",
)
@option("--node", type=int, metavar="N", default=0, section=SHOWN, help="Draw the subtree of this node.")
@option("--row", type=read_row, metavar="'A=1, B=x'", section=SHOWN, help="Highlight the path of this row.")
@option("--histograms", is_flag=True, section=SHOWN, help="Add histograms of the table the tree is grown on.")
@output_option("Write the picture to a file (default: SVG on standard output).")
@grow_options
@text_options
def command(
    source: str,
    data: str | None,
    member: int | None,
    row: dict[str, Any] | None,
    histograms: bool,
    output: str | None,
    **options: Any,
) -> None:
    """Draw a tree."""
    from treewise.show.picture.picture import draw, picture_format

    check_output(output, source, data)
    form = "svg" if output in (None, "-") else picture_format(str(output))
    if form != "svg":
        from treewise.show.picture.render import check_picture_format

        check_picture_format(form)
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    table: Any = None
    if data is None and not is_model(source, grow_params, standard_input=False):
        if histograms and source == "-":
            raise ParameterError("--histograms need the table twice, which standard input cannot give; name a file.")
        tree = grow_source(source, grow_params, text_format, member)[1].tree
        table = read_data(source, grow_params.get("na_values", ()), text_format) if histograms else None
    else:
        options["max_depth"] = grow_params.pop("max_depth", None)
        na_values = grow_params.pop("na_values", ())
        if histograms:
            raise ParameterError(f"--histograms of a MODEL need a table: treewise draw {safe(source)} DATA.")
        tree = take_model(source, grow_params, member).tree
        table = None if data is None else read_data(data, na_values, text_format)
    typed = [] if row is None else [row]
    highlighted = read_typed(tree, typed) if typed else None
    picture = draw(tree, highlight=None if highlighted is None else highlighted.table, data=table, **options)
    write_output(picture.to_bytes(form), output)
    remark_on_typed(tree, typed, [] if highlighted is None else note_unseen_categories(tree, highlighted))
    if output not in (None, "-"):
        remark("", f"{picture.scene.width:.0f} × {picture.scene.height:.0f} pixels → {safe(output)}")
