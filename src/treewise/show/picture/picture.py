"""``tree.draw``: checks what is asked for, makes the picture, and saves it where a name was given.

Stands at the top of ``draw/picture``; ``tree/tree.py`` and the command line come in here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.data.table import Table, read
from treewise.errors import Param, ParameterError
from treewise.formats.model_file.atomic_write import write_whole
from treewise.predict.predict import series_as_dict
from treewise.show.picture.build_scene import HighlightedPath, build_scene
from treewise.show.picture.node_selection import SelectionLimits
from treewise.show.picture.scene import VectorScene
from treewise.show.picture.svg import to_svg
from treewise.show.samples import NodeSamples
from treewise.tree.tree import Tree

FORMS = ("svg", "png", "pdf")
DIRECTIONS = ("down", "right")


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
        """Return the picture as a file's content: ``svg``, ``png`` or ``pdf``."""
        if form == "svg":
            return self.svg.encode()
        from treewise.show.picture.render_mpl import printed

        return printed(self.scene, form)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, whole or not at all; its ending says in which form."""
        write_whole(path, self.to_bytes(form_of(path)))

    def __repr__(self) -> str:
        return f"<Picture {self.scene.width:.0f} × {self.scene.height:.0f}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the picture in a notebook."""
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
        form_of(path)
    for name, value, least in (("max_depth", max_depth, 0), ("max_leaves", max_leaves, 2)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and (not whole or value < least):
            raise ParameterError(f"must be a whole number of {least} or more.", parameter=name, value=value)
    if direction not in DIRECTIONS:
        raise ParameterError('must be "down" or "right".', parameter="direction", value=direction)
    if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < len(tree):
        raise ParameterError(f"the tree has nodes 0 to {len(tree) - 1}.", parameter="node", value=node)
    if data is not None:
        data = read(data, na_values=tree.na_values)
    lit = () if highlight is None else path_of(tree, highlight, data)
    samples = None if data is None else NodeSamples.of(tree, data)
    picture = Picture(
        build_scene(tree, SelectionLimits(node, max_depth, max_leaves), HighlightedPath(direction, lit, samples))
    )
    if path is not None:
        picture.save(path)
    return picture


def form_of(path: str | os.PathLike[str]) -> str:
    """Tell the form of a picture by the ending of its name."""
    name = os.fsdecode(path)
    form = Path(name).suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise ParameterError(f"cannot draw {safe(name)}: a picture is saved as .svg, .png or .pdf.")
    return form


def path_of(tree: Tree, row: Any, data: Table | None) -> tuple[int, ...]:
    """Return the nodes that a single row passes; a number is that of a row of the data."""
    row = row_of(data, row) if isinstance(row, int | np.integer) else series_as_dict(tree, row)
    rows = tree.encode(row)
    if not rows.single and len(rows) != 1:
        raise ParameterError(
            f"a single row is wanted, a dict or a list of cells, not {len(rows):,} rows.", parameter="highlight"
        )
    return tree.path(int(tree.leaves(rows)[0]))


def row_of(data: Table | None, number: int | np.integer[Any]) -> Table:
    """Return one row of a table by its number, counted from 0."""
    if data is None:
        raise ParameterError(
            "the number of a row needs its table, " + Param("data", ...) + "; or give the row.",
            parameter="highlight",
            value=number,
        )
    if not 0 <= number < len(data):
        raise ParameterError(f"{data.name} has rows 0 to {len(data) - 1:,}.", parameter="highlight", value=number)
    return data.take(np.array([number]))
