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
    """Take the pictures of reports: of the penguins, and the performance of a tree on new rows."""
    table = tw.datasets.penguins()
    tree, path = tw.grow(table, pruning="cv"), folder / "report.html"
    tree.report(path, table)
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
    tw.grow("noisy", "y", max_depth=3).report(path, "noisy", test=tw.datasets.noisy(seed=1))
    take(open_page(browser, path), "report-performance", "#performance .charts")


def draw_notebook(browser: Browser, folder: Path) -> None:
    """Take the picture of what a notebook shows."""
    tree, noisy = tw.grow("penguins", pruning="cv"), tw.grow("noisy", "y", max_depth=3)
    path = folder / "notebook.html"
    results = (tree, noisy.evaluate(tw.datasets.noisy(seed=1)).draw("roc"))
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
