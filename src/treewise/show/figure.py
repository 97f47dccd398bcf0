"""A matplotlib figure that notebooks display although pyplot does not know it.

A module of its own, imported by ``mpl_helpers.new_figure``, so that matplotlib is loaded only when something is drawn.
"""

from __future__ import annotations

import os

from matplotlib.axes import Axes
from matplotlib.figure import Figure


class MplFigure(Figure):
    """A matplotlib figure with a PNG representation for notebooks.

    >>> MplFigure(figsize=(1, 1))._repr_png_()[1:4]
    b'PNG'
    """

    scale = 1.0  # how much larger the picture is than the figure, text and lines included
    image_dpi: int | None = None  # of PNG files, if it was requested

    def _repr_png_(self) -> bytes:
        from treewise.show.mpl_helpers import figure_bytes

        return figure_bytes(self, "png", dpi=110)


class MplAxes(Axes):
    """matplotlib axes that a notebook shows as the picture they are part of.

    >>> ax = MplFigure(figsize=(1, 1)).add_subplot(axes_class=MplAxes)
    >>> ax._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        from treewise.show.mpl_helpers import figure_bytes

        figure = self.get_figure(root=True)
        assert figure is not None
        return figure_bytes(figure, "png", dpi=110)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file atomically, in the format of its extension."""
        from treewise.show.mpl_helpers import save_figure

        figure = self.get_figure(root=True)
        assert figure is not None
        save_figure(figure, path)
