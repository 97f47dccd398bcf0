"""``treewise predict``: a tree and rows in, predictions out; a single row is answered with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from treewise.cli.inputs import read_model, read_model_and_data
from treewise.cli.shared import (
    cost_option,
    estimate_option,
    na_option,
    row_option,
    take_text_options,
    text_options,
    tree_option,
)
from treewise.cli.streams import check_place, deliver, remark, say
from treewise.cli.tables import FORMS, form_for, frame_content
from treewise.cli.values import in_options, read_names
from treewise.cli.verb import option, output_option, verb
from treewise.errors import ColumnError, ParameterError, listing
from treewise.wording import percent, plural, safe

if TYPE_CHECKING:
    from treewise.table import Table
    from treewise.tree import Tree


@verb(
    "predict",
    "MODEL DATA [options]\nMODEL --row 'COLUMN=VALUE, …' [options]",
    examples=(
        "treewise grow admissions --preset id3 -o model.json && treewise predict model.json admissions",
        "treewise predict model.json --row 'GPA=3.7, University=top20, Published=no'",
        "treewise predict model.json new.parquet --proba --keep patient_id -o out.csv",
    ),
    about="MODEL is a saved tree (.json) or one written by hand (.txt). DATA needs the columns that the tree"
    " asks about, in any order; it may also be rows as JSON, and - is standard input. Cells are written as"
    " they are: a spreadsheet that opens the result may take one that begins with = for a formula.",
)
@click.argument("model")
@click.argument("data", required=False)
@tree_option
@row_option
@na_option
@text_options
@option("--proba", is_flag=True, help="Also the probability of each class.")
@estimate_option
@option(
    "--interval",
    is_flag=True,
    help="Also how sure the leaf is: each probability with Wilson's interval, or Student's of a mean.",
)
@option(
    "--confidence",
    type=float,
    default=0.95,
    metavar="X",
    help="Confidence of the interval, between 0 and 1 (default 0.95).",
)
@cost_option("Predict the class of least expected cost, where mistakes cost so much: bad:good=5; any other 1.")
@option(
    "--keep",
    type=read_names,
    multiple=True,
    metavar="COLUMN",
    help="Copy a column of DATA; repeat it, or separate by commas.",
)
@option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    metavar="|".join(FORMS),
    help="Form of the result (default csv, or by the ending of -o; text for --row).",
)
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
    confidence: float,
    cost: dict[str, dict[str, float]] | None,
    keep: Sequence[list[str]],
    form: str | None,
    output: str | None,
    **text: Any,
) -> None:
    """Predict a table, or single rows."""
    from treewise.evaluate.answers import with_levels_of
    from treewise.intervals import check_confidence

    check_place(output, model, data)
    check_confidence(confidence)
    form = form_for(output, form, "text" if typed else "csv")
    if (data is None) == (not typed):
        raise ParameterError("give either DATA, a table to predict, or --row 'COLUMN=VALUE, …'.")
    if data is None:
        tree = read_model(model, member=member).tree
        table = read_typed(tree, typed)
    else:
        found, table = read_model_and_data(model, data, na_values, form=take_text_options(text), member=member)
        tree = with_levels_of(found.tree, table)
    tree = tree if cost is None else tree.with_cost(cost)
    asked = Asked(proba, interval, confidence, estimate)
    if form == "text" and typed:
        sentences = "\n".join(answers_in_words(tree, table, asked))
        if output in (None, "-"):
            say(sentences)
        else:
            deliver(sentences + "\n", output)
        return
    kept = [name for names in keep for name in names]
    frame = predicted(tree, table, kept, asked)
    deliver(frame_content(frame, form), output)
    for note in (*table.notes, *never_seen(tree, table)):
        remark("note", in_options(note))
    if output not in (None, "-"):
        columns = listing([safe(name) for name in frame.columns], most=12)
        remark("", f"{plural(len(frame), 'row')} → {safe(output)} ({columns})")


def read_typed(tree: Tree, rows: Sequence[dict[str, Any]]) -> Table:
    """Read rows typed in; a column may be left out where no row's path asks for it, as in Python."""
    from treewise.predict import encoded, find_nodes, na_values, refuse_unsaid
    from treewise.table import read

    cells = [{**dict.fromkeys(tree.columns), **row} for row in rows]
    table = read(cells, name="the row" if len(rows) == 1 else "the rows", na_values=na_values(tree))
    nodes = find_nodes(tree, encoded(tree, table), len(table))
    for i, row in enumerate(rows):
        try:
            refuse_unsaid(tree, row, nodes[i : i + 1])
        except ColumnError as error:
            said = str(error).removesuffix(" (None says that it is missing.)")
            raise ColumnError(f"{said} A value that is not known can be left open: COLUMN=") from None
    return table


class Asked(NamedTuple):
    """What is wanted beside the prediction itself."""

    proba: bool = False
    interval: bool = False
    confidence: float = 0.95
    estimate: str | None = None


NOTHING_MORE = Asked()


