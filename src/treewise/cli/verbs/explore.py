"""``treewise explore``: grow a tree together with the editor, on a page of this machine."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import GrowthReport, read_validation
from treewise.cli.inputs import read_data, take_model
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output, partial_output, remark, write_output
from treewise.cli.param_types import in_options
from treewise.cli.verb import (
    SHOWN,
    option,
    per_option,
    take_text_options,
    text_options,
    unit_option,
    verb,
)
from treewise.errors import PackageError, Param, ParameterError

_BUDGET = 600  # of a lesson
_ENDINGS = (".gz", ".csv", ".tsv", ".tab", ".txt", ".data", ".parquet")


@verb(
    "explore",
    "DATA --target COLUMN [MODEL] [options]",
    examples=(
        "treewise explore penguins --target species --validation 0.3",
        "treewise explore train.csv model.json --validation valid.csv -o edited.json",
        "treewise explore admissions --preset id3 --per total --lesson -o lesson.html",
    ),
    about="Opens a page on which you grow, question and correct a tree: candidates of a node with their gains,"
    " thresholds to click or type, prune, lock, merge, regrow, undo. Every edit shows what it does to the error, on"
    " validation rows too (--validation). MODEL is a tree to begin with; without it, a single leaf is. Edits"
    " are kept in a file beside DATA, and the next start continues from it. Only this machine can open the page."
    " --lesson writes a page for students instead: one file, in which they grow the tree themselves, see every"
    " computation and are graded beside the greedy tree and the best tree of that size.",
)
@click.argument("data", metavar="DATA")
@click.argument("model", metavar="MODEL", required=False)
@option(
    "-o",
    "--output",
    metavar="FILE",
    help="The model file that Save writes (default DATA.tree.json), or the page of a lesson (DATA.lesson.html).",
)
@option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", section=SHOWN, help="Port (default: a free one)."
)
@option("--open/--no-open", "opens", default=True, section=SHOWN, help="Open the page in a browser.")
@option(
    "--fresh",
    is_flag=True,
    section=SHOWN,
    help="Begin anew; the edits of the last session are kept as FILE.old, FILE.old-2, ….",
)
@option("--lesson", is_flag=True, section=SHOWN, help="Write a page for students, and end.")
@option(
    "--budget",
    type=int,
    default=_BUDGET,
    metavar="N",
    section=SHOWN,
    help="For a lesson: nodes whose tests are computed beforehand (default 600). Where more can be reached, fewer tests"
    " of each column are offered, then less depth.",
)
@unit_option
@per_option
@grow_options
@text_options
def command(
    data: str,
    model: str | None,
    output: str | None,
    port: int,
    opens: bool,
    fresh: bool,
    lesson: bool,
    budget: int,
    unit: str,
    per: str,
    **options: Any,
) -> None:
    """Grow a tree by hand, on a page."""
    if lesson:
        if model is not None or fresh:
            raise ParameterError("a lesson begins with a single leaf; leave MODEL and --fresh out.")
        return _write_lesson(data, output, {"budget": budget, "unit": unit, "per": per}, options)
    for name, value, default in (("budget", budget, _BUDGET), ("unit", unit, "bits"), ("per", per, "row")):
        if value != default:
            raise ParameterError("is for lessons.", parameter=name, hint="Give " + Param("lesson", True) + ", too.")
    try:
        from treewise.workbench.serve import run
    except ImportError as error:
        raise PackageError('the workbench needs starlette and uvicorn: pip install "treewise[web]"') from error
    from treewise.workbench.opening import open_session

    text_format, grow_params = take_text_options(options), take_grow_options(options)
    if data == "-":
        raise ParameterError("the page reads its table more than once, which standard input cannot give; name a file.")
    stem = _stem(data)
    target_path = Path(output) if output else Path(f"{stem}.tree.json")
    check_output(str(target_path), data, model)
    na_values = grow_params.get("na_values", ())
    table = read_data(data, na_values, text_format)
    tree = None
    if model is not None:
        grow_params.pop("na_values", None)
        tree = take_model(model, grow_params, None).tree
    held_out = read_validation(grow_params, text_format).get("validation")
    grow_params.pop("validation", None)
    beside = Path(data).parent if Path(data).exists() else Path()
    autosave = beside / f"{stem}.treewise-session.json"
    session = open_session(table, tree, grow_params, held_out, autosave, target_path, fresh)
    for note in session.all_notes:
        remark("note", note)
    try:
        run(session, port, lambda address: _announce(address, opens))
    finally:
        partial_output.files.extend(map(str, session.written))
    return None


def _write_lesson(data: str, output: str | None, lesson_params: dict[str, Any], options: dict[str, Any]) -> None:
    """Write the page of a lesson."""
    from treewise.workbench.lesson.lesson import lesson

    text_format, grow_params = take_text_options(options), take_grow_options(options)
    path = output or f"{_stem(data)}.lesson.html"
    check_output(path, data)
    table = read_data(data, grow_params.get("na_values", ()), text_format)
    report = GrowthReport(table, quiet=False)
    with report.notes_on_error():
        result = lesson(table, **lesson_params, **grow_params, on_prepared=report.on_prepared)
    for note in result.notes[len(result.training_set.notes) :]:
        remark("note", in_options(note))
    content = result.to_html()
    write_output(content, path)
    remark("scope", result.scope)
    if path != "-":
        remark("", f"{len(content) / 1e6:.1f} MB → {safe(path)}")


def _stem(data: str) -> str:
    """Return what the files of a table are named after: its name without the endings that say how it is written.

    >>> _stem("tables/credit.2023.csv.gz"), _stem("credit.2024.CSV"), _stem("tables/v1.2"), _stem("penguins")
    ('credit.2023', 'credit.2024', 'v1.2', 'penguins')
    """
    name = Path(Path(data).absolute().name)
    while name.suffix.lower() in _ENDINGS:
        name = name.with_suffix("")
    return name.name


def _announce(address: str, opens: bool) -> None:
    remark("page", f"{safe(address)}   (Ctrl-C ends it)")
    sys.stderr.flush()
    if opens:
        webbrowser.open(address)
