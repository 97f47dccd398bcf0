"""``treewise compare``: are two trees equivalent, and if not, on which rows do they differ?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from treewise.cli.inputs import LoadedModel, read_data, read_model
from treewise.cli.output import check_output
from treewise.cli.render import present, result_options
from treewise.cli.verb import SHOWN, TABLE, na_option, option, take_text_options, target_option, text_options, verb
from treewise.errors import ParameterError


@verb(
    "compare",
    "MODEL MODEL [options]",
    examples=(
        "treewise grow outlier -o full.json && treewise prune full.json --method collapse -o small.json"
        " && treewise compare full.json small.json",
        "treewise compare stnordaf.txt learned.json --data yours.csv",
        "treewise compare old.json new.json --data new.csv --format json | jq .share_of_rows",
        "treewise compare old.json new.json --data new.csv --what probability --tolerance 0.01 && ./deploy",
    ),
    about="The decision is exact, over all possible rows: with missing values, unseen levels and any number."
    " Each MODEL is a saved tree (.json) or one written by hand (.txt). Exits with 0 if the trees are"
    " equivalent, 1 if not.",
)
@click.argument("first")
@click.argument("second")
@option(
    "--tree",
    "members",
    type=int,
    multiple=True,
    metavar="N",
    section=SHOWN,
    help="For an ensemble: which tree, counting from 0; given twice, for the first and the second MODEL.",
)
@option(
    "--data",
    metavar="DATA",
    section=TABLE,
    help="A table: report the share of its rows on which the trees differ, with an example.",
)
@target_option("the one a tree was grown for")
@na_option
@text_options
@option(
    "--what",
    type=click.Choice(("prediction", "probability")),
    default="prediction",
    metavar="prediction|probability",
    section=SHOWN,
    help="What must be equal (default: predictions).",
)
@option(
    "--tolerance",
    type=float,
    default=0.0,
    metavar="X",
    section=SHOWN,
    help="Largest difference of numbers or probabilities that counts as equal (default 0).",
)
@option("--complete", is_flag=True, section=SHOWN, help="Consider only rows without missing values and unseen levels.")
@result_options
def command(
    first: str,
    second: str,
    members: Sequence[int],
    data: str | None,
    target: str | None,
    na_values: Sequence[str],
    what: str,
    tolerance: float,
    complete: bool,
    form: str | None,
    output: str | None,
    **text_flags: Any,
) -> int:
    """Compare, show, and return the exit status."""
    from treewise.explain.compare.compare import compare

    check_output(output, first, second, *([data] if data else []))
    if [first, second, data].count("-") > 1:
        raise ParameterError("only one of the trees and the table can come from standard input.")
    first_model, second_model = _pick_trees(read_model(first, target), read_model(second, target), members)
    names = (first_model.name, second_model.name) if first_model.name != second_model.name else (first, second)
    table = None if data is None else read_data(data, na_values, take_text_options(text_flags))
    options: dict[str, Any] = {"what": what, "tolerance": tolerance, "complete": complete, "target": target}
    comparison = compare(first_model.tree, second_model.tree, table, names=names, **options)
    present(comparison, form, output)
    return 0 if comparison.equivalent else 1


def _pick_trees(first: LoadedModel, second: LoadedModel, members: Sequence[int]) -> tuple[LoadedModel, LoadedModel]:
    """Pick a tree of each ensemble; two numbers are for the first and the second model."""
    if len(members) > 2:
        raise ParameterError("--tree is given more than twice, and there are two models.")
    if len(members) == 2:
        return first.pick_tree(members[0]), second.pick_tree(members[1])
    number = members[0] if members else None
    ensembles = [model for model in (first, second) if model.ensemble is not None]
    if not ensembles:
        return first.pick_tree(number), second  # refuses a number
    one, two = (model.pick_tree(number) if model in ensembles else model for model in (first, second))
    return one, two
