"""The page of a lesson: one HTML file with its data compressed, drawn by the code of the report and of the workbench.

As in exercises, names and labels are data, and a Content-Security-Policy allows the page's own script and style alone.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

from treewise._lib.html_page import html_page
from treewise._lib.text import plural
from treewise.show.palette import CLASS_COLOURS
from treewise.workbench.lesson.situations import LessonTest, Situation
from treewise.workbench.module import drawing_code, read_asset

if TYPE_CHECKING:
    from treewise.workbench.lesson.lesson import Lesson


def lesson_page(lesson: Lesson) -> str:
    """Return the page."""
    own = [read_asset("workbench.lesson", name) for name in ("grading.js", "lesson.js", "lesson.css")]
    script, style = "\n".join([drawing_code(), *own[:2]]), "\n".join([read_asset("show.report", "report.css"), own[2]])
    title = f"Lesson: grow a tree of {lesson.target}"
    body = f"""<div id="lesson" class="workbench"></div>
<noscript><p>The lesson is drawn by a script, and scripts are disabled.</p></noscript>
<script type="application/octet-stream" id="data">{_packed(lesson_data(lesson))}</script>
<script type="module">{script}</script>"""
    return html_page(title, style, script, body)


def lesson_data(lesson: Lesson) -> dict[str, Any]:
    """Return everything the page knows, as plain values."""
    return {
        "id": lesson.id,
        "table": lesson.table,
        "target": lesson.target,
        "task": lesson.task,
        "classes": lesson.classes,
        "columns": lesson.columns,
        "colours": CLASS_COLOURS,
        "unit": lesson.unit,
        "per": lesson.per,
        "depth": lesson.situations.limits.depth,
        "scope": lesson.scope,
        "rows": plural(lesson.situations[0].rows, "row"),
        "notes": lesson.notes,
        "situations": [_situation_data(situation) for situation in lesson.situations.items],
        "trees": [
            {
                "leaves": tree.leaves,
                "lost": tree.lost,
                "choices": tree.choices,
                "is_proven": tree.is_proven,
                "greedy_lost": tree.greedy_lost,
                "greedy_choices": tree.greedy_choices,
            }
            for tree in lesson.trees
        ],
        "lost_at_least": lesson.lost_at_least,
    }


def _situation_data(situation: Situation) -> dict[str, Any]:
    data: dict[str, Any] = {
        "rows": situation.rows,
        "weight": situation.weight,
        "counts": situation.counts,
        "mean": situation.mean,
        "lost": situation.lost,
        "summary": situation.summary,
        "impurity": situation.impurity,
        "stop": situation.stop,
    }
    if situation.tests:
        data |= {"tests": list(map(_test_data, situation.tests)), "winner": situation.winner, "tried": situation.tried}
    return data


def _test_data(test: LessonTest) -> dict[str, Any]:
    data = dict(vars(test))
    if data["score"] == data["gain"]:
        del data["score"]
    return data


def _packed(data: dict[str, Any]) -> str:
    """Return data as compressed JSON in letters: formulas repeat each other."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode()
