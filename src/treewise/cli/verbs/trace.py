"""``treewise trace``: every candidate at every node, with its arithmetic ("show all the computations")."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from treewise._lib.text import plural, safe
from treewise.cli.growing import grow_source
from treewise.cli.inputs import check_training_table, is_model, read_data, read_model_and_data, refuse_growing
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import (
    check_output,
    flush_output,
    guard_csv,
    is_ascii_only,
    print_text,
    progress_bar,
    remark,
    write_output,
)
from treewise.cli.param_types import in_options
from treewise.cli.render import PICTURE_ENDINGS as DRAWN
from treewise.cli.render import (
    check_picture,
    choose_format,
    format_by_ending_option,
    is_picture,
    picture_content,
    present,
    row_limit,
)
from treewise.cli.verb import (
    SHOWN,
    TextOptions,
    image_options,
    option,
    output_option,
    per_option,
    quiet_option,
    take_image_options,
    take_text_options,
    text_options,
    tree_option,
    unit_option,
    verb,
)
from treewise.errors import ParameterError, join_few

if TYPE_CHECKING:
    from treewise.explain.trace import NodeTrace, Trace
    from treewise.explain.trace.render import TraceFormat

_SECONDS_BEFORE_REMARK = 2.0  # seconds after which silence is explained
_ENDINGS = {".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}
_TREE_OPTIONS = (
    "node",
    "column",
    "top",
    "unit",
    "per",
    "terms",
    "rows",
    "row_names",
    "with_tree",
    "boundaries",
)  # options that do not apply to a round


@verb(
    "trace",
    "DATA --target COLUMN [options]\nMODEL DATA [options]",
    examples=(
        "treewise trace admissions --target Class --preset id3 --per total",
        "treewise trace penguins --node 0 --column flipper_length_mm",
        "treewise trace seven_points --unit nats --format latex --blanks -o exercise.tex",
        "treewise trace seven_points --boundaries --unit nats -o boundaries.png",
        "treewise trace penguins --max-depth 2 --column flipper_length_mm -o gain.png",
    ),
    about="Given a table, the tree is grown first, with the options of treewise grow; a MODEL is traced on"
    " the table given with it. All candidate splits are computed. A node with few candidates lists all"
    " of them; a node with many lists the best of each column: --column X lists all of one column,"
    " --format csv everything.",
)
@click.argument("source", metavar="DATA")
@click.argument("data", metavar="", required=False)
@tree_option
@option(
    "--round",
    "number",
    type=int,
    metavar="N",
    section=SHOWN,
    help="For AdaBoost: work out this round, counting from 1.",
)
@option("--all", "show_all", is_flag=True, section=SHOWN, help="With --round: show all rows, as in a file or a pipe.")
@option("--node", type=int, metavar="N", section=SHOWN, help="Only this node (default: all).")
@option("--column", metavar="COLUMN", section=SHOWN, help="List all candidate splits of this column.")
@option("--top", type=int, metavar="K", section=SHOWN, help="Only the best K columns of each node.")
@option(
    "--terms", is_flag=True, section=SHOWN, help="Write out each impurity term by term: -5/7 log 5/7 - 2/7 log 2/7."
)
@option("--rows", is_flag=True, section=SHOWN, help="List the rows of each node, by their numbers in the table.")
@option(
    "--row-names", metavar="COLUMN", section=SHOWN, help="List the rows of each node, by the values of this column."
)
@option(
    "--boundaries",
    is_flag=True,
    section=SHOWN,
    help="Draw all candidate thresholds of --node between its points (with -o FILE.png, .svg or .pdf).",
)
@option("--x", metavar="COLUMN", section=SHOWN, help="With --boundaries: column across (default: the first).")
@option("--y", metavar="COLUMN", section=SHOWN, help="With --boundaries: column up (default: the next).")
@option("--with-tree", is_flag=True, section=SHOWN, help="Print the tree after its computations.")
@unit_option
@per_option
@option("--fragment", is_flag=True, help="Of LaTeX, write only what stands inside a document, for one of your own.")
@option(
    "--blanks",
    is_flag=True,
    section=SHOWN,
    help="Leave the results blank: an exercise sheet of one node (default node 0).",
)
@format_by_ending_option(*_ENDINGS.values())
@image_options
@output_option("Write the trace to a file; .png, .svg or .pdf plots the gain of all splits of --column at --node.")
@grow_options
@text_options
@quiet_option
def command(
    source: str,
    data: str | None,
    member: int | None,
    number: int | None,
    show_all: bool,
    node: int | None,
    form: str | None,
    blanks: bool,
    fragment: bool,
    with_tree: bool,
    boundaries: bool,
    x: str | None,
    y: str | None,
    output: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Trace a tree on a table."""
    from treewise.explain.trace.render import TraceFormat
    from treewise.train.target import adopt_target

    check_output(output, source, data)
    is_drawn = form is None and number is None and is_picture(output)
    if number is not None:
        form = _round_format(form, output, member)
    elif show_all:
        raise ParameterError("--all is for the rows of a round, with --round N. The trace of a tree shows everything.")
    elif is_drawn:
        check_picture(output)
    else:
        form = choose_format(form, output, _ENDINGS, DRAWN)
    if not (boundaries and is_drawn):
        for name, value in (("boundaries", boundaries), ("x", x), ("y", y)):
            if value:
                raise ParameterError(f"--{name} is for a picture of --boundaries: -o FILE.png, .svg or .pdf.")
    text_format, image = take_text_options(options), take_image_options(options, is_drawn)
    grow_params = take_grow_options(options)
    row_names = options.pop("row_names")
    options["rows"] = options["rows"] if row_names is None else row_names
    if data is None:
        if number is not None:
            raise ParameterError("--round is for boosting, with its table: treewise trace MODEL DATA --round N.")
        trace = _trace_grown(source, grow_params, text_format, member, node, options, quiet)
    else:
        target = grow_params.pop("target", None)
        na_values = grow_params.pop("na_values", ())
        options["sample_weight"] = grow_params.pop("sample_weight", None)
        refuse_growing(source, grow_params)
        model, table = read_model_and_data(source, data, na_values, target, text_format)
        if number is not None:
            if target is None:
                check_training_table(model.required_ensemble, table)
            typed = {"target": target, "sample_weight": options["sample_weight"]}
            worked_round = model.required_ensemble.worked_round(table, number, **typed)
            if form == "latex" or blanks:
                assert form is not None
                return write_output(worked_round.render(form, blanks), output)
            return present(worked_round, form, output, row_limit(worked_round.rows, show_all, output))
        boosted = model.ensemble if model.ensemble is not None and model.ensemble.method == "adaboost" else None
        if boosted is not None and member is None:
            raise ParameterError(
                f"{safe(model.name)} holds {plural(len(boosted), 'boosted tree')}. Work a round out with"
                f" --round N (1 to {len(boosted)}), or pick a tree with --tree N (0 to {len(boosted) - 1})."
            )
        picked = model.pick_tree(member)
        if boosted is not None and member is not None:  # on the weights of its round
            trace = boosted.trace_round(table, member + 1, node=node, target=target, **options)
        else:
            trace = adopt_target(picked.tree, table, target).trace(table, node=node, **options)
    if is_drawn:
        assert output is not None
        traced_node = trace[0 if node is None else node]
        column = options["column"]
        ax = traced_node.draw_boundaries(x, y, **image) if boundaries else traced_node.draw(column, **image)
        write_output(picture_content(ax, output), output)
        if not quiet:
            remark("", f"node {traced_node.id} → {safe(output)}")
    else:
        assert form is not None
        if blanks and node is None and len(trace.exercise_nodes) > 1 and not quiet:
            others = join_few(trace.exercise_nodes[1:], limit=5)  # on standard error: not on the student's page
            remark("note", f"an exercise has one node, here node 0; --node N selects another: {others}")
        tree = trace.tree if with_tree else None
        is_ascii = is_ascii_only(sys.stdout)
        trace_format = TraceFormat(form, _page_width(), blanks, is_ascii, in_options, document=not fragment, tree=tree)
        write(trace.exercise() if blanks else trace, trace_format, output)
    return None


