"""``draw_regions`` and ``draw_regions_grid``: decision regions of models over two columns, as figures.

ID3 notes; chapter 8, figures 8.3 and 8.5. In matplotlib, several models side by side in the same colours.

plane.py     two columns as axes with all others fixed, and the exact areas of trees on it
models.py    what is drawn: trees by their areas, any other model on a grid
panel.py     one model with the rows
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table, read
from treewise.errors import DataError, Param, ParameterError, did_you_mean
from treewise.explain.trace.trace import name_rows
from treewise.show import palette
from treewise.show.mpl_helpers import add_legend, axes_for, label_text, new_figure, takes_image_options
from treewise.show.regions.models import (
    PointsAlone,
    Predictions,
    PredictorRegions,
    RegionModel,
    TreeRegions,
    class_indices,
    label_key,
    region_model,
)
from treewise.show.regions.panel import RegionScene, draw_panel, hatch_style
from treewise.show.regions.plane import join_planes, make_plane
from treewise.train.target import are_integer_classes, find_target_column
from treewise.tree.arrays import Label
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    LegendEntry = tuple[Artist | tuple[Artist, ...], str]

__all__ = ["draw_points", "draw_regions", "draw_regions_grid"]

_MAX_PANELS = 60
_MAX_LEGEND_CLASSES = 12
_MAX_TREE_LEAVES = 24  # of a tree drawn beside its regions
_LARGE_POINT = 90.0  # square points
_PANEL_SIZE = (6.9, 4.6)  # inches of a single panel with its legend


@takes_image_options
def draw_regions(
    models: Any,
    data: Any,
    x: str,
    y: str,
    *,
    fixed: Mapping[str, Any] | None = None,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    numbers: bool | None = None,
    with_tree: bool = False,
    rows: bool | str | Sequence[str] = False,
    ax: Any = None,
) -> Any:
    """Draw the predictions of models over two columns, side by side, with the rows of a table.

    Areas have the colour of the predicted class, paler where it is less probable (or the shade of the predicted
    number); points are rows with their true class, errors with a dark rim. Trees are drawn exactly, with their
    thresholds on the axes; other models on a grid. Needs matplotlib
    (``pip install "treewise[plot]"``).

    >>> import treewise as tw
    >>> tree = tw.grow("outlier")
    >>> pruned = tree.prune("reduced_error", validation="outlier_validation")
    >>> axes = tw.draw_regions({"T": tree, "T'": pruned}, "outlier_validation", "x1", "x2")    # as in the ID3 notes
    >>> [ax.get_title(loc="left").splitlines()[1] for ax in axes]
    ['2 of 10 rows of outlier_validation wrong', '0 of 10 rows of outlier_validation wrong']

    Parameters
    ----------
    models : a tree, any fitted model with ``predict`` or ``predict_proba``, or a function of the two columns; a list
        of them, a dict of title → model, or a list of lists for a grid.
    data : a table with the columns and the target; it need not be the training table. A list of tables, such as
        training and validation rows, makes one row of pictures for each, on the same axes.
    x, y : the columns of the axes: numbers, dates or up to 40 levels.
    fixed : values of other columns, such as ``{"sex": "male"}``; the rest are fixed at their median or most frequent
        value in ``data`` (missing, where most are). Rows that reach another leaf for that reason are hollow.
    target : the column with the true labels; by default that of the trees. Without one, points have no colour.
    columns : the columns a model other than a tree was fitted on, in order; by default its own names, or x and y.
    numbers : write the numbers of nodes on their areas; by default if there are few.
    rows : names beside the points: their numbers (True), the values of a column, or names given for all rows.
    with_tree : draw the tree itself beside its regions, in the same colours (chapter 8, figure 8.3); for one tree.
    ax : axes to draw on, one per model; by default those of a new figure.
    path : write the figure to this file: ``.png``, ``.svg`` or ``.pdf``.
    size, font_size, dpi : width and height in inches, points, and the resolution of a PNG.

    Returns the axes: one for a single model, else an array in the shape of ``models``.
    """
    titles, flat_models, shape = _list_models(models)
    drawn_models = [region_model(model, title, x, y, columns) for title, model in zip(titles, flat_models, strict=True)]
    tables = _list_tables(data)
    scenes, drawn_models = _make_scenes(drawn_models, tables, x, y, fixed, target, numbers, rows)
    if len(tables) > 1:
        if len(shape) > 1 or with_tree:
            raise ParameterError("several tables are for one row of models.", parameter="data", hint="Give one table.")
        shape = (len(tables),) if shape == () else (len(tables), len(flat_models))
    axes = np.array([_axes_beside_tree(drawn_models, ax)], object) if with_tree else _make_axes(shape, ax)
    panels = [(model, scene) for scene in scenes for model in drawn_models]
    for panel, (model, scene) in zip(axes.flat, panels, strict=True):
        draw_panel(panel, model, scene)
    _add_key(axes, scenes[0], is_own_figure=ax is None)
    return axes.flat[0] if shape == () else axes.reshape(shape)


@takes_image_options
def draw_points(
    data: Any,
    x: str | None = None,
    y: str | None = None,
    *,
    target: str | None = None,
    rows: bool | str | Sequence[str] = False,
    title: str = "",
    ax: Any = None,
) -> Axes:
    """Draw the rows of a table as points of two columns, without a model; their names beside them on request.

    Each class has its colour and marker; a class named "star" is drawn as a star, "dot" as a dot, "+" as a plus sign.

    >>> import treewise as tw
    >>> ax = tw.draw_points("four_points", rows="abcd")               # ID3 notes: a, b, c, d
    >>> [text.get_text() for text in ax.texts], ax.get_title(loc="left")
    (['a', 'b', 'c', 'd'], '')

    Parameters
    ----------
    data : a table.
    x, y : the columns of the axes; by default the first two besides the target.
    target : the column with the classes; by default the last one of a built-in table.
    rows : names of the rows: their numbers (True), the values of a column, or names given for all rows.
    title : above the points; by default nothing.
    ax, path, size, font_size, dpi : as for ``draw_regions``.
    """
    table = read(data)
    target = target if target is not None else table.target
    names = [name for name in table.columns if name != target and name != rows]
    across = x if x is not None else next((name for name in names if name != y), None)
    up = y if y is not None else next((name for name in names if name != across), None)
    if across is None or up is None:
        raise DataError(f"{table.name} has fewer than two columns to draw.")
    (scene,), (model,) = _make_scenes([PointsAlone(title)], [table], across, up, None, target, None, rows)
    scene = replace(scene, largest_point=_LARGE_POINT)
    axes = _make_axes((), ax)
    draw_panel(axes.flat[0], model, scene)
    _add_key(axes, scene, is_own_figure=ax is None, has_areas=False)
    panel: Axes = axes.flat[0]
    return panel


def draw_regions_grid(
    data: Any,
    target: str | None = None,
    x: str | None = None,
    y: str | None = None,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    path: str | os.PathLike[str] | None = None,
    size: str | Sequence[float] | None = None,
    font_size: float | None = None,
    dpi: int | None = None,
    **options: Any,
) -> npt.NDArray[Any]:
    """Draw how parameters shape the regions: one row of trees per parameter (chapter 8, figure 8.5).

    Each tree is grown on the two columns ``x`` and ``y`` alone, by default the first two of the table.

    >>> import treewise as tw
    >>> axes = tw.draw_regions_grid("noisy", "y", "x1", "x2", vary={"max_depth": [1, 2], "min_samples_leaf": [20, 5]})
    >>> axes.shape, axes[0, 1].get_title(loc="left").splitlines()[0]
    ((2, 2), 'max_depth = 2 · 4 leaves')

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``, which grows every tree.
    x, y : the columns of the axes.
    vary : parameter → its values, from the simplest tree to the largest; by default as in the figure: ``max_depth``,
        ``min_samples_split`` (minParent) and ``min_samples_leaf`` (minLeaf).
    path, size, font_size, dpi : as for ``draw_regions``.
    """
    from treewise.train.grow import grow

    table = read(data)
    target_name = target if target is not None else table.target
    features = [name for name in table.columns if name != target_name]
    if len(features) < 2:
        raise DataError(f"{table.name} has fewer than two columns besides the target.")
    x = features[0] if x is None else x
    y = next(name for name in features if name != x) if y is None else y
    varied = _default_grid(len(table)) if vary is None else vary
    if not isinstance(varied, Mapping) or not varied or not all(len(v) for v in varied.values()):
        raise ParameterError(
            "must be a dict of parameter → values, such as {'max_depth': [1, 2]}.",
            parameter="vary",
            value=vary,
        )
    if len({len(values) for values in varied.values()}) > 1:
        raise ParameterError(
            "the parameters have different numbers of values.", parameter="vary", hint="Give each as many."
        )
    for name in varied:
        if name not in (known := list(inspect.signature(grow).parameters)[2:-1]):
            raise ParameterError(
                f'trees are not grown by "{safe(name)}".', parameter="vary", hint=did_you_mean(name, known)
            )
        if name in options:
            raise ParameterError(Param(name) + " is varied and cannot be given as well.", hint="Leave it out.")
    options["columns"] = [x, y]
    trees = [
        {f"{name} = {value}": grow(table, target, **{**options, name: value}) for value in values}
        for name, values in varied.items()
    ]
    axes: npt.NDArray[Any] = draw_regions(
        trees, table, x, y, numbers=False, path=path, size=size, font_size=font_size, dpi=dpi
    )
    return axes


def _default_grid(n: int) -> dict[str, list[int]]:
    """Return the parameters of figure 8.5 for a table of n rows: four values each, the simplest tree first."""
    splits = [max(2, round(n * share)) for share in (0.5, 0.2, 0.08, 0.02)]
    leaves = [max(1, round(n * share)) for share in (0.25, 0.1, 0.04, 0.01)]
    return {"max_depth": [1, 2, 4, 8], "min_samples_split": splits, "min_samples_leaf": leaves}


# -- models and data ------------------------------------------------------------------------------------------


def _list_models(models: Any) -> tuple[list[str], list[Any], tuple[int, ...]]:
    """Return titles, models and the shape of the grid; () for a single model."""
    if isinstance(models, Mapping):
        titles, flat_models = [str(title) for title in models], list(models.values())
        shape: tuple[int, ...] = (len(flat_models),)
    elif isinstance(models, list | tuple):
        rows = [row for row in models if isinstance(row, list | tuple | Mapping)]
        if rows and len(rows) < len(models):
            raise ParameterError(
                "mixes models and lists of models.",
                parameter="models",
                hint="Give one list, or a list of lists.",
            )
        if rows:
            parts = [_list_models(row) for row in rows]
            if len({part[2] for part in parts}) > 1:
                raise ParameterError(
                    "the rows of the grid have different lengths.", parameter="models", hint="Give each as many models."
                )
            titles, flat_models = [t for p in parts for t in p[0]], [m for p in parts for m in p[1]]
            shape = (len(rows), len(flat_models) // max(1, len(rows)))
        else:
            titles, flat_models, shape = [""] * len(models), list(models), (len(models),)
    else:
        return [""], [models], ()
    if not 0 < len(flat_models) <= _MAX_PANELS:
        raise ParameterError(
            f"{len(flat_models)} were given.", parameter="models", hint=f"Give from 1 to {_MAX_PANELS}."
        )
    return titles, flat_models, shape


def _list_tables(data: Any) -> list[Any]:
    """Return the tables of a list of tables, or the single one."""
    if not isinstance(data, list | tuple) or not data or not all(isinstance(item, str | Table) for item in data):
        return [data]
    return list(data)


def _make_scenes(
    models: Sequence[RegionModel],
    tables: Sequence[Any],
    x: str,
    y: str,
    fixed: Mapping[str, Any] | None,
    target: str | None,
    numbers: bool | None,
    rows: bool | str | Sequence[str],
) -> tuple[list[RegionScene], list[RegionModel]]:
    """Return a scene for each table: the same plane, classes and colours, the first table's levels and types."""
    first, adapted = _make_scene(models, tables[0], x, y, fixed, target, numbers, rows)
    scenes = [first]
    for data in tables[1:]:
        scenes.append(_make_scene(adapted, data, x, y, fixed, target, numbers, rows)[0])
    plane = join_planes([scene.plane for scene in scenes])
    low = min(scene.value_range[0] for scene in scenes)
    high = max(scene.value_range[1] for scene in scenes)
    return [replace(scene, plane=plane, value_range=(low, high)) for scene in scenes], adapted


