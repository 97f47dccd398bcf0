"""Helpers for matplotlib charts: axes, safe labels, titles, legends and image files.

matplotlib is imported when a chart is drawn, and never ``pyplot``: figures belong to the caller, and neither global
style nor the list of open figures is touched. Names and labels are data: a ``$`` does not begin a formula, a leading
``_`` hides nothing, and length is bounded.
"""

from __future__ import annotations

import inspect
import io
import os
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from treewise._lib.image_style import ImageStyle
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
_FONT_SIZE = 10.0  # points: axis labels, by which a requested font size is measured
_STYLE: ContextVar[ImageStyle | None] = ContextVar("image_style", default=None)  # of the chart that is being drawn
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


_T = TypeVar("_T")


def takes_image_options(draw: Callable[..., _T]) -> Callable[..., _T]:
    """Give a function that draws a chart the parameters ``path``, ``size``, ``font_size`` and ``dpi``.

    They concern the figure, which ``new_figure`` makes somewhere inside.
    """

    @wraps(draw)
    def draw_in_style(*args: Any, **options: Any) -> _T:
        path = options.pop("path", None)
        style = ImageStyle.check(*(options.pop(name, None) for name in ("size", "font_size", "dpi")))
        if path is not None:
            image_format(path)  # before anything is drawn
        token = _STYLE.set(style)
        try:
            drawn: Any = draw(*args, **options)
        finally:
            _STYLE.reset(token)
        if hasattr(drawn, "scene"):
            drawn = drawn.in_style(style)
            if path is not None:
                drawn.save(path)
            return cast(_T, drawn)
        figure = figure_of(drawn)
        if not style.is_default and not hasattr(figure, "image_dpi"):
            raise ParameterError("size, font_size and dpi are for a figure of its own.", hint="Leave them out, or ax.")
        if path is not None:
            save_figure(figure, path)
        return cast(_T, drawn)

    own = inspect.signature(draw)
    further = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
        for name in ("path", "size", "font_size", "dpi")
    ]
    draw_in_style.__signature__ = own.replace(parameters=[*own.parameters.values(), *further])  # type: ignore[attr-defined]
    return draw_in_style


def figure_of(drawn: Any) -> Figure:
    """Return the figure of axes, or of an array of axes."""
    first = drawn if hasattr(drawn, "get_figure") else next(iter(getattr(drawn, "flat", drawn)))
    figure: Figure = first.get_figure(root=True)
    return figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, unknown to pyplot; in the size and the font size that were requested.

    Text and lines keep their sizes in the figure; the picture of it is magnified (``figure_bytes``).
    """
    require_matplotlib()
    from treewise.show.figure import MplFigure

    style = _STYLE.get() or ImageStyle()
    across, up = style.size or (width, height)
    scale = min(across / width, up / height) if style.font_size is None else style.font_size / _FONT_SIZE
    if style.size is None:
        across, up = width * scale, height * scale
    figure = MplFigure(figsize=(across / scale, up / scale), layout="constrained")
    figure.scale, figure.image_dpi = scale, style.dpi
    if not style.is_default:
        figure.dpi = (style.dpi or figure.dpi) * scale
    return figure


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
    """Return a figure as the bytes of an image file, deterministic; magnified if a size or font size was requested."""
    import matplotlib as mpl

    buffer, scale = io.BytesIO(), getattr(figure, "scale", 1.0)
    resolution = (getattr(figure, "image_dpi", None) or dpi) * scale
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "treewise", "svg.fonttype": "path"}):
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # such a letter is drawn as a box
        if file_format == "pdf" and scale != 1:
            _write_magnified_pdf(figure, buffer, scale)
        else:
            figure.savefig(buffer, format=file_format, dpi=resolution, metadata=_UNDATED[file_format])
    content = buffer.getvalue()
    return _magnify_svg(content, scale) if file_format == "svg" and scale != 1 else content


def _magnify_svg(content: bytes, scale: float) -> bytes:
    """Enlarge the size of an SVG document, not its coordinates."""
    start = content.index(b"<svg ")
    end = content.index(b">", start)
    head = re.sub(
        rb'\b(width|height)="([\d.]+)pt"',
        lambda side: b'%s="%.2fpt"' % (side[1], float(side[2]) * scale),
        content[start:end],
    )
    return content[:start] + head + content[end:]


def _write_magnified_pdf(figure: Figure, buffer: io.BytesIO, scale: float) -> None:
    """Write a PDF whose page is larger than the figure: its coordinates are scaled before anything is drawn."""
    from matplotlib.backends import backend_mixed, backend_pdf

    mixed: Any = backend_mixed  # without types
    pdf: Any = backend_pdf
    width, height = figure.get_size_inches()
    resolution, figure.dpi = figure.dpi, 72
    try:
        file = pdf.PdfFile(buffer, metadata=_UNDATED["pdf"])
        file.newPage(width * scale, height * scale)
        file.output(scale, 0, 0, scale, 0, 0, pdf.Op.concat_matrix)
        renderer = mixed.MixedModeRenderer(figure, width, height, 72, pdf.RendererPdf(file, 72, height, width))
        figure.draw(renderer)
        renderer.finalize()
        file.finalize()
        file.close()
    finally:
        figure.dpi = resolution


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF by the extension of its path, atomically."""
    from treewise._lib.atomic_write import write_whole

    write_whole(path, figure_bytes(figure, image_format(path)))
