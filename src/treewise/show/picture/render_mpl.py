"""A scene as PNG or PDF, painted by matplotlib, which brings its own font: no other font or program is needed.

Stands beside ``svg.py`` at the end of the flow of a picture. matplotlib is an extra, imported when it is used.
"""

from __future__ import annotations

import io
import math
import warnings
from typing import TYPE_CHECKING, Any

from treewise.errors import PackageError
from treewise.show.picture.scene import BandShape, BoxShape, LineShape, TextShape, VectorScene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS, POINT = 96, 0.75  # pixels of ours in an inch; points in a pixel
SHARP = 2.0  # pixels of a PNG for each of ours
MOST_PIXELS, LONGEST_SIDE = 40_000_000, 30_000  # of a PNG; a larger picture is drawn less sharp
DASHES = (0, (3, 2.2))
FONT = "DejaVu Sans"  # matplotlib has it with it; the others only for letters it lacks, where they are installed
FURTHER = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Microsoft YaHei", "PingFang SC", "Arial Unicode MS", "Noto Sans")


def check_press(form: str) -> None:
    """See to it that a form can be painted; for the command line before there is a scene, which may take long."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise PackageError(
            f'{form.upper()} pictures are painted by matplotlib, which is not installed: pip install "treewise[plot]";'
            " an .svg needs nothing."
        ) from None


def printed(scene: VectorScene, form: str) -> bytes:
    """Return a scene as the bytes of a ``png`` or ``pdf`` file, always the same for the same scene."""
    check_press(form)
    import matplotlib
    from matplotlib.figure import Figure

    inches = scene.width / PIXELS, scene.height / PIXELS
    with warnings.catch_warnings(), matplotlib.rc_context({"pdf.fonttype": 42, "pdf.compression": 6}):
        warnings.simplefilter("ignore")  # of letters that no font has
        figure = Figure(figsize=inches, dpi=PIXELS)
        paint(scene, figure.add_axes((0, 0, 1, 1)))
        into = io.BytesIO()
        if form == "pdf":
            about: dict[str, Any] = {"Title": scene.title, "Creator": "treewise", "CreationDate": None}
            figure.savefig(into, format="pdf", metadata={**about, "Producer": None})
        else:
            figure.savefig(into, format="png", dpi=PIXELS * _sharpness(scene), metadata={"Software": "treewise"})
    return into.getvalue()


def _sharpness(scene: VectorScene) -> float:
    """Return how many pixels of a PNG stand for one of ours: two, or as many as a huge picture can have."""
    by_area = math.sqrt(MOST_PIXELS / (scene.width * scene.height))
    return min(SHARP, by_area, LONGEST_SIDE / max(scene.width, scene.height))


def paint(scene: VectorScene, axes: Axes) -> None:
    """Paint a scene onto axes, which should be as large as it is: 96 of its pixels are an inch."""
    from matplotlib import font_manager

    axes.set_axis_off()
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    installed = set(font_manager.get_font_names())
    faces = [FONT, *(name for name in FURTHER if name in installed)]
    for place, shape in enumerate(scene.shapes()):
        if isinstance(shape, BoxShape):
            _box(axes, shape, place)
        elif isinstance(shape, TextShape):
            _words(axes, shape, place, faces)
        elif isinstance(shape, LineShape):
            _lines(axes, shape, place)
        else:
            _band(axes, shape, place)


def _box(axes: Axes, box: BoxShape, place: int) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    how: dict[str, Any] = {
        "facecolor": box.fill,
        "edgecolor": box.stroke or "none",
        "linewidth": box.stroke_width * POINT if box.stroke else 0.0,
        "linestyle": DASHES if box.dashed else "-",
        "zorder": place,
    }
    if not box.radius:
        axes.add_patch(Rectangle((box.x, box.y), box.width, box.height, **how))
        return
    corners = f"round,pad=0,rounding_size={min(box.radius, box.height / 2)}"
    axes.add_patch(FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=corners, **how))


def _words(axes: Axes, words: TextShape, place: int, faces: list[str]) -> None:
    sides = {"start": "left", "middle": "center", "end": "right"}
    axes.text(
        words.x,
        words.y,
        words.text,
        fontsize=words.size * POINT,
        fontweight="bold" if words.bold else "normal",
        fontstyle="normal",
        family=faces,
        color=words.colour,
        ha=sides[words.anchor],
        va="baseline",
        parse_math=False,  # a name like $x$ is no formula
        usetex=False,
        zorder=place,
    )


def _lines(axes: Axes, lines: LineShape, place: int) -> None:
    from matplotlib.collections import LineCollection

    segments = [((x1, y1), (x2, y2)) for x1, y1, x2, y2 in lines.segments]
    how: dict[str, Any] = {"linewidths": lines.width * POINT, "alpha": lines.opacity, "zorder": place}
    axes.add_collection(LineCollection(segments, colors=lines.colour, **how), autolim=False)


def _band(axes: Axes, band: BandShape, place: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    how: dict[str, Any] = {"facecolor": "none", "edgecolor": band.colour, "linewidth": band.width * POINT}
    how |= {"linestyle": DASHES if band.dashed else "-", "capstyle": "butt", "zorder": place}
    axes.add_patch(PathPatch(Path(band.points, codes), **how))