def _make_scene(
    models: Sequence[RegionModel],
    data: Any,
    x: str,
    y: str,
    fixed: Mapping[str, Any] | None,
    target: str | None,
    numbers: bool | None,
    rows: bool | str | Sequence[str],
) -> tuple[RegionScene, list[RegionModel]]:
    """Read the table, find its true labels, and make the plane for all models."""
    original_trees = [model.tree for model in models if isinstance(model, TreeRegions)]
    table = read(data, na_values=original_trees[0].na_values if original_trees else ())
    column = _find_target(original_trees, table, target)
    names = name_rows(table, rows)
    adapted = [model.adapt_to(table, column) if isinstance(model, TreeRegions) else model for model in models]
    trees = [model.tree for model in adapted if isinstance(model, TreeRegions)]
    if len({tree.task for tree in trees}) > 1:
        raise ParameterError(
            "some trees predict classes and some numbers: they have no colours in common.",
            hint="Draw them separately.",
        )
    others = list(
        dict.fromkeys(name for model in adapted if isinstance(model, PredictorRegions) for name in model.columns)
    )
    plane = make_plane(trees, table, x, y, fixed, others)
    classes = _find_classes(trees, adapted, column)
    truth = None if column is None else _true_labels(column, classes)
    name = "" if column is None else column.name
    if trees and column is None:
        name = trees[0].target.name
    return RegionScene(plane, table, name, classes, truth, _value_range(trees, truth), numbers, names), adapted


