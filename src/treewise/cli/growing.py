"""Grow trees with a report on standard error: what was inferred about the input, progress, and the outcome.

Between the verbs and the functions that grow (``treewise.grow``, ``treewise.forest`` and so on): they call back
between preparing and growing, so that a wrong guess about the input is seen before a long run. Only rendering happens
here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treewise._lib.text import plural, safe
from treewise.cli.inputs import LoadedModel, read_data
from treewise.cli.options import take_words
from treewise.cli.output import remark
from treewise.cli.param_types import in_options
from treewise.cli.verb import TextOptions
from treewise.errors import DataError, ParameterError

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.ensemble import Ensemble
    from treewise.train.training_set import TrainingSet
    from treewise.tree.fit_info import PruningInfo
    from treewise.tree.tree import Tree

_KINDS = {"number": "number", "integer": "number", "boolean": "boolean", "datetime": "date"}
_MAX_LISTED = 6  # columns with missing values


class GrowthReport:
    """Prints remarks while a model is grown: its methods are the callbacks of the functions that grow."""

    def __init__(self, table: Table | None, quiet: bool) -> None:
        self.table, self.quiet = table, quiet  # None: its rows are elsewhere
        self.training_set: TrainingSet | None = None
        self.full_tree: Tree | None = None
        self.prepared_at = self.grown_at = time.monotonic()

    def on_prepared(self, training_set: TrainingSet) -> None:
        """Print what was inferred about the table."""
        from treewise.explain.describe import describe_task

        self.training_set = training_set
        if not self.quiet:
            remark("", _table_line(training_set, self.table))
            for note in training_set.notes:  # before a long run, for a user who wants to stop it
                remark("note", in_options(note))
            remark("task", describe_task(training_set))
        self.prepared_at = time.monotonic()

    def on_grown(self, tree: Tree) -> None:
        """Keep the tree as it is before pruning."""
        self.full_tree, self.grown_at = tree, time.monotonic()

    @contextmanager
    def notes_on_error(self) -> Iterator[None]:
        """Print the notes on reading the file if it cannot be used: they may explain why."""
        try:
            yield
        except DataError:
            for note in self.table.notes if self.table and self.training_set is None and not self.quiet else ():
                remark("note", in_options(note))
            raise

    def finish_tree(self, tree: Tree) -> None:
        """Print how large the tree is, and what pruning did."""
        if self.quiet:
            return
        assert self.full_tree is not None
        info, seconds = tree.fit_info, self.grown_at - self.prepared_at
        pruning = info.pruning
        remark("grow", f"{seconds:.1f} s   {'full tree: ' if pruning else ''}{_size(self.full_tree)}")
        if pruning is not None:
            remark("prune", f"{time.monotonic() - self.grown_at:.1f} s   {pruning_summary(pruning)}")
        if info.honest is not None:
            rows, n_structure_rows = info.honest.rows, info.honest.table_rows - info.honest.rows
            remark(
                "fit",
                f"leaves estimated on {plural(rows, 'row')} (honest); the other {n_structure_rows:,} chose the splits",
            )
        if pruning is None:
            from treewise.show.text_tree.text_tree import remarks

            for line in remarks(tree):
                remark("note", in_options(line))
        for change in info.changes:
            if change.action == "round_thresholds":
                rows = change.options["moved_rows"]
                moved = f"{plural(rows, 'row')} changed leaf" if rows else "no row moved"
                remark("round", f"{plural(change.options['changed'], 'threshold')}; {moved}")
        for note in () if pruning is None else pruning.notes:
            remark("note", note)
        self.print_new_notes(tree.notes)
        remark("", "")

    def finish_ensemble(self, ensemble: Ensemble, known_notes: Sequence[str] = (), advise: bool = True) -> None:
        """Print how many trees were grown; ``advise`` suggests an option that reports more."""
        from treewise.ensemble.model import ENDED

        if self.quiet:
            return
        leaves = plural(int(ensemble.members.leaf_start[-1]), "leaf", "leaves")
        remark("grow", f"{time.monotonic() - self.prepared_at:.1f} s   {plural(len(ensemble), 'tree')} · {leaves}")
        notes = (
            f"{note.partition(':')[0]}; the line below its rounds says why" if note.startswith(ENDED) else note
            for note in ensemble.notes
            if note not in known_notes
        )
        self.print_new_notes(notes)
        if self.training_set is not None and (note := _compare_with_baseline(ensemble, self.training_set)):
            remark("note", note)
        info = ensemble.fit_info.ensemble
        bootstrap = info is None or info.option("bootstrap", ensemble.method != "adaboost")
        if advise and ensemble.oob is None and bootstrap:
            remark("note", "--oob-score estimates the error on rows that a tree has not seen")
        remark("", "")

    def print_new_notes(self, notes: Iterable[str]) -> None:
        """Print the notes that were not there before growing."""
        known = self.training_set.notes if self.training_set is not None else ()
        for note in notes:
            if note not in known:
                remark("note", in_options(note))


# -- growing --------------------------------------------------------------------------------------------


def grow_tree(
    data: str | Table, options: dict[str, Any], text_format: TextOptions, quiet: bool = False
) -> tuple[TrainingSet, Tree]:
    """Grow a tree by the options of ``treewise.grow``, with a report on standard error."""
    options = read_validation(options, text_format)
    table = _read(data, options, text_format)
    report = GrowthReport(table, quiet)
    with report.notes_on_error():
        tree = _fit(table, options, report)
    assert report.training_set is not None
    return report.training_set, tree


def grow_elsewhere(data: Sequence[str], options: dict[str, Any], text_format: TextOptions, quiet: bool = False) -> Tree:
    """Grow a tree on rows that a Dask cluster or a database counts, with a report on standard error."""
    _refuse_text_options(text_format)
    options = read_validation(options, text_format)
    return _fit(data[0] if len(data) == 1 else list(data), options, GrowthReport(None, quiet))


def _refuse_text_options(text_format: TextOptions) -> None:
    if text_format != TextOptions():
        raise ParameterError(
            "--separator, --decimal, --no-header, --names and --memory are for files that this process reads.",
            hint="Leave them out, or write the table as Parquet.",
        )


def _fit(data: Any, options: dict[str, Any], report: GrowthReport) -> Tree:
    from treewise.cli.output import progress_bar
    from treewise.train.grow import fit

    with pruning_option_in_errors(options.get("pruning")):
        tree = fit(
            data,
            options.pop("target", None),
            options,
            on_prepared=report.on_prepared,
            on_grown=report.on_grown,
            progress=progress_bar,
        )
    report.finish_tree(tree)
    return tree


def grow_ensemble_and_report(
    data: Any, method: str, options: dict[str, Any], text_format: TextOptions, quiet: bool
) -> Ensemble:
    """Grow an ensemble by the options of its function and report on standard error; ``engine`` reads DATA itself."""
    import treewise
    from treewise.cli.output import progress_bar

    options = dict(options)
    words = take_words(options)
    is_elsewhere = "engine" in options
    if is_elsewhere:
        _refuse_text_options(text_format)
    table = data if is_elsewhere else _read(data, options, text_format)
    report = GrowthReport(None if is_elsewhere else table, quiet)
    with report.notes_on_error(), progress_bar("grow") as progress:
        grow = getattr(treewise, method)
        ensemble: Ensemble = grow(
            table, options.pop("target", None), **options, progress=progress, on_prepared=report.on_prepared
        )
    report.finish_ensemble(ensemble)
    return ensemble.with_display(**words) if words else ensemble


def prepare_and_report(
    data: str | Table, options: dict[str, Any], text_format: TextOptions, quiet: bool = False
) -> TrainingSet:
    """Prepare a table by the options of ``treewise.grow``, for verbs that grow many trees on it."""
    from treewise.train.grow import prepare

    options = {name: value for name, value in options.items() if name != "n_jobs"}
    table = _read(data, options, text_format)
    report = GrowthReport(table, quiet)
    with report.notes_on_error():
        report.on_prepared(prepare(table, options.pop("target", None), **options))
    assert report.training_set is not None
    return report.training_set


def grow_source(
    data: str | Table, options: dict[str, Any], text_format: TextOptions, member: int | None, quiet: bool = False
) -> tuple[TrainingSet, LoadedModel]:
    """Grow a tree on DATA, for a verb that takes a MODEL or DATA."""
    if member is not None:
        raise ParameterError("--tree picks a tree of an ensemble; on a table a single tree is grown. Leave it out.")
    training_set, tree = grow_tree(data, options, text_format, quiet)
    return training_set, LoadedModel(data if isinstance(data, str) else data.name, tree, b"")


@contextmanager
def pruning_option_in_errors(pruning: Any) -> Iterator[None]:
    """Report a wrong option of a pruning method as it was typed: ``--pruning gain:threshold=-1``."""
    try:
        yield
    except ParameterError as error:
        if not isinstance(pruning, dict) or error.parameter not in pruning:
            raise
        typed = f"{pruning['method']}:{error.parameter}={pruning[error.parameter]}"
        raise ParameterError(error.rule, parameter="pruning", value=typed, hint=error.hint) from None


def read_validation(options: dict[str, Any], text_format: TextOptions) -> dict[str, Any]:
    """Return the options with the validation table read, where it is named."""
    if not isinstance(options.get("validation"), str):
        return dict(options)
    return {**options, "validation": read_data(options["validation"], options.get("na_values", ()), text_format)}


def _read(data: str | Table, options: dict[str, Any], text_format: TextOptions) -> Table:
    return read_data(data, options.get("na_values", ()), text_format) if isinstance(data, str) else data


# -- lines of the report --------------------------------------------------------------------------------


def _compare_with_baseline(ensemble: Ensemble, training_set: TrainingSet) -> str:
    """Return a note if always giving one answer errs less than the trees do out of bag; "" if not."""
    import numpy as np

    from treewise.train.source import TrainingSummary

    if ensemble.oob is None:
        return ""
    if ensemble.task == "regression":
        better = "the mean" if ensemble.oob.score < 0 else ""
    else:
        rows = training_set.sample_rows if isinstance(training_set, TrainingSummary) else 1
        counts = np.bincount(training_set.y, training_set.evaluation_weight * rows)
        majority = int(np.argmax(counts))
        share = counts[majority] / counts.sum()
        answer = f"{safe(ensemble.classes[majority])}, with an error of {100 * (1 - share):.1f} %,"
        better = answer if ensemble.oob.score < share else ""
    return f"worse than the baseline out of bag: always predicting {better} would do better" if better else ""


def _table_line(training_set: TrainingSet, table: Table | None) -> str:
    """Describe the table: rows, columns by kind, and which have missing values; of one elsewhere, what is known."""
    from treewise.data import encoding as encode

    kinds = {"number": 0, "category": 0, "boolean": 0, "date": 0}
    missing = []
    for encoding in training_set.encodings:
        kinds[_KINDS.get(encoding.kind, "category")] += 1
    for encoding, values in zip(training_set.encodings, training_set.columns, strict=False):
        n_missing = int(encode.is_missing(encoding, values).sum())
        if n_missing:
            missing.append((n_missing, encoding.name))
    plurals = {"category": "categories"}
    by_kind = ", ".join(plural(n, kind, plurals.get(kind)) for kind, n in kinds.items() if n)
    columns = plural(len(training_set.encodings), "column")
    n_rows = len(training_set) if table is None else len(table)
    line = f"{safe(training_set.table_name)}   {plural(n_rows, 'row')} · {columns}: {by_kind}"
    if missing:
        missing.sort(key=lambda pair: -pair[0])
        texts = [f"{safe(name)} {n_missing:,}" for n_missing, name in missing[:_MAX_LISTED]]
        more = f", … {len(missing) - _MAX_LISTED} more columns" if len(missing) > _MAX_LISTED else ""
        line += f" · missing: {', '.join(texts)}{more}"
    dropped = n_rows - len(training_set)
    if not dropped or table is None:
        return line
    without = int(table[training_set.target.name].is_missing().sum())
    reasons = " or ".join(["no target"] * (without > 0) + ["no weight"] * (without < dropped))
    return f"{line} · {plural(dropped, 'row')} left out ({reasons})"


def pruning_summary(pruning: PruningInfo) -> str:
    """Describe a pruning: its method, the leaves, and the last fact it found out."""
    method = "to a size" if pruning.method is None else pruning.method.replace("_", " ")
    leaves = f"{pruning.leaves_before:,} → {plural(pruning.leaves_after, 'leaf', 'leaves')}"
    return " · ".join([f"{method}: {leaves}", *pruning.facts[-1:]])


def _size(tree: Tree) -> str:
    from treewise.show.node_stats import describe_training_error

    return " · ".join([plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}", *describe_training_error(tree)])