def _round_format(form: str | None, output: str | None, member: int | None) -> str:
    """Return the format of a round of boosting; refuse options that apply to a single tree."""
    if member is not None:
        raise ParameterError(
            "--round works out a round of boosting, --tree traces one of its trees like any other. Give --round or"
            " --tree, not both."
        )
    context = click.get_current_context()
    for name in _TREE_OPTIONS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(
                f"--{name.replace('_', '-')} is for the trace of a tree, and --round shows a round. Leave one out."
            )
    return choose_format(form, output, _ENDINGS)


def _trace_grown(
    source: str,
    grow_params: dict[str, Any],
    text_format: TextOptions,
    member: int | None,
    node: int | None,
    view: dict[str, Any],
    quiet: bool,
) -> Trace:
    """Grow a tree and trace it on the very table it was grown on, weights included."""
    from treewise.explain.trace.nodes import TraceView
    from treewise.explain.trace.trace import Trace, check_view, name_rows

    if is_model(source, grow_params, standard_input=False):
        raise ParameterError(f"a trace needs the table too: treewise trace {safe(source)} DATA.")
    training_set, model = grow_source(source, grow_params, text_format, member, quiet)
    tree = model.tree
    if node is not None and not 0 <= node < len(tree):
        raise ParameterError(f"no node {node}: the tree has nodes 0 to {len(tree) - 1}.")
    rows = view.pop("rows")
    names = None if rows is False else name_rows(read_data(source, grow_params.get("na_values", ()), text_format), rows)
    shown = check_view(TraceView(**view, row_names=names), tree.columns)
    return Trace(tree, training_set, shown, None if node is None else [node])


