"""Helpers for matplotlib charts: axes, safe labels, titles, legends and image files.

matplotlib is imported when a chart is drawn, and never ``pyplot``: figures belong to the caller, and neither global
style nor the list of open figures is touched. Names and labels are data: a ``$`` does not begin a formula, a leading
``_`` hides nothing, and length is bounded.
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
from treewise.show.palette import INK, MUTED

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

_FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
_DPI = 150
_MAX_LABEL_WIDTH = 48
SMALL = 8.5  # points: notes and ticks
# Without date and version, so that the same chart gives the same bytes.
_UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}


def require_matplotlib() -> None:
    """Raise with installation instructions if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise PackageError('pictures need matplotlib, which is not installed: pip install "treewise[plot]".') from None


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, unknown to pyplot."""
    require_matplotlib()
    from treewise.show.figure import MplFigure

    return MplFigure(figsize=(width, height), layout="constrained")


def axes_for(ax: Axes | None, width: float = 5.6, height: float = 4.2) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is None:
        figure = new_figure(width, height)
        from treewise.show.figure import MplAxes

        return figure.add_subplot(axes_class=MplAxes)
    require_matplotlib()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise ParameterError(
            "must be an Axes of matplotlib, as plt.subplots() returns, or None.", parameter="ax", value=ax
        )
    return ax


def label_text(name: object, max_width: int = _MAX_LABEL_WIDTH) -> str:
    r"""Escape and clip a name or a label so that matplotlib shows it literally.

    >>> label_text("price_$"), label_text("a\nb"), label_text("x" * 50)[-3:]
    ('price_\\$', 'a\\nb', 'xx…')
    """
    return clip(safe(name), max_width).replace("$", r"\$")


def set_title(ax: Axes, *lines: str, size: float = 9.5) -> None:
    """Set the title of axes, each line wrapped to their width."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    max_letters = max(20, int(ax.bbox.width / figure.dpi * 72 / (0.48 * size)))
    wrapped = [part for line in lines for part in textwrap.wrap(line, max_letters) or [""]]
    ax.set_title("\n".join(wrapped), loc="left", fontsize=size, color=INK)


def add_legend(
    ax: Axes,
    entries: Sequence[tuple[Artist | tuple[Artist, ...], str]],
    *,
    beside: bool = False,
    below: bool = False,
    **options: Any,
) -> None:
    """Add a legend beside the axes, below them, or on them; several artists of an entry are drawn over each other.

    The texts are set afterwards, because matplotlib omits those that begin with ``_``.
    """
    if not entries:
        return
    outside = beside or below
    if beside:
        options = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, **options}
    if below:
        options = {"loc": "upper left", "borderaxespad": 0.0, **options}
        options |= {"bbox_to_anchor": (0.0, 0.0), "bbox_transform": _offset_below(ax, 3.9 * SMALL)}
    handles, texts = [artist for artist, _ in entries], [text for _, text in entries]
    placeholders = [f"entry {i}" for i in range(len(texts))]
    added = ax.legend(handles, placeholders, frameon=not outside, fontsize=SMALL, **options)
    for entry, text in zip(added.get_texts(), texts, strict=True):
        entry.set_text(text)


def _offset_below(ax: Axes, points: float) -> Transform:
    """Return the coordinates of axes shifted down by some points, below their ticks and label."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    return ax.transAxes + ScaledTranslation(0, -points / 72, figure.dpi_scale_trans)


def style_axes(ax: Axes) -> None:
    """Remove the upper and right frame, and mute the rest."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    ax.tick_params(colors=INK, labelsize=SMALL, color=MUTED)


# -- files ------------------------------------------------------------------------------------------------------------


def image_format(path: str | os.PathLike[str]) -> str:
    """Return the format of an image by its extension, before it is drawn.

    >>> image_format("regions.PNG")
    'png'
    >>> image_format("regions.gif")
    Traceback (most recent call last):
    treewise.errors.ParameterError: cannot draw regions.gif: a picture ends in .png, .svg or .pdf.
    """
    name = os.fsdecode(path)
    file_format = _FORMATS.get(Path(name).suffix.lower())
    if file_format is None:
        raise ParameterError(f"cannot draw {safe(name)}: a picture ends in .png, .svg or .pdf.")
    return file_format


def figure_bytes(figure: Figure, file_format: str, dpi: int = _DPI) -> bytes:
    """Return a figure as the bytes of an image file, deterministic."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "treewise", "svg.fonttype": "path"}):
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # such a letter is drawn as a box
        figure.savefig(buffer, format=file_format, dpi=dpi, metadata=_UNDATED[file_format])
    return buffer.getvalue()


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF by the extension of its path, atomically."""
    from treewise._lib.atomic_write import write_whole

    write_whole(path, figure_bytes(figure, image_format(path)))
