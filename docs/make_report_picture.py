"""Makes the pictures of docs/report.md: a report on a desktop, in the dark, on a phone and in print; and a notebook.

pip install ".[browser]" and a Chromium, then: python docs/make_report_picture.py
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import treewise as tw

FOLDER = Path(__file__).parent / "img"
QUALITY = 72  # of JPEG
NOTEBOOK = "<!doctype html><meta charset=utf-8><body style='font:14px sans-serif;width:1000px;margin:20px'>{}</body>"


def main() -> None:
    """Write a report to a file that is thrown away, and take its pictures."""
    table = tw.datasets.penguins()
    tree, chromium = tw.grow(table, pruning="cv"), shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        path = Path(folder) / "report.html"
        tree.report(path, table)
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = open_page(browser, path)
        page.select_option(f"#input-{tree.columns.index('island')}", label="Dream")
        page.fill(f"#input-{tree.columns.index('bill_length_mm')}", "41")
        page.fill(f"#input-{tree.columns.index('flipper_length_mm')}", "190")
        page.evaluate("scrollTo(0, 0)")
        take(page, "report", full_page=False)
        take(page, "report-ask", "#prediction")
        take(open_page(browser, path, color_scheme="dark"), "report-dark", full_page=False)
        take(open_page(browser, path, width=390, height=844), "report-phone", full_page=False)
        page = open_page(browser, path, width=760, height=1000)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        take(page, "report-print", full_page=False)
        noisy = tw.grow("noisy", "y", max_depth=3)
        noisy.report(path, "noisy", test=tw.datasets.noisy(seed=1))
        take(open_page(browser, path), "report-performance", "#performance .charts")
        notebook = Path(folder) / "notebook.html"
        results = (tree, noisy.evaluate(tw.datasets.noisy(seed=1)).draw("roc"))
        html = "<hr>".join(result._repr_mimebundle_()["text/html"] for result in results)
        notebook.write_text(NOTEBOOK.format(html), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1040, "height": 800})
        page.goto(notebook.as_uri())
        take(page, "notebook", full_page=True)
        browser.close()


def open_page(browser: Browser, path: Path, width: int = 1200, height: int = 900, color_scheme: str = "light") -> Page:
    """Open a report."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=color_scheme)  # type: ignore[arg-type]
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    return page


def take(page: Page, name: str, part: str | None = None, full_page: bool = False) -> None:
    """Write the picture of a page, or of a part of it."""
    path = FOLDER / f"{name}.jpg"
    if part is None:
        page.screenshot(path=path, type="jpeg", quality=QUALITY, full_page=full_page)
    else:
        page.locator(part).first.screenshot(path=path, type="jpeg", quality=QUALITY)


if __name__ == "__main__":
    main()
