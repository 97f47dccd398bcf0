"""A scene as SVG: one well-formed document that needs nothing else and can do nothing but be looked at.

Stands beside ``press.py`` at the end of the flow of a picture. No script, no style sheet, no identifier, no reference,
no font: so pictures can stand together in a page, and no name in one of them is ever more than text.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from treewise.show.picture.scene import BandShape, BoxShape, LineShape, Part, Shape, ShapeGroup, TextShape, VectorScene

FACES = "'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
ANCHORS = {"start": "", "middle": ' text-anchor="middle"', "end": ' text-anchor="end"'}


def to_svg(scene: VectorScene) -> str:
    """Return a scene as an SVG document.

    >>> print(to_svg(VectorScene(20, 10, "A & B", (BoxShape(0, 0, 20, 10),))))
    <svg xmlns="http://www.w3.org/2000/svg" width="20" height="10" viewBox="0 0 20 10" role="img" font-family="'Segoe \
UI', Helvetica, Arial, 'DejaVu Sans', sans-serif">
    <title>A &amp; B</title>
    <rect x="0" y="0" width="20" height="10" fill="#FFFFFF"/>
    </svg>
    """
    width, height = _number(scene.width), _number(scene.height)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [f'{head} role="img" font-family="{FACES}">', f"<title>{escape(scene.title)}</title>"]
    for part in scene.parts:
        lines.extend(_written(part))
    return "\n".join([*lines, "</svg>"])


def _written(part: Part) -> Iterator[str]:
    """Write a part; groups do not hold groups."""
    if not isinstance(part, ShapeGroup):
        yield _shape(part)
        return
    name = f' data-part="{escape(part.name)}"' if part.name else ""
    yield f"<g{name}><title>{escape(part.title)}</title>"
    for inner in part.parts:
        yield from _written(inner)
    yield "</g>"


def _shape(shape: Shape) -> str:
    if isinstance(shape, BoxShape):
        return _box(shape)
    if isinstance(shape, TextShape):
        return _words(shape)
    return _lines(shape) if isinstance(shape, LineShape) else _band(shape)


def _box(box: BoxShape) -> str:
    place = f'x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" height="{_number(box.height)}"'
    edge = f' stroke="{box.stroke}" stroke-width="{_number(box.stroke_width)}"' if box.stroke else ""
    dashes = ' stroke-dasharray="4 3"' if box.dashed else ""
    corners = f' rx="{_number(box.radius)}"' if box.radius else ""
    return f'<rect {place}{corners} fill="{box.fill}"{edge}{dashes}/>'


def _words(words: TextShape) -> str:
    weight = ' font-weight="bold"' if words.bold else ""
    how = f'font-size="{_number(words.size)}"{weight}{ANCHORS[words.anchor]} fill="{words.colour}"'
    return f'<text x="{_number(words.x)}" y="{_number(words.y)}" {how}>{escape(words.text)}</text>'


def _lines(lines: LineShape) -> str:
    path = "".join(f"M{_number(a)} {_number(b)}l{_number(c - a)} {_number(d - b)}" for a, b, c, d in lines.segments)
    opacity = f' stroke-opacity="{_number(lines.opacity)}"' if lines.opacity < 1 else ""
    return f'<path d="{path}" fill="none" stroke="{lines.colour}" stroke-width="{_number(lines.width)}"{opacity}/>'


def _band(band: BandShape) -> str:
    start, bend, *curve, end = (f"{_number(x)} {_number(y)}" for x, y in band.points)
    dashes = ' stroke-dasharray="4 3"' if band.dashed else ""
    how = f'stroke="{band.colour}" stroke-width="{_number(band.width)}"{dashes}'
    return f'<path d="M{start}L{bend}C{" ".join(curve)}L{end}" fill="none" {how}/>'


def _number(value: float) -> str:
    """Write a length to a tenth of a pixel, what is less than one to a hundredth, the same on every machine."""
    text = (f"{value:.2f}" if abs(value) < 1 else f"{value:.1f}").rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
