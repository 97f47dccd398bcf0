"""Makes the picture of docs/report.md: the report of a small tree in a real browser, with one cell of a row typed in.

pip install ".[browser]" and a Chromium, then: python docs/make_report_picture.py
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import treewise as tw

PLACE = Path(__file__).parent / "img" / "report.png"


def main() -> None:
    """Write the report of the penguins to a file that is thrown away, and take its picture."""
    tree, chromium = tw.grow("penguins", max_leaf_nodes=6), shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        path = Path(folder) / "report.html"
        tree.report(path, "penguins", rows="all")
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.select_option(f"#input-{tree.columns.index('island')}", label="Dream")
        page.screenshot(path=PLACE)
        browser.close()


if __name__ == "__main__":
    main()
