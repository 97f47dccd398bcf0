"""Colours are distinguishable, also for colour-blind readers, and text on them is readable."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from treewise.show.palette import (
    CLASS_COLOURS,
    MARKERS,
    SCALE_COLOURS,
    class_colour,
    class_markers,
    confidence_tint,
    luminance,
    rgb,
    scale_colour,
    text_colour_on,
    tint,
)
from treewise.show.picture.scene import class_fill

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def seen(colour, matrix):
    """Return a colour in Lab, as somebody sees it."""
    v = np.array(rgb(colour)) / 255
    linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    x, y, z = np.cbrt(np.array(to_xyz) @ linear / [0.95047, 1.0, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("matrix", [np.eye(3), *BLINDNESS.values()], ids=["full", *BLINDNESS])
def test_first_classes_differ_for_everybody(matrix):
    for one, other in combinations(CLASS_COLOURS[:6], 2):
        assert np.linalg.norm(seen(one, matrix) - seen(other, matrix)) > 11, (one, other)
    for one, other in combinations([tint(h, 0.5) for h in CLASS_COLOURS[:3]], 2):  # areas of the first few classes
        assert np.linalg.norm(seen(one, matrix) - seen(other, matrix)) > 11, (one, other)


@pytest.mark.parametrize("matrix", [np.eye(3), *BLINDNESS.values()], ids=["full", *BLINDNESS])
def test_26_classes_differ_by_colour_or_by_hatching(matrix):
    fills = [class_fill(i) for i in range(26)]
    far = 17 if np.array_equal(matrix, np.eye(3)) else 9.5
    for one, other in combinations(fills, 2):
        distance = np.linalg.norm(seen(one.colour, matrix) - seen(other.colour, matrix))
        assert distance > (far if one.hatching != other.hatching else 12), (one, other)


def test_colour_and_marker_together_are_a_class():
    many = len(CLASS_COLOURS) * len(MARKERS)
    assert len({(class_colour(i), marker) for i, marker in enumerate(class_markers(range(many)))}) == many
    assert class_colour(-1) not in {class_colour(i) for i in range(many)}


def test_the_scale_darkens_steadily():
    light = [luminance(scale_colour(i / 100)) for i in range(101)]
    assert all(a > b for a, b in pairwise(light))
    assert [scale_colour(0), scale_colour(1)] == [SCALE_COLOURS[0], SCALE_COLOURS[-1]]


def test_surer_is_darker_and_a_guess_is_not_white():
    strengths = [luminance(confidence_tint(class_colour(0), p, 3)) for p in (0.0, 1 / 3, 0.5, 0.8, 1.0)]
    assert strengths == sorted(strengths, reverse=True)
    assert confidence_tint(class_colour(0), 1 / 3, 3) != "#FFFFFF"


def test_text_can_be_read_on_every_area():
    areas = [
        *CLASS_COLOURS,
        *SCALE_COLOURS,
        *(confidence_tint(h, p, 2) for h in CLASS_COLOURS for p in (0.5, 0.75, 1.0)),
    ]
    for area in areas:
        one, other = sorted([luminance(area), luminance(text_colour_on(area))])
        assert (other + 0.05) / (one + 0.05) >= 4.0, area
