"""``treewise draw``: trees as SVG, PNG, PDF or TikZ: one, several side by side, or the steps of growth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.growing import grow_source
from treewise.cli.inputs import is_model, looks_like_model, read_data, read_model, take_model
from treewise.cli.new_values import NewValues
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output, remark, write_output
from treewise.cli.param_types import read_names, read_row
from treewise.cli.predictor import read_typed, remark_on_typed
from treewise.cli.render import json_text
from treewise.cli.verb import (
    SHOWN,
    choice_option,
    image_options,
    option,
    output_option,
    take_text_options,
    text_options,
    tree_option,
    unit_option,
    verb,
)
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.cli.verb import TextOptions
    from treewise.data.table import Table
    from treewise.show.picture.picture import Picture
    from treewise.tree.tree import Tree

BESIDE_HELP = "Draw the table and the code of the tree beside it (chapter 8, figure 8.1)."
_FORMATS = ("svg", "png", "pdf", "tikz", "json")


@verb(
    "draw",
    "MODEL… [DATA] [-o FILE] [options]\nDATA --target COLUMN [-o FILE] [options]",
    examples=(
        "treewise draw penguins --target species --max-leaf-nodes 4 -o tree.svg",
        "treewise draw model.json -o tree.pdf --direction right --row 'GPA=3.7, University=top20, Published=no'",
        "treewise draw model.json admissions -o tree.png",
        "treewise draw seven_points --show counts,impurity,gain --questions --size 13.33x7.5 -o slide.png",
        "treewise draw model.json -o tree.tex",
        "treewise draw seven_points --steps -o growth.html",
    ),
    about="The ending of FILE chooses the format: .svg, .png, .pdf (the latter two need: pip install"
    ' "treewise[plot]") or .tex, for the LaTeX package forest. DATA given with a MODEL adds small histograms of its'
    " rows. Given a table, the tree is grown first, with the options of treewise grow. For a MODEL, --max-depth limits"
    " the levels drawn. Several MODELs are drawn side by side in the same colours. --steps draws the growth of a tree"
    " split by split; of two MODELs, the second is a pruned version of the first, and its cuts follow. As .html the"
    " steps are a page with a slider.",
)
@click.argument("given", nargs=-1, required=True, metavar="MODEL… [DATA]")
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
@option("--steps", is_flag=True, section=SHOWN, help="Draw the growth step by step, as a strip or an .html page.")
@option("--beside", type=read_names, metavar="table,code", section=SHOWN, help=BESIDE_HELP)
@option(
    "--show",
    type=read_names,
    metavar="A,B,…",
    section=SHOWN,
    help="Further lines of the boxes: counts, impurity, gain.",
)
@option("--questions", is_flag=True, section=SHOWN, help='Ask "Is x1 ≤ 0.5?" with the answers Y and N.')
@option("--rows", is_flag=True, section=SHOWN, help="List the rows of the table in the boxes, by their numbers.")
@option("--row-names", metavar="COLUMN", section=SHOWN, help="List the rows, by the values of this column.")
@option("--across", type=int, metavar="N", section=SHOWN, help="How many trees or steps stand beside each other.")
@option("--x", metavar="COLUMN", section=SHOWN, help="Of the page of --steps: column across the regions.")
@option("--y", metavar="COLUMN", section=SHOWN, help="Of the page of --steps: column up.")
@unit_option
@option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    metavar="|".join(_FORMATS),
    help="Format (default: by the ending); json says on standard output what was drawn in -o FILE.",
)
@option("--fragment", is_flag=True, help="Of TikZ, write only the forest, for a document of your own.")
@output_option("Write the picture to a file (default: SVG on standard output).")
@image_options
@grow_options
@text_options
def command(
    given: Sequence[str],
    member: int | None,
    row: dict[str, Any] | None,
    histograms: bool,
    steps: bool,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Draw trees."""
    from treewise.show.picture.picture import draw, draw_trees
    from treewise.show.picture.render import check_picture_format

    check_output(output, *given)
    is_record = form == "json"
    if is_record:
        if output in (None, "-"):
            raise ParameterError("--format json tells what was drawn; the picture itself needs a file: -o FILE.")
        form = None
    is_page = steps and form is None and Path(output or "").suffix.lower() in (".html", ".htm")
    form = _choose_format(form, output, is_page)
    if form in ("png", "pdf"):
        check_picture_format(form)
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    row_names, beside = options.pop("row_names"), options.pop("beside")
    plane = {name: options.pop(name) for name in ("x", "y")}
    if not is_page and any(plane.values()):
        raise ParameterError("--x and --y are for the page of --steps: -o FILE.html.")
    options["rows"] = options["rows"] if row_names is None else row_names
    options["show"] = options["show"] or ()
    needs_rows = histograms or options["rows"] is not False or is_page or bool(beside)
    trees, table = _read_trees(given, grow_params, text_format, member, needs_rows, histograms, options)
    if histograms and len(given) == 1 and is_model(given[0], grow_params, standard_input=False):
        raise ParameterError(f"--histograms of a MODEL need a table: treewise draw {safe(given[0])} DATA.")
    tree = next(iter(trees.values()))
    typed = [] if row is None else [row]
    highlighted = read_typed(tree, typed) if typed else None
    if steps:
        picture = _draw_steps(list(trees.values()), output if is_page else None, data=table, **plane, **options)
    elif len(trees) > 1:
        picture = draw_trees(trees, data=table, **options)
    else:
        if options.pop("across") is not None:
            raise ParameterError("--across is for several MODELs, or --steps.")
        if beside:
            options |= {"beside": beside}
        picture = draw(tree, highlight=None if highlighted is None else highlighted.table, data=table, **options)
    if not is_page:
        write_output(picture.to_bytes(form), output)
    remark_on_typed(tree, typed, [] if highlighted is None else NewValues.of(tree, highlighted).unseen_notes(tree))
    if is_record:
        record = {"file": output, "format": "html" if is_page else form, "description": picture.description}
        write_output(json_text({**record, "trees": [each.summary().to_dict() for each in trees.values()]}), None)
    elif output not in (None, "-"):
        what = plural(len(picture.panels) if steps else len(trees), "step" if steps else "tree")
        remark("", f"{what if is_page or form == 'tikz' else picture.description} → {safe(output)}")


