"""Charts of an evaluation: confusion matrix, ROC, precision-recall, gains, lift and calibration; for numbers,
predicted against true values and residuals.

A tree predicts as many probabilities as it has leaves, so every corner of a curve is a threshold that can be chosen;
the diamond marks the operating point of the model's own predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewise._lib.checks import check_choice
from treewise._lib.text import clip, format_count, format_rounded, format_share, plural, safe
from treewise.errors import DataError, ParameterError
from treewise.show import palette
from treewise.show.mpl_helpers import takes_image_options
from treewise.show.plots.chart import (
    DASHED,
    DOTTED,
    MAX_MARKERS,
    Bar,
    Chart,
    ChartAxis,
    ChartPicture,
    Curve,
    Mark,
    floats,
    show_chart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate import ClassificationEvaluation, Evaluation
    from treewise.evaluate.ranking import Ranking
    from treewise.evaluate.regression_results import RegressionEvaluation

EVALUATIONS = ("confusion", "roc", "precision_recall", "gains", "lift", "calibration")
REGRESSION_EVALUATIONS = ("predicted", "residuals")
_MAX_CLASSES, _MAX_CLASSES_WITH_COUNTS, _MAX_CLASSES_WITH_SHARES = 40, 20, 3  # of a confusion matrix
_CURVE, _BASELINE, _MODEL = palette.class_colour(0), palette.MUTED, palette.class_colour(5)

_Legend = tuple[tuple[Mark, str], ...]


@takes_image_options
def draw_evaluation(evaluation: ClassificationEvaluation, chart: str, ax: Axes | None = None) -> ChartPicture:
    """Draw one of the charts of an evaluation."""
    check_choice("what", chart, EVALUATIONS)
    if chart == "confusion":
        return show_chart(_confusion_chart(evaluation), ax)
    if evaluation.ranking is None:
        raise ParameterError(
            f"this is for two classes, and there are {len(evaluation.classes)}.",
            parameter="what",
            value=chart,
            hint='There is "confusion".',
        )
    make = {
        "roc": _roc_chart,
        "precision_recall": _precision_recall_chart,
        "gains": _gains_chart,
        "lift": _lift_chart,
        "calibration": _calibration_chart,
    }[chart]
    return show_chart(make(evaluation, evaluation.ranking), ax)


@takes_image_options
def draw_regression_evaluation(evaluation: RegressionEvaluation, chart: str, ax: Axes | None = None) -> ChartPicture:
    """Draw one of the charts of an evaluation of numbers."""
    check_choice("what", chart, REGRESSION_EVALUATIONS)
    return show_chart(_predicted_chart(evaluation) if chart == "predicted" else _residuals_chart(evaluation), ax)


# -- confusion matrix ---------------------------------------------------------------------------------------


def _confusion_chart(evaluation: ClassificationEvaluation) -> Chart:
    n, k = len(evaluation.labels), len(evaluation.classes)
    if n > _MAX_CLASSES:
        raise DataError(
            f"a matrix of {n:,} classes could not be read; up to {_MAX_CLASSES} are drawn."
            " print lists the largest confusions."
        )
    totals = evaluation.support.astype(float)
    share = evaluation.confusion / np.where(totals > 0, totals, 1.0)[:, None]
    cells = [_cell(i, j, float(share[i, j]), evaluation.confusion[i, j].item(), n) for i in range(n) for j in range(k)]
    x = ChartAxis("predicted", -0.5, k - 0.5, tuple((float(j), _label(c)) for j, c in enumerate(evaluation.classes)))
    y = ChartAxis("true", n - 0.5, -0.5, tuple((float(i), _label(c)) for i, c in enumerate(evaluation.labels)))
    error = f"error {format_share(evaluation.error)} % of {plural(evaluation.n, 'row')}"
    if evaluation.is_training_data:
        error += f", those {'they were' if evaluation.is_ensemble else 'it was'} grown on"
    title = f"{evaluation.table}, column {evaluation.target}", error
    width = min(max(84.0, 220 / k), 640.0 / max(k, 1))
    height = min(max(52.0, 150 / n), 640.0 / max(n, 1))
    return Chart(title, x, y, tuple(cells), (), k * max(width, 26.0), n * max(height, 22.0), has_frame=False)


def _label(label: object) -> str:
    return clip(safe(label), 24)


def _cell(i: int, j: int, share: float, count: float, n: int) -> Bar:
    """Return one cell, correct predictions in blue and errors in orange, by the share of the true class."""
    fill = palette.tint(palette.class_colour(0 if i == j else 5), 0.04 + 0.76 * share if count else 0.0)
    text = (format_count(count) if count else "·") if n <= _MAX_CLASSES_WITH_COUNTS else ""
    text += f" ({format_share(share)} %)" if count and n <= _MAX_CLASSES_WITH_SHARES else ""
    return Bar(j - 0.5, i - 0.5, j + 0.5, i + 0.5, fill, text, palette.text_colour_on(fill), "#DDDDDD")


# -- two classes --------------------------------------------------------------------------------------------


def _square(
    evaluation: Evaluation, score: str, axes: tuple[ChartAxis, ChartAxis], marks: tuple[Mark, ...], legend: _Legend
) -> Chart:
    """Return a chart of two shares: the data, the score, and a warning about training rows above it."""
    data = f"{evaluation.table}, column {evaluation.target}, {plural(evaluation.n, 'row')}"
    warning = [f"the rows the {evaluation.grown} on; expect less on new rows"] if evaluation.is_training_data else []
    return Chart((data, score, *warning), *axes, marks, legend, 320.0, 320.0, "xy")


def _roc_chart(evaluation: ClassificationEvaluation, ranking: Ranking) -> Chart:
    false_positive_rate, true_positive_rate = ranking.roc
    curve = _curve(false_positive_rate, true_positive_rate)
    chance = Curve((0.0, 1.0), (0.0, 1.0), _BASELINE, 1.4, DOTTED)
    x, y, _ = _operating_point(evaluation)
    model = _diamond(x, y)
    score = "AUC is undefined: one class does not occur"
    if ranking.auc is not None and (ends := ranking.auc_interval) is not None:
        score = f"AUC {ranking.auc:.3f} ({evaluation.interval_name} {ends[0]:.3f} to {ends[1]:.3f})"
    axes = (
        ChartAxis.share("false positive rate"),
        ChartAxis.share(f"true positive rate ({_positive_class(evaluation, ranking)})"),
    )
    legend = (curve, "thresholds of the probability"), (model, _model_name(evaluation)), (chance, "chance")
    return _square(evaluation, score, axes, (curve, chance, model), legend)


def _precision_recall_chart(evaluation: ClassificationEvaluation, ranking: Ranking) -> Chart:
    precision, recall = (values.tolist() for values in ranking.precision_recall)
    corners = [(0.0, precision[0])] if precision else []
    for left, (across, up) in zip([0.0, *recall], zip(recall, precision, strict=True), strict=False):
        corners += [(left, up), (across, up)]  # a precision holds from the recall before it
    curve = Curve(floats(c[0] for c in corners), floats(c[1] for c in corners), _CURVE)
    prevalence = float(ranking.positives.sum() / (ranking.positives + ranking.others).sum())
    chance = Curve((0.0, 1.0), (prevalence, prevalence), _BASELINE, 1.4, DOTTED)
    _, x, y = _operating_point(evaluation)
    model = _diamond(x, y)
    average = ranking.average_precision
    score = "no positive row" if average is None else f"average precision {average:.3f}"
    axes = (
        ChartAxis.share(f"recall ({_positive_class(evaluation, ranking)})"),
        ChartAxis.share("precision"),
    )
    legend = (
        (curve, "thresholds of the probability"),
        (model, _model_name(evaluation)),
        (chance, f"chance (prevalence {prevalence:.3f})"),
    )
    return _square(evaluation, score, axes, (curve, chance, model), legend)


def _gains_chart(evaluation: ClassificationEvaluation, ranking: Ranking) -> Chart:
    """Which share of the positive rows the rows of the highest probabilities hold; the dashes are perfect."""
    rows, positives = ranking.gains
    curve = _curve(rows, positives)
    chance = Curve((0.0, 1.0), (0.0, 1.0), _BASELINE, 1.4, DOTTED)
    prevalence = float(ranking.positives.sum() / (ranking.positives + ranking.others).sum())
    perfect = Curve((0.0, prevalence, 1.0), (0.0, 1.0, 1.0), _BASELINE, 1.2, DASHED)
    model = _diamond(float(evaluation.confusion[:, 1].sum()) / evaluation.total, _operating_point(evaluation)[1])
    axes = (
        ChartAxis.share("share of all rows, highest probability first"),
        ChartAxis.share(f"share of the rows with {_positive_class(evaluation, ranking)}"),
    )
    lift = ranking.lift(0.1)
    score = "no positive row" if lift is None else f"lift of the top 10 %: {lift:.2f}"
    legend = (curve, "by probability"), (model, _model_name(evaluation)), (perfect, "perfect"), (chance, "chance")
    return _square(evaluation, score, axes, (curve, perfect, chance, model), legend)


def _lift_chart(evaluation: ClassificationEvaluation, ranking: Ranking) -> Chart:
    """How many times as many positive rows as the average each tenth of the rows holds, best tenth first."""
    rows, positives = ranking.gains
    tenths = np.interp(np.linspace(0, 1, 11), rows, positives)
    lifts = (10 * np.diff(tenths)).tolist()
    bars = [Bar(i + 0.6, 0.0, i + 1.4, lift, palette.tint(_CURVE, 0.75)) for i, lift in enumerate(lifts)]
    average = Curve((0.5, 10.5), (1.0, 1.0), _BASELINE, 1.4, DASHED)
    score = "no positive row" if ranking.lift(0.1) is None else f"lift of the top 10 %: {lifts[0]:.2f}"
    x = ChartAxis("tenth of the rows, highest probability first", 0.5, 10.5, tuple((i, f"{i}") for i in range(1, 11)))
    y = ChartAxis.linear(f"lift of {_positive_class(evaluation, ranking)}", 0.0, max(1.2, *lifts) * 1.05)
    legend = (bars[0], "by probability"), (average, "average of all rows")
    data = f"{evaluation.table}, column {evaluation.target}, {plural(evaluation.n, 'row')}"
    return Chart((data, score), x, y, (*bars, average), legend, 320.0, 320.0, "y")


def _calibration_chart(evaluation: ClassificationEvaluation, ranking: Ranking) -> Chart:
    """The observed share of positive rows against the predicted probability, by leaf or in ten bins."""
    bins = ranking.bins()
    perfect = Curve((0.0, 1.0), (0.0, 1.0), _BASELINE, 1.4, DOTTED)
    intervals = [Curve((b.predicted, b.predicted), b.interval, palette.tint(_CURVE, 0.6), 1.6) for b in bins]
    largest = max(b.weight for b in bins)
    sizes = [5.0 + 13.0 * (b.weight / largest) ** 0.5 for b in bins]
    points = [
        Curve((b.predicted,), (b.observed,), _CURVE, 0.0, marker="o", size=size)
        for b, size in zip(bins, sizes, strict=True)
    ]
    positive = _positive_class(evaluation, ranking)
    axes = (
        ChartAxis.share(f"predicted probability of {positive}"),
        ChartAxis.share(f"observed share of {positive}"),
    )
    point = "one predicted probability" if len(bins) == len(ranking.probability) else "neighbouring probabilities"
    legend = (
        (points[0], f"{point}; area: rows"),
        (intervals[0], evaluation.interval_name),
        (perfect, "perfect calibration"),
    )
    return _square(evaluation, f"Brier score {ranking.brier:.4f}", axes, (perfect, *intervals, *points), legend)


def _curve(x: np.ndarray, y: np.ndarray) -> Curve:
    marker = "o" if len(x) <= MAX_MARKERS else ""
    return Curve(floats(x), floats(y), _CURVE, marker=marker, size=5.0)


def _diamond(x: float, y: float) -> Curve:
    return Curve((x,), (y,), _MODEL, 0.0, marker="D", size=10.0)


def _operating_point(evaluation: ClassificationEvaluation) -> tuple[float, float, float]:
    """Return false positive rate, true positive rate and precision of the model's own predictions."""
    totals = evaluation.support.astype(float)
    predicted = evaluation.confusion[:, 1].astype(float)
    true_positives, false_positives = predicted[1], predicted.sum() - predicted[1]
    negatives, tiny = totals.sum() - totals[1], 1e-300
    return (
        float(false_positives / max(negatives, tiny)),
        float(true_positives / max(totals[1], tiny)),
        float(true_positives / max(predicted.sum(), tiny)),
    )


