"""``treewise exercise``: an exercise sheet with its key, as a form, a page to print, or a quiz."""

from __future__ import annotations

import sys
from typing import Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.inputs import read_data, read_model
from treewise.cli.options import grow_options_without, take_grow_options
from treewise.cli.output import check_output, print_text, remark, write_output
from treewise.cli.render import choose_format
from treewise.cli.verb import (
    PRUNING,
    SHOWN,
    option,
    output_option,
    per_option,
    quiet_option,
    take_text_options,
    text_options,
    unit_option,
    verb,
)

_FORMATS = ("html", "latex", "markdown", "moodle", "json")
_ENDINGS = {".html": "html", ".tex": "latex", ".md": "markdown", ".xml": "moodle", ".json": "json"}
_TOPICS = ("split", "leaves", "boosting", "pruning")


@verb(
    "exercise",
    "TABLE [options]\n--random SEED [options]",
    examples=(
        "treewise exercise admissions --per total --nodes 2 -o sheet.html",
        "treewise exercise --random 7 --level 3 -o sheet.tex",
        "treewise exercise --random 7 --topic boosting --format moodle -o quiz.xml",
        "treewise exercise outlier --validation outlier_validation -o pruning.html",
        "treewise grow admissions --max-depth 1 -o t.txt && treewise exercise admissions --tree t.txt -o leaves.md",
    ),
    about="A sheet has the table, the question, numbered blanks, and the key on a second page. The form (html) checks"
    " itself as one types; treewise check marks answers by the form or by sheet.json. A seed makes a table with numbers"
    " that are easy to work with; each seed is another variant, always the same.",
)
@click.argument("data", metavar="TABLE", required=False)
@option("--random", type=int, metavar="SEED", section=SHOWN, help="Make the table: each seed gives another variant.")
@option(
    "--topic",
    type=click.Choice(_TOPICS),
    metavar="|".join(_TOPICS),
    section=SHOWN,
    help="Which split is best; what a given tree says; rounds of AdaBoost; pruning (default split; leaves with --tree,"
    " pruning with --validation).",
)
@option(
    "--level",
    type=int,
    default=1,
    metavar="1|2|3",
    section=SHOWN,
    help="What is left blank: results, counts and results, everything (default 1).",
)
@option(
    "--nodes",
    type=int,
    default=1,
    metavar="N",
    section=SHOWN,
    help="How many nodes, or rounds, to work out (default 1).",
)
@option("--tree", metavar="FILE", section=SHOWN, help="For leaves and pruning: a tree typed by hand, or a saved one.")
@option("--validation", metavar="DATA", section=SHOWN, help="For pruning: the validation table.")
@option(
    "--tolerance",
    type=float,
    default=0.005,
    metavar="X",
    section=SHOWN,
    help="By how much an entropy or a gain per row may differ (default 0.005).",
)
@unit_option
@per_option
@option(
    "--no-key",
    "key",
    flag_value=False,
    default=True,
    help="Leave out the key (html, latex, markdown); the form then saves answers without checking them.",
)
@option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    metavar="|".join(_FORMATS),
    help="Output format (default: by the file ending of -o, else markdown).",
)
@output_option("Write the sheet to a file: .html, .tex, .md, .xml (Moodle) or .json (to mark by).")
@grow_options_without(PRUNING, "search")
@text_options
@quiet_option
def command(
    data: str | None,
    tree: str | None,
    validation: str | None,
    key: bool,
    form: str | None,
    output: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Make a sheet."""
    from treewise.explain.exercise.exercise import exercise

    check_output(output, data, tree, validation)
    form = choose_format(form, output, _ENDINGS, default="markdown")
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    target, na_values = grow_params.pop("target", None), grow_params.get("na_values", ())
    sheet = exercise(
        None if data is None else read_data(data, na_values, text_format),
        target,
        tree=None if tree is None else read_model(tree, target).tree,
        validation=None if validation is None else read_data(validation, na_values, text_format),
        **options,
        **grow_params,
    )
    content = sheet.render(form, key)
    if output in (None, "-") and form in ("markdown", "latex") and sys.stdout.isatty():
        return print_text(content.rstrip("\n"))
    write_output(content, output)
    if output not in (None, "-") and not quiet:
        remark("", f"{plural(len(sheet.blanks), 'blank')}, {plural(sheet.points, 'point')} → {safe(output)}")
    return None
