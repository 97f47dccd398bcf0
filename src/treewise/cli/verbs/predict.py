"""``treewise predict``: a tree and rows in, predictions out; a single row is answered with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from treewise.cli.batch_output import BatchJob, join_columns, predict_file, remark_on_output
from treewise.cli.inputs import check_order, read_data, read_model
from treewise.cli.output import check_csv_ending, check_output, print_text, write_output
from treewise.cli.param_types import read_names, read_numbers
from treewise.cli.predictor import Extras, Predictor, encode_typed, remark_on_typed
from treewise.cli.render import TABLE_ENDINGS, TABLE_FORMATS, choose_format, frame_content
from treewise.cli.verb import (
    cost_option,
    estimate_option,
    na_option,
    option,
    output_option,
    row_option,
    safe_csv_option,
    take_text_options,
    text_options,
    tree_option,
    verb,
)
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.tree.model import Model


@verb(
    "predict",
    "MODEL DATA [options]\nMODEL --row 'COLUMN=VALUE, …' [options]",
    examples=(
        "treewise grow admissions --preset id3 -o model.json && treewise predict model.json admissions",
        "treewise predict model.json --row 'GPA=3.7, University=top20, Published=no'",
        "treewise predict model.json new.parquet --proba --keep patient_id -o out.csv",
        "treewise predict model.json new.parquet --columns keep --on-error skip --bad-rows bad.csv -o out.jsonl.gz",
    ),
    about="MODEL is a saved tree or ensemble (.json) or a tree written by hand (.txt). DATA needs the columns"
    " used in splits, in any order: a CSV, TSV, Parquet or JSON-lines file of any size, gzipped or not, a pattern or a"
    ' folder of them, a built-in table, a table of a database, or "-" for standard input. Rows keep their order. Memory'
    " does not grow with the number of rows, and a file appears when all of it is written. Cells are written"
    " unchanged: a spreadsheet may interpret one that begins with = as a formula (--safe-csv).",
)
@click.argument("model")
@click.argument("data", required=False)
@tree_option
@row_option
@na_option
@text_options
@option("--proba", is_flag=True, help="Add the probability of each class.")
@estimate_option
@option(
    "--interval",
    is_flag=True,
    help="Add the ends of the leaf's probabilities (Wilson) or mean (Student): an interval for an honest or refitted"
    " tree, else a training range.",
)
@option(
    "--calibration",
    metavar="DATA",
    help="Regression: add prediction intervals for single rows, calibrated on these rows, which the tree has not seen.",
)
@option(
    "--quantiles",
    type=read_numbers,
    metavar="Q,…",
    help="Regression: add quantiles of the targets in the leaf, such as 0.1,0.5,0.9, among the rows of --leaf-rows.",
)
@option(
    "--leaf-rows",
    metavar="DATA",
    help="The rows for --quantiles, since a tree contains none: the training rows or, for quantiles that hold for new"
    " rows, others.",
)
@option(
    "--confidence",
    type=float,
    default=0.95,
    metavar="X",
    help="Confidence of the interval, between 0 and 1 (default 0.95).",
)
@cost_option("Predict the class of least expected cost, with these misclassification costs: bad:good=5; others cost 1.")
@option(
    "--keep",
    type=read_names,
    multiple=True,
    metavar="COLUMN",
    help="Copy a column of DATA to the output; repeat, or separate by commas.",
)
@option(
    "--columns",
    type=click.Choice(("answers", "keep")),
    default="answers",
    metavar="answers|keep",
    help="Write the predictions only (the default), or all columns of DATA before them.",
)
@option(
    "--on-error",
    type=click.Choice(("stop", "skip", "null")),
    default="stop",
    metavar="stop|skip|null",
    help="A row that cannot be predicted ends the work (the default), is left out, or gets empty cells.",
)
@option("--bad-rows", metavar="FILE", help="Write the rows that could not be predicted: file, row, column, why (CSV).")
@option(
    "--format",
    "form",
    type=click.Choice(TABLE_FORMATS),
    metavar="|".join(TABLE_FORMATS),
    help="Output format (default: by the file ending of -o, which may be followed by .gz, else csv; text for --row).",
)
@safe_csv_option
@output_option("Write the predictions to a file.")
def command(
    model: str,
    data: str | None,
    member: int | None,
    typed: Sequence[dict[str, Any]],
    na_values: Sequence[str],
    proba: bool,
    estimate: str | None,
    interval: bool,
    calibration: str | None,
    quantiles: list[float] | None,
    leaf_rows: str | None,
    confidence: float,
    cost: dict[str, dict[str, float]] | None,
    keep: Sequence[list[str]],
    columns: str,
    on_error: str,
    bad_rows: str | None,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Predict a table, or single rows."""
    from treewise.data.frames import arrays_to_frame
    from treewise.predict.confidence_intervals import check_confidence

    check_output(output, model, data, calibration, leaf_rows)
    check_output(bad_rows, model, data, calibration, leaf_rows, output)
    check_csv_ending(bad_rows)
    text_format = take_text_options(options)
    check_confidence(confidence)
    is_zipped = output is not None and output.lower().endswith(".gz")
    form = choose_format(
        form, output[:-3] if output and is_zipped else output, TABLE_ENDINGS, default="text" if typed else "csv"
    )
    if (quantiles is None) != (leaf_rows is None):
        example = "--quantiles 0.1,0.5,0.9 --leaf-rows DATA"
        raise ParameterError(f"--quantiles and --leaf-rows belong together: {example}.")
    if (data is None) == (not typed):
        raise ParameterError("give either DATA, a table to predict, or --row 'COLUMN=VALUE, …'.")
    if data is not None:
        check_order(model, data)
    if bad_rows is not None and (on_error == "stop" or typed):
        raise ParameterError("--bad-rows needs --on-error skip or --on-error null.")
    loaded = read_model(model, member=member)
    if loaded.ensemble is not None:
        loaded.refuse_for_ensemble(
            estimate=estimate, interval=interval, calibration=calibration, quantiles=quantiles, cost=cost
        )
    fitted: Model = loaded.model if cost is None else loaded.tree.with_cost(cost)
    calibration_table = None if calibration is None else read_data(calibration, na_values, text_format)
    leaf_table = None if leaf_rows is None else read_data(leaf_rows, na_values, text_format)
    extras = Extras(
        fitted, proba, interval, confidence, estimate, calibration_table, tuple(quantiles or ()), leaf_table
    )
    kept = [name for names in keep for name in names]
    if data is not None:
        kept_columns = None if columns == "keep" else tuple(dict.fromkeys(kept))
        job = BatchJob(
            extras, form, is_zipped, kept_columns, on_error, bad_rows, tuple(na_values), text_format, output, data
        )
        return predict_file(job)
    rows = encode_typed(fitted, typed)
    predictor = Predictor(fitted, rows, extras)
    if form == "text":
        sentences = "\n".join(predictor.sentences())
        if output in (None, "-"):
            print_text(sentences)
        else:
            write_output(sentences + "\n", output)
        return remark_on_typed(fitted, typed, predictor.notes())
    frame = join_columns(_copied(rows.table, kept), arrays_to_frame(predictor.columns()))
    write_output(frame_content(frame, form), output)
    remark_on_typed(fitted, typed, (*rows.table.notes, *predictor.notes()))
    return remark_on_output(len(frame), frame.columns, output)


def _copied(table: Table, names: Sequence[str]) -> Any:
    """Return the columns of rows typed in that are copied, as a dataframe; None if there are none."""
    from treewise.data.table import read

    return read(table, columns=list(dict.fromkeys(names))).to_polars() if names else None
