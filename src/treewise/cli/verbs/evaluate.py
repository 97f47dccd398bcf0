"""``treewise evaluate``: how good a tree is on a table with known answers; with ``--paths`` row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import safe
from treewise.cli.inputs import read_model, read_model_and_data
from treewise.cli.output import check_output, print_text, remark, write_output
from treewise.cli.param_types import read_bound
from treewise.cli.render import (
    EVALUATIONS,
    REGRESSION_EVALUATIONS,
    check_picture,
    json_text,
    picture_content,
    present,
    read_picture,
)
from treewise.cli.verb import (
    BASELINES,
    JUDGED,
    cost_option,
    drop_option,
    estimate_option,
    format_option,
    image_options,
    na_option,
    option,
    take_image_options,
    take_text_options,
    target_option,
    text_options,
    tree_option,
    verb,
    weight_option,
)
from treewise.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from treewise.cli.inputs import LoadedModel
    from treewise.data.table import Table
    from treewise.evaluate import Evaluation, Paths
    from treewise.evaluate.baselines.compare_models import ModelComparison
    from treewise.evaluate.threshold import ThresholdChoice
    from treewise.show.picture.picture import Picture

Bounds = Sequence[tuple[str, float]]

_AT_ONCE = 1000  # lines


@verb(
    "evaluate",
    "MODEL DATA [options]",
    examples=(
        "treewise grow outlier -o model.json && treewise evaluate model.json outlier_validation",
        "treewise evaluate stnordaf.txt admissions --paths",
        "treewise evaluate model.json yours.csv --baselines knn,logistic,majority",
        "treewise evaluate model.json admissions --picture roc=roc.png --picture confusion=confusion.svg",
        "treewise evaluate model.json new.csv --fail-under auc=0.8 && ./deploy",
        "treewise evaluate model.json new.csv --threshold recall=0.9",
        "treewise evaluate model.json new.csv --against other.json",
    ),
    about="MODEL is a saved tree or ensemble (.json) or a tree written by hand (.txt). Classification: error,"
    " cost, log loss, confusion matrix, precision, recall, F1, AUC and more, with 95 % intervals. Regression: RMSE,"
    " MAE and R².",
)
@click.argument("model")
@click.argument("data")
@tree_option
@target_option()
@na_option
@text_options
@drop_option
@option(
    "--fail-under",
    type=read_bound,
    multiple=True,
    metavar="NAME=X",
    section=JUDGED,
    help="Exit with 1 if a metric is below X: auc=0.8, accuracy=0.85, r2=0.5.",
)
@option(
    "--fail-over",
    type=read_bound,
    multiple=True,
    metavar="NAME=X",
    section=JUDGED,
    help="Exit with 1 if a metric is above X: error=0.15, cost=0.6, rmse=2.5.",
)
@estimate_option
@cost_option("Misclassification costs to measure, bad:good=5 (default: those of the tree); predictions do not change.")
@option(
    "--baselines",
    metavar="MODELS",
    section=BASELINES,
    help="Also compare with knn, logistic, majority (regression: knn, linear, mean), separated by commas.",
)
@option(
    "--folds",
    type=int,
    default=10,
    metavar="N",
    section=BASELINES,
    help="Number of folds for the comparison (default 10).",
)
@option(
    "--against",
    metavar="MODEL",
    section=BASELINES,
    help="Also compare with another model on the same rows: differences with paired intervals.",
)
@option(
    "--threshold",
    type=read_bound,
    metavar="GOAL=X",
    section=JUDGED,
    help="Choose a threshold for the positive class: recall=0.8, precision=0.9, false_positive_rate=0.1, rate=0.2"
    " (share predicted as positive), or cost=1 with the costs of --cost.",
)
@weight_option
@option(
    "--picture",
    "pictures",
    type=read_picture,
    multiple=True,
    metavar="WHAT=FILE",
    help="Draw confusion, roc, precision_recall, gains, lift or calibration, for numbers predicted or residuals:"
    " roc=roc.png (or .svg, .pdf).",
)
@option("--paths", "with_paths", is_flag=True, help="First print the path of each row.")
@option(
    "--check",
    "with_check",
    is_flag=True,
    help="Also report leaves that disagree with their rows, leaves without rows, and contradictory rows"
    " (always for trees written by hand).",
)
@image_options
@format_option("text", "json")
def command(
    model: str,
    data: str,
    member: int | None,
    target: str | None,
    na_values: Sequence[str],
    drop_missing_target: bool,
    fail_under: Bounds,
    fail_over: Bounds,
    estimate: str | None,
    cost: dict[str, dict[str, float]] | None,
    baselines: str | None,
    folds: int,
    against: str | None,
    threshold: tuple[str, float] | None,
    sample_weight: str | None,
    pictures: Sequence[tuple[str, str]],
    with_paths: bool,
    with_check: bool,
    form: str,
    **text_flags: Any,
) -> int:
    """Evaluate, print, and set the exit code."""
    from treewise.evaluate import check, evaluate, paths
    from treewise.evaluate.paired import evaluate_pair

    for _, file in pictures:
        check_output(file, model, data)
        check_picture(file)
    image = take_image_options(text_flags, bool(pictures))
    loaded, table = read_model_and_data(model, data, na_values, target, take_text_options(text_flags), member)
    options: dict[str, Any] = {"drop_missing_target": drop_missing_target, "estimate": estimate, "cost": cost}
    if loaded.ensemble is None:
        evaluation = evaluate(loaded.tree, table, target, sample_weight=sample_weight, **options)
    else:
        loaded.refuse_for_ensemble(
            estimate=estimate, cost=cost, baselines=baselines, paths=with_paths, check=with_check
        )
        evaluation = loaded.ensemble.evaluate(
            table, target, sample_weight=sample_weight, drop_missing_target=drop_missing_target
        )
    rows: dict[str, Any] = {"drop_missing_target": drop_missing_target, "sample_weight": sample_weight}
    _check_names(evaluation, fail_under, fail_over)
    drawings = [(picture_content(_draw(evaluation, plot, image), file), plot, file) for plot, file in pictures]
    comparison = None if baselines is None else _compare_with_baselines(loaded, table, baselines, folds)
    chosen = None if threshold is None else _choose_threshold(evaluation, *threshold)
    pair = None
    if against is not None:
        other = read_model(against)
        names = (loaded.name, other.name)
        pair = evaluate_pair(loaded.model, other.model, table, target, names=names, **rows)
    row_paths = paths(loaded.tree, table, target) if with_paths else None
    findings = None
    if with_check or loaded.model.fit_info.is_handwritten:
        findings = check(loaded.tree, table, target, **rows)
    if form == "json":
        more: dict[str, Any] = (
            {} if row_paths is None else {"paths": [_path_of(row_paths, i) for i in range(len(row_paths))]}
        )
        more |= {} if findings is None else {"check": findings.to_dict()}
        more |= {} if comparison is None else {"baselines": comparison.to_dict()["models"]}
        more |= {} if chosen is None else {"threshold": chosen.to_dict()}
        more |= {} if pair is None else {"against": pair.to_dict()}
        write_output(json_text({"model": loaded.name, **evaluation.to_dict(), **more}), None)
    else:
        if row_paths is not None:
            lines = row_paths.lines()
            while some := list(islice(lines, _AT_ONCE)):
                print_text("\n".join(some))
            print_text("")
        print_text(f"{safe(loaded.name)} on {safe(evaluation.table)}, column {safe(evaluation.target)}")
        print_text(str(evaluation))
        for result in (findings, chosen, pair):
            if result is not None:
                print_text("")
                present(result)
        if comparison is not None:
            print_text(
                f"\ncompared with baseline models; every row is predicted by models fitted without it\n{comparison}"
            )
    for content, plot, file in drawings:
        write_output(content, file)
        remark("", f"{plot} → {safe(file)}")
    return _check_bounds(evaluation, fail_under, fail_over)


def _draw(evaluation: Evaluation, plot: str, image: dict[str, Any]) -> Picture:
    """Draw one picture of an evaluation."""
    from treewise.evaluate import ClassificationEvaluation
    from treewise.evaluate.regression_results import RegressionEvaluation

    is_of_classes, is_for_classes = isinstance(evaluation, ClassificationEvaluation), plot in EVALUATIONS
    if is_of_classes != is_for_classes:
        reason = "is for classes, and this predicts numbers" if is_for_classes else "is for numbers, not classes"
        known = EVALUATIONS if is_of_classes else REGRESSION_EVALUATIONS
        raise ParameterError(f"--picture {plot}: {reason}. There are {', '.join(known)}.")
    assert isinstance(evaluation, ClassificationEvaluation | RegressionEvaluation)
    return evaluation.draw(plot, **image)


def _choose_threshold(evaluation: Evaluation, goal: str, value: float) -> ThresholdChoice:
    """Choose a threshold, for two classes."""
    from treewise.evaluate import ClassificationEvaluation
    from treewise.evaluate.threshold import TARGETS

    if not isinstance(evaluation, ClassificationEvaluation):
        raise ParameterError("--threshold is for classes, and this predicts numbers. Leave it out.")
    if goal not in TARGETS:
        raise ParameterError(
            f"--threshold {goal}: no such goal.{did_you_mean(goal, TARGETS)} There are {', '.join(TARGETS)}."
        )
    return evaluation.choose_threshold(**{goal: True if goal == "cost" else value})


def _compare_with_baselines(loaded: LoadedModel, table: Table, baselines: str, folds: int) -> ModelComparison:
    """Compare trees grown like this one with baseline models, on folds of the table."""
    from treewise.cli.output import progress_bar
    from treewise.evaluate.baselines.compare_models import grow_like, score_models
    from treewise.evaluate.baselines.models import find_baselines
    from treewise.predict.costs import cost_matrix_of
    from treewise.train.grow import prepare_like

    tree = loaded.tree
    if not tree.fit_info.is_grown:
        raise ParameterError(
            f"--baselines grows a tree in every fold, and {safe(loaded.name)} was written by hand. Leave it out."
        )
    find_baselines(baselines, tree.task)
    grow, left_out = grow_like(tree)
    if left_out:
        remark("note", f"the trees of the folds are grown like {loaded.name}, except for: {', '.join(left_out)}")
    training_set, cost = prepare_like(tree, table), cost_matrix_of(tree)
    fit_options = replace(training_set.fit_options, cost=None if cost is None else cost.to_dict())
    with progress_bar("comparing") as progress:
        training_set = replace(training_set, fit_options=fit_options)
        return score_models(training_set, grow, baselines, folds=folds, progress=progress)


def _path_of(row_paths: Paths, index: int) -> dict[str, Any]:
    """Return one row's path as plain values."""
    path = row_paths[index]
    return {
        "row": path.row,
        "node": path.node,
        "tests": list(path.tests),
        "prediction": path.prediction,
        "truth": path.truth,
        "wrong": path.wrong,
    }


def _check_names(evaluation: Evaluation, under: Bounds, over: Bounds) -> None:
    """Refuse a bound on an unknown score, before anything is printed."""
    for bound_name, bounds in (("under", under), ("over", over)):
        for name, _ in bounds:
            if name not in evaluation.scores:
                hint = did_you_mean(name, evaluation.scores)
                raise ParameterError(
                    f"--fail-{bound_name} {name}: no such metric.{hint} There are {', '.join(evaluation.scores)}."
                )


def _check_bounds(evaluation: Evaluation, under: Bounds, over: Bounds) -> int:
    """Return the exit status: 0 if all scores are within their bounds, else 1."""
    scores = evaluation.scores
    failed = 0
    for bounds, bound_name in ((under, "under"), (over, "over")):
        for name, bound in bounds:
            value = scores[name]
            if value is None or (value < bound if bound_name == "under" else value > bound):
                reason = "cannot be computed here" if value is None else f"is {value:.6g}, {bound_name} {bound:g}"
                remark("", f"no: {name} {reason}")
                failed = 1
    return failed