def _choose_format(form: str | None, output: str | None, is_page: bool) -> str:
    from treewise.show.picture.picture import picture_format

    return form or ("svg" if output in (None, "-") or is_page else picture_format(str(output)))


def _read_trees(
    given: Sequence[str],
    grow_params: dict[str, Any],
    text_format: TextOptions,
    member: int | None,
    needs_rows: bool,
    histograms: bool,
    options: dict[str, Any],
) -> tuple[dict[str, Tree], Table | None]:
    """Read the models, each by its name, and the table; or grow one tree on the table."""
    na_values = grow_params.get("na_values", ())
    if len(given) == 1 and not is_model(given[0], grow_params, standard_input=False):
        if needs_rows and given[0] == "-":
            what = "--histograms" if histograms else "the rows"
            raise ParameterError(f"{what} need the table twice, which standard input cannot give; name a file.")
        tree = grow_source(given[0], grow_params, text_format, member)[1].tree
        return {given[0]: tree}, read_data(given[0], na_values, text_format) if needs_rows else None
    options["max_depth"] = grow_params.pop("max_depth", None)
    grow_params.pop("na_values", ())
    *models, last = given
    has_table = bool(models) and not looks_like_model(last)
    trees: dict[str, Tree] = {}
    for i, name in enumerate(models if has_table else given):
        model = take_model(name, grow_params, member) if not i else read_model(name).pick_tree(member)
        title = model.name
        while title in trees:
            title += "'"
        trees[title] = model.tree
    return trees, read_data(last, na_values, text_format) if has_table else None


def _draw_steps(trees: list[Tree], page: str | None, **options: Any) -> Picture:
    if len(trees) > 2:
        raise ParameterError("--steps draws one MODEL, or two: a tree and its pruned version.")
    pruned = trees[1] if len(trees) > 1 else None
    return trees[0].draw_steps(page, pruned=pruned, **options)
