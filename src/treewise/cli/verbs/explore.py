"""``treewise explore``: grow a tree together with the editor, on a page of this machine."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import read_validation
from treewise.cli.inputs import read_data, take_model
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output, partial_output, remark
from treewise.cli.verb import SHOWN, option, take_text_options, text_options, verb
from treewise.errors import PackageError, ParameterError

_ENDINGS = (".gz", ".csv", ".tsv", ".tab", ".txt", ".data", ".parquet")


@verb(
    "explore",
    "DATA --target COLUMN [MODEL] [options]",
    examples=(
        "treewise explore penguins --target species --validation 0.3",
        "treewise explore train.csv model.json --validation valid.csv -o edited.json",
    ),
    about="Opens a page on which you grow, question and correct a tree: candidates of a node with their gains,"
    " thresholds to click or type, prune, lock, merge, regrow, undo. Every edit shows what it does to the error, on"
    " validation rows too (--validation). MODEL is a tree to begin with; without it, a single leaf is. Edits"
    " are kept in a file beside DATA, and the next start continues from it. Only this machine can open the page.",
)
@click.argument("data", metavar="DATA")
@click.argument("model", metavar="MODEL", required=False)
@option("-o", "--output", metavar="FILE", help="The model file that Save writes (default DATA.tree.json).")
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
@grow_options
@text_options
def command(
    data: str,
    model: str | None,
    output: str | None,
    port: int,
    opens: bool,
    fresh: bool,
    **options: Any,
) -> None:
    """Grow a tree by hand, on a page."""
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
