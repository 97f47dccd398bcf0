"""A scene as SVG, written directly, or as PNG or PDF, painted by matplotlib.

SVG is one well-formed document without scripts, style sheets, identifiers, references or fonts, so that pictures can be
combined on a page and a name in one of them is never more than text. matplotlib is optional and imported when used; it
ships its own font, so nothing else is needed.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from treewise.errors import PackageError, ParameterError
from treewise.show.picture.scene import (
    BoxShape,
    EdgeShape,
    LineShape,
    Part,
    PathShape,
    Shape,
    ShapeGroup,
    TextShape,
    VectorScene,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS_PER_INCH, _POINTS_PER_PIXEL = 96, 0.75
_PNG_SCALE = 2.0  # PNG pixels per pixel of the scene
_MAX_PNG_PIXELS, _MAX_PNG_SIDE = 40_000_000, 30_000  # a larger picture gets a lower resolution
_MPL_DASHES = (0, (3, 2.2))
_MPL_FONT = "DejaVu Sans"  # shipped with matplotlib; the others only for letters it lacks, where they are installed
_MPL_CODE_FONT = "DejaVu Sans Mono"
_MPL_FALLBACK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Microsoft YaHei",
    "PingFang SC",
    "Arial Unicode MS",
    "Noto Sans",
)
_SVG_FONTS = "'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_SVG_CODE_FONTS = "Consolas, Menlo, 'DejaVu Sans Mono', monospace"
_SVG_ANCHORS = {"start": "", "middle": ' text-anchor="middle"', "end": ' text-anchor="end"'}


# -- SVG ----------------------------------------------------------------------------------------------------


def to_svg(scene: VectorScene) -> str:
    """Return a scene as an SVG document.

    >>> print(to_svg(VectorScene(20, 10, "A & B", (BoxShape(0, 0, 20, 10),))))
    <svg xmlns="http://www.w3.org/2000/svg" width="20" height="10" viewBox="0 0 20 10" role="img" font-family="'Segoe \
UI', Helvetica, Arial, 'DejaVu Sans', sans-serif">
    <title>A &amp; B</title>
    <rect x="0" y="0" width="20" height="10" fill="#FFFFFF"/>
    </svg>
    """
    size = f'width="{_number(scene.width * scene.scale)}" height="{_number(scene.height * scene.scale)}"'
    view = " ".join(map(_number, (scene.left, scene.top, scene.width, scene.height)))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="{view}"'
    lines = [f'{head} role="img" font-family="{_SVG_FONTS}">', f"<title>{escape(scene.title)}</title>"]
    for part in scene.parts:
        lines.extend(_svg_part(part))
    return "\n".join([*lines, "</svg>"])


def _svg_part(part: Part) -> Iterator[str]:
    if not isinstance(part, ShapeGroup):
        yield _svg_shape(part)
        return
    name = f' data-part="{escape(part.name)}"' if part.name else ""
    yield f"<g{name}><title>{escape(part.title)}</title>"
    for inner in part.parts:
        yield from _svg_part(inner)
    yield "</g>"


def _svg_shape(shape: Shape) -> str:
    if isinstance(shape, BoxShape):
        return _svg_box(shape)
    if isinstance(shape, TextShape):
        return _svg_text(shape)
    if isinstance(shape, PathShape):
        return _svg_path(shape)
    return _svg_lines(shape) if isinstance(shape, LineShape) else _svg_edge(shape)


def _svg_box(box: BoxShape) -> str:
    geometry = f'x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" height="{_number(box.height)}"'
    outline = f' stroke="{box.stroke}" stroke-width="{_number(box.stroke_width)}"' if box.stroke else ""
    dashes = ' stroke-dasharray="4 3"' if box.dashed else ""
    corners = f' rx="{_number(box.radius)}"' if box.radius else ""
    return f'<rect {geometry}{corners} fill="{box.fill}"{outline}{dashes}/>'


def _svg_text(text: TextShape) -> str:
    weight = ' font-weight="bold"' if text.bold else ""
    weight += f' font-family="{_SVG_CODE_FONTS}" xml:space="preserve"' if text.is_code else ""
    style = f'font-size="{_number(text.size)}"{weight}{_SVG_ANCHORS[text.anchor]} fill="{text.colour}"'
    return f'<text x="{_number(text.x)}" y="{_number(text.y)}" {style}>{escape(text.text)}</text>'


def _svg_lines(lines: LineShape) -> str:
    path = "".join(f"M{_number(a)} {_number(b)}l{_number(c - a)} {_number(d - b)}" for a, b, c, d in lines.segments)
    opacity = f' stroke-opacity="{_number(lines.opacity)}"' if lines.opacity < 1 else ""
    return f'<path d="{path}" fill="none" stroke="{lines.colour}" stroke-width="{_number(lines.width)}"{opacity}/>'


def _svg_path(path: PathShape) -> str:
    points = "L".join(f"{_number(x)} {_number(y)}" for x, y in path.points)
    outline = f' stroke="{path.stroke}" stroke-width="{_number(path.width)}"' if path.stroke else ""
    dashes = f' stroke-dasharray="{" ".join(map(_number, path.dashes))}"' if path.dashes else ""
    opacity = f' fill-opacity="{_number(path.opacity)}"' if path.fill and path.opacity < 1 else ""
    end = "Z" if path.fill else ""
    return f'<path d="M{points}{end}" fill="{path.fill or "none"}"{opacity}{outline}{dashes}/>'


def _svg_edge(edge: EdgeShape) -> str:
    start, bend, *curve, end = (f"{_number(x)} {_number(y)}" for x, y in edge.points)
    dashes = ' stroke-dasharray="4 3"' if edge.dashed else ""
    style = f'stroke="{edge.colour}" stroke-width="{_number(edge.width)}"{dashes}'
    return f'<path d="M{start}L{bend}C{" ".join(curve)}L{end}" fill="none" {style}/>'


def _number(value: float) -> str:
    """Format a length to a tenth of a pixel, below one to a hundredth, the same on every machine."""
    text = (f"{value:.2f}" if abs(value) < 1 else f"{value:.1f}").rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# -- PNG and PDF --------------------------------------------------------------------------------------------


def check_picture_format(form: str) -> None:
    """Raise if a format needs matplotlib and it is missing; called before a scene is built, which may take long."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise PackageError(
            f'{form.upper()} pictures are drawn by matplotlib, which is not installed: pip install "treewise[plot]";'
            " an .svg needs nothing."
        ) from None


