"""What every matplotlib picture stands on: axes to draw on, text that is only text, legends, and files.

Stands above ``palette.py`` and below the pictures (``plots``, ``regions``). Matplotlib is imported when a picture is
drawn, and never ``pyplot``: figures belong to whoever asked for them, no style and no list of open figures is touched.
Names and labels are data: a ``$`` does not begin a formula, a leading ``_`` hides nothing, and length is bounded.
"""

from __future__ import annotations

import io
import os
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewise._lib.text import clip, safe
from treewise.errors import PackageError, ParameterError
from treewise.show.palette import INK, QUIET

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

FORMS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
DOTS_PER_INCH = 150
LONGEST_NAME = 48
SMALL = 8.5  # points: notes and ticks
# Without these a file would tell when and by which version it was made: the same picture is to be the same file.
UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}


def need_matplotlib() -> None:
    """Say how to get matplotlib where it is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise PackageError('pictures need matplotlib, which is not installed: pip install "treewise[plot]".') from None


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many inches, which nobody else knows of."""
    need_matplotlib()
    from treewise.show.figure import MplFigure

    return MplFigure(figsize=(width, height), layout="constrained")


def axes_for(ax: Axes | None, width: float = 5.6, height: float = 4.2) -> Axes:
    """Return the axes to draw on: those that were given, or the only ones of a new figure."""
    if ax is None:
        return new_figure(width, height).add_subplot()
    need_matplotlib()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise ParameterError(
            "must be an Axes of matplotlib, as plt.subplots() returns, or None.", parameter="ax", value=ax
        )
    return ax


def said(name: object, most: int = LONGEST_NAME) -> str:
    r"""Write a name or a label so that matplotlib shows it as it is.

    >>> said("price_$"), said("a\nb"), said("x" * 50)[-3:]
    ('price_\\$', 'a\\nb', 'xx…')
    """
    return clip(safe(name), most).replace("$", r"\$")


def title(ax: Axes, *lines: str, size: float = 9.5) -> None:
    """Write lines above some axes, each broken where these end."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    letters = max(20, int(ax.bbox.width / figure.dpi * 72 / (0.48 * size)))
    broken = [part for line in lines for part in textwrap.wrap(line, letters) or [""]]
    ax.set_title("\n".join(broken), loc="left", fontsize=size, color=INK)


def legend(
    ax: Axes, entries: Sequence[tuple[Artist, str]], *, beside: bool = False, below: bool = False, **options: Any
) -> None:
    """Explain marks and lines: beside the axes, below them, or on them.

    The texts are set afterwards, for matplotlib leaves out those that begin with ``_``.
    """
    if not entries:
        return
    outside = beside or below
    if beside:
        options = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, **options}
    if below:
        options = {"loc": "upper left", "borderaxespad": 0.0, **options}
        options |= {"bbox_to_anchor": (0.0, 0.0), "bbox_transform": lowered(ax, 3.9 * SMALL)}
    handles, texts = [artist for artist, _ in entries], [text for _, text in entries]
    made = ax.legend(handles, [f"entry {i}" for i in range(len(texts))], frameon=not outside, fontsize=SMALL, **options)
    for place, text in zip(made.get_texts(), texts, strict=True):
        place.set_text(text)


def lowered(ax: Axes, points: float) -> Transform:
    """Return where things stand that many points below some axes: below their ticks and their name."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    return ax.transAxes + ScaledTranslation(0, -points / 72, figure.dpi_scale_trans)


def plain(ax: Axes) -> None:
    """Take away what says nothing: the upper and the right frame; quiet what is left."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(QUIET)
    ax.tick_params(colors=INK, labelsize=SMALL, color=QUIET)


# -- files ------------------------------------------------------------------------------------------------------------


def form_of(path: str | os.PathLike[str]) -> str:
    """Tell the form of a picture by its ending, before it is drawn.

    >>> form_of("regions.PNG")
    'png'
    >>> form_of("regions.gif")
    Traceback (most recent call last):
    treewise.errors.ParameterError: cannot draw regions.gif: a picture ends in .png, .svg or .pdf.
    """
    name = os.fsdecode(path)
    form = FORMS.get(Path(name).suffix.lower())
    if form is None:
        raise ParameterError(f"cannot draw {safe(name)}: a picture ends in .png, .svg or .pdf.")
    return form


def content(figure: Figure, form: str, dots: int = DOTS_PER_INCH) -> bytes:
    """Return a figure as the bytes of a file, the same ones every time."""
    import matplotlib as mpl

    made = io.BytesIO()
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "treewise", "svg.fonttype": "path"}):
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a letter no font has is a box, not an error
        figure.savefig(made, format=form, dpi=dots, metadata=UNDATED[form])
    return made.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF by the ending of its name, whole or not at all."""
    from treewise.formats.model_file.atomic_write import write_whole

    write_whole(path, content(figure, form_of(path)))
