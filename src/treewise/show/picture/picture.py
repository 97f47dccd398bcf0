"""``tree.draw`` and ``draw_trees``: check the parameters, make the picture, and save it if a path is given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from treewise._lib.atomic_write import write_whole
from treewise._lib.checks import check_choice, check_integer
from treewise._lib.image_style import ImageStyle
from treewise._lib.text import safe
from treewise.data.table import Table, read
from treewise.errors import Param, ParameterError
from treewise.explain.trace.trace import name_rows
from treewise.predict.predict import series_as_dict
from treewise.show.node_stats import NodeSamples
from treewise.show.picture.build_scene import PictureStyle, SceneBuilder, legend_heading, make_builder
from treewise.show.picture.compose import MARGIN, fit, side_by_side
from treewise.show.picture.node_boxes import BOX_LINES, BoxContent
from treewise.show.picture.node_selection import SelectionLimits
from treewise.show.picture.panels import SidePanel, side_panel
from treewise.show.picture.render import to_png_or_pdf, to_svg
from treewise.show.picture.scene import VectorScene
from treewise.show.picture.tikz import tikz_document, tikz_panels, tikz_tree
from treewise.train.exposure import find_truth
from treewise.train.target import adopt_levels, adopt_target, align_classes
from treewise.tree.tree import Tree

_FORMATS = {"svg": "svg", "png": "png", "pdf": "pdf", "tex": "tikz", "tikz": "tikz"}
_DIRECTIONS = ("down", "right")


@dataclass(frozen=True, eq=False, repr=False)
class Picture:
    """A drawn tree. A notebook shows it; ``.svg`` is its text, ``.save("tree.pdf")`` writes a file.

    ``.tikz`` is the tree in LaTeX, for the package forest: a fragment; ``.save("tree.tex")`` writes a document, or the
    fragment if the picture was made with ``fragment=True``.

    >>> import treewise as tw
    >>> picture = tw.grow("penguins", max_leaf_nodes=4).draw()
    >>> picture
    <Picture 602 × 386>
    >>> picture.svg[:4], picture.to_bytes("svg") == picture.svg.encode(), picture.tikz.splitlines()[-1]
    ('<svg', True, '\\\\end{forest}')
    """

    scene: VectorScene
    panels: tuple[tuple[str, SceneBuilder | SidePanel], ...] = field(default=(), kw_only=True)  # with their captions
    across: int | None = field(default=None, kw_only=True)  # panels beside each other
    dpi: int | None = field(default=None, kw_only=True)  # of PNG files
    fragment: bool = field(default=False, kw_only=True)

    @cached_property
    def svg(self) -> str:
        """The picture as an SVG document."""
        return to_svg(self.scene)

    def in_style(self, style: ImageStyle) -> Self:
        """Return the picture in a size, with a font size and a resolution."""
        return self if style.is_default else replace(self, scene=fit(self.scene, style), dpi=style.dpi)

    @cached_property
    def tikz(self) -> str:
        """The trees in TikZ, one ``forest`` each without histograms, and what stands beside them."""
        return tikz_panels(
            [
                (
                    caption,
                    shown.tikz
                    if isinstance(shown, SidePanel)
                    else tikz_tree(shown.tikz_nodes(), shown.style.direction),
                )
                for caption, shown in self.panels
            ],
            self.across,
        )

    def to_bytes(self, form: str) -> bytes:
        """Return the picture as the bytes of a file: ``svg``, ``png``, ``pdf`` or ``tikz``."""
        if form == "svg":
            return self.svg.encode()
        if form == "tikz":
            if not self.panels:
                raise ParameterError("only trees are drawn in TikZ.", hint="Other pictures end in .svg, .png or .pdf.")
            return (f"{self.tikz}\n" if self.fragment else tikz_document(self.tikz)).encode()
        return to_png_or_pdf(self.scene, form, self.dpi)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file atomically, in the format of its extension."""
        write_whole(path, self.to_bytes(picture_format(path)))

    def __repr__(self) -> str:
        return f"<Picture {self.scene.width * self.scene.scale:.0f} × {self.scene.height * self.scene.scale:.0f}>"

    @property
    def description(self) -> str:
        """The size in pixels, as a remark."""
        return f"{repr(self).removeprefix('<Picture ').removesuffix('>')} pixels"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        html = f'<div style="overflow-x:auto">{self.svg}</div>'
        return {"text/plain": repr(self), "image/svg+xml": self.svg, "text/html": html}


@dataclass(frozen=True)
class DrawOptions:
    """The parameters of ``tree.draw`` that determine what is drawn; ``Tree.draw`` explains them."""

    node: int = 0
    max_depth: int | None = None
    max_leaves: int = 60
    direction: str = "down"
    highlight: Any = None
    data: Any = None
    show: Sequence[str] = ()
    unit: str = "bits"
    questions: bool = False
    rows: bool | str | Sequence[str] = False

    def __post_init__(self) -> None:
        for name, value, minimum in (("max_depth", self.max_depth, 0), ("max_leaves", self.max_leaves, 2)):
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and (not is_whole or value < minimum):
                raise ParameterError(f"must be a whole number of {minimum} or more.", parameter=name, value=value)
        check_choice("direction", self.direction, _DIRECTIONS)
        check_choice("unit", self.unit, ("bits", "nats"))
        for line in (self.show,) if isinstance(self.show, str) else self.show:
            check_choice("show", line, BOX_LINES)
        if self.rows is not False and self.data is None:
            raise ParameterError("listing rows needs their table, " + Param("data", ...) + ".", parameter="rows")

    def builder(self, tree: Tree, **style: Any) -> SceneBuilder:
        """Return the builder of the picture of one tree."""
        if isinstance(self.node, bool) or not isinstance(self.node, int) or not 0 <= self.node < len(tree):
            raise ParameterError(f"the tree has nodes 0 to {len(tree) - 1}.", parameter="node", value=self.node)
        data = None if self.data is None else read(self.data, na_values=tree.na_values)
        if data is not None and tree.fit_info.is_handwritten and tree.target.name in data.columns:
            tree = adopt_levels(adopt_target(tree, data), data)
        highlighted = () if self.highlight is None else _row_path(tree, self.highlight, data)
        samples = None if data is None else NodeSamples.from_table(tree, data)
        names = None
        if data is not None and self.rows is not False:
            is_labelled = ~find_truth(tree, data, None).is_missing()
            given = name_rows(data, self.rows) or ()
            names = tuple(name for name, is_kept in zip(given, is_labelled, strict=True) if is_kept)
        show = (self.show,) if isinstance(self.show, str) else tuple(self.show)
        content = BoxContent(show, self.unit, bool(self.questions), names)
        limits = SelectionLimits(self.node, self.max_depth, self.max_leaves)
        picture_style = PictureStyle(self.direction, highlighted, samples, content=content, **style)
        return make_builder(tree.displayed, limits, picture_style)