def to_png_or_pdf(scene: VectorScene, form: str, dpi: int | None = None) -> bytes:
    """Return a scene as the bytes of a ``png`` or ``pdf`` file, deterministic."""
    check_picture_format(form)
    import matplotlib
    from matplotlib.figure import Figure

    inches = scene.width * scene.scale / PIXELS_PER_INCH, scene.height * scene.scale / PIXELS_PER_INCH
    with warnings.catch_warnings(), matplotlib.rc_context({"pdf.fonttype": 42, "pdf.compression": 6}):
        warnings.simplefilter("ignore")  # about letters that no font has
        figure = Figure(figsize=inches, dpi=PIXELS_PER_INCH)
        paint(scene, figure.add_axes((0, 0, 1, 1)))
        buffer = io.BytesIO()
        if form == "pdf":
            metadata: dict[str, Any] = {"Title": scene.title, "Creator": "treewise", "CreationDate": None}
            figure.savefig(buffer, format="pdf", metadata={**metadata, "Producer": None})
        else:
            figure.savefig(buffer, format="png", dpi=_resolution(*inches, dpi), metadata={"Software": "treewise"})
    return buffer.getvalue()


def _resolution(width: float, height: float, dpi: int | None) -> float:
    """Return the pixels per inch of a PNG: as requested, else two per CSS pixel, or fewer for a huge picture."""
    limit = min(math.sqrt(_MAX_PNG_PIXELS / (width * height)), _MAX_PNG_SIDE / max(width, height))
    if dpi is None:
        return min(_PNG_SCALE * PIXELS_PER_INCH, limit)
    if dpi > limit:
        raise ParameterError(
            f"the picture is {width:.1f} × {height:.1f} inches; up to {limit:.0f} dots per inch are written.",
            parameter="dpi",
            value=dpi,
        )
    return dpi


