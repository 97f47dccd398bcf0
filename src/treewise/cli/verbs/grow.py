"""``treewise grow``: grow a tree or an ensemble on a table, print it and save it."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import grow_elsewhere, grow_ensemble_and_report, grow_tree
from treewise.cli.inputs import read_data
from treewise.cli.options import ensemble_options, grow_options, take_ensemble_options, take_grow_options
from treewise.cli.output import (
    check_ensemble_ending,
    check_model_ending,
    check_output,
    dump_tree,
    remark,
    save_ensemble,
    write_output,
)
from treewise.cli.records import print_model_record, refuse_json_beside_model
from treewise.cli.render import print_tree, show_ensemble
from treewise.cli.verb import (
    TABLE,
    TextOptions,
    format_option,
    option,
    output_option,
    quiet_option,
    take_text_options,
    text_options,
    verb,
    whole_option,
)
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.train.training_set import TrainingSet
    from treewise.tree.tree import Tree


@verb(
    "grow",
    "DATA... --target COLUMN [-o MODEL] [options]",
    examples=(
        "treewise grow admissions --target Class --preset id3",
        "treewise grow penguins --target species --max-leaf-nodes 4 -o model.json",
        "treewise grow yours.csv --target readmitted --ignore patient_id --na '?' --pruning cv",
    ),
    about='DATA is a CSV, TSV or Parquet file (.gz too), several of them or a folder, "-" for CSV on standard input, a'
    " table of a database (duckdb:///file.db#table), or a built-in table (listed by treewise data)."
    " Column types are inferred; --kind overrides them.",
)
@click.argument("data", nargs=-1, required=True)
@grow_options
@ensemble_options
@text_options
@option(
    "--dask",
    metavar="ADDRESS",
    section=TABLE,
    help="Dask scheduler whose workers read and count DATA, tcp://host:port.",
)
@option("--workers", type=int, metavar="N", section=TABLE, help="The same with N worker processes on this machine.")
@option("--show-queries", is_flag=True, section=TABLE, help="Print the SQL that counts a table of a database.")
@output_option("Save the tree as a model file (.json), or as text to edit (.txt).")
@format_option("text", "json")
@whole_option
@quiet_option
def command(
    data: tuple[str, ...],
    ensemble: str | None,
    dask: str | None,
    workers: int | None,
    show_queries: bool,
    output: str | None,
    form: str,
    show_all: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Grow, show, save."""
    check_output(output, *data)
    refuse_json_beside_model(form, output)
    from treewise.data.relation import is_database_table

    text_format = take_text_options(options)
    grow_params = take_grow_options(options) | take_ensemble_options(options, ensemble)
    table: str | Table = data[0]
    engine = _take_engine(dask, workers)
    if ensemble is None and (engine is not None or show_queries or is_database_table(data[0])):
        check_model_ending(output)
        grow_params |= {
            "engine": engine,
            "show_queries": partial(print, end=";\n", file=sys.stderr) if show_queries else False,
        }
        tree = grow_elsewhere(data, grow_params, text_format, quiet)
        return _save_and_print(
            tree, None, data[0] if len(data) == 1 else None, grow_params, output, form, show_all, quiet
        )
    if ensemble is not None and engine is not None:
        check_ensemble_ending(output)
        ensemble_params = grow_params | {"engine": engine}
        files: Any = data[0] if len(data) == 1 else list(data)
        return _grow_ensemble(files, ensemble, ensemble_params, text_format, output, form, show_all, quiet)
    if len(data) > 1:  # a pattern that the shell has resolved
        table = read_data(data, grow_params.get("na_values", ()), text_format)
    if ensemble is None:
        check_model_ending(output)
        return _grow_tree(table, grow_params, text_format, output, form, show_all, quiet)
    check_ensemble_ending(output)
    return _grow_ensemble(table, ensemble, grow_params, text_format, output, form, show_all, quiet)


def _take_engine(address: str | None, workers: int | None) -> str | int | None:
    """Return the Dask cluster that counts, None for this process."""
    if address is not None and workers is not None:
        raise ParameterError("--dask names a cluster, and --workers starts one.", hint="Leave one out.")
    return workers if address is None else address


def _grow_tree(
    data: str | Table,
    options: dict[str, Any],
    text_format: TextOptions,
    output: str | None,
    form: str,
    show_all: bool,
    quiet: bool,
) -> None:
    training_set, tree = grow_tree(data, options, text_format, quiet)
    _save_and_print(tree, training_set, data, options, output, form, show_all, quiet)


def _save_and_print(
    tree: Tree,
    training_set: TrainingSet | None,
    data: str | Table | None,
    options: dict[str, Any],
    output: str | None,
    form: str,
    show_all: bool,
    quiet: bool,
) -> None:
    if output is not None:  # before the page, whose reader may leave early
        write_output(dump_tree(tree, output), output)
    if output == "-":
        return None
    if form == "json":
        return print_model_record(tree, output)
    is_folded = print_tree(tree, show_all, training_set)
    if output is not None and not quiet:
        is_small = int(tree.arrays.rows[0]) <= 1000 and not options.get("sample_weight")
        remark("", _next_steps(output, data, is_small, is_folded))
    return None


def _next_steps(output: str, data: str | Table | None, is_small: bool, is_folded: bool) -> str:
    """Suggest what to do with a saved tree: trace it where that can be read, show it where lines were folded."""
    model, table = shlex.quote(output), _data_argument(data)
    steps = [f"treewise trace {model} {table}"] * is_small
    steps += [f"treewise show {model} --all"] * (is_folded and not is_small)
    steps += [f"treewise rules {model}", f"treewise evaluate {model} new.csv"]
    return f"saved {safe(output)}   next: {' · '.join(steps)}"


def _data_argument(data: str | Table | None) -> str:
    """Return DATA as it is typed in another command."""
    return shlex.quote(data) if isinstance(data, str) and data != "-" else "DATA"


def _grow_ensemble(
    data: Any,
    method: str,
    options: dict[str, Any],
    text_format: TextOptions,
    output: str | None,
    form: str,
    show_all: bool,
    quiet: bool,
) -> None:
    ensemble = grow_ensemble_and_report(data, method, options, text_format, quiet)
    if output is not None:  # before the page, whose reader may leave early
        save_ensemble(ensemble, output)
    if output == "-":
        return None
    if form == "json":
        return print_model_record(ensemble, output)
    show_ensemble(ensemble, show_all)
    if output is not None and not quiet:
        model, table = shlex.quote(output), _data_argument(data)
        steps = f"treewise evaluate {model} new.csv · treewise importance {model} · treewise show {model} --tree 0"
        remark("", f"saved {safe(output)}   next: {steps} · treewise distill {model} {table}")
    return None
