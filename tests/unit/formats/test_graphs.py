"""Graphviz and Mermaid read the graphs, with names that contain their syntax, as the same nodes and edges."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import treewise as tw
from tests.browser.conftest import chromium
from tests.support.hostile_names import BATCHES, table
from treewise._lib.text import clip, safe
from treewise.show.text_tree.conditions import ConditionText

__all__ = ["chromium"]

WIDTH = 60  # of a line, at most
MERMAID = os.environ.get("TREEWISE_MERMAID", "")  # the file mermaid.min.js of the npm package mermaid
TREES = [lambda names=names: tw.grow(*table(names), max_depth=3, categorical="multiway") for names in BATCHES]


def shown(text):
    return clip(safe(text), WIDTH)


def nodes_and_edges(tree):
    """Return the first line of each node, and the condition on each edge, as they should be read."""
    conditions = ConditionText(tree)
    nodes = [shown(node.split.column if node.split else str(node.prediction)) for node in tree]
    inner = [i for i in range(len(tree)) if tree.children(i)]
    edges = {
        (i, child): shown(text)
        for i in inner
        for child, text in zip(tree.children(i), conditions.branches(i), strict=True)
    }
    return nodes, edges


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz on this machine: apt-get install graphviz")
@pytest.mark.parametrize("make", TREES)
def test_graphviz_reads_every_name(make):
    tree = make()
    completed = subprocess.run(["dot", "-Tjson0"], input=tree.export("dot").encode(), capture_output=True, check=True)
    assert not completed.stderr
    graph = json.loads(completed.stdout)
    nodes, edges = nodes_and_edges(tree)

    def unescaped(label):  # Graphviz keeps the escapes of a label until it is drawn
        return label.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")

    assert [unescaped(each["label"]).partition("\n")[0] for each in graph["objects"]] == nodes
    assert {(each["tail"], each["head"]): unescaped(each["label"]) for each in graph["edges"]} == edges


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    if not Path(MERMAID).is_file():
        pytest.skip("no Mermaid: npm pack mermaid, and name its mermaid.min.js in TREEWISE_MERMAID")
    path = tmp_path_factory.mktemp("mermaid") / "page.html"
    start = "mermaid.initialize({startOnLoad: false, maxTextSize: 1e7})"
    path.write_text(f"<meta charset=utf-8><script src='{Path(MERMAID).as_uri()}'></script><script>{start}</script>")
    page = chromium.new_page()
    page.goto(path.as_uri())
    yield page
    page.close()


@pytest.mark.parametrize("make", TREES)
def test_mermaid_reads_every_name(page, make):
    tree = make()
    evaluation = page.evaluate(
        """async (text) => {
            const {svg} = await mermaid.render("graph", text);
            const holder = document.createElement("div");
            holder.innerHTML = svg;
            const lines = (node) => [...node.querySelectorAll("br")].reduce((_, br) => br.replaceWith("\\n"), 0);
            holder.querySelectorAll(".nodeLabel, .edgeLabel").forEach(lines);
            const texts = (of) => [...holder.querySelectorAll(of)].map((node) => node.textContent);
            return [texts("g.node .nodeLabel"), texts("g.edgeLabel .edgeLabel"),
                    holder.querySelectorAll("script, img, a, b").length];
        }""",
        tree.export("mermaid"),
    )
    nodes, edges = nodes_and_edges(tree)
    blank = str.maketrans("", "", "\u200b")
    assert [" ".join(text.partition("\n")[0].translate(blank).split()) for text in evaluation[0]] == [
        " ".join(text.split()) for text in nodes
    ]
    assert sorted(" ".join(text.translate(blank).split()) for text in evaluation[1]) == sorted(
        " ".join(text.split()) for text in edges.values()
    )
    assert evaluation[2] == 0
