"""``treewise regions``: what trees predict over two columns, side by side, as a picture; or a grid of a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.inputs import looks_like_model, read_data, read_model_and_data
from treewise.cli.output import check_output, remark, write_output
from treewise.cli.param_types import read_fixed, read_varied
from treewise.cli.render import check_picture, is_picture, json_text, picture_content
from treewise.cli.verb import (
    SHOWN,
    format_option,
    image_options,
    na_option,
    option,
    output_option,
    take_image_options,
    take_text_options,
    target_option,
    text_options,
    tree_option,
    verb,
)
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.cli.verb import TextOptions
    from treewise.data.table import Table
    from treewise.tree.tree import Tree


@verb(
    "regions",
    "MODEL… DATA… --x COLUMN --y COLUMN -o FILE\nDATA --x COLUMN --y COLUMN -o FILE",
    examples=(
        "treewise grow outlier -o model.json && treewise regions model.json outlier_validation -o regions.png",
        "treewise regions model.json pruned.json new.csv --x age --y pulse --fixed sex=male -o regions.svg",
        "treewise regions four_points --points --row-names abcd -o points.png",
        "treewise regions noisy -o grid.png",
        "treewise regions yours.csv --target COLUMN --x age --y pulse --vary max_depth=1,2,4,8 -o grid.pdf",
    ),
    about="Areas have the colour of the predicted class, paler where it is less probable; points are the rows"
    " of DATA, with a dark edge where the prediction is wrong. Several models are drawn side by side."
    " Without a MODEL, trees are grown on the two columns with increasing flexibility: depth, rows to"
    " split, rows per leaf.",
)
@click.argument("given", nargs=-1, required=True, metavar="MODEL… DATA")
@option("--x", metavar="COLUMN", section=SHOWN, help="Column across (default: the first one used in a split).")
@option("--y", metavar="COLUMN", section=SHOWN, help="Column up (default: the next one).")
@option(
    "--fixed",
    type=read_fixed,
    multiple=True,
    metavar="COLUMN=VALUE",
    section=SHOWN,
    help="Fix another column at a value (default: its median or most frequent value).",
)
@option(
    "--vary",
    type=read_varied,
    multiple=True,
    metavar="PARAMETER=A,B,…",
    section=SHOWN,
    help="Without a MODEL: grow a row of trees with these values of a parameter.",
)
@option("--points", is_flag=True, section=SHOWN, help="Draw the rows of DATA alone, without a model.")
@option(
    "--row-names", metavar="COLUMN|abc…", section=SHOWN, help="Names beside the points: a column, or a letter for each."
)
@option("--with-tree", is_flag=True, section=SHOWN, help="Draw the tree beside its regions (for a single MODEL).")
@tree_option
@target_option("the tree's")
@na_option
@text_options
@image_options
@format_option("text", "json", text="How to say on standard output what was drawn")
@output_option("The picture to write: .png, .svg or .pdf.")
def command(
    given: Sequence[str],
    x: str | None,
    y: str | None,
    fixed: Sequence[tuple[str, str | None]],
    vary: Sequence[tuple[str, list[float]]],
    points: bool,
    row_names: str | None,
    with_tree: bool,
    member: int | None,
    target: str | None,
    na_values: Sequence[str],
    output: str | None,
    form: str,
    **options: Any,
) -> None:
    """Draw, and write."""
    if output is None or not is_picture(output):
        raise ParameterError("-o FILE says where to draw: a name that ends in .png, .svg or .pdf.")
    check_output(output, *given)
    check_picture(output)
    text_format, image = take_text_options(options), take_image_options(options)
    names: Any = False if row_names is None else row_names
    if points:
        if len(given) != 1 or vary or fixed or with_tree or member is not None:
            raise ParameterError("--points draws the rows of one table alone. Leave models and their options out.")
        from treewise.show.regions.regions import draw_points

        table = read_data(given[0], na_values, text_format)
        axes: Sequence[Any] = [draw_points(table, x, y, target=target, rows=names, **image)]
    elif len(given) == 1 and not looks_like_model(given[0]):
        if with_tree:
            raise ParameterError("--with-tree is for one MODEL. Leave it out.")
        if member is not None:
            raise ParameterError("--tree picks one of a MODEL's trees, and no MODEL is given. Leave it out.")
        if fixed:
            raise ParameterError("--fixed is for trees that use other columns; these are grown on two. Leave it out.")
        axes = _grid(read_data(given[0], na_values, text_format), target, x, y, dict(vary), image)
    else:
        if vary:
            raise ParameterError("--vary grows trees anew, on DATA alone. Leave the models out, or --vary.")
        models = [name for name in given[:-1] if looks_like_model(name)] or list(given[:-1])
        data, *further = [name for name in given[:-1] if name not in models] + [given[-1]]
        trees, table = _read_models(models, data, na_values, target, text_format, member)
        tables = [table, *(read_data(name, na_values, text_format) for name in further)]
        across, up = _choose_columns(list(trees.values()), x, y)
        drawn: dict[str, Any] = {"fixed": dict(fixed), "target": target, "with_tree": with_tree, "rows": names}
        axes = _side_by_side(trees, tables, across, up, **drawn, **image)
    first, *_ = axes
    write_output(picture_content(first, output), output)
    if form == "json":
        panels = [{"title": one.get_title(), "x": one.get_xlabel(), "y": one.get_ylabel()} for one in axes]
        write_output(json_text({"file": output, "panels": panels}), None)
    else:
        remark("", f"{plural(len(axes), 'picture')} → {safe(output)}")


def _grid(
    table: Table,
    target: str | None,
    x: str | None,
    y: str | None,
    vary: dict[str, list[float]],
    image: dict[str, Any],
) -> Sequence[Any]:
    """Grow trees with increasing complexity, and draw them."""
    from treewise.show.regions.regions import draw_regions_grid

    return list(draw_regions_grid(table, target, x, y, vary=vary or None, **image).flat)


def _read_models(
    models: Sequence[str],
    data: str,
    na_values: Sequence[str],
    target: str | None,
    text_format: TextOptions,
    member: int | None,
) -> tuple[dict[str, Tree], Table]:
    """Read saved trees, each by the name of its file, and the table; from ensembles, the tree ``member``."""
    from treewise.cli.inputs import read_model

    if not models:
        raise ParameterError(f"regions needs a table too: treewise regions {safe(data)} DATA.")
    first, table = read_model_and_data(models[0], data, na_values, target, text_format)
    trees: dict[str, Tree] = {}
    loaded = [first, *(read_model(name, target) for name in models[1:])]
    if all(model.ensemble is None for model in loaded):
        loaded[0] = first.pick_tree(member)  # refuses a number
    for model in [model.pick_tree(member) if model.ensemble is not None else model for model in loaded]:
        name = model.name
        while name in trees:
            name += "'"
        trees[name] = model.tree
    return trees, table


def _side_by_side(trees: Mapping[str, Tree], tables: Sequence[Table], x: str, y: str, **options: Any) -> Sequence[Any]:
    """Draw trees on one table, or on several with the same axes."""
    from treewise.show.regions.regions import draw_regions

    return list(draw_regions(trees, tables, x, y, **options).flat)


def _choose_columns(trees: Sequence[Tree], x: str | None, y: str | None) -> tuple[str, str]:
    """Choose the columns that the trees test first, where none are named."""
    tested = [tree.columns[i] for tree in trees for i in tree.arrays.column.tolist() if i >= 0]
    known = dict.fromkeys([*tested, *(column for tree in trees for column in tree.columns)])
    rest = [name for name in known if name not in (x, y)]
    chosen = [name if name is not None else rest.pop(0) if rest else None for name in (x, y)]
    if chosen[0] is None or chosen[1] is None:
        raise ParameterError("a plane needs two columns, and the tree has fewer.")
    return chosen[0], chosen[1]
