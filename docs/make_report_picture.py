"""Makes the pictures that need a browser or LaTeX: of reports, a notebook, growth steps, and a tree in TikZ.

pip install ".[browser]", a Chromium, pdflatex and pdftoppm, then: python docs/make_report_picture.py
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import treewise as tw

FOLDER = Path(__file__).parent / "img"
QUALITY = 72  # of JPEG
NOTEBOOK = "<!doctype html><meta charset=utf-8><body style='font:14px sans-serif;width:1000px;margin:20px'>{}</body>"


def main() -> None:
    """Write pages and a document to a folder that is thrown away, and take their pictures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as running:
        folder = Path(name)
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        draw_report(browser, folder)
        draw_notebook(browser, folder)
        draw_growth_page(browser, folder)
        browser.close()
        draw_tikz(folder)


def draw_report(browser: Browser, folder: Path) -> None:
    """Take the pictures of the report of a tree for customers, with those of the year after as its test table."""
    tree, path = grow_customers(), folder / "report.html"
    tree.report(path, "customers", test="customers_later")
    page = open_page(browser, path)
    for column, cell in (("age", "55"), ("products", "1"), ("active", "0")):
        page.fill(f"#input-{tree.columns.index(column)}", cell)
    page.evaluate("scrollTo(0, 0)")
    take(page, "report", full_page=False)
    take(page, "report-ask", "#ask")
    take(open_page(browser, path), "report-performance", "#performance")
    take(open_page(browser, path, color_scheme="dark"), "report-dark", full_page=False)
    take(open_page(browser, path, width=390, height=844), "report-phone", full_page=False)
    page = open_page(browser, path, width=760, height=1000)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    take(page, "report-print", full_page=False)


def grow_customers() -> tw.Tree:
    """Grow the tree of docs/from-a-csv-to-a-signed-report.md."""
    words = {"labels": {0: "stays", 1: "leaves"}, "units": {"age": "years", "balance": "€"}}
    options = {"ignore": ["customer_id"], "na_values": ["999"], "pruning": "cv", "round_thresholds": True}
    return tw.grow("customers", **options, **words)  # type: ignore[arg-type]


def draw_notebook(browser: Browser, folder: Path) -> None:
    """Take the picture of what a notebook shows."""
    tree, path = grow_customers(), folder / "notebook.html"
    evaluation = tree.evaluate("customers_later")
    results = (tree, evaluation, evaluation.draw("roc"))
    html = "<hr>".join(result._repr_mimebundle_()["text/html"] for result in results)
    path.write_text(NOTEBOOK.format(html), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1040, "height": 800})
    page.goto(path.as_uri())
    take(page, "notebook", full_page=True)


def draw_growth_page(browser: Browser, folder: Path) -> None:
    """Take the picture of the steps of growth, after two of them."""
    path, full = folder / "growth.html", tw.grow("outlier")
    pruned = full.prune("reduced_error", validation="outlier_validation")
    full.draw_steps(path, pruned=pruned, data="outlier", unit="nats")
    page = browser.new_page(viewport={"width": 1100, "height": 860})
    page.goto(path.as_uri())
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.screenshot(path=FOLDER / "growth-page.png")


def draw_tikz(folder: Path) -> None:
    """Compile the admissions tree, and take its picture."""
    tw.grow("admissions", preset="id3").draw(folder / "tree.tex")
    subprocess.run(["pdflatex", "-interaction=batchmode", "tree.tex"], cwd=folder, check=True, capture_output=True)
    to_png = ["pdftoppm", "-r", "110", "-png", "-singlefile", "tree.pdf", str(FOLDER / "tree-tikz")]
    subprocess.run(to_png, cwd=folder, check=True)


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
