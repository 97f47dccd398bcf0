"""Charts of an evaluation: confusion matrix, ROC, precision-recall, gains and calibration curves; importances.

A tree predicts as many probabilities as it has leaves, so every corner of a curve is a threshold that can be chosen;
the diamond marks the operating point of the model's own predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.checks import check_choice, check_integer
from treewise._lib.text import format_count, format_share, plural
from treewise.errors import DataError, ParameterError
from treewise.show import palette
from treewise.show.mpl_helpers import SMALL, add_legend, axes_for, label_text, set_title, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate import ClassificationEvaluation
    from treewise.evaluate.importances import Importances
    from treewise.evaluate.ranking import Ranking

EVALUATIONS = ("confusion", "roc", "precision_recall", "gains", "calibration")
_MAX_CLASSES, _MAX_CLASSES_WITH_COUNTS = 40, 20  # of a confusion matrix
_MAX_MARKERS = 60  # points of a curve that are still marked individually
_CURVE, _BASELINE, _MODEL = palette.class_colour(0), palette.MUTED, palette.class_colour(5)


def draw_evaluation(evaluation: ClassificationEvaluation, chart: str, ax: Axes | None) -> Axes:
    """Draw one of the charts of an evaluation."""
    check_choice("what", chart, EVALUATIONS)
    if chart == "confusion":
        return _draw_confusion(evaluation, ax)
    if evaluation.ranking is None:
        raise ParameterError(
            f"this is for two classes, and there are {len(evaluation.classes)}.",
            parameter="what",
            value=chart,
            hint='There is "confusion".',
        )
    draw = {
        "roc": _draw_roc,
        "precision_recall": _draw_precision_recall,
        "gains": _draw_gains,
        "calibration": _draw_calibration,
    }[chart]
    ax = axes_for(ax, 5.0, 5.0)
    draw(evaluation, evaluation.ranking, ax)
    return ax


# -- confusion matrix ---------------------------------------------------------------------------------------


def _draw_confusion(evaluation: ClassificationEvaluation, ax: Axes | None) -> Axes:
    n, k = len(evaluation.labels), len(evaluation.classes)
    if n > _MAX_CLASSES:
        raise DataError(
            f"a matrix of {n:,} classes could not be read; up to {_MAX_CLASSES} are drawn."
            " print lists the largest confusions."
        )
    ax = axes_for(ax, 2.6 + 0.55 * max(k, 3), 2.0 + 0.45 * max(n, 3))
    totals = evaluation.support.astype(float)
    share = evaluation.confusion / np.where(totals > 0, totals, 1.0)[:, None]
    for i in range(n):
        for j in range(k):
            _draw_cell(ax, i, j, float(share[i, j]), evaluation.confusion[i, j].item(), n)
    ax.set(xlim=(-0.5, k - 0.5), ylim=(n - 0.5, -0.5), xlabel="predicted", ylabel="true")
    rotate = max(len(str(label)) for label in evaluation.classes) > 6 or k > 8
    classes = [label_text(label, 24) for label in evaluation.classes]
    ax.set_xticks(range(k), classes, rotation=40 if rotate else 0, ha="right" if rotate else "center")
    ax.set_yticks(range(n), [label_text(label, 24) for label in evaluation.labels])
    ax.tick_params(length=0, labelsize=SMALL)
    for side in ax.spines.values():
        side.set_visible(False)
    error = f"error {format_share(evaluation.error)} % of {plural(evaluation.n, 'row')}"
    if evaluation.is_training_data:
        error += f", those {'they were' if evaluation.is_ensemble else 'it was'} grown on"
    set_title(ax, f"{label_text(evaluation.table)}, column {label_text(evaluation.target)}", error)
    return ax


def _draw_cell(ax: Axes, i: int, j: int, share: float, count: float, n: int) -> None:
    """Fill one cell, correct predictions in blue and errors in orange, by the share of the true class."""
    from matplotlib.patches import Rectangle

    colour = palette.class_colour(0 if i == j else 5)
    fill = palette.tint(colour, 0.04 + 0.76 * share if count else 0.0)
    ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=fill, edgecolor="#DDDDDD", linewidth=0.8))
    if n <= _MAX_CLASSES_WITH_COUNTS:
        text = format_count(count) if count else "·"
        ax.text(j, i, text, ha="center", va="center", fontsize=SMALL, color=palette.text_colour_on(fill))


# -- two classes --------------------------------------------------------------------------------------------


def _draw_roc(evaluation: ClassificationEvaluation, ranking: Ranking, ax: Axes) -> None:
    false_positive_rate, true_positive_rate = ranking.roc
    style = _marker_style(len(true_positive_rate))
    (curve,) = ax.plot(false_positive_rate, true_positive_rate, color=_CURVE, linewidth=1.8, **style)
    (chance,) = ax.plot([0, 1], [0, 1], ":", color=_BASELINE)
    x, y, _ = _operating_point(evaluation)
    (model,) = ax.plot([x], [y], "D", color=_MODEL, markersize=8, zorder=3)
    ax.set(xlabel="false positive rate", ylabel=f"true positive rate ({_positive_class(evaluation, ranking)})")
    score = "AUC is undefined: one class does not occur"
    if ranking.auc is not None and (ends := ranking.auc_interval) is not None:
        score = f"AUC {ranking.auc:.3f} ({evaluation.interval_name} {ends[0]:.3f} to {ends[1]:.3f})"
    _finish(ax, evaluation, score)
    entries = [(curve, "thresholds of the probability"), (model, _model_name(evaluation)), (chance, "chance")]
    add_legend(ax, entries, loc="lower right")


def _draw_precision_recall(evaluation: ClassificationEvaluation, ranking: Ranking, ax: Axes) -> None:
    precision, recall = ranking.precision_recall
    style = {"drawstyle": "steps-pre", **_marker_style(len(recall))}
    (curve,) = ax.plot([0.0, *recall], [*precision[:1], *precision], color=_CURVE, linewidth=1.8, **style)
    prevalence = float(ranking.positives.sum() / (ranking.positives + ranking.others).sum())
    (chance,) = ax.plot([0, 1], [prevalence, prevalence], ":", color=_BASELINE)
    _, x, y = _operating_point(evaluation)
    (model,) = ax.plot([x], [y], "D", color=_MODEL, markersize=8, zorder=3)
    ax.set(xlabel=f"recall ({_positive_class(evaluation, ranking)})", ylabel="precision")
    average = ranking.average_precision
    _finish(ax, evaluation, "no positive row" if average is None else f"average precision {average:.3f}")
    entries = [
        (curve, "thresholds of the probability"),
        (model, _model_name(evaluation)),
        (chance, f"chance (prevalence {prevalence:.3f})"),
    ]
    add_legend(ax, entries, below=True)


def _draw_gains(evaluation: ClassificationEvaluation, ranking: Ranking, ax: Axes) -> None:
    """Draw which share of the positive rows the rows of the highest probabilities hold; the dashes are perfect."""
    rows, found = ranking.gains
    (curve,) = ax.plot(rows, found, color=_CURVE, linewidth=1.8, **_marker_style(len(rows)))
    (chance,) = ax.plot([0, 1], [0, 1], ":", color=_BASELINE)
    prevalence = float(ranking.positives.sum() / (ranking.positives + ranking.others).sum())
    (perfect,) = ax.plot([0, prevalence, 1], [0, 1, 1], "--", color=_BASELINE, linewidth=1.0)
    x = float(evaluation.confusion[:, 1].sum()) / evaluation.total
    (model,) = ax.plot([x], [_operating_point(evaluation)[1]], "D", color=_MODEL, markersize=8, zorder=3)
    ax.set(
        xlabel="share of all rows, highest probability first",
        ylabel=f"share of the rows with {_positive_class(evaluation, ranking)}",
    )
    lift = ranking.lift(0.1)
    _finish(ax, evaluation, "no positive row" if lift is None else f"lift of the top 10 %: {lift:.2f}")
    entries = [(curve, "by probability"), (model, _model_name(evaluation)), (perfect, "perfect"), (chance, "chance")]
    add_legend(ax, entries, loc="lower right")


def _draw_calibration(evaluation: ClassificationEvaluation, ranking: Ranking, ax: Axes) -> None:
    """Draw the observed share of positive rows against the predicted probability, by leaf or in ten bins."""
    bins = ranking.bins()
    predicted, observed = np.array([b.predicted for b in bins]), np.array([b.observed for b in bins])
    ends = np.array([b.interval for b in bins])
    weight = np.array([b.weight for b in bins])
    (perfect,) = ax.plot([0, 1], [0, 1], ":", color=_BASELINE)
    intervals = ax.vlines(predicted, ends[:, 0], ends[:, 1], color=_CURVE, linewidth=1.2, alpha=0.6)
    area = 20 + 160 * weight / weight.max()
    points = ax.scatter(predicted, observed, s=area, color=_CURVE, alpha=0.8, zorder=3, linewidths=0)
    positive = _positive_class(evaluation, ranking)
    ax.set(xlabel=f"predicted probability of {positive}", ylabel=f"observed share of {positive}")
    _finish(ax, evaluation, f"Brier score {ranking.brier:.4f}")
    point = "one predicted probability" if len(bins) == len(ranking.probability) else "neighbouring probabilities"
    entries = [
        (points, f"{point}; area: rows"),
        (intervals, evaluation.interval_name),
        (perfect, "perfect calibration"),
    ]
    add_legend(ax, entries, below=True)


def _operating_point(evaluation: ClassificationEvaluation) -> tuple[float, float, float]:
    """Return false positive rate, true positive rate and precision of the model's own predictions."""
    totals = evaluation.support.astype(float)
    predicted = evaluation.confusion[:, 1].astype(float)
    true_positives, false_positives = predicted[1], predicted.sum() - predicted[1]
    negatives, tiny = totals.sum() - totals[1], 1e-300
    return (
        false_positives / max(negatives, tiny),
        true_positives / max(totals[1], tiny),
        true_positives / max(predicted.sum(), tiny),
    )


