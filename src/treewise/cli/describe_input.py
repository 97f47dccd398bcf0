"""What was understood of a table before anything is grown on it: said on standard error, so that a wrong guess is seen.

Beneath the verbs that grow: grow, stump, curve, stability.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treewise._lib.text import format_count, plural, safe
from treewise.cli.inputs import read_data
from treewise.cli.messages import in_options
from treewise.cli.output import remark
from treewise.cli.shared_options import TextOptions
from treewise.errors import DataError

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.train.training_set import TrainingSet

PLAIN_KINDS = {"number": "number", "integer": "number", "boolean": "boolean", "datetime": "date"}
MOST_LISTED = 6  # columns with missing values, classes with their counts


def prepare_and_report(
    data: str | Table,
    asked: dict[str, Any],
    form: TextOptions,
    quiet: bool = False,
    prepare: Callable[..., TrainingSet] | None = None,
) -> TrainingSet:
    """Prepare a table for growing, saying on standard error what was understood; ``prepare`` is for one tree."""
    from treewise.train import grow

    prepare = prepare or grow.prepare
    asked = {name: value for name, value in asked.items() if name != "n_jobs"}
    na_values = asked.pop("na_values", ())
    table = read_data(data, na_values, form) if isinstance(data, str) else data
    try:
        training_set = prepare(table, asked.pop("target", None), **asked)
    except DataError:
        for note in table.notes if not quiet else ():  # how the file was read may be why
            remark("note", in_options(note))
        raise
    if not quiet:
        remark("", table_line(table, training_set))
        for note in training_set.notes:  # before a long growth, for whoever wants to stop it
            remark("note", in_options(note))
        remark("task", task_line(training_set))
    return training_set


def table_line(table: Table, training_set: TrainingSet) -> str:
    """Say what the table is: rows, columns by kind, and where something is missing."""
    from treewise.data import encoding as encode

    kinds = {"number": 0, "category": 0, "boolean": 0, "date": 0}
    missing = []
    for encoding, values in zip(training_set.encodings, training_set.columns, strict=True):
        kinds[PLAIN_KINDS.get(encoding.kind, "category")] += 1
        gone = int(encode.is_missing(encoding, values).sum())
        if gone:
            missing.append((gone, encoding.name))
    many = {"category": "categories"}
    told = ", ".join(plural(n, kind, many.get(kind)) for kind, n in kinds.items() if n)
    columns = plural(len(training_set.encodings), "column")
    line = f"{safe(table.name)}   {plural(len(table), 'row')} · {columns}: {told}"
    if missing:
        missing.sort(key=lambda pair: -pair[0])
        listed = [f"{safe(name)} {gone:,}" for gone, name in missing[:MOST_LISTED]]
        more = f", … {len(missing) - MOST_LISTED} more columns" if len(missing) > MOST_LISTED else ""
        line += f" · missing: {', '.join(listed)}{more}"
    dropped = len(table) - len(training_set)
    if not dropped:
        return line
    without = int(table[training_set.target.name].is_missing().sum())
    why = " or ".join(["no target"] * (without > 0) + ["no weight"] * (without < dropped))
    return f"{line} · {plural(dropped, 'row')} left out ({why})"


def task_line(training_set: TrainingSet) -> str:
    """Say what is being predicted, so that a wrong guess is seen at once."""
    import numpy as np

    from treewise._lib.text import format_rounded

    target = training_set.target
    name = safe(target.name)
    if target.task == "regression":
        raw = training_set.raw
        low, mean, high = (format_rounded(float(value)) for value in (raw.min(), raw.mean(), raw.max()))
        return f"regression of {name}: {low} to {high}, mean {mean}"
    counts = np.bincount(training_set.y, minlength=len(target.classes)).tolist()
    form = "{} {}" if any(isinstance(label, str) for label in target.classes) else "{} ({})"
    listed = [form.format(safe(label), format_count(n)) for label, n in zip(target.classes, counts, strict=True)]
    more = f", … {len(listed)} classes" if len(listed) > MOST_LISTED else ""
    positive = f" · positive class: {safe(target.positive)}" if target.positive is not None else ""
    return f"classification of {name}: {', '.join(listed[:MOST_LISTED])}{more}{positive}"