def draw(
    tree: Tree,
    path: str | os.PathLike[str] | None = None,
    *,
    beside: Sequence[str] = (),
    fragment: bool = False,
    size: str | Sequence[float] | None = None,
    font_size: float | None = None,
    dpi: int | None = None,
    **options: Any,
) -> Picture:
    """Draw a tree; ``Tree.draw`` explains the parameters."""
    if path is not None:
        picture_format(path)
    style = ImageStyle.check(size, font_size, dpi)
    settings = DrawOptions(**options)
    if beside:
        settings = replace(settings, data=None)
    builder = settings.builder(tree)
    scene = builder.build()
    panels: list[tuple[str, SceneBuilder | SidePanel]] = []
    if beside:
        names = (beside,) if isinstance(beside, str) else beside
        sides = [side_panel(tree, name, options.get("data")) for name in names]
        scene = side_by_side([*(("", side.scene) for side in sides), ("", scene)], title=scene.title)
        panels += [("", side) for side in sides]
    picture = Picture(fit(scene, style), panels=(*panels, ("", builder)), dpi=dpi, fragment=fragment)
    if path is not None:
        picture.save(path)
    return picture


def draw_trees(
    trees: Mapping[str, Tree] | Sequence[Tree],
    path: str | os.PathLike[str] | None = None,
    *,
    across: int | None = None,
    fragment: bool = False,
    size: str | Sequence[float] | None = None,
    font_size: float | None = None,
    dpi: int | None = None,
    **options: Any,
) -> Picture:
    """Draw trees side by side in the same colours, each under its name, as chapter 8 does in figure 8.2.

    >>> import treewise as tw
    >>> kinds = {name: tw.grow("admissions", categorical=name) for name in ("multiway", "one_value")}
    >>> tw.draw_trees(kinds, across=1)
    <Picture 507 × 1103>

    Parameters
    ----------
    trees : a dict of caption → tree, or a list of trees. A class has the same colour in all of them.
    path, fragment, size, font_size, dpi, options : as for ``tree.draw``.
    across : how many trees stand beside each other; by default all of them.
    """
    if path is not None:
        picture_format(path)
    check_integer("across", across, 1, none="all side by side")
    named = dict(trees) if isinstance(trees, Mapping) else {f"({i})": tree for i, tree in enumerate(trees, 1)}
    if not named or not all(isinstance(tree, Tree) for tree in named.values()):
        raise ParameterError("must be a dict of caption → tree, or a list of trees.", parameter="trees", value=trees)
    style, settings = ImageStyle.check(size, font_size, dpi), DrawOptions(**options)
    aligned = align_classes(list(named.values()))
    panel = {"has_title": False, "has_legend": len({tree.task for tree in aligned}) > 1}
    panels = tuple((name, settings.builder(tree, **panel)) for name, tree in zip(named, aligned, strict=True))
    scenes = [(name, builder.build()) for name, builder in panels]
    shapes, space = ([], (0.0, MARGIN / 2)) if panel["has_legend"] else legend_heading(aligned[0], MARGIN)
    scene = side_by_side(scenes, across, shapes, space, "trees side by side")
    picture = Picture(fit(scene, style), panels=panels, across=across, dpi=dpi, fragment=fragment)
    if path is not None:
        picture.save(path)
    return picture


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a picture by the extension of its path."""
    name = os.fsdecode(path)
    form = _FORMATS.get(Path(name).suffix.lower().removeprefix("."))
    if form is None:
        raise ParameterError(f"cannot draw {safe(name)}: a picture is saved as .svg, .png, .pdf or .tex.")
    return form


def _row_path(tree: Tree, row: Any, data: Table | None) -> tuple[int, ...]:
    """Return the nodes on the path of a row, given as cells or as the index of a row of the data."""
    row = _row_at(data, row) if isinstance(row, int | np.integer) else series_as_dict(tree, row)
    rows = tree.encode(row)
    if not rows.single and len(rows) != 1:
        raise ParameterError(
            f"must be a single row, a dict or a list of cells, not {len(rows):,} rows.", parameter="highlight"
        )
    return tree.path(int(tree.leaves(rows)[0]))


def _row_at(data: Table | None, number: int | np.integer[Any]) -> Table:
    if data is None:
        raise ParameterError(
            "the number of a row needs its table, " + Param("data", ...) + "; or give the row.",
            parameter="highlight",
            value=number,
        )
    if not 0 <= number < len(data):
        raise ParameterError(f"{data.name} has rows 0 to {len(data) - 1:,}.", parameter="highlight", value=number)
    return data.take(np.array([number]))
