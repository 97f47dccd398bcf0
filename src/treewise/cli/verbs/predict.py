"""``treewise predict``: a tree and rows in, predictions out; a single row is answered with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.inputs import read_data, read_model, read_model_and_data
from treewise.cli.output import check_output, print_text, remark, write_output
from treewise.cli.param_types import read_names, read_numbers
from treewise.cli.predictor import Predictor, encode_typed, remark_on_typed
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
from treewise.errors import ParameterError, join_few

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
    ),
    about="MODEL is a saved tree or ensemble (.json) or a tree written by hand (.txt). DATA needs the columns"
    ' used in splits, in any order; it may also be JSON rows, or "-" for standard input. Cells are'
    " written unchanged: a spreadsheet may interpret one that begins with = as a formula (--safe-csv).",
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
    "--format",
    "form",
    type=click.Choice(TABLE_FORMATS),
    metavar="|".join(TABLE_FORMATS),
    help="Output format (default: by the file ending of -o, else csv; text for --row).",
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
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Predict a table, or single rows."""
    from treewise.predict.confidence_intervals import check_confidence
    from treewise.train.target import adopt_levels

    check_output(output, model, data, calibration, leaf_rows)
    text_format = take_text_options(options)
    check_confidence(confidence)
    form = choose_format(form, output, TABLE_ENDINGS, default="text" if typed else "csv")
    if (quantiles is None) != (leaf_rows is None):
        example = "--quantiles 0.1,0.5,0.9 --leaf-rows DATA"
        raise ParameterError(f"--quantiles and --leaf-rows belong together: {example}.")
    if (data is None) == (not typed):
        raise ParameterError("give either DATA, a table to predict, or --row 'COLUMN=VALUE, …'.")
    if data is None:
        loaded = read_model(model, member=member)
    else:
        loaded, table = read_model_and_data(model, data, na_values, text_format=text_format, member=member)
    fitted: Model = loaded.model
    if loaded.ensemble is not None:
        loaded.refuse_for_ensemble(
            estimate=estimate, interval=interval, calibration=calibration, quantiles=quantiles, cost=cost
        )
    elif data is not None or cost is not None:
        tree = loaded.tree if data is None else adopt_levels(loaded.tree, table)
        fitted = tree if cost is None else tree.with_cost(cost)
    rows = encode_typed(fitted, typed) if data is None else fitted.encode(table)
    calibration_table = None if calibration is None else read_data(calibration, na_values, text_format)
    leaf_table = None if leaf_rows is None else read_data(leaf_rows, na_values, text_format)
    predictor = Predictor(
        fitted, rows, proba, interval, confidence, estimate, calibration_table, tuple(quantiles or ()), leaf_table
    )
    if form == "text" and typed:
        sentences = "\n".join(predictor.sentences())
        if output in (None, "-"):
            print_text(sentences)
        else:
            write_output(sentences + "\n", output)
        return remark_on_typed(fitted, typed, predictor.notes())
    kept_columns = [name for names in keep for name in names]
    frame = _join_columns(kept_columns, rows.table if data is None else table, predictor.columns())
    write_output(frame_content(frame, form), output)
    remark_on_typed(fitted, typed, (*rows.table.notes, *predictor.notes()))
    if output not in (None, "-"):
        columns = join_few([safe(name) for name in frame.columns], most=12)
        remark("", f"{plural(len(frame), 'row')} → {safe(output)} ({columns})")
    return None


def _join_columns(kept_columns: Sequence[str], table: Table, predicted: dict[str, Any]) -> Any:
    """Return a dataframe: the columns of the table that are kept, then the predictions."""
    from treewise.data.frames import arrays_to_frame
    from treewise.data.table import read

    for name in kept_columns:
        if name in predicted:
            rule = "the predictions have a column of that name too. Rename it first."
            raise ParameterError(f"--keep {safe(name)}: {rule}")
    frame = arrays_to_frame(predicted)
    if not kept_columns:
        return frame
    return read(table, columns=list(dict.fromkeys(kept_columns))).to_polars().hstack(frame.get_columns())
