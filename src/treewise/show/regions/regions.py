"""The regions of models over two columns (ID3 notes; chapter 8, figures 8.3 and 8.5): areas, rows, thresholds, shades.

An outlet, in matplotlib. In the order of reading:

plane.py     two columns as axes, all others held; where on it rows end at which node: exact, and tested as data
models.py    what is drawn: trees by their areas, any other model asked on a grid
panel.py     one of them, with the rows
__init__.py  several of them side by side, in the same colours: ``draw_regions``, ``draw_regions_grid``
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table, read
from treewise.errors import DataError, Param, ParameterError, did_you_mean
from treewise.show import palette
from treewise.show.mpl_helpers import add_legend, axes_for, image_format, label_text, new_figure, save_figure
from treewise.show.regions.models import GridAnswers, PredictorRegions, RegionModel, TreeRegions, drawn, key, places_of
from treewise.show.regions.panel import RegionScene, draw_panel
from treewise.show.regions.plane import plane_for
from treewise.train.target import few_whole_numbers
from treewise.train.true_labels import target_column
from treewise.tree.arrays import Label
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["draw_regions", "draw_regions_grid"]

MOST_PANELS = 60
MOST_IN_LEGEND = 12
MOST_LEAVES = 24  # of a tree beside its regions
PANEL = (6.9, 4.6)  # inches of a single one, with what explains it


def draw_regions(
    models: Any,
    data: Any,
    x: str,
    y: str,
    *,
    held: Mapping[str, Any] | None = None,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    numbers: bool | None = None,
    with_tree: bool = False,
    ax: Any = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw what models predict over two columns, side by side, with the rows of a table.

    Areas have the colour of the class that is predicted there, paler where it is less probable (or the shade of the
    number); points are rows with their true class, those with a dark rim are predicted wrongly. Trees are drawn
    exactly, with their thresholds on the axes; other models on a grid. Needs matplotlib
    (``pip install "treewise[plot]"``).

    >>> import treewise as tw
    >>> tree = tw.grow("outlier")
    >>> pruned = tree.prune("reduced_error", validation="outlier_validation")
    >>> axes = tw.draw_regions({"T": tree, "T'": pruned}, "outlier_validation", "x1", "x2")    # as in the ID3 notes
    >>> [ax.get_title(loc="left").splitlines()[1] for ax in axes]
    ['2 of 10 rows of outlier_validation wrong', '0 of 10 rows of outlier_validation wrong']

    Parameters
    ----------
    models : a tree, or anything fitted that has ``predict`` or ``predict_proba``, or a function of the two columns; a
        list of them, a dict of title → model, or a list of lists for a grid.
    data : a table with the columns and the target; it need not be the one that was learned from.
    x, y : the columns across and up; of numbers, dates or up to 40 levels.
    held : values of other columns, such as ``{"sex": "male"}``; the rest are held at their median or most frequent
        value in ``data`` (missing, where most are). Rows that end elsewhere for that reason are hollow.
    target : the column with the true answers; by default the trees'. Without one, points have no colour.
    columns : what a model that is no tree was fitted on, in order; by default its own names, or x and y.
    numbers : write the numbers of nodes on their areas; by default where they are few.
    with_tree : draw the tree itself beside its regions, in the same colours (chapter 8, figure 8.3); of one tree.
    ax : axes to draw on, as many as there are models; by default those of a new figure.
    path : write the figure to this file: ``.png``, ``.svg`` or ``.pdf``.

    Returns the axes: one for one model, else an array of them in the shape of ``models``.
    """
    if path is not None:
        image_format(path)
    titles, found, shape = listed(models)
    shown_ = [drawn(model, title, x, y, columns) for title, model in zip(titles, found, strict=True)]
    scene, shown_ = scene_for(shown_, data, x, y, held, target, numbers)
    axes = np.array([beside_its_tree(shown_, ax)], object) if with_tree else panels(shape, ax)
    for each, model in zip(axes.flat, shown_, strict=True):
        draw_panel(each, model, scene)
    explain(axes, scene, alone=ax is None)
    figure = axes.flat[0].get_figure(root=True)
    if path is not None:
        save_figure(figure, path)
    return axes.flat[0] if shape == () else axes.reshape(shape)


