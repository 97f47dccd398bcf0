"""A matplotlib figure that notebooks display although pyplot does not know it.

A module of its own, imported by ``mpl_helpers.new_figure``, so that matplotlib is loaded only when something is drawn.
"""

from __future__ import annotations

from matplotlib.figure import Figure


class MplFigure(Figure):
    """A matplotlib figure with a PNG representation for notebooks.

    >>> MplFigure(figsize=(1, 1))._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        from treewise.show.mpl_helpers import figure_bytes

        return figure_bytes(self, "png", dpi=110)
