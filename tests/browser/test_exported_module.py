"""The page of docs/shipping-a-tree.md, with an exported module beside it, in a real browser."""

import functools
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import treewise as tw

DOCS = (Path(__file__).parents[2] / "docs" / "shipping-a-tree.md").read_text(encoding="utf-8")
PAGE = re.search(r"```html\n(.*?)```", DOCS, re.S)[1]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def test_the_page_of_the_docs_predicts_what_is_typed(chromium, tmp_path):
    tree = tw.grow("penguins", max_leaf_nodes=4)
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "penguins.mjs").write_text(tree.export("javascript"), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        seen = set()
        for flipper, bill in (("190", "50"), ("190", "40"), ("230", "50"), ("", "50"), ("190", "")):
            page.fill("#flipper", flipper)
            page.fill("#bill", bill)
            cells = {
                "flipper_length_mm": float(flipper or "nan"),
                "bill_length_mm": float(bill or "nan"),
                "island": None,
            }
            assert page.text_content("#species") == tree.predict(cells), cells
            seen.add(page.text_content("#species"))
        assert seen == set(tree.classes)
        page.close()
        server.shutdown()
