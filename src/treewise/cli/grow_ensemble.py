"""Growing many trees aloud: what was understood, a bar, what came of it, and what to do with it.

Behind ``treewise grow --ensemble …`` and ``treewise extend``. The trees are grown by ``ensemble/``; its functions are
taken apart here, because what was understood of the table is said before the trees are grown on it.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from treewise._lib.text import plural, safe
from treewise.cli.describe_input import prepare_and_report
from treewise.cli.messages import in_options
from treewise.cli.options import ENSEMBLE_OPTIONS
from treewise.cli.output import deliver, remark, say
from treewise.cli.render import bold, has_style, most_rows, present, say_styled
from treewise.cli.shared_options import TextOptions
from treewise.errors import ColumnError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.ensemble import Ensemble
    from treewise.train.training_set import TrainingSet

Grower = Callable[..., "Ensemble"]  # training set, progress=, n_jobs=


def grow_and_show(
    data: str,
    method: str,
    many: dict[str, Any],
    asked: dict[str, Any],
    form: TextOptions,
    output: str | None,
    whole: bool,
    quiet: bool,
) -> None:
    """Grow many trees, show what they are, save them."""
    check_ending(output)
    ensemble = grow_many(data, method, many, asked, form, quiet)
    if output is not None:  # before the page, whose reader may leave early
        write_many(ensemble, output)
    if output == "-":
        return
    show_many(ensemble, whole)
    if output is not None and not quiet:
        remark("", saved_line(output, data))


def grow_many(
    data: str, method: str, many: dict[str, Any], asked: dict[str, Any], form: TextOptions, quiet: bool
) -> Ensemble:
    """Grow many trees, saying on standard error what was understood and how it went."""
    from treewise.cli.progress import bar

    asked, recipe = dict(asked), dict(many)
    if method == "bagging" and "max_features" in asked:  # whose columns are drawn for a whole tree
        recipe["max_features"] = asked.pop("max_features")
    more, grow = way_of(method, recipe)
    training_set = prepare_and_report(data, {**more, **asked}, form, quiet, prepare=prepare_for(method))
    started = time.monotonic()
    with bar("grow") as progress:
        ensemble = grow(training_set, progress=progress, n_jobs=asked.get("n_jobs"))
    if not quiet:
        say_grown(ensemble, time.monotonic() - started, training_set.notes)
    return ensemble


def way_of(method: str, many: dict[str, Any]) -> tuple[dict[str, Any], Grower]:
    """Return what the options of many trees add to those of one, and what grows them on a prepared table."""
    import treewise
    from treewise.ensemble.params import AdaBoostParams, BaggingParams, BagMethod

    usual = signature(getattr(treewise, method)).parameters
    known = [each.parameter for each in ENSEMBLE_OPTIONS if method in each.of]
    recipe = {**{name: usual[name].default for name in known}, **many}
    if method == "adaboost":
        from treewise.ensemble.adaboost import boost

        return {"max_depth": usual["max_depth"].default}, partial(boost, recipe=AdaBoostParams("adaboost", **recipe))
    from treewise.ensemble.grow import grow_ensemble

    return {}, partial(grow_ensemble, recipe=BaggingParams(cast(BagMethod, method), **recipe))


def prepare_for(method: str) -> Callable[..., TrainingSet]:
    """Return what prepares a table for many trees."""
    import treewise
    from treewise.ensemble.forest import problem_of_extra_trees, problem_of_forest
    from treewise.ensemble.grow import problem_of_many

    of_many = partial(problem_of_many, asked_of=getattr(treewise, method))
    prepare = {"forest": problem_of_forest, "extra_trees": problem_of_extra_trees}.get(method, of_many)
    return lambda table, target, **options: prepare(table, target, options)


def check_own_table(ensemble: Ensemble, table: Table) -> None:
    """Refuse a table without the target of the trees, where only the one they were grown on will do."""
    name = ensemble.target.name
    if name not in table.columns:
        raise ColumnError(
            f'{table.name} has no column "{safe(name)}", the target of these trees.{did_you_mean(name, table.columns)}'
            " Give the table they were grown on."
        )


def say_grown(ensemble: Ensemble, seconds: float, before: tuple[str, ...], advise: bool = True) -> None:
    """Say how it went, and what was noted on the way; why boosting ended is said with its rounds.

    ``advise`` names an option that would have told more.
    """
    from treewise.ensemble.model import ENDED

    leaves = plural(int(ensemble.members.leaf_start[-1]), "leaf", "leaves")
    remark("grow", f"{seconds:.1f} s   {plural(len(ensemble), 'tree')} · {leaves}")
    for note in ensemble.notes:
        if note not in before:
            ended = f"{note.partition(':')[0]}; the line below its rounds says why"
            remark("note", ended if note.startswith(ENDED) else in_options(note))
    if (
        advise
        and ensemble.oob is None
        and ensemble.history[0]["ensemble"].get("bootstrap", ensemble.method != "adaboost")
    ):
        remark("note", "--oob-score says how good they are on rows each tree has not seen")
    remark("", "")


def show_many(ensemble: Ensemble, whole: bool = False) -> None:
    """Print what many trees are; of boosting, its rounds."""
    say_styled(ensemble.summary().to_text(emphasis=bold if has_style() else str))
    show_rounds(ensemble, whole)


def show_rounds(ensemble: Ensemble, whole: bool) -> None:
    """Print the rounds of boosting: on a terminal the first and the last ones, unless all are asked for."""
    if ensemble.method == "adaboost":
        say("")
        present(ensemble.rounds, most=most_rows(ensemble, whole))


def write_many(ensemble: Ensemble, output: str) -> None:
    """Save many trees as one file; a large one is packed."""
    from treewise.formats.model_file.model_file import dumps

    deliver(dumps(ensemble), output)


def saved_line(output: str, data: str) -> str:
    """Say what was written and what can be done with it."""
    model, table = shlex.quote(output), shlex.quote(data if data != "-" else "DATA")
    steps = [f"treewise evaluate {model} new.csv", f"treewise importance {model}", f"treewise show {model} --tree 0"]
    return f"saved {safe(output)}   next: {' · '.join(steps)} · treewise distill {model} {table}"


def check_ending(output: str | None) -> None:
    """Refuse a file whose ending promises something else, before any work is done for it."""
    if output not in (None, "-") and not str(output).lower().endswith(".json"):
        raise ParameterError(f"cannot write {safe(output)}: many trees are saved as one model (.json).")