def _find_target(trees: Sequence[Tree], table: Table, target: str | None) -> Column | None:
    """Find the column with the true labels; None where the table has none."""
    if target is not None:
        return table[target]
    if trees:
        is_known = trees[0].target.name in table.columns or (
            trees[0].fit_info.is_handwritten and table.target is not None
        )
        return find_target_column(trees[0], table, None) if is_known else None
    return None if table.target is None else table[table.target]


def _find_classes(trees: Sequence[Tree], models: Sequence[RegionModel], column: Column | None) -> tuple[Label, ...]:
    """Return the classes in the order of their colours; empty for regression."""
    if trees and trees[0].task == "regression":
        return ()
    by_key: dict[str, Label] = {}
    for tree in trees:
        by_key |= {label_key(label): label for label in tree.classes if label_key(label) not in by_key}
    if not trees:
        fitted_classes = [
            label for m in models for label in np.asarray(getattr(getattr(m, "model", None), "classes_", [])).tolist()
        ]
        by_key |= {label_key(label): label for label in fitted_classes}
        if not fitted_classes and column is not None:
            numeric, _, labels = encode.encode_classes(column.take(~column.is_missing()))
            if numeric and not are_integer_classes(labels):
                return ()
            by_key |= {label_key(label): label for label in labels}
    return tuple(by_key.values())


