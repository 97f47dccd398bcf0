"""Draws the pictures of trees in docs/pictures.md and the README: ``python docs/make_gallery.py`` writes docs/img.

``--check`` writes nothing and says whether the files are what the code draws today; a test runs it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import treewise as tw

FOLDER = Path(__file__).parent / "img"
BY_HAND = """
fever = yes
    cough = yes -> flu
    cough = no  -> doctor
fever = no
    days <= 3 -> cold
    days > 3  -> doctor
"""


def pictures() -> dict[str, str]:
    """Return every picture of the page by the name of its file."""
    admissions, penguins = tw.grow("admissions", preset="id3"), tw.grow("penguins", max_leaf_nodes=4)
    mass = tw.grow("penguins", target="body_mass_g", max_leaf_nodes=6, min_samples_leaf=20, drop_missing_target=True)
    noisy = tw.datasets.noisy(5000)
    student = {"GPA": 3.7, "Published": "no", "University": "top20"}
    drawn = {
        "tree-penguins": penguins.draw(),
        "tree-histograms": penguins.draw(direction="right", data="penguins"),
        "tree-numbers": mass.draw(data="penguins"),
        "tree-row": admissions.draw(highlight=student),
        "tree-folded": tw.grow(noisy).draw(max_leaves=10, direction="right"),
        "tree-by-hand": tw.parse(BY_HAND, target="what it is").draw(),
    }
    return {name: picture.svg for name, picture in drawn.items()}


def main(words: list[str]) -> int:
    """Write the pictures, or compare them with those that are there."""
    stale = []
    for name, svg in pictures().items():
        place = FOLDER / f"{name}.svg"
        if words != ["--check"]:
            place.write_text(svg + "\n", encoding="utf-8")
        elif not place.exists() or place.read_text(encoding="utf-8") != svg + "\n":
            stale.append(place.name)
    if stale:
        print(f"not what is drawn today: {', '.join(stale)}. Look at them, then: python docs/make_gallery.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
