"""``treewise optimal``: find the best tree of a size, prove it, and save it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from treewise.cli.growing import GrowthReport
from treewise.cli.inputs import read_data
from treewise.cli.options import grow_options_without, take_grow_options
from treewise.cli.output import check_model_ending, check_output, dump_tree, print_text, remark, write_output
from treewise.cli.param_types import read_method
from treewise.cli.render import json_text, print_tree
from treewise.cli.verb import (
    LEARNING,
    LIMITS,
    PRUNING,
    SHOWN,
    WORDS,
    format_option,
    option,
    output_option,
    quiet_option,
    take_text_options,
    text_options,
    verb,
    whole_option,
)
from treewise.train.optimal.optimal import OPTIONS
from treewise.train.settings import SETTINGS

if TYPE_CHECKING:
    from treewise.train.optimal.optimal import SearchProgress

_KEPT = {*OPTIONS, "max_depth", "max_leaf_nodes"}
_LEFT_OUT = tuple(name for name in (*SETTINGS, "preset") if name not in _KEPT)
_REFRESH = 0.2  # seconds


@verb(
    "optimal",
    "DATA --target COLUMN --max-depth N [-o MODEL] [options]",
    examples=(
        "treewise optimal penguins --target species --max-depth 2",
        "treewise optimal penguins --target species --max-depth 2 --alternatives 5",
        "treewise optimal penguins --target species --max-depth 2 --certificate proof.json",
        "treewise optimal yours.csv --target COLUMN --max-leaf-nodes 5 --time-limit 60 -o model.json",
    ),
    about="Compares all trees within the limits, by their training error (classes) or squared error (numbers), and"
    " proves which one is best. Depths of 2 and 3 take seconds on thousands of rows; beyond, set --time-limit, or press"
    " Ctrl-C: the best tree is printed with the gap that is left.",
)
@click.argument("data")
@option("--penalty", type=float, metavar="X", section=LIMITS, help="Added to the objective for each leaf (default 0).")
@option(
    "--objective",
    metavar="NAME",
    section=LEARNING,
    help="error, cost (with --cost), entropy or gini; squared_error for numbers (default error; cost with --cost).",
)
@option("--time-limit", type=float, metavar="SECONDS", section=LIMITS, help="Return the best tree after that time.")
@option(
    "--alternatives",
    type=int,
    metavar="N",
    section=SHOWN,
    help="Also list the N best trees, each without a column of every tree before it.",
)
@option("--certificate", metavar="FILE", help="Save the proof, for treewise check-certificate.")
@option(
    "--pruning",
    type=read_method,
    metavar="METHOD",
    section=PRUNING,
    help="cv: choose depth and penalty, within the limits, by cross-validation; with options"
    " cv:loss=log_loss,rule=best,folds=5,repeats=3.",
)
@grow_options_without(WORDS, PRUNING, "search", *_LEFT_OUT)
@text_options
@output_option("Save the tree as a model file (.json), or as text to edit (.txt).")
@format_option("text", "json")
@whole_option
@quiet_option
def command(
    data: str,
    penalty: float | None,
    objective: str | None,
    pruning: Any,
    time_limit: float | None,
    alternatives: int | None,
    certificate: str | None,
    output: str | None,
    form: str,
    show_all: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Search, and show."""
    from treewise.train.optimal.optimal import optimal

    check_output(output, data)
    check_output(certificate, data)
    check_model_ending(output)
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    table = read_data(data, grow_params.get("na_values", ()), text_format)
    report, live = GrowthReport(table, quiet), _LiveLine(not quiet)
    with report.notes_on_error():
        result = optimal(
            table,
            grow_params.pop("target", None),
            penalty=penalty or 0.0,
            objective=objective,
            pruning=pruning,
            time_limit=time_limit,
            progress=live,
            on_prepared=report.on_prepared,
            **grow_params,
        )
    live.close()
    if certificate is not None:
        result.certificate(certificate)
    if output is not None:
        write_output(dump_tree(result.tree, output), output)
    if output == "-":
        return
    others = None if alternatives is None else result.alternatives(alternatives)
    if form == "json":
        listed = {} if others is None else {"alternatives": others.result_table().records()}
        write_output(json_text(result.to_dict() | listed), None)
        return
    if not quiet:
        remark("search", f"{result.seconds:.1f} s   {result.evaluated:,} splits evaluated")
        report.print_new_notes(result.tree.notes)
        remark("", "")
    print_text(result.in_words() + "\n")
    print_tree(result.tree, show_all)
    if result.sizes is not None:
        print_text(f"\n{result.sizes.result_table()}")
    if others is not None:
        print_text(f"\n{others}")


class _LiveLine:
    """Show the progress of the search on one line of the terminal."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled and sys.stderr.isatty()
        self.last, self.width = 0.0, 0

    def __call__(self, now: SearchProgress) -> None:
        """Write the line again, a few times a second."""
        if not self.enabled or now.seconds < 1 or time.monotonic() - self.last < _REFRESH:
            return
        self.last = time.monotonic()
        figures = f"best {now.objective:.5g}   bound {now.lower_bound:.5g}   gap {100 * now.gap:.1f} %"
        text = f"  {now.seconds:.0f} s   {figures}"
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        """Remove the line."""
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