def _model_name(evaluation: ClassificationEvaluation) -> str:
    return "predictions of the ensemble" if evaluation.is_ensemble else "predictions of the tree"


def _positive_class(evaluation: ClassificationEvaluation, ranking: Ranking) -> str:
    return f"{evaluation.target} = {ranking.positive}"


# -- numbers --------------------------------------------------------------------------------------------------


def _predicted_chart(evaluation: RegressionEvaluation) -> Chart:
    """The true values at each predicted value: median, quartiles, and the middle 90 %."""
    groups = evaluation.residuals.groups
    low = min(min(g.predicted, g.quantiles[0]) for g in groups)
    high = max(max(g.predicted, g.quantiles[-1]) for g in groups)
    perfect = Curve((low, high), (low, high), _BASELINE, 1.4, DOTTED)
    colour = palette.tint(_CURVE, 0.35)
    wide = [Curve((g.predicted,) * 2, (g.quantiles[0], g.quantiles[4]), colour, 1.6) for g in groups]
    dark = palette.tint(_CURVE, 0.6)
    middle = [Curve((g.predicted,) * 2, (g.quantiles[1], g.quantiles[3]), dark, 6.0) for g in groups]
    points = [Curve((g.predicted,), (g.quantiles[2],), _CURVE, 0.0, marker="o", size=7.0) for g in groups]
    target = evaluation.target
    axes = (
        ChartAxis.linear(f"predicted {target}", low, high, margin=0.03),
        ChartAxis.linear(f"true {target}", low, high, margin=0.03),
    )
    point = "one predicted value" if evaluation.residuals.is_by_value else "neighbouring predictions"
    legend = (points[0], f"median of {point}"), (middle[0], "half of the rows"), (wide[0], "90 % of them")
    r2 = "" if evaluation.r2 is None else f" · R² {evaluation.r2:.3f}"
    score = f"RMSE {format_rounded(evaluation.rmse)}{r2}"
    marks = (perfect, *wide, *middle, *points)
    return _square(evaluation, score, axes, marks, (*legend, (perfect, "predicted = true")))


def _residuals_chart(evaluation: RegressionEvaluation) -> Chart:
    """How many rows have which residual, true minus predicted."""
    residuals = evaluation.residuals
    pairs = zip(residuals.edges, residuals.edges[1:], residuals.counts, strict=False)
    bars = [Bar(a, 0.0, b, n, palette.tint(_CURVE, 0.75)) for a, b, n in pairs]
    zero = Curve((0.0, 0.0), (0.0, max(residuals.counts)), palette.INK, 1.2, DASHED)
    x = ChartAxis.linear(f"true − predicted {evaluation.target}", residuals.edges[0], residuals.edges[-1])
    y = ChartAxis.linear("rows", 0.0, max(residuals.counts) * 1.05, format_count)
    outside = f"; {format_count(residuals.outside)} beyond the ends" if residuals.outside else ""
    score = f"MAE {format_rounded(evaluation.mae)}{outside}"
    data = f"{evaluation.table}, column {evaluation.target}, {plural(evaluation.n, 'row')}"
    return Chart((data, score), x, y, (*bars, zero), (), 320.0, 320.0, "y")
