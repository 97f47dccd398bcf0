"""``tree.draw``: checks the parameters, makes the picture, and saves it if a path is given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.atomic_write import write_whole
from treewise._lib.text import safe
from treewise.data.table import Table, read
from treewise.errors import Param, ParameterError
from treewise.predict.predict import series_as_dict
from treewise.show.node_stats import NodeSamples
from treewise.show.picture.build_scene import PictureStyle, build_scene
from treewise.show.picture.node_selection import SelectionLimits
from treewise.show.picture.render import to_png_or_pdf, to_svg
from treewise.show.picture.scene import VectorScene
from treewise.tree.tree import Tree

_FORMATS = ("svg", "png", "pdf")
_DIRECTIONS = ("down", "right")


@dataclass(frozen=True, eq=False, repr=False)
class Picture:
    """A drawn tree. A notebook shows it; ``.svg`` is its text, ``.save("tree.pdf")`` writes a file.

    >>> import treewise as tw
    >>> picture = tw.grow("penguins", max_leaf_nodes=4).draw()
    >>> picture
    <Picture 602 × 386>
    >>> picture.svg[:4], picture.to_bytes("svg") == picture.svg.encode()
    ('<svg', True)
    """

    scene: VectorScene

    @cached_property
    def svg(self) -> str:
        """The picture as an SVG document."""
        return to_svg(self.scene)

    def to_bytes(self, form: str) -> bytes:
        """Return the picture as the bytes of a file: ``svg``, ``png`` or ``pdf``."""
        if form == "svg":
            return self.svg.encode()
        return to_png_or_pdf(self.scene, form)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file atomically, in the format of its extension."""
        write_whole(path, self.to_bytes(picture_format(path)))

    def __repr__(self) -> str:
        return f"<Picture {self.scene.width:.0f} × {self.scene.height:.0f}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        html = f'<div style="overflow-x:auto">{self.svg}</div>'
        return {"text/plain": repr(self), "image/svg+xml": self.svg, "text/html": html}


def draw(
    tree: Tree,
    path: str | os.PathLike[str] | None = None,
    *,
    node: int = 0,
    max_depth: int | None = None,
    max_leaves: int = 60,
    direction: str = "down",
    highlight: Any = None,
    data: Any = None,
) -> Picture:
    """Draw a tree; ``Tree.draw`` explains the parameters."""
    if path is not None:
        picture_format(path)
    for name, value, minimum in (("max_depth", max_depth, 0), ("max_leaves", max_leaves, 2)):
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and (not is_whole or value < minimum):
            raise ParameterError(f"must be a whole number of {minimum} or more.", parameter=name, value=value)
    if direction not in _DIRECTIONS:
        raise ParameterError('must be "down" or "right".', parameter="direction", value=direction)
    if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < len(tree):
        raise ParameterError(f"the tree has nodes 0 to {len(tree) - 1}.", parameter="node", value=node)
    if data is not None:
        data = read(data, na_values=tree.na_values)
    highlighted = () if highlight is None else _row_path(tree, highlight, data)
    samples = None if data is None else NodeSamples.from_table(tree, data)
    limits, style = SelectionLimits(node, max_depth, max_leaves), PictureStyle(direction, highlighted, samples)
    picture = Picture(build_scene(tree.displayed, limits, style))
    if path is not None:
        picture.save(path)
    return picture


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a picture by the extension of its path."""
    name = os.fsdecode(path)
    form = Path(name).suffix.lower().removeprefix(".")
    if form not in _FORMATS:
        raise ParameterError(f"cannot draw {safe(name)}: a picture is saved as .svg, .png or .pdf.")
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