def write(trace: Trace, trace_format: TraceFormat, output: str | None) -> None:
    """Write the trace out: only now is every candidate computed. Text is printed node by node, as each is there.

    Elsewhere a progress bar or a remark says that it takes long.
    """
    from treewise.explain.trace.render import render_blocks, render_trace

    form = trace_format.format
    notes = [in_options(note) for note in trace.notes]
    printed = form == "text" and output in (None, "-")
    watched = printed and sys.stdout.isatty()
    with progress_bar("trace", enabled=not watched) as progress:
        report = progress or (_ignore if watched else remark_when_long())

        def nodes() -> Iterator[NodeTrace]:
            for done, node in enumerate(trace.every()):
                report(done / len(trace.tree))
                yield node

        if not printed:
            content = render_trace(nodes(), trace_format, notes).rstrip("\n") + "\n"
            write_output(guard_csv(content) if form == "csv" else content, output)
            return
        for piece in render_blocks(nodes(), trace_format, notes):
            print_text(piece)
            flush_output()


def remark_when_long() -> Callable[[float], None]:
    """Return a function to call at each node: it prints one remark once the work has taken long."""
    deadline = time.monotonic() + _SECONDS_BEFORE_REMARK
    is_due = True

    def report(_: float) -> None:
        nonlocal is_due
        if is_due and time.monotonic() > deadline:
            is_due = False
            remark("trace", "every candidate of every node is computed; --node N computes one node")

    return report


def _ignore(_: float) -> None:
    """Report nothing: the nodes themselves appear on the terminal."""


def _page_width() -> int:
    """Return how wide a line may be: the terminal's width, or 80 columns where there is none."""
    return max(60, shutil.get_terminal_size((80, 24)).columns) if sys.stdout.isatty() else 80