def paint(scene: VectorScene, axes: Axes) -> None:
    """Paint a scene onto axes of the same size, at 96 pixels per inch."""
    from matplotlib import font_manager

    axes.set_axis_off()
    axes.set_xlim(scene.left, scene.left + scene.width)
    axes.set_ylim(scene.top + scene.height, scene.top)
    points = _POINTS_PER_PIXEL * scene.scale
    installed = set(font_manager.get_font_names())
    fonts = [_MPL_FONT, *(name for name in _MPL_FALLBACK_FONTS if name in installed)]
    for zorder, shape in enumerate(scene.shapes()):
        if isinstance(shape, BoxShape):
            _paint_box(axes, shape, zorder, points)
        elif isinstance(shape, TextShape):
            _paint_text(axes, shape, zorder, points, fonts)
        elif isinstance(shape, LineShape):
            _paint_lines(axes, shape, zorder, points)
        elif isinstance(shape, PathShape):
            _paint_path(axes, shape, zorder, points)
        else:
            _paint_edge(axes, shape, zorder, points)


def _paint_box(axes: Axes, box: BoxShape, zorder: int, points: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    style: dict[str, Any] = {
        "facecolor": box.fill,
        "edgecolor": box.stroke or "none",
        "linewidth": box.stroke_width * points if box.stroke else 0.0,
        "linestyle": _MPL_DASHES if box.dashed else "-",
        "zorder": zorder,
    }
    if not box.radius:
        axes.add_patch(Rectangle((box.x, box.y), box.width, box.height, **style))
        return
    corners = f"round,pad=0,rounding_size={min(box.radius, box.height / 2)}"
    axes.add_patch(FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=corners, **style))


def _paint_text(axes: Axes, text: TextShape, zorder: int, points: float, fonts: list[str]) -> None:
    alignments = {"start": "left", "middle": "center", "end": "right"}
    axes.text(
        text.x,
        text.y,
        text.text,
        fontsize=text.size * points,
        fontweight="bold" if text.bold else "normal",
        fontstyle="normal",
        family=[_MPL_CODE_FONT, *fonts] if text.is_code else fonts,
        color=text.colour,
        ha=alignments[text.anchor],
        va="baseline",
        parse_math=False,  # a name like $x$ is not a formula
        usetex=False,
        zorder=zorder,
    )


def _paint_lines(axes: Axes, lines: LineShape, zorder: int, points: float) -> None:
    from matplotlib.collections import LineCollection

    segments = [((x1, y1), (x2, y2)) for x1, y1, x2, y2 in lines.segments]
    style: dict[str, Any] = {"linewidths": lines.width * points, "alpha": lines.opacity, "zorder": zorder}
    axes.add_collection(LineCollection(segments, colors=lines.colour, **style), autolim=False)


def _paint_path(axes: Axes, path: PathShape, zorder: int, points: float) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Polygon

    width = path.width * points
    style: dict[str, Any] = {
        "facecolor": to_rgba(path.fill, path.opacity) if path.fill else "none",
        "edgecolor": path.stroke or "none",
        "linewidth": width if path.stroke else 0.0,
        "linestyle": (0, tuple(length / path.width for length in path.dashes)) if path.dashes else "-",
        "joinstyle": "round",
        "zorder": zorder,
    }
    axes.add_patch(Polygon(path.points, closed=path.fill is not None, **style))


def _paint_edge(axes: Axes, edge: EdgeShape, zorder: int, points: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    style: dict[str, Any] = {"facecolor": "none", "edgecolor": edge.colour, "linewidth": edge.width * points}
    style |= {"linestyle": _MPL_DASHES if edge.dashed else "-", "capstyle": "butt", "zorder": zorder}
    axes.add_patch(PathPatch(Path(edge.points, codes), **style))
