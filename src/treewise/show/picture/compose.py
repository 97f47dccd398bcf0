"""Scenes put together: moved, side by side with captions, and fitted to a size.

Used for several trees in one picture, for the steps of growth, and for a tree beside its truth table and code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from treewise._lib.image_style import ImageStyle
from treewise._lib.text import safe
from treewise.errors import ParameterError
from treewise.show.picture.scene import (
    MUTED_TEXT,
    BoxShape,
    EdgeShape,
    LineShape,
    Part,
    PathShape,
    Shape,
    ShapeGroup,
    TextShape,
    VectorScene,
    clip_to_width,
    text_width,
)

MARGIN, _GAP, _ROW_GAP = 14.0, 30.0, 12.0
_CAPTION_SIZE, _CAPTION_HEIGHT = 13.0, 26.0
TEXT_PIXELS = 11.0  # the size of ordinary text in a scene
POINTS_PER_PIXEL, PIXELS_PER_INCH = 0.75, 96.0


@singledispatch
def move(part: Any, right: float, down: float) -> Any:
    """Return a part at another place."""
    raise TypeError(part, right, down)


@move.register
def _(part: BoxShape, right: float, down: float) -> BoxShape:
    return replace(part, x=part.x + right, y=part.y + down)


@move.register
def _(part: TextShape, right: float, down: float) -> TextShape:
    return replace(part, x=part.x + right, y=part.y + down)


@move.register
def _(part: LineShape, right: float, down: float) -> LineShape:
    moved = tuple((x1 + right, y1 + down, x2 + right, y2 + down) for x1, y1, x2, y2 in part.segments)
    return replace(part, segments=moved)


@move.register
def _(part: PathShape, right: float, down: float) -> PathShape:
    return replace(part, points=tuple((x + right, y + down) for x, y in part.points))


@move.register
def _(part: EdgeShape, right: float, down: float) -> EdgeShape:
    a, b, c, d, e, f = ((x + right, y + down) for x, y in part.points)
    return replace(part, points=(a, b, c, d, e, f))


@move.register
def _(part: ShapeGroup, right: float, down: float) -> ShapeGroup:
    return replace(part, parts=tuple(move(inner, right, down) for inner in part.parts))


def side_by_side(
    panels: Sequence[tuple[str, VectorScene]],
    columns: int | None = None,
    heading: Sequence[Shape] = (),
    heading_size: tuple[float, float] = (0.0, 0.0),
    title: str = "",
) -> VectorScene:
    """Return panels with captions in rows of ``columns`` (default: all in one row), below a heading.

    Each panel is a scene whose first part is its page; panels of a column share its width.
    """
    across = min(columns or len(panels), len(panels))
    rows = [panels[i : i + across] for i in range(0, len(panels), across)]
    widths = [
        max(max(row[i][1].width, text_width(row[i][0], _CAPTION_SIZE, bold=True)) for row in rows if i < len(row))
        for i in range(across)
    ]
    caption = _CAPTION_HEIGHT if any(text for text, _ in panels) else 0.0
    parts: list[Part] = list(heading)
    top = heading_size[1] or MARGIN
    for row in rows:
        left = MARGIN
        for (text, scene), width in zip(row, widths, strict=False):
            if text:
                clipped = clip_to_width(safe(text), width, _CAPTION_SIZE, bold=True)
                middle = left + width / 2
                parts.append(TextShape(middle, top + 17, clipped, _CAPTION_SIZE, True, MUTED_TEXT, "middle"))
            parts += [move(part, left + (width - scene.width) / 2, top + caption) for part in scene.parts[1:]]
            left += width + _GAP
        top += caption + max(scene.height for _, scene in row) + _ROW_GAP
    width = max(sum(widths) + _GAP * (across - 1) + 2 * MARGIN, heading_size[0])
    page = BoxShape(0, 0, math.ceil(width), math.ceil(top - _ROW_GAP + MARGIN / 2))
    return VectorScene(page.width, page.height, title, (page, *parts))


def fit(scene: VectorScene, style: ImageStyle) -> VectorScene:
    """Return a scene in a size, with text of a font size; with a size alone, as large as it fits."""
    if style.size is None and style.font_size is None:
        return scene
    scale = 1.0 if style.font_size is None else style.font_size / (TEXT_PIXELS * POINTS_PER_PIXEL)
    if style.size is None:
        return replace(scene, scale=scale)
    width, height = (side * PIXELS_PER_INCH for side in style.size)
    largest = min(width / scene.width, height / scene.height)
    if style.font_size is None:
        scale = largest
    elif scale > largest * (1 + 1e-9):
        inches = " × ".join(f"{side * scale / PIXELS_PER_INCH:.1f}" for side in (scene.width, scene.height))
        points = math.floor(largest * TEXT_PIXELS * POINTS_PER_PIXEL * 10) / 10
        raise ParameterError(
            f"in this font size the picture takes {inches} inches; up to {points:g} points fit.",
            parameter="font_size",
            value=style.font_size,
        )
    width, height = width / scale, height / scale
    left, top = (scene.width - width) / 2, (scene.height - height) / 2
    page = BoxShape(left, top, width, height)
    return VectorScene(width, height, scene.title, (page, *scene.parts[1:]), scale, left, top)