def draw_regions_grid(
    data: Any,
    target: str | None = None,
    x: str | None = None,
    y: str | None = None,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    path: str | os.PathLike[str] | None = None,
    **options: Any,
) -> npt.NDArray[Any]:
    """Draw how a parameter shapes the regions: one row of trees a parameter (chapter 8, figure 8.5).

    Each tree is grown on the two columns ``x`` and ``y`` alone, by default the first two of the table.

    >>> import treewise as tw
    >>> axes = tw.draw_regions_grid("noisy", "y", "x1", "x2", vary={"max_depth": [1, 2], "min_samples_leaf": [20, 5]})
    >>> axes.shape, axes[0, 1].get_title(loc="left").splitlines()[0]
    ((2, 2), 'max_depth = 2 · 4 leaves')

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``, which grows every tree.
    x, y : the columns across and up.
    vary : parameter → its values, from the simplest tree to the largest; by default as in the figure: ``max_depth``,
        ``min_samples_split`` (minParent) and ``min_samples_leaf`` (minLeaf).
    path : write the figure to this file.
    """
    from treewise.train.grow import grow

    table = read(data)
    wanted = target if target is not None else table.target
    free = [name for name in table.columns if name != wanted]
    if len(free) < 2:
        raise DataError(f"{table.name} has no two columns to draw beside the target.")
    x, y = free[0] if x is None else x, (free[1] if free[0] == x or x is None else free[0]) if y is None else y
    varied = usual_grid(len(table)) if vary is None else vary
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
            raise ParameterError(Param(name) + " is varied, and cannot be given besides.", hint="Leave it out.")
    options["columns"] = [x, y]
    trees = [
        {f"{name} = {value}": grow(table, target, **{**options, name: value}) for value in values}
        for name, values in varied.items()
    ]
    axes: npt.NDArray[Any] = draw_regions(trees, table, x, y, numbers=False, path=path)
    return axes


def usual_grid(n: int) -> dict[str, list[int]]:
    """Return what figure 8.5 varies, for a table of n rows: four trees a parameter, the simplest first."""
    halves = [max(2, round(n * share)) for share in (0.5, 0.2, 0.08, 0.02)]
    leaves = [max(1, round(n * share)) for share in (0.25, 0.1, 0.04, 0.01)]
    return {"max_depth": [1, 2, 4, 8], "min_samples_split": halves, "min_samples_leaf": leaves}


# -- what is drawn ----------------------------------------------------------------------------------------------------