def _model_name(evaluation: ClassificationEvaluation) -> str:
    return "predictions of the ensemble" if evaluation.is_ensemble else "predictions of the tree"


def _positive_class(evaluation: ClassificationEvaluation, ranking: Ranking) -> str:
    return f"{label_text(evaluation.target)} = {label_text(ranking.positive)}"


def _marker_style(n_points: int) -> dict[str, Any]:
    return {"marker": "o", "markersize": 4} if n_points <= _MAX_MARKERS else {}


def _finish(ax: Axes, evaluation: ClassificationEvaluation, score: str) -> None:
    """Set limits and title: the data, the score, and a warning about training rows."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    style_axes(ax)
    data = f"{label_text(evaluation.table)}, column {label_text(evaluation.target)}, {plural(evaluation.n, 'row')}"
    warning = [f"the rows the {evaluation.grown} on; expect less on new rows"] if evaluation.is_training_data else []
    set_title(ax, data, score, *warning)


# -- importances --------------------------------------------------------------------------------------------


def draw_importances(importances: Importances, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw a bar for each column that is used in a split, the most important first."""
    check_integer("most", most, 1)
    used = [column for column in importances.columns if column.splits]
    if not used:
        subject = "the trees use" if importances.trees else "the tree uses"
        raise DataError(f"{subject} no column, so there are no importances to draw.")
    drawn_columns = used[:most]
    ax = axes_for(ax, 6.0, 1.4 + 0.3 * len(drawn_columns))
    places = [len(drawn_columns) - i for i in range(len(drawn_columns))]
    is_permutation = importances.method == "permutation"
    percent = 100 if not is_permutation or importances.measure == "error" else 1
    colour = palette.tint(palette.class_colour(0), 0.7)
    ax.barh(places, [percent * column.importance for column in drawn_columns], color=colour, height=0.7)
    for place, column in zip(places, drawn_columns, strict=True):
        if column.low is not None and column.high is not None:
            ax.plot([percent * column.low, percent * column.high], [place, place], color=palette.INK, linewidth=1.2)
    ax.axvline(0, color=palette.MUTED, linewidth=0.8)
    ax.set_yticks(places, [label_text(column.column) for column in drawn_columns], fontsize=SMALL)
    ax.set_ylim(0.4, len(drawn_columns) + 0.6)
    style_axes(ax)
    if is_permutation:
        unit = ", percentage points" if importances.measure == "error" else ""
        ax.set_xlabel(f"increase of the {importances.measure.replace('_', ' ')} when permuted{unit}")
        repeats = f"{plural(importances.repeats, 'permutation')}, {100 * importances.confidence:g} % intervals"
        lines = [f"{label_text(importances.table)}, {plural(importances.n, 'row')}; {repeats}"]
        if importances.seen:
            grown = "trees were grown" if importances.trees else "tree was grown"
            lines.append(f"the rows the {grown} on: columns that fit noise look useful")
    else:
        ax.set_xlabel("share of the impurity decrease, %")
        lines = ["from the training rows alone; favours columns with many distinct values"]
    if len(used) > len(drawn_columns):
        lines.append(f"the first {len(drawn_columns)} of {len(used)} columns used in splits")
    set_title(ax, f"importance of columns for {label_text(importances.target)}: {importances.method}", *lines)
    return ax
