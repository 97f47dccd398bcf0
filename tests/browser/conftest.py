"""Chromium driven by playwright; tests are skipped with the reason if it is not available.

pip install ".[test,browser]" and a Chromium (on Debian: apt-get install chromium)
"""

import os
import shutil
from dataclasses import dataclass, field

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def chromium():
    if not os.environ.get("TREEWISE_BROWSER"):  # where it is set, a browser must be there
        pytest.importorskip("playwright.sync_api", reason='no playwright: pip install "treewise[browser]"')
        if CHROMIUM is None:
            pytest.skip("no Chromium on this machine: apt-get install chromium")
    import playwright.sync_api as playwright

    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page that was opened, and everything it did that a page of ours must not do."""

    page: object
    wrong: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    def boxes(self):
        return self.page.locator("#tree .node").count()

    def box(self, node):
        return self.page.locator(f'#tree [data-node="{node}"]')


@pytest.fixture
def open_page(chromium):
    """Open a file; at the end no error was logged, no dialog shown, and nothing requested but the file itself."""
    opened = []

    def open_it(path, width=1300, height=900, **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(10_000)
        here = Opened(context.new_page())
        here.page.on("console", lambda message: here.wrong.append(message.text))
        here.page.on("pageerror", lambda error: here.wrong.append(str(error)))
        here.page.on("dialog", lambda dialog: (here.wrong.append(dialog.message), dialog.dismiss()))
        here.page.on("request", lambda request: here.requests.append(request.url))
        here.page.goto(path.as_uri())
        here.page.wait_for_selector("html[data-ready=yes]", timeout=10_000)
        opened.append((here, path.as_uri(), context))
        return here

    yield open_it
    for here, uri, context in opened:
        assert here.wrong == []
        assert here.requests == [uri]
        context.close()
