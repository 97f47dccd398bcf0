"""The page of growth in a real browser: it fits a slide, the slider and the keys move between steps."""

import pytest

import treewise as tw

WINDOWS = {"slide": (1280, 720), "beamer": (1920, 1080), "old beamer": (1024, 768)}


@pytest.mark.parametrize("window", WINDOWS)
def test_the_panels_fit_the_window(window, tmp_path, open_page):
    width, height = WINDOWS[window]
    tw.grow("four_points").draw_steps(tmp_path / "steps.html", data="four_points", rows="abcd")
    here = open_page(tmp_path / "steps.html", width=width, height=height)
    for step in range(3):
        shown = here.page.locator("section:not([hidden]) .panels svg, section:not([hidden]) table")
        assert shown.count() >= 3
        for box in (each.bounding_box() for each in shown.all()):
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height
        assert here.page.locator("#caption").inner_text().startswith(f"{step} of 2")
        here.page.keyboard.press("ArrowRight")


def test_a_phone_shows_the_panels_below_each_other(tmp_path, open_page):
    tw.grow("admissions", preset="id3").draw_steps(tmp_path / "steps.html", data="admissions")
    here = open_page(tmp_path / "steps.html", width=390, height=800)
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
    tops = [panel.bounding_box()["y"] for panel in here.page.locator("section:not([hidden]) .panels > div").all()]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(tops)