def predicted(tree: Tree, table: Table, kept: Sequence[str], asked: Asked) -> Any:
    """Return the predictions as a dataframe: kept columns, prediction, probabilities, intervals."""
    from treewise.predict import predict, predict_interval, predict_proba
    from treewise.table import read

    made: dict[str, Any] = {"prediction": predict(tree, table, asked.estimate)}
    with_shares = asked.proba or (asked.interval and tree.task == "classification")
    shares = predict_proba(tree, table, asked.estimate) if with_shares else None
    ends = predict_interval(tree, table, asked.confidence) if asked.interval else None
    if ends is not None and tree.task == "regression":
        made |= {"low": ends[:, 0], "high": ends[:, 1]}
    for i, label in enumerate(tree.classes):
        if shares is not None:
            made[f"p_{label}"] = shares[:, i]
        if ends is not None:
            made |= {f"p_{label}_low": ends[:, i, 0], f"p_{label}_high": ends[:, i, 1]}
    for name in kept:
        if name in made:
            what = "the predictions have a column of that name too. Rename it first."
            raise ParameterError(f"--keep {safe(name)}: {what}")
    frame = read(made).to_polars()
    if not kept:
        return frame
    return read(table, columns=list(dict.fromkeys(kept))).to_polars().hstack(frame.get_columns())


def never_seen(tree: Tree, table: Table) -> list[str]:
    """Note categories the tree has never seen, where a row was asked about one, and where such rows ended."""
    import numpy as np

    from treewise.encode import UNSEEN
    from treewise.predict import encoded, find_nodes

    columns = encoded(tree, table)
    new = {
        i: values == UNSEEN
        for i, (encoding, values) in enumerate(zip(tree.encodings, columns, strict=True))
        if encoding.categorical and values is not None
    }
    if not any(cells.any() for cells in new.values()):
        return []
    nodes, notes = find_nodes(tree, columns, len(table)), []
    for i, cells in new.items():
        rows = np.flatnonzero(cells & np.array(asked_on_the_way(tree, i))[nodes])
        if not len(rows):
            continue
        name = tree.columns[i]
        labels = sorted({table[name].say(row) for row in rows[:1000].tolist()})
        ends = [str(node) for node in np.unique(nodes[rows]).tolist()]
        where = f"node{'s' if len(ends) > 1 else ''} {listing(ends, most=5)}"
        said = f"never-seen {listing(labels, most=3)} in {plural(len(rows), 'row')}"
        notes.append(f"{safe(name)}: {said} → {where}")
    return notes


def asked_on_the_way(tree: Tree, column: int) -> list[bool]:
    """Tell of each node whether a row that ends there was asked about a column."""
    parent, asks = tree.arrays.parent.tolist(), (tree.arrays.column == column).tolist()
    asked = [bool(asks[0])]
    for node in range(1, len(parent)):
        asked.append(asks[node] or asked[parent[node]])
    return asked


def answers_in_words(tree: Tree, table: Table, asked: Asked = NOTHING_MORE) -> list[str]:
    """Say what is predicted for each row, and because of which tests."""
    from treewise.estimates import Estimate
    from treewise.evaluate import paths
    from treewise.explain.row.words import answer
    from treewise.predict import predict

    way = Estimate.of(asked.estimate)
    said = predict(tree, table, asked.estimate)  # refuses a row that a hand-written tree has no answer for
    sentences = []
    for path, prediction in zip(paths(tree, table), said.tolist(), strict=True):
        *first, last = path.tests or ("all rows are the same to it",)
        because = f"{', '.join(first)} and {last}" if first else last
        from_root = bool(path.stays) and tree.empty_branch == "root"
        speaker = 0 if from_root else path.node
        sentences.append(f"{safe(tree.target.name)} = {answer(tree, speaker, prediction, way)}, because {because}.")
        if path.stays:
            who = "the root" if from_root else "the node that asks for it"
            sentences.append(f"(Its {safe(path.stays)} was never seen; {who} answers.)")
        sentences += how_sure(tree, speaker, asked)
    return sentences


def how_sure(tree: Tree, node: int, asked: Asked) -> list[str]:
    """Say the probabilities of a node, and their intervals, where they are asked for."""
    import numpy as np

    from treewise.estimates import Estimate, shares
    from treewise.predict import intervals_of
    from treewise.wording import figure

    if not (asked.proba or asked.interval):
        return []
    at = np.array([node])
    sure = f"{100 * asked.confidence:g} % interval"
    ends = intervals_of(tree, at, asked.confidence)[0] if asked.interval else None
    if tree.task == "regression":
        if ends is None:
            return []
        known = np.isfinite(ends).all()
        return [
            f"{sure} {figure(float(ends[0]))} to {figure(float(ends[1]))}"
            if known
            else f"{sure}: a single row has none"
        ]
    said = []
    for i, (label, share) in enumerate(
        zip(tree.classes, shares(tree, at, Estimate.of(asked.estimate))[0], strict=True)
    ):
        between = "" if ends is None else f" ({sure} {percent(ends[i, 0])} to {percent(ends[i, 1])})"
        said.append(f"{safe(label)} {percent(share)} %{between}")
    return ["  ".join(said)]
