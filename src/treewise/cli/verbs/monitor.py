"""``treewise monitor``: how new rows spread over the leaves compared with the rows the tree was grown on."""

from __future__ import annotations

import click

from treewise.cli.inputs import check_order, read_model
from treewise.cli.output import check_output, remark
from treewise.cli.render import present, result_options
from treewise.cli.verb import option, tree_option, verb
from treewise.errors import ParameterError


@verb(
    "monitor",
    "MODEL DATA [options]",
    examples=(
        "treewise grow penguins --max-leaf-nodes 4 -o model.json && treewise monitor model.json penguins",
        "treewise monitor model.json new.parquet --fail-over 0.25 --format json",
    ),
    about="Uses the counts that the model file keeps; the training table is not needed. Reports the population"
    " stability index (PSI) of the leaves with an interval, each tested column's part of it, missing values and new"
    " levels. DATA may be files of any size, as for predict. A changed spread of rows does not say that predictions"
    " are wrong: treewise evaluate measures that, on rows whose answers are known.",
)
@click.argument("model")
@click.argument("data")
@tree_option
@option("--confidence", type=float, default=0.95, metavar="X", help="Confidence of intervals (default 0.95).")
@option("--fail-over", type=float, metavar="PSI", help="Exit with status 1 if the index is larger.")
@result_options
def command(
    model: str,
    data: str,
    member: int | None,
    confidence: float,
    fail_over: float | None,
    form: str | None,
    output: str | None,
) -> int:
    """Compare the rows, and show where they differ."""
    check_output(output, model, data)
    check_order(model, data)
    if fail_over is not None and not fail_over >= 0:  # NaN would never be exceeded
        raise ParameterError("must be 0 or more.", parameter="fail_over", value=fail_over)
    result = read_model(model, member=member).tree.monitor(data, confidence=confidence)
    present(result, form, output)
    if fail_over is not None and result.psi > fail_over:
        remark("fail", f"PSI {result.psi:.3g} is larger than {fail_over:g}")
        return 1
    return 0