def _true_labels(column: Column, classes: Sequence[Label]) -> Predictions:
    """Return the true labels of the rows; classes unknown to all models are -1."""
    present = np.flatnonzero(~column.is_missing())
    if not classes:
        value = np.full(len(column), np.nan)
        value[present] = encode.encode_numbers(column.take(present))
        return Predictions.for_numbers(value)
    _, codes, labels = encode.encode_classes(column.take(present))
    indices = class_indices(classes)
    casefolded = {name.casefold(): index for name, index in indices.items()}
    by_code = [indices.get(label_key(label), casefolded.get(label_key(label).casefold(), -1)) for label in labels]
    class_index = np.full(len(column), -1, np.int64)
    class_index[present] = np.array(by_code, np.int64)[codes]
    return Predictions.for_classes(class_index, np.ones(len(column)))


def _value_range(trees: Sequence[Tree], truth: Predictions | None) -> tuple[float, float]:
    """Return the smallest and the largest number to be shown."""
    parts = [tree.arrays.value for tree in trees if tree.task == "regression"]
    parts += [truth.value] if truth is not None else []
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


# -- the figure -------------------------------------------------------------------------------------------------------


def _make_axes(shape: tuple[int, ...], ax: Any) -> npt.NDArray[Any]:
    """Return one axes per model: the given ones, or those of a new figure."""
    n_panels = int(np.prod(shape, dtype=int))
    if ax is not None:
        axes_array = np.array([ax] if not isinstance(ax, list | tuple | np.ndarray) else ax, object).ravel()
        if len(axes_array) != n_panels:
            raise ParameterError(
                f"{len(axes_array)} axes were given for {n_panels} models.", parameter="ax", hint="Give one for each."
            )
        return np.array([axes_for(axis) for axis in axes_array], object)
    across = shape[1] if len(shape) == 2 else min(n_panels, 4 if n_panels > 6 or n_panels == 4 else 3)
    up = -(-n_panels // across)
    width, height = _PANEL_SIZE if n_panels == 1 else (4.0, 3.9) if across <= 3 else (3.3, 3.3)
    figure = new_figure(width * across + 0.6, height * up + 0.4)
    from treewise.show.figure import MplAxes

    cells = figure.subplots(up, across, squeeze=False, subplot_kw={"axes_class": MplAxes}).ravel()
    for empty in cells[n_panels:]:
        empty.remove()
    return cells[:n_panels]


def _axes_beside_tree(models: Sequence[RegionModel], ax: Any) -> Axes:
    """Draw a tree on the left half of a new figure, and return axes on the right half."""
    (model,) = models if len(models) == 1 else (None,)
    if not isinstance(model, TreeRegions) or ax is not None:
        raise ParameterError(
            "this is for one tree, on a figure of its own.",
            parameter="with_tree",
            hint="Leave it out, or ax and other models.",
        )
    from treewise.show.picture.render import PIXELS_PER_INCH, paint

    scene = model.tree.draw(max_leaves=_MAX_TREE_LEAVES).scene
    width, height = scene.width / PIXELS_PER_INCH, scene.height / PIXELS_PER_INCH
    panel_width, panel_height = _PANEL_SIZE
    total_height = max(height, panel_height)
    figure = new_figure(width + panel_width, total_height)
    halves: Any = figure.subfigures(1, 2, width_ratios=[width, panel_width])
    left, right = halves
    paint(scene, left.add_axes((0, (total_height - height) / 2 / total_height, 1, height / total_height)))
    axes: Axes = right.add_subplot()
    return axes


def _add_key(axes: npt.NDArray[Any], scene: RegionScene, is_own_figure: bool, has_areas: bool = True) -> None:
    """Add a legend or a colour scale, once for all panels."""
    last = axes.flat[-1] if len(axes) <= 3 or not is_own_figure else axes.flat[0]
    if not scene.classes:
        _draw_colour_scale(axes, scene)
        return
    entries = _legend_entries(scene, has_areas)
    if len(axes.flat) == 1 or not is_own_figure:
        add_legend(last, entries, beside=True)
        return
    figure = last.get_figure(root=True)
    handles = [artist for artist, _ in entries]
    numbers = [str(i) for i in range(len(entries))]
    added = figure.legend(
        handles, numbers, loc="outside lower center", ncols=min(6, len(entries)), frameon=False, fontsize=8.5
    )
    for entry, (_, text) in zip(added.get_texts(), entries, strict=True):
        entry.set_text(text)


def _legend_entries(scene: RegionScene, has_areas: bool) -> list[LegendEntry]:
    """Return area and marker of each class, and the meaning of shades and rims."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    target = f"{label_text(scene.target, 24)} = " if scene.target else ""
    entries: list[LegendEntry] = []
    for class_index, label in enumerate(scene.classes[:_MAX_LEGEND_CLASSES]):
        mark = Line2D(
            [], [], linestyle="", marker=scene.markers[class_index], color=palette.class_colour(class_index),
            markersize=9 if scene.markers[class_index] == "*" else 6,
        )  # fmt: skip
        area = Patch(facecolor=palette.confidence_tint(palette.class_colour(class_index), 1.0, 2), linewidth=0)
        area.set(**hatch_style(class_index))
        entries.append(((area, mark) if has_areas else mark, f"{target}{label_text(label, 24)}"))
    if len(scene.classes) > _MAX_LEGEND_CLASSES:
        entries.append((Line2D([], [], linestyle=""), f"… {len(scene.classes) - _MAX_LEGEND_CLASSES} more"))
    if not has_areas:
        return entries
    entries.append(
        (
            Patch(facecolor=palette.confidence_tint(palette.class_colour(0), 1.0, 2)),
            "area: predicted, paler where less probable",
        )
    )
    if scene.truth is not None:
        rim = Line2D([], [], linestyle="", marker="o", mfc="none", mec=palette.INK, markersize=6)
        entries.append((rim, "dark rim: error"))
    return entries


def _draw_colour_scale(axes: npt.NDArray[Any], scene: RegionScene) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colours = LinearSegmentedColormap.from_list("treewise", list(palette.SCALE_COLOURS))
    figure = axes.flat[0].get_figure(root=True)
    bar = figure.colorbar(
        ScalarMappable(Normalize(*scene.value_range), colours), ax=list(axes.flat), shrink=0.9, aspect=30
    )
    bar.set_label(label_text(scene.target))
    bar.outline.set_visible(False)
