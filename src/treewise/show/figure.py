"""A figure of matplotlib that a notebook shows by itself, though pyplot does not know of it.

Made by ``paper.py``, which imports this file when there is something to draw: so matplotlib is loaded only then.
"""

from __future__ import annotations

from matplotlib.figure import Figure


class MplFigure(Figure):
    """A figure: everything that matplotlib's can, and a picture of itself for notebooks.

    >>> MplFigure(figsize=(1, 1))._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        from treewise.show.mpl_helpers import content

        return content(self, "png", dots=110)
