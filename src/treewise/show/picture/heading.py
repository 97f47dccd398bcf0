"""What stands above a picture: what the tree predicts and how well, what the colours mean, and what is not shown.

Stands beside ``plan.py``; ``compose.py`` puts it on top. Lines are wrapped to the width of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treewise._lib.text import format_rounded, plural, safe
from treewise.formats.text_format.notation import write_label
from treewise.show.node_stats import describe_training_error, has_training_rows
from treewise.show.picture.fills import FACTS, REST, WORDS, Fill, of_class, of_value
from treewise.show.picture.node_boxes import SMALL, SWATCH, NodeBoxes
from treewise.show.picture.scene import LineShape, Shape, TextShape, filled
from treewise.show.picture.text_metrics import clip_to, text_width
from treewise.tree.tree import Tree

TITLE, LINE = 16.0, 17.0
LEAST, MOST = 340.0, 900.0  # how wide the lines may be
MOST_CLASSES, CLASS_ROOM, SCALE_STEPS = 14, 150.0, 8


@dataclass
class PictureHeading:
    """Lines above a picture, painted from a corner down."""

    x: float
    y: float
    room: float
    shapes: list[Shape] = field(default_factory=list)
    width: float = 0.0  # of the widest line
    height: float = 0.0

    def say(self, text: str, size: float = SMALL, bold: bool = False, colour: str = FACTS) -> None:
        """Add a text, over as many lines as it needs."""
        for line in wrapped(text, self.room, size, bold):
            self.height += LINE if size < TITLE else 20
            self.shapes.append(TextShape(self.x, self.y + self.height - 4, line, size, bold, colour))
            self.width = max(self.width, text_width(line, size, bold))

    def explain(self, inks: Sequence[tuple[Fill, str]]) -> None:
        """Add what the colours mean, over as many lines as that needs."""
        at = 0.0
        self.height += LINE
        for ink, text in inks:
            wide = SWATCH + 5 + text_width(text, SMALL)
            if at and at + wide > self.room:
                at, self.height = 0.0, self.height + LINE
            base = self.y + self.height - 4
            self.shapes += filled(self.x + at, base - SWATCH + 1, SWATCH, SWATCH, ink)
            self.shapes.append(TextShape(self.x + at + SWATCH + 5, base, text, SMALL))
            self.width = max(self.width, at + wide)
            at += wide + 16

    def show_scale(self, low: str, high: str) -> None:
        """Add what the colours of numbers mean."""
        self.height += LINE
        base, at = self.y + self.height - 4, self.x + text_width(low, SMALL) + 5
        self.shapes.append(TextShape(self.x, base, low, SMALL))
        for step in range(SCALE_STEPS + 1):
            ink = of_value(step / SCALE_STEPS)
            self.shapes += filled(at + step * SWATCH, base - SWATCH + 1, SWATCH, SWATCH, ink)
        at += (SCALE_STEPS + 1) * SWATCH + 5
        self.shapes.append(TextShape(at, base, high, SMALL))
        self.width = max(self.width, at + text_width(high, SMALL) - self.x)

    def show_line(self, text: str) -> None:
        """Add what a thick line means."""
        self.height += LINE
        base = self.y + self.height - 4
        self.shapes.append(LineShape(((self.x, base - 4, self.x + 22, base - 4),), WORDS, 2.5))
        self.shapes.append(TextShape(self.x + 28, base, text, SMALL))
        self.width = max(self.width, 28 + text_width(text, SMALL))


def heading(
    cards: NodeBoxes, corner: tuple[float, float], width: float, remarks: Sequence[str], lit: bool, titled: bool
) -> PictureHeading:
    """Say what a picture shows; ``width`` is that of the picture below."""
    tree = cards.tree
    head = PictureHeading(*corner, min(max(width, LEAST), MOST))
    if titled:
        head.say(clip_to(safe(tree.target.name), head.room, TITLE, bold=True), TITLE, bold=True, colour=WORDS)
        head.say(" · ".join(facts(tree)))
    if tree.task == "classification":
        head.explain(legend(tree))
    elif has_training_rows(tree) or cards.histograms is not None:
        low, high = cards.scale
        head.show_scale(format_rounded(low), format_rounded(high))
    if cards.histograms is not None:
        what = "what is predicted" if tree.task == "regression" else "the column asked about, by class"
        mark = "mean" if tree.task == "regression" else "threshold"
        head.say(f"histograms: {what}; mark: the {mark}")
    elif tree.task == "regression" and has_training_rows(tree):
        head.say("bars: mean, and a standard deviation to either side")
    if lit:
        head.show_line("the path of the row")
    for remark in remarks:
        head.say(remark)
    head.height += 10
    return head


def facts(tree: Tree) -> list[str]:
    """Say how large the tree is and how well it fits its table."""
    rows = [plural(int(tree.arrays.rows[0]), "row")] if has_training_rows(tree) else []
    return [*rows, plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}", *describe_training_error(tree)]


def legend(tree: Tree) -> list[tuple[Fill, str]]:
    """Return the ink of each class with its name; of many, the first few."""
    shown = [(of_class(i), clip_to(write_label(label), CLASS_ROOM, SMALL)) for i, label in enumerate(tree.classes)]
    if len(shown) <= MOST_CLASSES:
        return shown
    return [*shown[:MOST_CLASSES], (REST, f"… {len(shown) - MOST_CLASSES:,} more classes")]


def wrapped(text: str, room: float, size: float, bold: bool = False) -> list[str]:
    """Break a text at spaces so that each line fits; a word that is too long is shortened in its middle.

    >>> wrapped("344 rows · 4 leaves", 80, 11)
    ['344 rows · 4', 'leaves']
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and text_width(f"{lines[-1]} {word}", size, bold) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(clip_to(word, room, size, bold))
    return lines