def listed(models: Any) -> tuple[list[str], list[Any], tuple[int, ...]]:
    """Return titles, models and the shape they are to be laid out in; () is a single one."""
    if isinstance(models, Mapping):
        titles, found = [str(title) for title in models], list(models.values())
        shape: tuple[int, ...] = (len(found),)
    elif isinstance(models, list | tuple):
        rows = [row for row in models if isinstance(row, list | tuple | Mapping)]
        if rows and len(rows) < len(models):
            raise ParameterError(
                "some are lists of models and some are not.",
                parameter="models",
                hint="Give one list, or a list of lists.",
            )
        if rows:
            parts = [listed(row) for row in rows]
            if len({part[2] for part in parts}) > 1:
                raise ParameterError(
                    "the rows of the grid have different lengths.", parameter="models", hint="Give each as many models."
                )
            titles, found = [t for p in parts for t in p[0]], [m for p in parts for m in p[1]]
            shape = (len(rows), len(found) // max(1, len(rows)))
        else:
            titles, found, shape = [""] * len(models), list(models), (len(models),)
    else:
        return [""], [models], ()
    if not 0 < len(found) <= MOST_PANELS:
        raise ParameterError(f"{len(found)} were given.", parameter="models", hint=f"Give from 1 to {MOST_PANELS}.")
    return titles, found, shape


def scene_for(
    models: Sequence[RegionModel],
    data: Any,
    x: str,
    y: str,
    held: Mapping[str, Any] | None,
    target: str | None,
    numbers: bool | None,
) -> tuple[RegionScene, list[RegionModel]]:
    """Read the table, find its true answers, and lay out the plane for all models at once."""
    first = [model.tree for model in models if isinstance(model, TreeRegions)]
    table = read(data, na_values=first[0].na_values if first else ())
    column = truth_column(first, table, target)
    ready = [model.for_rows(table, column) if isinstance(model, TreeRegions) else model for model in models]
    trees = [model.tree for model in ready if isinstance(model, TreeRegions)]
    if len({tree.task for tree in trees}) > 1:
        raise ParameterError(
            "some trees predict classes and some numbers: they have no colours in common.", hint="Draw them apart."
        )
    others = list(
        dict.fromkeys(name for model in ready if isinstance(model, PredictorRegions) for name in model.columns)
    )
    plane = plane_for(trees, table, x, y, held, others)
    classes = classes_of(trees, ready, column)
    truth = None if column is None else true_answers(column, classes)
    name = "" if column is None else column.name
    if trees and column is None:
        name = trees[0].target.name
    return RegionScene(plane, table, name, classes, truth, scale_ends(trees, truth), numbers), ready


def truth_column(trees: Sequence[Tree], table: Table, target: str | None) -> Column | None:
    """Find the column with the true answers; None where the table has none."""
    if target is not None:
        return table[target]
    if trees:
        known = trees[0].target.name in table.columns or (not trees[0].history and table.target is not None)
        return target_column(trees[0], table, None) if known else None
    return None if table.target is None else table[table.target]


def classes_of(trees: Sequence[Tree], models: Sequence[RegionModel], column: Column | None) -> tuple[Label, ...]:
    """Return the classes in the order of their colours; none where numbers are predicted."""
    if trees and trees[0].task == "regression":
        return ()
    found: dict[str, Label] = {}
    for tree in trees:
        found |= {key(label): label for label in tree.classes if key(label) not in found}
    if not trees:
        own = [
            label for m in models for label in np.asarray(getattr(getattr(m, "model", None), "classes_", [])).tolist()
        ]
        found |= {key(label): label for label in own}
        if not own and column is not None:
            numeric, _, labels = encode.encode_classes(column.take(~column.is_missing()))
            if numeric and not few_whole_numbers(labels):
                return ()
            found |= {key(label): label for label in labels}
    return tuple(found.values())


def true_answers(column: Column, classes: Sequence[Label]) -> GridAnswers:
    """Return what the table says of its rows; classes that no model knows stand at -1."""
    there = np.flatnonzero(~column.is_missing())
    if not classes:
        value = np.full(len(column), np.nan)
        value[there] = encode.encode_numbers(column.take(there))
        return GridAnswers.of_numbers(value)
    _, codes, labels = encode.encode_classes(column.take(there))
    places = places_of(classes)
    folded = {name.casefold(): place for name, place in places.items()}
    own = [places.get(key(label), folded.get(key(label).casefold(), -1)) for label in labels]
    place = np.full(len(column), -1, np.int64)
    place[there] = np.array(own, np.int64)[codes]
    return GridAnswers.of_classes(place, np.ones(len(column)))


def scale_ends(trees: Sequence[Tree], truth: GridAnswers | None) -> tuple[float, float]:
    """Return the least and the largest number there is to be shown."""
    parts = [tree.arrays.value for tree in trees if tree.task == "regression"]
    parts += [truth.value] if truth is not None else []
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


# -- the figure -------------------------------------------------------------------------------------------------------


def panels(shape: tuple[int, ...], ax: Any) -> npt.NDArray[Any]:
    """Return as many axes as there are models: those that were given, or those of a new figure."""
    many = int(np.prod(shape, dtype=int))
    if ax is not None:
        given = np.array([ax] if not isinstance(ax, list | tuple | np.ndarray) else ax, object).ravel()
        if len(given) != many:
            raise ParameterError(
                f"{len(given)} axes were given for {many} models.", parameter="ax", hint="Give one for each."
            )
        return np.array([axes_for(each) for each in given], object)
    across = shape[1] if len(shape) == 2 else min(many, 4 if many > 6 or many == 4 else 3)
    up = -(-many // across)
    width, height = PANEL if many == 1 else (4.0, 3.9) if across <= 3 else (3.3, 3.3)
    figure = new_figure(width * across + 0.6, height * up + 0.4)
    cells = figure.subplots(up, across, squeeze=False).ravel()
    for empty in cells[many:]:
        empty.remove()
    return cells[:many]


def beside_its_tree(models: Sequence[RegionModel], ax: Any) -> Axes:
    """Draw a tree on the left half of a new figure, and return axes on the right half."""
    (model,) = models if len(models) == 1 else (None,)
    if not isinstance(model, TreeRegions) or ax is not None:
        raise ParameterError(
            "is for one tree, on a figure of its own.",
            parameter="with_tree",
            hint="Leave it out, or ax and other models.",
        )
    from treewise.show.picture.render import PIXELS_PER_INCH, paint

    scene = model.tree.draw(max_leaves=MOST_LEAVES).scene
    width, height = scene.width / PIXELS_PER_INCH, scene.height / PIXELS_PER_INCH
    own_width, own_height = PANEL
    tall = max(height, own_height)
    figure = new_figure(width + own_width, tall)
    halves: Any = figure.subfigures(1, 2, width_ratios=[width, own_width])
    left, right = halves
    paint(scene, left.add_axes((0, (tall - height) / 2 / tall, 1, height / tall)))
    made: Axes = right.add_subplot()
    return made


def explain(axes: npt.NDArray[Any], scene: RegionScene, alone: bool) -> None:
    """Say what colours and marks mean: once for all panels."""
    last = axes.flat[-1] if len(axes) <= 3 or not alone else axes.flat[0]
    if not scene.classes:
        draw_scale(axes, scene)
        return
    entries = legend_entries(scene)
    if len(axes.flat) == 1 or not alone:
        add_legend(last, entries, beside=True)
        return
    figure = last.get_figure(root=True)
    handles = [artist for artist, _ in entries]
    numbers = [str(i) for i in range(len(entries))]
    made = figure.legend(
        handles, numbers, loc="outside lower center", ncols=min(6, len(entries)), frameon=False, fontsize=8.5
    )
    for place, (_, text) in zip(made.get_texts(), entries, strict=True):
        place.set_text(text)


def legend_entries(scene: RegionScene) -> list[tuple[Artist, str]]:
    """Return a mark for each class, and what shades and rims mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    target = f"{label_text(scene.target, 24)} = " if scene.target else ""
    entries: list[tuple[Artist, str]] = []
    for place, label in enumerate(scene.classes[:MOST_IN_LEGEND]):
        mark = Line2D(
            [], [], linestyle="", marker=palette.class_marker(place), color=palette.class_colour(place), markersize=6
        )
        entries.append((mark, f"{target}{label_text(label, 24)}"))
    if len(scene.classes) > MOST_IN_LEGEND:
        entries.append((Line2D([], [], linestyle=""), f"… {len(scene.classes) - MOST_IN_LEGEND} more"))
    entries.append(
        (
            Patch(facecolor=palette.confidence_tint(palette.class_colour(0), 1.0, 2)),
            "area: predicted, pale where unsure",
        )
    )
    if scene.truth is not None:
        rim = Line2D([], [], linestyle="", marker="o", mfc="none", mec=palette.INK, markersize=6)
        entries.append((rim, "dark rim: predicted wrongly"))
    return entries


def draw_scale(axes: npt.NDArray[Any], scene: RegionScene) -> None:
    """Draw the scale of numbers beside the panels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    shades = LinearSegmentedColormap.from_list("treewise", list(palette.SCALE_COLOURS))
    figure = axes.flat[0].get_figure(root=True)
    bar = figure.colorbar(ScalarMappable(Normalize(*scene.ends), shades), ax=list(axes.flat), shrink=0.9, aspect=30)
    bar.set_label(label_text(scene.target))
    bar.outline.set_visible(False)
