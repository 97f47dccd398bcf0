"""Pictures as files of the command line: told by their ending, drawn whole before anything is written.

Stands between the verbs that draw (curve, evaluate, importance, regions, trace) and ``show/mpl_helpers.py``. Matplotlib is
imported only when there is something to draw, but that it is there is checked before any other work is done.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from click import BadParameter

from treewise.cli.param_types import split_at_equals
from treewise.errors import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".png", ".svg", ".pdf")
EVALUATIONS = ("confusion", "roc", "precision_recall", "calibration")


def is_picture(output: str | None) -> bool:
    """Tell by its ending whether a file is to be drawn.

    >>> is_picture("curve.PNG"), is_picture("curve.csv"), is_picture(None)
    (True, False, False)
    """
    return Path(output or "").suffix.lower() in ENDINGS


def check_picture(output: str | None) -> None:
    """See to it that what is asked for can be drawn, before it is computed."""
    if is_picture(output):
        from treewise.show.mpl_helpers import require_matplotlib

        require_matplotlib()


def read_picture(text: str) -> tuple[str, str]:
    """Read what to draw, and where to: ``roc=roc.png``.

    >>> read_picture("roc=out/roc.png")
    ('roc', 'out/roc.png')
    """
    what, file = split_at_equals(text)
    if file is None or not is_picture(file):
        raise BadParameter(f'"{text}" is not WHAT=FILE with a picture\'s ending, such as roc=roc.png (or .svg, .pdf).')
    if what not in EVALUATIONS:
        raise BadParameter(f'no picture "{what}".{did_you_mean(what, EVALUATIONS)} There are {", ".join(EVALUATIONS)}.')
    return what, file


def picture(ax: Axes, output: str) -> bytes:
    """Return a picture as the content of its file."""
    from treewise.show.mpl_helpers import figure_bytes, image_format

    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure_bytes(figure, image_format(output))
