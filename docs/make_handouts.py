"""Writes docs/handouts/*.pdf: two to four pages for three of the lecture notes, made of treewise's output alone.

``python docs/make_handouts.py`` needs Chromium (``CHROMIUM`` names it if it is not found), which prints the pages;
``--html FOLDER`` writes them unprinted. Tables, computations and pictures are those of the library; only headings and
questions are written here.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import treewise as tw
from treewise.show.mpl_helpers import figure_bytes

FOLDER = Path(__file__).parent / "handouts"
STYLE = """
@page { size: A4; margin: 14mm 15mm; }
body { font: 9pt/1.3 "DejaVu Sans", Helvetica, sans-serif; color: #111; }
h1 { font-size: 16pt; margin: 0 0 2mm; } h2 { font-size: 11.5pt; margin: 4mm 0 1mm; break-after: avoid; }
p:has(+ table), p:has(+ pre) { break-after: avoid; }
p { margin: .6mm 0; } table { font-size: 8pt; line-height: 1.2; margin: 1mm 0; break-inside: avoid; }
pre { font: 7.6pt/1.25 "DejaVu Sans Mono", monospace; margin: 1mm 0 2mm; break-inside: avoid; white-space: pre-wrap; }
.pictures { display: flex; gap: 6mm; align-items: center; justify-content: space-around;
  break-inside: avoid; margin: 1mm 0; }
.pictures svg, .pictures img { height: auto; max-width: 100%; max-height: 60mm; flex: 0 1 auto; min-width: 0; }
.pictures.large img, .pictures.large svg { max-height: 110mm; }
.result { break-inside: avoid; }
.question { border-left: 2.5pt solid #0072b2; padding-left: 3mm; margin: 2mm 0; }
"""
OR = """
if x1 == 1:
    return 1
else:
    if x2 == 1:
        return 1
    else:
        return 0
"""
OFFICIALS = """
GPA = 4.0
    Recommendation = good -> P
    Recommendation = normal
        University = top10 -> N
        University = top20 -> P
        University = top30 -> N
GPA = 3.7
    Published = yes -> P
    Published = no
        University = top10 -> N
        University = top20 -> P
        University = top30 -> N
GPA = 3.5 -> N
"""


def heading(text: str) -> str:
    """Return a heading."""
    return f"<h2>{escape(text)}</h2>"


def said(text: str) -> str:
    """Return a paragraph of our own words."""
    return f"<p>{escape(text)}</p>"


def question(text: str) -> str:
    """Return a question of the notes."""
    return f'<p class="question">{escape(text)}</p>'


def printed(*results: object) -> str:
    """Return what ``print`` shows."""
    return "".join(f"<pre>{escape(str(result))}</pre>" for result in results)


def table(result: Any) -> str:
    """Return a result as a table: a notebook shows the same."""
    return f'<div class="result">{result._repr_mimebundle_()["text/html"]}</div>'


def pictures(*drawn: Any) -> str:
    """Return trees and charts side by side."""
    return f'<div class="pictures">{"".join(map(_picture, drawn))}</div>'


def large(drawn: str) -> str:
    """Give pictures more room."""
    return drawn.replace('class="pictures"', 'class="pictures large"')


def _picture(drawn: Any) -> str:
    if hasattr(drawn, "svg"):
        return str(drawn.svg)
    image = base64.b64encode(figure_bytes(drawn.get_figure(root=True), "png", dpi=180)).decode()
    return f'<img alt="" src="data:image/png;base64,{image}">'  # as SVG, letters would be outlines: ten times as large


def id3_notes() -> str:
    """Return the handout of the ID3 notes."""
    points, full = tw.datasets.seven_points(), tw.grow("outlier")
    pruned = full.prune("reduced_error", validation="outlier_validation")
    tree = tw.grow(points)
    joint = tw.joint([[0, 1 / 2, 1 / 4], [1 / 12, 1 / 12, 1 / 12]], unit="nats")
    trace = tree.trace(points, unit="nats")
    both = tw.draw_regions({"T on V": full, "T' on V": pruned}, "outlier_validation", "x1", "x2", size=(7.5, 3.2))
    return "".join(
        [
            "<h1>The ID3 algorithm</h1>",
            heading("Entropy, in nats"),
            printed(*(tw.worked_impurity(p, unit="nats").text for p in ([1 / 2, 1 / 2], [1, 0], [5, 2]))),
            heading("Conditional entropy"),
            table(joint),
            heading("Seven training points: which decision rule is the best?"),
            printed(trace[0], trace[1]),
            pictures(tree.draw(), tree.draw_regions(points, "x1", "x2", size=(5, 3))),
            heading("Exclusive or: the best gain is 0. Do we stop?"),
            said("No: there are still impure nodes. Either rule may be taken."),
            printed(tw.candidates("xor", unit="nats"), tw.grow("xor")),
            heading("Overfitting"),
            pictures(tw.curve("noisy", over="max_leaf_nodes").draw(size=(6, 3.4))),
            heading("Pruning with a validation set"),
            printed(full, pruned.history[-1]),
            pictures(both[0]),
            heading("Exercises"),
            question(
                "How does H(X|Z) compare to H(X) in the table above? Does knowing Z reduce our uncertainty about X?"
            ),
            question("Work out the first split of the four points:"),
            printed(tw.candidates("four_points", unit="nats").render(blanks=True)),
        ]
    )


def chapter_8() -> str:
    """Return the handout of chapter 8."""
    letters = {"X": list("abbbccccdd"), "y": list("ppnnppppnp")}
    kinds = {"a branch per value": "multiway", "one value": "one_value", "an order": "ordinal", "a set": "subset"}
    trees = {name: tw.grow(letters, "y", categorical=kind, max_depth=1) for name, kind in kinds.items()}
    regions = tw.grow("penguins", max_leaf_nodes=4, columns=["bill_length_mm", "flipper_length_mm"])
    stumps = [tw.stump("no_guidance", criterion=criterion) for criterion in ("error", "entropy")]
    return "".join(
        [
            "<h1>Decision trees (chapter 8)</h1>",
            heading("Figure 8.1: or, as a truth table, code and a tree"),
            pictures(tw.parse(OR, target="y").draw(data="or", beside=["table", "code"])),
            heading("Figure 8.2: a branch per value, one value, an order, a set"),
            large(pictures(tw.draw_trees(trees, across=2))),
            heading("Figure 8.3: a tree partitions the space"),
            pictures(
                regions.draw(),
                regions.draw_regions("penguins", "bill_length_mm", "flipper_length_mm", size=(5, 3.2)),
            ),
            heading("Why accuracy is a bad score"),
            said("Two features; by accuracy they are equal, by entropy one of them is useful."),
            *map(table, stumps),
            heading("Examples 8-1 and 8-2: entropy and information gain"),
            printed(tw.worked_impurity([3, 4]).text, tw.worked_impurity([1, 6]).text),
            printed(tw.candidates("seven_rows")),
            heading("Example 8-3: Gini"),
            printed(tw.worked_impurity([3, 4], "gini").text, tw.candidates("seven_rows", criterion="gini")),
            heading("Figure 8.4: entropy and twice the Gini index"),
            pictures(tw.draw_impurity()),
            heading("Figure 8.5: maximum depth, minParent, minLeaf"),
            large(pictures(tw.draw_regions_grid("noisy")[0, 0])),
        ]
    )


def cs221_section_5() -> str:
    """Return the handout of CS221 section 5."""
    officials, learned = tw.parse(OFFICIALS, data="admissions"), tw.grow("admissions", preset="id3")
    boosted = tw.adaboost("admissions", n_estimators=4)
    trace = learned.trace("admissions", per="total")
    return "".join(
        [
            "<h1>CS221 section 5</h1>",
            heading("1. Does the officials' tree classify the twelve applicants correctly?"),
            pictures(officials.draw()),
            table(officials.check("admissions")),
            heading("2. The tree of the algorithm, with all the computations"),
            printed(*(trace[node] for node in trace.exercise_nodes)),
            pictures(learned.draw()),
            heading("3. Are the two trees equivalent?"),
            table(tw.compare(officials, learned, "admissions", names=("officials", "learned"))),
            heading("AdaBoost"),
            table(boosted.rounds),
            table(boosted.worked_round("admissions", 1)),
            said(boosted.worked_round("admissions", 1).effect),
            pictures(tw.draw_boosting_weights(size=(6, 3))),
        ]
    )


HANDOUTS = {"id3-notes": id3_notes, "chapter-8": chapter_8, "cs221-section-5": cs221_section_5}


def page(name: str) -> str:
    """Return a handout as a page of HTML."""
    head = f'<meta charset="utf-8"><title>{name}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en">{head}{HANDOUTS[name]()}</html>\n'


def print_pdf(html: Path, pdf: Path) -> None:
    """Print a page with Chromium."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium found; name it in CHROMIUM")
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        target = [f"--user-data-dir={profile}", "--no-pdf-header-footer", f"--print-to-pdf={pdf}", html.as_uri()]
        subprocess.run([browser, *options, *target], check=True, capture_output=True, timeout=120)


def main(words: list[str]) -> None:
    """Write the handouts."""
    folder = Path(words[1]) if words[:1] == ["--html"] else None
    with tempfile.TemporaryDirectory() as scratch:
        for name in HANDOUTS:
            place = (folder or Path(scratch)) / f"{name}.html"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(page(name), encoding="utf-8")
            if folder is None:
                FOLDER.mkdir(exist_ok=True)
                print_pdf(place.resolve(), FOLDER / f"{name}.pdf")


if __name__ == "__main__":
    main(sys.argv[1:])
